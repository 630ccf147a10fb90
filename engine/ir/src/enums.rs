//! Enumerations of the BIR model (`opcodes.md` 2), spelled as in BIR-JSON.

use birsim_kernels::named_enum;

pub use birsim_kernels::rng::RandomAlgorithmKind as RandomAlgorithm;

pub use birsim_kernels::indirect::IndirectDim;
pub use birsim_kernels::matmul::MatmultPerfMode;
pub use birsim_kernels::pool::PoolFunctionType as PoolFunction;
pub use birsim_kernels::reduce::AxisListType as AxisList;
pub use birsim_kernels::scan::TSCMode as TscMode;

pub use birsim_kernels::accumulate::EngineAccumulationType as EngineAccumulation;

pub use birsim_kernels::dma::TransposeOps as TransposeOp;

pub use birsim_kernels::collective::CollectiveDimension;

named_enum! {
    /// Engine an instruction runs on.
    Engine {
        Unassigned = 0, "Unassigned";
        Pool = 1, "Pool";
        Activation = 2, "Activation";
        Pe = 3, "PE";
        Dma = 4, "DMA";
        Dve = 5, "DVE";
        Sp = 6, "SP";
        All = 7, "ALL";
    }
    aliases { "GPSIMD" => 1, "Scalar" => 2, "Tensor" => 3, "SyncDMA" => 4, "Vector" => 5, "Sync" => 6, "All" => 7 }
}

impl Engine {
    /// The engines that own an instruction queue, in polling order.
    pub const QUEUES: [Engine; 6] =
        [Engine::Pool, Engine::Activation, Engine::Pe, Engine::Dma, Engine::Dve, Engine::Sp];

    /// Has a register file (`machine.md` 1).
    pub const fn is_data_path(self) -> bool {
        matches!(self, Engine::Pool | Engine::Activation | Engine::Pe | Engine::Dve | Engine::Sp)
    }
}

named_enum! {
    /// Memory a location lives in; the ordinals are bit values.
    MemoryType {
        Unallocated = 1, "Unallocated";
        Input = 2, "Input";
        Output = 4, "Output";
        Dram = 8, "DRAM";
        Sb = 16, "SB";
        Psum = 32, "PSUM";
        RngState = 64, "RNGSTATE";
        Reg = 128, "REG";
    }
}

impl MemoryType {
    /// Behaves as DRAM: kernel inputs and outputs do too (`bir-json.md` 4.2).
    pub const fn is_dram(self) -> bool {
        matches!(self, MemoryType::Dram | MemoryType::Input | MemoryType::Output)
    }
}

named_enum! {
    /// Who sees a location.
    AddressSpace {
        Local = 0, "Local";
        Shared = 1, "Shared";
        Debug = 2, "Debug";
    }
}

named_enum! {
    /// Role of a tensor.
    TensorKind {
        ExternalInput = 0, "ExternalInput";
        ExternalInputParameter = 1, "ExternalInputParameter";
        Input = 2, "Input";
        ExternalOutput = 3, "ExternalOutput";
        ExternalOutputParameter = 4, "ExternalOutputParameter";
        Output = 5, "Output";
        Const = 6, "Const";
        Internal = 7, "Internal";
        Pointer = 8, "Pointer";
        InternalInterface = 9, "InternalInterface";
    }
}

impl TensorKind {
    /// Bound from outside before the run.
    pub const fn is_input(self) -> bool {
        matches!(self, TensorKind::ExternalInput | TensorKind::ExternalInputParameter | TensorKind::Input)
    }

    /// Written to a file after the run.
    pub const fn is_output(self) -> bool {
        matches!(self, TensorKind::ExternalOutput | TensorKind::ExternalOutputParameter | TensorKind::Output)
    }
}

named_enum! {
    /// Class of a tensor; never needed to execute.
    TensorClass {
        Tensor = 0, "Tensor";
        LoopTensor = 1, "LoopTensor";
        SingleValueTensor = 2, "SingleValueTensor";
        NeuronTensor = 3, "NeuronTensor";
        NeuronWeightTensor = 4, "NeuronWeightTensor";
        IdentityWeightTensor = 5, "IdentityWeightTensor";
        NeuronBlockTensor = 6, "NeuronBlockTensor";
        Dram2dBlockTensor = 7, "DRAM2DBlockTensor";
        Neuron3dBlockTensor = 8, "Neuron3DBlockTensor";
        Dram3dBlockTensor = 9, "DRAM3DBlockTensor";
        NeuronLocalTensor = 10, "NeuronLocalTensor";
        NeuronSbTensor = 11, "NeuronSBTensor";
        NeuronPsumTensor = 12, "NeuronPSUMTensor";
    }
}

