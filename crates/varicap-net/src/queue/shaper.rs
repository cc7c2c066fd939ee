//! A shaper: what exceeds a rate and a burst waits for its tokens. Source: RFC 2475 §2.3.3.2; RFC 2215 §3.6 for the bucket.
//!
//! Packets wait in a queue of any kind, which sees the shaper as its transmitter: the packet that it hands over is held until
//! the bucket has its tokens, and nothing overtakes it. The queue sees the lesser of the link's rate and the shaper's.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Amount, BucketDepth, Bytes, JsonSchema, NANOS_PER_SEC, Rate, Span, Time, TokenBucket};

use super::limit::{holds_a_packet, in_bytes};
use super::part::below;
use super::{
    Chosen, DropTailConfig, Limit, QueueConfig, QueueDiscipline, QueuePart, Site, Supply, SupplyQueue,
    Transmitter, TransmitterState, Waiting,
};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// A token-bucket shaper behind another queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperConfig {
    /// The rate at which tokens arrive.
    pub rate: Rate,
    /// How much may leave at once after a pause: depth of the bucket, full at first. A larger packet is dropped. Default: 10
    /// packets.
    #[serde(default = "burst")]
    pub burst: Amount,
    /// Instead of a queue, as `tbf` has it: the longest time that packets wait at the shaper's rate. They wait in a drop-tail
    /// queue of rate x latency and the burst, which is then in bytes. Default: a queue says how much may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Span>,
    /// Where packets wait for their tokens. Default: drop-tail of 1 bdp.
    #[serde(default)]
    pub queue: Box<QueueConfig>,
}

/// The depth of a bucket of which nothing is said.
pub(super) fn burst() -> Amount {
    Amount::Packets(10)
}

/// The allowance of a shaper or a policer in a scenario.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    rate: Rate,
    burst: Amount,
}

impl Allowance {
    pub fn of(rate: Rate, burst: Amount) -> Allowance {
        Allowance { rate, burst }
    }

    pub fn check(self) -> Checked {
        let good = self.rate > Rate::ZERO && !self.rate.is_unlimited();
        part::require("rate", good, self.rate, "a rate above 0 and not unlimited")?;
        part::amount("burst", self.burst)?;
        part::require("burst", self.burst != Amount::Unlimited, self.burst, "a finite amount")
    }

    pub fn fits(self, packet: Bytes, bdp: Bytes) -> Checked {
        holds_a_packet("burst", self.burst, packet, bdp)
    }

    pub fn describe(self, queue: &QueueConfig, packet: Bytes, bdp: Bytes) -> String {
        let burst = in_bytes(self.burst, packet, bdp);
        format!(", {} and {burst}; {}", self.rate, queue.describe(packet, bdp))
    }
}

/// The queue inside, by its key.
pub(super) fn inner(queue: &QueueConfig) -> Vec<(String, &QueueConfig)> {
    vec![("queue".to_owned(), queue)]
}

/// The kernel engine treats the whole as it does the queue inside.
pub(super) fn on_kernel(queue: &QueueConfig) -> OnKernel {
    queue.on_kernel()
}

impl Part for ShaperConfig {
    fn check(&self) -> Checked {
        Allowance::of(self.rate, self.burst).check()?;
        let Some(latency) = self.latency else { return below("queue", self.queue.check()) };
        part::bounded("latency", latency)?;
        let in_bytes = matches!(self.burst, Amount::Bytes(_));
        part::require("burst", in_bytes, self.burst, "bytes, to which `latency` adds")?;
        part::require(
            "latency",
            *self.queue == QueueConfig::default(),
            latency,
            "either a latency or a `queue`",
        )
    }

    fn on_kernel(&self) -> OnKernel {
        on_kernel(&self.queue)
    }

    fn draws(&self) -> bool {
        self.inside().iter().any(|(_, queue)| queue.draws())
    }
}

impl QueuePart for ShaperConfig {
    fn limit(&self) -> Amount {
        self.latency.map_or_else(|| self.queue.limit(), |latency| self.limit_of(latency))
    }

    fn policy(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        vec![("burst", self.burst)]
    }

    fn inside(&self) -> Vec<(String, &QueueConfig)> {
        if self.latency.is_some() { Vec::new() } else { inner(&self.queue) }
    }

