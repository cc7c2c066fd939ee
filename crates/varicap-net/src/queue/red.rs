//! Random early detection. Source: Floyd and Jacobson, IEEE/ACM ToN 1 (1993), with the options of ns-2.
//!
//! The average queue a is taken at each arrival: a += w (q - a). Between the thresholds a frame is dropped early with a
//! probability that rises linearly from 0 to the maximum; drops are spaced by a law of choice. Queue and thresholds
//! count packets, or bytes if the minimum threshold is given in bytes; then a frame counts with its size.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, NANOS_PER_SEC, Probability, Stream, Time};

use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, Waiting, held};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// Random early detection, with the options of ns-2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedConfig {
    /// Hard limit of the queue. Default: 50 packets.
    pub limit: Amount,
    /// Average queue at which drops begin. Default: 5 packets.
    pub min_threshold: Amount,
    /// Average queue at which the drop probability reaches `max_probability`. Default: 15 packets.
    pub max_threshold: Amount,
    /// Largest early drop probability. Default: 0.1.
    pub max_probability: Probability,
    /// Weight of the newest sample in the average. Default: 0.002.
    pub weight: f64,
    /// Above the maximum threshold the probability rises to 1 at twice that threshold, not at once. Default: false.
    pub gentle: bool,
    /// How drops are spaced. Default: wait (ns-2).
    pub spacing: DropSpacing,
    /// Mean packet size, for averaging over idle times and for byte mode. Default: 1000 B.
    pub mean_packet: Bytes,
    /// Whether the limit counts the frame in service. Default: false.
    pub counts_in_service: bool,
    /// Mark ECN-capable frames instead of dropping them. Default: false.
    pub ecn: bool,
}

impl Default for RedConfig {
    fn default() -> RedConfig {
        RedConfig {
            limit: Amount::Packets(50),
            min_threshold: Amount::Packets(5),
            max_threshold: Amount::Packets(15),
            max_probability: Probability::new(0.1).unwrap_or_default(),
            weight: 0.002,
            gentle: false,
            spacing: DropSpacing::Wait,
            mean_packet: Bytes::new(1000),
            counts_in_service: false,
            ecn: false,
        }
    }
}

/// How RED spaces its drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropSpacing {
    /// Uniform between 1/p and 2/p packets after the last drop (ns-2's `wait`).
    Wait,
    /// Uniform between 1 and 1/p packets after the last drop (Floyd and Jacobson's method 2).
    Uniform,
    /// Each packet independently with probability p: geometric spacing (their method 1).
    Geometric,
}

impl Part for RedConfig {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)?;
        part::amount("min_threshold", self.min_threshold)?;
        part::amount("max_threshold", self.max_threshold)?;
        let ordered = match (self.min_threshold, self.max_threshold) {
            (Amount::Packets(least), Amount::Packets(most)) => least < most,
            (Amount::Bytes(least), Amount::Bytes(most)) => least < most,
            (Amount::Bdp(least), Amount::Bdp(most)) => least < most,
            (least, _) => least != Amount::Unlimited,
        };
        let below = format!("less than `max_threshold`, {}", self.max_threshold);
        part::require("min_threshold", ordered, self.min_threshold, below)?;
        let has_weight = self.weight > 0.0 && self.weight <= 1.0;
        part::require("weight", has_weight, self.weight, "above 0, and at most 1")?;
        let probability = self.max_probability;
        part::require("max_probability", probability.get() > 0.0, probability, "above 0")?;
        part::size("mean_packet", self.mean_packet)
    }

    fn draws(&self) -> bool {
        true
    }
}

impl QueuePart for RedConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        vec![("min_threshold", self.min_threshold), ("max_threshold", self.max_threshold)]
    }

    fn is_regular(&self) -> bool {
        false
    }
}

/// A RED queue.
#[derive(Debug)]
pub struct Red<F> {
    fifo: Fifo<F>,
    limit: Limit,
    /// In packets, or in bytes [packets or B].
    min_threshold: f64,
    max_threshold: f64,
    in_bytes: bool,
    max_probability: f64,
    weight: f64,
    gentle: bool,
    spacing: DropSpacing,
    mean_packet: f64,
    counts_in_service: bool,
    ecn: bool,
    stream: Stream,
    average: f64,
    /// Since when the transmitter has been idle.
    idle_since: Option<Time>,
    /// The traffic that arrived since the last drop [packets or mean packets].
    since_drop: f64,
    /// Whether the average was above the minimum threshold at the last arrival.
    was_above: bool,
}

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accept,
    /// By chance: marked if it can be.
    Early,
    /// The average is above all thresholds.
    Forced,
}

impl<F: Frame> Red<F> {
    /// An empty queue.
    pub fn new(config: &RedConfig, site: &Site<'_>) -> Red<F> {
        let Site { packet, bdp, .. } = *site;
        let in_bytes = !matches!(config.min_threshold, Amount::Packets(_));
        let mean_packet = config.mean_packet.as_u64().max(1) as f64;
        let threshold = |amount: Amount| match amount {
            Amount::Packets(packets) if !in_bytes => packets as f64,
            _ if in_bytes => amount.bytes(packet, bdp).as_u64() as f64,
            _ => amount.bytes(packet, bdp).as_u64() as f64 / mean_packet,
        };
        Red {
            fifo: Fifo::new(),
            limit: site.limit(config.limit),
            min_threshold: threshold(config.min_threshold),
            max_threshold: threshold(config.max_threshold),
            in_bytes,
            max_probability: config.max_probability.get(),
            weight: config.weight,
            gentle: config.gentle,
            spacing: config.spacing,
            mean_packet,
            counts_in_service: config.counts_in_service,
            ecn: config.ecn,
            stream: site.stream(),
            average: 0.0,
            idle_since: Some(Time::ZERO),
            since_drop: 0.0,
            was_above: false,
        }
    }

