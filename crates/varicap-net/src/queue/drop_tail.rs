//! First in, first out; what does not fit is lost.

use varicap_units::Bytes;

use super::{Limit, TransmitterState};
use crate::Backlog;

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

    pub fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Whether a frame of `size` may come in beside what waits.
    #[inline]
    pub fn admits(&self, waiting: Backlog, state: TransmitterState, size: Bytes) -> bool {
        self.limit.has_room(waiting, state, self.counts_in_service, size)
    }
}
