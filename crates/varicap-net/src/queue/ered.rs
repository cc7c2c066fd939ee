//! Enhanced RED: one FIFO in which RED's thresholds apply to unmarked frames only. Source: [minrate, §II-B].
//!
//! A marked frame (one that conforms to a reservation) is lost only when the queue is full. The average is that of the whole
//! queue and is taken at each arrival; only unmarked frames count in the spacing of drops. A part of the queue may be kept
//! for marked frames alone: an unmarked frame comes in only if it leaves that part free, which is what the paper
//! recommends for the future, since an average lets unmarked bursts in.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Probability, Time};

use super::limit::{holds_a_packet, in_bytes};
use super::{
    DropSpacing, Limit, QueueDiscipline, QueuePart, Red, RedConfig, Site, Supply, Transmitter, Waiting,
};
use crate::frame::{Backlog, Frame, Watch};

/// Enhanced RED: the thresholds apply to unmarked packets only; marked ones conform to a reservation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EredConfig {
    /// Hard limit of the queue, the only one for marked packets. Default: 100 packets ([minrate, §III-A]: 100 kB of 1 kB
    /// packets).
    pub limit: Amount,
    /// Part of the limit that only marked packets may use: unmarked ones come in only if they leave it free ([minrate,
    /// §II-B], recommended for the future). Default: 0 packets.
    pub reserve: Amount,
    /// Average queue, marked packets included, at which drops of unmarked ones begin. Default: 20 packets ([minrate, §III-A]).
    pub min_threshold: Amount,
    /// Average queue from which on all unmarked packets are dropped. Default: 80 packets ([minrate, §III-A]).
    pub max_threshold: Amount,
    /// Largest early drop probability. Default: 0.02 ([minrate, §III-A]).
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
    /// Mark ECN-capable frames instead of dropping them early. Default: false.
    pub ecn: bool,
}

impl Default for EredConfig {
    fn default() -> EredConfig {
        let RedConfig { weight, gentle, spacing, mean_packet, counts_in_service, ecn, .. } =
            RedConfig::default();
        EredConfig {
            limit: Amount::Packets(100),
            reserve: Amount::Packets(0),
            min_threshold: Amount::Packets(20),
            max_threshold: Amount::Packets(80),
            max_probability: Probability::new(0.02).unwrap_or_default(),
            weight,
            gentle,
            spacing,
            mean_packet,
            counts_in_service,
            ecn,
        }
    }
}

impl EredConfig {
    /// RED as unmarked packets see it; its limit leaves the reserve out of account.
    pub fn red(&self) -> RedConfig {
        RedConfig {
            limit: self.limit,
            min_threshold: self.min_threshold,
            max_threshold: self.max_threshold,
            max_probability: self.max_probability,
            weight: self.weight,
            gentle: self.gentle,
            spacing: self.spacing,
            mean_packet: self.mean_packet,
            counts_in_service: self.counts_in_service,
            ecn: self.ecn,
        }
    }
}

impl Part for EredConfig {
    fn check(&self) -> Checked {
        self.red().check()?;
        let good = self.reserve != Amount::Unlimited;
        part::require("reserve", good, self.reserve, "an amount below `limit`")
    }

    fn draws(&self) -> bool {
        true
    }
}

impl QueuePart for EredConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        vec![
            ("min_threshold", self.min_threshold),
            ("max_threshold", self.max_threshold),
            ("reserve", self.reserve),
        ]
    }

    fn is_regular(&self) -> bool {
        false
    }

    /// The thresholds are below the limit, and a packet fits beside the reserve.
    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        holds_a_packet("limit", self.limit, packet, bdp)?;
        let bytes = |amount: Amount| amount.bytes(packet, bdp);
        let text = |amount: Amount| in_bytes(amount, packet, bdp);
        let (limit, most) = (bytes(self.limit), bytes(self.max_threshold));
        let below = format!("at most `limit`, {}", text(self.limit));
        part::require("max_threshold", most <= limit, text(self.max_threshold), below)?;
        let below = format!("less than `max_threshold`, {}", text(self.max_threshold));
        let ordered = bytes(self.min_threshold) < most;
        part::require("min_threshold", ordered, text(self.min_threshold), below)?;
        let room = limit.saturating_sub(bytes(self.reserve)) >= packet;
        let below = format!("less than `limit`, {}, by a packet of {packet} or more", text(self.limit));
        part::require("reserve", room, text(self.reserve), below)
    }
}

/// An ERED queue.
#[derive(Debug)]
pub struct Ered<F> {
    /// The queue as unmarked frames see it: its limit leaves the reserve free.
    red: Red<F>,
    /// The limit of marked frames.
    limit: Limit,
    reserve: Reserve,
}

/// The room that is kept for marked frames: frames and bytes, one of which the limit is in.
#[derive(Clone, Copy, Debug)]
struct Reserve {
    frames: u64,
    bytes: Bytes,
}

impl Reserve {
    fn new(amount: Amount, site: &Site<'_>) -> Reserve {
        let Site { packet, bdp, .. } = *site;
        let bytes = amount.bytes(packet, bdp);
        let frames = match amount {
            Amount::Packets(packets) => packets,
            _ => bytes.as_u64().div_ceil(packet.as_u64().max(1)),
        };
        Reserve { frames, bytes }
    }

    /// The part of `limit` that unmarked frames may use.
    fn beside(self, limit: Limit) -> Limit {
        let frames =
            if limit.frames == u64::MAX { limit.frames } else { limit.frames.saturating_sub(self.frames) };
        let bytes =
            if limit.bytes == Bytes::MAX { limit.bytes } else { limit.bytes.saturating_sub(self.bytes) };
        Limit { frames, bytes, ..limit }
    }
}

impl<F: Frame> Ered<F> {
    /// An empty queue.
    pub fn new(config: &EredConfig, site: &Site<'_>) -> Ered<F> {
        let (reserve, limit) = (Reserve::new(config.reserve, site), site.limit(config.limit));
        let mut red = Red::new(&config.red(), site);
        red.set_limit(reserve.beside(limit));
        Ered { red, limit, reserve }
    }

    /// The average queue, marked frames included [packets or B].
    pub fn average(&self) -> f64 {
        self.red.average()
    }
}

impl<F: Frame> QueueDiscipline<F> for Ered<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        if frame.is_reserved() {
            self.red.enqueue_within(self.limit, now, frame, transmitter, watch);
        } else {
            self.red.enqueue(now, frame, transmitter, watch);
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        self.red.dequeue(now, supply, watch)
    }

    fn backlog(&self) -> Backlog {
        self.red.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
        self.red.set_limit(self.reserve.beside(limit));
    }
}
