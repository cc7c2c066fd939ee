//! The resolved form of a scenario: links and flows as the engines take them, all limits in bytes or packets.

use std::sync::Arc;

use varicap_net::capacity::Steps;
use varicap_net::{AbrConfig, CapacityParts, CapacityProcess, EstimatorConfig, LinkParts, SconeConfig};
use varicap_tcp::{LARGEST_WINDOW, Reservation, TcpConfig};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, NANOS_PER_SEC, Probability, Rate, Span, Time, TokenBucket};

use crate::scenario::quic::IP_AND_UDP;
use crate::scenario::{App, Datagrams, QuicConfig, QuicCongestion, Share, Spacing};

/// Links and flows, ready for an engine. Two engines given the same network face the same path.
#[derive(Clone, Debug)]
pub struct Network {
    /// Every link of both directions, in the order of the file; their index is their name in routes.
    pub links: Vec<LinkSpec>,
    /// Every flow group, in the order of the file.
    pub flows: Vec<FlowSpec>,
    /// Simulated time of a run.
    pub duration: Span,
    /// The time that is cut off at the beginning of each run before measuring.
    pub warmup: Span,
}

/// One link of one direction.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Its name in results, and of its random streams (`link.NAME.capacity`, …).
    pub name: Arc<str>,
    /// Queue, capacity, service, loss, delay, framing.
    pub parts: LinkParts,
    /// Long-run mean of its capacity.
    pub mean_capacity: Rate,
    /// Whether a run draws random numbers for it.
    pub draws: bool,
}

/// One group of alike flows.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Its name in results, and of its random streams (`flow.NAME.0.start`, …).
    pub name: Arc<str>,
    /// How many there are.
    pub count: u32,
    /// Links from the sender to the receiver.
    pub forward: Vec<usize>,
    /// Links from the receiver to the sender.
    pub reverse: Vec<usize>,
    /// Extra delay of each direction, on a private wire of the flow.
    pub access_delay: Span,
    /// Its transport.
    pub transport: Transport,
    /// When it starts.
    pub start: Time,
    /// Each of the group starts within this span after `start`, uniformly.
    pub start_spread: Span,
    /// When its application stops offering data; [`Time::NEVER`] if it goes on to the end.
    pub stop: Time,
    /// Largest processing delay of an acknowledgement at the sender, uniform from zero; against phase effects.
    pub jitter: Span,
    /// Wire size of its full-sized packet [B].
    pub packet: Bytes,
    /// The rates that the network advertises to it.
    pub feedback: Option<FeedbackSpec>,
    /// The ABR source behind each of its senders.
    pub abr: Option<AbrSpec>,
    /// The reservation of each of its senders.
    pub reservation: Option<ReservationSpec>,
    /// Which flow's data it sends, if its application is a relay.
    pub relay: Option<RelaySpec>,
}

/// The rates that the network advertises to a flow.
#[derive(Clone, Debug)]
pub struct FeedbackSpec {
    /// The links that advertise it; the least of their rates counts.
    pub links: Vec<usize>,
    /// Which part of their capacity.
    pub share: Share,
    /// How the rate is found.
    pub estimator: EstimatorConfig,
    /// From the links to the sender; from the farthest, if there are several.
    pub delay: Span,
    /// Rates are advertised in multiples of this.
    pub quantum: Option<Rate>,
    /// Probability that an update is lost.
    pub loss: Probability,
    /// After this time without an update the rate is forgotten.
    pub expires: Option<Span>,
    /// When and how advice is sent, in place of every update.
    pub scone: Option<SconeConfig>,
    /// Whether the sender sends no faster than what it hears.
    pub cap: bool,
}

/// The ABR sources of a flow. Data passes its connection's own link before the links of [`FlowSpec::forward`].
#[derive(Clone, Debug)]
pub struct AbrSpec {
    /// Bounds of its rate, and how it is measured out.
    pub config: AbrConfig,
    /// The link of the first connection; one for each follows.
    pub first_link: usize,
}

impl AbrSpec {
    /// The link of connection number `member`.
    pub fn link(&self, member: u32) -> usize {
        self.first_link + member as usize
    }
}

/// The reservation of each sender of a flow.
#[derive(Clone, Debug)]
pub struct ReservationSpec {
    /// The mean rate in time: constant or in steps.
    pub rate: CapacityParts,
    /// The rest; its rate is the first one.
    pub terms: Reservation,
    /// The link that marks what conforms; none: the sender itself.
    pub marked_at: Option<usize>,
}

impl ReservationSpec {
    /// The mean rate at `now`.
    pub fn rate_at(&self, now: Time) -> Rate {
        match &self.rate {
            CapacityParts::Steps(timeline) => Steps::new(timeline.clone()).segment(now).rate,
            parts => parts.mean_rate(),
        }
    }

    /// A full bucket at time zero, for packets of at most `largest`.
    pub fn bucket(&self, largest: Bytes) -> TokenBucket {
        let Reservation { rate, bucket, peak, .. } = self.terms;
        TokenBucket::new(Time::ZERO, rate, bucket).with_peak(peak, largest)
    }
}

