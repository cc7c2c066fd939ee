//! The sending half of a connection.
//!
//! `push` what arrives, `poll` until `None`, then wake at `poll_at`. The application offers data with `write`,
//! after which the sender wants to be polled too.

mod ack;
mod ack_sample;
mod closing;
mod ecn;
mod extras;
mod handshake;
mod interval;
mod marks;
mod nagle;
mod offer;
mod output;
mod pace;
mod prr;
mod rates;
mod release;
mod reports;
mod sampling;
mod timers;
mod usage;

use std::num::NonZeroU16;

use varicap_units::{Amount, Bytes, Rate, Span, Stream, Time, Work};

use crate::ack_policy::AckPolicy;
use crate::config::{Nagle, TcpConfig, WindowProbe};
use crate::congestion::{CongestionControl, Controller, Counting, GrowWhen, Halving, Start, Window};
use crate::pacing::Pace;
use crate::place::Place;
use crate::recovery::{Beliefs, LossRecovery, Order, Reduction, SequenceSpace, State};
use crate::reservation::Reservation;
use crate::segment::Flags;
use crate::writes::Writes;
use closing::Closing;
use ecn::Ecn;
use handshake::Handshake;
use nagle::ShortSegments;
use offer::Offer;
pub use output::Polled;
use prr::Prr;
use release::Release;
use sampling::Sampling;
use timers::Timeout;
use usage::Usage;

/// Windows above this are no limit: far more than any path holds, and safe to add to.
const NO_LIMIT: u64 = 1 << 62;

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments with data sent, retransmissions included (Linux: `data_segs_out`).
    pub sent_packets: u64,
    /// Segments without data sent: SYNs, FINs, acknowledgements of the other side's, and probes of a closed window.
    pub empty_packets: u64,
    /// Segments sent again, SYNs and FINs included (Linux: `total_retrans`).
    pub retransmitted_packets: u64,
    /// Bytes sent on the wire, headers and counted options included [B].
    pub sent_bytes: u64,
    /// Expiries of the retransmission timer, those of a SYN included.
    pub timeouts: u64,
    /// Fast retransmits: episodes, not segments.
    pub fast_retransmits: u64,
    /// Window reductions by an ECN echo.
    pub ecn_reductions: u64,
    /// Packets that accurate ECN (RFC 9768) reported as marked.
    pub reported_marks: u64,
    /// Data acknowledged cumulatively [B].
    pub acked_bytes: u64,
    /// RTT samples taken.
    pub rtt_samples: u64,
    /// The number of times that a sender with a safeguard has stopped trusting its reservation: zero or one.
    pub reservations_given_up: u64,
}

/// The counters behind these. No run counts some of them to four thousand million; as there may be 100,000 senders, they take half a
/// word.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Segments sent, with data or without.
    sent_packets: u64,
    sent_bytes: u64,
    retransmitted_packets: u64,
    reported_marks: u64,
    empty_packets: u32,
    timeouts: u32,
    fast_retransmits: u32,
    ecn_reductions: u32,
    reservations_given_up: bool,
}

/// The outcome of an acknowledgement at the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// The RTT sample that it gave, exact (a coarse clock rounds only what it feeds to the RTO).
    pub rtt: Option<Span>,
    /// By how much SND.UNA advanced [B].
    pub newly_acked: u64,
}

/// The events that the single timer of a sender may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerKind {
    /// The acknowledgement of the oldest data, or of the SYN (RFC 6298).
    Retransmit,
    /// A window update that may have been lost (RFC 1122 §4.2.2.17).
    Persist,
    /// Anything at all about the tail of what was sent (RFC 8985 §7).
    Probe,
    /// The end of the reordering window, after which late segments are lost (RFC 8985 §6.3).
    Reorder,
    /// The next new segment, after an echo at a window of one (RFC 3168 §6.1.2).
    Hold,
}

/// The last event since the timer was set by which a tail is probed: it is set once, when nothing more leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SinceProbe {
    Nothing,
    /// Data was acknowledged.
    Acknowledged,
    /// New data has left.
    Sent,
}

