//! The fields: doc, `name: type = reference value, device value when it differs, [sources], [opcodes it touches]`.

use super::{Choice, FieldInfo, Only, choices::*, profile};
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
        /// NaN is written to float8e3 as 78, to float8e4 as 7C, and to float8e5 as 7E whatever its sign.
        fp8_nan_codes: Only = Only("quiet"), ["D57", "numerics 1.1", "numerics 9"], ["*"];
        /// A FP8 NaN is read as 7FC00000 with its sign.
        fp8_nan_payload: Only = Only("dropped"), ["numerics 3.1"], ["*"];
        /// Values of another dtype may be cast to uint64; off, only the 64-bit path writes that dtype.
        cast_to_uint64: bool = false, device true, ["numerics 2.1"], ["*"];
        /// Finite floats of 2^31 and more saturate in 8- and 16-bit integers, or first become the int32 minimum.
        float_to_int: FloatToInt = FloatToInt::Saturate, ["numerics 4.7"], ["*"];
        /// Finite floats at the edge of 64-bit integers saturate.
        wide_int_clamp: Only = Only("saturate"), ["numerics 4.7", "numerics 9"], ["*"];
        /// Infinity and NaN pass into float32r as they are.
        float32r_special: Only = Only("pass"), ["numerics 6", "numerics 9"], ["*"];
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
        /// Integer results saturate in a narrower integer destination; those of bit-vector operations keep their low bits.
        integer_narrowing: Only = Only("saturate"), ["D53", "numerics 4.8"], ["TensorTensor", "TensorReduce"];
        /// A NaN that an invalid operation makes has its sign bit set; a NaN operand of pow keeps its own.
        nan_sign: Only = Only("negative"), ["D57"], ["*"];
        /// Operations of the int and address maps beyond the confirmed ones have their natural meaning.
        integer_map: Only = Only("natural"), ["alu 2", "alu 3", "alu 4.2", "alu 8"],
            ["TensorScalar", "TensorScalarPtr", "TensorTensor", "TensorReduce"];
        /// An integer divided by zero, and its remainder, is zero.
        integer_divide_by_zero: Only = Only("zero"), ["alu 4.3"],
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
        /// rsqrt on Pool is 1 / sqrt(a) in float32 like everywhere.
        rsqrt_on_pool: Only = Only("exact"), ["alu 4.9", "alu 8"], ["TensorScalar", "TensorScalarPtr", "TensorTensor"];
        /// RegisterAlu wraps at its width, signed or unsigned by the dtype, and has mod and mod_int.
        register_alu: Only = Only("wrap"), ["D46"], ["RegisterAlu"];
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
        /// Axis C folds the partitions, XYZWC everything into one element.
        reduce_across_partitions: Only = Only("fold"), ["alu 6.4"], ["TensorReduce"];
        /// apply_transpose swaps partition and element inside tiles of 32 x 32.
        reduce_transpose: Only = Only("tiles_of_32"), ["alu 6.4"], ["TensorReduce", "BNStats"];
        /// TensorScalarPtr with apply_transpose is refused.
        pointer_transpose: Only = Only("refuse"), ["alu 6.4"], ["TensorScalarPtr"];
        /// An average pool multiplies by the double 1 / N, by the float32 1 / N, or divides by N.
        pool_average: PoolAverage = PoolAverage::ReciprocalF64, ["D25", "alu 6.5"], ["Pool"];
        /// The four partial sums of an average pool combine as (0 + 2) + (1 + 3), or as (0 + 1) + (2 + 3).
        pool_order: PoolOrder = PoolOrder::Halves, ["alu 6.5", "alu 8"], ["Pool"];
        /// TongaReduceMacroSymbolic overwrites on the first trip of its axes and folds afterwards.
        reduce_macro: Only = Only("first_overwrites"), ["opcodes 13"], ["TongaReduceMacroSymbolic"];
        /// BNStats counts at even elements.
        bn_count: Only = Only("even"), ["D29"], ["BNStats"];
        /// BNBackprop takes scale, A and Bc together, BNBackprop2 scale alone.
        bn_operands: Only = Only("joint_then_split"), ["D11"], ["BNBackprop", "BNBackprop2"];
    }
    "selection" {
        /// RangeSelect compares positions with its bounds, or element values.
        range_select_compares: RangeCompares = RangeCompares::Index, ["alu 6.10", "alu 8"], ["RangeSelect"];
        /// RangeSelect over a part of the partitions is refused.
        range_select_channels: Only = Only("all"), ["alu 6.10"], ["RangeSelect"];
        /// The predicate of CopyPredicated is cast to uint32 and tested for non-zero, or tested by value.
        predicate_test: PredicateTest = PredicateTest::Uint32, ["D23"], ["CopyPredicated"];
        /// The partition term counts from the pattern's first partition, or from partition 0 of the machine.
        channel_base: ChannelBase = ChannelBase::Pattern, ["D24"], ["Iota", "TensorScalarAffineSelect"];
        /// Affine patterns count row-major over W, Z, Y, X, or over W, Y, Z, X.
        iota_order: IotaOrder = IotaOrder::Wzyx, ["D32", "alu 6.11"], ["Iota", "TensorScalarAffineSelect"];
        /// GetSequenceBounds gives (length, -1) for the padding id 0.
        sequence_padding: Only = Only("length_and_minus_one"), ["opcodes 13"], ["GetSequenceBounds"];
        /// An element that equals a slot of Max leaves it, or displaces it.
        max_ties: MaxTies = MaxTies::Keep, ["D30"], ["Max"];
        /// Equal values of MatchReplace meet the data from the last slot to the first.
        match_replace_descending: bool = false, device true, ["opcodes 4"], ["MaxIndexAndMatchReplace"];
        /// An index of Gather that leaves the row is a fault.
        gather_out_of_range: Only = Only("fault"), ["opcodes 13", "activation 8"], ["Gather"];
    }
    "movement" {
        /// A pattern of another dtype than its tensor reinterprets the bytes, or is a fault (--strict).
        pattern_dtype: PatternDtype = PatternDtype::Reinterpret, ["D1"], ["*"];
        /// Access patterns have up to eight pairs, or up to four.
        pattern_pairs: PatternPairs = PatternPairs::Eight, ["D26"], ["*"];
        /// StreamTranspose of more than 32 x 32 takes whole tiles.
        stream_transpose_tiles: Only = Only("whole"), ["opcodes 3"], ["StreamTranspose"];
        /// An instruction reads its operands before it writes.
        overlap: Only = Only("reads_first"), ["D34"], ["*"];
        /// Destination row r of a replicate takes source row r mod rows, or r * rows / destination rows.
        replicate_rows: ReplicateRows = ReplicateRows::Cyclic, ["D16"], ["DMACopy", "DMADescriptorReplicate"];
        /// In-flight and collective max and min follow the SSE rule, or ignore NaN like C fmaxf.
        cce_max_min: FloatMaxMin = FloatMaxMin::Sse, ["D15", "numerics 5.4"], ["DMACopy", "DMADescriptorCCE", "CollectiveCompute"];
        /// An in-flight sum starts at zero, or at the first input.
        cce_start: CceStart = CceStart::Zero, ["D15", "numerics 5.4"], ["DMACopy", "DMADescriptorCCE"];
        /// An index moves the contiguous inner run and counts steps of the final dimension.
        indirect_entry: Only = Only("inner_run"), ["D12"], ["IndirectLoad", "IndirectSave"];
        /// Only a 64-bit index of -1 skips its slot, or a 32-bit one too.
        minus_one_skips: MinusOneSkips = MinusOneSkips::Wide, ["D13"],
            ["GenericIndirectLoad", "GenericIndirectSave", "IndirectLoad", "IndirectSave", "IndirectSaveAccumulate"];
        /// With oob_is_err false, elements of a scalar offset that leave their tensors are skipped, or a fault.
        scalar_offset_oob: OffsetPolicy = OffsetPolicy::Skip, ["D22"], ["DMACopy"];
        /// Run-time offsets count elements of the pattern's dtype, or bytes.
        offset_unit: OffsetUnit = OffsetUnit::Element, ["bir-json 6.4"], ["*"];
        /// One number of addrs is the tile; of another length than the rank, the first is the block and the last the tile.
        tile_address: Only = Only("last"), ["bir-json 6.2"], ["*"];
        /// Addresses for 64-bit indices carry 0x100000000 on top.
        address_bias: Only = Only("0x100000000"), ["opcodes 13"],
            ["ReadVarAddr", "IndirectLoad", "IndirectSave", "IndirectSaveAccumulate"];
        /// IndirectSaveAccumulate finds its destination in its first output when there is one.
        save_accumulate_operands: Only = Only("outs_first"), ["opcodes 13"], ["IndirectSaveAccumulate"];
        /// DRAM through a register pattern: refused but for four opcodes, or allowed.
        dram_by_register: Guard = Guard::Refuse, ["D47"], ["*"];
        /// PSUM patterns across a bank: refused, or allowed.
        psum_multibank: Guard = Guard::Refuse, ["D47"], ["*"];
        /// The k-th receive of a pair of ranks matches its k-th send.
        send_receive: Only = Only("kth_use"), ["opcodes 13"], ["CollectiveSend", "CollectiveRecv"];
        /// Collective kind 8 copies.
        collective_kind_8: Only = Only("copy"), ["opcodes 13"], ["CollectiveCompute"];
    }
    "matrix products" {
        /// A matrix product adds a * b with one rounding (fused) instead of two.
        matmul_fma: bool = false, device true, ["D55", "matmul-mx 2.4", "matmul-mx 9"], ["Matmult", "MatmultMx"];
        /// The products of one element are added in ascending order of k from +0.
        matmul_order: Only = Only("ascending"), ["matmul-mx 2.4", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// Weights of DoubleRowSwInterleave: de-interleaved in plain or reversed column order, or refused.
        matmul_sw_interleave: SwInterleave = SwInterleave::Plain, device SwInterleave::Refuse, ["D50", "D56", "matmul-mx 2.5", "matmul-mx 9"], ["Matmult"];
        /// Replication fields other than the default are refused.
        matmul_replication: Only = Only("refuse"), ["D50", "matmul-mx 2.7", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// is_transpose moves ifmap, partition against free, when the weights are an identity; else it is refused.
        matmul_transpose: Only = Only("identity"), ["D50", "matmul-mx 2.6", "matmul-mx 9"], ["Matmult"];
        /// MatmultSparse is refused where the order of its tags decides.
        matmul_sparse: Only = Only("refuse"), ["D50", "matmul-mx 6", "matmul-mx 9"], ["MatmultSparse"];
        /// The hints on constant operands have no effect, or are refused.
        matmul_one_zero: OneZeroHints = OneZeroHints::Ignore, ["D33", "matmul-mx 2.7", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// START clears the destination's own elements, or the whole banks that hold them.
        psum_clear: PsumClear = PsumClear::Elements, ["D17", "D40", "matmul-mx 3.2", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// PSUM accumulates element by element, whatever pattern wrote it.
        psum_identity: Only = Only("element"), ["D18"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// The accumulate mark is set by the matmul family only; the element's first byte decides.
        psum_mark: Only = Only("first_byte"), ["D39"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// Without START and ACCUMULATE, marked elements are overwritten, or added to.
        psum_idle: PsumIdle = PsumIdle::Overwrite, ["matmul-mx 3.3", "matmul-mx 9"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// The function attribute that leaves accumulation to the machine is spelled auto_psum_accumulate.
        psum_auto: Only = Only("auto_psum_accumulate"), ["opcodes 14"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// start_tensor_calc and stop_tensor_calc stand for the flag byte when it is missing.
        psum_flag_spelling: Only = Only("both"), ["bir-json 5.1"], ["Matmult", "MatmultSparse", "MatmultMx"];
        /// A PSUM address contains its bank when it is a bank or more, always, or never.
        psum_address: PsumAddress = PsumAddress::BySize, ["bir-json 4.2"], ["*"];
        /// MX blocks are scaled by one binade more, so that quantising never saturates.
        mx_alternative_emax: bool = false, device true, ["matmul-mx 5.2"], ["QuantizeMx"];
        /// The scale byte of an MX block is at least 1, also for a block of zeros.
        mx_scale_floor_one: bool = true, device false, ["matmul-mx 5.4"], ["QuantizeMx"];
        /// Lane 0 of a packed fp4 container is the lowest nibble.
        fp4_lanes: Only = Only("low_nibble_first"), ["matmul-mx 5.5", "matmul-mx 9", "numerics 9"], ["QuantizeMx", "MatmultMx"];
    }
    "activation" {
        /// Derivative_silu is the form the notes print, 0.25 at 0, instead of the derivative.
        silu_derivative_printed: bool = false, ["activation 3", "activation 10"], ["Activation"];
        /// Every function computes in double precision and rounds once; off, the costly ones compute in float32 within one
        /// unit in the last place.
        activation_double: bool = true, device false, ["D54", "activation 3.1"], ["Activation", "Exponential"];
        /// The constants of Derivative_Gelu and Lrelu multiply in double, or in float32.
        activation_constants: ActivationConstants = ActivationConstants::Double, ["activation 3", "activation 3.1", "activation 10"], ["Activation"];
        /// Activate2 evaluates its two operations with the float map.
        activate2: Only = Only("float_map"), ["activation 1.5", "activation 10"], ["Activation"];
        /// Scale and alpha in memory are one element per partition.
        activation_operands: Only = Only("per_partition"), ["activation 10"], ["Activation"];
        /// The keys scale and alpha serve where the operand is missing; a missing bias is 0.
        activation_keys: Only = Only("when_missing"), ["opcodes 5"], ["Activation"];
        /// A NaN goes through the tables with its bits.
        pwp_nan: Only = Only("by_bits"), ["activation 10"], ["Activation"];
        /// Dropout in keep mode drops the element whose draw equals the threshold, or keeps it.
        dropout_tie: DropoutTie = DropoutTie::Drop, device DropoutTie::Keep, ["D38", "activation 6"], ["Dropout"];
        /// Dropout draws from XORWOW states made of the seed operand, without rescaling.
        dropout_stream: Only = Only("xorwow"), ["D38", "activation 6", "activation 10"], ["Dropout"];
        /// DveReadAccumulator writes the accumulator in float32, negated when asked for.
        dve_accumulator: Only = Only("float32"), ["opcodes 13"], ["DveReadAccumulator"];
    }
    "random numbers" {
        /// Narrow elements of a random Memset take the low or the high half of a 64-bit draw.
        memset_random: DrawHalf = DrawHalf::Low, ["D7"], ["Memset"];
        /// Rand reads its generator from fixed words of the partition's state; its key, parameters and steps are not read.
        rand_words: Only = Only("fixed"), ["D8", "opcodes 13", "activation 7.3"], ["Rand"];
        /// An LFSR state of zero becomes one, or stays zero.
        lfsr_zero: LfsrZero = LfsrZero::One, ["D8"], ["Rand"];
        /// Column c of Rand2 draws from generator c mod 4, or from generator 4 c / columns.
        rand2_lanes: Rand2Lanes = Rand2Lanes::Modulo, ["D9"], ["Rand2"];
        /// A state of 24 words is four generators, one after the other.
        rand2_state: Only = Only("consecutive"), ["D9"], ["Rand2", "SetRandState", "GetRandState", "RandSetState", "RandGetState"];
        /// SetRandState takes its generation from rng_engine when present, or always from its engine.
        rand_generation: RandGeneration = RandGeneration::RngEngine, ["D10"], ["SetRandState"];
        /// 98 restores a state, 99 saves one.
        rand_state_opcodes: Only = Only("98_sets"), ["D31"], ["RandSetState", "RandGetState"];
        /// Constants, default state and guards of the generators.
        generators: Only = Only("reference"), ["D37", "activation 7.1"],
            ["Memset", "Rand", "Rand2", "Dropout", "SetRandState", "GetRandState", "RandSetState", "RandGetState"];
    }
    "control" {
        /// A loop without bounds runs its body once, or never.
        loop_without_bounds: LoopWithoutBounds = LoopWithoutBounds::Once, ["D35"], ["Loop"];
        /// A loop stride of 0 is 1, or refused.
        loop_stride_zero: StrideZero = StrideZero::One, ["D35", "bir-json 9"], ["Loop", "DynamicForLoop"];
        /// Structured loops iterate everywhere.
        loop_walk: Only = Only("iterate"), ["D42"], ["Loop"];
        /// Parallel loops run instruction by instruction, or trip by trip.
        parallel_loops: ParallelLoops = ParallelLoops::InstructionMajor, ["D43"], ["Loop"];
        /// Break goes on behind the innermost loop, or with the next block.
        break_goes: BreakGoes = BreakGoes::BehindLoop, ["D19"], ["Break"];
        /// The run ends when every engine has reached its Exit; in list order at once.
        exit_rule: Only = Only("all_engines"), ["D20"], ["Exit"];
        /// Return wipes the semaphores, or keeps them.
        return_semaphores: ReturnSemaphores = ReturnSemaphores::Wipe, ["D41"], ["Return"];
        /// A call inside a called function: refused, or allowed.
        nested_calls: Guard = Guard::Refuse, ["D45"], ["Call"];
        /// Branches compare integers of up to 32 bits and float32, or all dtypes.
        branch_dtypes: BranchDtypes = BranchDtypes::Documented, ["D44", "D58"], ["CompareAndBranch"];
        /// A branch without an engine runs on all of them.
        unassigned_branch: Only = Only("all_engines"), ["opcodes 11"], ["CompareAndBranch", "UnconditionalBranch"];
        /// Physical registers start as all ones, or as zero.
        register_start: RegisterStart = RegisterStart::Ones, ["D48"], ["*"];
        /// An engine has 64 physical registers.
        physical_registers: Only = Only("64"), ["machine 3"], ["*"];
        /// There is one instance of each engine.
        engine_instances: Only = Only("one"), ["machine 1"], ["*"];
        /// Predicates are {op, ex} records; an instruction runs when all of them hold.
        predicates: Only = Only("op_and_expression"), ["bir-json 7.3"], ["*"];
    }
    "synchronisation" {
        /// Semaphores left non-zero at the end of the run are a warning, a fault (--strict), or nothing.
        leftover_semaphores: Leftover = Leftover::Warn, ["D21"], ["*"];
        /// A wait on a register is evaluated at every poll.
        register_wait: Only = Only("every_poll"), ["D36"], ["*"];
        /// Without sync_info a module runs its blocks in list order.
        without_sync: Only = Only("list_order"), ["bir-json 8"], ["*"];
        /// Absent sync keys mean a semaphore, sem-ge-imm 1 and sem-add-imm 1.
        sync_defaults: Only = Only("ge_1_add_1"), ["bir-json 8"], ["*"];
        /// A missing or unknown queue of an inline DMA instruction has no effect.
        inline_queue: Only = Only("ignored"), ["bir-json 10"], ["Load", "Save", "DMACopy"];
    }
    "values and host" {
        /// A NaN in a result is allowed, or a fault (--check nan-write).
        nan_write: NanWrite = NanWrite::Allow, ["D14", "matmul-mx 3.3"], ["*"];
        /// Floating-point exceptions do not trap; --check nan looks for their results.
        float_traps: Only = Only("none"), ["D51"], ["*"];
        /// An external kernel gets its JSON configuration as argument and runs in a fresh folder.
        external_hand_over: Only = Only("argument"), ["D49"], ["CustomOp", "BIRKernel"];
        /// DevicePrint changes no state and prints to the run's output.
        device_print: Only = Only("print"), ["opcodes 12"], ["DevicePrint"];
        /// Tensor names on the command line are those of locations or, when unique, of sets; or of locations only.
        tensor_names: TensorNames = TensorNames::LocationOrSet, ["D27"], [];
        /// Side files of written tensors carry the ml_dtypes or the BIR spelling of the dtype.
        meta_names: MetaNames = MetaNames::MlDtypes, ["D28"], [];
        /// The first number of a tolerance pair is in percent, or a fraction.
        tolerance_unit: ToleranceUnit = ToleranceUnit::Percent, ["D52"], [];
    }
    "reading modules" {
        /// Enums are read by name or ordinal.
        json_enums: Only = Only("name_or_ordinal"), ["bir-json 1"], [];
        /// Non-finite floats are the texts inf, -inf and nan.
        json_non_finite: Only = Only("texts"), ["bir-json 1"], [];
        /// Unknown keys are ignored and kept for writing.
        json_unknown_keys: Only = Only("kept"), ["bir-json 1"], [];
        /// Block arguments stand under the key arguments.
        json_block_arguments: Only = Only("arguments"), ["bir-json 3"], [];
        /// A location without a set gets one named NAME_set.
        json_bare_locations: Only = Only("own_set"), ["bir-json 4.2"], [];
        /// Pattern pairs are read as [step, num] and as objects.
        json_pairs: Only = Only("both"), ["bir-json 5.1"], [];
        /// The keys of cc_channel are read nested and flat; nested wins.
        json_cc_channel: Only = Only("nested_wins"), ["bir-json 5.1"], ["CollectiveCompute"];
        /// Absent parts of an affine expression are no terms and 0; an integer is a constant.
        json_expressions: Only = Only("absent_is_zero"), ["bir-json 7.1"], [];
        /// Arguments of a call are an object from formal to actual set.
        json_call_arguments: Only = Only("object"), ["bir-json 10"], ["Call"];
        /// A tensor map has partition_offset and free_offset for each tensor; other keys are not written.
        tensor_map_keys: Only = Only("offsets"), ["bir-json 12"], [];
        /// The dtype bool is uint8.
        json_bool: Only = Only("uint8"), ["numerics 1.1"], [];
    }
}
