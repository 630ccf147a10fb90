//! The types of the profile fields that are not booleans.

named_enum! {
    /// FP8 values inside the normal window that round past the largest finite code, under saturation.
    PastMax { Overflow = 0, "overflow"; Carry = 1, "carry"; }
}
named_enum! {
    /// How integer operands reach the integer paths, and how results leave them.
    IntegerOperands { Bits = 0, "bits"; Hub = 1, "hub"; }
}
named_enum! {
    /// Finite floats of 2^31 and more on their way to an 8- or 16-bit integer.
    FloatToInt { Saturate = 0, "saturate"; ViaInt32 = 1, "via_int32"; }
}
named_enum! {
    /// Overflow of int32 arithmetic.
    IntOverflow { Saturate = 0, "saturate"; Wrap = 1, "wrap"; }
}
named_enum! {
    /// Shift amounts that are not below the width.
    ShiftRange { ShiftOut = 0, "shift_out"; Masked = 1, "masked"; }
}
named_enum! {
    /// Float immediates of bit-vector operations.
    BitvecImmediate { Integer = 0, "integer"; FloatBits = 1, "float_bits"; }
}
named_enum! {
    /// NaN and signed zero in float maximum and minimum.
    FloatMaxMin { Sse = 0, "sse"; Ieee = 1, "ieee"; }
}
named_enum! {
    /// Which stage of TensorScalarCache meets the running cache when there is a second operand.
    CacheStage { Second = 0, "second"; First = 1, "first"; }
}
named_enum! {
    /// Start of the cache without an immediate.
    CacheStart { Identity = 0, "identity"; Zero = 1, "zero"; }
}
named_enum! {
    /// Start of ZeroAccumulate for max and min.
    EpilogueSeed { First = 0, "first"; Zero = 1, "zero"; }
}
named_enum! {
    /// Values that the accumulate epilogue folds.
    EpilogueRounding { Before = 0, "before"; After = 1, "after"; }
}
named_enum! {
    /// How an average pool divides.
    PoolAverage { ReciprocalF64 = 0, "reciprocal_f64"; ReciprocalF32 = 1, "reciprocal_f32"; Divide = 2, "divide"; }
}
named_enum! {
    /// Combination of the four partial sums of an average pool.
    PoolOrder { Halves = 0, "halves"; Pairs = 1, "pairs"; }
}
named_enum! {
    /// What RangeSelect compares with its bounds.
    RangeCompares { Index = 0, "index"; Value = 1, "value"; }
}
named_enum! {
    /// Test of the CopyPredicated predicate.
    PredicateTest { Uint32 = 0, "uint32"; Value = 1, "value"; }
}
named_enum! {
    /// Partition that the channel term of an affine pattern counts from.
    ChannelBase { Pattern = 0, "pattern"; Machine = 1, "machine"; }
}
named_enum! {
    /// Nesting of an affine pattern, outermost dimension first.
    IotaOrder { Wzyx = 0, "wzyx"; Wyzx = 1, "wyzx"; }
}
named_enum! {
    /// An element that equals a slot of Max.
    MaxTies { Keep = 0, "keep"; Displace = 1, "displace"; }
}
named_enum! {
    /// A pattern whose dtype is not that of its tensor.
    PatternDtype { Reinterpret = 0, "reinterpret"; Refuse = 1, "refuse"; }
}
named_enum! {
    /// Pairs that an access pattern may have.
    PatternPairs { Eight = 0, "eight"; Four = 1, "four"; }
}
named_enum! {
    /// Source row of a replicated destination row.
    ReplicateRows { Cyclic = 0, "cyclic"; Block = 1, "block"; }
}
named_enum! {
    /// First value of an in-flight sum.
    CceStart { Zero = 0, "zero"; First = 1, "first"; }
}
named_enum! {
    /// Index values of -1 that skip their slot.
    MinusOneSkips { Wide = 0, "64_bit"; Narrow = 1, "32_and_64_bit"; }
}
named_enum! {
    /// Elements outside their tensors when `oob_is_err` is false.
    OffsetPolicy { Skip = 0, "skip"; Fault = 1, "fault"; }
}
named_enum! {
    /// Unit of a register or vector offset.
    OffsetUnit { Element = 0, "element"; Byte = 1, "byte"; }
}
named_enum! {
    /// An access that one of the documented guards names.
    Guard { Refuse = 0, "refuse"; Allow = 1, "allow"; }
}
named_enum! {
    /// Hints of a matmul on constant operands.
    OneZeroHints { Ignore = 0, "ignore"; Refuse = 1, "refuse"; }
}
named_enum! {
    /// What the head of an accumulation group clears.
    PsumClear { Elements = 0, "elements"; Banks = 1, "banks"; }
}
named_enum! {
    /// A matmul with neither START nor ACCUMULATE on elements that carry the mark.
    PsumIdle { Overwrite = 0, "overwrite"; Add = 1, "add"; }
}
named_enum! {
    /// Whether the address of a PSUM location contains its bank.
    PsumAddress { BySize = 0, "by_size"; Absolute = 1, "absolute"; InBank = 2, "in_bank"; }
}
named_enum! {
    /// Where the constants of two activation functions multiply.
    ActivationConstants { Double = 0, "double"; Float = 1, "float"; }
}
named_enum! {
    /// Dropout in keep mode when the draw equals the threshold.
    DropoutTie { Drop = 0, "drop"; Keep = 1, "keep"; }
}
named_enum! {
    /// Half of a 64-bit draw that narrower elements take.
    DrawHalf { Low = 0, "low"; High = 1, "high"; }
}
named_enum! {
    /// LFSR state of zero.
    LfsrZero { One = 0, "one"; Stays = 1, "stays"; }
}
named_enum! {
    /// Generator of a column of Rand2.
    Rand2Lanes { Modulo = 0, "modulo"; Block = 1, "block"; }
}
named_enum! {
    /// What names the generation of SetRandState.
    RandGeneration { RngEngine = 0, "rng_engine"; Engine = 1, "engine"; }
}
named_enum! {
    /// Where execution continues after a Break inside a loop.
    BreakGoes { AfterLoop = 0, "after_loop"; NextBlock = 1, "next_block"; }
}
named_enum! {
    /// Semaphores left non-zero at the end of the run.
    Leftover { Warn = 0, "warn"; Fault = 1, "fault"; Ignore = 2, "ignore"; }
}
named_enum! {
    /// A loop whose bounds and stride are all zero or absent.
    LoopWithoutBounds { Once = 0, "once"; Never = 1, "never"; }
}
named_enum! {
    /// A loop stride of zero.
    StrideZero { One = 0, "one"; Refuse = 1, "refuse"; }
}
named_enum! {
    /// The semaphore bank at Return.
    ReturnSemaphores { Wipe = 0, "wipe"; Keep = 1, "keep"; }
}
named_enum! {
    /// Order of a parallel loop.
    ParallelLoops { InstructionMajor = 0, "instruction_major"; IterationMajor = 1, "iteration_major"; }
}
named_enum! {
    /// Dtypes that a branch compares.
    BranchDtypes { Documented = 0, "documented"; All = 1, "all"; }
}
named_enum! {
    /// First value of a physical register.
    RegisterStart { Ones = 0, "ones"; Zero = 1, "zero"; }
}
named_enum! {
    /// NaN in the result of an instruction.
    NanWrite { Allow = 0, "allow"; Fault = 1, "fault"; }
}
named_enum! {
    /// Names of tensors on the command line.
    TensorNames { LocationOrSet = 0, "location_or_set"; Location = 1, "location"; }
}
named_enum! {
    /// Dtype spelling written to side files of tensors.
    MetaNames { MlDtypes = 0, "ml_dtypes"; Bir = 1, "bir"; }
}
named_enum! {
    /// Unit of the first number of a tolerance pair.
    ToleranceUnit { Percent = 0, "percent"; Fraction = 1, "fraction"; }
}
