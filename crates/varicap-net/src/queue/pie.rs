//! PIE, the proportional integral controller enhanced. Source: RFC 8033.
//!
//! Every update period the drop probability moves by how far the queueing delay is from its target and by how it has changed;
//! arrivals are dropped with that probability. A link has no timers of its own, so that updates are caught up with at the
//! next arrival or departure, each as of its own instant: between two of them the queue stands as the first left it, and the
//! delay at any instant follows.
//!
//! The queueing delay is measured by timestamps, which RFC 8033 §4.3 allows instead of a departure rate (§5.2): the delay of
//! the last departure, or that of the head so far if it is longer, so that an outage counts; zero when nothing waits.
//! Left out as optional: switching the controller on and off by the queue's length (§5.3).

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Probability, Span, Stream, Time};

use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, Waiting};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// PIE, the proportional integral controller enhanced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PieConfig {
    /// Hard limit of the queue. Default: 1000 packets.
    pub limit: Amount,
    /// Queueing delay that it aims at (QDELAY_REF). Default: 15 ms (RFC 8033 §4.2).
    pub target: Span,
    /// Time from one update of the drop probability to the next (T_UPDATE). Default: 15 ms (RFC 8033 §4.2).
    pub update: Span,
    /// For how long a burst passes before anything is dropped early (MAX_BURST). Default: 150 ms (RFC 8033 §4.4).
    pub max_burst: Span,
    /// Weight of the distance from the target [1/s]. Default: 0.125 (RFC 8033 §4.2).
    pub alpha: f64,
    /// Weight of the change since the last update [1/s]. Default: 1.25 (RFC 8033 §4.2).
    pub beta: f64,
    /// Mean packet size; nothing is dropped early while no more than two such packets wait. Default: 1024 B.
    pub mean_packet: Bytes,
    /// Space drops evenly: none before the probabilities since the last one sum to 0.85, one for certain from 8.5 on (RFC
    /// 8033 §5.4). Default: false.
    pub derandomise: bool,
    /// Mark ECN-capable frames instead of dropping them. Default: false.
    pub ecn: bool,
    /// Drop probability from which on ECN-capable frames are dropped as others are (mark_ecnth). Default: 0.1 (RFC 8033
    /// §5.1).
    pub mark_below: Probability,
}

impl Default for PieConfig {
    fn default() -> PieConfig {
        PieConfig {
            limit: Amount::Packets(1000),
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            max_burst: Span::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: Bytes::new(1024),
            derandomise: false,
            ecn: false,
            mark_below: Probability::new(0.1).unwrap_or_default(),
        }
    }
}

impl Part for PieConfig {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)?;
        part::positive("target", self.target)?;
        part::positive("update", self.update)?;
        part::bounded("max_burst", self.max_burst)?;
        for (key, weight) in [("alpha", self.alpha), ("beta", self.beta)] {
            let good = weight > 0.0 && weight <= MOST_WEIGHT;
            part::require(key, good, weight, format!("above 0, and at most {MOST_WEIGHT}"))?;
        }
        part::size("mean_packet", self.mean_packet)
    }

    fn draws(&self) -> bool {
        true
    }
}

impl QueuePart for PieConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn is_regular(&self) -> bool {
        false
    }
}

