//! Messages that were sent and not yet received.

use crate::check::Clock;
use crate::world::Message;
use hashbrown::HashMap;
use std::collections::VecDeque;

type Kept = (Message, Option<Clock>);

/// Messages of one core to another.
#[derive(Default)]
struct Inbox {
    /// Number of the first one kept.
    first: u64,
    kept: VecDeque<Option<Kept>>,
}

/// The messages of a run, by receiver and sender.
#[derive(Default)]
pub(super) struct Inboxes(HashMap<(u32, u32), Inbox>);

impl Inboxes {
    /// No core has sent another anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps a message until it is asked for.
    pub fn deliver(&mut self, from: u32, to: u32, message: Message, clock: Option<Clock>) {
        self.0.entry((to, from)).or_default().kept.push_back(Some((message, clock)));
    }

    /// Message `number` of a sender is here.
    pub fn has(&self, to: u32, from: u32, number: u64) -> bool {
        let kept =
            |i: &Inbox| i.kept.get(number.checked_sub(i.first)? as usize).is_some_and(Option::is_some).then_some(());
        self.0.get(&(to, from)).and_then(kept).is_some()
    }

    /// Takes message `number` of a sender.
    pub fn take(&mut self, to: u32, from: u32, number: u64) -> Option<Kept> {
        let inbox = self.0.get_mut(&(to, from))?;
        let message = inbox.kept.get_mut(number.checked_sub(inbox.first)? as usize)?.take();
        while inbox.kept.pop_front_if(|m| m.is_none()).is_some() {
            inbox.first += 1;
        }
        message
    }
}
