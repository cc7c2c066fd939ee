//! A record of each segment in flight: when it left last, and what has become of it. Source: RFC 8985 §5.2.
//!
//! Segments are kept in the order of their bytes, which is that of their first transmission; those that were resent are
//! listed once more, in the order in which they left again.

mod losses;
mod progress;
mod ring;

use std::collections::VecDeque;

use varicap_units::{Span, Time};

use super::Beliefs;
use super::sack_cache::SackCache;
use crate::place::Place;
use crate::segment::Segment;
pub(super) use progress::{IN_ORDER, Moment, Progress};
use ring::{EVER_RESENT, LOST, RESENT, Ring, SACKED, Sent};

/// Of the segments that were delivered, the one that left last. Source: RFC 8985 §5.2 (RACK.xmit_ts, RACK.end_seq).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Newest {
    pub(super) at: Time,
    turn: u8,
    pub(super) end: u64,
    /// The round-trip time of the segment that was delivered last.
    pub(super) rtt: Span,
    /// Whether it has moved since losses were looked for.
    pub(super) advanced: bool,
}

impl Newest {
    /// RFC 8985 §5.2 (RACK_sent_after).
    #[inline]
    fn left_after(&self, sent: &Sent) -> bool {
        self.at > sent.at || self.at == sent.at && (self.turn, self.end) > (sent.turn, sent.to())
    }

    /// RFC 8985 §6.2 step 2: `sent` was delivered.
    fn advance(&mut self, sent: &Sent, moment: &Moment) {
        let rtt = moment.now.since(sent.at);
        // An answer to an earlier transmission says nothing about the last one.
        if sent.has(EVER_RESENT) && (rtt < moment.least || in_millis(moment.echo) < in_millis(sent.at)) {
            return;
        }
        self.rtt = rtt;
        self.advanced = true;
        if !self.left_after(sent) {
            (self.at, self.turn, self.end) = (sent.at, sent.turn, sent.to());
        }
    }

    /// How long until `sent` counts as lost, with `reo_wnd` for reordering; no time at all: it does now.
    #[inline]
    fn remaining(&self, now: Time, sent: &Sent, reo_wnd: Span) -> Span {
        self.rtt.saturating_add(reo_wnd).saturating_sub(now.since(sent.at))
    }
}

/// All segments in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    segments: Ring,
    /// End of the last segment that was sent [B].
    end: u64,
    /// The ranges that the receiver holds: sorted, disjoint, not touching `[start, end)` [B].
    held: VecDeque<(u64, u64)>,
    /// The blocks of the last acknowledgement, as far as `held` has them.
    sack_cache: SackCache,
    /// Retransmissions in the order in which they left: number and time.
    again: VecDeque<(u64, Time)>,
    beliefs: Beliefs,
    /// Of some segment only a part was held.
    is_ragged: bool,
    /// All originals with lower numbers are delivered or lost.
    judged: u64,
    /// No segment with a lower number waits to be resent.
    resend_from: u64,
    /// Segments that wait to be resent.
    waiting: u64,
    /// The instant of the last retransmission, and its turn.
    turn: (Time, u8),
    pub(super) newest: Newest,
}

impl Flight {
    /// The state of the data above SND.UNA.
    pub(super) fn beliefs(&self) -> Beliefs {
        self.beliefs
    }

    /// Data that left the pipe before it is acknowledged, less what was put there twice [B].
    pub(super) fn outside_pipe(&self) -> i64 {
        let Beliefs { sacked, lost, resent } = self.beliefs;
        (sacked + lost) as i64 - resent as i64
    }

    /// Whether the receiver holds nothing out of order, and nothing is lost or was resent.
    pub(super) fn is_plain(&self) -> bool {
        let Beliefs { sacked, lost, resent } = self.beliefs;
        sacked | lost | resent == 0
    }

    /// End of the highest SACKed segment, or `una` [B].
    pub(super) fn highest_sacked(&self, una: u64) -> u64 {
        self.held.back().map_or(una, |range| range.1)
    }

    /// When the first unacknowledged segment left last.
    #[inline]
    pub(super) fn head_left_at(&self) -> Option<Time> {
        self.segments.front().map(|head| head.at)
    }

