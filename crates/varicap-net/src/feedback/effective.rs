//! EFFCAP: the effective capacity that samples of the capacity show. Source: [abr, §IV-A].
//!
//! With C_ij the i-th sample of the j-th of N sliding blocks of M samples,
//! `-1/(M delta) ln( 1/N sum_j exp(-delta sum_i C_ij) )` [abr, eq. (25)], which for large delta is the least of the
//! blocks' means [abr, eq. (28)].

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, positive, require};
use varicap_units::{JsonSchema, Rate, Span, Stretch, Time, Work};

use super::{EstimatorPart, Instantaneous, KnownRtt, RateFeedback, Scale};
use crate::frame::Backlog;

/// Most samples of an average, and most averages.
pub const MOST_SAMPLES: usize = 100_000;

/// Samples are the mean rates of intervals. M of them make an average, a new one with each sample; the least of the
/// last N averages is advertised. Until there are so many, those that there are count. Source: [abr, eq. (28)].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EffectiveConfig {
    /// Time over which a sample is taken, and after which a rate is advertised. Default: 30 ms.
    pub interval: Span,
    /// How many samples make an average (M). Default: 1 rtt ([abr, §VI]).
    pub average: Stretch,
    /// Over how many averages the least is taken (N). Default: 7 rtt: with `average` a memory of 8 round trips
    /// ([abr, §VI]).
    pub least: Stretch,
    /// Instead of the least average the effective capacity of the N averages for this delta [1/packet], between their
    /// mean (0) and their least (unlimited). Default: the least. Source: [abr, eqs. (25), (26)].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// Where the effective capacity is found. Default: link.
    pub at: Place,
}

impl Default for EffectiveConfig {
    fn default() -> EffectiveConfig {
        EffectiveConfig {
            interval: Span::from_millis(30),
            average: Stretch::Rtt(1.0),
            least: Stretch::Rtt(7.0),
            delta: None,
            at: Place::Link,
        }
    }
}

/// Where the effective capacity is found, which decides what a round trip is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::names)]
pub enum Place {
    /// At the link; a round trip is the flow's propagation delay of both ways, known from its set-up.
    #[default]
    Link,
    /// At the source, from samples that the link advertises; a round trip is what the sender measures. A sample that is
    /// lost in transit does not count. Source: [abr, §VI-B].
    Source(AtSourceConfig),
}
varicap_units::choice!(Place);

/// The effective capacity at the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AtSourceConfig {
    /// Which round trip counts. Default: base.
    pub rtt: MeasuredRtt,
}

/// A round trip that a sender has measured; before that, its propagation delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredRtt {
    /// The least one.
    #[default]
    Base,
    /// The smoothed one (RFC 6298's SRTT), the waiting in the source's own buffer included.
    Smoothed,
}

impl Part for EffectiveConfig {
    fn check(&self) -> Checked {
        positive("interval", self.interval)?;
        check_stretch("average", self.average, self.interval)?;
        check_stretch("least", self.least, self.interval)?;
        let delta = self.delta.unwrap_or_default();
        require("delta", delta.is_finite() && delta >= 0.0, delta, "a finite number, 0 or above")
    }
}

fn check_stretch(key: &str, stretch: Stretch, interval: Span) -> Checked {
    let most = MOST_SAMPLES as u64;
    let (good, expected) = match stretch {
        Stretch::Samples(samples) => ((1..=most).contains(&samples), format!("1 to {most} samples")),
        Stretch::Rtt(factor) => {
            (factor > 0.0 && factor <= 1e4, "above 0 rtt, and at most 10000 rtt".to_owned())
        }
        Stretch::Time(time) => {
            let longest = interval.saturating_mul(most);
            (time > Span::ZERO && time <= longest, format!("more than 0 s, and at most {longest}"))
        }
    };
    require(key, good, stretch, expected)
}

impl EstimatorPart for EffectiveConfig {
    type Estimator = Box<Effective>;

    fn interval(&self) -> Option<Span> {
        Some(self.interval)
    }

    fn estimator(&self, scale: Scale, now: Time, capacity: Rate) -> Box<Effective> {
        Box::new(Effective::new(self, scale, now, capacity))
    }

    fn at_source(&self, scale: Scale) -> Option<SourceEstimate> {
        let Place::Source(AtSourceConfig { rtt }) = self.at else { return None };
        Some(SourceEstimate { config: self.clone(), rtt, averages: SlidingAverages::new(self, scale) })
    }

