//! A policy that acts at the end of each interval.

use varicap_units::Time;

use super::Sender;
use crate::congestion::{Controller, Decide, IntervalSample, MOST_ACTIONS};

impl Sender {
    /// From now on `decider` decides for the policy; nothing if the control is another one.
    pub fn set_decider(&mut self, decider: Box<dyn Decide>) {
        self.window.change(|control| {
            if let Controller::Policy(policy) = control {
                policy.set_decider(decider);
            }
        });
    }

    /// Whether it has a policy whose intervals are counted in acknowledgements or round trips.
    pub fn counts_intervals(&self) -> bool {
        match self.control() {
            Controller::Policy(policy) => policy.counts_intervals(),
            _ => false,
        }
    }

    /// Whether it has a policy, and an interval is over that the policy counts in acknowledgements or round trips.
    pub fn is_interval_over(&self) -> bool {
        match self.control() {
            Controller::Policy(policy) => policy.is_due(),
            _ => false,
        }
    }

    /// The interval of a policy ends at `now`: what happened in it; nothing if the control is another one. Act or decide then.
    pub fn end_interval(&mut self, now: Time) -> Option<IntervalSample> {
        self.note_time(now);
        let in_flight = self.in_flight();
        let mut sample = None;
        self.window.change(|control| {
            if let Controller::Policy(policy) = control {
                sample = Some(policy.end_interval(now, in_flight));
            }
        });
        sample
    }

    /// The policy acts after the interval of `sample`: by `action`, or as it decides itself. The sender must then be polled.
    pub fn act(&mut self, sample: &IntervalSample, action: Option<&[f32; MOST_ACTIONS]>) {
        self.window.change(|control| {
            if let Controller::Policy(policy) = control {
                match action {
                    Some(action) => policy.act(action, sample),
                    None => policy.decide(sample),
                }
            }
        });
        let rate = self.window.pacing_rate();
        if rate.is_some() || self.pace.is_none() {
            self.release.pace_anew(rate, &self.sampling.rtt);
        }
        self.release.refill();
    }
}