    /// Where the first segment is.
    pub(super) fn far(&self) -> Option<Place> {
        self.segments.front().map(Place::of)
    }

    /// The last segment sent.
    pub(super) fn tail(&self) -> Option<(u64, u64)> {
        self.segments.back().map(|tail| (tail.from, tail.to()))
    }

    /// How many segments the receiver holds, by their place in the blocks that it has reported.
    #[cold]
    pub(super) fn sacked_segments(&self) -> u64 {
        self.held.iter().map(|&(from, to)| self.segments.number_of(to) - self.segments.number_of(from)).sum()
    }

    /// Whether a segment waits to be resent.
    #[inline]
    pub(super) fn has_holes(&self) -> bool {
        self.waiting > 0
    }

    /// Retransmissions in flight.
    pub(super) fn resent_segments(&self) -> u64 {
        if self.beliefs.resent == 0 {
            return 0;
        }
        self.segments.iter().filter(|sent| sent.has(RESENT)).count() as u64
    }

    /// Whether a segment that was resent is not acknowledged yet.
    pub(super) fn has_resent(&self) -> bool {
        self.segments.front().is_some_and(|head| head.has(EVER_RESENT)) || self.beliefs.resent > 0
    }

    /// Whether what begins at `from` has not left before.
    #[inline]
    pub(super) fn is_new(&self, from: u64) -> bool {
        from >= self.end
    }

