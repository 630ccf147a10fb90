//! Matrix multiplication.

use crate::MatmultPerfMode;
use crate::rows;
use birsim_kernels::Named;

/// Rows that start with the keys of the MatmultBase record.
macro_rules! matmul_rows {
    ($($name:ident = $ord:literal, $class:ident, [$($engine:ident),*], [$($in:literal),*] => [$($out:literal),*],
        $fidelity:ident, $spec:literal $(, partial $partial:literal)? $(, open $open:literal)?
        $(, steers $steer:ident)? $(, is $is:tt)? $(, rules $rules:tt)?
        { $($own:tt)* })+
     @plain { $($plain:tt)* }) => {
        rows! { $($name = $ord, $class, [$($engine),*], [$($in),*] => [$($out),*],
            $fidelity, $spec $(, partial $partial)? $(, open $open)? $(, steers $steer)? $(, is $is)? $(, rules $rules)?,
            demands [AccumulationFlag, RowsAndColumns("tile_size"), RowsAndColumns("tile_position")] {
            accumulation_flag: Ty::U8 => Def::Int(0);
            psum_zero_region: Ty::U8 => Def::Int(0);
            replication_resolution: Ty::U32 => Def::Int(0);
            replication_shift_amnt: Ty::U32 => Def::Int(0);
            replication_num_rows: Ty::U32 => Def::Int(0);
            is_transpose: Ty::Bool => Def::Bool(false);
            is_fmap_onezero: Ty::Bool => Def::Bool(false);
            is_weight_onezero: Ty::Bool => Def::Bool(false);
            tile_size: Ty::Ints => Def::Absent;
            tile_position: Ty::Ints => Def::Absent;
            perf_mode: Ty::Enum(MatmultPerfMode::DEF) => Def::Enum(0);
            ifmap_quant_offset: Ty::U8 => Def::Int(0);
            weights_quant_offset: Ty::U8 => Def::Int(0);
            $($own)*
        })+ $($plain)* }
    };
}

matmul_rows! {
    MatmultBase = 7, Abstract, [], [] => [], Unsupported, "opcodes 1" {}
    Matmult = 8, Kernel, [Pe], ["ifmap", "weights"] => ["out"], Approximate, "matmul-mx 2, 3",
        partial "replication other than the default has no published index maths (ruling D50)",
        open "the order in which the products of one element are added is not published: ascending k",
        is [Matmul, WrittenWhole] {}
    MatmultSparse = 9, Kernel, [Pe], ["ifmap", "weights", "tags"] => ["out"], Approximate, "matmul-mx 6",
        partial "the order of the tags inside a compressed row is not published (ruling D50)",
        is [Matmul, WrittenWhole] {
        compress_ratio: Ty::U32 => Def::Required;
    }
    MatmultMx = 95, Kernel, [Pe], ["ifmap", "weights", "ifmap_scales", "weights_scales"] => ["out"], Approximate,
        "matmul-mx 4",
        partial "replication, performance modes, transposes and zero points of MX operands are not described (ruling D50)",
        open "the order of the four fp4 lanes of a container is not published: lowest nibble first; fp8 lanes are exact",
        is [SinceCoreV4, Matmul, WrittenWhole] {}
    @plain {
        QuantizeMx = 96, Kernel, [Dve], ["in"] => ["out", "scales"], Approximate, "matmul-mx 5",
            open "the order of the four fp4 lanes of a container is not published: lowest nibble first; fp8 lanes are exact", is [SinceCoreV4] {}
    }
}
