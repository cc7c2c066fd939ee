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
    /// Which goes first of a departure and an arrival at the same nanosecond. Default: departures-first.
    pub ties: Ties,
}

/// Which goes first of a departure and an arrival at the same nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// A frame that leaves makes room for one that arrives.
    #[default]
    DeparturesFirst,
    /// A frame that arrives finds the queue as it was before, as mostly in ns-2.
    ArrivalsFirst,
}

impl Default for DropTailConfig {
    fn default() -> DropTailConfig {
        DropTailConfig { limit: Amount::Bdp(1.0), counts_in_service: true, ties: Ties::DeparturesFirst }
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
    ties: Ties,
}

impl LineLimit {
    /// Nothing is turned away.
    pub const NONE: LineLimit =
        LineLimit { limit: Limit::NONE, counts_in_service: true, ties: Ties::DeparturesFirst };

    /// As a scenario says it, where `site` says.
    pub fn new(config: &DropTailConfig, site: &Site<'_>) -> LineLimit {
        let DropTailConfig { limit, counts_in_service, ties } = *config;
        LineLimit { limit: site.limit(limit), counts_in_service, ties }
    }

    /// Whether frames count no more than their size, and what leaves makes room, so that the link's own line may keep them.
    pub fn is_bare(&self) -> bool {
        self.limit.overhead == Bytes::ZERO && self.ties == Ties::DeparturesFirst
    }

    /// Whether a frame of `size` may come in beside what waits.
    #[inline]
    pub fn admits(&self, waiting: Backlog, state: TransmitterState, size: Bytes) -> bool {
        self.limit.has_room(waiting, state, self.counts_in_service, size)
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
    /// The size of what went into service last, unless the server has gone idle [B].
    served: Option<Bytes>,
    leaving: Leaving,
}

/// The frames that left at one instant, for arrivals at that instant which go first.
#[derive(Clone, Copy, Debug, Default)]
struct Leaving {
    at: Time,
    /// The size of what was in service before [B].
    in_service: Bytes,
    /// The frames that waited before, and do not any more.
    moved: Backlog,
}

impl<F: Frame> DropTail<F> {
    /// An empty queue.
    pub fn new(config: &DropTailConfig, site: &Site<'_>) -> DropTail<F> {
        DropTail::within(LineLimit::new(config, site))
    }

    pub(super) fn within(line: LineLimit) -> DropTail<F> {
        DropTail { fifo: Fifo::new(), line, served: None, leaving: Leaving::default() }
    }
}

impl<F: Frame> QueueDiscipline<F> for DropTail<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let LineLimit { limit, counts_in_service, ties } = self.line;
        let (mut waiting, mut state) = (self.fifo.backlog(), transmitter.state);
        let Leaving { at, in_service, moved } = self.leaving;
        if ties == Ties::ArrivalsFirst && at == now && in_service > Bytes::ZERO {
            waiting = Backlog { frames: waiting.frames + moved.frames, bytes: waiting.bytes + moved.bytes };
            state = TransmitterState::Busy(in_service);
        }
        if limit.has_room(waiting, state, counts_in_service, frame.wire_size()) {
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, _supply: Supply, _watch: &mut W) -> Option<Waiting<F>> {
        let next = self.fifo.pop();
        let size = next.as_ref().map(|next| next.frame.wire_size());
        let left = std::mem::replace(&mut self.served, size);
        if let (Some(in_service), true) =
            (left, self.leaving.at != now || self.leaving.in_service == Bytes::ZERO)
        {
            self.leaving = Leaving { at: now, in_service, moved: Backlog::default() };
        }
        if let (Some(size), true) = (size, self.leaving.at == now) {
            self.leaving.moved.frames += 1;
            self.leaving.moved.bytes += size;
        }
        next
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.line.limit = limit;
    }
}