    fn exponentials(&self, rtt: Span) -> f64 {
        // A finite delta weighs every average anew.
        let averages = self.least.samples(self.interval, rtt).min(MOST_SAMPLES as u64);
        self.delta.map_or(0.0, |_| averages as f64)
    }
}

/// The least of the last N averages of M samples each, or their effective capacity for a finite delta. Each sample
/// gives a new average; until there are M samples, the one average is that of all there are.
#[derive(Clone, Debug)]
pub struct SlidingAverages {
    /// M, how many samples make an average.
    average: usize,
    /// N, over how many averages the least is taken.
    least: usize,
    /// Delta times the packets that a sample of 1 b/s carries, if delta is finite.
    theta: Option<f64>,
    /// The last M + N samples or fewer, the oldest first [b/s]: one more than the averages need, the one that leaves.
    samples: VecDeque<u64>,
    /// Sum of the last M of them.
    sum: u128,
    /// How many samples there were so far.
    count: u64,
    /// Averages that count: of the last N all, if delta is finite; else those that are less than all after them.
    /// Each with the number of its last sample.
    averages: VecDeque<(u64, u64)>,
}

impl SlidingAverages {
    /// The averages that `config` names, as `scale` measures them.
    pub fn new(config: &EffectiveConfig, scale: Scale) -> SlidingAverages {
        let theta = config.delta.map(|delta| {
            let packets = config.interval.as_secs_f64() / (8.0 * scale.packet.as_u64().max(1) as f64);
            delta * packets
        });
        let mut averages = SlidingAverages {
            average: 1,
            least: 1,
            theta,
            samples: VecDeque::new(),
            sum: 0,
            count: 0,
            averages: VecDeque::new(),
        };
        averages.measure(config, scale.rtt);
        averages
    }

    /// From now on a round trip takes `rtt`: M and N may change, and then the samples are averaged anew.
    pub fn measure(&mut self, config: &EffectiveConfig, rtt: Span) {
        let samples = |stretch: Stretch| {
            usize::try_from(stretch.samples(config.interval, rtt)).unwrap_or(usize::MAX).min(MOST_SAMPLES)
        };
        let (average, least) = (samples(config.average), samples(config.least));
        if (average, least) == (self.average, self.least) {
            return;
        }
        (self.average, self.least) = (average, least);
        let samples = std::mem::take(&mut self.samples);
        self.averages.clear();
        (self.sum, self.count) = (0, 0);
        for sample in samples {
            self.push(Rate::from_bps(sample));
        }
    }

    /// Adds the next sample.
    pub fn push(&mut self, sample: Rate) {
        self.count += 1;
        if self.samples.len() == self.average + self.least {
            self.samples.pop_front();
        }
        self.samples.push_back(sample.as_bps());
        self.sum += u128::from(sample.as_bps());
        let held = self.samples.len();
        if held > self.average {
            self.sum -= u128::from(self.samples[held - 1 - self.average]);
        } else {
            // Still the first average.
            self.averages.clear();
        }
        let of = held.min(self.average) as u128;
        let average = u64::try_from((self.sum + of / 2) / of).unwrap_or(u64::MAX);
        while let Some((_, last)) = self.averages.back()
            && self.theta.is_none()
            && *last >= average
        {
            self.averages.pop_back();
        }
        self.averages.push_back((self.count, average));
        debug_assert!(self.samples.len() <= self.average + self.least, "more samples than the averages need");
        debug_assert!(
            self.theta.is_some() || self.averages.iter().is_sorted_by(|a, b| a.1 < b.1),
            "least first"
        );
        let oldest = self.count.saturating_sub(self.least as u64);
        while self.averages.front().is_some_and(|(last, _)| *last <= oldest) {
            self.averages.pop_front();
        }
    }

    /// The rate that follows from the samples so far; `None` before the first.
    pub fn rate(&self) -> Option<Rate> {
        let Some(theta) = self.theta else {
            return self.averages.front().map(|(_, average)| Rate::from_bps(*average));
        };
        let least = self.averages.iter().map(|(_, average)| *average).min()?;
        // ln mean exp(-x) = -x_min + ln mean exp(x_min - x): no term overflows.
        let theta = theta * self.average as f64;
        let excess = |(_, average): &(u64, u64)| libm::exp(-theta * (average - least) as f64);
        let mean = self.averages.iter().map(excess).sum::<f64>() / self.averages.len() as f64;
        let above = if theta > 0.0 { -libm::log(mean) / theta } else { self.mean_above(least) };
        Some(Rate::from_bps(least.saturating_add((above + 0.5) as u64)))
    }

