//! Controlled delay. Source: RFC 8289; its threshold for marks: RFC 8290 §5.2.7.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Span, Time};

use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, Waiting};
use crate::frame::{Backlog, Codepoint, Frame, LossCause, Lost, Watch};

/// The drop rate of the last episode is taken up again if it ended no longer ago than that many intervals (RFC 8289
/// §5.5).
const MEMORY: u64 = 16;

/// Controlled delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CoDelConfig {
    /// Hard limit of the queue. Default: 1000 packets.
    pub limit: Amount,
    /// Acceptable standing queueing delay. Default: 5 ms (RFC 8289 §4.3).
    pub target: Span,
    /// How long the delay may stay above the target. Default: 100 ms (RFC 8289 §4.2).
    pub interval: Span,
    /// Mark ECN-capable frames instead of dropping them. Default: false.
    pub ecn: bool,
    /// Sojourn time above which each ECN-capable frame is marked, whether `ecn` is set or not (RFC 8290 §5.2.7). Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
}

impl Default for CoDelConfig {
    fn default() -> CoDelConfig {
        CoDelConfig {
            limit: Amount::Packets(1000),
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: false,
            ce_threshold: None,
        }
    }
}

impl CoDelConfig {
    /// The law by which it drops and marks.
    fn law(&self) -> Law {
        let CoDelConfig { target, interval, ecn, ce_threshold, .. } = *self;
        Law { target, interval, ecn, ce_threshold }
    }
}

impl Part for CoDelConfig {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)?;
        self.law().check()
    }
}

impl QueuePart for CoDelConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn is_regular(&self) -> bool {
        false
    }
}

/// When frames of a queue are dropped or marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub target: Span,
    pub interval: Span,
    pub ecn: bool,
    pub ce_threshold: Option<Span>,
}

impl Law {
    /// Whether its times make sense.
    pub fn check(&self) -> Checked {
        part::positive("target", self.target)?;
        part::positive("interval", self.interval)?;
        let shorter = format!("at most `interval`, {}", self.interval);
        part::require("target", self.target <= self.interval, self.target, shorter)?;
        self.ce_threshold.map_or(Ok(()), |threshold| part::bounded("ce_threshold", threshold))
    }

    /// RFC 8289 §5.6, control_law: drops come closer with the square root of their count.
    fn control_law(&self, from: Time, count: u32) -> Time {
        let interval = self.interval.as_nanos() as f64;
        from + Span::from_nanos((interval / libm::sqrt(f64::from(count)) + 0.5) as u64)
    }

    /// Drops a frame, or gives it back marked.
    fn signal<F: Frame, W: Watch<F>>(
        &self,
        now: Time,
        mut waiting: Waiting<F>,
        watch: &mut W,
    ) -> Option<Waiting<F>> {
        if self.ecn && waiting.frame.mark_ce() {
            watch.on_mark(now, &waiting.frame);
            return Some(waiting);
        }
        watch.on_lost(Lost { at: now, cause: LossCause::Aqm, frame: waiting.frame });
        None
    }

    /// RFC 8290 §5.2.7: beside that, what has waited for longer than the threshold is marked.
    fn mark_above<F: Frame, W: Watch<F>>(&self, now: Time, waiting: &mut Waiting<F>, watch: &mut W) {
        let is_above = self.ce_threshold.is_some_and(|threshold| now.since(waiting.arrived) > threshold);
        if is_above && waiting.frame.codepoint() != Codepoint::Ce && waiting.frame.mark_ce() {
            watch.on_mark(now, &waiting.frame);
        }
    }
}

/// From where a law takes frames, the oldest first.
pub(super) trait Source<F> {
    /// Takes the frame that waits longest.
    fn pop(&mut self) -> Option<Waiting<F>>;
    /// The frames that still wait.
    fn backlog(&self) -> Backlog;
}

impl<F: Frame> Source<F> for Fifo<F> {
    fn pop(&mut self) -> Option<Waiting<F>> {
        Fifo::pop(self)
    }

    fn backlog(&self) -> Backlog {
        Fifo::backlog(self)
    }
}

/// The state of CoDel for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    /// Size of the largest frame seen: a backlog of no more is no standing queue [B].
    largest: Bytes,
    /// When the sojourn time will have been above the target for an interval, if it is above (`first_above_time_`).
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops since dropping began, and what `count` was then.
    count: u32,
    last_count: u32,
}

