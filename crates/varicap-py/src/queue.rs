//! A queue written in Python, as the engine sees it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use varicap_net::LossCause;
use varicap_net::queue::{Next, Order, PacketView, QueuePolicy};
use varicap_units::{NANOS_PER_SEC, Span, Time};

use crate::control::{Raised, name_of, noted};

/// The states of a packet.
const WAITING: u8 = 0;
const DROPPED: u8 = 1;
const GONE: u8 = 2;

/// The orders that a queue has given its packets during a call.
type Orders = Arc<Mutex<Vec<Order>>>;

/// A packet in a queue.
#[pyclass(frozen, name = "Packet", module = "varicap.queues")]
pub struct PyPacket {
    number: u64,
    /// Size on the wire, headers included [B].
    #[pyo3(get)]
    size_bytes: u64,
    /// The name of its flow group.
    #[pyo3(get)]
    flow: String,
    /// A number that identifies its connection and direction.
    #[pyo3(get)]
    connection: u32,
    /// Whether it is ECN-capable, and can be marked.
    #[pyo3(get)]
    ecn_capable: bool,
    /// Its ECN field as it arrived: not-ECT, ECT(1), ECT(0) or CE.
    #[pyo3(get)]
    codepoint: &'static str,
    /// Whether it conforms to a reservation.
    #[pyo3(get)]
    reserved: bool,
    /// Whether it carries data, unlike an acknowledgement.
    #[pyo3(get)]
    carries_data: bool,
    /// The instant of its arrival at the queue [s].
    #[pyo3(get)]
    arrived_s: f64,
    state: AtomicU8,
    orders: Orders,
}

impl PyPacket {
    fn order(&self, order: Order) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).push(order);
    }

    /// Returns an error unless the packet is waiting and can be `done`: dropped, for instance.
    fn require_waiting(&self, done: &str) -> PyResult<()> {
        let fate = match self.state.load(Ordering::Relaxed) {
            WAITING => return Ok(()),
            DROPPED => "was dropped",
            _ => "has left",
        };
        Err(PyValueError::new_err(format!("a queue: {self:?} {fate} already, and cannot be {done}")))
    }
}

impl fmt::Debug for PyPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {} of `{}`", self.number, self.flow)
    }
}

#[pymethods]
impl PyPacket {
    /// Whether it is still in its queue.
    #[getter]
    fn waiting(&self) -> bool {
        self.state.load(Ordering::Relaxed) == WAITING
    }

    /// Drop it; `early` says that there would have been room.
    #[pyo3(signature = (*, early=false))]
    fn drop(&self, early: bool) -> PyResult<()> {
        self.require_waiting("dropped")?;
        self.state.store(DROPPED, Ordering::Relaxed);
        let cause = if early { LossCause::Aqm } else { LossCause::Overflow };
        self.order(Order::Drop(self.number, cause));
        Ok(())
    }

    /// Mark it (congestion experienced), if it is ECN-capable; returns whether it is.
    fn mark(&self) -> PyResult<bool> {
        self.require_waiting("marked")?;
        if self.ecn_capable {
            self.order(Order::Mark(self.number));
        }
        Ok(self.ecn_capable)
    }

    fn __repr__(&self) -> String {
        format!("<{self:?}, {} B, arrived at {} s>", self.size_bytes, self.arrived_s)
    }
}

/// A Python object with `enqueue` and `dequeue`.
pub struct PythonQueue {
    /// `None` if it could not be made; then the run is about to end.
    object: Option<Py<PyAny>>,
    name: String,
    /// Its name, that of its class, and its link, for errors.
    whose: String,
    orders: Orders,
    /// The packets that wait, by their numbers.
    packets: HashMap<u64, Py<PyPacket>>,
    raised: Raised,
}

impl fmt::Debug for PythonQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonQueue {{ {} waiting }}", self.packets.len())
    }
}

impl PythonQueue {
    /// Calls `make`, which is called `name`, with the link's name. An exception ends the run.
    pub fn new(py: Python<'_>, name: &str, make: &Py<PyAny>, link: &str, raised: &Raised) -> PythonQueue {
        let whose = format!("the queue `{name}` ({}) of link `{link}`", name_of(make.bind(py)));
        let raise = |error| raised.keep(noted(py, error, &format!("making {whose}")));
        let object = make.call1(py, (link,)).map_err(raise).ok();
        let (orders, packets) = (Orders::default(), HashMap::new());
        PythonQueue { object, name: name.to_owned(), whose, orders, packets, raised: raised.clone() }
    }

