//! Losses by time, and probes of a silent tail. Source: RFC 8985 (RACK-TLP), as Linux 6.18 has it; RFC 5682 (F-RTO);
//! RFC 3708 and RFC 4015 (undoing what was spurious).
//!
//! Of two segments, the one that left earlier is lost if the later one was delivered and enough time has passed for
//! mere reordering. A retransmission is a segment like any other, so that its loss is found without a timeout.

use varicap_units::{Span, Time};

use super::flight::{Flight, IN_ORDER, Moment, Progress};
use super::reo_wnd::ReorderingWindow;
use super::spurious::UndoMarker;
use super::{
    Arrival, Beliefs, Clock, Common, EchoCheck, Expiry, Held, Order, Reaction, Rules, SequenceSpace, Signal,
    State,
};
use crate::config::TcpConfig;
use crate::place::Place;

/// A tail loss probe on its way. Source: RFC 8985 §7.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// SND.NXT when it left [B].
    end: u64,
    /// It was a segment sent before.
    is_resent: bool,
    /// FlightSize then [B].
    in_flight: u64,
}

/// The rules of RACK-TLP.
#[derive(Clone, Debug)]
pub(crate) struct ByTime {
    flight: Flight,
    reo_wnd: ReorderingWindow,
    undo_marker: UndoMarker,
    probe: Option<Probe>,
    /// The check by the echoed timestamp of which transmission was delivered, also of what is SACKed.
    checks_echo: EchoCheck,
    /// Whether timeouts are tested for having been spurious, and whether this one is (RFC 5682).
    tests_timeouts: bool,
    is_testing: bool,
    /// No retransmission leaves before the next acknowledgement: new data tests a timeout, or order is in doubt.
    holds: bool,
    /// Segments that were resent, probes included, and that the receiver has reported as duplicates. What it reports beyond
    /// that the path has doubled.
    resent: u64,
    reported: u64,
}

impl Rules for ByTime {
    const SELECTIVE: bool = true;
    const TRACKS: bool = true;

    fn new(config: &TcpConfig) -> ByTime {
        let rack = config.recovery.rack().unwrap_or_default();
        ByTime {
            flight: Flight::default(),
            reo_wnd: ReorderingWindow::new(config.duplicate_acks.max(1)),
            undo_marker: UndoMarker::new(rack.undo, config.timestamps),
            probe: None,
            checks_echo: rack.check_echo,
            tests_timeouts: rack.frto,
            is_testing: false,
            holds: false,
            resent: 0,
            reported: 0,
        }
    }

    #[inline]
    fn on_sent(&mut self, common: &mut Common, now: Time, (from, to): (u64, u64)) {
        if self.flight.is_new(from) {
            self.flight.on_sent(now, from, to);
        } else {
            self.on_resent(common, now, from);
        }
    }

    #[inline]
    fn on_expected(&mut self, now: Time, space: &SequenceSpace) -> Option<Span> {
        self.flight.acknowledge_in_order(now, space.una)
    }

    fn on_ack(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        reaction: &mut Reaction,
    ) {
        self.holds = false;
        let Clock { now, least, .. } = arrival.clock;
        let echo = if self.undo_marker.is_exact() { arrival.segment.echo } else { Time::NEVER };
        let mut moment = Moment {
            now,
            least: if least == Span::MAX { Span::ZERO } else { least },
            echo: if self.checks_echo == EchoCheck::Always { echo } else { Time::NEVER },
            recover: common.recover.unwrap_or(0),
            highest: self.flight.highest_sacked(arrival.before),
        };
        let mut progress = Progress::default();
        let head_left_at = self.flight.head_left_at();
        self.flight.take_blocks(arrival.segment, &moment, &mut progress);
        let advanced = space.una > arrival.before;
        if advanced {
            moment.echo = echo;
            self.flight.acknowledge(space.una, &moment, &mut progress);
        }
        reaction.delivered = progress.delivered;
        let original = progress.acked.first().filter(|_| !progress.acked_resent);
        reaction.timed = original.or(progress.held.first());
        reaction.covers_timed = original.is_some();
        let last_acked = progress.acked.last().filter(|_| !progress.acked_resent);
        reaction.last_timed = progress.held.last().or(last_acked);
        // A SACK puts off the timeout only if the head left after what it reports.
        let is_older = progress.held.first().zip(head_left_at).is_some_and(|(sacked, head)| sacked < head);
        reaction.rearm = advanced || is_older;
        if progress.reordered != IN_ORDER {
            self.reo_wnd.note_reordering(progress.reordered, moment.highest, space.mss);
        }
        let repetition = self.note_repetition(arrival, space);
        let (repeated, of_probe) = (repetition.is_some(), repetition == Some(true));
        // Linux (d9157f6806d1): FLAG_DSACKING_ACK. What reports a duplicate of something resent is no duplicate itself.
        let arrival = &Arrival { is_duplicate: arrival.is_duplicate && !repeated, ..*arrival };
        self.reo_wnd.update(repetition == Some(false), space);
        self.end_probe(common, space, arrival, of_probe, reaction);
        let is_dubious = progress.sacked > 0
            || arrival.is_marked
            || arrival.is_duplicate
            || repeated
            || common.state != State::Open;
        if is_dubious {
            self.judge(common, space, arrival, &progress, reaction);
        }
        // Linux's tcp_may_raise_cwnd: a SACK is progress, too, where order is seldom kept. Only a window that counts what
        // arrives grows by it.
        let progresses = advanced || (progress.sacked > 0 && self.reo_wnd.exceeds_initial());
        reaction.grow = progresses && !matches!(common.state, State::Recovery | State::Cwr);
        self.refresh(common);
        debug_assert!(self.flight.is_sound(space.una, space.nxt), "{:?} in {space:?}", self.flight);
    }

