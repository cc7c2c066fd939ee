//! The data that the receiver holds above SND.UNA. Source: RFC 6675 §3 and §4.
//!
//! Every question of the RFC is answered from sorted ranges and three counters that are kept up to date as the
//! ranges change, so that an acknowledgement costs O(log n) and not a walk over the window.

use std::collections::VecDeque;

use super::sack_cache::SackCache;
use super::{Beliefs, Found, note};
use crate::place::Place;
use crate::segment::Segment;

/// The sender's picture of the receiver's out-of-order data. Ranges are `[start, end)` in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// SACKed ranges, sorted, disjoint, not touching.
    ranges: VecDeque<(u64, u64)>,
    /// Bytes in `ranges`.
    sacked: u64,
    /// IsLost holds for every byte below it that is not SACKed. Only grows.
    lost_edge: u64,
    /// Bytes below `lost_edge` that are neither SACKed nor acknowledged.
    lost: u64,
    /// RFC 6675's HighRxt: end of the highest retransmission of this recovery.
    high_rxt: u64,
    /// Bytes below `high_rxt` that are neither SACKed nor acknowledged: retransmissions on their way.
    resent: u64,
    /// The blocks of the last acknowledgement, as far as `ranges` has them.
    sack_cache: SackCache,
}

impl Scoreboard {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// SACKed data [B].
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Data that leaves the pipe before it is acknowledged, less what was put there twice [B]:
    /// RFC 6675's pipe is SND.NXT - SND.UNA minus this.
    pub(crate) fn outside_pipe(&self) -> i64 {
        (self.sacked + self.lost) as i64 - self.resent as i64
    }

    /// Whether anything lost has not been resent in this recovery: what is lost lies below HighRxt, or not all of it was.
    #[inline]
    pub(crate) fn has_holes(&self) -> bool {
        self.lost > self.resent
    }

    /// The state of the data above SND.UNA.
    pub(crate) fn beliefs(&self) -> Beliefs {
        Beliefs { sacked: self.sacked, lost: self.lost, resent: self.resent }
    }

    /// Whether the first unacknowledged byte is lost. Source: RFC 6675 §4 (IsLost).
    pub(crate) fn is_lost(&self, seq: u64) -> bool {
        seq < self.lost_edge
    }

    /// Whether the receiver threw away what it had SACKed: it says that it holds the very byte that it asks for.
    pub(crate) fn is_reneged(&self, una: u64) -> bool {
        self.ranges.front().is_some_and(|&(start, _)| start <= una)
    }

    /// Where the first range is that was SACKed.
    pub(crate) fn far(&self) -> Option<Place> {
        self.ranges.front().map(Place::of)
    }

    pub(crate) fn clear(&mut self) {
        *self = Scoreboard { ranges: std::mem::take(&mut self.ranges), ..Scoreboard::default() };
        self.ranges.clear();
    }

    /// SND.UNA moved from `from` to `to`.
    pub(crate) fn advance(&mut self, from: u64, to: u64) {
        debug_assert!(from <= to, "SND.UNA moves from {from} back to {to}");
        let mut hole = from;
        while let Some(&(start, end)) = self.ranges.front() {
            if start >= to {
                break;
            }
            self.fill(hole, start.max(hole));
            let covered = end.min(to);
            self.sacked -= covered - start;
            hole = covered;
            if end <= to {
                self.ranges.pop_front();
            } else {
                self.ranges[0].0 = to;
                break;
            }
        }
        if hole < to {
            self.fill(hole, to);
        }
        self.lost_edge = self.lost_edge.max(to);
        self.high_rxt = self.high_rxt.max(to);
    }

    /// `[from, to)` was neither SACKed nor acknowledged, and now is.
    fn fill(&mut self, from: u64, to: u64) {
        self.lost -= self.lost_edge.clamp(from, to) - from;
        self.resent -= self.high_rxt.clamp(from, to) - from;
    }

    /// Takes the SACK blocks of an acknowledgement; returns how many bytes they newly cover.
    /// Blocks that name data never sent are ignored. Source: RFC 6675 §4 (Update).
    pub(crate) fn update(&mut self, una: u64, sent: u64, segment: &Segment) -> u64 {
        let before = self.sacked;
        for (place, &(from, to)) in self.sack_cache.begin(segment).iter().enumerate() {
            let (start, end) = ((segment.ack + u64::from(from)).max(una), segment.ack + u64::from(to));
            if self.sack_cache.is_new(place, (from, to), sent) && start < end {
                self.insert(start, end);
            }
        }
        self.sacked - before
    }

