//! By how much a capacity changes at a sample.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, rate, require};
use varicap_units::{JsonSchema, Probability, Rate};

/// By how much a capacity changes at a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::text)]
pub enum Step {
    /// Always by the same rate; may be written as the rate alone: `"50 kbit/s"`.
    By(Rate),
    /// In proportion to what it is.
    Proportional(ProportionalStep),
}
varicap_units::choice!(Step, |text: &str| {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.').then(|| text.parse::<Rate>().map(Step::By))
});

impl Default for Step {
    /// Source: [lrl, §4].
    fn default() -> Step {
        Step::By(Rate::from_bps(50_000))
    }
}

/// A change in proportion to the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProportionalStep {
    /// The share of the capacity by which it changes. Default: 0.5.
    pub share: Probability,
    /// The least change, so that a capacity of zero can rise. Default: 10 kbit/s.
    pub least: Rate,
}

impl Default for ProportionalStep {
    fn default() -> ProportionalStep {
        let share = Probability::new(0.5).unwrap_or_default();
        ProportionalStep { share, least: Rate::from_bps(10_000) }
    }
}

impl Part for Step {
    fn check(&self) -> Checked {
        match self {
            Step::By(step) => {
                let good = *step > Rate::ZERO && !step.is_unlimited();
                require("", good, step, "a rate above 0: without a step the capacity never moves")?;
                rate("", *step)
            }
            Step::Proportional(step) => step.check().map_err(|fault| fault.within("proportional")),
        }
    }
}

impl Part for ProportionalStep {
    fn check(&self) -> Checked {
        let moves = self.share.get() > 0.0 || self.least > Rate::ZERO;
        require("share", moves, self.share, "above 0 where `least` is 0")?;
        require("least", !self.least.is_unlimited(), self.least, "a rate")?;
        rate("least", self.least)
    }
}

impl Step {
    /// One step up from `rate`.
    pub(super) fn above(&self, rate: Rate) -> Rate {
        Rate::from_bps(rate.as_bps().saturating_add(self.size(rate).as_bps()))
    }

    /// One step down from `rate`.
    pub(super) fn below(&self, rate: Rate) -> Rate {
        Rate::from_bps(rate.as_bps().saturating_sub(self.size(rate).as_bps()))
    }

    fn size(&self, rate: Rate) -> Rate {
        match self {
            Step::By(step) => *step,
            Step::Proportional(step) => {
                let share = Rate::from_bps((rate.as_bps() as f64 * step.share.get() + 0.5) as u64);
                share.max(step.least)
            }
        }
    }
}