named_enum! {
    /// Architecture of a module.
    Arch {
        Inferentia = 10, "inferentia";
        Sunda = 20, "sunda";
        Gen3 = 30, "gen3";
        CoreV4 = 40, "core_v4";
        CoreV5 = 50, "core_v5";
    }
    aliases { "inf1" => 10, "tonga" => 10, "trn1" => 20, "inf2" => 20, "trainium" => 20, "cayman" => 30, "trn2" => 30,
              "trn3" => 40 }
}

named_enum! {
    /// Mode of DMACopy.
    CopyMode { Copy = 0, "Copy"; Transpose = 1, "Transpose"; Cce = 2, "CCE"; Replicate = 3, "Replicate"; }
}

named_enum! {
    /// Mode of Memset.
    MemsetMode { Const = 0, "Const"; Random = 1, "Random"; }
}

named_enum! {
    /// Comparison of a branch.
    BranchCompare {
        LtImm = 0, "IS_LTIMM"; LeImm = 1, "IS_LEIMM"; EqImm = 2, "IS_EQIMM"; NeImm = 3, "IS_NEIMM";
        GeImm = 4, "IS_GEIMM"; GtImm = 5, "IS_GTIMM"; LtReg = 6, "IS_LTREG"; LeReg = 7, "IS_LEREG";
        EqReg = 8, "IS_EQREG"; NeReg = 9, "IS_NEREG"; GeReg = 10, "IS_GEREG"; GtReg = 11, "IS_GTREG";
        Unsupported = 12, "Unsupported";
    }
}

named_enum! {
    /// Static prediction of a branch; no effect.
    BranchHintKind { LikelyTaken = 0, "LikelyTaken"; LikelyNotTaken = 1, "LikelyNotTaken"; }
}

named_enum! {
    /// Kind of a collective.
    CollectiveKind {
        SendRecv = 0, "SendRecv"; SendRecvCce = 1, "SendRecvCCE"; AllReduce = 2, "AllReduce";
        ReduceScatter = 3, "ReduceScatter"; AllGather = 4, "AllGather"; AllToAll = 5, "AllToAll";
        AllToAllV = 6, "AllToAllV"; Permute = 7, "Permute"; PermuteReduce = 8, "PermuteReduce";
        PermuteImplicit = 9, "PermuteImplicit"; PermuteReduceImplicit = 10, "PermuteReduceImplicit";
    }
}

named_enum! {
    /// Parallelism hint of a collective.
    CollectiveTypeHint { Tp = 0, "TP"; Fsdp = 1, "FSDP"; None = 2, "None"; }
}

named_enum! {
    /// Distribution of Rand; it has no effect in the reference.
    RandomDistribution { Raw = 0, "Raw"; Uniform = 1, "Uniform"; Normal = 2, "Normal"; Binomial = 3, "Binomial"; }
}

named_enum! {
    /// Descriptor generation engine; never read by the simulator.
    DgeType { None = 0, "None"; Swdge = 1, "SWDGE"; Hwdge = 2, "HWDGE"; Unassigned = 3, "Unassigned"; }
}

named_enum! {
    /// DMA quality of service; never read by the simulator.
    DmaQosClass {
        Unassigned = 0, "Unassigned"; Default = 1, "Default"; P0 = 2, "P0"; P1 = 3, "P1"; P2 = 4, "P2"; P3 = 5, "P3";
        P4 = 6, "P4"; P5 = 7, "P5"; P6 = 8, "P6"; P7 = 9, "P7"; P8 = 10, "P8"; P9 = 11, "P9"; P10 = 12, "P10";
        P11 = 13, "P11"; P12 = 14, "P12"; P13 = 15, "P13"; P14 = 16, "P14";
    }
}

named_enum! {
    /// Mode of GroupResetSemaphores; ignored.
    SemaphoreClearMode { SemaphoreZero = 0, "SemaphoreZero"; SemaphoreZeroBitmask = 1, "SemaphoreZeroBitmask"; }
}

named_enum! {
    /// Whether a collective's tensors are unique.
    UniqueTensors { Unknown = 0, "Unknown"; No = 1, "No"; Yes = 2, "Yes"; }
}