    fn insert(&mut self, start: u64, end: u64) {
        if let Some(last) = self.ranges.back_mut().filter(|last| last.0 <= start && start <= last.1) {
            // Almost always a block extends the last range.
            let known = last.1;
            if known < end {
                last.1 = end;
                self.sack(known, end);
            }
            return;
        }
        let first = match self.ranges.back() {
            Some(&(last, _)) if start < last => self.ranges.partition_point(|range| range.1 < start),
            _ => self.ranges.len(),
        };
        let mut merged = (start, end);
        let mut hole = start;
        let mut next = first;
        while let Some(&(from, to)) = self.ranges.get(next) {
            if from > end {
                break;
            }
            if hole < from {
                self.sack(hole, from.min(end));
            }
            hole = hole.max(to);
            merged = (merged.0.min(from), merged.1.max(to));
            next += 1;
        }
        if hole < end {
            self.sack(hole, end);
        }
        if next == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            if next > first + 1 {
                self.ranges.drain(first + 1..next);
            }
        }
    }

    fn sack(&mut self, from: u64, to: u64) {
        self.sacked += to - from;
        self.fill(from, to);
    }

    /// Moves the edge of what is lost: below `threshold` discontiguous SACKed ranges, or below more than
    /// (`threshold` - 1) segments of SACKed bytes. Returns how much it newly finds to be lost [B].
    /// Source: RFC 6675 §4 (IsLost).
    pub(crate) fn find_lost(&mut self, una: u64, threshold: u32, mss: u64, list: &mut Found) -> u64 {
        // While the last range grows, all below it mostly is lost already.
        if self.ranges.back().is_none_or(|last| last.0 <= self.lost_edge) {
            return 0;
        }
        let enough = u64::from(threshold.saturating_sub(1)) * mss;
        let mut above = 0;
        for (count, &(start, end)) in self.ranges.iter().rev().take(threshold.max(1) as usize).enumerate() {
            above += end - start;
            if above > enough || count + 1 >= threshold as usize {
                return self.declare_lost(una, start, list);
            }
        }
        0
    }

    /// Everything below `edge` that is not SACKed is lost. Returns how much of it is news [B].
    pub(crate) fn declare_lost(&mut self, una: u64, edge: u64, list: &mut Found) -> u64 {
        // While nothing is SACKed or lost, SND.UNA moves unnoticed.
        self.lost_edge = self.lost_edge.max(una);
        if edge <= self.lost_edge {
            return 0;
        }
        let (mut sacked, mut hole) = (0, self.lost_edge);
        let first = self.ranges.partition_point(|range| range.1 <= self.lost_edge);
        for &(start, end) in self.ranges.range(first..) {
            if start >= edge {
                break;
            }
            if hole < start {
                note(list, hole, start);
            }
            hole = end;
            sacked += end.min(edge) - start.max(self.lost_edge);
        }
        if hole < edge {
            note(list, hole, edge);
        }
        let newly_lost = edge - self.lost_edge - sacked;
        self.lost += newly_lost;
        self.lost_edge = edge;
        newly_lost
    }

    /// A recovery begins: nothing of it has been retransmitted. Source: RFC 6675 §5 (step 3.1).
    pub(crate) fn begin(&mut self, una: u64) {
        self.high_rxt = una;
        self.resent = 0;
    }

    /// `[from, to)`, the first hole above HighRxt, was retransmitted.
    pub(crate) fn on_resent(&mut self, from: u64, to: u64) {
        if to > self.high_rxt {
            self.resent += to - from.max(self.high_rxt);
            self.high_rxt = to;
        }
    }

    /// The next segment to retransmit: the first hole above HighRxt that is lost (NextSeg rule 1) or, if `or_not`,
    /// any below the highest SACKed byte (rule 3); at most `mss` bytes.
    pub(crate) fn next_hole(&self, una: u64, mss: u64, or_not: bool) -> Option<(u64, u64)> {
        if !or_not && !self.has_holes() {
            return None;
        }
        let top = self.ranges.back().map_or(una, |range| range.1);
        let limit = if or_not { top } else { self.lost_edge };
        let from = self.high_rxt.max(una);
        let next = self.ranges.partition_point(|range| range.1 <= from);
        let (from, next) = match self.ranges.get(next) {
            Some(&(start, end)) if start <= from => (end, next + 1),
            _ => (from, next),
        };
        let bound = self.ranges.get(next).map_or(limit, |range| range.0.min(limit));
        (from < bound).then(|| (from, bound.min(from + mss)))
    }

    /// The last segment that is neither SACKed nor acknowledged below `sent` (NextSeg rule 4).
    pub(crate) fn last_hole(&self, una: u64, sent: u64, mss: u64) -> Option<(u64, u64)> {
        let mut end = sent;
        for &(start, to) in self.ranges.iter().rev() {
            if to < end {
                return Some((to.max(end.saturating_sub(mss)), end));
            }
            end = start;
        }
        (una < end).then(|| (una.max(end.saturating_sub(mss)), end))
    }

    /// End of the hole that starts at `una`, at most `mss` bytes.
    pub(crate) fn first_hole(&self, una: u64, sent: u64, mss: u64) -> (u64, u64) {
        let bound = self.ranges.front().map_or(sent, |range| range.0).max(una);
        (una, bound.min(una + mss).min(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(start: u64, end: u64) -> Segment {
        let mut segment = Segment { sack_count: 1, ..Segment::default() };
        segment.sack[0] = (start as u32, end as u32);
        segment
    }

    #[test]
    fn three_discontiguous_blocks_make_the_head_lost() {
        let mut board = Scoreboard::default();
        for start in [200, 400] {
            board.update(0, 1000, &block(start, start + 10));
            board.find_lost(0, 3, 100, &mut None);
            assert!(!board.is_lost(0));
        }
        board.update(0, 1000, &block(600, 610));
        board.find_lost(0, 3, 100, &mut None);
        assert!(board.is_lost(0) && board.is_lost(199) && !board.is_lost(300));
    }

    #[test]
    fn more_than_two_segments_of_sacked_bytes_make_the_head_lost() {
        let mut board = Scoreboard::default();
        board.update(0, 1000, &block(100, 300));
        board.find_lost(0, 3, 100, &mut None);
        assert!(!board.is_lost(0));
        board.update(0, 1000, &block(300, 301));
        board.find_lost(0, 3, 100, &mut None);
        assert!(board.is_lost(0));
    }

    #[derive(Clone, Debug)]
    enum Op {
        Sack(u64, u64),
        Advance(u64),
        Resend(bool),
        AllLost,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => (0u64..60, 1u64..8).prop_map(|(start, len)| Op::Sack(start, (start + len).min(60))),
            1 => (1u64..6).prop_map(Op::Advance),
            2 => any::<bool>().prop_map(Op::Resend),
            1 => Just(Op::AllLost),
        ]
    }

    proptest! {
        // The oracle is the RFC's own words, octet by octet.
        #[test]
        fn counters_agree_with_a_walk_over_every_octet(ops in proptest::collection::vec(op(), 1..60)) {
            let (mut board, mut una, mss) = (Scoreboard::default(), 0u64, 3u64);
            let (mut sacked, mut lost, mut resent) = (vec![false; 60], vec![false; 60], vec![false; 60]);
            for op in ops {
                match op {
                    Op::Sack(start, end) => {
                        let fresh = (start.max(una)..end).filter(|&at| !sacked[at as usize]).count() as u64;
                        (start.max(una)..end).for_each(|at| sacked[at as usize] = true);
                        prop_assert_eq!(board.update(una, 60, &block(start, end)), fresh);
                        let mut list = Some(Vec::new());
                        let found = board.find_lost(una, 3, mss, &mut list);
                        let listed: u64 = list.iter().flatten().map(|(from, to)| to - from).sum();
                        prop_assert_eq!(found, listed);
                        for at in una..60 {
                            let above = &sacked[at as usize..];
                            let bytes = above.iter().filter(|&&s| s).count() as u64;
                            let runs = above.windows(2).filter(|w| !w[0] && w[1]).count();
                            lost[at as usize] |= !sacked[at as usize] && (runs >= 3 || bytes > 2 * mss);
                        }
                    }
                    Op::Advance(by) => {
                        let to = (una + by).min(60);
                        board.advance(una, to);
                        una = to;
                    }
                    Op::Resend(or_not) => {
                        let hole = board.next_hole(una, mss, or_not);
                        let top = (0..60).rev().find(|&at| sacked[at as usize] && at >= una).map_or(0, |at| at + 1);
                        let high = (0..60).rev().find(|&at| resent[at as usize]).map_or(0, |at| at + 1).max(una);
                        let first = (high..60).find(|&at| {
                            let at_ = at as usize;
                            !sacked[at_] && if or_not { at < top } else { lost[at_] }
                        });
                        prop_assert_eq!(hole.map(|hole| hole.0), first);
                        if let Some((from, to)) = hole {
                            prop_assert!(to - from <= mss && (from..to).all(|at| !sacked[at as usize]));
                            board.on_resent(from, to);
                            (from..to).for_each(|at| resent[at as usize] = true);
                        }
                    }
                    Op::AllLost => {
                        board.begin(una);
                        board.declare_lost(una, 60, &mut None);
                        resent.fill(false);
                        (una..60).for_each(|at| lost[at as usize] |= !sacked[at as usize]);
                    }
                }
                let pipe: i64 = (una..60).filter(|&at| !sacked[at as usize]).map(|at| {
                    i64::from(!lost[at as usize]) + i64::from(resent[at as usize])
                }).sum();
                prop_assert_eq!((60 - una) as i64 - board.outside_pipe(), pipe);
            }
        }
    }
}
