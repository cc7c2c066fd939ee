//! How much may be in flight. Loss detection, retransmission and the RTO belong to the sender.

use std::borrow::Borrow;
use std::fmt::Debug;

use crate::ecn::EcnMode;
use varicap_units::part::OnKernel;
use varicap_units::{Bytes, Rate, Span, Stream, Time, Work};

#[macro_use]
mod registry;
#[macro_use]
mod model_based;
mod bandwidth;
mod counting;
mod cubic_linux;
mod delivery;
mod hystart;
mod interval;
mod least;
mod rules;
mod window;

mod accel_brake;
mod bbr;
mod bbr3;
mod copa;
mod cubic;
mod dctcp;
mod policy;
mod prague;
mod ratcp;
mod rate_adaptive;
mod reno;
mod vegas;

pub use hystart::{Hystart, PlusPlusConfig};
pub use interval::{FEATURES, IntervalSample, OBSERVED, Quantity};
pub use rules::*;
pub(crate) use window::{ControlState, Window};

controls! {
    reno: Reno(config: RenoConfig) = "reno", "Slow start and additive increase, multiplicative decrease. Source: RFC 5681.";
    cubic: Cubic(config: CubicConfig) = "cubic", "A cubic function of the time since the last loss. Source: RFC 9438.";
    ratcp: Ratcp(config: RatcpConfig) = "ratcp",
        "Rate adaptive: at most what the flow's `feedback` allows; Reno as long as it has advertised nothing. Source: [ratcp].";
    rate_adaptive: RateAdaptiveWindow(config: RateAdaptiveWindowConfig) = "rate-adaptive-window",
        "A part for the flow's `reservation`, reserved rate times RTT, and a variable part that adapts as usual. Source: [minrate].";
    vegas: Vegas(config: VegasConfig) = "vegas",
        "A few packets in the bottleneck's queue, by comparing the RTT with the least one. Source: [brakmo95].";
    dctcp: Dctcp(config: DctcpConfig) = "dctcp",
        "Reno that falls by the share of its data that was marked, for queues that mark above a threshold.\nData is ECN-capable, whatever `ecn` says; unless that is accurate, the receiver echoes as this control needs it. Source: RFC 8257.";
    prague: Prague(config: PragueConfig) = "prague",
        "DCTCP for the Internet: paced, with less dependence on the RTT, and Reno's answer to losses. Data carries ECT(1) and marks are\ncounted (accurate ECN), whatever `ecn` says. Source: RFC 9331, draft-briscoe-iccrg-prague-congestion-control-04.";
    copa: Copa(config: CopaConfig) = "copa",
        "The rate at which each packet in the queue costs as much as it brings; paced, and no less than its share beside others that fill\nthe buffer. Source: [arun18].";
    bbr: Bbr[BbrConfig] = "bbr",
        "BBR version 1, which is Linux's `bbr`: the path's rate and least RTT set the pace and the window. Source: [bbr1].";
    bbr3: Bbr3(config: Bbr3Config) = "bbr3",
        "BBR version 3: a model of the path, its rate and its least RTT, sets the pace and the window. Source: [bbr3].";
    accel_brake: AccelBrake[AccelBrakeConfig] = "accel-brake",
        "A window that each acknowledgement accelerates or brakes, as the bottleneck's `accel-brake` queue marked the packet.\nEvery packet is ECN-capable and acknowledged, whatever `ecn` and `ack` say. Source: [goyal20].";
    policy: Policy(config: PolicyConfig) = "policy",
        "A learned policy: at the end of each interval it observes what happened, and moves the window or the pacing rate.";
}

