//! Throughput advice: coarse rates, told now and then, of which the lowest of a period counts. Source:
//! draft-ietf-scone-protocol-07.
//!
//! A sender lets a SCONE packet pass the network elements every so often; they write the level of the rate that they find
//! into it. Who hears advice applies the lowest of the last period, and none once that has passed in silence.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, bounded, require};
use varicap_units::{JsonSchema, Rate, Span, Stream, Time};

/// Tenths of a decade from the lowest level to the highest: 126 steps of a twentieth.
const RANGE: u32 = 63;
/// Most levels in a factor of ten.
const MOST_STEPS: u32 = 1000;
/// The least time from one update to the next.
const FASTEST: Span = Span::from_millis(1);

/// SCONE: which rates can be said, how often, and how long they hold. What is not said here is as the draft has it; with
/// more `steps`, a shorter `update` and a shorter `period` advice is finer and faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SconeConfig {
    /// Least time from one SCONE packet of a connection to its next one; the first goes when it opens. Default: 20 s
    /// (§8.1: every 20 to 30 s).
    pub update: Span,
    /// The time to the next one is uniform from `update` to this much more (§7.1: a small random delay). Default: 10 s.
    pub spread: Span,
    /// The monitoring period: of the advice that came in this time the lowest holds, and after it the advice expires (§5.2,
    /// §5.4). Default: 67 s.
    pub period: Span,
    /// The lowest level. Default: 100 kbit/s (§5.1).
    pub lowest: Rate,
    /// Levels in a factor of ten. The highest is 10^6.3 times the lowest: number 126 of 20. Default: 20 (§5.1).
    pub steps: u32,
}

impl Default for SconeConfig {
    fn default() -> SconeConfig {
        SconeConfig {
            update: Span::from_secs(20),
            spread: Span::from_secs(10),
            period: Span::from_secs(67),
            lowest: Rate::from_bps(100_000),
            steps: 20,
        }
    }
}

impl Part for SconeConfig {
    fn check(&self) -> Checked {
        // Every update is an event for each connection.
        require("update", self.update >= FASTEST, self.update, format!("at least {FASTEST}"))?;
        bounded("update", self.update)?;
        bounded("spread", self.spread)?;
        bounded("period", self.period)?;
        let longest = self.update.saturating_add(self.spread);
        let expected =
            format!("at least {longest}, the longest time to the next update: else advice expires before it");
        require("period", self.period >= longest, self.period, expected)?;
        let most = Rate::from_bps(1_000_000_000);
        let good = self.lowest > Rate::ZERO && self.lowest <= most;
        require("lowest", good, self.lowest, format!("above 0, and at most {most}"))?;
        require("steps", (1..=MOST_STEPS).contains(&self.steps), self.steps, format!("1 to {MOST_STEPS}"))
    }
}

impl SconeConfig {
    /// The number of the highest level. Source: draft-ietf-scone-protocol-07 §5.1.
    pub fn highest(&self) -> u32 {
        self.steps * RANGE / 10
    }

    /// The rate of level `n`, to the nearest bit per second.
    pub fn rate(&self, n: u32) -> Rate {
        let factor = libm::exp10(f64::from(n) / f64::from(self.steps));
        Rate::from_bps(libm::round(self.lowest.as_bps() as f64 * factor) as u64)
    }

    /// The number of the highest level that does not exceed `rate`. What is less than the lowest is called the lowest,
    /// which is as low as advice goes.
    pub fn level(&self, rate: Rate) -> u32 {
        if rate <= self.lowest {
            return 0;
        }
        let decades = libm::log10(rate.as_bps() as f64 / self.lowest.as_bps() as f64);
        let near = libm::floor(decades * f64::from(self.steps)) as u32;
        // The logarithm may be off by a last digit, to either side.
        let fits = |n: &u32| self.rate(*n) <= rate;
        let candidates = [near.saturating_add(1), near, near.saturating_sub(1)];
        candidates.into_iter().map(|n| n.min(self.highest())).find(fits).unwrap_or(0)
    }

    /// `rate` as advice can say it.
    pub fn quantised(&self, rate: Rate) -> Rate {
        self.rate(self.level(rate))
    }

    /// The time to the next SCONE packet of a connection whose random numbers come from `stream`.
    pub fn gap(&self, stream: &mut Stream) -> Span {
        self.update.saturating_add(stream.uniform_span(self.spread))
    }
}

/// The advice that one connection has received: the lowest of the last period holds.
/// Source: draft-ietf-scone-protocol-07 §5.4.
#[derive(Clone, Debug)]
pub struct ReceivedAdvice {
    period: Span,
    /// Advice that holds now or will when lower advice before it has expired, by time; rates rise from first to last.
    held: VecDeque<(Time, Rate)>,
}

impl ReceivedAdvice {
    /// No advice so far; what comes holds for `period`.
    pub fn new(period: Span) -> ReceivedAdvice {
        ReceivedAdvice { period, held: VecDeque::new() }
    }

    /// Advice of `rate` arrives at `now`.
    pub fn push(&mut self, now: Time, rate: Rate) {
        self.expire(now);
        while self.held.back().is_some_and(|(_, later)| *later >= rate) {
            self.held.pop_back();
        }
        self.held.push_back((now, rate));
    }

    /// Forgets what has expired by `now`; whether what holds has changed.
    pub fn expire(&mut self, now: Time) -> bool {
        let before = self.held.len();
        while self.held.front().is_some_and(|(at, _)| *at + self.period <= now) {
            self.held.pop_front();
        }
        self.held.len() < before
    }

    /// The advice that holds, if any.
    pub fn lowest(&self) -> Option<Rate> {
        self.held.front().map(|(_, rate)| *rate)
    }

