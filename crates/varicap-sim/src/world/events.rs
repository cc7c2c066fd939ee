//! The loop over the events of a run, and their count.

use varicap_units::Time;

use super::World;

/// Counts events, and says after each so many of them that somebody is to be asked whether to go on. One number that falls
/// below zero takes less than two that are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    /// How many come before the one after which somebody is asked.
    left: i64,
    /// How many there will have been by then.
    then: u64,
}

impl Events {
    /// Events between two questions.
    const BETWEEN_QUESTIONS: i64 = 1 << 16;

    /// None yet.
    pub(super) const fn new() -> Events {
        Events::after(0)
    }

    /// So many in `total`, after the last of which somebody was asked.
    const fn after(total: u64) -> Events {
        let left = Events::BETWEEN_QUESTIONS - 1;
        Events { left, then: total + left as u64 }
    }

    /// Another one has been handled.
    #[inline(always)]
    pub(super) fn count(&mut self) {
        self.left -= 1;
    }

    /// How many have been handled.
    pub(super) fn total(&self) -> u64 {
        self.then.wrapping_add_signed(-self.left)
    }

    /// Whether somebody is to be asked now.
    #[inline(always)]
    fn is_question(&self) -> bool {
        self.left < 0
    }

    /// After the next event somebody is asked.
    pub(super) fn ask_next(&mut self) {
        let total = self.total();
        *self = Events { left: 0, then: total };
    }

    /// Somebody has been asked.
    fn go_on(&mut self) {
        *self = Events::after(self.total());
    }
}

impl World {
    /// Handles every event up to and including `end`. `go_on` is called every so often, and stops the run by returning
    /// false; returns whether the run reached `end`.
    pub fn run_until(&mut self, end: Time, go_on: &mut dyn FnMut(Time) -> bool) -> bool {
        self.end = end;
        while let Some(now) = self.run_on(end) {
            self.events.go_on();
            if self.has_failed() {
                return false;
            }
            self.prefetches = self.is_crowd() || self.net.is_long();
            if !go_on(now) {
                return false;
            }
        }
        #[cfg(debug_assertions)]
        self.assert_polled(end);
        self.net.advance(end);
        true
    }

    /// Handles events up to and including `end`, or until somebody is to be asked whether to go on: then, when.
    fn run_on(&mut self, end: Time) -> Option<Time> {
        while let Some((now, node)) = self.net.queue.first_by(end) {
            self.step(now, node);
            self.events.count();
            if self.events.is_question() {
                return Some(now);
            }
        }
        None
    }
}

#[cfg(test)]
impl World {
    /// Wakes every connection at `now`, whether it asked to be or not.
    pub(crate) fn wake_all(&mut self, now: Time) {
        for (owner, _) in (0..).zip(&self.connections).filter(|(_, one)| one.is_open()) {
            self.net.queue.wake_by(self.net.nodes().connection(owner), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_whenever_somebody_is_asked() {
        let mut events = Events::new();
        let mut asked = Vec::new();
        for number in 1..=200_000 {
            events.count();
            assert_eq!(events.total(), number);
            if events.is_question() {
                asked.push(number);
                events.go_on();
            }
        }
        assert_eq!(asked, [1, 2, 3].map(|question| question << 16));
        // Where nobody can be asked for a while, one question makes up for it.
        (0..200_000).for_each(|_| events.count());
        assert!(events.is_question());
        events.go_on();
        assert!(!events.is_question() && events.total() == 400_000);
    }
}
