//! A queue between threads.
//!
//! Who waits for it sleeps at once. Channels spin and yield first, and on a machine whose CPUs all have work that takes the time
//! from the workers.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A queue between threads: its clones are the same queue.
pub struct Mailbox<T>(Arc<Queue<T>>);

struct Queue<T> {
    waiting: Mutex<VecDeque<T>>,
    more: Condvar,
}

impl<T> Clone for Mailbox<T> {
    fn clone(&self) -> Self {
        Mailbox(Arc::clone(&self.0))
    }
}

impl<T> Mailbox<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Mailbox(Arc::new(Queue { waiting: Mutex::default(), more: Condvar::new() }))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message.
    pub fn send(&self, message: T) {
        self.lock().push_back(message);
        self.0.more.notify_one();
    }

    /// Takes the oldest message; waits for one, but not longer than this.
    pub fn receive(&self, patience: Duration) -> Option<T> {
        let empty = |waiting: &mut VecDeque<T>| waiting.is_empty();
        let got = self.0.more.wait_timeout_while(self.lock(), patience, empty);
        got.unwrap_or_else(PoisonError::into_inner).0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_order_or_not_at_all() {
        let here = Mailbox::new();
        let there = here.clone();
        let sender = std::thread::spawn(move || (0..100).for_each(|k| there.send(k)));
        assert!((0..100).all(|k| here.receive(Duration::from_secs(60)) == Some(k)));
        sender.join().unwrap();
        assert_eq!(here.receive(Duration::from_millis(1)), None);
    }
}
