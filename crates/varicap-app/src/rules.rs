//! Rules by which a video player chooses the bitrate of its next segment.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, bounded, positive, require};
use varicap_units::{JsonSchema, Rate, Span, choice};

/// Most segments over which a throughput is averaged.
pub(crate) const MOST_SAMPLES: u32 = 100;

varicap_units::parts! {
    /// How a video player chooses a bitrate.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(remote = "Self")]
    #[schemars(transform = varicap_units::schema::names)]
    pub enum VideoRule {
        RateBased(config: RateBased) = "rate-based",
            "The highest bitrate below the harmonic mean of the last throughputs. Source: [yin15, §7.1] (RB).";
        Bba(config: Bba) = "bba",
            "By the buffer alone, along a line from the lowest bitrate to the highest. Source: [huang14, Algorithm 1] (BBA-0).";
        Bola(config: Bola) = "bola",
            "By the buffer alone, the greatest utility for the buffer that a segment takes. Source: [spiteri16] (BOLA-BASIC).";
    }
}
choice!(VideoRule);

impl Default for VideoRule {
    fn default() -> VideoRule {
        VideoRule::Bola(Bola::default())
    }
}

/// By throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateBased {
    /// Over how many of the last segments the throughput is averaged. Default: 5 ([yin15, §7.1]).
    pub samples: u32,
}

impl Default for RateBased {
    fn default() -> RateBased {
        RateBased { samples: 5 }
    }
}

impl Part for RateBased {
    fn check(&self) -> Checked {
        let good = (1..=MOST_SAMPLES).contains(&self.samples);
        require("samples", good, self.samples, format!("1 to {MOST_SAMPLES}"))
    }
}

/// By the buffer, along a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bba {
    /// Up to this level of the buffer the lowest bitrate. Default: 5 s, for a buffer of 30 s ([yin15, §7.1]).
    pub reservoir: Span,
    /// So much above it the highest. Default: 10 s ([yin15, §7.1]).
    pub cushion: Span,
}

impl Default for Bba {
    fn default() -> Bba {
        Bba { reservoir: Span::from_secs(5), cushion: Span::from_secs(10) }
    }
}

impl Part for Bba {
    fn check(&self) -> Checked {
        bounded("reservoir", self.reservoir)?;
        positive("cushion", self.cushion)?;
        bounded("cushion", self.cushion)
    }
}

/// By the buffer, with a utility.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bola {
    /// How much the player cares for a full buffer beside the utility of bitrates (gamma times the length of a segment).
    /// Default: 5 ([spiteri16, §V]).
    pub gamma: f64,
}

impl Default for Bola {
    fn default() -> Bola {
        Bola { gamma: 5.0 }
    }
}

impl Part for Bola {
    fn check(&self) -> Checked {
        require("gamma", (0.01..=1000.0).contains(&self.gamma), self.gamma, "0.01 to 1000")
    }
}

/// The state that a rule may look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// Bitrates, the lowest first.
    pub ladder: &'a [Rate],
    /// The media that waits to be shown.
    pub level: Span,
    /// The most that may wait.
    pub buffer: Span,
    /// The length of a segment.
    pub segment: Span,
    /// The rung of the last segment.
    pub last: usize,
    /// The rate that the path has carried lately, as far as it is known [b/s].
    pub throughput: Option<Rate>,
}

impl View<'_> {
    /// The highest rung that `rate` carries, or the lowest.
    pub fn rung_below(&self, rate: Rate) -> usize {
        self.ladder.iter().rposition(|bitrate| *bitrate <= rate).unwrap_or(0)
    }
}

impl VideoRule {
    /// Over how many segments it wants the throughput averaged.
    pub(crate) fn samples(&self) -> u32 {
        match self {
            VideoRule::RateBased(rule) => rule.samples,
            VideoRule::Bba(_) | VideoRule::Bola(_) => 0,
        }
    }

    /// The rung of the next segment.
    pub(crate) fn choose(&self, view: &View<'_>) -> usize {
        match self {
            VideoRule::RateBased(_) => view.throughput.map_or(0, |rate| view.rung_below(rate)),
            VideoRule::Bba(rule) => rule.choose(view),
            VideoRule::Bola(rule) => rule.choose(view),
        }
    }
}

