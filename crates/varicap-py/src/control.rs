//! A congestion control written in Python, as the engine uses it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use varicap_tcp::TcpConfig;
use varicap_tcp::congestion::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, Loss, Start, Wants,
};
use varicap_units::{Bytes, Rate, Span, Time};

/// An acknowledgement, as a congestion control learns of it.
#[pyclass(frozen, get_all, name = "AckSample", module = "varicap.tcp")]
pub struct PyAckSample {
    /// The instant at which the acknowledgement arrived [s].
    now_s: f64,
    /// By how much SND.UNA advanced [B].
    newly_acked: u64,
    /// Data that it showed to be lost [B].
    newly_lost: u64,
    /// Data in flight before it [B].
    in_flight: u64,
    /// Whether something other than cwnd limited the sender.
    app_limited: bool,
    /// Whether it carries an ECN echo: the mark of the very packet that it acknowledges, for a control that wants each.
    marked: bool,
    /// Packets that it newly reports as marked, with accurate ECN (RFC 9768); else 0.
    marked_packets: u32,
    /// The payload of these, counted by the receiver or else estimated [B].
    marked_bytes: u64,
    /// Whether recovery was under way before or after it.
    in_recovery: bool,
    /// RTT sample of this acknowledgement, if it gave one [s].
    rtt_s: Option<f64>,
    /// Smoothed RTT, if there was a sample [s].
    smoothed_rtt_s: Option<f64>,
    /// Least RTT seen, if there was a sample [s].
    min_rtt_s: Option<f64>,
    /// All data delivered so far, cumulatively or selectively acknowledged [B].
    delivered: u64,
    /// Number of the round trip, counted in packets.
    round: u64,
    /// Rate at which the path delivered, for a control that wants rate samples [b/s].
    rate_bps: Option<u64>,
    /// Data delivered before the interval of that sample [B].
    rate_prior_delivered: Option<u64>,
    /// Interval of that sample [s].
    rate_interval_s: Option<f64>,
    /// Whether the application, rather than the path, may have limited that sample.
    rate_app_limited: bool,
    /// Data in flight after it, for a control that wants rate samples [B].
    in_flight_after: Option<u64>,
    /// All data found to be lost so far, for a control that wants rate samples [B].
    lost: Option<u64>,
    /// Whether cwnd was used up at some time in the last round trip, for a control that wants rate samples.
    cwnd_limited: bool,
    /// Of the segments that it newly acknowledges, the one that left last: data in flight when it left, itself included [B],
    /// data found to be lost since then [B], and how long ago that was, unless it was resent [s].
    newest_in_flight: Option<u64>,
    newest_lost: Option<u64>,
    newest_rtt_s: Option<f64>,
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
        let newest = ack.progress.and_then(|progress| progress.newest);
        PyAckSample {
            now_s: ack.now.as_secs_f64(),
            newly_acked: ack.newly_acked.as_u64(),
            newly_lost: ack.newly_lost.as_u64(),
            in_flight: ack.in_flight.as_u64(),
            app_limited: ack.app_limited,
            marked: ack.marked,
            marked_packets: ack.marked_packets,
            marked_bytes: ack.marked_bytes.as_u64(),
            in_recovery: ack.in_recovery,
            rtt_s: seconds(ack.rtt),
            smoothed_rtt_s: seconds(ack.smoothed_rtt),
            min_rtt_s: seconds(ack.min_rtt),
            delivered: ack.delivered.as_u64(),
            round: ack.round,
            rate_bps: ack.rate.map(|sample| sample.rate().as_bps()),
            rate_prior_delivered: ack.rate.map(|sample| sample.prior_delivered.as_u64()),
            rate_interval_s: ack.rate.map(|sample| sample.interval.as_secs_f64()),
            rate_app_limited: ack.rate.is_some_and(|sample| sample.app_limited),
            in_flight_after: ack.progress.map(|progress| progress.in_flight.as_u64()),
            lost: ack.progress.map(|progress| progress.lost.as_u64()),
            cwnd_limited: ack.progress.is_some_and(|progress| progress.cwnd_limited),
            newest_in_flight: newest.map(|segment| segment.in_flight.as_u64()),
            newest_lost: newest.map(|segment| segment.lost.as_u64()),
            newest_rtt_s: newest.and_then(|segment| segment.rtt).map(Span::as_secs_f64),
        }
    }
}

