//! Data that is held out of order, and the SACK blocks that report it. Source: RFC 2018, RFC 2883.

use varicap_units::{Bytes, Time};

use super::delay::Delay;
use super::{Receiver, UNUSUAL};
use crate::config::SackList;
use crate::segment::{MAX_SACK_BLOCKS, Segment, option_sack};

impl Receiver {
    /// Data held out of order [B].
    pub fn out_of_order(&self) -> Bytes {
        self.held.iter().map(|&(start, end)| Bytes::new(end - start)).sum()
    }

    /// A segment that is not the next one in order: mostly a later one.
    #[inline(never)]
    pub(super) fn on_unexpected(&mut self, now: Time, segment: &Segment) -> u64 {
        if !self.is_merely_late(segment) {
            return self.on_unusual(now, segment);
        }
        self.hold_apart(now, (segment.seq, segment.seq + u64::from(segment.len)), segment);
        0
    }

    /// Whether all that there is to a segment is that others are missing before it.
    #[inline]
    fn is_merely_late(&self, segment: &Segment) -> bool {
        segment.seq > self.next
            && segment.len > 0
            && segment.seq + u64::from(segment.len) <= self.edge
            && segment.flags.0 & UNUSUAL.0 == self.plain.0
            && self.delay.as_ref().is_none_or(|delay| delay.expects(segment))
    }

    /// `segment` brought `data` out of order. RFC 5681 §4.2: that is acknowledged at once, unless it would be too often.
    #[inline(always)]
    pub(super) fn hold_apart(&mut self, now: Time, data: (u64, u64), segment: &Segment) {
        let has_saved = self.delay.as_deref().is_some_and(Delay::has_saved);
        if has_saved && !self.is_near(data) {
            // Linux tcp_sack_compress_send_ack: what was saved tells of the blocks as they were.
            self.acknowledge_before(now);
        }
        self.hold(data.0, data.1);
        let deadline = match &mut self.delay {
            Some(delay) if self.selective => {
                delay.on_held(now, segment, self.next, &self.held);
                delay.compress(now, self.next)
            }
            _ => None,
        };
        if let Some(deadline) = deadline {
            self.ack_at = self.ack_at.min(deadline);
        }
        match self.before_change.as_deref_mut() {
            Some(Some(before)) => before.is_due_after = deadline.is_none(),
            _ => self.ack_due |= deadline.is_none(),
        }
    }

    /// Whether data belongs to one of the two blocks reported first, or there are no more than these (TCP_SACK_BLOCKS_EXPECTED).
    fn is_near(&self, data: (u64, u64)) -> bool {
        self.recent.len() < 2 || self.recent[..2].iter().any(|&block| touch(block, data))
    }

    /// `block` arrived although it was there. The first one is reported if there are several (RFC 2883 §4).
    #[inline]
    pub(super) fn note_duplicate(&mut self, block: (u64, u64)) {
        if self.reports_duplicates && self.duplicate.is_none() && block.0 < block.1 {
            (self.duplicate, self.has_extras) = (Some(block), true);
        }
    }

    /// Moves out-of-order data that is now in order, as data from `arrived` on closed the gap, into the stream.
    pub(super) fn release(&mut self, arrived: u64) {
        if let Some(&(start, end)) = self.held.front() {
            self.note_duplicate((start.max(arrived), end.min(self.next)));
        }
        while let Some(&(start, end)) = self.held.front() {
            if start > self.next {
                break;
            }
            self.next = self.next.max(end);
            self.held.pop_front();
        }
        self.forget_delivered();
    }

    /// Blocks that are in order now are not reported any more. Source: Linux `tcp_sack_remove`.
    fn forget_delivered(&mut self) {
        self.recent.retain(|block| block.0 > self.next);
    }

    /// Keeps `[start, end)` until the gap before it is filled.
    fn hold(&mut self, start: u64, end: u64) {
        let merged = self.keep(start, end);
        if !self.selective {
            return;
        }
        if let [only] = &mut self.recent[..]
            && only.1 == start
            && merged == (only.0, end)
        {
            // Mostly it is the only one that grows.
            *only = merged;
            return;
        }
        match self.sack_list {
            SackList::Held => self.report_first(merged, usize::from(self.max_blocks)),
            SackList::Linux => {
                let known = self.recent.iter().find(|&&block| touch(block, (start, end)));
                let grown = known.map_or((start, end), |&(from, to)| (from.min(start), to.max(end)));
                self.report_first(grown, MAX_SACK_BLOCKS);
            }
        }
    }

    /// Adds `[start, end)` to what is held; returns the block that it is then part of.
    #[inline]
    fn keep(&mut self, start: u64, end: u64) -> (u64, u64) {
        if let Some(last) = self.held.back_mut().filter(|last| last.0 <= start && start <= last.1) {
            // Almost always it extends the last block.
            let known = last.1;
            last.1 = known.max(end);
            let merged = *last;
            self.note_duplicate((start, end.min(known)));
            return merged;
        }
        self.keep_apart(start, end)
    }

