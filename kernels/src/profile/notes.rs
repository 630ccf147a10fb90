//! Documented facts that look like choices but are not: no second reading of them is known. `birsim ops --fidelity` lists
//! them beside the fields, and nothing can set them.

/// One such fact.
#[derive(Debug)]
pub struct Note {
    /// Name by which it is cited.
    pub name: &'static str,
    /// Part of the simulator it belongs to.
    pub topic: &'static str,
    /// The answer in a word.
    pub answer: &'static str,
    /// Rulings (`D4`) and sections of the pages in `engine/docs` (`alu 2.1`) that raise the question.
    pub sources: &'static [&'static str],
    /// Opcodes that it is about; `*` for all, empty when it is about no instruction.
    pub opcodes: &'static [&'static str],
    /// The fact.
    pub what: &'static str,
}

macro_rules! notes {
    ($($topic:literal { $($(#[doc = $doc:literal])+ $name:ident = $answer:literal,
        [$($source:literal),+], [$($op:literal),*];)+ })+) => {
        /// Every fact, by topic.
        pub const NOTES: &[Note] = &[$($(Note {
            name: stringify!($name), topic: $topic, answer: $answer, sources: &[$($source),+], opcodes: &[$($op),*],
            what: concat!($($doc),+),
        }),+),+];
    };
}

notes! {
    "conversions" {
        /// NaN is written to float8e3 as 78, to float8e4 as 7C, and to float8e5 as 7E whatever its sign.
        fp8_nan_codes = "quiet", ["D57", "numerics 1.1", "numerics 9"], ["*"];
        /// A FP8 NaN is read as 7FC00000 with its sign.
        fp8_nan_payload = "dropped", ["numerics 3.1"], ["*"];
        /// Finite floats at the edge of 64-bit integers saturate.
        wide_int_clamp = "saturate", ["numerics 4.7", "numerics 9"], ["*"];
        /// Infinity and NaN pass into float32r as they are.
        float32r_special = "pass", ["numerics 6", "numerics 9"], ["*"];
    }
    "arithmetic" {
        /// Integer results saturate in a narrower integer destination; those of bit-vector operations keep their low bits.
        integer_narrowing = "saturate", ["D53", "numerics 4.8"], ["TensorTensor", "TensorReduce"];
        /// A NaN that an invalid operation makes has its sign bit set; a NaN operand of pow keeps its own.
        nan_sign = "negative", ["D57"], ["*"];
        /// Operations of the int and address maps beyond the confirmed ones have their natural meaning.
        integer_map = "natural", ["alu 2", "alu 3", "alu 4.2", "alu 8"],
            ["TensorScalar", "TensorScalarPtr", "TensorTensor", "TensorReduce"];
        /// An integer divided by zero, and its remainder, is zero.
        integer_divide_by_zero = "zero", ["alu 4.3"],
            ["TensorScalar", "TensorScalarPtr", "TensorTensor", "TensorReduce"];
        /// rsqrt on Pool is 1 / sqrt(a) in float32 like everywhere.
        rsqrt_on_pool = "exact", ["alu 4.9", "alu 8"], ["TensorScalar", "TensorScalarPtr", "TensorTensor"];
        /// RegisterAlu wraps at its width, signed or unsigned by the dtype, and has mod and mod_int.
        register_alu = "wrap", ["D46"], ["RegisterAlu"];
    }
    "folds" {
        /// Axis C folds the partitions, XYZWC everything into one element.
        reduce_across_partitions = "fold", ["alu 6.4"], ["TensorReduce"];
        /// apply_transpose swaps partition and element inside tiles of 32 x 32.
        reduce_transpose = "tiles_of_32", ["alu 6.4"], ["TensorReduce", "BNStats"];
        /// TensorScalarPtr with apply_transpose is refused.
        pointer_transpose = "refuse", ["alu 6.4"], ["TensorScalarPtr"];
        /// TongaReduceMacroSymbolic overwrites on the first trip of its axes and folds afterwards.
        reduce_macro = "first_overwrites", ["opcodes 13"], ["TongaReduceMacroSymbolic"];
        /// BNStats counts at even elements.
        bn_count = "even", ["D29"], ["BNStats"];
        /// BNBackprop takes scale, A and Bc together, BNBackprop2 scale alone.
        bn_operands = "joint_then_split", ["D11"], ["BNBackprop", "BNBackprop2"];
    }
    "selection" {
        /// RangeSelect over a part of the partitions is refused.
        range_select_channels = "all", ["alu 6.10"], ["RangeSelect"];
        /// GetSequenceBounds gives (length, -1) for the padding id 0.
        sequence_padding = "length_and_minus_one", ["opcodes 13"], ["GetSequenceBounds"];
        /// An index of Gather that leaves the row is a fault.
        gather_out_of_range = "fault", ["opcodes 13", "activation 8"], ["Gather"];
    }
    "movement" {
        /// StreamTranspose of more than 32 x 32 takes whole tiles.
        stream_transpose_tiles = "whole", ["opcodes 3"], ["StreamTranspose"];
        /// An instruction reads its operands before it writes.
        overlap = "reads_first", ["D34"], ["*"];
        /// An index moves the contiguous inner run and counts steps of the final dimension.
        indirect_entry = "inner_run", ["D12"], ["IndirectLoad", "IndirectSave"];
        /// One number of addrs is the tile; of another length than the rank, the first is the block and the last the tile.
        tile_address = "last", ["bir-json 6.2"], ["*"];
        /// Addresses for 64-bit indices carry 0x100000000 on top.
        address_bias = "0x100000000", ["opcodes 13"],
            ["ReadVarAddr", "IndirectLoad", "IndirectSave", "IndirectSaveAccumulate"];
        /// IndirectSaveAccumulate finds its destination in its first output when there is one.
        save_accumulate_operands = "outs_first", ["opcodes 13"], ["IndirectSaveAccumulate"];
        /// The k-th receive of a pair of ranks matches its k-th send.
        send_receive = "kth_use", ["opcodes 13"], ["CollectiveSend", "CollectiveRecv"];
        /// Collective kind 8 copies.
        collective_kind_8 = "copy", ["opcodes 13"], ["CollectiveCompute"];
    }
    "matrix products" {
        /// The products of one element are added in ascending order of k from +0.
        matmul_order = "ascending", ["matmul-mx 2.4", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// Replication fields other than the default are refused.
        matmul_replication = "refuse", ["D50", "matmul-mx 2.7", "matmul-mx 9"],
            ["Matmult", "MatmultSparse", "MatmultMx"];
        /// is_transpose moves ifmap, partition against free, when the weights are an identity; else it is refused.
        matmul_transpose = "identity", ["D50", "matmul-mx 2.6", "matmul-mx 9"], ["Matmult"];
        /// MatmultSparse is refused where the order of its tags decides.
        matmul_sparse = "refuse", ["D50", "matmul-mx 6", "matmul-mx 9"], ["MatmultSparse"];
        /// PSUM accumulates element by element, whatever pattern wrote it.
        psum_identity = "element", ["D18"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// The accumulate mark is set by the matmul family only; the element's first byte decides.
        psum_mark = "first_byte", ["D39"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// The function attribute that leaves accumulation to the machine is spelled auto_psum_accumulate.
        psum_auto = "auto_psum_accumulate", ["opcodes 14"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// start_tensor_calc and stop_tensor_calc are read when the flag byte is missing.
        psum_flag_spelling = "both", ["bir-json 5.1"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// Lane 0 of a packed fp4 container is the lowest nibble.
        fp4_lanes = "low_nibble_first", ["matmul-mx 5.5", "matmul-mx 9", "numerics 9"], ["QuantizeMx", "MatmultMx"];
    }
    "activation" {
        /// Activate2 evaluates its two operations with the float map.
        activate2 = "float_map", ["activation 1.5", "activation 10"], ["Activation"];
        /// Scale and alpha in memory are one element per partition.
        activation_operands = "per_partition", ["activation 10"], ["Activation"];
        /// The keys scale and alpha serve where the operand is missing; a missing bias is 0.
        activation_keys = "when_missing", ["opcodes 5"], ["Activation"];
        /// A NaN goes through the tables with its bits.
        pwp_nan = "by_bits", ["activation 10"], ["Activation"];
        /// Dropout draws from XORWOW states made of the seed operand, without rescaling.
        dropout_stream = "xorwow", ["D38", "activation 6", "activation 10"], ["Dropout"];
        /// DveReadAccumulator writes the accumulator in float32, negated when asked for.
        dve_accumulator = "float32", ["opcodes 13"], ["DveReadAccumulator"];
    }
    "random numbers" {
        /// Rand reads its generator from fixed words of the partition's state; its key, parameters and steps are not read.
        rand_words = "fixed", ["D8", "opcodes 13", "activation 7.3"], ["Rand"];
        /// A state of 24 words is four generators, one after the other.
        rand2_state = "consecutive", ["D9"], ["Rand2", "SetRandState", "GetRandState", "RandSetState", "RandGetState"];
        /// 98 restores a state, 99 saves one.
        rand_state_opcodes = "98_sets", ["D31"], ["RandSetState", "RandGetState"];
        /// Constants, default state and guards of the generators.
        generators = "reference", ["D37", "activation 7.1"],
            ["Memset", "Rand", "Rand2", "Dropout", "SetRandState", "GetRandState", "RandSetState", "RandGetState"];
    }
    "control" {
        /// Structured loops iterate everywhere.
        loop_walk = "iterate", ["D42"], ["Loop"];
        /// The run ends when every engine has reached its Exit; in list order, at the first Exit.
        exit_rule = "all_engines", ["D20"], ["Exit"];
        /// A branch without an engine runs on all of them.
        unassigned_branch = "all_engines", ["opcodes 11"], ["CompareAndBranch", "UnconditionalBranch"];
        /// An engine has 64 physical registers.
        physical_registers = "64", ["machine 3"], ["*"];
        /// There is one instance of each engine.
        engine_instances = "one", ["machine 1"], ["*"];
        /// Predicates are {op, ex} records; an instruction runs when all of them hold.
        predicates = "op_and_expression", ["bir-json 7.3"], ["*"];
    }
    "synchronisation" {
        /// A wait on a register is evaluated at every poll.
        register_wait = "every_poll", ["D36"], ["*"];
        /// Without sync_info a module runs its blocks in list order.
        without_sync = "list_order", ["bir-json 8"], ["*"];
        /// Absent sync keys mean a semaphore, sem-ge-imm 1 and sem-add-imm 1.
        sync_defaults = "ge_1_add_1", ["bir-json 8"], ["*"];
        /// A missing or unknown queue of an inline DMA instruction has no effect.
        inline_queue = "ignored", ["bir-json 10"], ["Load", "Save", "DMACopy"];
    }
    "values and host" {
        /// Floating-point exceptions do not trap; --check nan looks for their results.
        float_traps = "none", ["D51"], ["*"];
        /// An external kernel gets its JSON configuration as argument and runs in a fresh folder.
        external_hand_over = "argument", ["D49"], ["CustomOp", "BIRKernel"];
        /// DevicePrint changes no state and prints to the run's output.
        device_print = "print", ["opcodes 12"], ["DevicePrint"];
    }
    "reading modules" {
        /// Enums are read by name or ordinal.
        json_enums = "name_or_ordinal", ["bir-json 1"], [];
        /// Non-finite floats are the texts inf, -inf and nan.
        json_non_finite = "texts", ["bir-json 1"], [];
        /// Unknown keys are ignored and kept for writing.
        json_unknown_keys = "kept", ["bir-json 1"], [];
        /// Block arguments are read from the key arguments.
        json_block_arguments = "arguments", ["bir-json 3"], [];
        /// A location without a set gets one named NAME_set.
        json_bare_locations = "own_set", ["bir-json 4.2"], [];
        /// Pattern pairs are read as [step, num] and as objects.
        json_pairs = "both", ["bir-json 5.1"], [];
        /// The keys of cc_channel are read nested and flat; nested wins.
        json_cc_channel = "nested_wins", ["bir-json 5.1"], ["CollectiveCompute"];
        /// Absent parts of an affine expression are no terms and 0; an integer is a constant.
        json_expressions = "absent_is_zero", ["bir-json 7.1"], [];
        /// Arguments of a call are an object from formal to actual set.
        json_call_arguments = "object", ["bir-json 10"], ["Call"];
        /// A tensor map has partition_offset and free_offset for each tensor; other keys are not written.
        tensor_map_keys = "offsets", ["bir-json 12"], [];
        /// The dtype bool is uint8.
        json_bool = "uint8", ["numerics 1.1"], [];
    }
}
