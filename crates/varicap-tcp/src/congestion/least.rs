//! The least value of late, by time, in a place of fixed size.

use varicap_units::{Span, Time};

/// The least of the values of a window of time, kept to a sixteenth of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least {
    /// Values that grow with their time: each is the least of all after the one before it.
    kept: [(Time, Span); Least::SIZE],
    length: usize,
}

impl Least {
    const SIZE: usize = 16;

    pub fn new() -> Least {
        Least { kept: [(Time::ZERO, Span::ZERO); Least::SIZE], length: 0 }
    }

    /// Takes `value`, of `now`, and answers the least of the last `window`.
    pub fn take(&mut self, now: Time, value: Span, window: Span) -> Span {
        while self.length > 0 && self.kept[self.length - 1].1 >= value {
            self.length -= 1;
        }
        let expired = self.kept[..self.length].iter().take_while(|(at, _)| *at + window < now).count();
        if expired > 0 {
            self.kept.copy_within(expired..self.length, 0);
            self.length -= expired;
        }
        // A value soon after a smaller one would outlive it by that much: not worth a place.
        let apart = Span::from_nanos(window.as_nanos() / Least::SIZE as u64);
        let is_new = self.length == 0 || self.kept[self.length - 1].0 + apart <= now;
        if is_new && self.length < Least::SIZE {
            self.kept[self.length] = (now, value);
            self.length += 1;
        }
        self.kept[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_a_window_is_that_of_all_its_values_but_for_a_sixteenth() {
        let (mut least, mut all) = (Least::new(), Vec::new());
        let mut state = 1_u64;
        for step in 1..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // A slow wave and noise.
            let value = Span::from_nanos(1_000_000 + (step / 700 % 5) * 40_000 + (state >> 40) % 90_000);
            let now = Time::ZERO + Span::from_micros(step * 37);
            all.push((now, value));
            let found = least.take(now, value, Span::from_millis(5));
            let within =
                |span: Span| all.iter().filter(move |(at, _)| *at + span >= now).map(|(_, value)| *value);
            let shorter = Span::from_nanos(5_000_000 / 16 * 15);
            assert!(
                within(Span::from_millis(5)).min().unwrap() <= found
                    && found <= within(shorter).min().unwrap(),
                "{step}"
            );
            all.retain(|(at, _)| *at + Span::from_millis(6) >= now);
        }
    }
}
