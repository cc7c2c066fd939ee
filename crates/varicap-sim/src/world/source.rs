//! What acts by itself in a world: datagrams, openings of connections, feedback, shared capacities, reservations.

use varicap_engine::workload::{DatagramSource, ReservedRates};
use varicap_engine::{Feedback, NodeId, Openings, Pools};
use varicap_units::Time;

/// What acts by itself, each with a node of its own.
#[derive(Debug)]
pub enum Source {
    /// One stream of datagrams.
    Datagrams {
        /// The flow group that the stream belongs to.
        group: u16,
        /// The meter that it counts on.
        meter: u32,
        /// When each datagram leaves.
        source: Box<DatagramSource>,
    },
    /// Opens connections; its state lies in the world's [`Openers`].
    Openings,
    /// What links advertise to senders; its state lies apart, in [`World`].
    Feedback,
    /// Load-reactive links that share a capacity.
    Pools(Pools),
    /// Changes of a flow's reservation.
    Reservation {
        /// The flow group that has the reservation.
        group: u16,
        /// When its rate changes, and to what.
        changes: ReservedRates,
    },
}

impl Source {
    /// When it next does something; `openings` are those of the world.
    pub(super) fn poll_at(&self, openings: &Openings) -> Time {
        match self {
            Source::Datagrams { source, .. } => source.poll_at(),
            Source::Openings => openings.poll_at(),
            Source::Feedback => Time::ZERO,
            Source::Pools(pools) => pools.poll_at(),
            Source::Reservation { changes, .. } => changes.poll_at(),
        }
    }
}

/// What links advertise to senders, and the node at which it is polled.
pub struct FeedbackNode {
    /// What is advertised, and to whom.
    pub state: Feedback,
    /// The node that polls it.
    pub node: NodeId,
}
