//! The sending half of a connection.
//!
//! `push` what arrives, `poll` until `None`, then wake at `poll_at`. The application offers data with `write`,
//! after which the sender wants to be polled too.

mod ack;
mod output;
mod reserved;

use varicap_units::{Amount, Bytes, Rate, Span, Time};

use crate::config::{RttSamples, TcpConfig};
use crate::congestion::{Congestion, CongestionControl, Controller, Start, Window};
use crate::recovery::{LossRecovery, Space, State};
use crate::reservation::Reserved;
use crate::rtt::RttEstimator;
use crate::segment::OPTION_TIMESTAMPS;

/// Windows above this are no limit: far more than any path holds, and safe to add to.
const NO_LIMIT: u64 = 1 << 62;

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, retransmissions and SYNs included.
    pub sent_packets: u64,
    /// Bytes sent on the wire, headers and counted options included [B].
    pub sent_bytes: u64,
    /// Data segments sent that carried bytes sent before.
    pub retransmitted_packets: u64,
    /// Expiries of the retransmission timer, those of a SYN included.
    pub timeouts: u64,
    /// Fast retransmits: episodes, not segments.
    pub fast_retransmits: u64,
    /// Window reductions by an ECN echo.
    pub ecn_reductions: u64,
    /// Data acknowledged cumulatively [B].
    pub acked_bytes: u64,
    /// RTT samples taken.
    pub rtt_samples: u64,
    /// How often a sender with a safeguard has stopped to trust its reservation: never or once.
    pub reservations_given_up: u64,
}

/// What an acknowledgement brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// The RTT sample that it gave, exact (a coarse clock rounds only what it feeds to the RTO).
    pub rtt: Option<Span>,
    /// By how much SND.UNA advanced [B].
    pub newly_acked: u64,
}

/// What the one timer of a sender waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerKind {
    /// The acknowledgement of the oldest data, or of the SYN (RFC 6298).
    Retransmit,
    /// A window update that may have been lost (RFC 1122 §4.2.2.17).
    Persist,
}

/// How a sender tells round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sampling {
    /// From the echoed timestamp, always (RFC 7323).
    Timestamps,
    /// From the sending time of what is acknowledged, unless it may have been resent (Karn).
    EveryAck,
    /// One segment at a time.
    OnePerWindow,
}

/// The sending half of a connection: data goes out as recovery, congestion control, timer and receiver allow.
///
/// It never gives up: a peer that stays silent is asked again at the largest RTO, for ever.
#[derive(Debug)]
pub struct Sender {
    space: Space,
    /// End of what the application has offered [B].
    written: u64,
    /// Right edge of the receiver's window [B]; never moves left (RFC 1122 §4.2.2.16 advises against shrinking).
    edge: u64,
    max_window: u64,
    /// When `timer` fires.
    timer_at: Time,
    timer: TimerKind,
    sampling: Sampling,
    connected: bool,
    /// Connected, and without a reservation: the way of most segments tests both at once.
    is_plain: bool,
    closed: bool,
    /// When it last ran out of things to send, something other than cwnd was the limit.
    app_limited: bool,
    /// Expiries in a row without an acknowledgement of new data.
    expiries: u32,
    /// Segments that may yet go out in answer to the last acknowledgement.
    burst_left: u32,
    max_burst: u32,
    rtt: RttEstimator,
    recovery: LossRecovery,
    window: Window,
    /// End of the highest retransmission [B]: acknowledgements up to it give no sample (Karn).
    resent_below: u64,
    /// The timed segment's end [B] and sending time; 0: none.
    timed: (u64, Time),
    /// When the last segment left, and when pacing lets the next one go.
    last_sent_at: Time,
    last_wire_size: u16,
    paced_until: Time,
    /// When to poll again for another reason than `timer`: pacing alone held a segment back, or a reservation's timer.
    wake_at: Time,
    restart_after_idle: bool,
    initial_window: u64,
    /// The SYN, or a window probe, is due.
    syn_due: bool,
    syn_sent_at: Time,
    syn_expiries: u32,
    probe_due: bool,
    ecn: bool,
    /// Every packet is ECN-capable, and its mark is told to the congestion control by its own acknowledgement.
    marks_each: bool,
    /// CWR goes out with the next new segment.
    cwr_due: bool,
    /// The window was reduced; ECN echoes count again beyond this.
    reduced_at: u64,
    /// FlightSize when it was reduced last [B].
    reduced_from: u64,
    /// Largest window that the receiver has offered [B], for silly-window avoidance.
    largest_offer: u64,
    /// Header and counted options of a data segment [B].
    overhead: u16,
    counters: Counters,
    /// Its reservation, if it marks what conforms.
    reserved: Option<Box<Reserved>>,
}

impl Sender {
    /// A sender with the congestion control that `config` names. It must be polled at once.
    ///
    /// # Panics
    /// If a window is given in bandwidth-delay products: only the scenario knows the path, and resolves them.
    pub fn new(config: &TcpConfig, now: Time) -> Sender {
        let start = Start {
            mss: config.mss,
            packet: config.packet(),
            initial_window: in_bytes(config.initial_window, config),
            initial_ssthresh: in_bytes(config.initial_ssthresh, config),
        };
        Sender::with_control(config, now, Controller::new(&config.congestion, &start))
    }

