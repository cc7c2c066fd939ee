//! A rate that a policy sets, whatever the capacity. Source: draft-ietf-scone-protocol-07 §1 (limits applied by policy).

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, require};
use varicap_units::{JsonSchema, Rate, Time};

use super::{EstimatorPart, RateFeedback, Scale};
use crate::frame::Backlog;

/// The rate of a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// The rate advertised to every flow of the group, without link framing. Default: that of the policer or shaper that the
    /// link has as its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl Part for PolicyConfig {
    fn check(&self) -> Checked {
        let Some(rate) = self.rate else { return Ok(()) };
        require("rate", rate > Rate::ZERO && !rate.is_unlimited(), rate, "a finite rate above 0")
    }
}

impl EstimatorPart for PolicyConfig {
    type Estimator = Policy;

    fn estimator(&self, _: Scale, now: Time, _: Rate) -> Policy {
        Policy { due: now, rate: self.rate.unwrap_or(Rate::UNLIMITED) }
    }
}

/// Advertises the rate of a policy, once.
#[derive(Clone, Debug)]
pub struct Policy {
    due: Time,
    rate: Rate,
}

impl RateFeedback for Policy {
    fn observe(&mut self, _now: Time, _capacity: Rate, _backlog: Backlog) {}

    fn advertise(&mut self, now: Time) -> Option<Rate> {
        (now >= std::mem::replace(&mut self.due, Time::NEVER)).then_some(self.rate)
    }

    fn poll_at(&self) -> Time {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::{Bytes, Span};

    #[test]
    fn a_policy_is_advertised_once_whatever_the_capacity() {
        let scale = Scale { rtt: Span::ZERO, packet: Bytes::new(1500) };
        let rate = Rate::from_bps(5_000_000);
        let mut policy = PolicyConfig { rate: Some(rate) }.estimator(scale, Time::ZERO, Rate::ZERO);
        policy.observe(Time::ZERO, Rate::from_bps(1), Backlog::default());
        assert_eq!((policy.poll_at(), policy.advertise(Time::ZERO)), (Time::ZERO, Some(rate)));
        policy.observe(Time::ZERO + Span::from_secs(1), Rate::ZERO, Backlog::default());
        assert_eq!(
            (policy.poll_at(), policy.advertise(Time::ZERO + Span::from_secs(2))),
            (Time::NEVER, None)
        );
    }
}
