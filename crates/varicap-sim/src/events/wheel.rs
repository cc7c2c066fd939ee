//! A timing wheel for what is to happen much later: which slot of a few milliseconds it falls into is all that is kept of it,
//! until that slot comes. Most timers are put off before they run out, and to keep them sorted takes longer the more there are.
//!
//! Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP 1987), scheme 6 without its counts of rounds.

use varicap_units::Time;

/// A slot is 2 to the power of this long [ns]: 4.2 ms.
const WIDTH_BITS: u32 = 22;
/// The slots of one turn, of 2.1 s: what lies further ahead is looked at once a turn.
const SLOTS: usize = 1 << 9;

/// In [`Links::before`]: not in the wheel.
const ABSENT: u32 = u32::MAX;
/// In [`Links::before`]: the first of its slot, whose index is in the bits below.
const FIRST: u32 = 1 << 31;
/// In [`Links::next`] and as a first one: nothing more in this slot.
const END: u32 = u32::MAX;

/// The neighbours in the same slot.
#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    next: u32,
}

/// Numbers, each in at most one slot. A slot is emptied just before its time comes.
#[derive(Debug, Default)]
pub struct Wheel {
    /// The first number in each slot; nothing before the first number comes.
    firsts: Vec<u32>,
    /// Which slots are not empty, as bits.
    occupied: Vec<u64>,
    links: Vec<Links>,
}

#[inline]
const fn slot_of(at: Time) -> u64 {
    at.as_nanos() >> WIDTH_BITS
}

/// When the slot is emptied: just before it begins.
#[inline]
const fn opening_of(slot: u64) -> Time {
    Time::from_nanos((slot << WIDTH_BITS) - 1)
}

impl Wheel {
    /// Whether `at` is so far ahead of `now` that it may be kept in a wheel: not in this slot, and not in the next.
    #[inline]
    pub fn is_far(now: Time, at: Time) -> bool {
        slot_of(at) > slot_of(now) + 1
    }

    /// Takes in a number until just before `at`, or the end of the turn if that is sooner; returns when its slot is emptied.
    pub fn insert(&mut self, number: u32, now: Time, at: Time) -> Time {
        debug_assert!(Wheel::is_far(now, at) && !self.holds(number) && number < FIRST);
        if self.firsts.is_empty() {
            (self.firsts, self.occupied) = (vec![END; SLOTS], vec![0; SLOTS / 64]);
        }
        if self.links.len() <= number as usize {
            self.links.resize(number as usize + 1, Links { before: ABSENT, next: END });
        }
        let slot = slot_of(at).min(slot_of(now) + SLOTS as u64 - 1);
        let index = slot as usize % SLOTS;
        let next = std::mem::replace(&mut self.firsts[index], number);
        if next == END {
            self.occupied[index / 64] |= 1 << (index % 64);
        } else {
            self.links[next as usize].before = number;
        }
        self.links[number as usize] = Links { before: FIRST | index as u32, next };
        opening_of(slot)
    }

    /// Whether the number is in a slot.
    #[inline]
    pub fn holds(&self, number: u32) -> bool {
        self.links.get(number as usize).is_some_and(|links| links.before != ABSENT)
    }

    /// Takes the number out, which is in a slot.
    pub fn remove(&mut self, number: u32) {
        debug_assert!(self.holds(number), "{number} is in no slot");
        let Links { before, next } = self.links[number as usize];
        self.links[number as usize].before = ABSENT;
        if next != END {
            self.links[next as usize].before = before;
        }
        if before & FIRST == 0 {
            self.links[before as usize].next = next;
        } else {
            let index = (before & !FIRST) as usize;
            self.firsts[index] = next;
            if next == END {
                self.occupied[index / 64] &= !(1 << (index % 64));
            }
        }
    }

    /// Empties the slot that begins just after `now` into `numbers`; the order says nothing.
    pub fn open(&mut self, now: Time, numbers: &mut Vec<u32>) {
        let slot = slot_of(now) + 1;
        debug_assert_eq!(now, opening_of(slot), "no slot begins after {now:?}");
        let index = slot as usize % SLOTS;
        let mut number = std::mem::replace(&mut self.firsts[index], END);
        self.occupied[index / 64] &= !(1 << (index % 64));
        while number != END {
            numbers.push(number);
            let links = &mut self.links[number as usize];
            links.before = ABSENT;
            number = links.next;
        }
    }

