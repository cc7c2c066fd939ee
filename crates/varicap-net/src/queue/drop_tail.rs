//! First in, first out; what does not fit is lost.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Time};

use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, TransmitterState, Waiting};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// A drop-tail queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTailConfig {
    /// Its limit, in packets, bytes or BDP. Default: 1 bdp.
    pub limit: Amount,
    /// Whether the limit counts the frame in service. Default: true (as in ns-2).
    pub counts_in_service: bool,
}

impl Default for DropTailConfig {
    fn default() -> DropTailConfig {
        DropTailConfig { limit: Amount::Bdp(1.0), counts_in_service: true }
    }
}

impl Part for DropTailConfig {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)
    }
}

impl QueuePart for DropTailConfig {
    fn limit(&self) -> Amount {
        self.limit
    }
}

/// Drop-tail that keeps no frames, the fast path of a link: they wait where they came in, in the link's own line, and this
/// says whether another one may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineLimit {
    limit: Limit,
    counts_in_service: bool,
}

impl LineLimit {
    /// Nothing is turned away.
    pub const NONE: LineLimit = LineLimit { limit: Limit::NONE, counts_in_service: true };

    /// As a scenario says it, where `site` says.
    pub fn new(config: &DropTailConfig, site: &Site<'_>) -> LineLimit {
        LineLimit { limit: site.limit(config.limit), counts_in_service: config.counts_in_service }
    }

    /// Whether frames count no more than their size, so that the link's own line may keep them.
    pub fn is_bare(&self) -> bool {
        self.limit.overhead == Bytes::ZERO
    }

    /// Whether a frame of `size` may come in beside what waits.
    #[inline]
    pub fn admits(&self, waiting: Backlog, state: TransmitterState, size: Bytes) -> bool {
        self.limit.has_bare_room(waiting, state, self.counts_in_service, size)
    }

    /// As much of `backlog` as is let in whatever is in service, and counts or not.
    pub fn within(&self, backlog: Backlog) -> Backlog {
        let frames = u32::try_from(self.limit.frames).unwrap_or(u32::MAX);
        Backlog { frames: backlog.frames.min(frames), bytes: backlog.bytes.min(self.limit.bytes) }
    }
}

/// Drop-tail that keeps its frames, for links that look into their queue.
#[derive(Debug)]
pub struct DropTail<F> {
    fifo: Fifo<F>,
    line: LineLimit,
}

impl<F: Frame> DropTail<F> {
    /// An empty queue.
    pub fn new(config: &DropTailConfig, site: &Site<'_>) -> DropTail<F> {
        DropTail::within(LineLimit::new(config, site))
    }

    pub(super) fn within(line: LineLimit) -> DropTail<F> {
        DropTail { fifo: Fifo::new(), line }
    }
}

impl<F: Frame> QueueDiscipline<F> for DropTail<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let LineLimit { limit, counts_in_service } = self.line;
        if limit.has_room(self.fifo.backlog(), transmitter.state, counts_in_service, frame.wire_size()) {
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, _now: Time, _supply: Supply, _watch: &mut W) -> Option<Waiting<F>> {
        self.fifo.pop()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.line.limit = limit;
    }
}