/// Whose data a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelaySpec {
    /// Index of the flow that delivers it.
    pub of: usize,
    /// Whether that flow's connections are transfers that arrive.
    pub transfers: bool,
}

impl FlowSpec {
    /// Whether its connections are transfers that come and go, or relays of such.
    pub fn carries_arrivals(&self) -> bool {
        let arrivals = matches!(self.app(), Some(App::Arrivals(_)));
        arrivals || self.relay.is_some_and(|relay| relay.transfers)
    }

    /// Its application, if its transport has one.
    pub fn app(&self) -> Option<&App> {
        match &self.transport {
            Transport::Tcp { app, .. } | Transport::Endpoint { app, .. } => Some(app),
            Transport::Datagrams(_) => None,
        }
    }

    /// The settings of its congestion control, if that is one of ours or was brought along.
    pub fn control(&self) -> Option<&TcpConfig> {
        match &self.transport {
            Transport::Tcp { tcp, .. } => Some(tcp),
            Transport::Endpoint { endpoint: EndpointSpec::Quic(quic), tcp, .. } => {
                (quic.congestion == QuicCongestion::Varicap).then_some(tcp)
            }
            _ => None,
        }
    }

    /// Payload of its full-sized packet, which converts bytes to packets [B].
    pub fn payload(&self) -> Bytes {
        match &self.transport {
            Transport::Tcp { tcp, .. } => tcp.mss,
            Transport::Datagrams(datagrams) => datagrams.size,
            Transport::Endpoint { .. } => self.packet.saturating_sub(IP_AND_UDP),
        }
    }

    /// Whether a run draws random numbers for it.
    fn draws(&self) -> bool {
        let carried = match &self.transport {
            Transport::Tcp { tcp, app } => tcp.congestion.draws() || app.draws(),
            Transport::Datagrams(datagrams) => datagrams.spacing == Spacing::Poisson,
            // Keys, identifiers and skipped packet numbers.
            Transport::Endpoint { .. } => true,
        };
        let told = self.feedback.as_ref().is_some_and(|told| told.loss.draws() || told.scone.is_some());
        let delayed = self.reservation.as_ref().is_some_and(|reserved| reserved.terms.delayed.is_some());
        let varies = self.start_spread > Span::ZERO || self.jitter > Span::ZERO;
        varies || carried || told || delayed
    }
}

impl Network {
    /// Whether no run of the simulator draws a random number: then all are one run.
    pub fn draws_nothing(&self) -> bool {
        !self.links.iter().any(|link| link.draws) && !self.flows.iter().any(FlowSpec::draws)
    }

    /// Round trip of `flow` without queueing and transmission; where delays vary, their means.
    pub fn base_rtt(&self, flow: &FlowSpec) -> Span {
        let links = flow.forward.iter().chain(&flow.reverse);
        round_trip(flow.access_delay, links.map(|link| self.links[*link].parts.delay.mean()))
    }

    /// The rate that TCP's largest window allows a connection of `flow`, if that has no smaller one and its path is faster.
    pub fn largest_window_rate(&self, flow: &FlowSpec) -> Option<Rate> {
        let Transport::Tcp { tcp, .. } = &flow.transport else { return None };
        let is_unlimited = |window: Amount| window.bytes(tcp.mss, Bytes::ZERO) > LARGEST_WINDOW;
        if !is_unlimited(tcp.receive_window) || !is_unlimited(tcp.max_window) {
            return None;
        }
        let rtt = self.base_rtt(flow).as_nanos();
        let slowest = flow.forward.iter().map(|link| self.links[*link].mean_capacity).min()?;
        let nanobits = u128::from(LARGEST_WINDOW.as_u64()) * 8 * u128::from(NANOS_PER_SEC);
        let allowed = Rate::from_bps(u64::try_from(nanobits.checked_div(rtt.into())?).unwrap_or(u64::MAX));
        (!slowest.is_unlimited() && allowed < slowest).then_some(allowed)
    }
}

/// The delay of both ways: the private wires of a flow, and its links.
pub(crate) fn round_trip(access_delay: Span, links: impl Iterator<Item = Span>) -> Span {
    links.fold(access_delay.saturating_mul(2), Span::saturating_add)
}

/// The transport of a flow.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TCP, fed by an application.
    Tcp {
        /// The connection.
        tcp: TcpConfig,
        /// The application.
        app: App,
    },
    /// Datagrams that answer to nothing.
    Datagrams(Datagrams),
    /// A transport that is not ours, fed by an application.
    Endpoint {
        /// The transport.
        endpoint: EndpointSpec,
        /// Where the transport asks for a congestion control of ours: that of this connection.
        tcp: TcpConfig,
        /// The application.
        app: App,
    },
}

/// A transport that is not ours.
#[derive(Clone, Debug)]
pub enum EndpointSpec {
    /// QUIC by an implementation that people use.
    Quic(QuicConfig),
    /// One that the run is given by this name.
    Named(String),
}