    /// By how much the mean of the averages exceeds the least [b/s]: the limit for a delta of zero.
    fn mean_above(&self, least: u64) -> f64 {
        let sum: f64 = self.averages.iter().map(|(_, average)| (average - least) as f64).sum();
        sum / self.averages.len() as f64
    }
}

/// Advertises, every interval, the effective capacity that the samples so far show; where the source makes the averages
/// itself, the samples. Source: [abr], EFFCAP.
#[derive(Clone, Debug)]
pub struct Effective {
    samples: Instantaneous,
    averages: Option<SlidingAverages>,
}

impl Effective {
    /// Advertises by the interval of `config`, the first time after one, on a link that offers `capacity` now.
    pub fn new(config: &EffectiveConfig, scale: Scale, now: Time, capacity: Rate) -> Effective {
        Effective {
            samples: Instantaneous::new(now, config.interval, capacity),
            averages: (config.at == Place::Link).then(|| SlidingAverages::new(config, scale)),
        }
    }
}

impl RateFeedback for Effective {
    fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog) {
        self.samples.observe(now, capacity, backlog);
    }

    fn pass(&mut self, now: Time, work: Work) {
        self.samples.pass(now, work);
    }

    fn advertise(&mut self, now: Time) -> Option<Rate> {
        let sample = self.samples.advertise(now)?;
        let Some(averages) = &mut self.averages else { return Some(sample) };
        averages.push(sample);
        averages.rate()
    }

    fn poll_at(&self) -> Time {
        self.samples.poll_at()
    }
}

/// The effective capacity, found at the source from the samples that it hears.
#[derive(Clone, Debug)]
pub struct SourceEstimate {
    config: EffectiveConfig,
    rtt: MeasuredRtt,
    averages: SlidingAverages,
}

