//! First in, first out; what does not fit is lost.

use varicap_units::Bytes;

use super::{DropTailConfig, Limit, TransmitterState};
use crate::{Backlog, LinkParts};

/// The limit of a drop-tail queue. It keeps no frames: they wait where they came in, in the line of the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropTail {
    limit: Limit,
    counts_in_service: bool,
}

impl DropTail {
    /// `counts_in_service` says whether the limit counts the frame in service.
    pub fn new(limit: Limit, counts_in_service: bool) -> DropTail {
        DropTail { limit, counts_in_service }
    }

    /// As a scenario says it, for a link of `parts`.
    pub fn of(config: &DropTailConfig, parts: &LinkParts) -> DropTail {
        DropTail::new(Limit::new(config.limit, parts.packet, parts.bdp), config.counts_in_service)
    }

    pub fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Whether a frame of `size` may come in beside what waits.
    #[inline]
    pub fn admits(&self, waiting: Backlog, state: TransmitterState, size: Bytes) -> bool {
        self.limit.has_room(waiting, state, self.counts_in_service, size)
    }
}
