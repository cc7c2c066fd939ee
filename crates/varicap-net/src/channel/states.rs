//! A channel with several states. Source: [wireless, §V].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use varicap_units::part::{Checked, Fault, Part};
use varicap_units::{JsonSchema, Probability, Span};

use super::{ChannelPart, ChannelParts, Law};
use crate::chain::HoldingChain;

/// A channel with several states: an n-state continuous-time Markov chain. Source: [wireless, §V].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatesConfig {
    /// Probability that a transmission is received, in each state; in several states, that of the worst of them.
    pub delivered: Vec<Probability>,
    /// Mean holding time of each state.
    pub mean_holding: Vec<Span>,
    /// Probability of each next state (rows sum to 1, zero on the diagonal). Default: every other state alike.
    #[serde(default)]
    pub jumps: Option<Vec<Vec<Probability>>>,
    /// First state. Default: drawn from the stationary distribution.
    #[serde(default)]
    pub start: Option<usize>,
}

impl Part for StatesConfig {
    fn check(&self) -> Checked {
        self.channel().map(|_| ())
    }

    fn draws(&self) -> bool {
        true
    }
}

impl ChannelPart for StatesConfig {
    fn channel(&self) -> Result<ChannelParts, Fault> {
        let states = ("delivered", self.delivered.len());
        let chain = HoldingChain::new(states, &self.mean_holding, self.jumps.as_deref(), self.start)?;
        let delivered = self.delivered.iter().map(|probability| probability.get()).collect();
        Ok(ChannelParts::new(delivered, Law::Chain(Arc::new(chain))))
    }

    fn facts(&self) -> Json {
        json!({
            "mean_holding_s": self.mean_holding.iter().map(|span| span.as_secs_f64()).collect::<Vec<_>>(),
            "delivered": self.delivered,
            "jumps": self.jumps,
        })
    }
}