    /// A class never lets its frames wait of itself.
    fn may_be_inside(&self) -> bool {
        false
    }

    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        Allowance::of(self.rate, self.burst).fits(packet, bdp)?;
        match self.latency {
            Some(latency) => holds_a_packet("latency", self.limit_of(latency), packet, bdp),
            None => below("queue", self.queue.fits(packet, bdp)),
        }
    }

    fn describe(&self, packet: Bytes, bdp: Bytes) -> String {
        Allowance::of(self.rate, self.burst).describe(&self.waiting_room(), packet, bdp)
    }
}

impl ShaperConfig {
    /// The most that may wait for `latency`, rounded down to a byte. Source: `tc` `tbf_parse_opt`.
    fn limit_of(&self, latency: Span) -> Amount {
        let bits =
            u128::from(self.rate.as_bps()) * u128::from(latency.as_nanos()) / u128::from(NANOS_PER_SEC);
        let bytes = Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX));
        let burst = if let Amount::Bytes(burst) = self.burst { burst } else { Bytes::ZERO };
        Amount::Bytes(bytes.saturating_add(burst))
    }

    /// The queue in which packets wait.
    fn waiting_room(&self) -> Cow<'_, QueueConfig> {
        match self.latency {
            Some(latency) => {
                let limit = self.limit_of(latency);
                Cow::Owned(QueueConfig::DropTail(DropTailConfig { limit, ..DropTailConfig::default() }))
            }
            None => Cow::Borrowed(&self.queue),
        }
    }
}

/// A queue in front of a shaper.
#[derive(Debug)]
pub struct Shaper<F> {
    queue: Chosen<F>,
    bucket: TokenBucket,
    rate: Rate,
    /// Depth of the bucket: no larger frame ever conforms [B].
    depth: Bytes,
    /// The bytes that the bucket counts of each frame beyond its size [B].
    framed: Bytes,
    /// The frame that goes next, as soon as it has its tokens.
    held: Option<Waiting<F>>,
}

impl<F: Frame> Shaper<F> {
    /// An empty queue and a full bucket.
    pub fn new(config: &ShaperConfig, site: &Site<'_>) -> Shaper<F> {
        let depth = config.burst.bytes(site.packet, site.bdp);
        let bucket = TokenBucket::new(Time::ZERO, config.rate, BucketDepth::Bytes(depth));
        let mut queue = Chosen::new(&config.waiting_room(), site);
        // A link with opportunities reports no rate.
        queue.on_rate(Time::ZERO, config.rate);
        Shaper { queue, bucket, rate: config.rate, depth, framed: site.framed, held: None }
    }

    /// The transmitter as the queue inside sees it: busy with the frame that is held.
    fn seen(&self, transmitter: Transmitter) -> Transmitter {
        let state = match (&self.held, transmitter.state) {
            (Some(held), _) => TransmitterState::Busy(held.frame.wire_size()),
            (None, state) => state,
        };
        Transmitter { state, rate: transmitter.rate.min(self.rate) }
    }
}

impl<F: Frame> QueueDiscipline<F> for Shaper<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        if frame.wire_size() + self.framed > self.depth {
            return watch.on_lost(Lost { at: now, cause: LossCause::Policed, frame });
        }
        let seen = self.seen(transmitter);
        self.queue.enqueue(now, frame, seen, watch);
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        if self.held.is_none() {
            // Opportunities are the link's: the shaper has a rate.
            let supply = Supply { rate: supply.rate.min(self.rate), offered: None, ..supply };
            self.held = self.queue.dequeue(now, supply, watch);
        }
        let size = self.held.as_ref()?.frame.wire_size();
        if self.bucket.take(now, size + self.framed) { self.held.take() } else { None }
    }

    fn backlog(&self) -> Backlog {
        let Backlog { frames, bytes } = self.queue.backlog();
        let held = self.held.as_ref().map_or(Bytes::ZERO, |held| held.frame.wire_size());
        Backlog { frames: frames + u32::from(self.held.is_some()), bytes: bytes + held }
    }

    fn on_rate(&mut self, now: Time, rate: Rate) {
        self.queue.on_rate(now, rate.min(self.rate));
    }

    fn set_limit(&mut self, limit: Limit) {
        self.queue.set_limit(limit);
    }

    fn ready_at(&self) -> Time {
        match &self.held {
            Some(held) => self.bucket.conforms_at(held.frame.wire_size() + self.framed),
            None => self.queue.ready_at(),
        }
    }

    fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
        self.queue.supply(supply);
    }
}
