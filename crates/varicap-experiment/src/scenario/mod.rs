//! A scenario as a file describes it: topology, flows and what to record.
//!
//! These types are the only definition of the format. The JSON Schema, the Python front and the reference page are
//! generated from them, so users read the comment on each field.

pub(crate) mod datagrams;
pub(crate) mod decode;
pub(crate) mod document;
pub(crate) mod json;
pub(crate) mod name;
pub(crate) mod positions;
pub(crate) mod quic;
pub(crate) mod reservation;
pub(crate) mod schema;
pub(crate) mod stack;

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use varicap_net::{
    AbrConfig, ArqConfig, CapacityConfig, DelayConfig, EstimatorConfig, Framing, HandoverConfig, LossConfig,
    NetemConfig, QueueConfig, SconeConfig, Service,
};
use varicap_tcp::TcpConfig;
use varicap_units::{Bytes, JsonSchema, Probability, Rate, Span};

pub use varicap_app::{App, Arrivals, Lognormal, OnOff, Pareto, Relay, Sizes, Transfer};

pub use datagrams::{DatagramRate, Datagrams, Spacing};
pub use quic::{AckFrequency, EndpointConfig, IP_AND_UDP, QuicConfig, QuicCongestion, QuicStack};
pub use reservation::{ReservationConfig, ReservedRate};

use document::Source;

/// Version of the scenario format.
pub const SCHEMA_VERSION: u32 = 1;

/// A path whose capacity changes over time, the flows over it, and how long and how often to run them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of the format. Default: 1.
    #[serde(default = "schema_version")]
    pub schema_version: u32,
    /// Name of the scenario in results. Default: the file's name without its extension.
    #[serde(default)]
    pub name: String,
    /// The purpose of the scenario.
    #[serde(default)]
    pub description: String,
    /// Simulated time of each run.
    pub duration: Span,
    /// Time that is cut off at the beginning of each run before measuring. Default: 0 s.
    #[serde(default)]
    pub warmup: Span,
    /// Number of replications, each with its own random numbers. Default: 10.
    #[serde(default = "seeds")]
    pub seeds: u32,
    /// Base seed of all random numbers; the same seed gives the same results. Default: 1.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Whether each flow has the network to itself, over the same channel, instead of sharing it. Default: false.
    #[serde(default)]
    pub isolate: bool,
    /// Keys that every flow's `tcp` table inherits unless it sets them itself. A flow of another stack inherits what is
    /// written here, and the rest from its own stack.
    #[serde(default)]
    #[schemars(extend("default" = {}))]
    pub tcp: TcpConfig,
    /// The links and how they are connected.
    pub topology: Topology,
    /// The flows, by name.
    pub flows: IndexMap<String, FlowConfig>,
    /// The records to take in addition to the results.
    #[serde(default)]
    pub record: RecordConfig,
    /// Where each value was written.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) source: Arc<Source>,
}

/// The links and how they are connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "a scenario has only one")]
pub enum Topology {
    /// One link in each direction, which all flows share.
    Dumbbell(Dumbbell),
    /// Nodes n0, n1, … in a row; flows may enter and leave anywhere.
    Chain(Chain),
    /// Any directed links between named nodes.
    Graph(Graph),
}

/// One link in each direction, which all flows share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// The link from left to right, which carries the data of ordinary flows.
    pub forward: LinkConfig,
    /// The link from right to left. Default: unlimited capacity and queue, `forward`'s delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<LinkConfig>,
}

/// Nodes n0, n1, … in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The links from n0 to n1, from n1 to n2, ….
    pub forward: Vec<LinkConfig>,
    /// The links from n1 to n0, from n2 to n1, …, as many as in `forward`. Default: unlimited capacity and queue,
    /// `forward`'s delays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Vec<LinkConfig>>,
}

/// Any directed links between named nodes. A flow takes the route with the fewest links (ties: the order of the file)
/// unless it sets `via`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The links, by name.
    pub links: IndexMap<String, LinkConfig>,
}

