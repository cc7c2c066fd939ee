//! Which SACK blocks are news: an acknowledgement repeats those of the one before, perhaps behind a new one (RFC 2018 §4).

use crate::segment::{MAX_SACK_BLOCKS, Segment};

/// What no block is that counts.
const NONE: (u64, u64) = (0, 0);

/// The blocks of the last acknowledgement, as far as they count [B].
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    blocks: [(u64, u64); MAX_SACK_BLOCKS],
    count: usize,
    /// How many the acknowledgement before had, and which one had the place before the one that is looked at.
    count_before: usize,
    above: (u64, u64),
}

impl Known {
    /// Another acknowledgement; its blocks, which are to be looked at in their order.
    #[inline]
    pub(super) fn begin<'a>(&mut self, segment: &'a Segment) -> &'a [(u32, u32)] {
        let count = usize::from(segment.sack_count).min(MAX_SACK_BLOCKS);
        self.count_before = std::mem::replace(&mut self.count, count);
        self.above = NONE;
        &segment.sack[..count]
    }

    /// Whether the block at `place` is news, and of data that was sent, which ends at `sent`.
    #[inline]
    pub(super) fn is_news(&mut self, place: usize, block: (u64, u64), sent: u64) -> bool {
        let same = if place < self.count_before { self.blocks[place] } else { NONE };
        let is_known = same == block || self.above == block;
        let counts = is_known || block.0 < block.1 && block.1 <= sent;
        self.blocks[place] = if counts { block } else { NONE };
        self.above = same;
        counts && !is_known
    }

    /// What was known is not.
    pub(super) fn forget(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_news_once_and_what_was_never_sent_is_none() {
        let mut known = Known::default();
        let mut news = |blocks: &[(u32, u32)]| -> Vec<bool> {
            let mut segment = Segment { sack_count: blocks.len() as u8, ..Segment::default() };
            segment.sack[..blocks.len()].copy_from_slice(blocks);
            let places = known.begin(&segment).iter().enumerate();
            places.map(|(place, &(from, to))| known.is_news(place, (from.into(), to.into()), 90)).collect()
        };
        assert_eq!(news(&[(10, 20)]), [true]);
        assert_eq!(news(&[(30, 40), (10, 20)]), [true, false], "behind a new one");
        assert_eq!(news(&[(30, 50), (10, 20)]), [true, false], "in their order");
        assert_eq!(news(&[(80, 100), (30, 50)]), [false, false]);
        assert_eq!(news(&[(80, 90), (30, 50)]), [true, false]);
        assert_eq!(news(&[]), [] as [bool; 0]);
        assert_eq!(news(&[(80, 90)]), [true], "another acknowledgement lay between");
    }
}
