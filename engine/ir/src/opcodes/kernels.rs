//! Embedded kernels, custom operations and debugging aids.

use crate::rows;
use crate::{AddressRotationScope, DebugBuffer, InstSyncType, KernelSource};
use birsim_kernels::Named;

rows! {
    CustomOp = 53, Kernel, [Pool], ["in:air*"] => ["out:ar*"], Approximate, "opcodes 12; ruling D49", is [ReachesAll] {
        opFunctionName: Ty::Str => Def::Str("");
        opLibFile: Ty::Str => Def::Str("");
        ulib_to_ucode_version: Ty::Str => Def::Str("");
        ulib_to_isa_version: Ty::Str => Def::Str("");
        is_builtin: Ty::Bool => Def::Bool(false);
        srcsShape: Ty::Groups => Def::Absent;
        dstsShape: Ty::Groups => Def::Absent;
    }
    BIRKernel = 54, Kernel, [All], ["in:air*"] => ["out:ar*"], Approximate, "opcodes 12; ruling D49" {
        kernel_name: Ty::Str => Def::Str("");
        srcs_shape: Ty::Groups => Def::Absent;
        dsts_shape: Ty::Groups => Def::Absent;
        kernel_attrs: Ty::Map => Def::Absent;
        sb_buf_shape: Ty::Json => Def::Absent;
        psum_buf_shape: Ty::Json => Def::Absent;
        auto_cast: Ty::Json => Def::Absent;
        auto_cast_type: Ty::Str => Def::Str("");
        is_causal: Ty::Bool => Def::Bool(false);
        fused_rmsnorm: Ty::Bool => Def::Bool(true);
        store_add: Ty::Bool => Def::Bool(false);
        quant_kernel: Ty::Bool => Def::Bool(false);
        norm_type: Ty::I64 => Def::Absent;
        lnc_size: Ty::I64 => Def::Absent;
        output_layout: Ty::I64 => Def::Int(0);
        lower_bound: Ty::Float => Def::Float(0.0);
    }
    NKIKernel = 55, Kernel, [All], ["in:air*"] => ["out:ar*"], Exact, "opcodes 12", steers CallKernel, is [RunsBlocks] {
        func: Ty::Str => Def::Required;
        func_args: Ty::Map => Def::Absent;
        func_outs: Ty::Map => Def::Absent;
        sb_buf_shape: Ty::Json => Def::Absent;
        psum_buf_shape: Ty::Json => Def::Absent;
        address_rotation_scope_val: Ty::Enum(AddressRotationScope::DEF) => Def::Enum(0);
        kernel_source_val: Ty::Enum(KernelSource::DEF) => Def::Enum(0);
    }
    NKIKLIRKernel = 56, Skipped, [All], ["in:air*"] => ["out:ar*"], Skipped, "opcodes 12" {
        klir_binary: Ty::Str => Def::Str("");
        kernel_format: Ty::Str => Def::Str("");
        nki_binary_version_identifier: Ty::Str => Def::Str("");
        enable_device_dump: Ty::Bool => Def::Bool(false);
        func_args: Ty::Map => Def::Absent;
        func_outs: Ty::Map => Def::Absent;
        sb_buf_shape: Ty::Json => Def::Absent;
        psum_buf_shape: Ty::Json => Def::Absent;
        address_rotation_scope_val: Ty::Enum(AddressRotationScope::DEF) => Def::Enum(0);
    }
    DevicePrint = 57, Kernel, [Pool], ["in"] => [], Approximate, "opcodes 12", is [ReachesAll] {
        prefix: Ty::Str => Def::Str("");
        output_buffer: Ty::Enum(DebugBuffer::DEF) => Def::Enum(0);
    }
    InlineASMBytes = 93, Skipped, [Pool, Activation, Pe, Dma, Dve, Sp], ["any:air*"] => ["any:ar*"], Skipped,
        "opcodes 12" {
        asm_bytes: Ty::Json => Def::Absent;
        sync_type: Ty::Enum(InstSyncType::DEF) => Def::Absent;
        latency_estimate: Ty::I64 => Def::Int(0);
    }
}
