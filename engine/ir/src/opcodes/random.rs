//! Random numbers and dropout.

use crate::rows;
use crate::{Engine, RandomAlgorithm, RandomDistribution};
use birsim_kernels::Named;

rows! {
    GetRandState = 58, Kernel, [Pool], ["generator?"] => ["state"], Exact, "opcodes 8; ruling D37" {}
    SetRandState = 59, Kernel, [Pool], ["seed:air"] => ["generator?"], Exact, "opcodes 8; rulings D10, D37" {
        rng_engine: Ty::Enum(Engine::DEF) => Def::Absent;
    }
    Rand = 60, Kernel, [Pool], [] => ["out"], Approximate, "activation 7; ruling D8",
        demands [AtMost("params", 4)] {
        random_algorithm: Ty::Enum(RandomAlgorithm::DEF) => Def::Required;
        rand_num_steps: Ty::U8 => Def::Required;
        distribution: Ty::Enum(RandomDistribution::DEF) => Def::Required;
        params: Ty::Floats => Def::Required;
    }
    Dropout = 65, Kernel, [Pool, Dve], ["in", "threshold:air", "seed:air?"] => ["out"], Approximate,
        "activation 6; ruling D38" {
        is_keep_threshold: Ty::Bool => Def::Bool(false);
    }
    Rand2 = 97, Kernel, [Dve], ["min:air?", "max:air?"] => ["out"], Exact, "activation 7; rulings D9, D37", is [SinceCoreV4] {}
    RandSetState = 98, Kernel, [Dve], ["state"] => ["generator?"], Exact, "rulings D31, D37", is [SinceGen3] {}
    RandGetState = 99, Kernel, [Dve], ["generator?"] => ["state"], Exact, "rulings D31, D37", is [SinceGen3] {}
    Rng = 100, Skipped, [], ["any:air*"] => ["out*"], Skipped, "opcodes 8" {}
}
