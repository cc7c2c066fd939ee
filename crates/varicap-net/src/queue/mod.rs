//! Queues in front of a server: who waits, in which order, and who is lost.
//!
//! A queue is a file of this folder with its configuration, its check, and the algorithm, and a line in the registry below.

mod accel_brake;
mod cbq;
mod codel;
mod custom;
mod device;
mod drop_tail;
mod drr;
mod dualpi2;
mod ered;
mod fifo;
mod flows;
mod fq_codel;
mod limit;
mod managed;
mod monitor;
mod part;
mod pie;
mod policer;
mod red;
mod registry;
mod sfq;
mod shaper;
mod step;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::{Amount, Bytes, JsonSchema, Rate, Stream, Time, Work};

use crate::config::Framing;
use crate::frame::{Backlog, Frame, Watch};
use crate::link::LinkParts;

pub use cbq::CbqClass;
pub use custom::{Next, Order, PacketView, QueuePolicy};
pub(crate) use drop_tail::LineLimit;
pub use drop_tail::Ties;
pub use dualpi2::DualScheduler;
pub(crate) use fifo::Fifo;
pub use flows::{DropFrom, Per};
pub use limit::Limit;
pub(crate) use limit::held;
pub(crate) use managed::Managed;
pub use part::QueuePart;
pub use red::DropSpacing;

registry::queues! {
    drop_tail::DropTail(DropTailConfig) = "drop-tail", "First in, first out; what does not fit is lost.";
    red::Red(RedConfig) = "red", "Random early detection. Source: Floyd and Jacobson 1993; ns-2's options.";
    ered::Ered(EredConfig) = "ered", "RED for unmarked packets; those that conform to a reservation are lost only when the queue is full. Source: [minrate, §II-B].";
    codel::CoDel(CoDelConfig) = "codel", "Controlled delay. Source: RFC 8289.";
    pie::Pie(PieConfig) = "pie", "PIE: drops by a proportional integral controller of the queueing delay. Source: RFC 8033.";
    drr::Drr(DrrConfig) = "drr", "Fair queueing by deficit round robin: a queue for each flow, served in turn. Source: [shreedhar96].";
    sfq::Sfq(SfqConfig) = "sfq", "Start-time fair queueing: a queue for each flow, served in the order of virtual time. Source: [goyal97].";
    cbq::Cbq(CbqConfig) = "cbq", "Class-based queueing: classes of flows with a share of the capacity each, and a queue inside each. Source: [floyd95], [minrate, §VIII].";
    fq_codel::FqCoDel(FqCoDelConfig) = "fq_codel", "Flow queueing with CoDel: flows hashed into queues, new ones first, CoDel in each. Source: RFC 8290.";
    dualpi2::DualPi2(DualPi2Config) = "dualpi2", "DualPI2: a queue of low latency for ECT(1) and CE, coupled with a classic one. Source: RFC 9332.";
    step::StepMarking(StepMarkingConfig) = "step", "Marks all that exceeds a threshold, for `congestion = \"dctcp\"`. Source: RFC 8257 §3.1.";
    shaper::Shaper(ShaperConfig) = "shaper", "A token bucket behind another queue: what exceeds rate and burst waits. Source: RFC 2475 §2.3.3.2.";
    policer::Policer(PolicerConfig) = "policer", "A token bucket in front of another queue: what exceeds rate and burst is dropped. Source: RFC 2475 §2.3.3.3.";
    device::Device(DeviceConfig) = "device", "A device's ring behind another queue, as short as byte queue limits keep it. Source: Linux.";
    accel_brake::AccelBrake(AccelBrakeConfig) = "accel-brake", "Marks of an accelerate or a brake, for senders with `congestion = \"accel-brake\"`. Source: [goyal20].";
    custom::Custom(CustomConfig) = "custom", "One written in Python, by the name under which it was given to `varicap.run`.";
}

/// A frame and when it arrived.
#[derive(Clone, Debug)]
pub struct Waiting<F> {
    /// The frame.
    pub frame: F,
    /// When it arrived.
    pub arrived: Time,
}

/// The transmitter that a queue feeds, as a frame finds it on arrival.
#[derive(Clone, Copy, Debug)]
pub struct Transmitter {
    /// The state of the transmitter.
    pub state: TransmitterState,
    /// The rate that it offers now (for a trace of opportunities its mean) [b/s].
    pub rate: Rate,
}

/// The supply of the transmitter that a queue feeds, as it asks for a frame.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// The rate that it offers now (for a trace of opportunities its mean) [b/s].
    pub rate: Rate,
    /// The work that its opportunities so far could have carried; none if it has a rate at each instant.
    pub offered: Option<Work>,
    /// The bytes that it adds to each frame.
    pub framing: Framing,
}