    /// When the advice that holds expires.
    pub fn expires_at(&self) -> Time {
        self.held.front().map_or(Time::NEVER, |(at, _)| *at + self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Streams;

    const DRAFT: SconeConfig = SconeConfig {
        update: Span::from_secs(20),
        spread: Span::from_secs(10),
        period: Span::from_secs(67),
        lowest: Rate::from_bps(100_000),
        steps: 20,
    };

    fn s(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn kbps(kilobits: u64) -> Rate {
        Rate::from_bps(kilobits * 1000)
    }

    /// The twenty levels of a decade, multiplied out with integers: 10^(n/20) of 1e9, from 10^(1/20) =
    /// 1.122018454301963 by repeated squaring on paper.
    const DECADE: [u64; 20] = [
        1_000_000_000,
        1_122_018_454,
        1_258_925_412,
        1_412_537_545,
        1_584_893_192,
        1_778_279_410,
        1_995_262_315,
        2_238_721_139,
        2_511_886_432,
        2_818_382_931,
        3_162_277_660,
        3_548_133_892,
        3_981_071_706,
        4_466_835_922,
        5_011_872_336,
        5_623_413_252,
        6_309_573_445,
        7_079_457_844,
        7_943_282_347,
        8_912_509_381,
    ];

    #[test]
    fn the_levels_are_those_of_the_draft() {
        assert_eq!((DRAFT, DRAFT.highest()), (SconeConfig::default(), 126));
        for n in 0..=126u32 {
            let expected = u128::from(DECADE[(n % 20) as usize]) * 10u128.pow(5 + n / 20);
            let found = u128::from(DRAFT.rate(n).as_bps()) * 1_000_000_000;
            // Half a bit, and the digits that the table lacks.
            assert!(
                found.abs_diff(expected) <= 500_000_000 + 10u128.pow(5 + n / 20),
                "{n}: {found} {expected}"
            );
        }
        // The table of examples, §5.1.
        for (n, bps) in [(0, 100e3), (1, 112e3), (2, 126e3), (3, 141e3), (21, 1.12e6), (126, 199.5e9)] {
            let ratio = DRAFT.rate(n).as_bps() as f64 / bps;
            assert!((0.998..1.002).contains(&ratio), "{n}: {ratio}");
        }
    }

    #[test]
    fn a_rate_is_rounded_down_to_a_level_and_a_level_is_its_own() {
        for steps in [1, 7, 20, 200, 1000] {
            let scone = SconeConfig { steps, ..DRAFT };
            for n in 0..=scone.highest() {
                let rate = scone.rate(n);
                assert_eq!(scone.level(rate), n, "{steps} steps");
                assert_eq!(
                    scone.level(Rate::from_bps(rate.as_bps() - 1)),
                    n.saturating_sub(1),
                    "{steps} steps"
                );
            }
        }
        assert_eq!(DRAFT.level(Rate::ZERO), 0);
        assert_eq!(DRAFT.level(Rate::UNLIMITED), 126);
        assert_eq!(DRAFT.quantised(kbps(5_000)).as_bps(), 4_466_836);
    }

    #[test]
    fn the_lowest_of_a_period_holds_and_then_the_next() {
        let mut advice = ReceivedAdvice::new(Span::from_secs(67));
        assert_eq!((advice.lowest(), advice.expires_at()), (None, Time::NEVER));
        advice.push(s(0), kbps(1000));
        advice.push(s(25), kbps(400));
        advice.push(s(50), kbps(900));
        advice.push(s(75), kbps(700));
        assert_eq!((advice.lowest(), advice.expires_at()), (Some(kbps(400)), s(92)));
        assert!(!advice.expire(s(91)) && advice.expire(s(92)));
        assert_eq!((advice.lowest(), advice.expires_at()), (Some(kbps(700)), s(142)));
        advice.push(s(100), kbps(700));
        assert_eq!(advice.expires_at(), s(167), "told again, it holds longer");
        assert!(advice.expire(s(167)));
        assert_eq!(advice.lowest(), None);
    }

    #[test]
    fn at_any_time_the_lowest_of_what_came_in_the_period_before_it_holds() {
        for seed in 0..200 {
            let mut stream = Streams::new(seed, 0).stream("advice");
            let mut advice = ReceivedAdvice::new(Span::from_secs(67));
            let (mut came, mut now) = (Vec::new(), 0);
            for _ in 0..100 {
                now += stream.below(80);
                if stream.below(3) > 0 {
                    let level = stream.below(4);
                    advice.push(s(now), kbps(100 * (level + 1)));
                    came.push((now, 100 * (level + 1)));
                } else {
                    advice.expire(s(now));
                }
                // All that came is kept, and looked through: what is 67 s old has expired.
                let held = came.iter().filter(|(at, _)| now < at + 67);
                assert_eq!(advice.lowest(), held.map(|(_, rate)| kbps(*rate)).min(), "{came:?} at {now} s");
            }
        }
    }

    #[test]
    fn what_would_expire_before_it_is_renewed_is_refused() {
        let short = SconeConfig { period: Span::from_secs(29), ..DRAFT };
        let fault = short.check().unwrap_err();
        assert_eq!((fault.key.as_str(), fault.found.as_str()), ("period", "29 s"));
        assert!(DRAFT.check().is_ok());
        for wrong in [
            SconeConfig { steps: 0, ..DRAFT },
            SconeConfig { update: Span::ZERO, ..DRAFT },
            SconeConfig { lowest: Rate::ZERO, ..DRAFT },
            SconeConfig { lowest: Rate::UNLIMITED, ..DRAFT },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