    /// The bytes from `from` to `to`, which are new, leave now.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, from: u64, to: u64) {
        debug_assert!(self.is_new(from) && from < to, "{from} to {to} B after {} B", self.end);
        self.end = to;
        let turn = self.turn_at(now);
        self.segments.push(Sent { from, at: now, len: (to - from) as u32, marks: 0, turn });
    }

    #[inline]
    fn turn_at(&self, now: Time) -> u8 {
        if self.turn.0 == now { self.turn.1 } else { 0 }
    }

    /// The segment at `from` leaves again.
    ///
    /// RFC 8985 §5.2 tells segments of one instant apart by their bytes. Here an instant may see new data leave, and then a
    /// retransmission; in Linux the clock has moved on by then, and no delivery of that data says that it is lost.
    pub(super) fn on_resent(&mut self, now: Time, from: u64) {
        let number = self.segments.number_of(from);
        let turn = self.turn_at(now);
        let new_data = self.segments.back().is_some_and(|last| (last.at, last.turn) == (now, turn));
        let behind = self.again.back().is_some_and(|&(later, at)| at == now && later > number);
        self.turn = (now, turn.saturating_add(u8::from(new_data || behind)));
        let Some(sent) = self.segments.get_mut(number) else { return };
        // A probe repeats what is not lost: one of the two is in the network, as far as anybody knows, and counts once.
        if sent.waits() {
            self.waiting -= 1;
            self.beliefs.resent += u64::from(sent.len);
            sent.marks |= RESENT;
        }
        sent.marks |= EVER_RESENT;
        (sent.at, sent.turn) = self.turn;
        self.again.push_back((number, now));
    }

    /// In the fast path: SND.UNA moved to `una`, nothing was out of order, and nothing had been resent. Returns the round trip
    /// of the last whole segment below.
    #[inline]
    pub(super) fn acknowledge_in_order(&mut self, now: Time, una: u64) -> Option<Span> {
        debug_assert!(self.is_plain(), "{:?}", self.beliefs());
        // Nothing was resent, so that the last one left last.
        let last = self.segments.pop_to(una).or_else(|| self.acknowledge_partly(una))?;
        self.newest.rtt = now.since(last.at);
        if last.at > self.newest.at {
            (self.newest.at, self.newest.turn) = (last.at, last.turn);
        } else if last.at == self.newest.at {
            self.newest.turn = self.newest.turn.max(last.turn);
        }
        self.newest.end = self.newest.end.max(last.to());
        self.newest.advanced = true;
        Some(self.newest.rtt)
    }

    /// As `acknowledge_in_order`, where no segment was found to end at `una`. Returns the last whole one below.
    #[cold]
    #[inline(never)]
    fn acknowledge_partly(&mut self, una: u64) -> Option<Sent> {
        let mut last = None;
        while let Some(&head) = self.segments.front().filter(|head| head.from < una) {
            if head.to() > una {
                self.cut_head(una);
                break;
            }
            last = Some(head);
            self.segments.pop_front();
        }
        last
    }

    /// Part of the first segment is acknowledged. The loss of its retransmission is left to the timeout.
    #[cold]
    fn cut_head(&mut self, una: u64) {
        let number = self.segments.first();
        let Some(head) = self.segments.get_mut(number) else { return };
        let cut = una.saturating_sub(head.from).min(u64::from(head.len));
        head.from += cut;
        head.len -= cut as u32;
        uncount(&mut self.beliefs, head.marks, cut);
        self.again.retain(|&(again, _)| again != number);
    }

    /// SND.UNA moved to `una`.
    pub(super) fn acknowledge(&mut self, una: u64, moment: &Moment, progress: &mut Progress) {
        while let Some(head) = self.segments.front() {
            if head.to() > una {
                if head.from < una {
                    progress.delivered += if head.has(SACKED) { 0 } else { una - head.from };
                    self.cut_head(una);
                }
                break;
            }
            if head.marks == SACKED {
                // All else was learnt when it was SACKed.
                self.beliefs.sacked -= u64::from(head.len);
            } else {
                self.acknowledge_head(moment, progress);
            }
            self.segments.pop_front();
        }
        while self.held.front().is_some_and(|range| range.1 <= una) {
            self.held.pop_front();
        }
        if let Some(first) = self.held.front_mut() {
            first.0 = first.0.max(una);
        }
    }

    /// The first segment is acknowledged, which was not merely SACKed.
    #[inline(never)]
    fn acknowledge_head(&mut self, moment: &Moment, progress: &mut Progress) {
        let Some(head) = self.segments.front() else { return };
        self.waiting -= u64::from(head.waits());
        uncount(&mut self.beliefs, head.marks, u64::from(head.len));
        if head.has(EVER_RESENT) {
            progress.acked_resent = true;
        } else if !head.has(SACKED) {
            progress.acked.add(head.at);
            progress.note_original(head, moment);
        }
        if !head.has(SACKED) {
            progress.delivered += u64::from(head.len);
            self.newest.advance(head, moment);
        }
    }

    /// Takes the SACK blocks of an acknowledgement; those that name data never sent are ignored.
    pub(super) fn take_blocks(&mut self, segment: &Segment, moment: &Moment, progress: &mut Progress) {
        let una = segment.ack;
        for (place, &(from, to)) in self.sack_cache.begin(segment).iter().enumerate() {
            if self.sack_cache.is_new(place, (from, to), self.end) {
                self.hold(una + u64::from(from), una + u64::from(to), moment, progress);
            }
        }
    }

    /// The receiver holds `[start, end)`: marks the segments that it newly covers.
    fn hold(&mut self, start: u64, end: u64, moment: &Moment, progress: &mut Progress) {
        if let Some(last) = self.held.back_mut().filter(|last| last.0 <= start && start <= last.1) {
            // Almost always a block extends the last range.
            let (from, known) = *last;
            if known < end {
                last.1 = end;
                self.mark_held((known, end), (from, end), moment, progress);
            }
            return;
        }
        self.hold_apart(start, end, moment, progress);
    }

    /// As `hold`, for what does not extend the last range.
    #[inline(never)]
    fn hold_apart(&mut self, start: u64, end: u64, moment: &Moment, progress: &mut Progress) {
        let first = match self.held.back() {
            Some(&(last, _)) if start < last => self.held.partition_point(|range| range.1 < start),
            _ => self.held.len(),
        };
        if self.held.get(first).is_some_and(|range| range.0 <= start && end <= range.1) {
            return;
        }
        let mut merged = (start, end);
        let (mut hole, mut next) = (start, first);
        while let Some(&(from, to)) = self.held.get(next).filter(|range| range.0 <= end) {
            merged = (merged.0.min(from), merged.1.max(to));
            if hole < from {
                self.mark_held((hole, from), merged, moment, progress);
            }
            hole = hole.max(to);
            next += 1;
        }
        if hole < end {
            self.mark_held((hole, end), merged, moment, progress);
        }
        if next == first {
            self.held.insert(first, merged);
        } else {
            self.held[first] = merged;
            if next > first + 1 {
                self.held.drain(first + 1..next);
            }
        }
    }

    /// Marks the segments that touch `gap` and lie within `merged`.
    fn mark_held(&mut self, gap: (u64, u64), merged: (u64, u64), moment: &Moment, progress: &mut Progress) {
        let mut number = self.segments.number_of(gap.0);
        while self.mark_one_held(number, gap.1, merged, moment, progress) {
            number += 1;
        }
    }

    /// As `mark_held`, for segment `number` alone, if there is one that begins below `end`; whether the next one may, too. A
    /// gap mostly is a single segment: a loop with all of this would spend more on what it keeps for others.
    #[inline(never)]
    fn mark_one_held(
        &mut self,
        number: u64,
        end: u64,
        merged: (u64, u64),
        moment: &Moment,
        progress: &mut Progress,
    ) -> bool {
        let Some(sent) = self.segments.get_mut(number).filter(|sent| sent.from < end) else { return false };
        let has_next = sent.to() < end;
        if sent.has(SACKED) {
            return has_next;
        }
        if sent.from < merged.0 || sent.to() > merged.1 {
            self.is_ragged = true;
            return has_next;
        }
        let len = u64::from(sent.len);
        // A retransmission of what is not lost is believed to be on its way still.
        let cleared = if sent.has(LOST) { LOST | RESENT } else { 0 };
        self.waiting -= u64::from(sent.waits());
        uncount(&mut self.beliefs, sent.marks & cleared, len);
        if !sent.has(EVER_RESENT) {
            progress.note_original(sent, moment);
            // Blocks come in any order.
            progress.held.add(sent.at);
        }
        self.newest.advance(sent, moment);
        sent.marks = sent.marks & !cleared | SACKED;
        self.beliefs.sacked += len;
        progress.sacked += len;
        progress.delivered += len;
        has_next
    }

    /// The receiver threw away what it had SACKed (RFC 2018 §8).
    fn forget_held(&mut self) {
        self.segments.unmark(SACKED);
        self.held.clear();
        self.sack_cache.forget();
        self.beliefs.sacked = 0;
        self.judged = 0;
    }

    /// Data that was believed to be lost was not.
    pub(super) fn unmark_lost(&mut self) {
        self.segments.unmark(LOST);
        (self.beliefs.lost, self.waiting) = (0, 0);
        self.judged = 0;
        self.newest.advanced = true;
    }

    /// Whether what is recorded is what was sent and is not acknowledged; large flights are taken on trust.
    pub(super) fn is_sound(&self, una: u64, nxt: u64) -> bool {
        if self.segments.len() > 64 {
            return true;
        }
        let sum =
            |mark| self.segments.iter().filter(|sent| sent.has(mark)).map(|sent| u64::from(sent.len)).sum();
        self.segments.front().map_or(una, |head| head.from) >= una
            && self.segments.back().map_or(una, Sent::to) <= nxt.max(una)
            && self.waiting == self.segments.iter().filter(|sent| sent.waits()).count() as u64
            && self.beliefs == Beliefs { sacked: sum(SACKED), lost: sum(LOST), resent: sum(RESENT) }
    }
}

/// `len` bytes of a segment with these marks are no longer counted.
#[inline]
fn uncount(beliefs: &mut Beliefs, marks: u8, len: u64) {
    if marks & (SACKED | LOST | RESENT) != 0 {
        let counted = |mark| if marks & mark != 0 { len } else { 0 };
        beliefs.sacked -= counted(SACKED);
        beliefs.lost -= counted(LOST);
        beliefs.resent -= counted(RESENT);
    }
}

/// An instant on the clock of timestamps, which ticks once a millisecond, as Linux's does.
pub(super) fn in_millis(at: Time) -> u64 {
    at.as_nanos() / 1_000_000
}
