//! What cores send each other while they run side by side: a sender in every world, one receiver with the driver.

use super::{Message, Update};
use bevy_ecs::prelude::Resource;
use crossbeam::channel::Sender;

/// Something for another core.
#[derive(Debug)]
pub enum Parcel {
    /// A buffer of CollectiveSend.
    Message(Box<Message>),
    /// An update of a semaphore or event.
    Update(Update),
}

/// A parcel with its sender and receiver, as numbers of cores of the run. Parcels of one core arrive in the order in which
/// they were sent; the driver sorts them by core.
#[derive(Debug)]
pub struct Sent {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// What is sent.
    pub parcel: Parcel,
}

/// The way out of a core.
#[derive(Resource, Default)]
pub struct Post {
    from: u32,
    send: Option<Sender<Sent>>,
    /// Bytes of the core's messages that nobody has received.
    pub in_flight: usize,
}

impl Post {
    /// The post of core `from`.
    pub fn new(from: u32, send: Sender<Sent>) -> Self {
        Post { from, send: Some(send), in_flight: 0 }
    }

    /// Sends.
    pub fn send(&mut self, to: u32, parcel: Parcel) {
        if let Parcel::Message(m) = &parcel {
            self.in_flight += m.bytes.len();
        }
        if let Some(send) = &self.send {
            // The driver keeps the receiver as long as it has cores.
            let _ = send.send(Sent { from: self.from, to, parcel });
        }
    }
}
