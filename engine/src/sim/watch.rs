//! Looking at a run: dumps, and what an instruction would read and write.

use super::Builder;
use super::core::Core;
use crate::check::{Dump, Hooks, Point, follow};
use crate::exec::Cx;
use crate::exec::effects::{Effect, effects};
use crate::systems;
use crate::world::*;
use crate::{Code, Error, Result};
use bevy_ecs::prelude::IntoScheduleConfigs;
use bevy_ecs::system::RunSystemOnce;

impl Core {
    /// Checkers, a trace or dumps look at the run.
    pub(crate) fn is_watched(&self) -> bool {
        self.world.contains_resource::<Hooks>()
    }

    /// Sets up what watches the run; names of dumps must exist.
    pub(super) fn watch(&mut self, options: &Builder) -> Result<()> {
        let mut points = Vec::new();
        for (tensor, instruction) in &options.dumps {
            let location = self.index_of(tensor)?;
            let bytes = self.tensors[location].logical_bytes().unwrap_or(self.tensors[location].bytes) as usize;
            let known = |name: &str| self.world.resource::<Program>().insts.iter().any(|i| *i.name == *name);
            let counted = || instruction.rsplit_once('#').and_then(|(name, n)| Some((name, n.parse().ok()?)));
            let (name, n) = match known(instruction) {
                true => (instruction.as_str(), None),
                false => {
                    counted().map(|(name, n)| (name, Some(n))).filter(|(name, _)| known(name)).ok_or_else(|| {
                        Error::new(Code::F006, format!("the program has no instruction named {instruction}"))
                            .received(instruction)
                    })?
                }
            };
            points.push(Point::new(LocId::of(location), bytes, tensor, instruction, (name, n)));
        }
        self.observe(options, points);
        Ok(())
    }

    /// Sets up checkers, the trace and dumps.
    pub(crate) fn observe(&mut self, options: &Builder, points: Vec<Point>) {
        let hooks = Hooks::new(&options.all_checks(), options.trace.clone(), points);
        if let Some(hooks) = hooks {
            self.world.insert_resource(hooks);
            self.extend_pass(|pass| {
                pass.add_systems(follow.after(systems::Stages));
            });
        }
    }

    /// Values taken at the points asked for with [`Builder::dump`], as far as they were reached.
    pub fn dumps(&self) -> Vec<Dump> {
        let hooks = self.world.get_resource::<Hooks>();
        hooks.map_or_else(Vec::new, |h| h.dumps().cloned().collect())
    }

    /// What an instruction would read and write now.
    pub(crate) fn effects(&mut self, instruction: &str) -> Result<Vec<Effect>> {
        let row = self.world.resource::<Program>().insts.iter().position(|i| *i.name == *instruction);
        let row = row.ok_or_else(|| {
            Error::new(Code::F006, format!("the program has no instruction named {instruction}")).received(instruction)
        })?;
        let row = RowId::of(row);
        let ask = move |mut machine: systems::MachineParam| {
            machine.with(|m| Cx::new(m, row).and_then(|cx| effects(&cx)).map_err(|e| m.program.locate(e, row)))
        };
        let broken = || Error::new(Code::B001, "the machine cannot be looked at");
        self.world.run_system_once(ask).map_err(|_| broken())?.ok_or_else(broken)?
    }
}