    #[inline(never)]
    fn keep_apart(&mut self, start: u64, end: u64) -> (u64, u64) {
        let first = match self.held.back() {
            Some(&(_, last)) if last < start => self.held.len(),
            _ => self.held.partition_point(|range| range.1 < start),
        };
        let mut merged = (start, end);
        let mut next = first;
        while let Some(&(from, to)) = self.held.get(next) {
            if from > end {
                break;
            }
            merged = (merged.0.min(from), merged.1.max(to));
            self.note_duplicate((from.max(start), to.min(end)));
            next += 1;
        }
        if next == first {
            self.held.insert(first, merged);
        } else {
            self.held[first] = merged;
            if next > first + 1 {
                self.held.drain(first + 1..next);
            }
        }
        merged
    }

    /// RFC 2018 §4: the block of the segment just received goes first, the others keep their order; those that it has
    /// swallowed are no more. At most `most` are remembered.
    fn report_first(&mut self, mut block: (u64, u64), most: usize) {
        self.recent.retain(|&other| {
            let swallowed = touch(other, block);
            if swallowed {
                block = (block.0.min(other.0), block.1.max(other.1));
            }
            !swallowed
        });
        self.recent.truncate(most - 1);
        self.recent.insert(0, block);
    }

    /// Whether a block is one of those held, or in Linux's list a part of one.
    fn is_held(&self, block: (u64, u64)) -> bool {
        self.held.iter().any(|&held| {
            held == block || self.sack_list == SackList::Linux && held.0 <= block.0 && block.1 <= held.1
        })
    }

    /// Adds the SACK option: `duplicate` first, then what is held.
    pub(super) fn report(&self, duplicate: Option<(u64, u64)>, segment: &mut Segment) {
        let mut count = 0;
        let mut add = |segment: &mut Segment, (start, end)| {
            // Unless it is further away than an offset can say, or there is no more room.
            if let Some(block) = segment.offset(start).zip(segment.offset(end))
                && count < usize::from(self.max_blocks)
            {
                segment.sack[count] = block;
                count += 1;
            }
        };
        if let Some(block) = duplicate {
            add(segment, block);
        }
        for &block in &self.recent {
            debug_assert!(self.is_held(block), "{block:?} is not held: {:?}", self.held);
            add(segment, block);
        }
        segment.sack_count = count as u8;
        if self.counts_options {
            segment.wire_size += option_sack(segment.sack_count);
        }
    }
}

/// Whether two blocks overlap, or one begins where the other ends. Source: Linux `tcp_sack_extend`.
fn touch(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use varicap_units::{Amount, Span};

    use super::*;
    use crate::ack_policy::{AckPolicy, DelayedAck};
    use crate::config::TcpConfig;
    use crate::ecn::EcnMode;
    use crate::segment::Flags;

    /// Gives two receivers the same segments, one of them without the shortcut for those that are merely late, and asserts that
    /// they never differ. A segment is its place, in steps of 500 B, its length [B], its flags, and the time since the one
    /// before [ms]. Returns how many were merely late.
    fn compare(config: &TcpConfig, segments: &[(u64, u32, Flags, u64)]) -> u32 {
        let [mut short, mut long] = [(); 2].map(|()| Receiver::new(config, Time::ZERO));
        let (mut now, mut taken) = (Time::ZERO, 0);
        for &(place, len, flags, pause) in segments {
            now += Span::from_millis(pause);
            assert_eq!(short.poll(now), long.poll(now));
            let segment = Segment { seq: 500 * place, len, flags, sent_at: now, ..Segment::default() };
            let is_late = long.is_merely_late(&segment);
            taken += u32::from(is_late);
            let added = if is_late { long.on_unusual(now, &segment) } else { long.push(now, &segment) };
            assert_eq!(short.push(now, &segment), added);
            assert_eq!(format!("{short:?}"), format!("{long:?}"), "after {segment:?}");
            assert_eq!(short.poll(now), long.poll(now));
        }
        taken
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_merely_late_is_held_as_any_other_segment(
            segments in prop::collection::vec(
                (0u64..14, prop::sample::select(vec![0u32, 1, 500, 1000]), any::<(bool, bool, bool)>(), 0u64..60), 1..60,
            ),
            ack in prop::sample::select(vec![
                AckPolicy::Every, AckPolicy::Delayed(DelayedAck::default()), AckPolicy::Delayed(DelayedAck::linux()),
            ]),
            sacks in any::<bool>(), classic in any::<bool>(),
        ) {
            let config = TcpConfig {
                ack,
                handshake: false,
                mss: Bytes::new(500),
                recovery: if sacks { crate::Recovery::Sack } else { crate::Recovery::NewReno },
                ecn: if classic { EcnMode::Classic } else { EcnMode::Off },
                receive_window: Amount::Bytes(Bytes::new(6000)),
                ..TcpConfig::default()
            };
            let flags = |(ect, ce, cwr): (bool, bool, bool)| {
                [(ect, Flags::ECT), (ce && cwr, Flags::CE), (cwr && !ect, Flags::CWR)]
                    .into_iter()
                    .fold(Flags::default(), |all, (is_set, flag)| if is_set { all.with(flag) } else { all })
            };
            let segments: Vec<_> =
                segments.into_iter().map(|(place, len, bits, pause)| (place, len, flags(bits), pause)).collect();
            compare(&config, &segments);
        }
    }

    #[test]
    fn late_segments_are_taken_for_such() {
        let late = [4, 6, 8].map(|place| (place, 500, Flags::default(), 1));
        assert_eq!(compare(&TcpConfig { handshake: false, ..TcpConfig::default() }, &late), 3);
    }
}
