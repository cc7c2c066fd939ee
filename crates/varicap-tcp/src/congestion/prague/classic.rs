//! Classic queues, recognised by the round trips of marked packets: round trips vary, and are longer than the least one.
//! Source: [briscoe19]; the constants are those of the authors' Linux module (`prague_classic_ecn_detection`).

use varicap_units::Span;

/// Variation of round trips, and delay above the least one, up to which nothing speaks for a classic queue [ns].
const USUAL_VARIATION: f64 = 750e3;
const USUAL_DELAY: f64 = 2e6;
/// How much a doubling of either counts.
const WEIGHT: f64 = 0.5;
/// At this score the marks may be classic, from one more on they surely are, and it takes as long to think otherwise.
const DOUBT: f64 = 8.0;
const MOST: f64 = DOUBT + 1.0 + DOUBT;
/// The weight of a mark of a classic queue: the window loses half of it.
const CLASSIC_SHARE: f64 = 0.625;
/// Most binary places of a weight in the averages.
const MOST_SHIFT: u32 = 18;

/// The estimation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Classic {
    /// Averages of round trips and of their deviations [ns]; zero: none yet.
    smoothed: f64,
    deviation: f64,
    least: f64,
    /// Weight of a new round trip in them; none before the window has fallen once.
    weight: f64,
    score: f64,
}

impl Classic {
    /// A round trip took `rtt`; the least one was `least`.
    pub(super) fn on_rtt(&mut self, rtt: Span, least: Span) {
        let rtt = rtt.as_nanos() as f64;
        self.least = least.as_nanos() as f64;
        if self.smoothed == 0.0 {
            self.smoothed = rtt;
        }
        let error = rtt - self.smoothed;
        self.smoothed += self.weight * error;
        self.deviation += self.weight / 2.0 * (error.abs() - self.deviation);
    }

    /// The window fell to so many `segments`: averages are over a few sawteeth, which are longer the larger the window is.
    pub(super) fn on_fall(&mut self, segments: u64) {
        let places = segments.max(1).ilog2();
        self.weight = 1.0 / f64::from(1u32 << (places + places / 2 + 1).min(MOST_SHIFT));
    }

    /// A round trip has passed since there were marks.
    pub(super) fn close(&mut self) {
        let delay = self.smoothed - self.least;
        let waits = if delay > USUAL_DELAY { doublings(delay / USUAL_DELAY) } else { 0.0 };
        let varies = doublings(self.deviation / USUAL_VARIATION);
        self.score = (self.score + WEIGHT * (varies + waits)).clamp(0.0, MOST);
    }

    /// The share of marked data that a reduction goes by at least.
    pub(super) fn share(&self) -> f64 {
        CLASSIC_SHARE * (self.score - DOUBT).clamp(0.0, 1.0)
    }

    pub(super) fn score(&self) -> f64 {
        self.score
    }
}

/// How often one doubles to `ratio`, of which halves count as less than none; between two doublings along a line, so that the
/// result is the same on any machine.
fn doublings(ratio: f64) -> f64 {
    let mut whole = 0.0;
    let mut rest = ratio.clamp(1.0 / 1024.0, 1024.0);
    while rest >= 2.0 {
        (rest, whole) = (rest / 2.0, whole + 1.0);
    }
    while rest < 1.0 {
        (rest, whole) = (rest * 2.0, whole - 1.0);
    }
    whole + rest - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The score after 100 round trips of twenty acknowledgements, which take between `low` and `high` us.
    fn score(low: u64, high: u64) -> f64 {
        let mut classic = Classic::default();
        classic.on_fall(20);
        let micros = Span::from_micros;
        classic.on_rtt(micros(10_000), micros(10_000));
        for _ in 0..100 {
            // A sawtooth.
            (0..20).for_each(|step| classic.on_rtt(micros(low + (high - low) * step / 19), micros(10_000)));
            classic.close();
        }
        classic.score()
    }

    #[test]
    fn round_trips_that_vary_and_wait_are_those_of_a_classic_queue() {
        assert_eq!(score(10_000, 10_800), 0.0, "a queue of less than a millisecond");
        assert_eq!(score(10_000, 30_000), MOST, "a sawtooth of 20 ms");
        assert_eq!(score(24_000, 26_000), MOST, "a queue of 15 ms that hardly varies");
    }

    #[test]
    fn the_answer_to_marks_goes_over_to_the_classic_one_within_a_step_of_the_score() {
        let share = |score: f64| Classic { score, ..Classic::default() }.share();
        assert_eq!([0.0, 8.0, 8.5, 9.0, 17.0].map(share), [0.0, 0.0, 0.3125, 0.625, 0.625]);
    }

    #[test]
    fn doublings_are_counted_along_a_line() {
        assert_eq!([0.25, 0.75, 1.0, 3.0, 4.0].map(doublings), [-2.0, -0.5, 0.0, 1.5, 2.0]);
    }
}
