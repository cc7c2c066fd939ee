//! The rate that a link advertises, for a dialogue by hand. Times are seconds, rates bits per second.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use varicap_net::feedback::{Estimator, EstimatorConfig, Scale};
use varicap_net::{Backlog, RateFeedback};
use varicap_units::{Bytes, Rate, Span, Time};

use crate::errors::ScenarioError;

/// An estimator of a link's rate.
#[pyclass(name = "Estimator", module = "varicap.feedback")]
pub struct PyEstimator {
    estimator: Estimator,
    /// The latest instant that it was given.
    now: Time,
}

#[pymethods]
impl PyEstimator {
    #[new]
    #[pyo3(signature = (estimator, *, capacity_bps = 0.0, rtt_s = 0.1, packet = 1500))]
    fn new(
        estimator: &Bound<'_, PyAny>,
        capacity_bps: f64,
        rtt_s: f64,
        packet: u64,
    ) -> PyResult<PyEstimator> {
        let json = estimator.py().import("json")?;
        let text: String = json.call_method1("dumps", (estimator,))?.extract()?;
        let config: EstimatorConfig = serde_json::from_str(&text)
            .map_err(|error| ScenarioError::new_err(format!("estimator: {error}")))?;
        if config.interval() == Some(Span::ZERO) {
            return Err(ScenarioError::new_err("estimator: an interval of 0 s, expected more than 0 s"));
        }
        let scale = Scale { rtt: instant(rtt_s)? - Time::ZERO, packet: Bytes::new(packet.max(1)) };
        let estimator = Estimator::new(&config, scale, Time::ZERO, rate(capacity_bps)?);
        Ok(PyEstimator { estimator, now: Time::ZERO })
    }

    /// From `now_s` on the link offers `capacity_bps`.
    fn observe(&mut self, now_s: f64, capacity_bps: f64) -> PyResult<()> {
        let (now, capacity) = (self.at(now_s)?, rate(capacity_bps)?);
        let due = self.estimator.poll_at();
        if due < now && !matches!(self.estimator, Estimator::Exact(_)) {
            let due = due.as_secs_f64();
            let text = format!("at {due} s a rate was due: call advertise({now_s}) until it gives None");
            return Err(PyValueError::new_err(text));
        }
        self.now = now;
        self.estimator.observe(now, capacity, Backlog::default());
        Ok(())
    }

    /// The next rate that is due by `now_s`; None if there is none.
    fn advertise(&mut self, now_s: f64) -> PyResult<Option<f64>> {
        let now = self.at(now_s)?;
        let rate = self.estimator.advertise(now);
        if rate.is_none() {
            self.now = now;
        }
        Ok(rate.map(|rate| if rate.is_unlimited() { f64::INFINITY } else { rate.as_bps() as f64 }))
    }

    /// The instant at which the next rate is due.
    #[getter]
    fn poll_at(&self) -> Option<f64> {
        let due = self.estimator.poll_at();
        (!due.is_never()).then(|| due.as_secs_f64())
    }
}

impl PyEstimator {
    /// The instant `now_s`, no earlier than the last one.
    fn at(&self, now_s: f64) -> PyResult<Time> {
        let now = instant(now_s)?;
        if now < self.now {
            let before = self.now.as_secs_f64();
            return Err(PyValueError::new_err(format!(
                "{now_s} s lies before {before} s: time does not run back"
            )));
        }
        Ok(now)
    }
}

fn instant(seconds: f64) -> PyResult<Time> {
    if seconds.is_finite() && (0.0..=1e9).contains(&seconds) {
        return Ok(Time::ZERO + Span::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!("a time is a number of seconds from 0 on, not {seconds}")))
}

fn rate(bps: f64) -> PyResult<Rate> {
    match bps {
        f64::INFINITY => Ok(Rate::UNLIMITED),
        bps if (0.0..=1e15).contains(&bps) => Ok(Rate::from_bps((bps + 0.5) as u64)),
        bps => {
            Err(PyValueError::new_err(format!("a rate is a number of bits per second from 0 on, not {bps}")))
        }
    }
}
