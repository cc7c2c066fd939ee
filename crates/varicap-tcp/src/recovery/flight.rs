//! A record of each segment in flight: when it left last, and what has become of it. Source: RFC 8985 §5.2.
//!
//! Segments are kept in the order of their bytes, which is that of their first transmission; those that were resent are
//! listed once more, in the order in which they left again. A loss is found by walking both lists from where the last
//! walk ended, past what the receiver holds in one step, so that a large window costs no more than the holes in it.

use std::collections::VecDeque;

use varicap_units::{Span, Time};

use super::{Beliefs, Found, note};
use crate::segment::Segment;

/// The receiver holds it.
const SACKED: u8 = 1;
/// It is lost; its last retransmission, if that is in flight, is not.
const LOST: u8 = 2;
/// A retransmission of it is in flight.
const RESENT: u8 = 4;
/// It was resent at least once.
const EVER_RESENT: u8 = 8;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// First byte [B].
    from: u64,
    /// When it left last.
    at: Time,
    len: u32,
    marks: u8,
    /// Which of those that left at that instant, where the order of their bytes is not that in which they left.
    turn: u8,
}

impl Sent {
    #[inline]
    fn to(&self) -> u64 {
        self.from + u64::from(self.len)
    }

    #[inline]
    fn has(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }
}

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
    fn left_after(&self, sent: &Sent) -> bool {
        (self.at, self.turn, self.end) > (sent.at, sent.turn, sent.to())
    }

    /// How long until `sent` counts as lost, with `patience` for reordering; none: it does now.
    fn patience_left(&self, now: Time, sent: &Sent, patience: Span) -> Option<Span> {
        let (limit, age) = (self.rtt.saturating_add(patience), now.since(sent.at));
        (limit > age).then(|| limit - age)
    }
}

/// What the rules need to know of the moment an acknowledgement arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: Time,
    /// Least RTT seen.
    pub(super) least: Option<Span>,
    /// When what it echoes was sent, if timestamps are exact.
    pub(super) echo: Option<Time>,
    /// Data below was sent when the current recovery began [B].
    pub(super) recover: u64,
    /// End of the highest segment that was SACKed before [B].
    pub(super) highest: u64,
}

/// What an acknowledgement has shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Data newly delivered, cumulatively or selectively [B].
    pub(super) delivered: u64,
    /// Data newly SACKed [B].
    pub(super) sacked: u64,
    /// When the first of the segments left that were newly acknowledged cumulatively, and never resent.
    pub(super) first_acked: Option<Time>,
    /// The same of those that were newly SACKed.
    pub(super) first_sacked: Option<Time>,
    /// A segment was acknowledged that had been resent.
    pub(super) acked_resent: bool,
    /// Data of before the recovery arrived that was never resent: the timeout, if it was one, was spurious (RFC 5682).
    pub(super) acked_original: bool,
    /// The lowest segment that arrived after later ones, although it was never resent [B].
    pub(super) reordered: Option<u64>,
}

/// All segments in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    segments: VecDeque<Sent>,
    /// What the receiver holds: sorted, disjoint, not touching `[start, end)` [B].
    held: VecDeque<(u64, u64)>,
    /// Retransmissions in the order in which they left: first byte and time.
    again: VecDeque<(u64, Time)>,
    sacked: u64,
    lost: u64,
    resent: u64,
    /// All originals that begin below are delivered or lost [B].
    judged: u64,
    /// No segment that begins below waits to be resent [B].
    resend_from: u64,
    /// The instant of the last retransmission, and its turn.
    turn: (Time, u8),
    pub(super) newest: Newest,
}

impl Flight {
    /// What is believed of the data above SND.UNA.
    pub(super) fn beliefs(&self) -> Beliefs {
        Beliefs { sacked: self.sacked, lost: self.lost, resent: self.resent }
    }

    /// What left the pipe before it is acknowledged, less what was put there twice [B].
    pub(super) fn outside_pipe(&self) -> i64 {
        (self.sacked + self.lost) as i64 - self.resent as i64
    }

