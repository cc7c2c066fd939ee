//! Segments in the order of their bytes, numbered from the first one that was ever sent.

use varicap_units::{Time, room};

/// The receiver holds it.
pub(super) const SACKED: u8 = 1;
/// It is lost; its last retransmission, if that is in flight, is not.
pub(super) const LOST: u8 = 2;
/// A retransmission of it is in flight.
pub(super) const RESENT: u8 = 4;
/// It was resent at least once.
pub(super) const EVER_RESENT: u8 = 8;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// First byte [B].
    pub(super) from: u64,
    /// When it left last.
    pub(super) at: Time,
    pub(super) len: u32,
    pub(super) marks: u8,
    /// Which of those that left at that instant, where the order of their bytes is not that in which they left.
    pub(super) turn: u8,
}

impl Sent {
    #[inline]
    pub(super) fn to(&self) -> u64 {
        self.from + u64::from(self.len)
    }

    #[inline]
    pub(super) fn has(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }

    /// Whether it is lost and not on its way again.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.marks & (LOST | RESENT) == LOST
    }
}

/// Segments by their numbers, which do not change as others come and go.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    /// The segment of a number has the place of that number modulo their count, which is a power of two.
    places: Vec<Sent>,
    first: u64,
    end: u64,
}

impl Ring {
    /// The number of the first segment.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next segment will have.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & self.places.len().wrapping_sub(1)
    }

    /// Segment `number`; none if it was acknowledged, or has not been sent.
    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<&Sent> {
        if self.first <= number && number < self.end { self.places.get(self.place(number)) } else { None }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Sent> {
        let place = self.place(number);
        if self.first <= number && number < self.end { self.places.get_mut(place) } else { None }
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Sent> {
        self.get(self.first)
    }

    #[inline]
    pub(super) fn back(&self) -> Option<&Sent> {
        if self.first < self.end { self.places.get(self.place(self.end - 1)) } else { None }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Sent> {
        (self.first..self.end).filter_map(|number| self.get(number))
    }

    /// Takes `marks` from every segment.
    pub(super) fn unmark(&mut self, marks: u8) {
        for number in self.first..self.end {
            if let Some(sent) = self.get_mut(number) {
                sent.marks &= !marks;
            }
        }
    }

    /// Another segment, after all others.
    #[inline]
    pub(super) fn push(&mut self, sent: Sent) {
        if self.len() == self.places.len() {
            self.grow(sent);
        }
        let place = self.place(self.end);
        self.places[place] = sent;
        self.end += 1;
    }

    /// Makes room for as many segments again; the first places are filled with `any`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, any: Sent) {
        if self.places.is_empty() {
            self.places = vec![any; 16];
        } else {
            room::double(&mut self.places);
        }
    }

    /// The first segment is gone.
    #[inline]
    pub(super) fn pop_front(&mut self) {
        debug_assert!(self.first < self.end, "no segment in flight");
        self.first += 1;
    }

    /// All segments below `end` are gone, of which the last one ends there: that one. None, and nothing is gone, where it is
    /// not found at once, which it is among segments of the same length.
    #[inline]
    pub(super) fn pop_to(&mut self, end: u64) -> Option<Sent> {
        let head = *self.front()?;
        if head.to() == end {
            self.first += 1;
            return Some(head);
        }
        let count = end.saturating_sub(head.from) / u64::from(head.len.max(1));
        let number = self.first + count.checked_sub(1)?;
        let last = *self.get(number).filter(|last| last.to() == end)?;
        self.first = number + 1;
        Some(last)
    }

    /// The number of the first segment that ends beyond `byte`.
    pub(super) fn number_of(&self, byte: u64) -> u64 {
        let Some(head) = self.front().filter(|head| head.from <= byte) else { return self.first };
        // Almost always segments have the same length.
        let guess = self.first + (byte - head.from) / u64::from(head.len.max(1));
        match self.get(guess) {
            Some(sent) if sent.from <= byte && byte < sent.to() => guess,
            _ => self.search(byte),
        }
    }

    #[cold]
    fn search(&self, byte: u64) -> u64 {
        let (mut first, mut end) = (self.first, self.end);
        while first < end {
            let middle = u64::midpoint(first, end);
            if self.get(middle).is_some_and(|sent| sent.to() <= byte) {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(lengths: &[u32], gone: usize) -> Ring {
        let (mut ring, mut from) = (Ring::default(), 0);
        for &len in lengths {
            ring.push(Sent { from, at: Time::ZERO, len, marks: 0, turn: 0 });
            from += u64::from(len);
        }
        (0..gone).for_each(|_| ring.pop_front());
        ring
    }

    #[test]
    fn a_segment_is_found_by_any_of_its_bytes() {
        for lengths in [vec![10; 40], vec![3, 10, 10, 1, 25, 10, 10, 7], vec![30, 1, 1, 1, 1, 1]] {
            for gone in 0..lengths.len() {
                let ring = ring(&lengths, gone);
                let mut from = 0;
                for (number, &len) in (0..).zip(&lengths) {
                    for byte in from..from + u64::from(len) {
                        assert_eq!(ring.number_of(byte), number.max(ring.first()), "{byte} of {lengths:?}");
                    }
                    from += u64::from(len);
                }
                assert_eq!(ring.number_of(from), ring.end());
            }
        }
    }

    #[test]
    fn segments_go_up_to_one_that_is_found_at_once() {
        let ends = |lengths: &[u32], end| {
            let mut ring = ring(lengths, 0);
            (ring.pop_to(end).map(|last| last.from), ring.first())
        };
        assert_eq!(ends(&[10, 10, 10], 10), (Some(0), 1));
        assert_eq!(ends(&[10, 10, 10], 30), (Some(20), 3));
        assert_eq!(ends(&[10, 10, 10], 25), (None, 0), "within a segment");
        assert_eq!(ends(&[10, 10, 10], 5), (None, 0));
        assert_eq!(ends(&[10, 10, 10], 40), (None, 0), "never sent");
        assert_eq!(ends(&[10, 3, 7], 13), (None, 0), "not where the lengths say");
        assert_eq!(ends(&[10, 7, 3, 10], 20), (None, 0));
        assert_eq!(ends(&[], 10), (None, 0));
    }

    #[test]
    fn numbers_stay_while_the_ring_grows() {
        let mut ring = ring(&[5; 12], 9);
        for number in 12..60 {
            ring.push(Sent { from: 5 * number, at: Time::ZERO, len: 5, marks: 0, turn: 0 });
        }
        assert!((9..60).all(|number| ring.get(number).is_some_and(|sent| sent.from == 5 * number)));
        assert!(ring.get(8).is_none() && ring.get(60).is_none() && ring.len() == 51);
    }
}
