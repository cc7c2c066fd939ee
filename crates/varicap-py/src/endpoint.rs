//! Transports that are not ours: classes in Python, and QUIC where it was built in.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use varicap_experiment::series::SenderState;
use varicap_experiment::{EndpointSpec, Transport};
use varicap_net::Codepoint;
use varicap_sim::endpoint::{Datagram, Endpoint, Offer, Report, Stage};
use varicap_sim::{EndpointFactory, EndpointStart};
use varicap_tcp::State;
use varicap_units::{Bytes, NANOS_PER_SEC, Span, Time};

use crate::control::{Raised, name_of, noted};
use crate::errors::MissingControlError;
use crate::scenario::PyScenario;

/// The data that one side of a connection is made with.
#[pyclass(frozen, get_all, name = "Start", module = "varicap.endpoints")]
pub struct PyEndpointStart {
    /// `"sender"` or `"receiver"`.
    side: &'static str,
    /// The name of the connection, as the rows of results are called.
    connection: String,
    /// The instant at which it opens [s].
    now_s: f64,
    /// Largest payload of a datagram [B].
    largest: u64,
    /// 32 random bytes, of the run, of which both sides make their random numbers.
    seed: [u8; 32],
}

/// One side of a connection in Python.
struct PythonEndpoint {
    object: Py<PyAny>,
    /// The name, the class and the flow, for notes.
    whose: String,
    raised: Raised,
    fault: Option<String>,
    due: Time,
    delivered: u64,
    report: Report,
}

/// Makes both sides of connections with the callables of these names.
pub fn factory(makers: HashMap<String, Py<PyAny>>, raised: Raised) -> Arc<EndpointFactory> {
    Arc::new(move |start: EndpointStart<'_>| match start.endpoint {
        EndpointSpec::Quic(config) => quic(config, start),
        EndpointSpec::Named(name) => {
            let make = makers.get(name).ok_or_else(|| "nobody brought one".to_owned())?;
            let side = |side: &'static str| {
                Python::attach(|py| PythonEndpoint::new(py, name, make, side, &start, &raised)).map_err(
                    |error| {
                        let says = error.to_string();
                        raised.keep(error);
                        says
                    },
                )
            };
            Ok([Box::new(side("sender")?), Box::new(side("receiver")?)])
        }
    })
}

#[cfg(feature = "quic")]
fn quic(
    config: &varicap_experiment::scenario::QuicConfig,
    start: EndpointStart<'_>,
) -> Result<[Box<dyn Endpoint>; 2], String> {
    varicap_quic::pair(config, start.control, start.now, start.seed)
}

#[cfg(not(feature = "quic"))]
fn quic(
    _: &varicap_experiment::scenario::QuicConfig,
    _: EndpointStart<'_>,
) -> Result<[Box<dyn Endpoint>; 2], String> {
    Err(NO_QUIC.to_owned())
}

#[cfg(not(feature = "quic"))]
const NO_QUIC: &str = "this program was built without QUIC: `make quic` builds it, and wheels have it";

/// Checks that every transport that the scenario needs is there.
pub fn check(scenario: &PyScenario, makers: Option<&HashMap<String, Py<PyAny>>>) -> PyResult<()> {
    for flow in scenario.networks.iter().flat_map(|network| &network.flows) {
        let Transport::Endpoint { endpoint, .. } = &flow.transport else { continue };
        match endpoint {
            EndpointSpec::Named(name) if !makers.is_some_and(|makers| makers.contains_key(name)) => {
                let says =
                    format!("flows.{}.endpoint: nobody brought an endpoint called `{name}`", flow.name);
                return Err(MissingControlError::new_err(format!(
                    "{says}; pass it to varicap.run(…, endpoints=…)"
                )));
            }
            EndpointSpec::Named(_) => {}
            #[cfg(not(feature = "quic"))]
            EndpointSpec::Quic(_) => {
                return Err(MissingControlError::new_err(format!("flows.{}.quic: {NO_QUIC}", flow.name)));
            }
            #[cfg(feature = "quic")]
            EndpointSpec::Quic(_) => {}
        }
    }
    Ok(())
}

impl PythonEndpoint {
    fn new(
        py: Python<'_>,
        name: &str,
        make: &Py<PyAny>,
        side: &'static str,
        start: &EndpointStart<'_>,
        raised: &Raised,
    ) -> PyResult<PythonEndpoint> {
        let class = name_of(make.bind(py));
        let whose = format!("the endpoint `{name}` ({class}, the {side}) of flow `{}`", start.connection);
        let with = PyEndpointStart {
            side,
            connection: start.connection.to_owned(),
            now_s: start.now.as_secs_f64(),
            largest: start.largest.as_u64(),
            seed: start.seed,
        };
        let object = make.call1(py, (with,)).map_err(|error| noted(py, error, &whose))?;
        for method in ["push", "poll", "poll_at", "write", "delivered"] {
            if !object.bind(py).hasattr(method)? {
                return Err(PyTypeError::new_err(format!("{whose} has no method `{method}`")));
            }
        }
        let (raised, report) = (raised.clone(), Report::default());
        Ok(PythonEndpoint { object, whose, raised, fault: None, due: Time::NEVER, delivered: 0, report })
    }

    /// Calls a method, unless an earlier call has failed.
    fn call<T>(&mut self, of: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.fault.is_some() {
            return None;
        }
        match Python::attach(|py| of(py, self.object.bind(py)).map_err(|error| noted(py, error, &self.whose)))
        {
            Ok(value) => Some(value),
            Err(error) => {
                self.fault = Some(error.to_string());
                self.raised.keep(error);
                None
            }
        }
    }