/// An acknowledgement, as a congestion control learns of it.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// The instant at which it arrived.
    pub now: Time,
    /// New data that it acknowledged cumulatively: by how much SND.UNA advanced [B]. Where [segments](Counting::Segments)
    /// are counted: data that it showed to have arrived, cumulatively or selectively.
    pub newly_acked: Bytes,
    /// Data that it showed to be lost [B].
    pub newly_lost: Bytes,
    /// Data in flight before it [B].
    pub in_flight: Bytes,
    /// Whether something other than cwnd limited the sender when it last stopped sending: the application, the
    /// receiver's window or the maximum window. Growing then would open a window that nobody has tested.
    pub app_limited: bool,
    /// Whether it carries an ECN echo: the mark of the very packet that it acknowledges, for a control that wants each.
    pub marked: bool,
    /// Packets that it newly reports as marked, with accurate ECN (RFC 9768); else 0.
    pub marked_packets: u32,
    /// The payload of these [B], counted by the receiver or else estimated.
    pub marked_bytes: Bytes,
    /// Whether recovery was under way before or after it.
    pub in_recovery: bool,
    /// Whether it may open the window of an ordinary control: one that wants every acknowledgement hears of others, too.
    pub may_open: bool,
    /// The RTT sample of this acknowledgement, if it gave one: of the segment that it newly shows to have arrived and that left
    /// last, where the recovery keeps a record of each (Linux), or else of the first one.
    pub rtt: Option<Span>,
    /// Smoothed RTT, if there was a sample.
    pub smoothed_rtt: Option<Span>,
    /// Least RTT seen, if there was a sample.
    pub min_rtt: Option<Span>,
    /// All data delivered so far, cumulatively or selectively acknowledged [B].
    pub delivered: Bytes,
    /// Number of the round trip, counted in packets: a round ends when data is acknowledged that was sent after it
    /// began.
    pub round: u64,
    /// How fast the path delivered, for a control that wants rate samples.
    pub rate: Option<RateSample>,
    /// How the flight fares, for a control that wants rate samples.
    pub progress: Option<Progress>,
}

impl AckSample {
    /// An acknowledgement at `now` of nothing at all.
    #[inline]
    pub fn at(now: Time) -> AckSample {
        AckSample {
            now,
            newly_acked: Bytes::ZERO,
            newly_lost: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            app_limited: false,
            marked: false,
            marked_packets: 0,
            marked_bytes: Bytes::ZERO,
            in_recovery: false,
            may_open: true,
            rtt: None,
            smoothed_rtt: None,
            min_rtt: None,
            delivered: Bytes::ZERO,
            round: 0,
            rate: None,
            progress: None,
        }
    }
}

/// How the flight fares, as an acknowledgement shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Data in flight after the acknowledgement [B].
    pub in_flight: Bytes,
    /// All data found to be lost so far [B].
    pub lost: Bytes,
    /// Whether cwnd was used up at some time in the last round trip.
    pub cwnd_limited: bool,
    /// How long pacing holds the next segment back.
    pub held: Span,
    /// Whether the receiver says what it holds out of order, so that all losses of a round trip are found.
    pub is_selective: bool,
    /// Of the segments that it newly acknowledges, the one that left last; none: it acknowledges nothing new.
    pub newest: Option<Delivered>,
}

/// A segment that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Data that had been delivered when it left [B].
    pub prior_delivered: Bytes,
    /// Data in flight when it left, itself included [B].
    pub in_flight: Bytes,
    /// Data found to be lost since it left [B].
    pub lost: Bytes,
    /// Whether the application, rather than the control, may have limited what was in flight.
    pub app_limited: bool,
    /// How long ago it left, unless it was resent: then nobody knows which transmission was answered.
    pub rtt: Option<Span>,
}

/// A segment that was found to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its first byte, from the beginning of the connection [B].
    pub seq: u64,
    /// Its data [B].
    pub size: Bytes,
    /// Data in flight when it left, itself included [B].
    pub in_flight: Bytes,
    /// Data found to be lost since it left, itself included [B].
    pub lost: Bytes,
    /// All data delivered so far [B].
    pub delivered: Bytes,
    /// Whether the application, rather than the control, may have limited what was in flight.
    pub app_limited: bool,
}

/// How much a path delivered in what time. Source: draft-cheng-iccrg-delivery-rate-estimation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Data delivered in the interval [B].
    pub delivered: Bytes,
    /// Data delivered before it [B].
    pub prior_delivered: Bytes,
    /// The longer of the times that sending and acknowledging it took; more than zero.
    pub interval: Span,
    /// Whether the application, rather than the path, may have limited it.
    pub app_limited: bool,
}

impl RateSample {
    /// Whether its rate is at least that of `other`.
    fn is_as_fast_as(&self, other: &RateSample) -> bool {
        let scaled = |of: &RateSample, by: &RateSample| {
            u128::from(of.delivered.as_u64()) * u128::from(by.interval.as_nanos())
        };
        scaled(self, other) >= scaled(other, self)
    }

