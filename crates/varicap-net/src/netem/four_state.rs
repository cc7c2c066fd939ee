//! netem's Markov chain of four states: `loss state P13 P31 P32 P23 P14`.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, require};
use varicap_units::{JsonSchema, Probability, Stream};

use super::{draw, percent};
use crate::loss::{FrameLoss, LosesFrames};

/// A chain of four states, stepped once per packet.
///
/// Packets come through in gaps (1) and in bursts (2), are lost in bursts (3), and alone in gaps (4). It begins in 1. Source: Salsano et al., the GI model of netem; Linux `loss_4state`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FourStateConfig {
    /// From a gap into a burst's losses.
    pub p13: Probability,
    /// From a burst's losses back to a gap. Default: 1 - p13.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p31: Option<Probability>,
    /// From a burst's losses to packets that come through in it. Default: 0.
    #[serde(default)]
    pub p32: Probability,
    /// From these back to losses. Default: 1.
    #[serde(default = "crate::channel::certain")]
    pub p23: Probability,
    /// From a gap to a loss alone. Default: 0.
    #[serde(default)]
    pub p14: Probability,
}

impl FourStateConfig {
    /// Source: `tc` `netem_parse_opt`.
    fn p31(&self) -> f64 {
        self.p31.map_or(1.0 - self.p13.get(), Probability::get)
    }
}

impl Part for FourStateConfig {
    fn check(&self) -> Checked {
        let (gap, burst) = (self.p13.get() + self.p14.get(), self.p31() + self.p32.get());
        require("p14", gap <= 1.0, self.p14, "at most 1 - p13")?;
        require("p32", burst <= 1.0, self.p32, "at most 1 - p31")
    }

    fn draws(&self) -> bool {
        true
    }
}

impl FrameLoss for FourStateConfig {
    type State = FourState;

    /// From the balance of flows between the states.
    fn mean(&self) -> f64 {
        let (p13, p14, p31, p32, p23) =
            (self.p13.get(), self.p14.get(), self.p31(), self.p32.get(), self.p23.get());
        if p13 == 0.0 {
            return p14 / (1.0 + p14); // states 1 and 4 alone
        }
        // The transitions from a gap: to state 4 as often as p14; of bursts, relative to one gap, state 3 is left for a gap as often
        // as it is entered from one, and state 2 is as long as it is entered and left.
        if p31 == 0.0 {
            // Bursts never end.
            return if p32 == 0.0 { 1.0 } else { p23 / (p23 + p32) };
        }
        let lost = p13 / p31;
        if p32 > 0.0 && p23 == 0.0 {
            return 0.0; // ends in 2 for ever
        }
        let through = if p32 == 0.0 { 0.0 } else { lost * p32 / p23 };
        (lost + p14) / (1.0 + p14 + lost + through)
    }

    fn start(&self, stream: Stream) -> FourState {
        let p31 = Probability::new(self.p31()).unwrap_or_default();
        let [p13, p31, p32, p23, p14] =
            [self.p13, p31, self.p32, self.p23, self.p14].map(percent).map(u64::from);
        FourState { p13, p31, p32, p23, p14, state: State::TxInGap, stream }
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    TxInGap,
    TxInBurst,
    LostInBurst,
    LostInGap,
}

/// netem's `CLG_4_STATES`.
#[derive(Clone, Debug)]
pub struct FourState {
    p13: u64,
    p31: u64,
    p32: u64,
    p23: u64,
    p14: u64,
    state: State,
    stream: Stream,
}

impl LosesFrames for FourState {
    /// Moves to the next state, which says whether the packet is lost. A number for each, used or not.
    fn loses(&mut self) -> bool {
        let number = u64::from(draw(&mut self.stream));
        self.state = match self.state {
            State::TxInGap if number < self.p14 => State::LostInGap,
            State::TxInGap if number < self.p13 + self.p14 => State::LostInBurst,
            State::TxInGap => State::TxInGap,
            State::TxInBurst if number < self.p23 => State::LostInBurst,
            State::TxInBurst => State::TxInBurst,
            State::LostInBurst if number < self.p32 => State::TxInBurst,
            State::LostInBurst if number < self.p31 + self.p32 => State::TxInGap,
            State::LostInBurst => State::LostInBurst,
            State::LostInGap => State::TxInGap,
        };
        matches!(self.state, State::LostInBurst | State::LostInGap)
    }
}