    /// Reads the deadline, the deliveries and the report, which hold until the next call.
    fn look(&mut self, now: Time) {
        let looked = self.call(|_, object| {
            let due = object.call_method0("poll_at")?.extract::<Option<f64>>()?;
            let delivered = object.call_method0("delivered")?.extract::<u64>()?;
            let report = match object.getattr_opt("report")? {
                Some(report) => report_of(report.call0()?.cast::<PyDict>()?)?,
                None => Report::default(),
            };
            Ok((due, delivered, report))
        });
        let Some((due, delivered, report)) = looked else { return };
        (self.delivered, self.report) = (delivered, report);
        self.due = due.map_or(Time::NEVER, |due| instant(now, due));
    }
}

/// The instant of so many seconds. What a number of that kind rounds away is no reason to be woken in vain.
fn instant(now: Time, seconds: f64) -> Time {
    let nanos = (seconds * NANOS_PER_SEC as f64).ceil();
    if !nanos.is_finite() || nanos >= u64::MAX as f64 {
        return Time::NEVER;
    }
    let at = Time::from_nanos(nanos.max(0.0) as u64);
    let is_rounded = at <= now && now.since(at) < Span::from_micros(1);
    if is_rounded { now + Span::from_micros(1) } else { at }
}

fn report_of(report: &Bound<'_, PyDict>) -> PyResult<Report> {
    fn get<'py, T: FromPyObjectOwned<'py>>(report: &Bound<'py, PyDict>, key: &str) -> PyResult<Option<T>> {
        match report.get_item(key)? {
            Some(value) if !value.is_none() => Ok(Some(value.extract::<T>().map_err(Into::into)?)),
            _ => Ok(None),
        }
    }
    let count = |key: &str| Ok::<u64, PyErr>(get(report, key)?.unwrap_or(0));
    let span = |key: &str| {
        Ok::<Option<Span>, PyErr>(
            get::<f64>(report, key)?.filter(|s| (0.0..1e9).contains(s)).map(Span::from_secs_f64),
        )
    };
    let sender = match get::<u64>(report, "cwnd")? {
        Some(cwnd) => Some(SenderState {
            cwnd: Bytes::new(cwnd),
            ssthresh: get(report, "ssthresh")?.map(Bytes::new),
            in_flight: Bytes::new(count("in_flight")?),
            srtt: span("srtt_s")?,
            rto: span("rto_s")?,
            state: State::Open,
        }),
        None => None,
    };
    let stage = match get::<String>(report, "stage")?.as_deref() {
        None | Some("running") => Stage::Running,
        Some("over") => Stage::Over,
        Some("gave-up") => Stage::GaveUp,
        Some(other) => {
            let says = format!("report: `stage` is \"running\", \"over\" or \"gave-up\", not {other:?}");
            return Err(pyo3::exceptions::PyValueError::new_err(says));
        }
    };
    Ok(Report {
        sender,
        latest_rtt: span("latest_rtt_s")?,
        rtt_samples: count("rtt_samples")?,
        lost_packets: count("lost_packets")?,
        congestion_events: count("congestion_events")?,
        timeouts: count("timeouts")?,
        stage,
    })
}

/// The ECN field of these two bits.
fn codepoint(bits: u8) -> PyResult<Codepoint> {
    match bits {
        0 => Ok(Codepoint::NotEct),
        1 => Ok(Codepoint::Ect1),
        2 => Ok(Codepoint::Ect0),
        3 => Ok(Codepoint::Ce),
        _ => Err(PyTypeError::new_err(format!("an ECN field is 0 to 3, not {bits}"))),
    }
}

impl Endpoint for PythonEndpoint {
    fn push(&mut self, now: Time, datagram: &Datagram) {
        self.call(|py, object| {
            let bytes = PyBytes::new(py, &datagram.bytes);
            object.call_method1("push", (now.as_secs_f64(), bytes, datagram.ecn as u8)).map(drop)
        });
    }

    fn poll(&mut self, now: Time) -> Option<Datagram> {
        let polled = self.call(|_, object| {
            let polled = object.call_method1("poll", (now.as_secs_f64(),))?;
            if polled.is_none() {
                return Ok(None);
            }
            let (bytes, bits) = match polled.cast::<PyTuple>() {
                Ok(pair) => pair.extract::<(Vec<u8>, u8)>()?,
                Err(_) => (polled.extract::<Vec<u8>>()?, 0),
            };
            Ok(Some(Datagram { bytes: bytes.into(), ecn: codepoint(bits)? }))
        });
        let datagram = polled.flatten();
        self.look(now);
        datagram
    }

    fn poll_at(&self) -> Time {
        self.due
    }

    fn offer(&mut self, now: Time, offer: Offer) {
        let now_s = now.as_secs_f64();
        self.call(|_, object| {
            match offer {
                Offer::Write(Bytes::MAX) => object.call_method1("write", (now_s, None::<u64>))?,
                Offer::Write(bytes) => object.call_method1("write", (now_s, bytes.as_u64()))?,
                Offer::Withdraw => match object.getattr_opt("withdraw")? {
                    Some(withdraw) => withdraw.call1((now_s,))?,
                    None => return Ok(()),
                },
                Offer::End => match object.getattr_opt("end")? {
                    Some(end) => end.call1((now_s,))?,
                    None => return Ok(()),
                },
            };
            Ok(())
        });
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn report(&self) -> Report {
        self.report
    }

    fn fault(&mut self) -> Option<String> {
        self.fault.clone()
    }
}