/// A congestion signal, upon which the window must shrink.
#[pyclass(frozen, get_all, name = "CongestionEvent", module = "varicap.tcp")]
pub struct PyCongestionEvent {
    /// The instant at which it was detected [s].
    now_s: f64,
    /// `"fast-retransmit"`, `"ecn-echo"` or `"timeout"`.
    kind: &'static str,
    /// Expiries of the timer in a row before this one; 0 unless `kind` is `"timeout"`.
    backoff: u32,
    /// FlightSize when it was detected [B].
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

/// The settings from which the congestion control of a connection starts; `config` has no window in bandwidth-delay products.
pub fn start(config: &TcpConfig) -> Start {
    Start {
        mss: config.mss,
        packet: config.packet(),
        initial_window: config.initial_window.bytes(config.mss, Bytes::ZERO),
        initial_ssthresh: config.initial_ssthresh.bytes(config.mss, Bytes::ZERO),
        counting: config.counting,
        rounding: config.rounding,
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

    /// Keeps the first exception.
    pub fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Gives the thread of a run its state in the interpreter for as long as the run goes on: otherwise each call of a control
/// would make one and free it.
pub fn attached(run: &mut (dyn FnMut() + Send)) {
    Python::attach(|py| py.detach(run));
}

/// `error` with a note that says in what it was raised, which Python prints below its traceback.
pub fn noted(py: Python<'_>, error: PyErr, place: &str) -> PyErr {
    // An exception that takes no note is raised without one.
    let _ = error.value(py).call_method1("add_note", (format!("in {place}"),));
    error
}

/// In the place of a control that could not be made, until the run ends, which is soon: the window is a segment.
#[derive(Debug)]
pub struct Unmade(pub Bytes);

impl CongestionControl for Unmade {
    fn on_ack(&mut self, _: &AckSample) {}

    fn on_congestion(&mut self, _: &CongestionEvent) {}

    fn on_idle(&mut self, _: Bytes) {}

    fn cwnd(&self) -> Bytes {
        self.0
    }
}

/// A Python object with `on_ack`, `on_congestion` and `cwnd` [B]; all other methods and attributes are optional.
pub struct PythonControl {
    object: Py<PyAny>,
    /// Its name, that of its class, and its flow, for errors.
    whose: String,
    /// The latest instant of which it has been told.
    now: Time,
    mss: Bytes,
    wants: Wants,
    hears: Hears,
    cwnd: Bytes,
    ssthresh: Option<Bytes>,
    pacing_rate: Option<Rate>,
    raised: Raised,
}

/// Which optional methods the object has, of those that would otherwise cost a call into Python for nothing, or that have
/// another one in their place.
#[derive(Clone, Copy, Debug)]
struct Hears {
    undo: bool,
    unused: bool,
    start: bool,
    restart: bool,
    lost: bool,
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonControl {{ cwnd: {:?} }}", self.cwnd)
    }
}

impl PythonControl {
    /// Calls `class` with the MSS and the initial window [B]; `whose` names it in errors.
    pub fn new(
        py: Python<'_>,
        class: &Py<PyAny>,
        whose: String,
        start: &Start,
        raised: &Raised,
    ) -> PyResult<PythonControl> {
        let made = PythonControl::made(py, class, whose.clone(), start, raised);
        made.map_err(|error| noted(py, error, &format!("making {whose}")))
    }

    fn made(
        py: Python<'_>,
        class: &Py<PyAny>,
        whose: String,
        start: &Start,
        raised: &Raised,
    ) -> PyResult<PythonControl> {
        let object = class.call1(py, (start.mss.as_u64(), start.initial_window.as_u64()))?;
        let bound = object.bind(py);
        let hears = Hears {
            undo: bound.hasattr("on_undo")?,
            unused: bound.hasattr("on_unused")?,
            start: bound.hasattr("on_start")?,
            restart: bound.hasattr("on_restart")?,
            lost: bound.hasattr("on_lost")?,
        };
        let mut control = PythonControl {
            wants: wants(bound)?,
            hears,
            object,
            whose,
            now: Time::ZERO,
            mss: start.mss,
            cwnd: start.mss,
            ssthresh: None,
            pacing_rate: None,
            raised: raised.clone(),
        };
        control.read_answers(py)?;
        Ok(control)
    }

    /// Calls method `name` of the object, if it has it, and reads the window and the rate anew.
    fn call(&mut self, now: Time, name: &str, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        self.now = now;
        if self.raised.is_some() {
            return;
        }
        Python::attach(|py| {
            let object = self.object.clone_ref(py).into_bound(py);
            let called = match object.getattr_opt(PyString::intern(py, name)) {
                Ok(Some(method)) => call(&method),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = called.and_then(|()| self.read_answers(py)) {
                let place = format!("`{name}` of {}, at {} s", self.whose, now.as_secs_f64());
                self.raised.keep(noted(py, error, &place));
            }
        });
    }

    fn read_answers(&mut self, py: Python<'_>) -> PyResult<()> {
        let object = self.object.bind(py);
        let cwnd = self.usable("cwnd", number("cwnd", &object.getattr(intern!(py, "cwnd"))?)?)?;
        // A sender that may not send one segment would never send again.
        let cwnd = Bytes::new((cwnd as u64).max(self.mss.as_u64()));
        // Before the first loss an infinite threshold is what none is.
        let ssthresh =
            optional(object, intern!(py, "ssthresh"), "ssthresh")?.filter(|bytes| *bytes != f64::INFINITY);
        let ssthresh = ssthresh.map(|bytes| self.usable("ssthresh", bytes)).transpose()?;
        let rate = optional(object, intern!(py, "pacing_rate_bps"), "pacing_rate_bps")?;
        let rate = rate.map(|bps| self.usable("pacing_rate_bps", bps)).transpose()?;
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh.map(|bytes| Bytes::new(bytes as u64)));
        // A rate below 1 b/s is no rate of zero.
        self.pacing_rate = rate.map(|bps| Rate::from_bps((bps as u64).max(1)));
        Ok(())
    }

    /// The `value` of an attribute, if a sender can do something with it.
    fn usable(&self, attribute: &str, value: f64) -> PyResult<f64> {
        if value > 0.0 && value < f64::INFINITY {
            return Ok(value);
        }
        let unit = if attribute == "pacing_rate_bps" { "bits per second" } else { "bytes" };
        Err(PyValueError::new_err(format!(
            "{attribute} = {value} at {} s, expected a number of {unit} above 0: {}",
            self.now.as_secs_f64(),
            self.whose
        )))
    }
}

/// An optional numeric attribute of the object.
fn optional(object: &Bound<'_, PyAny>, key: &Bound<'_, PyString>, name: &str) -> PyResult<Option<f64>> {
    let value = object.getattr_opt(key)?.filter(|value| !value.is_none());
    value.map(|value| number(name, &value)).transpose()
}

/// The number that an attribute is.
fn number(attribute: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value.extract().map_err(|_| match value.repr() {
        Ok(text) => PyTypeError::new_err(format!("{attribute} = {text}, expected a number")),
        Err(error) => error,
    })
}

/// The name of a class, or of another callable.
pub fn name_of(class: &Bound<'_, PyAny>) -> String {
    let name = class.getattr("__name__").and_then(|name| name.extract());
    name.unwrap_or_else(|_| class.get_type().to_string())
}

/// The requests of the object to its connection, by the names in its attribute `wants`.
fn wants(object: &Bound<'_, PyAny>) -> PyResult<Wants> {
    let mut wants = Wants::default();
    let Some(names) = object.getattr_opt("wants")? else { return Ok(wants) };
    for name in names.try_iter()? {
        match name?.extract::<String>()?.as_str() {
            "each-mark" => wants.each_mark = true,
            "rate-samples" => wants.rate_samples = true,
            "every-ack" => wants.every_ack = true,
            "own-recovery" => wants.own_recovery = true,
            other => {
                let known = "`each-mark`, `rate-samples`, `every-ack` and `own-recovery`";
                return Err(PyValueError::new_err(format!("`{other}` cannot be wanted; there are {known}")));
            }
        }
    }
    Ok(wants)
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &AckSample) {
        self.call(ack.now, "on_ack", |method| method.call1((PyAckSample::from(ack),)).map(drop));
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.call(event.now, "on_congestion", |method| {
            method.call1((PyCongestionEvent::from(event),)).map(drop)
        });
    }

    fn on_recovered(&mut self, now: Time, limit: Bytes) {
        let limit = (limit < Bytes::MAX).then_some(limit.as_u64());
        self.call(now, "on_recovered", |method| method.call1((now.as_secs_f64(), limit)).map(drop));
    }

    fn on_undo(&mut self, now: Time) {
        if self.hears.undo {
            self.call(now, "on_undo", |method| method.call1((now.as_secs_f64(),)).map(drop));
        }
    }

    fn on_rate_feedback(&mut self, now: Time, rate: Rate) {
        let rate = (!rate.is_unlimited()).then_some(rate.as_bps());
        self.call(now, "on_rate_feedback", |method| method.call1((now.as_secs_f64(), rate)).map(drop));
    }

    fn on_reservation(&mut self, now: Time, rate: Option<Rate>) {
        let rate = rate.map(Rate::as_bps);
        self.call(now, "on_reservation", |method| method.call1((now.as_secs_f64(), rate)).map(drop));
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.call(self.now, "on_idle", |method| method.call1((restart_window.as_u64(),)).map(drop));
    }

    fn on_unused(&mut self, window: Bytes) {
        if self.hears.unused {
            self.call(self.now, "on_unused", |method| method.call1((window.as_u64(),)).map(drop));
        } else {
            self.on_idle(window);
        }
    }

    fn on_start(&mut self, now: Time, idle: Span) {
        if self.hears.start {
            self.call(now, "on_start", |method| {
                method.call1((now.as_secs_f64(), idle.as_secs_f64())).map(drop)
            });
        }
    }

    fn on_restart(&mut self, now: Time) {
        if self.hears.restart {
            self.call(now, "on_restart", |method| method.call1((now.as_secs_f64(),)).map(drop));
        }
    }

    fn on_lost(&mut self, now: Time, loss: &Loss) {
        if self.hears.lost {
            let [size, in_flight, lost] = [loss.size, loss.in_flight, loss.lost].map(Bytes::as_u64);
            let told = (now.as_secs_f64(), size, in_flight, lost, loss.app_limited);
            self.call(now, "on_lost", |method| method.call1(told).map(drop));
        }
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn wants(&self) -> Wants {
        self.wants
    }
}
