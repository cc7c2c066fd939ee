//! The two halves of a TCP connection, for a dialogue by hand. Times are seconds, data are bytes.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use varicap_experiment::{ReservationConfig, habits, read_tcp, tcp_json};

use varicap_tcp::congestion::{Congestion, CongestionControl as _, Controller};
use varicap_tcp::{
    EcnBytes, Flags, LARGEST_WINDOW, MAX_SACK_BLOCKS, Nagle, Receiver, Segment, Sender, Stack, TcpConfig,
};
use varicap_units::{Amount, Bytes, Rate, Span, Streams, Time};

use crate::control::{PythonControl, Raised, name_of, start};
use crate::errors::ScenarioError;

/// Names of the flags, as `Segment` shows and reads them.
const FLAGS: [(&str, Flags); 12] = [
    ("SYN", Flags::SYN),
    ("FIN", Flags::FIN),
    ("ACK", Flags::ACK),
    ("ECE", Flags::ECE),
    ("CWR", Flags::CWR),
    ("ECT", Flags::ECT),
    ("ECT1", Flags::ECT1),
    ("CE", Flags::CE),
    ("RESERVED", Flags::RESERVED),
    ("RESENT", Flags::RESENT),
    ("AE", Flags::AE),
    ("PUSH", Flags::PUSH),
];

