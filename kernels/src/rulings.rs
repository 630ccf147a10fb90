//! Where public documents leave a choice: what birsim does, and which function decides it. `engine/docs/rulings.md` is
//! written from this table.

use crate::Profile;
use crate::profile::NOTES;

/// One ruling. A field of [`Profile`] that names it as a source chooses another value; without one there is no choice.
#[derive(Clone, Copy, Debug)]
pub struct Ruling {
    /// Number, as tests and error texts cite it.
    pub id: &'static str,
    /// What birsim does.
    pub choice: &'static str,
    /// Where it is decided: a path below a crate's `src` folder, then the names of functions or types in it. A test looks
    /// for them.
    pub place: &'static str,
}

impl Ruling {
    /// Names of the profile fields that name it as a source.
    pub fn fields(&self) -> impl Iterator<Item = &'static str> {
        Profile::FIELDS.iter().filter(|f| f.sources.contains(&self.id)).map(|f| f.name)
    }

    /// Names of the notes that name it as a source.
    pub fn notes(&self) -> impl Iterator<Item = &'static str> {
        NOTES.iter().filter(|n| n.sources.contains(&self.id)).map(|n| n.name)
    }
}

macro_rules! rulings {
    ($($id:literal $choice:literal, $place:literal;)+) => {
        /// Every ruling, by number.
        pub const RULINGS: &[Ruling] = &[$(Ruling { id: $id, choice: $choice, place: $place }),+];
    };
}

