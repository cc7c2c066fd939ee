//! Loss of each frame with a probability, correlated with the fate of the one before: netem's `loss random`.

use serde::{Deserialize, Serialize};
use varicap_units::part::Part;
use varicap_units::{JsonSchema, Probability, Stream};

use super::{Chance, share_at_most};
use crate::loss::{FrameLoss, LosesFrames};

/// Loss as by netem's `loss random PROBABILITY CORRELATION`.
///
/// netem compares the probability with a mean of a new random number and the last one. Such means are near the middle
/// more often than at the ends, so that with a correlation far fewer packets are lost than the probability says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrelatedLossConfig {
    /// The probability with which netem compares its random numbers.
    pub probability: Probability,
    /// Weight of the last random number in the next. Default: 0.
    #[serde(default)]
    pub correlation: Probability,
}

impl Part for CorrelatedLossConfig {
    fn draws(&self) -> bool {
        super::percent(self.probability) > 0
    }
}

impl FrameLoss for CorrelatedLossConfig {
    type State = Correlated;

    fn mean(&self) -> f64 {
        share_at_most(self.probability.get(), self.correlation.get())
    }

    fn start(&self, mut stream: Stream) -> Correlated {
        Correlated { chance: Chance::new(self.probability, self.correlation, &mut stream), stream }
    }
}

/// netem's `CLG_RANDOM`.
#[derive(Clone, Debug)]
pub struct Correlated {
    chance: Chance,
    stream: Stream,
}

impl LosesFrames for Correlated {
    fn loses(&mut self) -> bool {
        self.chance.happens(&mut self.stream)
    }
}
