//! Races between cores: accesses to one shared tensor that no meeting, message or remote semaphore orders.

use super::shared::SharedMemory;
use crate::check::{Clock, Found, Hooks, SharedAccesses};
use crate::sim::Core;
use crate::world::{Diagnostic, Program, Remark, RowId, Severity, Update};
use hashbrown::{HashMap, HashSet};

/// Findings of one run.
const FINDINGS: usize = 100;

/// What is known of the accesses to shared tensors.
#[derive(Default)]
pub(super) struct Races {
    /// By rank and number of the tensor in it.
    tensors: HashMap<(usize, usize), SharedAccesses>,
    told: HashSet<[(u32, RowId); 2]>,
}

/// Runs `f` with the checker of a core, when races are looked for.
pub(super) fn with<R>(core: &mut Core, f: impl FnOnce(&mut crate::check::Race, &Program) -> R) -> Option<R> {
    let mut hooks = core.world.remove_resource::<Hooks>()?;
    let answer = hooks.race().map(|race| f(race, core.world.resource::<Program>()));
    core.world.insert_resource(hooks);
    answer
}

/// Lets rows of several cores follow what all of them did before they met.
pub(super) fn meet(cores: &mut [Core], sides: &[(u32, RowId)]) {
    let mut known = Clock::default();
    for (id, row) in sides {
        let Some(stamp) = with(&mut cores[*id as usize], |race, program| race.stamp(program, *row)) else { return };
        known.hand_on(*id, &stamp);
    }
    sides.iter().for_each(|(id, row)| follow(&mut cores[*id as usize], *row, &known));
}

/// Lets a row follow what is known of other cores.
pub(super) fn follow(core: &mut Core, row: RowId, known: &Clock) {
    let seat = core.seat();
    with(core, |race, _| race.grant(row, seat, known.clone()));
}

/// Clocks of the messages and updates that a core sent, handed on.
pub(super) fn sent(core: &mut Core) -> (Vec<Clock>, Vec<Clock>) {
    let id = core.seat().id;
    let (messages, updates) = with(core, |race, _| race.take_sent()).unwrap_or_default();
    let handed = |list: Vec<Clock>| -> Vec<Clock> {
        let one = |c: Clock| {
            let mut known = Clock::default();
            known.hand_on(id, &c);
            known
        };
        list.into_iter().map(one).collect()
    };
    (handed(messages), handed(updates))
}

/// An update of another core has arrived.
pub(super) fn receive(core: &mut Core, update: &Update, known: Option<Clock>) {
    let seat = core.seat();
    if let Some(known) = known {
        with(core, |race, _| race.receive(update, seat, known));
    }
}

impl Races {
    /// Looks at what the cores that ran did to shared tensors, in core order.
    pub fn look(&mut self, cores: &mut [Core], ran: &[usize], shared: &[SharedMemory], per_rank: usize) {
        let mut ran = ran.to_vec();
        ran.sort_unstable();
        for id in ran {
            let Some(touches) = with(&mut cores[id], |race, _| race.take_shared()) else { return };
            let rank = id / per_rank;
            for touch in touches {
                let Some(tensor) = shared[rank].tensor_of((id, touch.location.at())) else { continue };
                let found = self.tensors.entry((rank, tensor)).or_default().note(id as u32, &touch);
                if let Some(found) = found {
                    self.tell(cores, &found, shared[rank].name_of(tensor));
                }
            }
        }
    }

    fn tell(&mut self, cores: &mut [Core], found: &Found, tensor: &str) {
        let key = found.sides.map(|(core, row, _)| (core, row));
        if self.told.len() >= FINDINGS || !self.told.insert(key) {
            return;
        }
        let text = |k: usize| {
            let (id, row, writes) = found.sides[k];
            let core = &cores[id as usize];
            let program = core.world.resource::<Program>();
            let inst = &program.insts[row];
            let name = program.name_of(inst);
            let engine = if found.queues[k] { "a DMA queue".to_string() } else { inst.engine.to_string() };
            (format!("{name} on {engine} of {}", core.seat().name()), if writes { "writes" } else { "reads" })
        };
        let ((one, does), (other, did)) = (text(0), text(1));
        let (lo, hi) = found.bytes;
        let message =
            format!("{one} {does} {tensor} (bytes {lo}..{hi}), which {other} {did}, and nothing orders the two");
        let (id, row, _) = found.sides[0];
        let d = Diagnostic::new(Severity::Fault, Remark::Race, message).at(row).of(tensor.to_string());
        cores[id as usize].remark(d);
    }
}
