//! Loss detection and retransmission, and when recovery ends. How far the window falls is the congestion control's affair.
//!
//! A recovery sees acknowledgements and expiries and answers with a [`Reaction`]; between them it says what to
//! resend and by how much it stretches the window (`credit`): inflation by duplicate ACKs, or what the
//! scoreboard knows to have left the network. A recovery is a file and a line in the registry: either one of the
//! family that counts duplicate ACKs ([`duplicates`]), or [`Rules`] of its own, such as [`sack`] and [`rack`].

#[macro_use]
mod registry;

mod duplicates;
mod exchange;
mod flight;
mod newreno;
mod old_tahoe;
mod rack;
mod rack_config;
mod reno;
mod reo_wnd;
mod sack;
mod sack_cache;
mod scoreboard;
mod spurious;
mod tahoe;

use varicap_units::{Span, Time};

use crate::config::TcpConfig;
use crate::congestion::EcnNeed;
use crate::place::Place;
use crate::segment::Segment;
use duplicates::Duplicates;
use exchange::Held;
pub(crate) use exchange::{Arrival, Clock, Expiry, Reaction, SequenceSpace, Signal};
pub use exchange::{Beliefs, Order};
pub use rack_config::{EchoCheck, RackConfig, Reduction};

recoveries! {
    OldTahoe[old_tahoe::OldTahoe] runs Duplicates<old_tahoe::OldTahoe> = "old-tahoe",
        "Timeouts only: no fast retransmit.";
    Tahoe[tahoe::Tahoe] runs Duplicates<tahoe::Tahoe> = "tahoe", "Fast retransmit, then slow start.";
    Reno[reno::Reno] runs Duplicates<reno::Reno> = "reno",
        "Fast retransmit and fast recovery with window inflation. Source: RFC 2581 §3.2.";
    NewReno[newreno::NewReno] runs Duplicates<newreno::NewReno> = "newreno",
        "Reno that stays in recovery on partial acknowledgements. Source: RFC 6582.";
    Sack[sack::Sack] runs sack::Selective = "sack", "Selective acknowledgements with a scoreboard. Source: RFC 6675.";
    Rack(config: RackConfig) runs rack::ByTime = "rack",
        "Selective acknowledgements; what left before something delivered is lost after a while. Source: RFC 8985.";
}

impl Recovery {
    /// The settings of recovery by time, if it is that.
    pub fn rack(&self) -> Option<RackConfig> {
        match self {
            Recovery::Rack(config) => Some(*config),
            _ => None,
        }
    }
}

/// A sender's place in the life of a connection, with Linux's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The handshake is under way.
    Connecting,
    /// Nothing suspicious.
    Open,
    /// Duplicate ACKs or SACK blocks, not enough for a fast retransmit.
    Disorder,
    /// Fast recovery.
    Recovery,
    /// Resending after a timeout, or after Tahoe's fast retransmit.
    Loss,
    /// The window falls because of a mark (RFC 3168), without a loss; of recoveries only `rack` tells this from Open.
    Cwr,
}

/// The rules of a recovery. What all have in common is handed to them.
trait Rules {
    /// Whether the receiver must send SACK blocks.
    const SELECTIVE: bool = false;
    /// Whether it keeps a record of each segment in flight, and so must learn of each that is sent or acknowledged.
    const TRACKS: bool = false;
    /// Whether it takes reports apart from other acknowledgements.
    const REPORTS: bool = false;

