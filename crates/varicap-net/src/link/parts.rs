//! The parts of a link.

use std::sync::Arc;

use varicap_units::Bytes;

use super::ArqParts;
use crate::capacity::CapacityParts;
use crate::config::{Framing, Service};
use crate::delay::DelayParts;
use crate::loss::LossParts;
use crate::netem::NetemConfig;
use crate::policing::PolicingParts;
use crate::queue::config::QueueConfig;

/// All that a link is made of, with its traces already read.
#[derive(Clone, Debug)]
pub struct LinkParts {
    /// The capacity in time.
    pub capacity: CapacityParts,
    /// How the server measures out its capacity.
    pub service: Service,
    /// The queue.
    pub queue: QueueConfig,
    /// Random loss after the server; with ARQ, of its transmissions.
    pub loss: LossParts,
    /// Whether and how the link resends what it loses; only at a constant capacity.
    pub arq: Option<ArqParts>,
    /// Which packets come twice, and which are damaged.
    pub netem: NetemConfig,
    /// Propagation delay in time.
    pub delay: DelayParts,
    /// Whether a frame may overtake those that left before it, where the delay has fallen.
    pub reorders: bool,
    /// The bytes that the link layer adds to each frame.
    pub framing: Framing,
    /// A full-sized packet, in which amounts of packets are meant [B].
    pub packet: Bytes,
    /// The bandwidth-delay product, in which amounts of BDP are meant [B].
    pub bdp: Bytes,
    /// Names of the flow groups, by the number that [`Frame::group`] gives.
    pub groups: Arc<[Arc<str>]>,
    /// The flow groups whose packets are policed as they arrive.
    pub policing: Vec<PolicingParts>,
}

impl LinkParts {
    /// The bytes that each frame that waits counts beyond its size [B].
    pub(crate) fn queue_overhead(&self) -> Bytes {
        match &self.capacity {
            CapacityParts::Opportunities(parts) => parts.overhead(),
            _ if self.framing.in_queue => self.framing.overhead,
            _ => Bytes::ZERO,
        }
    }

    /// The name of the controller that has to come from outside, if there is to be one.
    pub fn policy(&self) -> Option<&str> {
        match &self.capacity {
            CapacityParts::LoadReactive(parts) => parts.policy(),
            _ => None,
        }
    }
}
