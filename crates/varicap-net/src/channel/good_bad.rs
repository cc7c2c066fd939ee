//! A channel that is good or bad. Source: [wireless, §III-A].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use varicap_units::part::{Checked, Fault, Part, require};
use varicap_units::{JsonSchema, Probability, Span};

use super::{ChannelPart, ChannelParts, Law, certain};
use crate::chain::HoldingChain;

/// A channel that is good or bad, each for exponential times. Source: [wireless, §III-A].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoodBadConfig {
    /// Mean duration of a good time.
    pub good: Span,
    /// Mean duration of a bad time.
    pub bad: Span,
    /// Probability that a transmission that lies wholly within a good time is received. Default: 1.
    #[serde(default = "certain")]
    pub delivered: Probability,
}

impl Part for GoodBadConfig {
    fn check(&self) -> Checked {
        for (key, mean) in [("good", self.good), ("bad", self.bad)] {
            require(key, mean > Span::ZERO, mean, "a time above zero")?;
        }
        Ok(())
    }

    fn draws(&self) -> bool {
        true
    }
}

impl ChannelPart for GoodBadConfig {
    fn channel(&self) -> Result<ChannelParts, Fault> {
        self.check()?;
        let chain = HoldingChain::new(("delivered", 2), &[self.bad, self.good], None, None)?;
        Ok(ChannelParts::new([0.0, self.delivered.get()].into(), Law::Chain(Arc::new(chain))))
    }

    fn facts(&self) -> Json {
        json!({
            "good_s": self.good.as_secs_f64(),
            "bad_s": self.bad.as_secs_f64(),
            "delivered": self.delivered,
        })
    }
}
