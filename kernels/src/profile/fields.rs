//! The fields: doc, `name: type = reference value, device value when it differs, [sources], [opcodes it touches]`.

use super::{Choice, FieldInfo, NOTES, choices::*, profile};
use crate::matmul::SwInterleave;
use crate::{Code, Error, Result};

profile! {
    "conversions" {
        /// FP8 narrowing saturates overflow and infinity in copies, stores and kernel results.
        fp8_saturate: bool = true, ["numerics 4.3"], ["*"];
        /// FP8 narrowing writes a signed zero for NaN in copies, stores and kernel results.
        fp8_suppress_nan: bool = false, ["numerics 4.3"], ["*"];
        /// Under saturation, FP8 values that round past the largest code overflow, or carry into the next code (Inf or NaN).
        fp8_round_past_max: PastMax = PastMax::Overflow, ["numerics 4.4", "numerics 9", "matmul-mx 5.3"], ["*"];
        /// A NaN narrowed to float8e5 counts as overflow, so that saturation makes it the largest value.
        fp8_e5m2_nan_overflows: bool = false, ["numerics 4.4", "numerics 9"], ["*"];
        /// Values of another dtype may be cast to uint64; off, only the 64-bit path writes that dtype.
        cast_to_uint64: bool = false, device true, ["numerics 2.1"], ["*"];
        /// Finite floats of 2^31 and more saturate in 8- and 16-bit integers, or first become the int32 minimum.
        float_to_int: FloatToInt = FloatToInt::Saturate, ["numerics 4.7"], ["*"];
        /// Integer operands of the bit-vector path keep their bits, or pass through float32 in and out.
        integer_operands: IntegerOperands = IntegerOperands::Bits, ["D3", "numerics 2.2", "numerics 9"],
            ["TensorScalar", "TensorScalarPtr", "TensorTensor", "TensorReduce"];
    }
    "arithmetic" {
        /// Immediates of bit-vector operations are integers modulo 2^32, or the bits of a float32.
        bitvec_immediate: BitvecImmediate = BitvecImmediate::Integer, ["D2"], ["TensorScalar", "TensorScalarPtr"];
        /// TensorTensor and TensorReduce of integers compute in int32; off, in float32 outside the Pool predicate.
        integer_arithmetic: bool = true, device false, ["D4", "alu 2.1", "alu 8"], ["TensorTensor", "TensorReduce"];
        /// Add, subtract and mult of 32- and 64-bit integers on Pool compute in 64 bits and wrap.
        pool_integer: bool = true, ["D4", "alu 2.1", "alu 8"], ["TensorTensor", "TensorReduce"];
        /// Arithmetic of the int map saturates at int32, or wraps.
        integer_overflow: IntOverflow = IntOverflow::Saturate, device IntOverflow::Wrap, ["D4", "alu 4.2", "alu 8"],
            ["TensorScalar", "TensorScalarPtr", "TensorTensor", "TensorReduce"];
        /// Shift amounts outside the width shift everything out, or count modulo the width.
        shift_range: ShiftRange = ShiftRange::ShiftOut, ["alu 4.1", "alu 8"],
            ["TensorScalar", "TensorScalarPtr", "TensorTensor", "TensorReduce"];
        /// Float max and min give the second operand on NaN and ties, or ignore NaN and order the zeros.
        float_max_min: FloatMaxMin = FloatMaxMin::Sse, ["D5", "alu 4.4", "alu 8"], ["*"];
        /// The float map evaluates mod (floored) and mod_int (truncated) instead of refusing them.
        float_mod: bool = false, device true, ["D46", "alu 4.6"], ["*"];
        /// abs_max and abs_min return the chosen operand with its sign, ties the second, instead of its magnitude.
        abs_max_keeps_sign: bool = false, device true, ["alu 4.7", "alu 8"], ["*"];
    }
    "folds" {
        /// With a second operand, TensorScalarCache meets the running cache in its second stage, or in its first.
        cache_stage: CacheStage = CacheStage::Second, ["D6", "alu 6.8", "alu 8"], ["TensorScalarCache"];
        /// Without an immediate the cache starts at the identity of op1, or at zero.
        cache_start: CacheStart = CacheStart::Identity, ["D6", "alu 6.8"], ["TensorScalarCache"];
        /// ZeroAccumulate of max and min starts at the first value, or at zero.
        epilogue_seed: EpilogueSeed = EpilogueSeed::First, ["alu 6.13", "alu 8", "activation 10"],
            ["Activation", "Exponential", "TensorScalarPtr", "TensorTensor", "CopyPredicated", "RangeSelect"];
        /// The accumulate epilogue folds values before or after they are rounded to the output dtype.
        epilogue_rounding: EpilogueRounding = EpilogueRounding::Before, ["alu 6.13", "alu 8"],
            ["Activation", "Exponential", "TensorScalarPtr", "TensorTensor", "CopyPredicated", "RangeSelect"];
        /// An average pool multiplies by the double 1 / N, by the float32 1 / N, or divides by N.
        pool_average: PoolAverage = PoolAverage::ReciprocalF64, ["D25", "alu 6.5"], ["Pool"];
        /// The four partial sums of an average pool combine as (0 + 2) + (1 + 3), or as (0 + 1) + (2 + 3).
        pool_order: PoolOrder = PoolOrder::Halves, ["alu 6.5", "alu 8"], ["Pool"];
    }
    "selection" {
        /// RangeSelect compares positions with its bounds, or element values.
        range_select_compares: RangeCompares = RangeCompares::Index, ["alu 6.10", "alu 8"], ["RangeSelect"];
        /// The predicate of CopyPredicated is cast to uint32 and tested for non-zero, or tested by value.
        predicate_test: PredicateTest = PredicateTest::Uint32, ["D23"], ["CopyPredicated"];
        /// The partition term counts from the pattern's first partition, or from partition 0 of the machine.
        channel_base: ChannelBase = ChannelBase::Pattern, ["D24"], ["Iota", "TensorScalarAffineSelect"];
        /// Affine patterns count row-major over W, Z, Y, X, or over W, Y, Z, X.
        iota_order: IotaOrder = IotaOrder::Wzyx, ["D32", "alu 6.11"], ["Iota", "TensorScalarAffineSelect"];
        /// An element that equals a slot of Max leaves it, or displaces it.
        max_ties: MaxTies = MaxTies::Keep, ["D30"], ["Max"];
        /// Equal values of MatchReplace meet the data from the last slot to the first.
        match_replace_descending: bool = false, device true, ["opcodes 4"], ["MaxIndexAndMatchReplace"];
    }
    "movement" {
        /// A pattern of another dtype than its tensor reinterprets the bytes, or is a fault (--strict).
        pattern_dtype: PatternDtype = PatternDtype::Reinterpret, ["D1"], ["*"];
        /// Access patterns have up to eight pairs, or up to four.
        pattern_pairs: PatternPairs = PatternPairs::Eight, ["D26"], ["*"];
        /// Destination row r of a replicate takes source row r mod rows, or r * rows / destination rows.
        replicate_rows: ReplicateRows = ReplicateRows::Cyclic, ["D16"], ["DMACopy", "DMADescriptorReplicate"];
        /// In-flight and collective max and min follow the SSE rule, or ignore NaN like C fmaxf.
        cce_max_min: FloatMaxMin = FloatMaxMin::Sse, ["D15", "numerics 5.4"], ["DMACopy", "DMADescriptorCCE", "CollectiveCompute"];
        /// An in-flight sum starts at zero, or at the first input.
        cce_start: CceStart = CceStart::Zero, ["D15", "numerics 5.4"], ["DMACopy", "DMADescriptorCCE"];
        /// Only a 64-bit index of -1 skips its slot, or a 32-bit one too.
        minus_one_skips: MinusOneSkips = MinusOneSkips::Wide, ["D13"],
            ["GenericIndirectLoad", "GenericIndirectSave", "IndirectLoad", "IndirectSave", "IndirectSaveAccumulate"];
        /// With oob_is_err false, elements of a scalar offset that leave their tensors are skipped, or a fault.
        scalar_offset_oob: OffsetPolicy = OffsetPolicy::Skip, ["D22"], ["DMACopy"];
        /// Run-time offsets count elements of the pattern's dtype, or bytes.
        offset_unit: OffsetUnit = OffsetUnit::Element, ["bir-json 6.4"], ["*"];
        /// DRAM through a register pattern: refused but for four opcodes, or allowed.
        dram_by_register: Guard = Guard::Refuse, ["D47"], ["*"];
        /// PSUM patterns across a bank: refused, or allowed.
        psum_multibank: Guard = Guard::Refuse, ["D47"], ["*"];
    }
    "matrix products" {
        /// A matrix product adds a * b with one rounding (fused) instead of two.
        matmul_fma: bool = false, device true, ["D55", "matmul-mx 2.4", "matmul-mx 9"], ["Matmult", "MatmultMx"];
        /// Weights of DoubleRowSwInterleave: de-interleaved in plain or reversed column order, or refused.
        matmul_sw_interleave: SwInterleave = SwInterleave::Plain, device SwInterleave::Refuse, ["D50", "D56", "matmul-mx 2.5", "matmul-mx 9"], ["Matmult"];
        /// The hints on constant operands have no effect, or are refused.
        matmul_one_zero: OneZeroHints = OneZeroHints::Ignore, ["D33", "matmul-mx 2.7", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// START clears the destination's own elements, or the whole banks that hold them.
        psum_clear: PsumClear = PsumClear::Elements, ["D17", "D40", "matmul-mx 3.2", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// Without START and ACCUMULATE, marked elements are overwritten, or added to.
        psum_idle: PsumIdle = PsumIdle::Overwrite, ["matmul-mx 3.3", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// A PSUM address contains its bank when it is a bank or more, always, or never.
        psum_address: PsumAddress = PsumAddress::BySize, ["bir-json 4.2"], ["*"];
        /// MX blocks are scaled by one binade more, so that quantising never saturates.
        mx_alternative_emax: bool = false, device true, ["matmul-mx 5.2"], ["QuantizeMx"];
        /// The scale byte of an MX block is at least 1, also for a block of zeros.
        mx_scale_floor_one: bool = true, device false, ["matmul-mx 5.4"], ["QuantizeMx"];
    }
    "activation" {
        /// Derivative_silu is the form the notes print, 0.25 at 0, instead of the derivative.
        silu_derivative_printed: bool = false, ["activation 3", "activation 10"], ["Activation"];
        /// Every function computes in double precision and rounds once; off, the costly ones compute in float32 within one
        /// unit in the last place.
        activation_double: bool = true, device false, ["D54", "activation 3.1"], ["Activation", "Exponential"];
        /// The constants of Derivative_Gelu and Lrelu multiply in double, or in float32.
        activation_constants: ActivationConstants = ActivationConstants::Double, ["activation 3", "activation 3.1", "activation 10"], ["Activation"];
        /// Dropout in keep mode drops the element whose draw equals the threshold, or keeps it.
        dropout_tie: DropoutTie = DropoutTie::Drop, device DropoutTie::Keep, ["D38", "activation 6"], ["Dropout"];
    }
    "random numbers" {
        /// Narrow elements of a random Memset take the low or the high half of a 64-bit draw.
        memset_random: DrawHalf = DrawHalf::Low, ["D7"], ["Memset"];
        /// An LFSR state of zero becomes one, or stays zero.
        lfsr_zero: LfsrZero = LfsrZero::One, ["D8"], ["Rand"];
        /// Column c of Rand2 draws from generator c mod 4, or from generator 4 c / columns.
        rand2_lanes: Rand2Lanes = Rand2Lanes::Modulo, ["D9"], ["Rand2"];
        /// SetRandState takes its generation from rng_engine when present, or always from its engine.
        rand_generation: RandGeneration = RandGeneration::RngEngine, ["D10"], ["SetRandState"];
    }
    "control" {
        /// A loop without bounds runs its body once, or never.
        loop_without_bounds: LoopWithoutBounds = LoopWithoutBounds::Once, ["D35"], ["Loop"];
        /// A loop stride of 0 is 1, or refused.
        loop_stride_zero: StrideZero = StrideZero::One, ["D35", "bir-json 9"], ["Loop", "DynamicForLoop"];
        /// Parallel loops run instruction by instruction, or trip by trip.
        parallel_loops: ParallelLoops = ParallelLoops::InstructionMajor, ["D43"], ["Loop"];
        /// After a Break, execution continues after the innermost loop, or with the next block.
        break_goes: BreakGoes = BreakGoes::AfterLoop, ["D19"], ["Break"];
        /// Return wipes the semaphores, or keeps them.
        return_semaphores: ReturnSemaphores = ReturnSemaphores::Wipe, ["D41"], ["Return"];
        /// A call inside a called function: refused, or allowed.
        nested_calls: Guard = Guard::Refuse, ["D45"], ["Call"];
        /// Branches compare integers of up to 32 bits and float32, or all dtypes.
        branch_dtypes: BranchDtypes = BranchDtypes::Documented, ["D44", "D58"], ["CompareAndBranch"];
        /// Physical registers start as all ones, or as zero.
        register_start: RegisterStart = RegisterStart::Ones, ["D48"], ["*"];
    }
    "synchronisation" {
        /// Semaphores left non-zero at the end of the run are a warning, a fault (--strict), or nothing.
        leftover_semaphores: Leftover = Leftover::Warn, ["D21"], ["*"];
    }
    "values and host" {
        /// A NaN in a result is allowed, or a fault (--check nan-write).
        nan_write: NanWrite = NanWrite::Allow, ["D14", "matmul-mx 3.3"], ["*"];
        /// Tensor names on the command line are those of locations or, when unique, of sets; or of locations only.
        tensor_names: TensorNames = TensorNames::LocationOrSet, ["D27"], [];
        /// Side files of written tensors carry the ml_dtypes or the BIR spelling of the dtype.
        meta_names: MetaNames = MetaNames::MlDtypes, ["D28"], [];
        /// The first number of a tolerance pair is in percent, or a fraction.
        tolerance_unit: ToleranceUnit = ToleranceUnit::Percent, ["D52"], [];
    }
}