/// The state of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitterState {
    /// Nothing: the frame goes into service at once.
    Free,
    /// It is idle between opportunities: the frame has to wait for the next one.
    Waiting,
    /// It has a frame of that many bytes in service [B].
    Busy(Bytes),
}

/// A queue. Every loss leaves through the watch, at enqueue and at dequeue alike: what arrived has been lost, has left or
/// waits. It is called in order of time.
pub trait QueueDiscipline<F: Frame> {
    /// Takes a frame, or loses it.
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W);
    /// Gives the next frame to the transmitter; `None` means that the transmitter goes idle.
    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>>;
    /// The frames that wait; the frame in service is not included.
    fn backlog(&self) -> Backlog;
    /// From `now` on the transmitter offers `rate`. A link reports its first rate and each change, be the transmitter busy,
    /// idle or stopped; one that passes opportunities has no rate ([`Supply::offered`]).
    fn on_rate(&mut self, _now: Time, _rate: Rate) {}
    /// From now on no more than `limit` may wait; what waits already stays.
    fn set_limit(&mut self, limit: Limit);
    /// When it will give a frame after it gave none, if nothing else comes and the rate stays; never if none waits.
    fn ready_at(&self) -> Time {
        Time::NEVER
    }
    /// Asks for what decides in a queue from outside, by its name; queues inside it do so as well.
    fn supply(&mut self, _supply: &mut SupplyQueue<'_>) {}
}

/// Makes the queue from outside that has this name.
pub type SupplyQueue<'a> = dyn FnMut(&str) -> Option<Box<dyn QueuePolicy>> + 'a;

/// Random streams by the names of what draws from them.
pub(crate) type StreamOf<'a> = dyn Fn(&str) -> Stream + 'a;

/// Where a queue stands: what its amounts mean, whose frames come, and where it draws its random numbers from.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// A full-sized packet, in which amounts of packets are meant [B].
    pub packet: Bytes,
    /// The bandwidth-delay product, in which amounts of BDP are meant [B].
    pub bdp: Bytes,
    /// The bytes that the link adds to each frame before it waits, which limits in bytes count [B].
    pub overhead: Bytes,
    /// The part of it that the link sends as well, and the bucket of a shaper counts [B].
    pub framed: Bytes,
    /// Names of the flow groups, by the number that [`Frame::group`] gives.
    pub groups: &'a [Arc<str>],
    /// The name of its random stream.
    pub name: &'a str,
    /// Random streams of the link by their names.
    pub streams: &'a dyn Fn(&str) -> Stream,
}

impl<'a> Site<'a> {
    /// The queue of a link of `parts`, whose random streams are `streams`.
    pub fn of(parts: &'a LinkParts, streams: &'a StreamOf<'a>) -> Site<'a> {
        let LinkParts { packet, bdp, ref groups, .. } = *parts;
        let framed = if parts.framing.in_queue { parts.framing.overhead } else { Bytes::ZERO };
        Site { packet, bdp, overhead: parts.queue_overhead(), framed, groups, name: "queue", streams }
    }

    /// The limit that `amount` is here.
    pub fn limit(&self, amount: Amount) -> Limit {
        let limit = Limit::new(amount, self.packet, self.bdp);
        let overhead = if limit.bytes == Bytes::MAX { Bytes::ZERO } else { self.overhead };
        Limit { overhead, ..limit }
    }

    /// Its random stream.
    pub fn stream(&self) -> Stream {
        (self.streams)(self.name)
    }
}

/// The queue of a link.
#[derive(Debug)]
pub(crate) enum Queue<F> {
    /// Drop-tail, the fast path: a limit of what may wait in the link's own line.
    Line(LineLimit),
    /// A queue that keeps its frames, and decides about each of them.
    Managed(Managed<F>),
}

impl<F: Frame> Queue<F> {
    /// The queue of a link of `parts`.
    pub fn new(parts: &LinkParts, streams: &StreamOf<'_>) -> Queue<F> {
        let site = Site::of(parts, streams);
        match &parts.queue {
            QueueConfig::DropTail(config) => {
                let limit = LineLimit::new(config, &site);
                if limit.is_bare() { Queue::Line(limit) } else { Queue::Line(limit).managed() }
            }
            config => Queue::Managed(Managed::new(config, &site)),
        }
    }

    /// Asks for what decides in a queue from outside, by its name.
    pub fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
        if let Queue::Managed(queue) = self {
            queue.supply(supply);
        }
    }

    /// The queue as one that keeps its frames.
    pub fn managed(self) -> Queue<F> {
        match self {
            Queue::Line(limit) => Queue::Managed(Managed::drop_tail(limit)),
            managed => managed,
        }
    }
}
