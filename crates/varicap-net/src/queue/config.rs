//! How a queue is put together, as a scenario file says it.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::{Amount, Bytes, Probability, Span, choice};

/// The queue in front of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum QueueConfig {
    /// First in, first out; what does not fit is lost.
    DropTail(DropTailConfig),
    /// Random early detection. Source: Floyd and Jacobson 1993; ns-2's options.
    Red(RedConfig),
    /// RED for unmarked packets; those that conform to a reservation are lost only when the queue is full. Source: [minrate,
    /// §II-B].
    Ered(EredConfig),
    /// Controlled delay. Source: RFC 8289.
    #[serde(rename = "codel")]
    CoDel(CoDelConfig),
    /// Fair queueing by deficit round robin: a queue for each flow, served in turn. Source: [shreedhar96].
    Drr(DrrConfig),
    /// Start-time fair queueing: a queue for each flow, served in the order of virtual time. Source: [goyal97].
    Sfq(SfqConfig),
    /// Class-based queueing: classes of flows with a share of the capacity each, and a queue inside each. Source: [floyd95],
    /// [minrate, §VIII].
    Cbq(CbqConfig),
    /// Marks of an accelerate or a brake, for senders with `congestion = "accel-brake"`. Source: [goyal20].
    AccelBrake(AccelBrakeConfig),
}
varicap_units::choice!(QueueConfig);

impl QueueConfig {
    /// The most that it may hold; classes have limits of their own.
    pub fn limit(&self) -> Amount {
        match self {
            QueueConfig::DropTail(queue) => queue.limit,
            QueueConfig::Red(queue) => queue.limit,
            QueueConfig::Ered(queue) => queue.limit,
            QueueConfig::CoDel(queue) => queue.limit,
            QueueConfig::Drr(queue) => queue.limit,
            QueueConfig::Sfq(queue) => queue.limit,
            QueueConfig::Cbq(_) => Amount::Unlimited,
            QueueConfig::AccelBrake(queue) => queue.limit,
        }
    }

    /// The bytes that it and its classes may hold, for packets of `packet` and a path of `bdp` bytes [B].
    pub fn room(&self, packet: Bytes, bdp: Bytes) -> Bytes {
        let QueueConfig::Cbq(cbq) = self else { return self.limit().bytes(packet, bdp) };
        let rooms = cbq.classes.values().map(|class| class.queue.room(packet, bdp));
        rooms.fold(Bytes::ZERO, Bytes::saturating_add)
    }

    /// Its name in a file.
    pub fn name(&self) -> &'static str {
        match self {
            QueueConfig::DropTail(_) => "drop-tail",
            QueueConfig::Red(_) => "red",
            QueueConfig::Ered(_) => "ered",
            QueueConfig::CoDel(_) => "codel",
            QueueConfig::Drr(_) => "drr",
            QueueConfig::Sfq(_) => "sfq",
            QueueConfig::Cbq(_) => "cbq",
            QueueConfig::AccelBrake(_) => "accel-brake",
        }
    }
}

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        QueueConfig::DropTail(DropTailConfig::default())
    }
}

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
    /// RED as unmarked packets see it; its limit does not know of the reserve.
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

/// Controlled delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CoDelConfig {
    /// Hard limit of the queue. Default: 1000 packets.
    pub limit: Amount,
    /// Acceptable standing queueing delay. Default: 5 ms (RFC 8289 §4.2).
    pub target: Span,
    /// How long the delay may stay above the target. Default: 100 ms (RFC 8289 §4.3).
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

/// Accel-Brake Control at the bottleneck: brakes are CE marks, so that only ECN-capable packets get any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccelBrakeConfig {
    /// Hard limit of the queue. Default: 250 packets ([goyal20, §6]).
    pub limit: Amount,
    /// Which part of the capacity is the target rate while the queue is short (eta). Default: 0.98 ([goyal20, §6]).
    pub eta: f64,
    /// Queueing delay that is left alone (d_t). Default: 20 ms.
    pub target: Span,
    /// In which time more than that is to drain (delta); stable above two thirds of the round trip ([goyal20, §3.1.4]).
    /// Default: 133 ms ([goyal20, §6]).
    pub delta: Span,
    /// Over which the rate of departures is measured. Default: 50 ms.
    pub window: Span,
}