rulings! {
    "D1" "a pattern of another dtype than its tensor reinterprets the bytes; its size must divide the row", "memory/layout.rs resolve";
    "D2" "immediates of bit-vector operations are integers modulo 2^32; a fraction is invalid", "elementwise/tensor_scalar.rs";
    "D3" "integer paths reinterpret equal widths, extend narrower ones, and keep the low bits of results", "cast/int.rs";
    "D4" "integer arithmetic: 64-bit and wrapping on Pool, else saturating int32, else float32", "elementwise/numeric_path.rs";
    "D5" "max and min follow the SSE rule: the second operand wins on NaN and ties", "cast/accumulate.rs sse_max, sse_min";
    "D6" "TensorScalarCache: the scalar is in[1] or the running cache; its start value follows op1", "scan.rs tensor_scalar_cache";
    "D7" "Memset Random stores the low bits of consecutive 64-bit draws", "rng/draw.rs memset_random_host";
    "D8" "Rand reads its generator's state from fixed words of the partition's state", "rng/draw.rs rand";
    "D9" "Rand2 column c draws from generator c mod 4; a 24-word state is four generators in order", "rng/draw.rs rand2";
    "D10" "SetRandState takes its generation from rng_engine, else from the engine", "exec/random.rs set_state";
    "D11" "BNBackprop takes scale, A and Bc together; BNBackprop2 takes scale alone", "batchnorm.rs Gradients";
    "D12" "an entry of an indirect access is the contiguous inner run after the indexed dimension", "indirect/entries.rs";
    "D13" "only a 64-bit -1 and padded slots skip; other indices out of range are faults", "indirect/index.rs";
    "D14" "NaN is a legal value unless a checker is on", "check/";
    "D15" "in-flight reductions: max and min follow the SSE rule seeded by the first source, add starts from zero", "dma.rs cce";
    "D16" "Replicate: destination row r takes source row r modulo the rows", "dma.rs replicate";
    "D17" "START clears the destination's own elements; whole zero regions only when named", "memory/accumulate.rs";
    "D18" "PSUM accumulates per element, whatever pattern wrote it: overlapping windows add up", "memory/accumulate.rs";
    "D19" "Break ends the innermost loop", "control/advance.rs end_of_block";
    "D20" "the run ends when every engine has reached its Exit; in list order, at the first Exit", "systems/select.rs rendezvous";
    "D21" "an event left set at the end of a block is a fault, a semaphore left non-zero a warning", "control/leftovers.rs check_leftovers";
    "D22" "a dynamic offset out of bounds is a fault, or skips elements when oob_is_err is false", "exec/resolve.rs skips_outside";
    "D23" "the predicate of CopyPredicated is cast to uint32 and tested for non-zero", "select.rs copy_predicated";
    "D24" "the partition term of Iota and AffineSelect counts from the pattern's first partition", "iota.rs";
    "D25" "average pool: float32 sum times the double 1 / N, narrowed once", "pool.rs";
    "D26" "access patterns have up to eight pairs", "access/pattern.rs";
    "D27" "names on the command line are location names; set names count when unique", "tensors/names.rs";
    "D28" "side files carry the ml_dtypes name; the declared dtype decides", "npy/write.rs write_npy";
    "D29" "BNStats counts at even elements", "batchnorm.rs bn_stats";
    "D30" "equal values do not displace each other in Max; a displaced value goes after its equals", "search.rs";
    "D31" "98 is RandSetState, 99 is RandGetState", "opcodes/random.rs";
    "D32" "Iota counts row-major over W, Z, Y, X", "iota.rs";
    "D33" "the one-zero hints of a matmul have no effect", "exec/pe.rs";
    "D34" "an instruction reads all operands before it writes", "memory/overlap.rs";
    "D35" "a loop without bounds runs once; stride 0 is 1; lb >= ub runs no trip; negative strides are invalid", "control/frames.rs push_frame";
    "D36" "a wait on a register is evaluated at every poll", "systems/select.rs blocked";
    "D37" "random generators: constants, default state and dead-state guards of the reference", "rng/state.rs";
    "D38" "Dropout: r < t drops, or keeps in keep mode; survivors are not rescaled", "rng/dropout.rs";
    "D39" "two shadows: the accumulate mark is set by the matmul family only, its first byte decides", "memory/accumulate.rs marks_of";
    "D40" "START clears data and mark of the addressed elements only", "memory/accumulate.rs";
    "D41" "Return wipes the semaphores and ends the callee", "sync/mod.rs wipe";
    "D42" "structured loops iterate everywhere; the slot-driven pass over a loop is not modelled", "control/advance.rs";
    "D43" "parallel loops run instruction by instruction", "world/compile/parallel.rs";
    "D44" "replaced by D58", "control/branch.rs";
    "D45" "a call inside a called function is a fault", "control/frames.rs push_frame";
    "D46" "mod and mod_int: RegisterAlu has both, the float map neither", "alu/table.rs";
    "D47" "DRAM by register pattern only for Load, Save, DMACopy and TensorLoad; PSUM patterns stay in a bank", "exec/resolve.rs";
    "D48" "physical registers start as all ones", "world/spawn.rs";
    "D49" "an external kernel gets its JSON configuration as argument and a fresh folder", "exec/external/";
    "D50" "MatmultSparse, replication and transposes of two general matrices are refused", "matmul/mod.rs";
    "D51" "floating-point exceptions do not trap", "check/";
    "D52" "the first number of a tolerance pair is in percent", "compare.rs Tolerance";
    "D53" "integer results saturate in narrower integers; bit-vector results keep their low bits", "elementwise/numeric_path.rs";
    "D54" "activation functions compute in double and round once; Exponential is the single one", "activation/forms.rs";
    "D55" "a matrix product rounds multiply and add separately", "matmul/rounding.rs";
    "D56" "DoubleRowSwInterleave weights are de-interleaved in plain order", "matmul/mod.rs";
    "D57" "a NaN that an invalid operation makes is negative; a NaN operand keeps its sign", "alu/floats.rs pow";
    "D58" "branches compare integers of up to 32 bits and float32", "control/branch.rs";
    "D59" "an operand that the form of its opcode does not use is invalid input", "validate/";
    "D60" "a run that skipped an instruction with outputs ends with exit 4 unless goldens match or the user asked for it", "run/";
    "D61" "a key or archive member that occurs twice is invalid input", "format/read/";
    "D62" "a semaphore lowered below zero wraps, with a warning", "sync/";
    "D63" "an instruction makes a NaN when the input elements of a NaN output element are none", "check/nan.rs";
    "D64" "limits of partitions, engines and synchronisation are remarks, faults in strict mode", "check/";
    "D65" "AffineSelect and Select keep the bits of integers", "movement.rs read_exactly";
    "D66" "what follows from the module alone is reported by validate, with the code and text of a run", "validate/";
    "D67" "AllToAllV takes its counts and offsets from the rows of a metadata operand", "cores/";
    "D68" "PermuteReduceImplicit reduces the inputs of the rank before", "cores/";
    "D69" "a rank outside of all groups, and a rank that Permute sends nothing, keeps its output", "cores/";
    "D70" "collectives meet in list order per core, group, stream and channel", "cores/";
    "D71" "ranks that disagree about a collective are a fault", "cores/";
    "D72" "of two cores that write one shared byte in one round the higher wins, with a remark", "cores/";
    "D73" "rank r has the cores r * L to r * L + L - 1; shared memory and core barriers stay inside of a rank", "cores/";
    "D74" "groups that name ranks beyond the run are refused unless the reference's stand-in is asked for", "cores/";
    "D75" "GPSIMDSB2SB exchanges between two cores only", "cores/";
}
