//! What devices ask of a program and the documented simulator does not check: where operands start and how they step over
//! partitions, which memories an engine reaches, how many waits and updates an instruction has, which targets know it
//! (`machine.md` 12). All of it follows from the module alone.

use super::index::Found;
use super::{Slot, Walk};
use crate::{Arch, Engine, Instruction, Location, MemoryType, Operand, PhysicalAp, Role, Trait};
use birsim_kernels::{Code, Error, named_enum};

named_enum! {
    /// A rule of the devices.
    DeviceRule {
        /// Partitions that operands start at.
        StartPartition = 0, "start-partition";
        /// Steps from partition to partition.
        PartitionStep = 1, "partition-step";
        /// Memories that an engine reaches.
        EngineMemory = 2, "engine-memory";
        /// Waits and updates of an instruction.
        SyncLimit = 3, "sync-limit";
        /// Targets that know an instruction.
        ArchitectureGate = 4, "architecture-gate";
    }
}

impl DeviceRule {
    /// The fault that breaking it is with strict rules.
    pub const fn code(self) -> Code {
        match self {
            DeviceRule::StartPartition => Code::S020,
            DeviceRule::PartitionStep => Code::S021,
            DeviceRule::EngineMemory => Code::S022,
            DeviceRule::SyncLimit => Code::S023,
            DeviceRule::ArchitectureGate => Code::S024,
        }
    }
}

/// Places that break rules of the devices.
#[derive(Clone, Debug, Default)]
pub struct Doubts {
    /// The first places, as the errors that they are with strict rules.
    pub errors: Vec<Error>,
    counts: [usize; DeviceRule::ALL.len()],
}

/// Places that are kept of each rule.
const KEPT: usize = 64;

impl Doubts {
    /// Every broken rule: its first place, and how many there are.
    pub fn by_rule(&self) -> impl Iterator<Item = (DeviceRule, &Error, usize)> {
        let first = |rule: &DeviceRule| self.errors.iter().find(|e| e.code() == rule.code());
        DeviceRule::ALL.iter().filter_map(move |rule| Some((*rule, first(rule)?, self.counts[*rule as usize])))
    }
}

/// Waits of one instruction.
const MAX_WAITS: usize = 2;
/// Updates of one instruction.
const MAX_UPDATES: usize = 5;
/// Partitions of a quadrant.
const QUADRANT: i64 = 32;

/// Engines that compute on tiles.
const COMPUTE: [Engine; 4] = [Engine::Pool, Engine::Activation, Engine::Pe, Engine::Dve];

impl<'m> Walk<'m> {
    fn doubt(&mut self, rule: DeviceRule, i: &Instruction, slot: Slot, what: String, received: String) {
        let count = &mut self.doubts.counts[rule as usize];
        *count += 1;
        if *count > KEPT {
            return;
        }
        let (function, block) = (self.function, self.block);
        self.doubts.errors.push(Error::new(rule.code(), what).received(received).at(|p| {
            p.function = function.map(str::to_string);
            p.block = block.map(str::to_string);
            p.instruction = Some(i.name.clone());
            p.opcode = Some(i.opcode.name().to_string());
            p.operand = slot.label();
        }));
    }