/// Greatest weight of the controller [1/s].
const MOST_WEIGHT: f64 = 1000.0;
/// RFC 8033 §4.2: the smaller the probability, the smaller its steps; what they are divided by below each bound.
const TUNING: [(f64, f64); 6] =
    [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
/// RFC 8033 §5.5: the largest step up once the probability has reached the first.
const CAPPED_FROM: f64 = 0.1;
const LARGEST_STEP: f64 = 0.02;
/// RFC 8033 §4.2: what is left of the probability after each update without delay.
const DECAY: f64 = 0.98;
/// RFC 8033 §4.1: below half the target and this probability nothing is dropped.
const SAFE: f64 = 0.2;
/// RFC 8033 §5.4: sums of probabilities since the last drop from which on there may be one, and must be one.
const MAY_DROP: f64 = 0.85;
const MUST_DROP: f64 = 8.5;

/// A PIE queue.
#[derive(Debug)]
pub struct Pie<F> {
    fifo: Fifo<F>,
    limit: Limit,
    config: PieConfig,
    stream: Stream,
    /// When the next update is due.
    next_update: Time,
    /// `drop_prob_`.
    probability: f64,
    /// `qdelay_old_`: the delay at the last update.
    old_delay: Span,
    /// Delay of the last departure.
    departed: Span,
    /// `burst_allowance_`: for how long nothing is dropped early.
    burst: Span,
    /// `accu_prob_`: sum of the probabilities since the last drop.
    accumulated: f64,
}

impl<F: Frame> Pie<F> {
    /// An empty queue, whose first update is due one period after time zero.
    pub fn new(config: &PieConfig, site: &Site<'_>) -> Pie<F> {
        Pie {
            fifo: Fifo::new(),
            limit: site.limit(config.limit),
            config: config.clone(),
            stream: site.stream(),
            next_update: Time::ZERO + config.update,
            probability: 0.0,
            old_delay: Span::ZERO,
            departed: Span::ZERO,
            burst: config.max_burst,
            accumulated: 0.0,
        }
    }

    /// The drop probability as of the last update that has been caught up with.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// The queueing delay at `at`, up to which nothing has come or gone since the last call.
    fn delay(&self, at: Time) -> Span {
        self.fifo.first().map_or(Span::ZERO, |head| self.departed.max(at.since(head.arrived)))
    }

    /// Makes the updates that are due by `now`, each as of its own instant.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            self.update(self.next_update);
            self.next_update += self.config.update;
            if self.is_settled() && self.next_update <= now {
                // All but the last change nothing but the burst allowance.
                let rest = now.since(self.next_update).as_nanos();
                let skipped = Span::from_nanos(rest - rest % self.config.update.as_nanos());
                self.burst = self.burst.saturating_sub(skipped);
                self.next_update += skipped;
            }
        }
    }

    /// Whether further updates leave the probability alone as long as nothing comes or goes.
    fn is_settled(&self) -> bool {
        let rests =
            self.fifo.backlog().frames == 0 && self.probability == 0.0 && self.old_delay == Span::ZERO;
        // The delay of what waits only grows.
        let drops_all =
            self.fifo.backlog().frames > 0 && self.probability == 1.0 && self.old_delay >= self.config.target;
        rests || drops_all
    }

    /// RFC 8033 §4.2 and appendix A, calculate_drop_prob.
    fn update(&mut self, at: Time) {
        let delay = self.delay(at);
        let (now, old) = (delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let PieConfig { alpha, beta, target, .. } = self.config;
        let step = alpha * (now - target.as_secs_f64()) + beta * (now - old);
        let scale =
            TUNING.iter().find(|(bound, _)| self.probability < *bound).map_or(1.0, |(_, scale)| *scale);
        let mut step = step / scale;
        if self.probability >= CAPPED_FROM {
            step = step.min(LARGEST_STEP);
        }
        self.probability += step;
        if delay == Span::ZERO && self.old_delay == Span::ZERO {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.old_delay = delay;
        self.burst = self.burst.saturating_sub(self.config.update);
    }

    /// RFC 8033 §4.1 and §5.4, drop_early.
    fn drops_early(&mut self) -> bool {
        let half = self.config.target.as_nanos() / 2;
        let is_short = self.old_delay.as_nanos() < half && self.probability < SAFE;
        if is_short || self.fifo.backlog().bytes <= self.config.mean_packet * 2 {
            return false;
        }
        if self.config.derandomise {
            self.accumulated =
                if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
            if self.accumulated < MAY_DROP {
                return false;
            }
            if self.accumulated >= MUST_DROP {
                return true;
            }
        }
        self.stream.chance(self.probability)
    }

    /// RFC 8033 §4.4: a queue that has been short for two updates lets the next burst pass.
    fn allow_burst(&mut self, now: Time) {
        let half = self.config.target.as_nanos() / 2;
        let is_short = self.delay(now).as_nanos() < half && self.old_delay.as_nanos() < half;
        if self.probability == 0.0 && is_short {
            self.burst = self.config.max_burst;
        }
    }
}

impl<F: Frame> QueueDiscipline<F> for Pie<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, mut frame: F, _transmitter: Transmitter, watch: &mut W) {
        self.catch_up(now);
        self.allow_burst(now);
        if !self.limit.admits(self.fifo.backlog(), frame.wire_size()) {
            self.accumulated = 0.0;
            return watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
        if self.burst == Span::ZERO && self.drops_early() {
            self.accumulated = 0.0;
            // RFC 8033 §5.1: marks alone do not hold a high load.
            let may_mark = self.config.ecn && self.probability < self.config.mark_below.get();
            if !(may_mark && frame.mark_ce()) {
                return watch.on_lost(Lost { at: now, cause: LossCause::Aqm, frame });
            }
            watch.on_mark(now, &frame);
        }
        self.fifo.push(now, frame);
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, _supply: Supply, _watch: &mut W) -> Option<Waiting<F>> {
        self.catch_up(now);
        let next = self.fifo.pop()?;
        self.departed = now.since(next.arrived);
        Some(next)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