/// One link in one direction: a queue, a server with a capacity, loss, and delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Name of the link in results and of its random streams. Default: `forward`, `reverse`; `forward.1`, …; in a graph
    /// its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In a graph: the node where the link begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// In a graph: the node where the link ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Capacity of the link over time. Default: unlimited.
    pub capacity: CapacityConfig,
    /// How the server applies its capacity to a packet in service. Default: fluid.
    pub service: Service,
    /// Propagation delay of the link over time; a packet takes the delay of the instant at which it leaves the server.
    /// Default: 0 s; on a reverse link that of the forward link, where it is random with draws of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayConfig>,
    /// Whether a packet overtakes those ahead of it if the delay has fallen by so much; otherwise it comes out together
    /// with the last of them, as from a link layer that keeps the order. Default: false.
    pub reorder: bool,
    /// Handovers, which change capacity, delay and loss together at regular times. Default: none; on a reverse link those
    /// of the forward link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverConfig>,
    /// The queue in front of the server. Default: drop-tail of 1 bdp; unlimited if the capacity is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueConfig>,
    /// Random loss on the wire, after the server. Default: none.
    pub loss: LossConfig,
    /// Packets that come twice, and packets that are damaged. Default: none.
    pub netem: NetemConfig,
    /// The bytes that the link layer adds to each packet. Default: nothing.
    pub framing: Framing,
    /// The link sends in slots and retransmits what it loses (ARQ); `{}` is stop-and-wait. Default: no ARQ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arq: Option<ArqConfig>,
}

impl Default for LinkConfig {
    fn default() -> LinkConfig {
        LinkConfig {
            name: None,
            from: None,
            to: None,
            capacity: CapacityConfig::Constant(Rate::UNLIMITED),
            service: Service::default(),
            delay: None,
            reorder: false,
            handover: None,
            queue: None,
            loss: LossConfig::default(),
            netem: NetemConfig::default(),
            framing: Framing::default(),
            arq: None,
        }
    }
}

/// A group of identical flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowConfig {
    /// Number of flows in the group. Default: 1.
    pub count: u32,
    /// In a chain or graph: the sender's node. Default: in a chain, the first node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// In a chain or graph: the receiver's node. Default: in a chain, the last node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether the flow runs from right to left (from the last node to the first). Default: false.
    pub backward: bool,
    /// In a graph: the links from the sender to the receiver, in order. Default: the route with the fewest links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Vec<String>>,
    /// In a graph: the links from the receiver back to the sender, in order. Default: the route with the fewest links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via_back: Option<Vec<String>>,
    /// Additional delay in each direction, on the flow's own access wire. Default: 0 s.
    pub access_delay: Span,
    /// When the flow starts. Default: 0 s.
    pub start: Span,
    /// Each flow of the group starts at a random time within this span after `start`, uniformly. Default: 0 s.
    pub start_spread: Span,
    /// When the flow's application stops offering data. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Span>,
    /// Maximum processing delay of an acknowledgement at the sender, uniform from zero, to avoid phase effects.
    /// Default: a full packet's time on the slowest link where flows share a queue that leaves nothing to chance (all
    /// but `red`, `ered` and `codel`), at most 10 ms; else 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Span>,
    /// The data that the flow transfers. Default: greedy.
    pub app: App,
    /// The TCP connection. Default: the scenario's `tcp` table, which also supplies the keys that this table omits.
    #[schemars(extend("default" = null))]
    pub tcp: TcpConfig,
    /// The rate that the network advertises to the sender. Default: the exact fair rate if the congestion control is
    /// `ratcp` or the flow has an ABR source; else none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<FeedbackConfig>,
    /// An ABR source behind each sender, which releases packets at the rate that the network advertises. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abr: Option<AbrConfig>,
    /// A rate that the network reserves for each sender of the flow; packets that conform to it are marked.
    /// Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationConfig>,
    /// Instead of `app` and `tcp`: datagrams, at a rate of their own or at that of an encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// Instead of TCP: QUIC by an implementation that people use, in the simulator alone. Of `tcp`, only the congestion
    /// control counts, and that where this table asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicConfig>,
    /// Instead of TCP: a transport that the run is given by name, in the simulator alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<EndpointConfig>,
}