    /// Rules as `config` sets them.
    fn new(config: &TcpConfig) -> Self;
    /// An acknowledgement arrived that the sender's fast path leaves to recovery.
    fn on_ack(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        reaction: &mut Reaction,
    );
    /// An acknowledgement arrived that reports with its blocks what the receiver holds out of order, and says nothing else. If
    /// it calls for a change of the window, the retransmission timer starts anew.
    fn on_report(
        &mut self,
        _common: &mut Common,
        _space: &SequenceSpace,
        _segment: &Segment,
    ) -> Option<Signal> {
        debug_assert!(Self::REPORTS, "a report for a recovery that takes none");
        None
    }
    /// The retransmission timer expired; true: send again from SND.UNA on.
    fn on_timeout(&mut self, common: &mut Common, space: &SequenceSpace, expiry: &Expiry) -> bool;
    /// The bytes of `data` leave now, for the first time or again.
    #[inline]
    fn on_sent(&mut self, _common: &mut Common, _now: Time, _data: (u64, u64)) {}
    /// SND.UNA moved, and there is nothing else to it.
    #[inline]
    fn on_expected(&mut self, _now: Time, _space: &SequenceSpace) -> Option<Span> {
        None
    }
    /// The reordering window has closed: late segments have not arrived in time.
    fn on_reorder_timeout(
        &mut self,
        _common: &mut Common,
        _space: &SequenceSpace,
        _clock: Clock,
    ) -> Reaction {
        Reaction::default()
    }
    /// When the first unacknowledged segment left last, if it is recorded.
    #[inline]
    fn head_left_at(&self) -> Option<Time> {
        None
    }
    /// Whether a probe is on its way.
    fn is_probing(&self) -> bool {
        false
    }
    /// The last segment sent.
    fn tail(&self) -> Option<(u64, u64)> {
        None
    }
    /// A probe has left, a segment sent before if it `is_resent`.
    fn on_probe(&mut self, _common: &mut Common, _space: &SequenceSpace, _is_resent: bool) {}
    /// The range to resend before any new data, if `room` (of the window) is left for a segment.
    fn next_resend(&mut self, common: &mut Common, space: &SequenceSpace, room: bool) -> Option<(u64, u64)>;
    /// The range to resend when there is no new data to send, if there is room for a segment.
    fn last_resort(&mut self, _common: &mut Common, _space: &SequenceSpace) -> Option<(u64, u64)> {
        None
    }
    /// The state of the data in flight, if it has a scoreboard.
    fn beliefs(&self) -> Option<Beliefs> {
        None
    }
    /// The reordering that it has seen, if that matters to it.
    fn order(&self) -> Option<Order> {
        None
    }
    /// The place elsewhere that the next acknowledgement reads.
    fn far(&self) -> Option<Place> {
        None
    }
}

/// The state that every recovery has, and the sender reads for each segment.
#[derive(Clone, Debug)]
struct Common {
    state: State,
    /// Even in Open an acknowledgement of new data alone needs a look.
    is_alert: bool,
    mss: u64,
    /// By how much the window is stretched (or, after a partial ACK, shortened) [B].
    credit: i64,
    held: Held,
    /// In Recovery or Loss, something else than the head may have to be resent before any new data.
    has_holes: bool,
    /// The first unacknowledged segment must be sent, whatever the window says.
    head_due: bool,
    limited_transmit: bool,
    threshold: u32,
    duplicates: u32,
    /// Recovery ends when this is acknowledged: the end of what was sent when it began.
    recover: Option<u64>,
    /// SND.NXT at the first duplicate ACK; what was sent since then is limited transmit's.
    disorder_from: u64,
    /// Data found to be lost so far [B].
    lost: u64,
    /// The lost ranges that have not been reported yet, if a control asks for them.
    found: Found,
    /// The control answers marks by their share, so that a loss after one is an event of its own (RFC 8257 §3.5).
    marks_in_part: bool,
}

impl Common {
    /// Whether all of what was sent when recovery began is acknowledged.
    fn is_recovered(&self, space: &SequenceSpace) -> bool {
        self.recover.is_none_or(|recover| space.una >= recover)
    }

    /// Another duplicate ACK.
    fn count_duplicate(&mut self, space: &SequenceSpace) {
        if self.duplicates == 0 {
            self.disorder_from = space.nxt;
        }
        self.duplicates += 1;
    }

    /// FlightSize without what limited transmit sent [B].
    fn flight_before_disorder(&self, space: &SequenceSpace) -> u64 {
        // RFC 5681 §3.2 (2): what limited transmit sent must not be counted.
        let limited = u64::from(self.threshold - 1) * space.mss;
        space.flight() - space.nxt.saturating_sub(self.disorder_from).min(limited).min(space.flight())
    }
}

/// Data found to be lost that somebody wants to know of: ranges of bytes.
type Found = Option<Vec<(u64, u64)>>;

/// Remembers that `[from, to)` was found to be lost, if somebody wants to know.
#[inline]
fn note(found: &mut Found, from: u64, to: u64) {
    if let Some(ranges) = found {
        ranges.push((from, to));
    }
}

/// Loss recovery of one sender.
#[derive(Clone, Debug)]
pub(crate) struct LossRecovery {
    common: Common,
    chosen: Chosen,
    is_selective: bool,
    tracks: bool,
    takes_reports: bool,
    /// It probes silent tails.
    probes: bool,
}