    /// The delivery rate.
    pub fn rate(&self) -> Rate {
        let nanobits = Work::of(self.delivered).as_nanobits();
        let bps = nanobits / u128::from(self.interval.as_nanos().max(1));
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

/// The requests of a congestion control to its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Every packet is ECN-capable and acknowledged by itself, with its own mark, and an echo is no congestion event.
    pub each_mark: bool,
    /// Acknowledgements carry delivery-rate samples and how the flight fares, and it learns of each segment that is lost;
    /// for all of this the sender remembers each segment in flight.
    pub rate_samples: bool,
    /// In recovery the window is what it says, and falls in no proportion to what is delivered (RFC 9937).
    pub own_recovery: bool,
    /// Its window follows a model alone: neither how much of it is used nor how long nothing was sent moves it, as with
    /// Linux's controls that have `cong_control`.
    pub own_window: bool,
    /// It draws random numbers, from a stream that it is given before anything is sent.
    pub random: bool,
    /// It learns of every acknowledgement: of those in recovery, of those with an ECN echo, and of duplicates.
    pub every_ack: bool,
    /// The ECN that it needs.
    pub ecn: EcnNeed,
}

/// The ECN that a congestion control needs of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnNeed {
    /// Nothing: ECN is as the connection is set.
    #[default]
    AsSet,
    /// Which data was marked: all data is ECN-capable, what is sent again included, and an acknowledgement without counters
    /// says whether the data that it acknowledges was marked (RFC 8257 §3.2).
    EachByte,
    /// Low latency: all data carries ECT(1), and marks are counted (accurate ECN). The control answers marks itself, unless the
    /// peer has only RFC 3168's ECN: then data carries ECT(0), and echoes are congestion events (RFC 9331 §4.3).
    L4s,
}

impl Wants {
    /// The ECN that a connection with this control negotiates if it is set to `set`.
    pub fn ecn_mode(&self, set: EcnMode) -> EcnMode {
        match self.ecn {
            _ if self.each_mark => set.of_each_mark(),
            EcnNeed::AsSet => set,
            EcnNeed::EachByte => set.accurate().map_or(EcnMode::Classic, EcnMode::Accurate),
            EcnNeed::L4s => EcnMode::Accurate(set.accurate().unwrap_or_default()),
        }
    }
}

/// The kinds of congestion signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// A fast retransmit; once per episode.
    FastRetransmit,
    /// An ECN echo; once per window.
    EcnEcho,
    /// The retransmission timer expired, or Tahoe resends after duplicate ACKs, which it treats the same:
    /// slow start from one segment.
    Timeout {
        /// Expiries in a row before this one, which hold ssthresh; 0 where each halves it (`halve_at_each_timeout`).
        backoff: u32,
    },
}

/// A congestion signal.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// The instant at which it was detected.
    pub now: Time,
    /// The kind of signal.
    pub kind: CongestionKind,
    /// From what ssthresh is computed [B]: FlightSize when it was detected, without what limited transmit sent
    /// (RFC 5681 §3.2 step 2), or the window, as [`Halving`] says.
    pub in_flight: Bytes,
}