/// A frame at the head, and whether CoDel may drop it.
struct Head<F> {
    waiting: Waiting<F>,
    ok_to_drop: bool,
}

impl Control {
    /// A frame of `size` has come in.
    pub fn on_arrival(&mut self, size: Bytes) {
        self.largest = self.largest.max(size);
    }

    /// The next frame of `source` that `law` lets leave.
    pub fn dequeue<F: Frame, W: Watch<F>>(
        &mut self,
        law: &Law,
        now: Time,
        source: &mut impl Source<F>,
        watch: &mut W,
    ) -> Option<Waiting<F>> {
        let Some(head) = self.head(law, now, source) else {
            self.dropping = false;
            return None;
        };
        let next = if self.dropping {
            self.keep_dropping(law, now, head, source, watch)
        } else if head.ok_to_drop {
            self.begin_dropping(law, now, head, source, watch)
        } else {
            Some(head.waiting)
        };
        next.map(|mut waiting| {
            law.mark_above(now, &mut waiting, watch);
            waiting
        })
    }

    /// RFC 8289 §5.6, dodequeue.
    fn head<F: Frame>(&mut self, law: &Law, now: Time, source: &mut impl Source<F>) -> Option<Head<F>> {
        let Some(waiting) = source.pop() else {
            self.first_above = None;
            return None;
        };
        let mut ok_to_drop = false;
        let sojourn = now.since(waiting.arrived);
        if sojourn < law.target || source.backlog().bytes <= self.largest {
            self.first_above = None;
        } else {
            match self.first_above {
                None => self.first_above = Some(now + law.interval),
                Some(above) => ok_to_drop = now >= above,
            }
        }
        Some(Head { waiting, ok_to_drop })
    }

    /// In the dropping state: drops the head as often as it is due. A marked frame goes on, and one is enough.
    fn keep_dropping<F: Frame, W: Watch<F>>(
        &mut self,
        law: &Law,
        now: Time,
        mut head: Head<F>,
        source: &mut impl Source<F>,
        watch: &mut W,
    ) -> Option<Waiting<F>> {
        while head.ok_to_drop && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if let Some(marked) = law.signal(now, head.waiting, watch) {
                self.drop_next = law.control_law(self.drop_next, self.count);
                return Some(marked);
            }
            let Some(next) = self.head(law, now, source) else {
                self.dropping = false;
                return None;
            };
            head = next;
            if head.ok_to_drop {
                self.drop_next = law.control_law(self.drop_next, self.count);
            }
        }
        self.dropping = head.ok_to_drop;
        Some(head.waiting)
    }

    /// The sojourn time has been above the target for an interval: the first drop.
    fn begin_dropping<F: Frame, W: Watch<F>>(
        &mut self,
        law: &Law,
        now: Time,
        head: Head<F>,
        source: &mut impl Source<F>,
        watch: &mut W,
    ) -> Option<Waiting<F>> {
        let marked = law.signal(now, head.waiting, watch);
        let next = marked.or_else(|| self.head(law, now, source).map(|head| head.waiting));
        self.dropping = true;
        let drops = self.count.saturating_sub(self.last_count);
        let recently = now.since(self.drop_next) < law.interval.saturating_mul(MEMORY);
        self.count = if drops > 1 && recently { drops } else { 1 };
        self.drop_next = law.control_law(now, self.count);
        self.last_count = self.count;
        next
    }
}

/// A CoDel queue.
#[derive(Debug)]
pub struct CoDel<F> {
    fifo: Fifo<F>,
    limit: Limit,
    law: Law,
    control: Control,
}

impl<F: Frame> CoDel<F> {
    /// An empty queue.
    pub fn new(config: &CoDelConfig, site: &Site<'_>) -> CoDel<F> {
        let (fifo, limit) = (Fifo::new(), site.limit(config.limit));
        CoDel { fifo, limit, law: config.law(), control: Control::default() }
    }
}

impl<F: Frame> QueueDiscipline<F> for CoDel<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, _transmitter: Transmitter, watch: &mut W) {
        let size = frame.wire_size();
        if self.limit.admits(self.fifo.backlog(), size) {
            self.control.on_arrival(size);
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, _supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        self.control.dequeue(&self.law, now, &mut self.fifo, watch)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
