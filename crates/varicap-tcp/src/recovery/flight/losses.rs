//! Losses among the segments in flight, and which of them are resent. Source: RFC 8985 §6.2.
//!
//! A loss is found by walking originals and retransmissions from where the last walk ended, so that a large window costs no
//! more than what has happened to it.

use varicap_units::{Span, Time};

use super::{EVER_RESENT, Flight, LOST, RESENT, SACKED, Sent};
use crate::recovery::{Found, note};

impl Flight {
    /// RFC 8985 §6.2 step 5: marks what left so long before the newest delivery that it must be lost. Returns how much
    /// is newly lost [B], and how long the others still wait for `reo_wnd` to end; no time at all: none waits.
    pub(in crate::recovery) fn find_lost(
        &mut self,
        now: Time,
        reo_wnd: Span,
        list: &mut Found,
    ) -> (u64, Span) {
        let (originals, first) = self.find_lost_originals(now, reo_wnd, list);
        let (again, second) = self.find_lost_again(now, reo_wnd, list);
        (originals + again, first.max(second))
    }

    fn find_lost_originals(&mut self, now: Time, reo_wnd: Span, list: &mut Found) -> (u64, Span) {
        let (mut found, mut waits) = (0, Span::ZERO);
        let mut number = self.judged.max(self.segments.first());
        while let Some(&sent) = self.segments.get(number) {
            if !sent.has(EVER_RESENT) && !self.newest.left_after(&sent) {
                break;
            }
            if sent.has(SACKED) {
                number = if self.is_ragged { self.after_held(number, &sent) } else { number + 1 };
            } else {
                if !sent.has(LOST | EVER_RESENT) {
                    let left = self.newest.remaining(now, &sent, reo_wnd);
                    waits = waits.max(left);
                    if left == Span::ZERO {
                        found += u64::from(sent.len);
                        note(list, sent.from, sent.to());
                        self.lose(number);
                    }
                }
                number += 1;
            }
            if waits == Span::ZERO {
                self.judged = number;
            }
        }
        (found, waits)
    }

    /// The number of the first segment beyond the range that the receiver holds around `sent`, segment `number`.
    #[cold]
    #[inline(never)]
    fn after_held(&self, number: u64, sent: &Sent) -> u64 {
        let range = self.held.partition_point(|range| range.1 <= sent.from);
        let end = self.held.get(range).map_or(sent.from, |range| range.1);
        // A segment of which only a part is held is passed, too.
        (self.segments.number_of(end.saturating_sub(1)) + 1).min(self.segments.end()).max(number + 1)
    }

    fn find_lost_again(&mut self, now: Time, reo_wnd: Span, list: &mut Found) -> (u64, Span) {
        let (mut found, mut waits, mut place) = (0, Span::ZERO, 0);
        while let Some(&(number, at)) = self.again.get(place) {
            if at > self.newest.at {
                break; // as have all behind it
            }
            let is_last = |sent: &Sent| {
                let is_late = sent.has(RESENT) || !sent.has(LOST);
                sent.at == at && !sent.has(SACKED) && is_late
            };
            if let Some(sent) = self.segments.get(number).copied().filter(is_last) {
                if !self.newest.left_after(&sent) {
                    break;
                }
                let left = self.newest.remaining(now, &sent, reo_wnd);
                waits = waits.max(left);
                if left == Span::ZERO {
                    found += u64::from(sent.len);
                    note(list, sent.from, sent.to());
                    self.lose(number);
                }
            }
            // A segment that waits stays, and so does what lies behind it, until it is the first.
            if waits == Span::ZERO {
                self.again.pop_front();
            } else {
                place += 1;
            }
        }
        (found, waits)
    }

    /// Segment `number` is lost, and so is its last retransmission, if it had one.
    #[inline(never)]
    fn lose(&mut self, number: u64) {
        let Some(sent) = self.segments.get_mut(number) else { return };
        let len = u64::from(sent.len);
        self.waiting += u64::from(!sent.waits());
        if sent.has(RESENT) {
            self.beliefs.resent -= len;
        }
        if !sent.has(LOST) {
            self.beliefs.lost += len;
        }
        sent.marks = sent.marks & !RESENT | LOST;
        self.resend_from = self.resend_from.min(number);
    }

    /// A timeout: all is lost but what the receiver holds and what left less than a round trip ago. Returns how much of
    /// that is news [B].
    pub(in crate::recovery) fn lose_all(&mut self, now: Time, list: &mut Found) -> u64 {
        if self.segments.front().is_some_and(|head| head.has(SACKED)) {
            self.forget_held();
        }
        let (before, first, mut found) = (self.newest, self.segments.first(), 0);
        for number in first..self.segments.end() {
            let Some(&sent) = self.segments.get(number) else { break };
            let is_recent = number > first && before.remaining(now, &sent, Span::ZERO) > Span::ZERO;
            if !sent.has(SACKED) && !is_recent {
                if !sent.has(LOST) || sent.has(RESENT) {
                    found += u64::from(sent.len);
                    note(list, sent.from, sent.to());
                }
                self.lose(number);
            }
        }
        found
    }

    /// The first segment that is lost and not on its way again.
    pub(in crate::recovery) fn next_resend(&mut self) -> Option<(u64, u64)> {
        if !self.has_holes() {
            return None;
        }
        // The next search begins where this one ends; a loss below takes it back.
        let mut number = self.resend_from.max(self.segments.first());
        while let Some(sent) = self.segments.get(number) {
            if sent.waits() {
                self.resend_from = number;
                return Some((sent.from, sent.to()));
            }
            number += 1;
        }
        debug_assert!(false, "none of {} holes", self.waiting);
        None
    }
}
