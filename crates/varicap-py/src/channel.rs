//! A channel by itself, without a link. Times are seconds.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use varicap_net::LossConfig;
use varicap_net::channel::Channel;
use varicap_net::{ChannelParts, LossParts};
use varicap_units::{Span, Streams, Time};

use crate::errors::ScenarioError;

/// A channel that varies in time, as transmissions over a link experience it.
#[pyclass(name = "Channel", module = "varicap.channel")]
pub struct PyChannel {
    channel: Channel,
    /// The latest instant for which it was queried.
    now: Time,
}

#[pymethods]
impl PyChannel {
    #[new]
    #[pyo3(signature = (loss, *, seed = 0, replication = 0))]
    fn new(loss: &Bound<'_, PyAny>, seed: u64, replication: u64) -> PyResult<PyChannel> {
        let json = loss.py().import("json")?;
        let text: String = json.call_method1("dumps", (loss,))?.extract()?;
        let refused = |why: String| ScenarioError::new_err(format!("loss: {why}"));
        let config: LossConfig = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let parts = LossParts::new(&config);
        let parts = parts.map_err(|error| ScenarioError::new_err(error.within("loss").to_string()))?;
        let LossParts::Channel(parts) = parts else {
            return Err(refused("expected a channel in time: markov, states or rayleigh".to_owned()));
        };
        Ok(PyChannel { channel: open(&parts, seed, replication), now: Time::ZERO })
    }

    /// Whether what is sent from `from_s` to `to_s` is received.
    fn receives(&mut self, from_s: f64, to_s: f64) -> PyResult<bool> {
        let (from, to) = (self.at(from_s)?, instant(to_s)?);
        if to < from {
            return Err(PyValueError::new_err(format!(
                "a transmission ends after it begins, not at {to_s} s"
            )));
        }
        self.now = to;
        Ok(self.channel.receives(from, to))
    }

    /// Its states from now to `until_s`: the number of each and how long it lasts.
    fn states(&mut self, until_s: f64) -> PyResult<Vec<(usize, f64)>> {
        let end = self.at(until_s)?;
        let mut found: Vec<(usize, f64)> = Vec::new();
        while self.now < end {
            let (state, until) = self.channel.state(self.now);
            let until = until.min(end);
            let lasts = (until - self.now).as_secs_f64();
            match found.last_mut().filter(|last| last.0 == state) {
                Some(last) => last.1 += lasts,
                None => found.push((state, lasts)),
            }
            self.now = until;
        }
        Ok(found)
    }
}

impl PyChannel {
    /// The instant `now_s`, no earlier than the last one.
    fn at(&self, now_s: f64) -> PyResult<Time> {
        let now = instant(now_s)?;
        if now < self.now {
            let before = self.now.as_secs_f64();
            let text = format!("{now_s} s lies before {before} s: time does not run back");
            return Err(PyValueError::new_err(text));
        }
        Ok(now)
    }
}

fn open(parts: &ChannelParts, seed: u64, replication: u64) -> Channel {
    let streams = Streams::new(seed, replication);
    Channel::new(parts, streams.stream("channel"), streams.stream("loss"))
}

fn instant(seconds: f64) -> PyResult<Time> {
    if (0.0..=1e9).contains(&seconds) {
        return Ok(Time::ZERO + Span::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!("a time is 0 to 1e9 s, not {seconds}")))
}