    fn on_timeout(&mut self, common: &mut Common, space: &SequenceSpace, expiry: &Expiry) -> bool {
        let is_new = !matches!(expiry.before, State::Recovery | State::Loss);
        self.is_testing = self.tests_timeouts && (is_new || expiry.again);
        if !expiry.holds_threshold {
            self.undo_marker.begin(space.una, self.unanswered(), true);
        }
        common.lost += self.flight.lose_all(expiry.now, &mut common.found);
        self.probe = None;
        self.holds = false;
        common.head_due = true;
        self.refresh(common);
        false
    }

    fn next_resend(&mut self, common: &mut Common, _space: &SequenceSpace, room: bool) -> Option<(u64, u64)> {
        if std::mem::take(&mut common.head_due) || (room && !self.holds) {
            let hole = self.flight.next_resend();
            common.has_holes = self.has_holes();
            return hole;
        }
        None
    }

    /// Nothing new could test the timeout: what is lost is resent.
    fn last_resort(&mut self, common: &mut Common, space: &SequenceSpace) -> Option<(u64, u64)> {
        let untested = self.is_testing && common.recover.is_some_and(|recover| space.nxt <= recover);
        if !self.holds || !untested {
            return None;
        }
        (self.holds, self.is_testing) = (false, false);
        let hole = self.flight.next_resend();
        common.has_holes = self.has_holes();
        hole
    }

    fn on_reorder_timeout(&mut self, common: &mut Common, space: &SequenceSpace, clock: Clock) -> Reaction {
        let mut reaction = Reaction { delivered: space.mss, ..Reaction::default() };
        self.holds = false;
        self.flight.newest.advanced = true;
        let before = common.lost;
        self.find_lost(common, &clock, &mut reaction);
        if common.lost > before && common.state != State::Recovery {
            self.enter_recovery(common, space, false, &mut reaction);
        }
        self.refresh(common);
        reaction
    }

    fn beliefs(&self) -> Option<Beliefs> {
        Some(self.flight.beliefs())
    }

    fn order(&self) -> Option<Order> {
        Some(self.reo_wnd.seen_reordering())
    }

    fn far(&self) -> Option<Place> {
        self.flight.far()
    }

    fn head_left_at(&self) -> Option<Time> {
        self.flight.head_left_at()
    }

    fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    fn tail(&self) -> Option<(u64, u64)> {
        self.flight.tail()
    }

    fn on_probe(&mut self, common: &mut Common, space: &SequenceSpace, is_resent: bool) {
        self.probe = Some(Probe { end: space.nxt, is_resent, in_flight: space.flight() });
        self.refresh(common);
    }
}

impl ByTime {
    /// The segment at `from` leaves again.
    #[inline(never)]
    fn on_resent(&mut self, common: &mut Common, now: Time, from: u64) {
        let resent = self.flight.beliefs().resent;
        self.flight.on_resent(now, from);
        self.resent += 1;
        if self.flight.beliefs().resent != resent {
            self.undo_marker.on_resent(now);
        }
        self.refresh(common);
    }

