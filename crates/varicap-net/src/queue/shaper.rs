//! A shaper: what exceeds a rate and a burst waits for its tokens. Source: RFC 2475 §2.3.3.2; RFC 2215 §3.6 for the bucket.
//!
//! Packets wait in a queue of any kind, which sees the shaper as its transmitter: the packet that it hands over is held until
//! the bucket has its tokens, and nothing overtakes it. The queue sees the lesser of the link's rate and the shaper's.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Amount, BucketDepth, Bytes, JsonSchema, Rate, Time, TokenBucket};

use super::limit::{holds_a_packet, in_bytes};
use super::part::below;
use super::{
    Chosen, Limit, QueueConfig, QueueDiscipline, QueuePart, Site, Supply, SupplyQueue, Transmitter,
    TransmitterState, Waiting,
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
    /// Where packets wait for their tokens. Default: drop-tail of 1 bdp.
    #[serde(default)]
    pub queue: Box<QueueConfig>,
}

/// The depth of a bucket of which nothing is said.
pub(super) fn burst() -> Amount {
    Amount::Packets(10)
}

/// What a shaper or a policer lets pass, as a scenario says it.
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

/// What the kernel engine does with the queue inside is what it does with the whole.
pub(super) fn on_kernel(queue: &QueueConfig) -> OnKernel {
    queue.on_kernel()
}

impl Part for ShaperConfig {
    fn check(&self) -> Checked {
        Allowance::of(self.rate, self.burst).check()?;
        below("queue", self.queue.check())
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
        self.queue.limit()
    }

    fn policy(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        vec![("burst", self.burst)]
    }

    fn inside(&self) -> Vec<(String, &QueueConfig)> {
        inner(&self.queue)
    }

    /// A class never lets its frames wait of itself.
    fn may_be_inside(&self) -> bool {
        false
    }

    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        Allowance::of(self.rate, self.burst).fits(packet, bdp)?;
        below("queue", self.queue.fits(packet, bdp))
    }

    fn describe(&self, packet: Bytes, bdp: Bytes) -> String {
        Allowance::of(self.rate, self.burst).describe(&self.queue, packet, bdp)
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
    /// The frame that goes next, as soon as it has its tokens.
    held: Option<Waiting<F>>,
}

impl<F: Frame> Shaper<F> {
    /// An empty queue and a full bucket.
    pub fn new(config: &ShaperConfig, site: &Site<'_>) -> Shaper<F> {
        let depth = config.burst.bytes(site.packet, site.bdp);
        let bucket = TokenBucket::new(Time::ZERO, config.rate, BucketDepth::Bytes(depth));
        let mut queue = Chosen::new(&config.queue, site);
        // A link with opportunities reports no rate.
        queue.on_rate(Time::ZERO, config.rate);
        Shaper { queue, bucket, rate: config.rate, depth, held: None }
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
        if frame.wire_size() > self.depth {
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
        if self.bucket.take(now, size) { self.held.take() } else { None }
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
            Some(held) => self.bucket.conforms_at(held.frame.wire_size()),
            None => self.queue.ready_at(),
        }
    }

    fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
        self.queue.supply(supply);
    }
}