    /// The average queue [packets or B].
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The queue whose average is taken [packets or B].
    fn queue(&self, waiting: Backlog, transmitter: Transmitter) -> f64 {
        let held = held(waiting, transmitter.state, self.counts_in_service);
        if self.in_bytes { held.bytes.as_u64() as f64 } else { f64::from(held.frames) }
    }

    /// Takes a frame that is dropped only where `limit` leaves no room: it counts in the average, and in nothing else.
    pub(super) fn enqueue_within<W: Watch<F>>(
        &mut self,
        limit: Limit,
        now: Time,
        frame: F,
        transmitter: Transmitter,
        watch: &mut W,
    ) {
        let waiting = self.fifo.backlog();
        self.sample(now, self.queue(waiting, transmitter), transmitter);
        if limit.has_room(waiting, transmitter.state, self.counts_in_service, frame.wire_size()) {
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }

    /// Takes the queue that an arrival finds into the average. An idle time counts as the empty queues that as many
    /// mean packets would have seen as the link could have sent.
    fn sample(&mut self, now: Time, queue: f64, transmitter: Transmitter) {
        if let Some(since) = self.idle_since.take() {
            let seconds = now.since(since).as_nanos() as f64 / NANOS_PER_SEC as f64;
            let packets = (seconds * transmitter.rate.as_bps() as f64 / (8.0 * self.mean_packet)).floor();
            self.average *= libm::pow(1.0 - self.weight, packets);
        }
        self.average += self.weight * (queue - self.average);
    }

    /// Early drop probability before spacing; at least 1 means a forced drop.
    fn probability(&self) -> f64 {
        let (average, min, max) = (self.average, self.min_threshold, self.max_threshold);
        if average < max {
            self.max_probability * (average - min) / (max - min)
        } else if self.gentle {
            self.max_probability + (1.0 - self.max_probability) * (average - max) / max
        } else {
            1.0
        }
    }

    /// Probability that the spacing law gives to this frame, of probability `p` before.
    fn spaced(&self, p: f64, size: Bytes) -> f64 {
        let passed = self.since_drop * p;
        let spaced = match self.spacing {
            DropSpacing::Geometric => p,
            DropSpacing::Uniform if passed < 1.0 => p / (1.0 - passed),
            DropSpacing::Wait if passed < 1.0 => 0.0,
            DropSpacing::Wait if passed < 2.0 => p / (2.0 - passed),
            DropSpacing::Uniform | DropSpacing::Wait => 1.0,
        };
        if self.in_bytes && spaced < 1.0 { spaced * size.as_u64() as f64 / self.mean_packet } else { spaced }
    }

    fn verdict(&mut self, queue: f64, size: Bytes) -> Verdict {
        let (arrived, several) = if self.in_bytes {
            (size.as_u64() as f64 / self.mean_packet, queue > self.mean_packet)
        } else {
            (1.0, queue > 1.0)
        };
        self.since_drop += arrived;
        // As in ns-2, nothing is dropped early from a queue that holds no more than a packet.
        if self.average < self.min_threshold || !several {
            self.was_above = false;
            return Verdict::Accept;
        }
        let p = self.probability();
        if p >= 1.0 {
            return Verdict::Forced;
        }
        if !self.was_above {
            // The spacing begins when the average crosses the minimum threshold.
            self.was_above = true;
            self.since_drop = arrived;
            return Verdict::Accept;
        }
        let p = self.spaced(p, size);
        if self.stream.chance(p) {
            self.since_drop = 0.0;
            return Verdict::Early;
        }
        Verdict::Accept
    }
}

impl<F: Frame> QueueDiscipline<F> for Red<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, mut frame: F, transmitter: Transmitter, watch: &mut W) {
        let size = frame.wire_size();
        let waiting = self.fifo.backlog();
        let queue = self.queue(waiting, transmitter);
        self.sample(now, queue, transmitter);
        let verdict = self.verdict(queue, size);
        let cause = if !self.limit.has_room(waiting, transmitter.state, self.counts_in_service, size) {
            self.since_drop = 0.0;
            LossCause::Overflow
        } else if verdict == Verdict::Forced {
            self.since_drop = 0.0;
            LossCause::Aqm
        } else if verdict == Verdict::Early && !(self.ecn && frame.mark_ce()) {
            LossCause::Aqm
        } else {
            if verdict == Verdict::Early {
                watch.on_mark(now, &frame);
            }
            self.fifo.push(now, frame);
            return;
        };
        watch.on_lost(Lost { at: now, cause, frame });
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, _supply: Supply, _watch: &mut W) -> Option<Waiting<F>> {
        let next = self.fifo.pop();
        if next.is_none() {
            self.idle_since.get_or_insert(now);
        }
        next
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