    /// Checks one instruction for a target.
    pub(super) fn device_rules(&mut self, i: &'m Instruction, arch: Arch) {
        let row = i.opcode.row();
        let since = if row.is(Trait::SinceCoreV4) {
            Arch::CoreV4
        } else if row.is(Trait::SinceGen3) {
            Arch::Gen3
        } else {
            Arch::Inferentia
        };
        if (arch as u8) < since as u8 {
            let what = format!("{} is an instruction of {since} and later targets", i.opcode);
            self.doubt(DeviceRule::ArchitectureGate, i, Slot::Whole, what, arch.to_string());
        }
        let waits = ("waits", "on_wait", i.sync.on_wait.len(), MAX_WAITS);
        let updates = ("updates", "on_update", i.sync.on_update.len(), MAX_UPDATES);
        for (what, key, count, most) in [waits, updates] {
            if count > most {
                let what = format!("an instruction has at most {most} {what}");
                self.doubt(DeviceRule::SyncLimit, i, Slot::Key(key), what, count.to_string());
            }
        }
        let computes = |engines: &[Engine]| !engines.is_empty() && engines.iter().all(|e| COMPUTE.contains(e));
        let tiles = computes(row.engines) && COMPUTE.contains(&i.engine);
        let moves = i.engine == Engine::Dma && row.engines.contains(&Engine::Dma) && !row.engines.contains(&Engine::Pe);
        if row.is(Trait::ReachesAll) || !(tiles || moves) {
            return;
        }
        for (list, operands, roles) in [("ins", &i.ins, row.ins), ("outs", &i.outs, row.outs)] {
            for (k, operand) in operands.iter().enumerate() {
                let (memref, memsetref) = match operand {
                    Operand::Physical(a) => (&a.memref, &a.memsetref),
                    Operand::Symbolic(a) => (&a.memref, &a.memsetref),
                    Operand::RegisterAp(a) => (&a.memref, &a.memsetref),
                    _ => continue,
                };
                let location = match self.find(operand, memref, memsetref) {
                    Found::One(l) => l,
                    Found::Set(set) => match set.locations.first() {
                        Some(l) => l,
                        None => continue,
                    },
                    _ => continue,
                };
                let slot = Slot::Operand(list, k);
                self.reach(i, slot, location.ty, list == "outs");
                if let (true, Operand::Physical(ap)) = (tiles && on_chip(location.ty), operand) {
                    let scales = Role::of(roles, k).is_some_and(|r| r.name.ends_with("scales"));
                    self.partitions(i, slot, location, ap, scales);
                }
            }
        }
    }

    fn reach(&mut self, i: &Instruction, slot: Slot, ty: MemoryType, writes: bool) {
        let (sbuf, psum) = (ty == MemoryType::Sb, ty == MemoryType::Psum);
        let reached = match i.engine {
            Engine::Pe if writes => psum,
            Engine::Pe | Engine::Pool => sbuf,
            Engine::Dma => !psum,
            _ => sbuf || psum,
        };
        if !reached {
            let verb = if writes { "write" } else { "read" };
            let what = format!("engine {} does not {verb} {ty}", i.engine);
            self.doubt(DeviceRule::EngineMemory, i, slot, what, ty.to_string());
        }
    }

    /// Where an operand starts and how it steps over partitions.
    fn partitions(&mut self, i: &Instruction, slot: Slot, l: &Location, ap: &PhysicalAp, scales: bool) {
        let size = ap.dtype.size() as u64;
        let free = l.dims.get(1..).filter(|f| !f.is_empty()).unwrap_or(&l.dims);
        // Dims after the second are each scaled by the element size (`bir-json.md` 4.2).
        let bytes = free.iter().skip(1).try_fold(free.first().copied().unwrap_or(0), |n, d| n.checked_mul(d / size));
        let pitch = bytes.and_then(|b| i64::try_from(b / size).ok()).filter(|p| *p > 0);
        let (Some(pitch), Some(first)) = (pitch, ap.ap.first()) else { return };
        if first.num > 1 && first.step % pitch != 0 {
            let what = "the step from partition to partition is a multiple of the tensor's row";
            let received = format!("step {} in rows of {pitch} elements", first.step);
            self.doubt(DeviceRule::PartitionStep, i, slot, what.into(), received);
        }
        // The allocator is still free to place the others.
        if !l.allocated || ap.dynamic.is_some() || ap.offset < 0 {
            return;
        }
        let start = l.base.saturating_add(ap.offset / pitch);
        let count = if first.step == 0 { 1 } else { first.num };
        let starts = match count {
            _ if scales => start % QUADRANT < QUADRANT / 2 && start % 4 == 0,
            65.. => start == 0,
            33..=64 => start % (2 * QUADRANT) == 0,
            _ => start % QUADRANT == 0,
        };
        if !starts {
            let what = match count {
                _ if scales => "scales start in the first half of a quadrant, at a multiple of 4",
                65.. => "an operand of more than 64 partitions starts at partition 0",
                33..=64 => "an operand of more than 32 partitions starts at partition 0 or 64",
                _ => "an operand starts at partition 0, 32, 64 or 96",
            };
            let received = format!("partition {start}, {count} partitions");
            self.doubt(DeviceRule::StartPartition, i, slot, what.into(), received);
        }
    }
}

fn on_chip(ty: MemoryType) -> bool {
    matches!(ty, MemoryType::Sb | MemoryType::Psum)
}
