//! Synchronisation and queues.

use crate::rows;
use crate::{SemaphoreClearMode, TensorCompletionMode};
use birsim_kernels::Named;

rows! {
    NoOp = 12, NoOp, [Pool, Activation, Pe, Dma, Dve, Sp], [] => [], Exact, "opcodes 11" {}
    EventSemaphore = 13, NoOp, [Pool, Activation, Pe, Dma, Dve, Sp], [] => [], Exact,
        "opcodes 11" {}
    GroupResetSemaphores = 14, Kernel, [All], [] => [], Exact, "opcodes 11", steers ResetSemaphores, is [EndsWindow],
        demands [Semaphores("sema_group")] {
        mode: Ty::Enum(SemaphoreClearMode::DEF) => Def::Enum(0);
        sema_group: Ty::Ints => Def::Absent;
    }
    AllEngineBarrier = 15, NoOp, [All], [] => [], Exact, "opcodes 11", is [Barrier, EndsWindow, JoinsAlone] {}
    Drain = 16, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], [] => [], Exact, "opcodes 11" {
        is_reset_sema: Ty::Bool => Def::Bool(false);
    }
    Halt = 17, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], [] => [], Exact, "opcodes 11" {}
    SwitchQueueInstance = 85, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], [] => [], Exact,
        "opcodes 11", steers SwitchQueue, is [EndsWindow] {
        queue: Ty::Str => Def::Absent;
        instance: Ty::Strs => Def::Absent;
        no_rearm: Ty::Bool => Def::Bool(false);
    }
    ResetQueueInstance = 86, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], [] => [], Exact,
        "opcodes 11", steers ResetQueue, is [EndsWindow] {
        queue: Ty::Str => Def::Absent;
        instance: Ty::Strs => Def::Absent;
    }
    TensorCompletion = 94, Kernel, [Pool, Activation, Pe, Dma, Dve, Sp], [] => [], Exact,
        "opcodes 11" {
        mode: Ty::Enum(TensorCompletionMode::DEF) => Def::Enum(0);
    }
}