    /// When the first slot that is not empty is emptied, of those that begin after `now`; NEVER if there is none.
    pub fn opens_at(&self, now: Time) -> Time {
        let first = slot_of(now) + 1;
        let (word, bit) = (first as usize % SLOTS / 64, first % 64);
        // The word in which the turn begins is also that in which it ends.
        for step in 0..=self.occupied.len() {
            let bits = self.occupied.get((word + step) % self.occupied.len().max(1)).copied().unwrap_or(0);
            let ahead = if step == 0 { bits & (!0 << bit) } else { bits };
            if ahead != 0 {
                return opening_of(first - bit + 64 * step as u64 + u64::from(ahead.trailing_zeros()));
            }
        }
        Time::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use varicap_units::Span;

    const SLOT: u64 = 1 << WIDTH_BITS;

    fn at(slot: u64, nanos: u64) -> Time {
        Time::from_nanos(slot * SLOT + nanos)
    }

    fn opened(wheel: &mut Wheel, now: Time) -> Vec<u32> {
        let mut numbers = Vec::new();
        wheel.open(now, &mut numbers);
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn a_slot_is_emptied_just_before_it_begins() {
        let mut wheel = Wheel::default();
        assert_eq!(wheel.opens_at(at(3, 7)), Time::NEVER);
        assert!(!wheel.holds(9));
        assert_eq!(wheel.insert(9, at(3, 7), at(5, 0)), at(4, SLOT - 1));
        assert_eq!(wheel.insert(4, at(3, 7), at(5, SLOT - 1)), at(4, SLOT - 1));
        wheel.insert(5, at(3, 7), at(6, 0));
        assert_eq!(wheel.opens_at(at(3, 7)), at(4, SLOT - 1));
        assert_eq!(opened(&mut wheel, at(4, SLOT - 1)), [4, 9]);
        assert!(!wheel.holds(9) && wheel.holds(5));
        assert_eq!(wheel.opens_at(at(4, SLOT - 1)), at(5, SLOT - 1));
    }

    #[test]
    fn only_what_lies_behind_the_next_slot_is_far() {
        assert!(!Wheel::is_far(at(3, 7), at(4, SLOT - 1)) && Wheel::is_far(at(3, 7), at(5, 0)));
    }

    #[test]
    fn what_lies_behind_a_turn_is_looked_at_at_its_end() {
        let mut wheel = Wheel::default();
        let now = at(700, 1);
        let opens_at = wheel.insert(1, now, at(700 + 9 * SLOTS as u64, 0));
        assert_eq!(opens_at, at(700 + SLOTS as u64 - 2, SLOT - 1));
        assert_eq!(opens_at, wheel.opens_at(now));
        assert_eq!(opened(&mut wheel, opens_at), [1]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(steps in prop::collection::vec((0u32..12, 0u64..3 * SLOTS as u64, 0u8..3), 1..300)) {
            let (mut wheel, mut now) = (Wheel::default(), at(1, 5));
            let mut model: BTreeMap<u32, Time> = BTreeMap::new();
            for (number, ahead, kind) in steps {
                let when = now + Span::from_nanos(ahead * SLOT + 3);
                let opens_at = model.values().min().copied().unwrap_or(Time::NEVER);
                if kind == 0 && !opens_at.is_never() {
                    now = opens_at;
                    let due: Vec<u32> = model.iter().filter(|&(_, &at)| at == now).map(|(&number, _)| number).collect();
                    prop_assert_eq!(opened(&mut wheel, now), due);
                    model.retain(|_, at| *at > now);
                } else if kind == 1 || model.contains_key(&number) || !Wheel::is_far(now, when) {
                    if model.remove(&number).is_some() {
                        wheel.remove(number);
                    }
                } else {
                    let opens_at = wheel.insert(number, now, when);
                    prop_assert!(now < opens_at && opens_at < when);
                    model.insert(number, opens_at);
                }
                prop_assert_eq!(wheel.opens_at(now), model.values().min().copied().unwrap_or(Time::NEVER));
                prop_assert!((0..12).all(|number| wheel.holds(number) == model.contains_key(&number)));
            }
        }
    }
}