named_enum! {
    /// Address rotation of a kernel.
    AddressRotationScope { None = 0, "None"; Kernel = 1, "Kernel"; Global = 2, "Global"; }
}

named_enum! {
    /// Origin of an embedded kernel.
    KernelSource { Beta1 = 0, "Beta1"; Beta2 = 1, "Beta2"; Beta3 = 2, "Beta3"; }
}

named_enum! {
    /// Stream of DevicePrint.
    DebugBuffer { Stdout = 0, "stdout"; Stderr = 1, "stderr"; }
}

named_enum! {
    /// Mode of TensorCompletion.
    TensorCompletionMode { Default = 0, "Default"; DebugTensorRead = 1, "DebugTensorRead"; }
}

named_enum! {
    /// Sync type of inline assembly.
    InstSyncType { DataPath = 0, "datapath"; Sequencer = 1, "sequencer"; Dma = 2, "dma"; }
    aliases { "DataPathType" => 0, "SequencerType" => 1, "DMAType" => 2 }
}

named_enum! {
    /// Who created an object.
    Origin { Internal = 0, "Internal"; Penguin = 1, "Penguin"; Nki = 2, "NKI"; }
}

named_enum! {
    /// Kind of a dependency edge.
    EdgeKind { Invalid = 0, "Invalid"; Ordered = 1, "Ordered"; Anti = 2, "Anti"; Output = 3, "Output"; Flow = 4, "Flow"; }
}

named_enum! {
    /// Function of Activation (`activation.md` 2).
    ActivationFunction {
        Identity = 0, "Identity"; Square = 1, "Square"; Relu = 2, "Relu"; Lrelu = 3, "Lrelu"; Prelu = 4, "Prelu";
        Sigmoid = 5, "Sigmoid"; Tanh = 6, "Tanh"; Exp = 7, "Exp"; Softplus = 8, "Softplus"; Sqrt = 9, "Sqrt";
        Rsqrt = 10, "Rsqrt"; Ln = 11, "Ln"; Erf = 12, "Erf"; Sin = 13, "Sin"; Arctan = 14, "Arctan"; Sign = 15, "Sign";
        Gelu = 16, "Gelu"; Mish = 17, "Mish"; GeluApprxTanh = 18, "Gelu_apprx_tanh";
        GeluApprxSigmoid = 19, "Gelu_apprx_sigmoid"; DerivativeGeluApprxSigmoid = 20, "Derivative_Gelu_apprx_sigmoid";
        DerivativeGelu = 21, "Derivative_Gelu"; DerivativeErf = 22, "Derivative_Erf"; Copy = 23, "Copy"; Abs = 24, "Abs";
        Reciprocal = 25, "Reciprocal"; AbsReciprocalSqrt = 26, "Abs_reciprocal_sqrt"; Silu = 27, "Silu";
        DerivativeSilu = 28, "Derivative_silu"; IsFinite = 29, "Is_finite"; Unknown = 30, "Unknown";
        LnPrime = 31, "Ln_prime"; MemsetZero = 32, "MemsetZero"; Dsqrt = 33, "Dsqrt";
    }
}

named_enum! {
    /// Type of a DMA queue.
    QueueType { Input = 0, "INPUT"; Output = 1, "OUTPUT"; Data = 2, "DATA"; }
}

named_enum! {
    /// Wait condition of a sync reference.
    WaitMode { EvtSetClear = 0, "evt-set-clear"; SemGeImm = 1, "sem-ge-imm"; SemGeReg = 2, "sem-ge-reg"; }
}

named_enum! {
    /// Effect of a sync update.
    UpdateMode {
        EvtSet = 0, "evt-set"; SemAddImm = 1, "sem-add-imm"; SemSubImm = 2, "sem-sub-imm"; SemInc = 3, "sem-inc";
        SemDec = 4, "sem-dec"; SemWrImm = 5, "sem-wr-imm";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use birsim_kernels::Named;

    #[test]
    fn spellings_match_the_model() {
        assert_eq!(Engine::from_name("PE"), Some(Engine::Pe));
        assert_eq!(Arch::from_name("trn2"), Some(Arch::Gen3));
        assert_eq!(TransposeOp::ALL.len(), 14);
        assert_eq!(MemoryType::from_name("SB").map(Named::ordinal), Some(16));
    }
}
