//! The Gilbert-Elliott loss in netem's parameters: `loss gemodel P R 1-H 1-K`.

use serde::{Deserialize, Serialize};
use varicap_units::part::Part;
use varicap_units::{JsonSchema, Probability, Stream};

use super::{draw, percent};
use crate::channel::certain;
use crate::loss::{FrameLoss, LosesFrames};

/// Gilbert-Elliott loss in netem's parameters. It begins in the good state, and a packet fares as in the state that it
/// finds; `gilbert-elliott` is the same chain by other names, in equilibrium from the first packet on.
/// Source: Linux `loss_gilb_ell`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeModelConfig {
    /// Probability of turning bad, per packet.
    pub p: Probability,
    /// Probability of turning good, per packet. Default: 1 - p.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r: Option<Probability>,
    /// `1-h`: loss probability in the bad state. Default: 1.
    #[serde(default = "certain")]
    pub one_minus_h: Probability,
    /// `1-k`: loss probability in the good state. Default: 0.
    #[serde(default)]
    pub one_minus_k: Probability,
}

impl GeModelConfig {
    /// Probability of turning good. Source: `tc` `netem_parse_opt`.
    fn r(&self) -> f64 {
        self.r.map_or(1.0 - self.p.get(), Probability::get)
    }
}

impl Part for GeModelConfig {
    fn draws(&self) -> bool {
        true
    }
}

impl FrameLoss for GeModelConfig {
    type State = GeModel;

    fn mean(&self) -> f64 {
        let (p, r) = (self.p.get(), self.r());
        // A chain that never turns stays good.
        let bad = if p > 0.0 { p / (p + r) } else { 0.0 };
        bad * self.one_minus_h.get() + (1.0 - bad) * self.one_minus_k.get()
    }

    fn start(&self, stream: Stream) -> GeModel {
        let r = Probability::new(self.r()).unwrap_or_default();
        let [p, r, h, k1] = [self.p, r, self.one_minus_h, self.one_minus_k].map(percent);
        GeModel { p, r, h, k1, is_bad: false, stream }
    }
}

/// netem's `CLG_GILB_ELL`.
#[derive(Clone, Debug)]
pub struct GeModel {
    p: u32,
    r: u32,
    h: u32,
    k1: u32,
    is_bad: bool,
    stream: Stream,
}

impl LosesFrames for GeModel {
    /// Turns the chain, then decides by the state that it was in; each takes a number.
    fn loses(&mut self) -> bool {
        let (turns, loses) = if self.is_bad { (self.r, self.h) } else { (self.p, self.k1) };
        self.is_bad ^= hits(turns, &mut self.stream);
        hits(loses, &mut self.stream)
    }
}

/// Whether a number falls below a threshold; what is certain takes a number, too.
pub(super) fn hits(threshold: u32, stream: &mut Stream) -> bool {
    let number = draw(stream);
    number < threshold || threshold == u32::MAX
}