    /// Data that left the pipe lets out as much, in any state; an acknowledgement is a plain one only without all of this.
    fn refresh(&self, common: &mut Common) {
        let outside_pipe = self.flight.outside_pipe();
        common.held = Held { sacked: self.flight.beliefs().sacked, outside_pipe };
        common.credit = outside_pipe;
        common.has_holes = self.has_holes();
        common.is_alert = self.probe.is_some() || !self.flight.is_plain();
    }

    /// Whether something may have to be resent, now or once nothing new can leave.
    fn has_holes(&self) -> bool {
        self.holds || self.flight.has_holes()
    }

    /// The reaction to an acknowledgement that is out of the ordinary.
    fn judge(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        progress: &Progress,
        reaction: &mut Reaction,
    ) {
        if arrival.is_marked {
            self.undo_marker.spoil();
        }
        self.end_reduction(common, space, arrival, reaction);
        match common.state {
            State::Recovery => {
                if space.una > arrival.before && self.undo_marker.is_late(arrival.segment) {
                    self.note_lateness(space, arrival.before);
                    if self.flight.beliefs().resent > 0 {
                        self.holds = true;
                        return;
                    }
                    self.undo(reaction, true);
                    self.keep_open(common, space);
                }
                self.undo_repeated(common, space, arrival, reaction);
                self.find_lost(common, &arrival.clock, reaction);
                if common.state == State::Recovery || self.flight.beliefs().lost == 0 {
                    return;
                }
            }
            State::Loss => {
                let resent = self.flight.beliefs().resent;
                self.test_timeout(common, space, arrival, progress, reaction);
                self.find_lost(common, &arrival.clock, reaction);
                let lost_again = self.flight.beliefs().resent < resent;
                if common.state == State::Loss && !lost_again {
                    return;
                }
            }
            _ => {
                if common.state != State::Cwr {
                    self.undo_repeated(common, space, arrival, reaction);
                }
                self.find_lost(common, &arrival.clock, reaction);
            }
        }
        if self.flight.beliefs().lost == 0 {
            return self.try_to_open(common, space, arrival.is_marked, reaction);
        }
        self.enter_recovery(common, space, arrival.is_marked, reaction);
    }

    /// All is acknowledged that was sent when the window began to fall.
    fn end_reduction(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        reaction: &mut Reaction,
    ) {
        match common.state {
            State::Open => self.undo_marker.forget_resent(),
            // The mark of the window's end, CWR, must have arrived, too.
            State::Cwr if common.recover.is_some_and(|recover| space.una > recover) => {
                reaction.say(Signal::Recovered { limit: u64::MAX });
                common.state = State::Open;
            }
            State::Recovery if common.is_recovered(space) => self.end_recovery(common, arrival, reaction),
            _ => {}
        }
    }

    fn end_recovery(&mut self, common: &mut Common, arrival: &Arrival<'_>, reaction: &mut Reaction) {
        if self.undo_marker.is_spurious(arrival.segment) {
            self.undo(reaction, false);
        } else {
            self.reo_wnd.on_recovered();
            if common.state == State::Recovery {
                reaction.say(Signal::Recovered { limit: u64::MAX });
            }
        }
        common.state = State::Open;
        common.head_due = false;
    }

    /// The window should never have fallen. If `absolves`, nothing of what was believed to be lost is.
    fn undo(&mut self, reaction: &mut Reaction, absolves: bool) {
        if absolves {
            self.flight.unmark_lost();
        }
        self.flight.newest.advanced = true;
        reaction.say(Signal::Undone { restores: self.undo_marker.end() });
    }

    /// Undoes a reduction all of whose retransmissions were reported as duplicates (RFC 3708).
    fn undo_repeated(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        reaction: &mut Reaction,
    ) {
        if self.undo_marker.is_all_repeated() {
            self.reo_wnd.on_repeated();
            self.undo(reaction, false);
            if common.state == State::Recovery {
                self.try_to_open(common, space, arrival.is_marked, reaction);
            }
        }
    }

    /// RFC 5682 §3.1 after a timeout.
    fn test_timeout(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        progress: &Progress,
        reaction: &mut Reaction,
    ) {
        let advanced = space.una > arrival.before;
        let recovered = common.is_recovered(space);
        let has_arrived = self.is_testing && progress.acked_original;
        if has_arrived || (advanced && self.undo_marker.is_spurious(arrival.segment)) {
            self.undo(reaction, true);
            common.state = State::Open;
            common.head_due = false;
            return;
        }
        if self.is_testing {
            if common.recover.is_some_and(|recover| space.nxt > recover) {
                self.is_testing = progress.sacked == 0 && !arrival.is_duplicate;
            } else if advanced && !recovered {
                // Step 2 (b): new data, and nothing else, until the next acknowledgement.
                common.recover = Some(space.nxt);
                self.holds = true;
                return;
            }
        }
        if recovered {
            self.end_recovery(common, arrival, reaction);
        }
    }