    /// A sender with a congestion control of the caller's.
    ///
    /// # Panics
    /// As [`Sender::new`].
    pub fn with_control(config: &TcpConfig, now: Time, control: Controller) -> Sender {
        let mss = config.mss.as_u64().max(1);
        let options = if config.timestamps && config.count_options { OPTION_TIMESTAMPS } else { 0 };
        let header = config.header.as_u64().min(u64::from(u16::MAX)) as u16;
        let max_burst = config.max_burst.unwrap_or(u32::MAX).max(1);
        let offer = in_bytes(config.receive_window, config).as_u64().min(u64::from(u32::MAX));
        Sender {
            space: Space { una: 0, nxt: 0, max: 0, mss },
            written: 0,
            edge: if config.handshake { 0 } else { offer },
            max_window: in_bytes(config.max_window, config).as_u64().clamp(mss, NO_LIMIT),
            timer_at: Time::NEVER,
            timer: TimerKind::Retransmit,
            sampling: match (config.timestamps, config.rtt_samples) {
                (true, _) => Sampling::Timestamps,
                (false, RttSamples::EveryAck) => Sampling::EveryAck,
                (false, RttSamples::OnePerWindow) => Sampling::OnePerWindow,
            },
            connected: !config.handshake,
            is_plain: !config.handshake,
            closed: false,
            app_limited: true,
            expiries: 0,
            burst_left: max_burst,
            max_burst,
            rtt: RttEstimator::new(&config.timer),
            recovery: LossRecovery::new(config),
            window: Window::new(control),
            resent_below: 0,
            timed: (0, Time::ZERO),
            last_sent_at: now,
            last_wire_size: 0,
            paced_until: Time::ZERO,
            wake_at: Time::NEVER,
            restart_after_idle: config.restart_after_idle,
            initial_window: in_bytes(config.initial_window, config).as_u64().max(mss),
            syn_due: config.handshake,
            syn_sent_at: now,
            syn_expiries: 0,
            probe_due: false,
            ecn: config.ecn || config.congestion == Congestion::AccelBrake,
            marks_each: config.congestion == Congestion::AccelBrake,
            cwr_due: false,
            reduced_at: 0,
            reduced_from: 0,
            largest_offer: offer,
            overhead: header.saturating_add(options),
            counters: Counters::default(),
            reserved: None,
        }
    }

    /// The application offers `bytes` more; [`Bytes::MAX`] never ends. The sender must then be polled.
    pub fn write(&mut self, bytes: Bytes) {
        self.written = self.written.saturating_add(bytes.as_u64());
        self.burst_left = self.max_burst;
    }

    /// The application takes back what has not been sent yet.
    pub fn withdraw(&mut self) {
        self.written = self.written.min(self.space.max);
    }

    /// The application will offer no more.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether all data was acknowledged and no more will come.
    pub fn is_done(&self) -> bool {
        self.closed && self.space.una == self.written
    }

    /// The network advertised a rate. The sender must then be polled.
    pub fn on_rate_feedback(&mut self, now: Time, rate: Rate) {
        self.window.change(|control| control.on_rate_feedback(now, rate));
        self.repace();
    }

    /// When to poll again: the earliest of timers and pacing; [`Time::NEVER`] when only an arrival or the
    /// application can change anything. Ask after polling until `None`.
    #[inline]
    pub fn poll_at(&self) -> Time {
        self.timer_at.min(self.wake_at)
    }

    /// Congestion window, at most the configured maximum; the inflation of fast recovery is not included [B].
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.window.cwnd().min(self.max_window))
    }

    /// Slow start threshold, if the control has one [B].
    pub fn ssthresh(&self) -> Option<Bytes> {
        self.window.control().ssthresh()
    }

    /// Data in flight: RFC 6675's pipe with SACK, FlightSize otherwise [B].
    #[inline]
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.recovery.in_flight(&self.space))
    }

    /// SRTT, once there is a sample.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.rtt.smoothed()
    }

    /// Least RTT seen, once there is a sample.
    pub fn min_rtt(&self) -> Option<Span> {
        self.rtt.least()
    }

    /// RTO in force, backoff included.
    pub fn rto(&self) -> Span {
        self.rtt.rto()
    }

    /// Where the sender stands.
    pub fn state(&self) -> State {
        if self.connected { self.recovery.state() } else { State::Connecting }
    }

    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        Counters { acked_bytes: self.space.una, rtt_samples: self.rtt.samples(), ..self.counters }
    }

    /// The congestion control.
    pub fn control(&self) -> &Controller {
        self.window.control()
    }

    /// How far data was sent: the end of the highest segment [B].
    pub fn sent(&self) -> u64 {
        self.space.max
    }
}

/// A window as bytes [B].
pub(crate) fn in_bytes(amount: Amount, config: &TcpConfig) -> Bytes {
    assert!(!matches!(amount, Amount::Bdp(_)), "a window in bandwidth-delay products: resolve it first");
    amount.bytes(config.mss, Bytes::ZERO)
}
