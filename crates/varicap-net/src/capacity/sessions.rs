//! Ephemeral sessions that share a link equally with one persistent session.
//!
//! While m sessions are active the persistent one is left C/(m+1), and so is each of the m, whose sizes are exponential
//! with mean S: a birth-death chain with births at rate a below M and deaths at rate m C / ((m+1) S). Sessions that
//! find M others are turned away. Its stationary distribution is the product of the ratios a (m+1) S / (m C).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Fault, Part, rate, require};
use varicap_units::{Bytes, Frequency, JsonSchema, Rate, Span, Stream, Time};

use super::{CapacityPart, CapacityProcess, CapacitySegment, Files};
use crate::chain::{cumulative, draw, normalised};
use crate::error::NetError;

/// Most sessions at a time: the distribution has to be held in memory.
const MOST_SESSIONS: u32 = 1_000_000;

/// Ephemeral sessions that share the link equally with one persistent session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionsConfig {
    /// Capacity of the whole link, C.
    pub capacity: Rate,
    /// Arrivals of sessions.
    pub arrivals: Frequency,
    /// Mean of the exponential size of a session.
    pub mean_size: Bytes,
    /// Most sessions at a time; more are turned away.
    pub at_most: u32,
}

impl Part for SessionsConfig {
    fn check(&self) -> Checked {
        let finite = self.capacity > Rate::ZERO && !self.capacity.is_unlimited();
        require("capacity", finite, self.capacity, "a finite rate above zero")?;
        rate("capacity", self.capacity)?;
        require("mean_size", self.mean_size > Bytes::ZERO, self.mean_size, "at least 1 B")?;
        require("at_most", self.at_most <= MOST_SESSIONS, self.at_most, format!("at most {MOST_SESSIONS}"))
    }

    fn draws(&self) -> bool {
        true
    }
}

impl CapacityPart for SessionsConfig {
    type Parts = Arc<SessionsParts>;
    type Path = Sessions;
    const IS_RANDOM: bool = true;

    fn read(&self, _: &mut Files<'_>) -> Result<Arc<SessionsParts>, NetError> {
        Ok(Arc::new(SessionsParts::new(self)?))
    }

    fn mean_rate(parts: &Arc<SessionsParts>) -> Rate {
        parts.mean_rate()
    }

    fn path(parts: &Arc<SessionsParts>, stream: Stream) -> Sessions {
        Sessions::new(parts.clone(), stream)
    }
}

/// Sessions on a link, checked.
#[derive(Clone, Debug)]
pub struct SessionsParts {
    capacity: Rate,
    /// Arrivals per second [1/s].
    arrivals: f64,
    /// Sessions that the whole link would serve in a second, C / S [1/s].
    service: f64,
    /// Long-run share of time with m sessions.
    share: Vec<f64>,
}

impl SessionsParts {
    /// The sessions of a scenario, which are checked.
    pub fn new(config: &SessionsConfig) -> Result<SessionsParts, Fault> {
        config.check()?;
        let arrivals = config.arrivals.as_hz();
        let service = config.capacity.as_bps() as f64 / (8.0 * config.mean_size.as_u64() as f64);
        let most = config.at_most as usize;
        Ok(SessionsParts {
            capacity: config.capacity,
            arrivals,
            service,
            share: shares(arrivals, service, most),
        })
    }

    /// Long-run mean of what is left, C E[1/(m+1)] [b/s].
    pub fn mean_rate(&self) -> Rate {
        let shares = self.share.iter().enumerate();
        let left: f64 = shares.map(|(m, share)| share / (m + 1) as f64).sum();
        Rate::from_bps((self.capacity.as_bps() as f64 * left + 0.5) as u64)
    }

    fn deaths(&self, m: usize) -> f64 {
        deaths(self.service, m)
    }
}

fn deaths(service: f64, m: usize) -> f64 {
    service * m as f64 / (m + 1) as f64
}