    /// RFC 8985 §6.2 step 5, if anything was delivered since it was last done.
    fn find_lost(&mut self, common: &mut Common, clock: &Clock, reaction: &mut Reaction) {
        if !std::mem::take(&mut self.flight.newest.advanced) {
            return;
        }
        let sacked = self.flight.beliefs().sacked;
        let reo_wnd = if self.reo_wnd.is_zero(common, sacked, || self.flight.sacked_segments()) {
            Span::ZERO
        } else {
            // The round trip just measured counts for what it shows to be late.
            self.reo_wnd.reo_wnd(clock.with(reaction.last_timed))
        };
        let (found, waits) = self.flight.find_lost(clock.now, reo_wnd, &mut common.found);
        common.lost += found;
        if waits > Span::ZERO {
            reaction.reorder_after = Some(waits);
            reaction.rearm = false;
        }
    }

    fn try_to_open(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        is_marked: bool,
        reaction: &mut Reaction,
    ) {
        if !self.flight.has_resent() {
            self.undo_marker.forget_resent();
        }
        if is_marked && matches!(common.state, State::Open | State::Disorder) {
            // RFC 3168 §6.1.2: as a loss, once per window of data.
            self.undo_marker.end();
            self.probe = None;
            common.recover = Some(space.nxt);
            common.state = State::Cwr;
            reaction.say(Signal::Mark);
        }
        if common.state != State::Cwr {
            self.keep_open(common, space);
        }
    }

    fn keep_open(&mut self, common: &mut Common, space: &SequenceSpace) {
        let beliefs = self.flight.beliefs();
        let is_open = beliefs.sacked + beliefs.lost == 0 && !self.flight.has_resent();
        let state = if is_open { State::Open } else { State::Disorder };
        if common.state != state {
            common.state = state;
            common.recover = Some(space.nxt);
        }
    }

    fn enter_recovery(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        is_marked: bool,
        reaction: &mut Reaction,
    ) {
        let was_falling = common.state == State::Cwr;
        self.undo_marker.begin(space.una, self.unanswered(), !is_marked && !was_falling);
        common.state = State::Recovery;
        common.head_due = true;
        if was_falling && !common.marks_in_part {
            return reaction.say(Signal::Resume);
        }
        common.recover = Some(space.nxt);
        self.probe = None;
        reaction.say(Signal::Reduce { in_flight: space.flight() });
    }

    /// RFC 8985 §7.4.2: what the acknowledgement says of a probe on its way.
    fn end_probe(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        of_probe: bool,
        reaction: &mut Reaction,
    ) {
        let Some(probe) = self.probe.filter(|probe| arrival.segment.ack >= probe.end) else { return };
        if probe.is_resent && !of_probe && arrival.segment.ack > probe.end {
            // Only the probe closed the hole: the window falls as for any loss.
            reaction.say(Signal::TailRepaired { in_flight: probe.in_flight });
            self.keep_open(common, space);
        }
        let is_answered = of_probe || arrival.says_nothing || arrival.segment.ack > probe.end;
        if !probe.is_resent || is_answered {
            self.probe = None;
        }
    }

    /// Retransmissions that may yet be reported as duplicates, a probe included.
    fn unanswered(&self) -> u64 {
        self.flight.resent_segments() + u64::from(self.probe.is_some_and(|probe| probe.is_resent))
    }

    /// A duplicate was reported (RFC 2883) of something that was resent; whether that is the probe.
    fn note_repetition(&mut self, arrival: &Arrival<'_>, space: &SequenceSpace) -> Option<bool> {
        let (from, end) = arrival.segment.duplicate_block()?;
        let segments = end.saturating_sub(from).div_ceil(space.mss).max(1);
        self.reported = self.reported.saturating_add(segments);
        if self.reported > self.resent {
            return None;
        }
        self.undo_marker.on_repeated(end, segments);
        Some(self.probe.is_some_and(|probe| probe.is_resent && probe.end == end))
    }

    /// The data that was resent, from `from` on, was merely late.
    fn note_lateness(&mut self, space: &SequenceSpace, from: u64) {
        let highest = self.flight.highest_sacked(space.una);
        if from < highest {
            self.reo_wnd.note_reordering(from, highest, space.mss);
        }
    }
}
