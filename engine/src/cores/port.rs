//! What passes between a core and the others: messages, semaphore updates, rendezvous.

use crate::control::state::report;
use crate::sim::Core;
use crate::systems;
use crate::world::*;
use crate::{Code, Error, Result};
use crossbeam::channel::Sender;

impl Core {
    /// Gives the core its way to the others.
    pub(super) fn connect(&mut self, id: usize, send: &Sender<Sent>) {
        self.world.insert_resource(Post::new(id as u32, send.clone()));
    }

    /// What the core sent has arrived.
    pub(super) fn delivered(&mut self) {
        self.world.resource_mut::<Post>().in_flight = 0;
    }

    /// Hands over a message of another core.
    pub(super) fn put_message(&mut self, message: Message) {
        self.world.resource_mut::<Mail>().messages.push_back(message);
    }

    /// Applies an update that another core sent.
    pub(super) fn apply_update(&mut self, update: &Update) -> Result<()> {
        self.world
            .run_system_cached_with(crate::sync::bank::apply, *update)
            .unwrap_or_else(|e| Err(Error::new(Code::B001, format!("an update cannot be applied: {e}"))))
    }

    /// The rendezvous this core waits at and was not let past.
    pub(super) fn meeting(&self) -> Result<Option<(u32, Meeting)>> {
        let Some(row) = self.world.resource::<ProgramCounter>().meeting.filter(|_| self.waits()) else {
            return Ok(None);
        };
        let program = self.world.resource::<Program>();
        let (settings, mail) = (self.world.resource::<Settings>(), self.world.resource::<Mail>());
        let meeting = crate::exec::cores::meeting(program, settings, mail, row).map_err(|e| program.locate(e, row))?;
        Ok(Some((row, meeting)))
    }

    /// It waits at a rendezvous that it was not let past.
    pub(super) fn waits(&self) -> bool {
        let pc = self.world.resource::<ProgramCounter>();
        pc.meeting.is_some() && pc.granted != pc.meeting
    }

    /// Dense bytes of the inputs of an instruction.
    pub(super) fn read_inputs(&mut self, row: u32) -> Result<Vec<Vec<u8>>> {
        self.world
            .run_system_cached_with(systems::read_inputs, row)
            .unwrap_or_else(|e| Err(Error::new(Code::B001, format!("inputs cannot be read: {e}"))))
    }

    /// Lets the core past its rendezvous, with what the others sent.
    pub(super) fn grant(&mut self, row: u32, received: Received) {
        self.world.resource_mut::<ProgramCounter>().granted = Some(row);
        self.world.resource_mut::<Mail>().received = Some(received);
    }

    /// Adds a remark.
    pub(super) fn remark(&mut self, d: Diagnostic) {
        self.world.resource_mut::<Findings>().note(d);
    }

    /// What the core waits for, as text.
    pub(crate) fn waiting_for(&mut self) -> String {
        if let Ok(Some((row, meeting))) = self.meeting() {
            let program = self.world.resource::<Program>();
            let inst = &program.insts[row as usize];
            return format!("{} ({}) waits for {}", program.name_of(inst), inst.opcode, meeting.describe());
        }
        self.ask(report).unwrap_or_else(|_| "is blocked".into())
    }
}
