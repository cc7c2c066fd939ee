//! A scenario: topology, flows and what to record, as a file says it.
//!
//! These types are the one definition. The JSON Schema, the Python front and the reference page come from them,
//! so each comment on a field is what a user reads.

pub(crate) mod decode;
pub(crate) mod document;
pub(crate) mod reservation;
pub(crate) mod schema;

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_net::{
    AbrConfig, ArqConfig, CapacityConfig, EstimatorConfig, Framing, LossConfig, QueueConfig, Service,
};
use varicap_tcp::TcpConfig;
use varicap_units::{Bytes, Frequency, Probability, Rate, Span, choice};

pub use reservation::{ReservationConfig, ReservedRate};

use document::Source;

/// The version of this format.
pub const SCHEMA_VERSION: u32 = 1;

/// A path whose capacity changes in time, the flows over it, and how long and how often to run them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of the format. Default: 1.
    #[serde(default = "schema_version")]
    pub schema_version: u32,
    /// Name in results. Default: the file's name without its ending.
    #[serde(default)]
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Simulated time of each run.
    pub duration: Span,
    /// What is cut off at the beginning of each run before measuring. Default: 0 s.
    #[serde(default)]
    pub warmup: Span,
    /// Replications, each with its own random numbers. Default: 10.
    #[serde(default = "seeds")]
    pub seeds: u32,
    /// Base seed of all random numbers; the same seed gives the same results. Default: 1.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Whether each flow has the network to itself, under the same channel, instead of sharing it. Default: false.
    #[serde(default)]
    pub isolate: bool,
    /// What every flow's `tcp` table contains unless it says otherwise (key by key).
    #[serde(default)]
    pub tcp: TcpConfig,
    /// Links and how they hang together.
    pub topology: Topology,
    /// The flows, by name.
    pub flows: IndexMap<String, FlowConfig>,
    /// What to write down besides the results.
    #[serde(default)]
    pub record: RecordConfig,
    /// Where each value was written.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) source: Arc<Source>,
}

/// Links and how they hang together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
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
    /// The links n0 to n1, n1 to n2, ….
    pub forward: Vec<LinkConfig>,
    /// The links n1 to n0, n2 to n1, …, as many as `forward`. Default: unlimited capacity and queue, `forward`'s delays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Vec<LinkConfig>>,
}

/// Any directed links between named nodes. Flows take the fewest links (ties: the order of the file), or say `via`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The links, by name.
    pub links: IndexMap<String, LinkConfig>,
}

/// One link of one direction: queue, server with a capacity, loss, delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Name in results and of its random streams. Default: `forward`, `reverse`; `forward.1`, …; in a graph its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In a graph: the node where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// In a graph: the node where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What the link offers in time. Default: unlimited.
    pub capacity: CapacityConfig,
    /// How the server measures out its capacity. Default: fluid.
    pub service: Service,
    /// Propagation delay. Default: 0 s; on a reverse link that of the forward link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// The queue in front of the server. Default: drop-tail of 1 bdp; without limit if the capacity is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueConfig>,
    /// Random loss on the wire, after the server. Default: none.
    pub loss: LossConfig,
    /// What the link adds to each packet. Default: nothing.
    pub framing: Framing,
    /// The link sends in slots and resends what it loses (ARQ); `{}` is stop-and-wait. Default: it does not.
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
            queue: None,
            loss: LossConfig::default(),
            framing: Framing::default(),
            arq: None,
        }
    }
}

/// A group of alike flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowConfig {
    /// How many there are. Default: 1.
    pub count: u32,
    /// In a chain or graph: the sender's node. Default: in a chain the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// In a chain or graph: the receiver's node. Default: in a chain the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether it runs from right to left (from the last node to the first). Default: false.
    pub backward: bool,
    /// In a graph: the links from the sender to the receiver. Default: the fewest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Vec<String>>,
    /// In a graph: the links from the receiver to the sender. Default: the fewest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via_back: Option<Vec<String>>,
    /// Further delay of each direction, on a private wire of the flow. Default: 0 s.
    pub access_delay: Span,
    /// When it starts. Default: 0 s.
    pub start: Span,
    /// Each of the group starts within this span after `start`, uniformly. Default: 0 s.
    pub start_spread: Span,
    /// When its application stops offering data. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Span>,
    /// Largest processing delay of an acknowledgement at the sender, uniform from zero; against phase effects.
    /// Default: a full packet's time on the slowest link where flows share a queue that leaves nothing to chance (all but `red`,
    /// `ered` and `codel`), at most 10 ms; else 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Span>,
    /// What it transfers. Default: greedy.
    pub app: App,
    /// The TCP connection. Default: the scenario's `tcp` table, which also gives the keys that this one does not.
    #[schemars(extend("default" = null))]
    pub tcp: TcpConfig,
    /// What the network tells the sender about its rate. Default: the exact fair rate if the congestion control is
    /// `ratcp` or the flow has an ABR source; else nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<FeedbackConfig>,
    /// An ABR source behind each sender, which lets packets out at the rate that the network tells. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abr: Option<AbrConfig>,
    /// A rate that the network keeps for each of its senders: packets that conform are marked. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationConfig>,
    /// Instead of `app` and `tcp`: datagrams that answer to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
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
        }
    }
}