impl SourceEstimate {
    /// The estimate after `sample` was heard by a sender whose round trips are `rtt`.
    pub(super) fn hear(&mut self, sample: Rate, rtt: Option<KnownRtt>) -> Rate {
        if let Some(rtt) = rtt {
            let rtt = match self.rtt {
                MeasuredRtt::Base => rtt.base,
                MeasuredRtt::Smoothed => rtt.smoothed,
            };
            self.averages.measure(&self.config, rtt);
        }
        self.averages.push(sample);
        self.averages.rate().unwrap_or(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use varicap_units::Bytes;

    const SCALE: Scale = Scale { rtt: Span::from_millis(200), packet: Bytes::new(500) };

    fn config(average: u64, least: u64) -> EffectiveConfig {
        let (average, least) = (Stretch::Samples(average), Stretch::Samples(least));
        EffectiveConfig { average, least, delta: None, interval: Span::from_millis(30), at: Place::Link }
    }

    /// The rates that are advertised after each of `samples`.
    fn advertised(config: &EffectiveConfig, samples: &[u64]) -> Vec<u64> {
        let mut averages = SlidingAverages::new(config, SCALE);
        let rate = |sample: &u64| {
            averages.push(Rate::from_bps(*sample));
            averages.rate().unwrap().as_bps()
        };
        samples.iter().map(rate).collect()
    }

    /// The averages of `samples` that count after the last of them, by the definition.
    fn blocks(config: &EffectiveConfig, samples: &[u64]) -> Vec<u64> {
        let count = |stretch: Stretch| stretch.samples(config.interval, SCALE.rtt) as usize;
        let (average, least) = (count(config.average), count(config.least));
        let mean = |block: &[u64]| {
            let of = block.len() as u64;
            (block.iter().sum::<u64>() + of / 2) / of
        };
        let mut means: Vec<u64> = samples.windows(average.min(samples.len())).map(mean).collect();
        means.split_off(means.len().saturating_sub(least))
    }

    #[test]
    fn the_least_of_sliding_averages_is_advertised() {
        let samples = [8, 4, 6, 2, 8, 8, 8, 8];
        // Averages of two, from the second sample on: 6 5 4 5 8 8 8.
        assert_eq!(advertised(&config(2, 1), &samples), [8, 6, 5, 4, 5, 8, 8, 8]);
        assert_eq!(advertised(&config(2, 3), &samples), [8, 6, 5, 4, 4, 4, 5, 8]);
        assert_eq!(advertised(&config(1, 1), &samples), samples);
        // Before four samples the mean of those there are.
        assert_eq!(advertised(&config(4, 9), &samples), [8, 6, 6, 5, 5, 5, 5, 5]);
    }

    #[test]
    fn stretches_of_round_trips_are_those_of_the_paper() {
        let averages = SlidingAverages::new(&EffectiveConfig::default(), SCALE);
        assert_eq!((averages.average, averages.least), (7, 49)); // [abr, §V-B]: Delta = 200 ms, s = 30 ms
        let longer = Scale { rtt: Span::from_millis(360), ..SCALE };
        let config = EffectiveConfig { least: Stretch::Rtt(11.0), ..EffectiveConfig::default() };
        let averages = SlidingAverages::new(&config, longer);
        assert_eq!((averages.average, averages.least), (12, 132)); // [abr, §VII-A]
    }

    #[test]
    fn a_round_trip_that_turns_out_otherwise_averages_the_same_samples_anew() {
        let config = EffectiveConfig { least: Stretch::Samples(2), ..config(1, 2) };
        let config = EffectiveConfig { average: Stretch::Rtt(1.0), ..config };
        let mut averages =
            SlidingAverages::new(&config, Scale { rtt: Span::from_millis(90), packet: Bytes::new(500) });
        for sample in [9, 3, 6, 6, 9] {
            averages.push(Rate::from_bps(sample));
        }
        assert_eq!(averages.rate(), Some(Rate::from_bps(5))); // (3 + 6 + 6) / 3, then 7
        averages.measure(&config, Span::from_millis(60));
        assert_eq!(averages.rate(), Some(Rate::from_bps(6))); // (6 + 6) / 2, then 7.5
        averages.measure(&config, Span::from_millis(30));
        assert_eq!(averages.rate(), Some(Rate::from_bps(6)));
        averages.push(Rate::from_bps(9));
        assert_eq!(averages.rate(), Some(Rate::from_bps(9)));
    }

    #[test]
    fn delta_leads_from_the_mean_of_the_averages_to_the_least() {
        let samples = [800_000, 400_000, 400_000, 800_000];
        let at = |delta: f64| {
            let config = EffectiveConfig { delta: Some(delta), ..config(1, 4) };
            *advertised(&config, &samples).last().unwrap()
        };
        // One packet of 500 B in 30 ms is 133.3 kb/s: samples of 6 and 3 packets.
        let closed = |delta: f64| {
            let mean = 0.5 * libm::exp(-6.0 * delta) + 0.5 * libm::exp(-3.0 * delta);
            let packets = -libm::log(mean) / delta;
            packets * 400_000.0 / 3.0
        };
        assert_eq!(at(0.0), 600_000);
        for delta in [0.01, 0.3, 1.0, 5.0] {
            assert!((at(delta) as f64 - closed(delta)).abs() < 1.0, "{delta}: {}", at(delta));
        }
        assert_eq!(at(1e6), 400_000);
        assert!(at(1e-9).abs_diff(600_000) <= 1);
    }

    proptest! {
        #[test]
        fn any_samples_agree_with_the_definition(
            samples in prop::collection::vec(0u64..1000, 1..60), average in 1u64..9, least in 1u64..20
        ) {
            let config = config(average, least);
            for (end, told) in advertised(&config, &samples).into_iter().enumerate() {
                let least = blocks(&config, &samples[..=end]).into_iter().min();
                prop_assert_eq!(Some(told), least);
            }
        }

        #[test]
        fn a_finite_delta_lies_between_least_and_mean(
            samples in prop::collection::vec(0u64..1_000_000, 1..40), delta in 0.0f64..50.0
        ) {
            let config = EffectiveConfig { delta: Some(delta), ..config(3, 7) };
            let told = *advertised(&config, &samples).last().unwrap();
            let blocks = blocks(&config, &samples);
            let mean = blocks.iter().sum::<u64>() as f64 / blocks.len() as f64;
            prop_assert!(blocks.iter().min().unwrap() <= &told && told as f64 <= mean + 1.0);
        }
    }
}