impl FlowConfig {
    /// Wire size of its full packets [B].
    pub(crate) fn packet(&self) -> Bytes {
        match (&self.datagrams, &self.quic, &self.endpoint) {
            (Some(datagrams), ..) => datagrams.size,
            (_, Some(quic), _) => quic.mtu,
            (.., Some(endpoint)) => endpoint.mtu,
            _ => self.tcp.packet(),
        }
    }

    /// Whether its transport is TCP.
    pub(crate) fn is_tcp(&self) -> bool {
        self.datagrams.is_none() && self.quic.is_none() && self.endpoint.is_none()
    }
}

impl Default for FlowConfig {
    fn default() -> FlowConfig {
        FlowConfig {
            count: 1,
            from: None,
            to: None,
            backward: false,
            via: None,
            via_back: None,
            access_delay: Span::ZERO,
            start: Span::ZERO,
            start_spread: Span::ZERO,
            stop: None,
            jitter: None,
            app: App::Greedy,
            tcp: TcpConfig::default(),
            feedback: None,
            abr: None,
            reservation: None,
            datagrams: None,
            quic: None,
            endpoint: None,
        }
    }
}

/// The rate that the network advertises to a flow's sender, in bits per second without link framing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FeedbackConfig {
    /// The link that advertises its rate. Default: of the links to the receiver, the slowest whose capacity varies, or
    /// else the slowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Several links instead of one; the least of their rates is advertised. Default: one link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
    /// Which part of the link's capacity is advertised. Default: fair.
    pub share: Share,
    /// How the rate is found. Default: exact.
    pub estimator: EstimatorConfig,
    /// How long an update takes from the link to the sender. Default: path.
    pub delay: FeedbackDelay,
    /// Advertised rates are rounded down to multiples of this. Default: no rounding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Rate>,
    /// Probability that an update is lost before it reaches the sender, which then keeps the old rate. Default: 0.
    pub loss: Probability,
    /// A sender that receives no update for this long forgets the rate, at the next update that fails to arrive. Needs
    /// an estimator with an interval. Default: the sender keeps the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Span>,
    /// Instead of each update of the estimator, throughput advice as SCONE has it: coarse, now and then, the lowest of a
    /// period; `{}` is the draft's. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scone: Option<SconeConfig>,
    /// Whether the sender sends no faster than the rate that it hears, whatever its congestion control. Default: false.
    pub cap: bool,
}

/// Which part of a link's capacity is advertised to a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// The flow's max-min fair share among all flows that are active on the link, whatever their congestion control;
    /// datagrams count with their rate, those of an encoder with its highest.
    #[default]
    Fair,
    /// The whole capacity: for a single flow on a link, or a capacity that is already a share.
    Capacity,
}

/// How long an update takes from the link to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::text)]
pub enum FeedbackDelay {
    /// The update travels with packets to the receiver and returns with acknowledgements: the propagation delay of both
    /// directions, starting at the server of the link; where it varies, its mean.
    #[default]
    Path,
    /// A fixed time; may be written as the time alone: `"100 ms"`.
    After(Span),
}
varicap_units::choice!(FeedbackDelay, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| text.parse::<Span>().map(FeedbackDelay::After))
});

/// The records to take in addition to the results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecordConfig {
    /// Interval between the points of time series. Default: 100 ms.
    pub sample: Span,
    /// Whether to keep time series of windows, queues and capacity. Default: false.
    pub series: bool,
    /// Whether to keep a log of what happened to every packet. Default: false.
    pub packets: bool,
    /// Maximum number of packet events that are kept of a run; further events are omitted, with a message.
    /// Default: 10000000.
    pub packet_limit: u64,
}

impl Default for RecordConfig {
    fn default() -> RecordConfig {
        RecordConfig {
            sample: Span::from_millis(100),
            series: false,
            packets: false,
            packet_limit: 10_000_000,
        }
    }
}

fn schema_version() -> u32 {
    SCHEMA_VERSION
}

fn seeds() -> u32 {
    10
}

fn seed() -> u64 {
    1
}