    /// Whether the receiver holds nothing out of order, and nothing is lost or was resent.
    pub(super) fn is_plain(&self) -> bool {
        self.sacked | self.lost | self.resent == 0
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

    /// The last segment sent.
    pub(super) fn tail(&self) -> Option<(u64, u64)> {
        self.segments.back().map(|tail| (tail.from, tail.to()))
    }

    /// Retransmissions in flight.
    pub(super) fn resent_segments(&self) -> u64 {
        self.segments.iter().filter(|sent| sent.has(RESENT)).count() as u64
    }

    /// Whether a segment that was resent is not acknowledged yet.
    pub(super) fn has_resent(&self) -> bool {
        self.segments.front().is_some_and(|head| head.has(EVER_RESENT)) || self.resent > 0
    }

    /// The bytes from `from` to `to` leave now; whether they had left before.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, from: u64, to: u64) -> bool {
        debug_assert!(from < to, "an empty segment");
        if self.segments.back().is_none_or(|last| last.to() <= from) {
            let turn = self.turn_at(now);
            self.segments.push_back(Sent { from, at: now, len: (to - from) as u32, marks: 0, turn });
            return false;
        }
        self.on_resent(now, from);
        true
    }

    #[inline]
    fn turn_at(&self, now: Time) -> u8 {
        if self.turn.0 == now { self.turn.1 } else { 0 }
    }

    /// RFC 8985 §5.2 tells segments of one instant apart by their bytes. Here an instant may see new data leave, and then a
    /// retransmission; in Linux the clock has moved on by then, and no delivery of that data says that it is lost.
    #[cold]
    fn on_resent(&mut self, now: Time, from: u64) {
        let mut turn = self.turn_at(now);
        let new_data = self.segments.back().is_some_and(|last| (last.at, last.turn) == (now, turn));
        let behind = self.again.back().is_some_and(|&(later, at)| at == now && later > from);
        turn = turn.saturating_add(u8::from(new_data || behind));
        self.turn = (now, turn);
        let index = self.index_of(from);
        let Some(sent) = self.segments.get_mut(index) else { return };
        // A probe repeats what is not lost: one of the two is in the network, as far as anybody knows, and counts once.
        if sent.marks & (LOST | RESENT) == LOST {
            self.resent += u64::from(sent.len);
            sent.marks |= RESENT;
        }
        sent.marks |= EVER_RESENT;
        (sent.at, sent.turn) = self.turn;
        self.again.push_back((sent.from, now));
    }

    /// The place of the segment that holds `byte`.
    fn index_of(&self, byte: u64) -> usize {
        self.segments.partition_point(|sent| sent.to() <= byte)
    }

    /// In the fast path: SND.UNA moved to `una`, nothing was out of order, and nothing had been resent.
    #[inline]
    pub(super) fn acknowledge_in_order(&mut self, now: Time, una: u64) {
        debug_assert!(self.is_plain(), "{:?}", self.beliefs());
        let mut last = None;
        while let Some(head) = self.segments.front() {
            let end = head.to();
            if end > una {
                if head.from < una {
                    self.cut_head(una);
                }
                break;
            }
            last = Some(((head.at, head.turn), end));
            self.segments.pop_front();
        }
        // Nothing was resent, so that the last one left last.
        if let Some((left, end)) = last {
            self.newest.rtt = now.since(left.0);
            (self.newest.at, self.newest.turn) = left.max((self.newest.at, self.newest.turn));
            self.newest.end = self.newest.end.max(end);
            self.newest.advanced = true;
        }
    }

    /// Part of the first segment is acknowledged; returns how much [B].
    #[cold]
    fn cut_head(&mut self, una: u64) -> u64 {
        let Some(head) = self.segments.front_mut() else { return 0 };
        let cut = una.saturating_sub(head.from).min(u64::from(head.len));
        head.from += cut;
        head.len -= cut as u32;
        let marks = head.marks;
        self.uncount(marks, cut);
        cut
    }

    /// `len` bytes of a segment with these marks are no longer counted.
    fn uncount(&mut self, marks: u8, len: u64) {
        for (mark, sum) in [(SACKED, &mut self.sacked), (LOST, &mut self.lost), (RESENT, &mut self.resent)] {
            if marks & mark != 0 {
                *sum -= len;
            }
        }
    }

    /// SND.UNA moved to `una`.
    pub(super) fn acknowledge(&mut self, una: u64, moment: &Moment, progress: &mut Progress) {
        while let Some(&head) = self.segments.front() {
            if head.to() > una {
                if head.from < una {
                    progress.delivered += if head.has(SACKED) { 0 } else { una - head.from };
                    self.cut_head(una);
                }
                break;
            }
            self.segments.pop_front();
            self.uncount(head.marks, u64::from(head.len));
            if head.has(EVER_RESENT) {
                progress.acked_resent = true;
            } else if !head.has(SACKED) {
                progress.first_acked.get_or_insert(head.at);
                progress.note_original(&head, moment);
            }
            if !head.has(SACKED) {
                progress.delivered += u64::from(head.len);
                self.advance_newest(&head, moment);
            }
        }
        while self.held.front().is_some_and(|range| range.1 <= una) {
            self.held.pop_front();
        }
        if let Some(first) = self.held.front_mut() {
            first.0 = first.0.max(una);
        }
        self.judged = self.judged.max(una);
        self.resend_from = self.resend_from.max(una);
    }