    /// Calls the object, and carries out the orders that it has given its packets. After an exception, the object is no
    /// longer called, and the answer is `otherwise`.
    fn call<T>(
        &mut self,
        now: Time,
        method: &str,
        orders: &mut Vec<Order>,
        otherwise: T,
        call: impl FnOnce(&mut PythonQueue, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> T {
        if self.raised.is_some() {
            return otherwise;
        }
        Python::attach(|py| {
            let Some(object) = self.object.as_ref().map(|object| object.clone_ref(py)) else {
                return otherwise;
            };
            let answer = call(self, object.bind(py));
            orders.append(&mut self.orders.lock().unwrap_or_else(PoisonError::into_inner));
            for order in orders.iter() {
                if let Order::Drop(number, _) = order {
                    self.packets.remove(number);
                }
            }
            answer.unwrap_or_else(|error| {
                let place = format!("`{method}` of {}, at {} s", self.whose, now.as_secs_f64());
                self.raised.keep(noted(py, error, &place));
                otherwise
            })
        })
    }

    /// Takes the packet that `answer` stands for out of the queue.
    fn leave(&mut self, packet: &Bound<'_, PyPacket>) -> PyResult<u64> {
        let found = packet.get();
        found.require_waiting("given to the link")?;
        let number = found.number;
        if self.packets.remove(&number).is_none_or(|own| !own.is(packet)) {
            let says = format!("a queue: `{}` gave {found:?}, which waits in another queue", self.name);
            return Err(PyValueError::new_err(says));
        }
        found.state.store(GONE, Ordering::Relaxed);
        Ok(number)
    }

    /// Reads the answer of `dequeue`.
    fn next(&mut self, now: Time, answer: &Bound<'_, PyAny>) -> PyResult<Next> {
        if answer.is_none() {
            return Ok(Next::NotBefore(Time::NEVER));
        }
        if let Ok(packet) = answer.cast::<PyPacket>() {
            return Ok(Next::Packet(self.leave(packet)?));
        }
        let Ok(seconds) = answer.extract::<f64>() else {
            let says = format!("a queue: `{}.dequeue` gave {}", self.name, answer.repr()?);
            return Err(PyTypeError::new_err(format!(
                "{says}, expected a packet, a time in seconds or None"
            )));
        };
        let nanos = seconds * NANOS_PER_SEC as f64 + 0.5;
        let later = (0.0..1e19).contains(&nanos).then(|| Time::ZERO + Span::from_nanos(nanos as u64));
        let later = later.filter(|later| *later > now).ok_or_else(|| {
            let says = format!("a queue: `{}.dequeue` gave {seconds} s", self.name);
            PyValueError::new_err(format!("{says}, expected a time after {} s", now.as_secs_f64()))
        })?;
        Ok(Next::NotBefore(later))
    }
}

impl QueuePolicy for PythonQueue {
    fn enqueue(&mut self, now: Time, packet: PacketView<'_>, orders: &mut Vec<Order>) {
        self.call(now, "enqueue", orders, (), |queue, object| {
            let py = object.py();
            let view = PyPacket {
                number: packet.number,
                size_bytes: packet.size.as_u64(),
                flow: packet.group.to_owned(),
                connection: packet.flow,
                ecn_capable: packet.codepoint.is_capable(),
                codepoint: packet.codepoint.name(),
                reserved: packet.is_reserved,
                carries_data: !packet.is_control,
                arrived_s: now.as_secs_f64(),
                state: AtomicU8::new(WAITING),
                orders: queue.orders.clone(),
            };
            let view = Py::new(py, view)?;
            queue.packets.insert(packet.number, view.clone_ref(py));
            let answer = object.call_method1("enqueue", (now.as_secs_f64(), view))?;
            if answer.is_none() {
                return Ok(());
            }
            let says = format!("a queue: `{}.enqueue` gave {}, expected nothing", queue.name, answer.repr()?);
            Err(PyTypeError::new_err(format!("{says}: what it does not drop waits")))
        });
    }

    fn dequeue(&mut self, now: Time, orders: &mut Vec<Order>) -> Next {
        self.call(now, "dequeue", orders, Next::NotBefore(Time::NEVER), |queue, object| {
            let answer = object.call_method1("dequeue", (now.as_secs_f64(),))?;
            queue.next(now, &answer)
        })
    }
}