/// What a TCP flow transfers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::names)]
pub enum App {
    /// Always more to send.
    #[default]
    Greedy,
    /// One transfer.
    Transfer(Transfer),
    /// Transfers that arrive at random, each on a connection of its own.
    Arrivals(Arrivals),
    /// Active and silent periods in turn.
    OnOff(OnOff),
    /// What another flow delivers, on a connection of its own: a proxy that splits connections.
    Relay(Relay),
}
varicap_units::choice!(App);

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// How much.
    pub size: Bytes,
}

/// Transfers that arrive at random (Poisson), each on a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Arrivals per second.
    pub rate: Frequency,
    /// The size of each.
    pub size: Sizes,
    /// Most transfers at a time; more are turned away and counted. Default: 1000.
    #[serde(default = "at_most")]
    pub at_most: u32,
}

/// How the sizes of transfers are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// All the same.
    Fixed(Bytes),
    /// Exponential with this mean.
    Exponential(Bytes),
    /// Log-normal.
    Lognormal(Lognormal),
    /// Pareto: heavy tails.
    Pareto(Pareto),
}

/// A log-normal size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lognormal {
    /// Mean of the size.
    pub mean: Bytes,
    /// Standard deviation of the size's natural logarithm.
    pub sigma: f64,
}

/// A Pareto size: P(size > x) = (least/x)^shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// Mean of the size.
    pub mean: Bytes,
    /// The exponent, above 1.
    pub shape: f64,
}

/// Active and silent periods in turn, beginning with an active one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Length of an active period (its mean, if exponential).
    pub on: Span,
    /// Length of a silent period (its mean, if exponential).
    pub off: Span,
    /// Whether both are exponential, or fixed. Default: false.
    #[serde(default)]
    pub exponential: bool,
    /// Application data offered while active. Default: always more to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// A proxy: what another flow delivers in order is what this one sends, from the node where that one ends. Each of its
/// connections or transfers is relayed by one here, which opens when its first data comes; the proxy's buffer is
/// unlimited. A transfer is complete when it has passed both, counted from the start of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relay {
    /// The other flow.
    pub of: String,
}

/// What the network tells a flow's sender about its rate, in bits per second without link framing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FeedbackConfig {
    /// The link that tells its rate. Default: of the links to the receiver, the slowest whose capacity varies, or else
    /// the slowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Several links instead, of whose rates the least is told. Default: one link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
    /// Which part of the link's capacity is told. Default: fair.
    pub share: Share,
    /// How the rate is found. Default: exact.
    pub estimator: EstimatorConfig,
    /// From the link back to the sender. Default: path.
    pub delay: FeedbackDelay,
    /// Rates are told in multiples of this, rounded down. Default: as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Rate>,
    /// Probability that an update is lost on its way: the sender keeps the old rate. Default: 0.
    pub loss: Probability,
    /// A sender that hears nothing for so long forgets the rate, at the next update that does not come. Needs an
    /// estimator with an interval. Default: it keeps the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Span>,
}

/// Which part of a link's capacity is told to a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// Its max-min fair part among all flows that are active on the link, whatever their congestion control; datagrams
    /// count with their rate.
    #[default]
    Fair,
    /// All of it: for one flow on a link, or a capacity that is a share already.
    Capacity,
}

/// How long an update takes to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = choice::text)]
pub enum FeedbackDelay {
    /// With the packets to the receiver and back with acknowledgements: the propagation delay of both ways from the
    /// server of the link on.
    #[default]
    Path,
    /// A fixed time; may be written as the time alone: `"100 ms"`.
    After(Span),
}
varicap_units::choice!(FeedbackDelay, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| text.parse::<Span>().map(FeedbackDelay::After))
});

/// Datagrams that answer to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// Their rate on the wire.
    pub rate: Rate,
    /// Their size on the wire. Default: 1500 B.
    #[serde(default = "datagram")]
    pub size: Bytes,
    /// How they are spaced. Default: constant.
    #[serde(default)]
    pub spacing: Spacing,
}

/// How datagrams are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// At equal distances.
    #[default]
    Constant,
    /// As a Poisson process.
    Poisson,
}

/// What to write down besides the results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecordConfig {
    /// Interval of time series. Default: 100 ms.
    pub sample: Span,
    /// Whether to keep time series of windows, queues and capacity. Default: false.
    pub series: bool,
    /// Whether to keep what happened to every packet. Default: false.
    pub packets: bool,
    /// Most packet events that are kept of a run; the rest is left out and said so. Default: 10000000.
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

fn at_most() -> u32 {
    1000
}

fn datagram() -> Bytes {
    Bytes::new(1500)
}
