//! A congestion control written in Python, as the engine sees it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use varicap_tcp::TcpConfig;
use varicap_tcp::congestion::{AckSample, CongestionControl, CongestionEvent, CongestionKind, Start};
use varicap_units::{Bytes, Rate, Span, Time};

/// What an acknowledgement of new data tells a congestion control.
#[pyclass(frozen, get_all, name = "AckSample", module = "varicap.tcp")]
pub struct PyAckSample {
    /// When it arrived [s].
    now_s: f64,
    /// By how much SND.UNA advanced [B].
    newly_acked: u64,
    /// Data in flight before it [B].
    in_flight: u64,
    /// Whether something other than cwnd limited the sender.
    app_limited: bool,
    /// RTT sample of this acknowledgement, if it gave one [s].
    rtt_s: Option<f64>,
    /// Smoothed RTT, if there was a sample [s].
    smoothed_rtt_s: Option<f64>,
    /// Least RTT seen, if there was a sample [s].
    min_rtt_s: Option<f64>,
}

#[pymethods]
impl PyAckSample {
    fn __repr__(&self) -> String {
        format!(
            "AckSample(now_s={}, newly_acked={}, in_flight={})",
            self.now_s, self.newly_acked, self.in_flight
        )
    }
}

impl From<&AckSample> for PyAckSample {
    fn from(ack: &AckSample) -> PyAckSample {
        let seconds = |span: Option<Span>| span.map(Span::as_secs_f64);
        PyAckSample {
            now_s: ack.now.as_secs_f64(),
            newly_acked: ack.newly_acked.as_u64(),
            in_flight: ack.in_flight.as_u64(),
            app_limited: ack.app_limited,
            rtt_s: seconds(ack.rtt),
            smoothed_rtt_s: seconds(ack.smoothed_rtt),
            min_rtt_s: seconds(ack.min_rtt),
        }
    }
}

/// Why the window must fall.
#[pyclass(frozen, get_all, name = "CongestionEvent", module = "varicap.tcp")]
pub struct PyCongestionEvent {
    /// When it was noticed [s].
    now_s: f64,
    /// `"fast-retransmit"`, `"ecn-echo"` or `"timeout"`.
    kind: &'static str,
    /// Expiries of the timer in a row before this one; 0 unless `kind` is `"timeout"`.
    backoff: u32,
    /// FlightSize when it was noticed [B].
    in_flight: u64,
}

#[pymethods]
impl PyCongestionEvent {
    fn __repr__(&self) -> String {
        format!("CongestionEvent(now_s={}, kind='{}', in_flight={})", self.now_s, self.kind, self.in_flight)
    }
}

impl From<&CongestionEvent> for PyCongestionEvent {
    fn from(event: &CongestionEvent) -> PyCongestionEvent {
        let (kind, backoff) = match event.kind {
            CongestionKind::FastRetransmit => ("fast-retransmit", 0),
            CongestionKind::EcnEcho => ("ecn-echo", 0),
            CongestionKind::Timeout { backoff } => ("timeout", backoff),
        };
        PyCongestionEvent {
            now_s: event.now.as_secs_f64(),
            kind,
            backoff,
            in_flight: event.in_flight.as_u64(),
        }
    }
}

/// What the congestion control of a connection starts from; `config` has no window in bandwidth-delay products.
pub fn start(config: &TcpConfig) -> Start {
    Start {
        mss: config.mss,
        packet: config.packet(),
        initial_window: config.initial_window.bytes(config.mss, Bytes::ZERO),
        initial_ssthresh: config.initial_ssthresh.bytes(config.mss, Bytes::ZERO),
    }
}

/// The first exception that a control raised; the run stops and raises it again.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The exception, if there was one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether there was one.
    pub fn is_some(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Keeps the first of them.
    pub fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// A Python object with `on_ack`, `on_congestion` and `cwnd` [B]; further methods are optional.
pub struct PythonControl {
    object: Py<PyAny>,
    mss: Bytes,
    cwnd: Bytes,
    ssthresh: Option<Bytes>,
    raised: Raised,
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonControl {{ cwnd: {:?} }}", self.cwnd)
    }
}

impl PythonControl {
    /// Calls `class` with the MSS and the initial window [B].
    pub fn new(py: Python<'_>, class: &Py<PyAny>, start: &Start, raised: &Raised) -> PyResult<PythonControl> {
        let object = class.call1(py, (start.mss.as_u64(), start.initial_window.as_u64()))?;
        let raised = raised.clone();
        let mut control = PythonControl { object, mss: start.mss, cwnd: start.mss, ssthresh: None, raised };
        control.read_windows(py)?;
        Ok(control)
    }

    /// Calls `method` of the object, if it has it, and reads its windows again.
    fn tell(&mut self, method: &str, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        if self.raised.is_some() {
            return;
        }
        Python::attach(|py| {
            let object = self.object.clone_ref(py).into_bound(py);
            let called = match object.getattr_opt(method) {
                Ok(Some(method)) => call(&method),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = called.and_then(|()| self.read_windows(py)) {
                self.raised.keep(error);
            }
        });
    }

    fn read_windows(&mut self, py: Python<'_>) -> PyResult<()> {
        let object = self.object.bind(py);
        let cwnd: f64 = object.getattr("cwnd")?.extract()?;
        // A sender that may not send one segment would never send again.
        self.cwnd = Bytes::new((cwnd as u64).max(self.mss.as_u64()));
        let ssthresh =
            object.getattr_opt("ssthresh")?.map(|value| value.extract::<Option<f64>>()).transpose()?;
        self.ssthresh = ssthresh.flatten().map(|bytes| Bytes::new(bytes as u64));
        Ok(())
    }
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &AckSample) {
        self.tell("on_ack", |method| method.call1((PyAckSample::from(ack),)).map(drop));
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.tell("on_congestion", |method| method.call1((PyCongestionEvent::from(event),)).map(drop));
    }

    fn on_recovered(&mut self, now: Time, limit: Bytes) {
        let limit = (limit < Bytes::MAX).then_some(limit.as_u64());
        self.tell("on_recovered", |method| method.call1((now.as_secs_f64(), limit)).map(drop));
    }

    fn on_rate_feedback(&mut self, now: Time, rate: Rate) {
        let rate = (!rate.is_unlimited()).then_some(rate.as_bps());
        self.tell("on_rate_feedback", |method| method.call1((now.as_secs_f64(), rate)).map(drop));
    }

    fn on_reservation(&mut self, now: Time, rate: Option<Rate>) {
        let rate = rate.map(Rate::as_bps);
        self.tell("on_reservation", |method| method.call1((now.as_secs_f64(), rate)).map(drop));
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.tell("on_idle", |method| method.call1((restart_window.as_u64(),)).map(drop));
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh
    }
}