/// Stationary distribution of 0..=most sessions. Deaths grow with m, so the weights rise to a single peak; starting
/// there none overflows, whatever the load.
fn shares(arrivals: f64, service: f64, most: usize) -> Vec<f64> {
    let peak = (1..=most).take_while(|&m| arrivals >= deaths(service, m)).count();
    let mut weights = vec![1.0; most + 1];
    for m in (0..peak).rev() {
        weights[m] = weights[m + 1] * deaths(service, m + 1) / arrivals;
    }
    for m in peak + 1..=most {
        weights[m] = weights[m - 1] * arrivals / deaths(service, m);
    }
    normalised(weights)
}

/// A path of what sessions leave.
#[derive(Clone, Debug)]
pub struct Sessions {
    parts: Arc<SessionsParts>,
    stream: Stream,
    active: usize,
    until: Time,
}

impl Sessions {
    /// The path that `stream` draws, in equilibrium from the start.
    pub fn new(parts: Arc<SessionsParts>, mut stream: Stream) -> Sessions {
        let active = draw(&cumulative(&parts.share), &mut stream);
        let mut path = Sessions { parts, stream, active, until: Time::ZERO };
        path.hold();
        path
    }

    /// Births and deaths per second now [1/s].
    fn events(&self) -> (f64, f64) {
        let births = if self.active + 1 < self.parts.share.len() { self.parts.arrivals } else { 0.0 };
        (births, self.parts.deaths(self.active))
    }

    fn hold(&mut self) {
        let (births, deaths) = self.events();
        let events = births + deaths;
        if events == 0.0 {
            self.until = Time::NEVER;
            return;
        }
        let held = Span::from_secs_f64(self.stream.exponential(1.0 / events));
        self.until += held.max(Span::from_nanos(1));
    }
}

impl CapacityProcess for Sessions {
    fn segment(&mut self, now: Time) -> CapacitySegment {
        while self.until <= now {
            let (births, deaths) = self.events();
            if self.stream.chance(births / (births + deaths)) {
                self.active += 1;
            } else {
                self.active -= 1;
            }
            self.hold();
        }
        let rate = Rate::from_bps(self.parts.capacity.as_bps() / (self.active as u64 + 1));
        CapacitySegment { rate, until: self.until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Streams;

    fn config(arrivals: f64, at_most: u32) -> SessionsConfig {
        SessionsConfig {
            capacity: Rate::from_bps(8_000),
            arrivals: Frequency::from_hz(arrivals).unwrap(),
            mean_size: Bytes::new(1_000),
            at_most,
        }
    }

    #[test]
    fn one_session_at_a_time_is_an_alternating_process() {
        // Births at 1/s, deaths at C/(2S) = 0.5/s: busy 2/3 of the time, C/2 then.
        let parts = SessionsParts::new(&config(1.0, 1)).unwrap();
        assert_eq!(parts.mean_rate(), Rate::from_bps(5_333));
    }

    #[test]
    fn an_overload_of_many_sessions_is_no_numerical_trouble() {
        let parts = SessionsParts::new(&config(1_000.0, 100_000)).unwrap();
        assert!(parts.share.iter().all(|share| share.is_finite()));
        // Nearly all of the time all 100,000 are there: C / 100,001 rounds to nothing.
        assert_eq!(parts.mean_rate(), Rate::ZERO);
    }

    #[test]
    fn without_arrivals_all_is_left() {
        let parts = Arc::new(SessionsParts::new(&config(0.0, 5)).unwrap());
        assert_eq!(parts.mean_rate(), Rate::from_bps(8_000));
        let mut path = Sessions::new(parts, Streams::new(1, 0).stream("c"));
        let forever = CapacitySegment { rate: Rate::from_bps(8_000), until: Time::NEVER };
        assert_eq!(path.segment(Time::ZERO), forever);
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |change: fn(&mut SessionsConfig)| {
            let mut config = config(1.0, 1);
            change(&mut config);
            NetError::from(SessionsParts::new(&config).unwrap_err()).to_string()
        };
        assert_eq!(
            refusal(|c| c.capacity = Rate::ZERO),
            "`capacity` is 0 bit/s, expected a finite rate above zero"
        );
        assert_eq!(refusal(|c| c.mean_size = Bytes::ZERO), "`mean_size` is 0 B, expected at least 1 B");
        assert_eq!(refusal(|c| c.at_most = u32::MAX), "`at_most` is 4294967295, expected at most 1000000");
    }
}