/// The settings of a connection, as in a scenario's `tcp` table, with what its stack does.
fn settled(settings: Option<&Bound<'_, PyDict>>) -> PyResult<TcpConfig> {
    let text: String = match settings {
        Some(settings) => settings.py().import("json")?.call_method1("dumps", (settings,))?.extract()?,
        None => "{}".to_owned(),
    };
    read_tcp(&text).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// JSON: all settings of a connection of which some are given.
#[pyfunction]
#[pyo3(signature = (**settings))]
pub fn tcp_settings(settings: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    Ok(tcp_json(&settled(settings)?).to_string())
}

/// JSON: the habits of each stack, by its name.
#[pyfunction]
pub fn stacks() -> String {
    let all = Stack::ALL.iter().map(|stack| (stack.name().to_owned(), habits(*stack)));
    serde_json::Value::Object(all.collect()).to_string()
}

/// Reads the settings of a connection, as in a scenario's `tcp` table.
fn config(settings: Option<&Bound<'_, PyDict>>) -> PyResult<TcpConfig> {
    let config = settled(settings)?;
    let windows = [config.initial_window, config.initial_ssthresh, config.max_window, config.receive_window];
    if windows.iter().any(|window| matches!(window, Amount::Bdp(_))) {
        return Err(ScenarioError::new_err(
            "tcp: a connection without a path has no bdp; say packets or bytes",
        ));
    }
    Ok(config)
}

/// Reads a reservation, as in a scenario's `reservation` table.
fn reservation(terms: &Bound<'_, PyDict>, tcp: &TcpConfig) -> PyResult<ReservationConfig> {
    let text: String = terms.py().import("json")?.call_method1("dumps", (terms,))?.extract()?;
    let reservation: ReservationConfig = serde_json::from_str(&text)
        .map_err(|error| ScenarioError::new_err(format!("reservation: {error}")))?;
    reservation.check_sender(tcp).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok(reservation)
}

fn instant(seconds: f64) -> PyResult<Time> {
    if seconds.is_finite() && seconds >= 0.0 {
        return Ok(Time::ZERO + Span::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!("a time is a number of seconds from 0 on, not {seconds}")))
}

fn seconds(at: Time) -> Option<f64> {
    (!at.is_never()).then(|| at.as_secs_f64())
}

/// A segment that travels between the two halves of a connection.
#[pyclass(frozen, eq, name = "Segment", module = "varicap.tcp")]
#[derive(Clone, PartialEq)]
pub struct PySegment(Segment);

#[pymethods]
impl PySegment {
    #[new]
    #[pyo3(signature = (*, seq=0, len=0, ack=None, sack=vec![], window=LARGEST_WINDOW.as_u64() as u32, flags=vec![], sent_at_s=0.0, echo_s=0.0, wire_size=None, ecn_bytes=None))]
    #[expect(clippy::too_many_arguments, reason = "they are the fields of a segment, by name")]
    fn new(
        seq: u64,
        len: u32,
        ack: Option<u64>,
        sack: Vec<(u64, u64)>,
        window: u32,
        flags: Vec<String>,
        sent_at_s: f64,
        echo_s: f64,
        wire_size: Option<u16>,
        ecn_bytes: Option<(u32, u32)>,
    ) -> PyResult<PySegment> {
        if u64::from(window) > LARGEST_WINDOW.as_u64() {
            let most = LARGEST_WINDOW.as_u64();
            return Err(PyValueError::new_err(format!(
                "a window of {window} B is more than {most} B, the largest that TCP can advertise (RFC 7323 §2.3)"
            )));
        }
        let mut segment = Segment { seq, len, window, ..Segment::default() };
        for name in flags {
            let known = FLAGS.iter().find(|(known, _)| *known == name);
            let (_, flag) =
                known.ok_or_else(|| PyValueError::new_err(format!("there is no flag `{name}`")))?;
            segment.flags = segment.flags.with(*flag);
        }
        if let Some(ack) = ack {
            segment.ack = ack;
            segment.flags = segment.flags.with(Flags::ACK);
        }
        let most = MAX_SACK_BLOCKS - usize::from(ecn_bytes.is_some());
        if sack.len() > most {
            return Err(PyValueError::new_err(format!("at most {most} SACK blocks fit")));
        }
        if let Some((capable, marked)) = ecn_bytes {
            segment.count_ecn(EcnBytes { capable, marked, ect1: segment.flags.has(Flags::ECT1_FIRST) });
        }
        for (index, &(from, to)) in sack.iter().enumerate() {
            // The first block may report a duplicate, which may lie below the acknowledgement (RFC 2883).
            let is_sound = from < to && (from >= segment.ack || index == 0 && to <= segment.ack);
            let edges = segment.offset(from).zip(segment.offset(to)).filter(|_| is_sound);
            segment.sack[index] = edges.ok_or_else(|| {
                PyValueError::new_err(format!("({from}, {to}) is not a SACK block above {}", segment.ack))
            })?;
            segment.sack_count += 1;
        }
        segment.sent_at = instant(sent_at_s)?;
        segment.echo = instant(echo_s)?;
        let headers = TcpConfig::default().header.as_u64() as u32;
        segment.wire_size =
            wire_size.unwrap_or_else(|| u16::try_from(len.saturating_add(headers)).unwrap_or(u16::MAX));
        Ok(PySegment(segment))
    }

    /// First payload byte [B].
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq
    }

    /// Payload [B].
    #[getter]
    fn len(&self) -> u32 {
        self.0.len
    }

    /// Next byte expected from the other side [B]; None if it acknowledges nothing.
    #[getter]
    fn ack(&self) -> Option<u64> {
        self.0.flags.has(Flags::ACK).then_some(self.0.ack)
    }

    /// SACK blocks [B], the most recent first, after that of a duplicate if there is one.
    #[getter]
    fn sack(&self) -> Vec<(u64, u64)> {
        self.0.blocks().collect()
    }

    /// Payload that arrived as ECT(0), or as ECT(1) if that is what the connection's data is, counted from 1, and as CE [B], if
    /// it carries the AccECN option.
    #[getter]
    fn ecn_bytes(&self) -> Option<(u32, u32)> {
        self.0.ecn_bytes().map(|bytes| (bytes.capable, bytes.marked))
    }

    /// Advertised window [B].
    #[getter]
    fn window(&self) -> u32 {
        self.0.window
    }

    /// Names of the flags that are set.
    #[getter]
    fn flags(&self) -> Vec<&'static str> {
        FLAGS.iter().filter(|(_, flag)| self.0.flags.has(*flag)).map(|(name, _)| *name).collect()
    }

    /// The instant at which it was sent [s].
    #[getter]
    fn sent_at_s(&self) -> f64 {
        self.0.sent_at.as_secs_f64()
    }

    /// The echoed sending time [s].
    #[getter]
    fn echo_s(&self) -> f64 {
        self.0.echo.as_secs_f64()
    }

    /// Size on the wire [B].
    #[getter]
    fn wire_size(&self) -> u16 {
        self.0.wire_size
    }

    fn __repr__(&self) -> String {
        let mut parts = self.flags().iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        if self.0.len > 0 {
            parts.push(format!("data {}..{}", self.0.seq, self.0.seq + u64::from(self.0.len)));
        }
        if let Some(ack) = self.ack() {
            parts.retain(|part| part != "ACK");
            parts.push(format!("ack {ack}"));
        }
        parts.extend(self.sack().iter().map(|(from, to)| format!("sack {from}..{to}")));
        if let Some((capable, marked)) = self.ecn_bytes() {
            parts.push(format!("ect0 {capable}, ce {marked}"));
        }
        format!("<segment {}>", parts.join(", "))
    }
}

/// The sending half: push what arrives, poll until None, then ask poll_at when to poll again.
#[pyclass(name = "Sender", module = "varicap.tcp")]
pub struct PySender {
    // Always reached through a unique reference, so never locked: it only makes the class shareable among threads.
    sender: Mutex<Sender>,
    raised: Raised,
}