/// The sending half of a connection: data goes out as recovery, congestion control, timer and receiver allow.
///
/// A peer that stays silent is asked again at the largest RTO until the timer [gives up](Sender::gave_up), if it ever does.
///
/// The fields that most acknowledgements read lie together, and first: where there are 100,000 senders, a line of the cache that is
/// not read is time saved.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    space: SequenceSpace,
    /// End of what the application has offered [B].
    written: u64,
    /// Full segments up to here leave without a look at the end: a FIN may ride on the last one [B].
    plain_until: u64,
    max_window: u64,
    /// When the timer fires (Linux: `icsk_timeout`), and what it waits for (`icsk_pending`).
    timeout: Timeout,
    pending: TimerKind,
    /// A probe of the tail must be sent.
    tail_probe_due: bool,
    /// The last event since the timer was set by which a tail is probed.
    since_probe: SinceProbe,
    /// Whether segments that leave may take more than their numbers.
    has_extras: bool,
    /// Whether segments show the receiver where writes end.
    pushes: bool,
    /// Whether something other than cwnd was the limit when it last stopped sending.
    app_limited: bool,
    restart_after_idle: bool,
    /// Data that arrived counts when it is SACKed, not when it is acknowledged cumulatively.
    counts_arrivals: bool,
    halving: Halving,
    halves_at_each_timeout: bool,
    reduce_once: bool,
    /// A closed window is probed by a sequence number that was acknowledged.
    probes_old: bool,
    /// Whether the window after a timeout has room for a segment beyond what is still in flight.
    keeps_in_flight: bool,
    /// The window falls step by step in recovery.
    proportional: bool,
    /// A segment that left late at a rate of the control shortens the next gap.
    pacing_credit: bool,
    /// No faster than the network advertises.
    is_capped: bool,
    closing: Closing,
    /// Expiries in a row without an acknowledgement of new data.
    expiries: u32,
    /// Header and counted options of a data segment, and the size of a full one on the wire [B].
    overhead: u16,
    full_size: NonZeroU16,
    offer: Offer,
    release: Release,
    /// How segments are spaced out where the control has no rate.
    pace: Option<Box<Pace>>,
    recovery: LossRecovery,
    window: Window,
    ecn: Ecn,
    handshake: Handshake,
    usage: Usage,
    sampling: Sampling,
    counters: Tally,
    // From here on, and in these, what hardly any acknowledgement reads.
    /// The ends of the application's own writes, if it has any and segments show them.
    writes: Option<Box<Writes>>,
    short: ShortSegments,
    initial_window: u64,
    /// How far the window has come that falls step by step.
    prr: Option<Prr>,
    /// The instant of the last push or poll.
    #[cfg(debug_assertions)]
    latest: Time,
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
            counting: config.counting,
            rounding: config.rounding,
        };
        Sender::with_control(config, now, Controller::new(&config.congestion, &start))
    }

    /// A sender with a congestion control that the caller supplies.
    ///
    /// # Panics
    /// As [`Sender::new`].
    pub fn with_control(config: &TcpConfig, now: Time, mut control: Controller) -> Sender {
        if let Controller::Policy(policy) = &mut control {
            policy.open(now);
        }
        let mss = config.mss.as_u64().max(1);
        let options = config.option_timestamps();
        let header = config.header.as_u64().min(u64::from(u16::MAX)) as u16;
        let overhead = header.saturating_add(options);
        let offer = config.offered_window().as_u64();
        let wants = control.wants();
        let release = Release::new(now, config.max_burst);
        let pace = Pace::new(&config.pacing).map(Box::new);
        let mut recovery = LossRecovery::new(config);
        if wants.rate_samples {
            recovery.remember_found();
        }
        let falls = config.recovery.rack().is_some_and(|rack| rack.reduction == Reduction::Prr);
        let mut sender = Sender {
            space: SequenceSpace { una: 0, nxt: 0, max: 0, mss },
            written: 0,
            plain_until: 0,
            closing: Closing::new(config.fin),
            has_extras: false,
            pushes: matches!(&config.ack, AckPolicy::Delayed(policy) if policy.pushed_at_once),
            writes: None,
            offer: Offer::new(if config.handshake { 0 } else { offer }, offer),
            max_window: in_bytes(config.max_window, config).as_u64().clamp(mss, NO_LIMIT),
            timeout: Timeout::OFF,
            pending: TimerKind::Retransmit,
            tail_probe_due: false,
            since_probe: SinceProbe::Nothing,
            expiries: 0,
            app_limited: config.grow_when != GrowWhen::Always,
            restart_after_idle: config.restart_after_idle,
            counts_arrivals: config.counting == Counting::Segments,
            halving: config.halving,
            halves_at_each_timeout: config.halve_at_each_timeout,
            reduce_once: config.reduce_once,
            probes_old: config.window_probe == WindowProbe::OldSequence,
            keeps_in_flight: config.recovery.rack().is_some_and(|rack| rack.keep_in_flight),
            initial_window: in_bytes(config.initial_window, config).as_u64().max(mss),
            overhead,
            full_size: output::nonzero(output::wire_size(mss, overhead)),
            handshake: Handshake::new(now, config),
            sampling: Sampling::new(config),
            recovery,
            window: Window::new(control, pace.is_some()),
            proportional: falls && !wants.own_recovery,
            prr: None,
            release,
            short: ShortSegments::new(config.nagle),
            pace,
            pacing_credit: config.pacing_credit,
            usage: Usage::new(config, now, wants, in_bytes(config.initial_window, config).as_u64().max(mss)),
            ecn: Ecn::new(config, wants),
            is_capped: false,
            counters: Tally::default(),
            #[cfg(debug_assertions)]
            latest: now,
        };
        if sender.usage.max_fs.is_some() {
            // Each acknowledgement has to be looked at.
            sender.ecn.plain = Flags(u16::MAX);
        }
        sender.note_extras();
        sender
    }

    /// The same sender, whose control draws its random numbers from `stream`. It has sent nothing yet.
    pub fn drawing_from(mut self, stream: Stream) -> Sender {
        debug_assert!(self.counters.sent_packets == 0, "what was sent before drew no random numbers");
        self.window.change(|control| control.on_stream(stream));
        self
    }

    /// The application offers `bytes` more; [`Bytes::MAX`] never ends. The sender must then be polled.
    pub fn write(&mut self, bytes: Bytes) {
        debug_assert!(!self.closing.is_closed || bytes == Bytes::ZERO, "data after the end");
        if self.handshake.gave_up {
            return;
        }
        if self.window.measures_rates() {
            self.note_gap();
        }
        if self.pushes && bytes != Bytes::MAX {
            self.writes.get_or_insert_default().add(self.written, bytes, self.space.una);
            self.note_extras();
        }
        self.written = self.written.saturating_add(bytes.as_u64());
        self.plain_until = self.written;
        self.release.refill();
    }

    /// The application takes back what has not been sent yet.
    pub fn withdraw(&mut self) {
        self.written = self.written.min(self.space.max);
        self.plain_until = self.written;
        if let Some(writes) = &mut self.writes {
            writes.cut(self.written);
        }
        debug_assert!(self.space.nxt <= self.written, "more was sent than offered");
    }

    /// From now on `rule` says which short segments wait; [`Nagle::Off`] is `TCP_NODELAY`. The sender must then be polled.
    pub fn set_nagle(&mut self, rule: Nagle) {
        self.short.set(rule);
    }

    /// Whether it has given up, since nothing was answered for as long as the timer waits ([`LinuxTimer::retries2`],
    /// [`LinuxTimer::syn_retries`]). It does nothing any more.
    ///
    /// [`LinuxTimer::retries2`]: crate::LinuxTimer::retries2
    /// [`LinuxTimer::syn_retries`]: crate::LinuxTimer::syn_retries
    #[inline]
    pub fn gave_up(&self) -> bool {
        self.handshake.gave_up
    }

    /// The same sender, which sends no faster than the network advertises, whatever its control makes of that. Nothing has
    /// been advertised yet.
    pub fn capped(mut self) -> Sender {
        self.is_capped = true;
        self
    }

    /// The network advertised a rate. The sender must then be polled.
    pub fn on_rate_feedback(&mut self, now: Time, rate: Rate) {
        self.note_time(now);
        if self.is_capped {
            self.window.cap_at(rate);
        }
        self.window.change(|control| control.on_rate_feedback(now, rate));
        self.pace_anew();
    }

    /// From `now` on segments that conform to `terms` are marked. Delays are drawn from `stream`. The sender must then
    /// be polled. Source: [minrate, §IV].
    pub fn reserve(&mut self, now: Time, terms: &Reservation, stream: Stream) {
        let packet = Bytes::new(self.space.mss + u64::from(self.overhead));
        self.release.reserve(now, terms, packet, stream);
        self.set_reserved_rate(now, terms.rate);
    }

    /// Sets the reserved rate from `now` on, whether the sender or a link marks what conforms. The sender must then be
    /// polled.
    pub fn set_reserved_rate(&mut self, now: Time, rate: Rate) {
        self.note_time(now);
        self.release.set_reserved_rate(now, rate);
        self.window.change(|control| control.on_reservation(now, Some(rate)));
    }

    /// Tokens of the reservation that were lost up to `now`, if it marks by one.
    pub fn lost_tokens(&self, now: Time) -> Option<Work> {
        self.release.lost_tokens(now)
    }

    /// The rate by which it marks, if it does.
    pub fn reserved_rate(&self) -> Option<Rate> {
        self.release.reserved_rate()
    }

    /// Packets that were marked, retransmissions included.
    pub fn marked_packets(&self) -> u64 {
        self.release.marked_packets()
    }

    /// When to poll again: the earliest of timers and pacing; [`Time::NEVER`] when only an arrival or the
    /// application can change anything. Ask after polling until `None`.
    #[inline]
    pub fn poll_at(&self) -> Time {
        self.timeout().min(self.release.wake_at())
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

    /// The state of the data in flight according to the scoreboard; none without SACK.
    pub fn beliefs(&self) -> Option<Beliefs> {
        self.recovery.beliefs()
    }

    /// The reordering that it has seen, if its recovery has a reordering window.
    pub fn order(&self) -> Option<Order> {
        self.recovery.order()
    }

    /// Expiries of the retransmission timer in a row, without an acknowledgement of new data between them.
    pub fn expiries(&self) -> u32 {
        self.expiries
    }

    /// SRTT, once there is a sample.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.sampling.rtt.smoothed()
    }

    /// Least RTT seen, once there is a sample.
    pub fn min_rtt(&self) -> Option<Span> {
        self.sampling.rtt.least()
    }

    /// RTO in force, backoff included.
    pub fn rto(&self) -> Span {
        self.sampling.rtt.rto()
    }

    /// The sender's state in the life of its connection.
    pub fn state(&self) -> State {
        if self.handshake.connected { self.recovery.state() } else { State::Connecting }
    }

    /// The counters of what it has done so far.
    pub fn counters(&self) -> Counters {
        let tally = &self.counters;
        Counters {
            sent_packets: tally.sent_packets - u64::from(tally.empty_packets),
            empty_packets: tally.empty_packets.into(),
            sent_bytes: tally.sent_bytes,
            retransmitted_packets: tally.retransmitted_packets,
            timeouts: tally.timeouts.into(),
            fast_retransmits: tally.fast_retransmits.into(),
            ecn_reductions: tally.ecn_reductions.into(),
            reported_marks: tally.reported_marks,
            acked_bytes: self.space.una.min(self.written),
            rtt_samples: self.sampling.rtt.samples(),
            reservations_given_up: tally.reservations_given_up.into(),
        }
    }

    /// The congestion control.
    pub fn control(&self) -> &Controller {
        self.window.control()
    }

    /// The last of what most acknowledgements read of this.
    #[inline]
    pub fn last_read(&self) -> &impl Sized {
        self.sampling.last_read()
    }

    /// The place outside of this that an acknowledgement reads: the state of recovery.
    pub fn aside(&self) -> Place {
        self.recovery.place()
    }

    /// The place to which that points, if the next acknowledgement reads it.
    pub fn far(&self) -> Option<Place> {
        self.recovery.far()
    }

    /// The end of the highest segment sent [B].
    pub fn sent(&self) -> u64 {
        self.space.max
    }

    /// Asserts that time does not go back.
    #[inline]
    fn note_time(&mut self, _now: Time) {
        #[cfg(debug_assertions)]
        {
            assert!(_now >= self.latest, "{_now:?} is before {:?}", self.latest);
            self.latest = _now;
        }
    }

    /// Asserts that no timer was missed: polling late is a bug.
    #[inline]
    fn note_poll(&mut self, now: Time) {
        self.note_time(now);
        debug_assert!(now <= self.timeout(), "polled at {now:?}, after the timer at {:?}", self.timeout());
    }

    /// Asserts what holds between any two calls.
    #[inline]
    fn check(&self) {
        debug_assert!(self.space.is_sound(), "{:?}", self.space);
        debug_assert!(self.window.cwnd() >= self.space.mss, "cwnd of {} B", self.window.cwnd());
        let is_watched = !self.timeout.is_off() || self.handshake.gave_up;
        debug_assert!(self.space.flight() == 0 || is_watched, "data in flight without a timer");
    }
}

/// A window as bytes [B].
pub(crate) fn in_bytes(amount: Amount, config: &TcpConfig) -> Bytes {
    assert!(!matches!(amount, Amount::Bdp(_)), "a window in bandwidth-delay products: resolve it first");
    amount.bytes(config.mss, Bytes::ZERO)
}