impl Default for AccelBrakeConfig {
    fn default() -> AccelBrakeConfig {
        AccelBrakeConfig {
            limit: Amount::Packets(250),
            eta: 0.98,
            target: Span::from_millis(20),
            delta: Span::from_millis(133),
            window: Span::from_millis(50),
        }
    }
}

/// Deficit round robin: a flow sends its quantum in each round, and keeps what is too little for its next packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrrConfig {
    /// Limit of what waits in all queues together. Default: 1 bdp.
    pub limit: Amount,
    /// Limit of the queue of each flow. Default: none but `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<Amount>,
    /// What a flow of weight 1 may send in a round. Default: 1 packets (full-sized).
    pub quantum: Amount,
    /// What has a queue of its own. Default: flow.
    pub per: Per,
    /// Who loses a packet where all queues together are full. Default: longest.
    pub drop: DropFrom,
    /// Weights of flows by name; those of a group have the weight each, or together if `per = "group"`. Default: 1.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("default" = null))]
    pub weights: IndexMap<String, f64>,
}

impl Default for DrrConfig {
    fn default() -> DrrConfig {
        DrrConfig {
            limit: Amount::Bdp(1.0),
            flow_limit: None,
            quantum: Amount::Packets(1),
            per: Per::Flow,
            drop: DropFrom::Longest,
            weights: IndexMap::new(),
        }
    }
}

/// Start-time fair queueing: the packet whose service would have begun first in a fair fluid system goes first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SfqConfig {
    /// Limit of what waits in all queues together. Default: 1 bdp.
    pub limit: Amount,
    /// Limit of the queue of each flow. Default: none but `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<Amount>,
    /// What has a queue of its own. Default: flow.
    pub per: Per,
    /// Who loses a packet where all queues together are full. Default: longest.
    pub drop: DropFrom,
    /// Weights of flows by name; those of a group have the weight each, or together if `per = "group"`. Default: 1.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("default" = null))]
    pub weights: IndexMap<String, f64>,
}

impl Default for SfqConfig {
    fn default() -> SfqConfig {
        SfqConfig {
            limit: Amount::Bdp(1.0),
            flow_limit: None,
            per: Per::Flow,
            drop: DropFrom::Longest,
            weights: IndexMap::new(),
        }
    }
}

/// What has a queue of its own in fair queueing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each connection (of a group with a `count`, each of them).
    #[default]
    Flow,
    /// Each group of flows, whatever its `count`.
    Group,
}

/// Who loses a packet where all queues together are full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropFrom {
    /// The flow with the most bytes waiting, its last packet.
    #[default]
    Longest,
    /// The one whose packet arrives.
    Arriving,
}

/// Class-based queueing. What a class does not use goes to the others by their shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CbqConfig {
    /// The classes, by name. Their shares sum to at most 1.
    pub classes: IndexMap<String, CbqClass>,
}

/// A class of flows that is entitled to a share of the capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CbqClass {
    /// Its flows (by name; a group belongs to it as a whole). Default: all that no other class names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// Its share of the capacity.
    pub share: Probability,
    /// The queue inside it: any but `cbq` and `accel-brake`. Default: drop-tail of 1 bdp.
    #[serde(default)]
    pub queue: QueueConfig,
    /// Of the classes that are within their shares, those of the lowest number go first; and so do they among those that
    /// borrow. Default: 1.
    #[serde(default = "first")]
    pub priority: u8,
    /// Whether it may use what other classes leave. If not, it waits for its share even at an idle link. Default: true.
    #[serde(default = "yes")]
    pub borrow: bool,
}

fn first() -> u8 {
    1
}

fn yes() -> bool {
    true
}
