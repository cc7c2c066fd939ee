//! A policer: what exceeds a rate and a burst is dropped as it arrives. Source: RFC 2475 §2.3.3.3; RFC 2215 §3.6 for the bucket.
//!
//! Packets that conform go on to a queue of any kind, which knows nothing of the policer.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Amount, BucketDepth, Bytes, JsonSchema, Rate, Span, Time, TokenBucket};

use super::monitor::Monitors;
use super::part::below;
use super::shaper::{Allowance, inner, on_kernel};
use super::{
    Chosen, Limit, QueueConfig, QueueDiscipline, QueuePart, Site, Supply, SupplyQueue, Transmitter, Waiting,
};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// A token-bucket policer in front of another queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// The rate at which tokens arrive.
    pub rate: Rate,
    /// How much may pass at once after a pause: depth of the bucket, full at first. Default: 10 packets.
    #[serde(default = "super::shaper::burst")]
    pub burst: Amount,
    /// Where packets go that conform. Default: drop-tail of 1 bdp.
    #[serde(default)]
    pub queue: Box<QueueConfig>,
    /// Lenient as SCONE would have it (draft-ietf-scone-protocol-07 §7.3): rate and burst are those of each connection, and
    /// bind only one that has brought more than the rate allows over such a period, until it has not. Default: all are bound
    /// at any time, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Span>,
}

impl Part for PolicerConfig {
    fn check(&self) -> Checked {
        Allowance::of(self.rate, self.burst).check()?;
        if let Some(period) = self.monitor {
            part::positive("monitor", period)?;
            part::bounded("monitor", period)?;
        }
        below("queue", self.queue.check())
    }

    fn on_kernel(&self) -> OnKernel {
        on_kernel(&self.queue)
    }

    fn draws(&self) -> bool {
        self.inside().iter().any(|(_, queue)| queue.draws())
    }
}

impl QueuePart for PolicerConfig {
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

    fn may_be_inside(&self) -> bool {
        self.queue.may_be_inside()
    }

    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        Allowance::of(self.rate, self.burst).fits(packet, bdp)?;
        below("queue", self.queue.fits(packet, bdp))
    }

    fn describe(&self, packet: Bytes, bdp: Bytes) -> String {
        Allowance::of(self.rate, self.burst).describe(&self.queue, packet, bdp)
    }
}

/// A queue behind a policer.
#[derive(Debug)]
pub struct Policer<F> {
    queue: Chosen<F>,
    bucket: TokenBucket,
    monitors: Option<Monitors>,
}

impl<F: Frame> Policer<F> {
    /// An empty queue behind a full bucket.
    pub fn new(config: &PolicerConfig, site: &Site<'_>) -> Policer<F> {
        let depth = BucketDepth::Bytes(config.burst.bytes(site.packet, site.bdp));
        let bucket = TokenBucket::new(Time::ZERO, config.rate, depth);
        let monitors = config.monitor.map(|period| Monitors::new(period, bucket));
        Policer { queue: Chosen::new(&config.queue, site), bucket, monitors }
    }
}

impl<F: Frame> QueueDiscipline<F> for Policer<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let conforms = match &mut self.monitors {
            None => self.bucket.take(now, frame.wire_size()),
            Some(monitors) => monitors.admits(now, frame.flow(), frame.wire_size()),
        };
        if conforms {
            self.queue.enqueue(now, frame, transmitter, watch);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Policed, frame });
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        self.queue.dequeue(now, supply, watch)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn on_rate(&mut self, now: Time, rate: Rate) {
        self.queue.on_rate(now, rate);
    }

    fn set_limit(&mut self, limit: Limit) {
        self.queue.set_limit(limit);
    }

    fn ready_at(&self) -> Time {
        self.queue.ready_at()
    }

    fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
        self.queue.supply(supply);
    }
}