impl LossRecovery {
    pub(crate) fn new(config: &TcpConfig) -> LossRecovery {
        LossRecovery {
            common: Common {
                state: State::Open,
                is_alert: false,
                mss: config.mss.as_u64().max(1),
                credit: 0,
                held: Held::default(),
                has_holes: true,
                head_due: false,
                limited_transmit: config.limited_transmit,
                threshold: config.duplicate_acks.max(1),
                duplicates: 0,
                recover: None,
                disorder_from: 0,
                lost: 0,
                found: None,
                marks_in_part: config.congestion.wants().ecn == EcnNeed::EachByte,
            },
            chosen: Chosen::new(config),
            is_selective: config.recovery.is_selective(),
            tracks: config.recovery.tracks(),
            takes_reports: config.recovery.takes_reports(),
            probes: config.recovery.rack().is_some_and(|rack| rack.tail_loss_probe),
        }
    }

    /// Where its rules are.
    pub(crate) fn place(&self) -> Place {
        self.chosen.place()
    }

    /// The place elsewhere that its rules read next.
    pub(crate) fn far(&self) -> Option<Place> {
        self.chosen.far()
    }

    /// Whether an acknowledgement of new data alone needs no look.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.common.state == State::Open && !self.common.is_alert
    }

    /// Whether it keeps a record of each segment in flight.
    #[inline]
    pub(crate) fn tracks(&self) -> bool {
        self.tracks
    }

    /// Whether it takes reports apart from other acknowledgements.
    #[inline]
    pub(crate) fn takes_reports(&self) -> bool {
        self.takes_reports
    }

    /// An acknowledgement arrived that reports with its blocks what the receiver holds out of order, and says nothing else; for
    /// a recovery that takes reports. If it calls for a change of the window, the retransmission timer starts anew.
    #[inline]
    pub(crate) fn on_report(&mut self, space: &SequenceSpace, segment: &Segment) -> Option<Signal> {
        debug_assert!(space.is_sound() && segment.ack == space.una, "{space:?} at a report of {segment:?}");
        self.chosen.on_report(&mut self.common, space, segment)
    }

    /// The bytes of `data` leave now, for the first time or again.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, data: (u64, u64)) {
        self.chosen.on_sent(&mut self.common, now, data);
    }

    /// SND.UNA moved while nothing was out of order. Returns the round trip of what was acknowledged last, if that is
    /// recorded.
    #[inline]
    pub(crate) fn on_expected(&mut self, now: Time, space: &SequenceSpace) -> Option<Span> {
        self.chosen.on_expected(now, space)
    }

    /// The reordering window has closed: late segments have not arrived in time.
    pub(crate) fn on_reorder_timeout(&mut self, space: &SequenceSpace, clock: Clock) -> Reaction {
        self.chosen.on_reorder_timeout(&mut self.common, space, clock)
    }

    /// When the first unacknowledged segment left last, if it is recorded.
    #[inline]
    pub(crate) fn head_left_at(&self) -> Option<Time> {
        self.chosen.head_left_at()
    }

    /// Whether a silent tail may be probed now.
    #[inline]
    pub(crate) fn may_probe(&self) -> bool {
        self.probes && matches!(self.common.state, State::Open | State::Cwr)
    }

    /// Whether a probe is on its way.
    pub(crate) fn is_probing(&self) -> bool {
        self.chosen.is_probing()
    }

    /// The last segment sent.
    pub(crate) fn tail(&self) -> Option<(u64, u64)> {
        self.chosen.tail()
    }

    /// A probe has left, a segment sent before if it `is_resent`.
    pub(crate) fn on_probe(&mut self, space: &SequenceSpace, is_resent: bool) {
        self.chosen.on_probe(&mut self.common, space, is_resent);
    }

    /// Whether the window fell for this flight already, so that a timeout leaves the threshold as it is: where each
    /// segment is recorded, one window of data is one congestion event, as in Linux. A mark that is answered in part is none.
    pub(crate) fn holds_threshold(&self, space: &SequenceSpace) -> bool {
        let falls = match self.common.state {
            State::Recovery => true,
            State::Cwr => !self.common.marks_in_part,
            _ => false,
        };
        self.tracks && falls && !self.common.is_recovered(space)
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.common.state
    }

    /// By how much the window is stretched [B].
    #[inline]
    pub(crate) fn credit(&self) -> i64 {
        self.common.credit
    }

    #[inline]
    pub(crate) fn is_selective(&self) -> bool {
        self.is_selective
    }

    /// Data in flight: RFC 6675's pipe where there is a scoreboard, FlightSize otherwise [B].
    #[inline]
    pub(crate) fn in_flight(&self, space: &SequenceSpace) -> u64 {
        let pipe = space.flight() as i64 - self.common.held.outside_pipe;
        debug_assert!(pipe >= 0, "the pipe holds {pipe} B");
        pipe.max(0) as u64
    }

    /// SACKed data above SND.UNA [B].
    #[inline]
    pub(crate) fn sacked(&self) -> u64 {
        self.common.held.sacked
    }

    /// Data that arrived out of order, by its duplicate ACKs alone [B].
    #[inline]
    pub(crate) fn reno_sacked(&self) -> u64 {
        let guesses = !self.is_selective && self.common.state == State::Disorder;
        if guesses { u64::from(self.common.duplicates) * self.common.mss } else { 0 }
    }

    /// The state of the data in flight, if it has a scoreboard.
    pub(crate) fn beliefs(&self) -> Option<Beliefs> {
        self.chosen.beliefs()
    }

    /// The reordering that it has seen, if that matters to it.
    pub(crate) fn order(&self) -> Option<Order> {
        self.chosen.order()
    }

    /// Data found to be lost so far [B].
    #[inline]
    pub(crate) fn lost(&self) -> u64 {
        self.common.lost
    }

    /// From now on remembers what it finds to be lost, for [`LossRecovery::take_found`].
    pub(crate) fn remember_found(&mut self) {
        self.common.found = Some(Vec::new());
    }

    /// The ranges that were found to be lost and have not been taken yet. The list comes back by
    /// [`LossRecovery::give_back`], so that its room is used again.
    #[inline]
    pub(crate) fn take_found(&mut self) -> Option<Vec<(u64, u64)>> {
        match &self.common.found {
            Some(found) if !found.is_empty() => self.common.found.replace(Vec::new()),
            _ => None,
        }
    }

    /// Takes back the list of what was found, of which everything is reported.
    pub(crate) fn give_back(&mut self, mut found: Vec<(u64, u64)>) {
        found.clear();
        self.common.found = Some(found);
    }

    /// An acknowledgement arrived that the sender's fast path leaves to recovery. `space` is up to date.
    #[inline]
    pub(crate) fn on_ack(&mut self, space: &SequenceSpace, arrival: &Arrival<'_>, reaction: &mut Reaction) {
        debug_assert!(space.is_sound() && arrival.before <= space.una, "{space:?} after {arrival:?}");
        self.chosen.on_ack(&mut self.common, space, arrival, reaction);
    }

    /// The retransmission timer expired; true: send again from SND.UNA on.
    pub(crate) fn on_timeout(&mut self, now: Time, space: &SequenceSpace, again: bool) -> bool {
        debug_assert!(space.is_sound(), "{space:?}");
        let holds_threshold = again || self.holds_threshold(space);
        let expiry = Expiry { now, before: self.common.state, again, holds_threshold };
        self.common.state = State::Loss;
        self.common.duplicates = 0;
        // RFC 6582 §3.2 (4) and RFC 6675 §5.1: the highest byte sent, so that old duplicates start nothing.
        self.common.recover = Some(space.max);
        self.chosen.on_timeout(&mut self.common, space, &expiry)
    }

    /// Whether something may have to be resent.
    #[inline]
    pub(crate) fn is_resending(&self) -> bool {
        self.common.head_due || matches!(self.common.state, State::Recovery | State::Loss)
    }

    /// Whether, in a recovery, something may have to be resent before any new data leaves, where `room` (of the window) is
    /// left for a segment or is not.
    #[inline]
    pub(crate) fn may_resend(&self, room: bool) -> bool {
        self.common.has_holes && room || self.common.head_due
    }

    /// The range to resend before any new data, if `room` (of the window) is left for a segment.
    pub(crate) fn next_resend(&mut self, space: &SequenceSpace, room: bool) -> Option<(u64, u64)> {
        let hole = self.chosen.next_resend(&mut self.common, space, room);
        debug_assert!(hole.is_none_or(|(from, to)| space.una <= from && from < to && to <= space.max));
        hole
    }

    /// The range to resend when there is no new data to send, if there is room for a segment.
    pub(crate) fn last_resort(&mut self, space: &SequenceSpace) -> Option<(u64, u64)> {
        let hole = self.chosen.last_resort(&mut self.common, space);
        debug_assert!(hole.is_none_or(|(from, to)| space.una <= from && from < to && to <= space.max));
        hole
    }
}
