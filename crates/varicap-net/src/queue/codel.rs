//! Controlled delay. Source: RFC 8289.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, Span, Time};

use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, Waiting};
use crate::{Backlog, Frame, LossCause, Lost, Watch};

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
}

impl Default for CoDelConfig {
    fn default() -> CoDelConfig {
        CoDelConfig {
            limit: Amount::Packets(1000),
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: false,
        }
    }
}

impl Part for CoDelConfig {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)?;
        part::positive("target", self.target)?;
        part::positive("interval", self.interval)?;
        let shorter = format!("at most `interval`, {}", self.interval);
        part::require("target", self.target <= self.interval, self.target, shorter)
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

/// A CoDel queue.
#[derive(Debug)]
pub struct CoDel<F> {
    fifo: Fifo<F>,
    limit: Limit,
    target: Span,
    interval: Span,
    ecn: bool,
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

/// A frame from the head, and whether CoDel may drop it.
struct Head<F> {
    waiting: Waiting<F>,
    ok_to_drop: bool,
}

impl<F: Frame> CoDel<F> {
    /// An empty queue.
    pub fn new(config: &CoDelConfig, site: &Site<'_>) -> CoDel<F> {
        CoDel {
            fifo: Fifo::new(),
            limit: site.limit(config.limit),
            target: config.target,
            interval: config.interval,
            ecn: config.ecn,
            largest: Bytes::ZERO,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// RFC 8289 §5.6, dodequeue.
    fn head(&mut self, now: Time) -> Option<Head<F>> {
        let Some(waiting) = self.fifo.pop() else {
            self.first_above = None;
            return None;
        };
        let mut ok_to_drop = false;
        let sojourn = now.since(waiting.arrived);
        if sojourn < self.target || self.fifo.backlog().bytes <= self.largest {
            self.first_above = None;
        } else {
            match self.first_above {
                None => self.first_above = Some(now + self.interval),
                Some(above) => ok_to_drop = now >= above,
            }
        }
        Some(Head { waiting, ok_to_drop })
    }

    /// RFC 8289 §5.6, control_law: drops come closer with the square root of their count.
    fn control_law(&self, from: Time) -> Time {
        let interval = self.interval.as_nanos() as f64;
        from + Span::from_nanos((interval / libm::sqrt(f64::from(self.count)) + 0.5) as u64)
    }

    /// Drops a frame, or gives it back marked.
    fn signal<W: Watch<F>>(&self, now: Time, mut waiting: Waiting<F>, watch: &mut W) -> Option<Waiting<F>> {
        if self.ecn && waiting.frame.mark_ce() {
            watch.on_mark(now, &waiting.frame);
            return Some(waiting);
        }
        watch.on_lost(Lost { at: now, cause: LossCause::Aqm, frame: waiting.frame });
        None
    }

    /// In the dropping state: drops the head as often as it is due. A marked frame goes on, and one is enough.
    fn keep_dropping<W: Watch<F>>(
        &mut self,
        now: Time,
        mut head: Head<F>,
        watch: &mut W,
    ) -> Option<Waiting<F>> {
        while head.ok_to_drop && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if let Some(marked) = self.signal(now, head.waiting, watch) {
                self.drop_next = self.control_law(self.drop_next);
                return Some(marked);
            }
            let Some(next) = self.head(now) else {
                self.dropping = false;
                return None;
            };
            head = next;
            if head.ok_to_drop {
                self.drop_next = self.control_law(self.drop_next);
            }
        }
        self.dropping = head.ok_to_drop;
        Some(head.waiting)
    }

    /// The sojourn time has been above the target for an interval: the first drop.
    fn begin_dropping<W: Watch<F>>(&mut self, now: Time, head: Head<F>, watch: &mut W) -> Option<Waiting<F>> {
        let marked = self.signal(now, head.waiting, watch);
        let next = marked.or_else(|| self.head(now).map(|head| head.waiting));
        self.dropping = true;
        let drops = self.count.saturating_sub(self.last_count);
        let recently = now.since(self.drop_next) < self.interval.saturating_mul(MEMORY);
        self.count = if drops > 1 && recently { drops } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
        next
    }
}

impl<F: Frame> QueueDiscipline<F> for CoDel<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, _transmitter: Transmitter, watch: &mut W) {
        let size = frame.wire_size();
        if self.limit.admits(self.fifo.backlog(), size) {
            self.largest = self.largest.max(size);
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, _supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        let Some(head) = self.head(now) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            self.keep_dropping(now, head, watch)
        } else if head.ok_to_drop {
            self.begin_dropping(now, head, watch)
        } else {
            Some(head.waiting)
        }
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