    /// Takes the SACK blocks of an acknowledgement; those that name data never sent are ignored.
    pub(super) fn take_blocks(&mut self, segment: &Segment, moment: &Moment, progress: &mut Progress) {
        let (una, end) = (segment.ack, self.segments.back().map_or(0, Sent::to));
        let count = usize::from(segment.sack_count).min(segment.sack.len());
        for &(from, to) in &segment.sack[..count] {
            let (from, to) = (una.saturating_add(u64::from(from)), una.saturating_add(u64::from(to)));
            if from < to && to <= end {
                self.hold(from, to, moment, progress);
            }
        }
    }

    /// The receiver holds `[start, end)`: marks the segments that it newly covers.
    fn hold(&mut self, start: u64, end: u64, moment: &Moment, progress: &mut Progress) {
        let first = self.held.partition_point(|range| range.1 < start);
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
            self.held.drain(first + 1..next);
        }
    }

    /// Marks the segments that touch `gap` and lie within `merged`.
    fn mark_held(&mut self, gap: (u64, u64), merged: (u64, u64), moment: &Moment, progress: &mut Progress) {
        for index in self.index_of(gap.0)..self.segments.len() {
            let sent = self.segments[index];
            if sent.from >= gap.1 {
                break;
            }
            if sent.from < merged.0 || sent.to() > merged.1 || sent.has(SACKED) {
                continue;
            }
            let len = u64::from(sent.len);
            // A retransmission of what is not lost is believed to be on its way still.
            let cleared = if sent.has(LOST) { LOST | RESENT } else { 0 };
            self.uncount(sent.marks & cleared, len);
            if !sent.has(EVER_RESENT) {
                progress.note_original(&sent, moment);
                progress.first_sacked.get_or_insert(sent.at);
            }
            self.advance_newest(&sent, moment);
            self.segments[index].marks = sent.marks & !cleared | SACKED;
            self.sacked += len;
            progress.sacked += len;
            progress.delivered += len;
        }
    }

    /// RFC 8985 §6.2 step 2: `sent` was delivered.
    fn advance_newest(&mut self, sent: &Sent, moment: &Moment) {
        let rtt = moment.now.since(sent.at);
        let is_early = moment.least.is_some_and(|least| rtt < least);
        let is_older = moment.echo.is_some_and(|echo| in_millis(echo) < in_millis(sent.at));
        // An answer to an earlier transmission says nothing about the last one.
        if sent.has(EVER_RESENT) && (is_early || is_older) {
            return;
        }
        self.newest.rtt = rtt;
        self.newest.advanced = true;
        if !self.newest.left_after(sent) {
            (self.newest.at, self.newest.turn, self.newest.end) = (sent.at, sent.turn, sent.to());
        }
    }

    /// RFC 8985 §6.2 step 5: marks what left so long before the newest delivery that it must be lost. Returns how much
    /// is newly lost [B], and how long the others still wait for `patience` to end.
    pub(super) fn find_lost(&mut self, now: Time, patience: Span, list: &mut Found) -> (u64, Option<Span>) {
        let (originals, first) = self.find_lost_originals(now, patience, list);
        let (again, second) = self.find_lost_again(now, patience, list);
        (originals + again, first.max(second))
    }

    fn find_lost_originals(&mut self, now: Time, patience: Span, list: &mut Found) -> (u64, Option<Span>) {
        let (mut found, mut waits) = (0, None);
        let mut index = self.segments.partition_point(|sent| sent.from < self.judged);
        while let Some(&sent) = self.segments.get(index) {
            if !self.newest.left_after(&sent) && !sent.has(EVER_RESENT) {
                break;
            }
            if sent.has(SACKED) {
                index = self.after_held(index);
                if waits.is_none() {
                    self.judged = self.segments.get(index).map_or(sent.to(), |next| next.from);
                }
                continue;
            }
            if !sent.has(LOST | EVER_RESENT) {
                let left = self.newest.patience_left(now, &sent, patience);
                waits = waits.max(left);
                if left.is_none() {
                    found += u64::from(sent.len);
                    note(list, sent.from, sent.to());
                    self.lose(index);
                }
            }
            if waits.is_none() {
                self.judged = sent.to();
            }
            index += 1;
        }
        (found, waits)
    }

    /// The place of the first segment beyond the range that the receiver holds around the one at `index`.
    fn after_held(&self, index: usize) -> usize {
        let from = self.segments[index].from;
        let range = self.held.partition_point(|range| range.1 <= from);
        let end = self.held.get(range).map_or(from, |range| range.1);
        self.segments.partition_point(|sent| sent.from < end).max(index + 1)
    }

    fn find_lost_again(&mut self, now: Time, patience: Span, list: &mut Found) -> (u64, Option<Span>) {
        let (mut found, mut waits, mut place) = (0, None, 0);
        while let Some(&(from, at)) = self.again.get(place) {
            let index = self.index_of(from);
            let is_last = |sent: &Sent| {
                let is_late = sent.has(RESENT) || !sent.has(LOST);
                sent.from <= from && sent.at == at && !sent.has(SACKED) && is_late
            };
            if let Some(sent) = self.segments.get(index).copied().filter(is_last) {
                if !self.newest.left_after(&sent) {
                    break;
                }
                let left = self.newest.patience_left(now, &sent, patience);
                waits = waits.max(left);
                if left.is_none() {
                    found += u64::from(sent.len);
                    note(list, sent.from, sent.to());
                    self.lose(index);
                }
            }
            // What waits stays, and so does what lies behind it, until it is the first.
            if waits.is_none() {
                self.again.pop_front();
            } else {
                place += 1;
            }
        }
        (found, waits)
    }

    /// The segment at `index` is lost, and so is its last retransmission, if it had one.
    fn lose(&mut self, index: usize) {
        let sent = &mut self.segments[index];
        let (from, len) = (sent.from, u64::from(sent.len));
        if sent.has(RESENT) {
            self.resent -= len;
        }
        if !sent.has(LOST) {
            self.lost += len;
        }
        sent.marks = sent.marks & !RESENT | LOST;
        self.resend_from = self.resend_from.min(from);
    }

    /// A timeout: all is lost but what the receiver holds and what left less than a round trip ago. Returns how much of
    /// that is news [B].
    pub(super) fn lose_all(&mut self, now: Time, list: &mut Found) -> u64 {
        if self.segments.front().is_some_and(|head| head.has(SACKED)) {
            self.forget_held();
        }
        let (before, mut found) = (self.newest, 0);
        for index in 0..self.segments.len() {
            let sent = self.segments[index];
            let is_recent = index > 0 && before.patience_left(now, &sent, Span::ZERO).is_some();
            if !sent.has(SACKED) && !is_recent {
                if !sent.has(LOST) || sent.has(RESENT) {
                    found += u64::from(sent.len);
                    note(list, sent.from, sent.to());
                }
                self.lose(index);
            }
        }
        found
    }

    /// The receiver threw away what it had SACKed (RFC 2018 §8).
    fn forget_held(&mut self) {
        self.segments.iter_mut().for_each(|sent| sent.marks &= !SACKED);
        self.held.clear();
        self.sacked = 0;
        self.judged = 0;
    }

    /// What was believed to be lost was not.
    pub(super) fn absolve(&mut self) {
        self.segments.iter_mut().for_each(|sent| sent.marks &= !LOST);
        self.lost = 0;
        self.judged = 0;
        self.newest.advanced = true;
    }

    /// The first segment that is lost and not on its way again.
    pub(super) fn next_resend(&mut self) -> Option<(u64, u64)> {
        let first = self.segments.partition_point(|sent| sent.from < self.resend_from);
        let found =
            self.segments.range(first..).find(|sent| sent.has(LOST) && !sent.has(RESENT | SACKED)).copied();
        // The next search begins where this one ended; a loss below takes it back.
        self.resend_from = found.or(self.segments.back().copied()).map_or(self.resend_from, |sent| sent.from);
        found.map(|sent| (sent.from, sent.to()))
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
            && (self.sacked, self.lost, self.resent) == (sum(SACKED), sum(LOST), sum(RESENT))
    }
}

impl Progress {
    /// `sent`, which was never resent, was delivered.
    fn note_original(&mut self, sent: &Sent, moment: &Moment) {
        self.acked_original |= sent.to() <= moment.recover;
        if sent.from < moment.highest {
            self.reordered = Some(self.reordered.map_or(sent.from, |lowest| lowest.min(sent.from)));
        }
    }
}

/// An instant on the clock of timestamps, which ticks once a millisecond, as Linux's does.
pub(super) fn in_millis(at: Time) -> u64 {
    at.as_nanos() / 1_000_000
}
