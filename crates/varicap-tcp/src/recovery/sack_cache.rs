//! Which SACK blocks are news: an acknowledgement repeats those of the one before, perhaps behind a new one (RFC 2018 §4).

use crate::segment::{MAX_SACK_BLOCKS, Segment};

/// No block: one that does not count is noted so.
const NONE: Block = 0;

/// A block as one number: its end above its beginning, offsets from an acknowledgement [B].
type Block = u64;

/// The blocks of the last acknowledgement, as far as they count.
#[derive(Clone, Debug, Default)]
pub(super) struct SackCache {
    /// From where they count [B].
    ack: u64,
    blocks: [Block; MAX_SACK_BLOCKS],
    /// Which one had the place before the one that is looked at.
    above: Block,
    count: u8,
    /// How many the acknowledgement before had.
    count_before: u8,
}

impl SackCache {
    /// Another acknowledgement; its blocks, which are to be looked at in their order.
    #[inline]
    pub(super) fn begin<'a>(&mut self, segment: &'a Segment) -> &'a [(u32, u32)] {
        let count = segment.sack_count.min(MAX_SACK_BLOCKS as u8);
        self.count_before = std::mem::replace(&mut self.count, count);
        self.above = NONE;
        if segment.ack != self.ack {
            if self.count_before > 0 {
                self.count_from(segment.ack);
            }
            self.ack = segment.ack;
        }
        &segment.sack[..usize::from(count)]
    }

    /// Offsets count from `ack`. A block that begins below does not come again.
    #[inline]
    fn count_from(&mut self, ack: u64) {
        let moved = u32::try_from(ack.wrapping_sub(self.ack)).ok();
        for block in &mut self.blocks {
            *block = match moved.map(u64::from) {
                Some(moved) if *block & u64::from(u32::MAX) >= moved => *block - (moved << 32 | moved),
                _ => NONE,
            };
        }
    }

    /// Whether the block at `place`, in the numbers of its segment, is news, and of data that was sent, which ends at `sent`.
    #[inline]
    pub(super) fn is_new(&mut self, place: usize, (from, to): (u32, u32), sent: u64) -> bool {
        let is_sound = from < to && u64::from(to) <= sent.saturating_sub(self.ack);
        let block = u64::from(to) << 32 | u64::from(from);
        let same = if place < usize::from(self.count_before) { self.blocks[place] } else { NONE };
        let is_known = same == block || self.above == block;
        self.blocks[place] = if is_sound || is_known { block } else { NONE };
        self.above = same;
        is_sound && !is_known
    }

    /// Forgets the blocks.
    pub(super) fn forget(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_news_once_and_what_was_never_sent_is_none() {
        let mut known = SackCache::default();
        let mut news = |blocks: &[(u32, u32)]| -> Vec<bool> {
            let mut segment = Segment { sack_count: blocks.len() as u8, ..Segment::default() };
            segment.sack[..blocks.len()].copy_from_slice(blocks);
            let places = known.begin(&segment).iter().enumerate();
            places.map(|(place, &block)| known.is_new(place, block, 90)).collect()
        };
        assert_eq!(news(&[(10, 20)]), [true]);
        assert_eq!(news(&[(30, 40), (10, 20)]), [true, false], "behind a new one");
        assert_eq!(news(&[(30, 50), (10, 20)]), [true, false], "in their order");
        assert_eq!(news(&[(80, 100), (30, 50)]), [false, false]);
        assert_eq!(news(&[(80, 90), (30, 50)]), [true, false]);
        assert_eq!(news(&[]), [] as [bool; 0]);
        assert_eq!(news(&[(80, 90)]), [true], "another acknowledgement lay between");
    }

    #[test]
    fn a_block_stays_known_as_the_acknowledgement_moves() {
        let mut known = SackCache::default();
        let mut is_new = |ack: u64, (from, to): (u64, u64)| {
            let offset = |edge: u64| (edge - ack) as u32;
            let mut segment = Segment { ack, sack_count: 1, ..Segment::default() };
            segment.sack[0] = (offset(from), offset(to));
            known.begin(&segment);
            known.is_new(0, segment.sack[0], u64::MAX)
        };
        let far = 1 << 40;
        assert!(is_new(100, (150, 160)) && !is_new(100, (150, 160)));
        assert!(!is_new(120, (150, 160)) && !is_new(150, (150, 160)));
        assert!(is_new(155, (155, 160)), "it is another one that begins later");
        assert!(is_new(far, (far + 50, far + 60)) && !is_new(far + 20, (far + 50, far + 60)));
        assert!(is_new(2 * far + 20, (2 * far + 50, 2 * far + 60)), "offsets alike, far away");
    }
}