impl Bba {
    /// Source: [huang14, Algorithm 1].
    fn choose(&self, view: &View<'_>) -> usize {
        let View { ladder, level, last, .. } = *view;
        let highest = ladder.len() - 1;
        if level <= self.reservoir {
            return 0;
        }
        if level >= self.reservoir.saturating_add(self.cushion) {
            return highest;
        }
        let (least, most) = (u128::from(ladder[0].as_bps()), u128::from(ladder[highest].as_bps()));
        let above = u128::from((level - self.reservoir).as_nanos());
        let line = least + (most - least) * above / u128::from(self.cushion.as_nanos());
        let bps = |rung: usize| u128::from(ladder[rung].as_bps());
        let (up, down) = ((last + 1).min(highest), last.saturating_sub(1));
        if line >= bps(up) {
            (0..=highest).rev().find(|rung| bps(*rung) < line).unwrap_or(0)
        } else if line <= bps(down) {
            (0..=highest).find(|rung| bps(*rung) > line).unwrap_or(highest)
        } else {
            last
        }
    }
}

impl Bola {
    /// Source: [spiteri16, §IV]: the rung with the most of (V (utility + gamma) - buffer in segments) / size.
    fn choose(&self, view: &View<'_>) -> usize {
        let size = |rate: &Rate| rate.as_bps() as f64;
        let lowest = size(&view.ladder[0]);
        let utility = |rate: &Rate| libm::log(size(rate) / lowest);
        let highest = utility(&view.ladder[view.ladder.len() - 1]);
        let segments = |span: Span| span.as_nanos() as f64 / view.segment.as_nanos() as f64;
        let v = (segments(view.buffer) - 1.0) / (highest + self.gamma);
        let score = |rate: &Rate| (v * (utility(rate) + self.gamma) - segments(view.level)) / size(rate);
        let mut best = 0;
        for rung in 1..view.ladder.len() {
            if score(&view.ladder[rung]) > score(&view.ladder[best]) {
                best = rung;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: [Rate; 3] =
        [Rate::from_bps(1_000_000), Rate::from_bps(2_000_000), Rate::from_bps(4_000_000)];

    fn view(level_ms: u64, last: usize, throughput: Option<u64>) -> View<'static> {
        View {
            ladder: &LADDER,
            level: Span::from_millis(level_ms),
            buffer: Span::from_secs(30),
            segment: Span::from_secs(2),
            last,
            throughput: throughput.map(Rate::from_bps),
        }
    }

    #[test]
    fn a_rate_chooses_what_it_carries() {
        let rule = VideoRule::RateBased(RateBased::default());
        let chosen = |bps| rule.choose(&view(9_000, 2, bps));
        assert_eq!(
            [Some(500_000), Some(2_000_000), Some(3_999_999), Some(9_000_000), None].map(chosen),
            [0, 1, 1, 2, 0]
        );
    }

    #[test]
    fn the_line_has_a_step_of_hysteresis() {
        // From 1 Mb/s at 5 s to 4 Mb/s at 15 s.
        let rule = VideoRule::Bba(Bba::default());
        let chosen = |level, last| rule.choose(&view(level, last, None));
        assert_eq!([chosen(5_000, 2), chosen(15_000, 0)], [0, 2]);
        // 1.99 and 2.02 Mb/s: from below, the next rung must be reached; then the highest below the line is taken.
        assert_eq!([chosen(8_300, 0), chosen(8_400, 0)], [0, 1]);
        // From above it stays until the line has come down to the rung below.
        assert_eq!([chosen(8_400, 2), chosen(8_300, 2), chosen(5_300, 1)], [2, 1, 1]);
    }

    #[test]
    fn a_fuller_buffer_never_means_a_lower_bitrate() {
        let rule = VideoRule::Bola(Bola::default());
        let chosen: Vec<usize> = (0..=28).map(|s| rule.choose(&view(1000 * s, 0, None))).collect();
        assert!(chosen.is_sorted(), "{chosen:?}");
        assert_eq!((chosen[0], chosen[28]), (0, 2));
        // (28/2)/(ln 4 + 5) = 2.1924: between the rungs at V (5 - ln 2) = 9.442 segments and at V (5 + 0) = 10.962.
        assert_eq!((chosen[18], chosen[19], chosen[21], chosen[22]), (0, 1, 1, 2));
    }
}
