//! First in, first out, in a power of two of slots: an entry has a number for as long as it is inside, and a mask finds it.

use varicap_units::room;

/// Entries in the order in which they came, numbered from zero on.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// Entry n is in slot n modulo their number, which is a power of two; none before the first entry.
    slots: Vec<T>,
    /// The number of the first entry, and the one that the next will have.
    first: usize,
    end: usize,
}

impl<T: Clone> Ring<T> {
    /// Slots that are made for the first entry.
    const FEWEST: usize = 4;

    /// An empty ring, which allocates nothing before the first entry.
    pub fn new() -> Ring<T> {
        Ring { slots: Vec::new(), first: 0, end: 0 }
    }

    /// The number of the first entry; if there is none, of the next.
    #[inline(always)]
    pub fn first(&self) -> usize {
        self.first
    }

    /// The number of the next entry.
    #[inline(always)]
    pub fn end(&self) -> usize {
        self.end
    }

    /// How many entries there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.end - self.first
    }

    /// The slot of entry `number`, if there are slots.
    #[inline(always)]
    fn slot(&self, number: usize) -> usize {
        number & self.slots.len().wrapping_sub(1)
    }

    /// Entry `number`, unless it has gone or is yet to come.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Option<&T> {
        debug_assert!(number >= self.first, "entry {number} is gone");
        if number == self.end { None } else { self.slots.get(self.slot(number)) }
    }

    /// Entries `from` on, which are inside.
    pub fn iter_from(&self, from: usize) -> impl Iterator<Item = &T> {
        debug_assert!(self.first <= from, "entry {from} is gone");
        (from..self.end).filter_map(|number| self.get(number))
    }

    /// Adds an entry.
    #[inline(always)]
    pub fn push(&mut self, entry: T) {
        let end = self.end;
        if end - self.first >= self.slots.len() {
            self.grow(entry.clone());
        }
        let slot = self.slot(end);
        if let Some(place) = self.slots.get_mut(slot) {
            *place = entry;
        }
        self.end = end + 1;
    }

    /// Takes the first entry, if there is one. Its slot keeps a copy until another one comes to it.
    #[cfg(test)]
    pub fn pop(&mut self) -> Option<T> {
        if self.len() == 0 { None } else { self.take_first() }
    }

    /// The same of a ring that is not empty.
    #[inline(always)]
    pub fn take_first(&mut self) -> Option<T> {
        debug_assert!(self.len() > 0, "there is no first entry");
        let entry = self.slots.get(self.slot(self.first))?.clone();
        self.first += 1;
        Some(entry)
    }

    /// Makes room; the first slots have copies of `filler`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        if self.slots.is_empty() {
            self.slots = vec![filler; Self::FEWEST];
        } else {
            room::double(&mut self.slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_in_order_while_the_ring_grows_and_wraps() {
        let mut ring = Ring::new();
        let (mut pushed, mut popped) = (0, 0);
        for round in 0..50 {
            for _ in 0..round {
                ring.push(pushed);
                pushed += 1;
            }
            assert_eq!(
                ring.iter_from(ring.first()).copied().collect::<Vec<_>>(),
                Vec::from_iter(popped..pushed)
            );
            assert_eq!((ring.first(), ring.end(), ring.len()), (popped, pushed, pushed - popped));
            for _ in 0..round - round / 4 {
                assert_eq!(ring.get(popped).copied(), Some(popped));
                assert_eq!(ring.pop(), Some(popped));
                popped += 1;
            }
        }
        while ring.pop().is_some() {}
        assert_eq!((ring.len(), ring.get(ring.end())), (0, None));
    }
}