impl PySender {
    fn sender(&mut self) -> &mut Sender {
        self.sender.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises the exception that a congestion control has raised in the meantime, if any.
    fn checked<T>(&self, value: T) -> PyResult<T> {
        self.raised.take().map_or(Ok(value), Err)
    }
}

#[pymethods]
impl PySender {
    #[new]
    #[pyo3(signature = (*, now_s=0.0, control=None, reservation=None, seed=1, measure_rates=false, **settings))]
    fn new(
        py: Python<'_>,
        now_s: f64,
        control: Option<Py<PyAny>>,
        reservation: Option<&Bound<'_, PyDict>>,
        seed: u64,
        measure_rates: bool,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PySender> {
        let config = config(settings)?;
        let reservation = reservation.map(|terms| self::reservation(terms, &config)).transpose()?;
        let now = instant(now_s)?;
        let raised = Raised::default();
        let mut sender = match control {
            None => {
                built_in(&config.congestion)?;
                Sender::new(&config, now)
            }
            Some(class) => {
                let whose = format!("the control ({})", name_of(class.bind(py)));
                let control = PythonControl::new(py, &class, whose, &start(&config), &raised)?;
                Sender::with_control(&config, now, Controller::Boxed(Box::new(control)))
            }
        };
        if measure_rates {
            sender = sender.measuring_rates();
        }
        if sender.control().wants().random {
            sender = sender.drawing_from(Streams::new(seed, 0).stream("control"));
        }
        if let Some(reservation) = reservation {
            sender.reserve(now, &reservation.terms(), Streams::new(seed, 0).stream("delay"));
        }
        let sender = PySender { sender: Mutex::new(sender), raised };
        sender.checked(())?;
        Ok(sender)
    }

    #[pyo3(signature = (size=None))]
    fn write(&mut self, size: Option<u64>) {
        self.sender().write(size.map_or(Bytes::MAX, Bytes::new));
    }

    fn close(&mut self) {
        self.sender().close();
    }

    #[pyo3(signature = (rule, /))]
    fn set_nagle(&mut self, rule: String) -> PyResult<()> {
        let known: Nagle = serde_json::from_value(rule.into())
            .map_err(|error| PyValueError::new_err(format!("nagle: {error}")))?;
        self.sender().set_nagle(known);
        Ok(())
    }

    #[pyo3(signature = (now_s, rate_bps, /))]
    fn on_rate_feedback(&mut self, now_s: f64, rate_bps: Option<u64>) -> PyResult<()> {
        let now = instant(now_s)?;
        self.sender().on_rate_feedback(now, rate_bps.map_or(Rate::UNLIMITED, Rate::from_bps));
        self.checked(())
    }

    #[pyo3(signature = (now_s, rate_bps, /))]
    fn set_reserved_rate(&mut self, now_s: f64, rate_bps: u64) -> PyResult<()> {
        let now = instant(now_s)?;
        self.sender().set_reserved_rate(now, Rate::from_bps(rate_bps));
        self.checked(())
    }

    fn push(&mut self, now_s: f64, segment: &PySegment) -> PyResult<()> {
        let now = instant(now_s)?;
        self.sender().push(now, &segment.0);
        self.checked(())
    }

    fn poll(&mut self, now_s: f64) -> PyResult<Option<PySegment>> {
        let now = instant(now_s)?;
        let segment = self.sender().poll(now).map(PySegment);
        self.checked(segment)
    }

    fn poll_at(&mut self) -> Option<f64> {
        seconds(self.sender().poll_at())
    }

    #[getter]
    fn is_done(&mut self) -> bool {
        self.sender().is_done()
    }

    #[getter]
    fn is_over(&mut self) -> bool {
        self.sender().is_over()
    }

    #[getter]
    fn cwnd(&mut self) -> u64 {
        self.sender().cwnd().as_u64()
    }

    #[getter]
    fn ssthresh(&mut self) -> Option<u64> {
        self.sender().ssthresh().filter(|bytes| *bytes < Bytes::MAX).map(Bytes::as_u64)
    }

    #[getter]
    fn in_flight(&mut self) -> u64 {
        self.sender().in_flight().as_u64()
    }

    #[getter]
    fn smoothed_rtt_s(&mut self) -> Option<f64> {
        self.sender().smoothed_rtt().map(Span::as_secs_f64)
    }

    #[getter]
    fn rto_s(&mut self) -> f64 {
        self.sender().rto().as_secs_f64()
    }

    #[getter]
    fn min_rtt_s(&mut self) -> Option<f64> {
        self.sender().min_rtt().map(Span::as_secs_f64)
    }

    #[getter]
    fn delivery_rate(&mut self) -> Option<(u64, f64, bool)> {
        let sample = self.sender().delivery_rate()?;
        Some((sample.delivered.as_u64(), sample.interval.as_secs_f64(), sample.app_limited))
    }

    #[getter]
    fn shown<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (dict, mut values) = (PyDict::new(py), Vec::new());
        let sender = self.sender();
        sender.control().show(&mut values);
        for (shown, value) in sender.control().shown().iter().zip(values) {
            dict.set_item(shown.name, value)?;
        }
        Ok(dict)
    }