/// How much may be in flight. Windows are bytes. Source: RFC 5681 §3 fixes the roles.
pub trait CongestionControl: Debug + Send {
    /// New data was acknowledged, outside of recovery; every acknowledgement, if it [wants](Wants) that.
    fn on_ack(&mut self, ack: &AckSample);
    /// An acknowledgement arrived that may call for a congestion signal, which follows, and then `on_ack`: of it all that is
    /// newly acknowledged and marked is known. For a control that [needs](EcnNeed::EachByte) the marks of each byte, whose
    /// answer to an echo counts these in (RFC 8257 §3.3; Linux: `in_ack_event`).
    fn in_ack_event(&mut self, _ack: &AckSample) {}
    /// A segment was found to be lost, for a control that wants rate samples; before the signal of the episode that begins
    /// with it, and before the acknowledgement that showed it.
    fn on_lost(&mut self, _now: Time, _loss: &Loss) {}
    /// A congestion signal: ssthresh and cwnd fall.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// Recovery has ended. A window above `limit` would let out a burst (RFC 6582 §3.2 step 3, option 1);
    /// [`Bytes::MAX`] where the recovery has no such rule.
    fn on_recovered(&mut self, _now: Time, limit: Bytes) {
        self.cap(limit);
    }
    /// The last reduction by a loss was spurious: the window and ssthresh are at least what they were before it.
    fn on_undo(&mut self, _now: Time) {}
    /// The network advertised a rate [b/s] ([abr], [ratcp]); an unlimited one: it advertises none any more.
    fn on_rate_feedback(&mut self, _now: Time, _rate: Rate) {}
    /// The reservation is this rate from now on; None: the sender no longer trusts it ([minrate]).
    fn on_reservation(&mut self, _now: Time, _rate: Option<Rate>) {}
    /// The sender was idle for an RTO: fall back to at most `restart_window` (RFC 5681 §4.1).
    fn on_idle(&mut self, restart_window: Bytes);
    /// The window was not used: it falls to `window`, and ssthresh remembers what it was (RFC 2861).
    fn on_unused(&mut self, window: Bytes) {
        self.on_idle(window);
    }
    /// The last acknowledgement has opened the window too far: it is `most` at the most ([`GrowWhen::MaxFs`]).
    fn cap(&mut self, _most: Bytes) {}
    /// After a timeout `in_flight` is not believed to be lost: the window is a segment larger, as in Linux.
    fn on_kept(&mut self, _in_flight: Bytes) {}
    /// Data leaves while none is in flight, `idle` after the last segment left.
    fn on_start(&mut self, _now: Time, _idle: Span) {}
    /// Data leaves after the application had left a gap, and none is in flight; for a control that wants rate samples.
    fn on_restart(&mut self, _now: Time) {}
    /// From now on something spaces segments out: the connection, a cap, or a rate of its own. Once told, it stays so, as
    /// Linux's `sk_pacing_status`.
    fn on_paced(&mut self) {}
    /// Random numbers to draw from, if it [wants](Wants::random) them; before anything is sent.
    fn on_stream(&mut self, _stream: Stream) {}
    /// Whether it holds back what the path could carry: rate samples of what leaves then are limited by the application.
    fn is_holding_back(&self) -> bool {
        false
    }
    /// The quantities that it shows to whoever watches; always the same.
    fn shown(&self) -> &'static [Quantity] {
        &[]
    }
    /// Appends the values of what it shows: one for each, NaN where there is none.
    fn show(&self, _values: &mut Vec<f64>) {}
    /// Congestion window [B], at least one MSS.
    fn cwnd(&self) -> Bytes;
    /// Slow start threshold [B], if it has one.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }
    /// The rate at which to pace, if it paces [b/s].
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Its requests to its connection; always the same.
    fn wants(&self) -> Wants {
        Wants::default()
    }
}

/// Largest window that a control computes with [B].
const MOST_WINDOW: u64 = 1 << 40;

/// The settings from which every congestion control starts.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Largest payload of a segment [B].
    pub mss: Bytes,
    /// A full segment on the wire, headers included [B].
    pub packet: Bytes,
    /// First congestion window [B].
    pub initial_window: Bytes,
    /// Initial slow start threshold [B].
    pub initial_ssthresh: Bytes,
    /// How much of what an acknowledgement covers opens the window.
    pub counting: Counting,
    /// The quantities that are rounded down to whole segments when the window falls.
    pub rounding: Rounding,
}

impl Start {
    /// The first window as one that arithmetic has room for: a segment at least, and 1 TB where it is unlimited [B].
    fn usable_window(&self) -> u64 {
        self.initial_window.as_u64().clamp(self.mss.as_u64().max(1), MOST_WINDOW)
    }
}

impl Congestion {
    /// The requests of a control of this configuration to its connection; a custom one answers for itself.
    pub fn wants(&self) -> Wants {
        self.prototype().map_or(Wants::default(), |control| control.wants())
    }

    /// How many quantities a control of this configuration shows to whoever watches.
    pub fn shown(&self) -> usize {
        self.prototype().map_or(0, |control| control.shown().len())
    }

    /// A control of this configuration, unless it is a custom one.
    fn prototype(&self) -> Option<Controller> {
        let unlimited = Bytes::MAX;
        let one = Bytes::new(1);
        let start = Start {
            mss: one,
            packet: one,
            initial_window: one,
            initial_ssthresh: unlimited,
            counting: Counting::Acks,
            rounding: Rounding::None,
        };
        match self {
            Congestion::Custom(_) | Congestion::Module(_) => None,
            _ => Some(Controller::new(self, &start)),
        }
    }
}

/// The kernel's control of this name, which has no settings: `config` must be the default.
fn kernels_own<C: Default + PartialEq>(name: &str, config: &C) -> OnKernel {
    if *config == C::default() {
        OnKernel::Named(name.to_owned())
    } else {
        OnKernel::Refused("the kernel's has no settings: leave them out")
    }
}
