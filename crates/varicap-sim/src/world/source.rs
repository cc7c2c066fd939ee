//! The sources of a world, which act by themselves: datagrams, openings of connections, feedback, shared capacities,
//! policies, changes of reservations.

use varicap_engine::workload::{DatagramSource, ReservedRates};
use varicap_engine::{Feedback, NodeId, Openings, Pools};
use varicap_units::Time;

use super::Policies;

/// Something that acts by itself, with a node of its own.
#[derive(Debug)]
pub enum Source {
    /// One stream of datagrams.
    Datagrams {
        /// The flow group that the stream belongs to.
        group: u16,
        /// The meter that it counts on.
        meter: u32,
        /// Decides when each datagram leaves.
        source: Box<DatagramSource>,
    },
    /// Opens connections; the world keeps its state apart, with what makes the connections.
    Openings,
    /// Feedback from links to senders; the world keeps its state apart, in a [`FeedbackNode`].
    Feedback,
    /// Connections of transports that are not ours; the world keeps them apart.
    Endpoints,
    /// Policies that act when their intervals end, and an environment that decides.
    Policies(Policies),
    /// Load-reactive links that share a capacity.
    Pools(Pools),
    /// Changes of a flow's reservation.
    Reservation {
        /// The flow group that has the reservation.
        group: u16,
        /// The instants at which its rate changes, and the rates.
        changes: ReservedRates,
    },
}

impl Source {
    /// The instant at which it acts next; `openings` are those of the world.
    pub(super) fn poll_at(&self, openings: &Openings) -> Time {
        match self {
            Source::Datagrams { source, .. } => source.poll_at(),
            Source::Openings => openings.poll_at(),
            Source::Feedback => Time::ZERO,
            Source::Endpoints => Time::NEVER,
            Source::Policies(policies) => policies.poll_at(),
            Source::Pools(pools) => pools.poll_at(),
            Source::Reservation { changes, .. } => changes.poll_at(),
        }
    }
}

/// The feedback from links to senders, and the node at which it is polled.
pub struct FeedbackNode {
    /// The state of the feedback.
    pub state: Feedback,
    /// The node that polls it.
    pub node: NodeId,
}