    #[getter]
    fn expiries(&mut self) -> u32 {
        self.sender().expiries()
    }

    #[getter]
    fn beliefs(&mut self) -> Option<(u64, u64, u64)> {
        self.sender().beliefs().map(|beliefs| (beliefs.sacked, beliefs.lost, beliefs.resent))
    }

    #[getter]
    fn order(&mut self) -> Option<(u32, u32)> {
        self.sender().order().map(|order| (order.degree, order.seen))
    }

    #[getter]
    fn reserved_rate_bps(&mut self) -> Option<u64> {
        self.sender().reserved_rate().map(Rate::as_bps)
    }

    fn lost_tokens(&mut self, now_s: f64) -> PyResult<Option<f64>> {
        let lost = self.sender().lost_tokens(instant(now_s)?);
        Ok(lost.map(|tokens| tokens.as_bits_f64() / 8.0))
    }

    #[getter]
    fn state(&mut self) -> String {
        format!("{:?}", self.sender().state()).to_lowercase()
    }

    #[getter]
    fn counters<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.sender().counters();
        let dict = PyDict::new(py);
        dict.set_item("sent_packets", counters.sent_packets)?;
        dict.set_item("empty_packets", counters.empty_packets)?;
        dict.set_item("retransmitted_packets", counters.retransmitted_packets)?;
        dict.set_item("timeouts", counters.timeouts)?;
        dict.set_item("fast_retransmits", counters.fast_retransmits)?;
        dict.set_item("gave_up", u64::from(self.sender().gave_up()))?;
        dict.set_item("ecn_reductions", counters.ecn_reductions)?;
        dict.set_item("reported_marks", counters.reported_marks)?;
        dict.set_item("marked_packets", self.sender().marked_packets())?;
        dict.set_item("reservations_given_up", counters.reservations_given_up)?;
        Ok(dict)
    }

    fn __repr__(&mut self) -> String {
        let (state, cwnd, in_flight) = (self.state(), self.cwnd(), self.in_flight());
        format!("<sender {state}: cwnd {cwnd} B, in flight {in_flight} B>")
    }
}

/// The receiving half: push what arrives, poll until None, then ask poll_at when to poll again.
#[pyclass(name = "Receiver", module = "varicap.tcp")]
pub struct PyReceiver(Receiver);

#[pymethods]
impl PyReceiver {
    #[new]
    #[pyo3(signature = (*, now_s=0.0, echo_each_mark=false, **settings))]
    fn new(now_s: f64, echo_each_mark: bool, settings: Option<&Bound<'_, PyDict>>) -> PyResult<PyReceiver> {
        let mut receiver = Receiver::new(&config(settings)?, instant(now_s)?);
        if echo_each_mark {
            receiver.echo_each_mark();
        }
        Ok(PyReceiver(receiver))
    }

    fn push(&mut self, now_s: f64, segment: &PySegment) -> PyResult<u64> {
        Ok(self.0.push(instant(now_s)?, &segment.0))
    }

    fn poll(&mut self, now_s: f64) -> PyResult<Option<PySegment>> {
        Ok(self.0.poll(instant(now_s)?).map(PySegment))
    }

    fn poll_at(&self) -> Option<f64> {
        seconds(self.0.poll_at())
    }

    fn acknowledge(&mut self, now_s: f64) -> PyResult<PySegment> {
        Ok(PySegment(self.0.acknowledge(instant(now_s)?)))
    }

    fn read_on_demand(&mut self) {
        self.0.read_on_demand();
    }

    fn read(&mut self, size: u64) {
        self.0.read(Bytes::new(size));
    }

    fn close(&mut self) {
        self.0.close();
    }

    #[getter]
    fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    #[getter]
    fn is_closing(&self) -> bool {
        self.0.is_closing()
    }

    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered()
    }

    #[getter]
    fn ecn_counts(&self) -> Option<(u32, [u32; 3])> {
        self.0.ecn_counts()
    }

    fn __repr__(&self) -> String {
        format!("<receiver: {} B in order>", self.0.delivered())
    }
}

/// Refuses a control that is none of ours.
fn built_in(congestion: &Congestion) -> PyResult<()> {
    let says = match congestion {
        Congestion::Custom(name) => {
            format!("congestion: `{name}` is one that a program brings: give it as control=…")
        }
        Congestion::Module(file) => {
            format!(
                "congestion: `{file}` is a module of Linux, which the kernel engine runs: varicap.run(…, modules=…)"
            )
        }
        _ => return Ok(()),
    };
    Err(PyValueError::new_err(says))
}
