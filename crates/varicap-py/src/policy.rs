//! A policy of a load-reactive link written in Python, as the engine sees it.

use std::fmt;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use varicap_net::queue::Limit;
use varicap_net::{LoadReactiveControl, QueueSample, Setting};
use varicap_units::{Bytes, NANOS_PER_SEC, Rate, Span};

use crate::control::{Raised, name_of, noted};

/// A policy's view of its link at a sample. Packets outside the control are not included.
#[pyclass(frozen, get_all, name = "QueueSample", module = "varicap.reactive")]
#[derive(Clone, Debug)]
pub struct PyQueueSample {
    /// The instant of the sample [s].
    pub at_s: f64,
    /// Time since the last sample; zero at the first [s].
    pub span_s: f64,
    /// The capacity now [b/s].
    pub capacity_bps: f64,
    /// The least capacity that the link is to have [b/s].
    pub minimum_bps: f64,
    /// The highest capacity that it may have now; infinite if unlimited [b/s].
    pub residual_bps: f64,
    /// The occupancy that the scenario chose as a target [B].
    pub occupancy_bytes: f64,
    /// The same in packets.
    pub occupancy_packets: f64,
    /// The backlog now [B].
    pub waiting_bytes: u64,
    /// The same in packets.
    pub waiting_packets: u32,
    /// The mean backlog since the last sample [B].
    pub mean_bytes: f64,
    /// The same in packets.
    pub mean_packets: f64,
    /// Data that has arrived since the last sample, lost or not [B].
    pub arrived_bytes: u64,
    /// The same in packets.
    pub arrived_packets: u32,
    /// Packets lost at the queue since the last sample.
    pub lost_packets: u32,
    /// A full-sized packet [B].
    pub packet_bytes: u64,
}

#[pymethods]
impl PyQueueSample {
    fn __repr__(&self) -> String {
        format!(
            "QueueSample(at_s={}, capacity_bps={}, waiting_bytes={})",
            self.at_s, self.capacity_bps, self.waiting_bytes
        )
    }
}

impl From<&QueueSample> for PyQueueSample {
    fn from(sample: &QueueSample) -> PyQueueSample {
        let bps = |rate: Rate| if rate.is_unlimited() { f64::INFINITY } else { rate.as_bps() as f64 };
        PyQueueSample {
            at_s: sample.at.as_secs_f64(),
            span_s: sample.span.as_secs_f64(),
            capacity_bps: bps(sample.capacity),
            minimum_bps: bps(sample.minimum),
            residual_bps: bps(sample.residual),
            occupancy_bytes: sample.occupancy.bytes,
            occupancy_packets: sample.occupancy.frames,
            waiting_bytes: sample.waiting.bytes.as_u64(),
            waiting_packets: sample.waiting.frames,
            mean_bytes: sample.mean.bytes,
            mean_packets: sample.mean.frames,
            arrived_bytes: sample.arrived.bytes.as_u64(),
            arrived_packets: sample.arrived.frames,
            lost_packets: sample.lost.frames,
            packet_bytes: sample.packet.as_u64(),
        }
    }
}

/// A Python callable that takes a sample, and gives a capacity [b/s] or a `varicap.reactive.Setting`.
pub struct PythonPolicy {
    object: Py<PyAny>,
    /// Its name, that of its class, and its link, for errors.
    whose: String,
    raised: Raised,
}

impl fmt::Debug for PythonPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PythonPolicy")
    }
}

impl PythonPolicy {
    /// Calls `make`, which is called `name`, with the link's name.
    pub fn new(
        py: Python<'_>,
        name: &str,
        make: &Py<PyAny>,
        link: &str,
        raised: &Raised,
    ) -> PyResult<PythonPolicy> {
        let whose = format!("the policy `{name}` ({}) of link `{link}`", name_of(make.bind(py)));
        let made = make.call1(py, (link,));
        let object = made.map_err(|error| noted(py, error, &format!("making {whose}")))?;
        Ok(PythonPolicy { object, whose, raised: raised.clone() })
    }
}

impl LoadReactiveControl for PythonPolicy {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        let unchanged = Setting::of(sample.capacity);
        if self.raised.is_some() {
            return unchanged;
        }
        let answer = Python::attach(|py| {
            let answer = self.object.bind(py).call1((PyQueueSample::from(sample),));
            let place = || format!("{}, at {} s", self.whose, sample.at.as_secs_f64());
            answer.and_then(|answer| setting(&answer)).map_err(|error| noted(py, error, &place()))
        });
        answer.unwrap_or_else(|error| {
            self.raised.keep(error);
            unchanged
        })
    }
}

/// Reads the answer of a policy.
pub fn setting(answer: &Bound<'_, PyAny>) -> PyResult<Setting> {
    if let Ok(bps) = answer.extract::<f64>() {
        return Ok(Setting::of(capacity(bps)?));
    }
    let optional = |name: &str| answer.getattr(name)?.extract::<Option<f64>>();
    let delay = optional("delay_s")?.map(|seconds| positive("delay_s", seconds * NANOS_PER_SEC as f64));
    let packets = optional("limit_packets")?.map(|packets| positive("limit_packets", packets)).transpose()?;
    let bytes = optional("limit_bytes")?.map(|bytes| positive("limit_bytes", bytes)).transpose()?;
    let limit = (packets.is_some() || bytes.is_some()).then(|| Limit {
        frames: packets.unwrap_or(u64::MAX),
        bytes: bytes.map_or(Bytes::MAX, Bytes::new),
        ..Limit::NONE
    });
    Ok(Setting {
        capacity: capacity(answer.getattr("capacity_bps")?.extract()?)?,
        delay: delay.transpose()?.map(Span::from_nanos),
        limit,
    })
}

fn capacity(bps: f64) -> PyResult<Rate> {
    if bps == f64::INFINITY {
        return Ok(Rate::UNLIMITED);
    }
    Ok(Rate::from_bps(positive("capacity_bps", bps)?))
}

/// The whole number nearest to a finite one that is not negative.
fn positive(name: &str, value: f64) -> PyResult<u64> {
    if !(0.0..1e18).contains(&value) {
        return Err(PyValueError::new_err(format!(
            "a policy gave {value} as {name}, expected a number from 0 on"
        )));
    }
    Ok((value + 0.5) as u64)
}
