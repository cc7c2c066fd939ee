//! A queue that comes from outside: it decides about packets, whose frames stay here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{OnKernel, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Time};

use super::{Limit, QueueDiscipline, QueuePart, Site, SupplyQueue, Transmitter, Waiting};
use crate::frame::{Backlog, Codepoint, Frame, LossCause, Lost, Watch};

/// The name of a queue that whoever runs the scenario supplies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct CustomConfig(pub String);

impl Part for CustomConfig {
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("only the simulator calls queues in Python")
    }

    fn draws(&self) -> bool {
        true
    }
}

impl QueuePart for CustomConfig {
    /// Its own, which a scenario does not know.
    fn limit(&self) -> Amount {
        Amount::Unlimited
    }

    fn supplied(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn describe(&self, _packet: Bytes, _bdp: Bytes) -> String {
        format!(", {}", self.0)
    }
}

/// The view that a queue from outside has of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketView<'a> {
    /// Its number: no other packet of this queue has the same.
    pub number: u64,
    /// Size on the wire, headers included [B].
    pub size: Bytes,
    /// Its flow group.
    pub group: &'a str,
    /// Its connection and direction, as [`Frame::flow`] gives them.
    pub flow: u32,
    /// Its ECN field as it arrives.
    pub codepoint: Codepoint,
    /// Whether it conforms to a reservation.
    pub is_reserved: bool,
    /// Whether it carries no data of its own.
    pub is_control: bool,
}

/// The decision of a queue from outside about a packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It is lost.
    Drop(u64, LossCause),
    /// It is marked, if it can be.
    Mark(u64),
}

/// The packet that leaves a queue from outside which was asked for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This packet.
    Packet(u64),
    /// None before that time, if nothing else comes; never if time alone changes nothing.
    NotBefore(Time),
}

/// A queue that comes from outside. What it names waits: a packet that was lost or has left is gone.
pub trait QueuePolicy: fmt::Debug + Send {
    /// A packet arrives. It waits from now on, unless the queue orders otherwise.
    fn enqueue(&mut self, now: Time, packet: PacketView<'_>, orders: &mut Vec<Order>);
    /// Which packet goes next.
    fn dequeue(&mut self, now: Time, orders: &mut Vec<Order>) -> Next;
}

/// The frames of a queue from outside.
#[derive(Debug)]
pub struct Custom<F> {
    name: String,
    policy: Option<Box<dyn QueuePolicy>>,
    /// Names of the flow groups.
    groups: Arc<[Arc<str>]>,
    waiting: BTreeMap<u64, Waiting<F>>,
    held: Backlog,
    /// Packets so far.
    arrived: u64,
    ready: Time,
    /// Orders of one call; kept for its room.
    orders: Vec<Order>,
}

impl<F: Frame> Custom<F> {
    /// An empty queue, to which [`QueueDiscipline::supply`] brings what decides.
    pub fn new(config: &CustomConfig, site: &Site<'_>) -> Custom<F> {
        Custom {
            name: config.0.clone(),
            policy: None,
            groups: site.groups.into(),
            waiting: BTreeMap::new(),
            held: Backlog::default(),
            arrived: 0,
            ready: Time::NEVER,
            orders: Vec::new(),
        }
    }

    /// Lets the policy decide, and carries out what it orders.
    fn ask<T, W: Watch<F>>(
        &mut self,
        now: Time,
        watch: &mut W,
        decide: impl FnOnce(&mut dyn QueuePolicy, &mut Vec<Order>) -> T,
    ) -> T {
        let Some(policy) = &mut self.policy else { panic!("no queue called `{}` was supplied", self.name) };
        let mut orders = std::mem::take(&mut self.orders);
        let answer = decide(&mut **policy, &mut orders);
        for order in orders.drain(..) {
            self.carry_out(now, order, watch);
        }
        self.orders = orders;
        answer
    }

    fn carry_out<W: Watch<F>>(&mut self, now: Time, order: Order, watch: &mut W) {
        match order {
            Order::Drop(number, cause) => {
                let Waiting { frame, .. } = self.take(number);
                watch.on_lost(Lost { at: now, cause, frame });
            }
            Order::Mark(number) => {
                let waiting = self.waiting.get_mut(&number).expect("a marked packet waits");
                if waiting.frame.mark_ce() {
                    watch.on_mark(now, &waiting.frame);
                }
            }
        }
    }

    /// Takes the packet of that number out.
    fn take(&mut self, number: u64) -> Waiting<F> {
        let waiting = self.waiting.remove(&number).expect("a packet that goes waits");
        self.held.frames -= 1;
        self.held.bytes -= waiting.frame.wire_size();
        waiting
    }
}

impl<F: Frame> QueueDiscipline<F> for Custom<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, _transmitter: Transmitter, watch: &mut W) {
        let (number, groups) = (self.arrived, self.groups.clone());
        self.arrived += 1;
        let packet = PacketView {
            number,
            size: frame.wire_size(),
            group: groups.get(usize::from(frame.group())).map_or("", |name| name),
            flow: frame.flow(),
            codepoint: frame.codepoint(),
            is_reserved: frame.is_reserved(),
            is_control: frame.is_control(),
        };
        self.held.frames += 1;
        self.held.bytes += packet.size;
        self.waiting.insert(number, Waiting { frame, arrived: now });
        self.ask(now, watch, |policy, orders| policy.enqueue(now, packet, orders));
    }

    fn dequeue<W: Watch<F>>(
        &mut self,
        now: Time,
        _supply: super::Supply,
        watch: &mut W,
    ) -> Option<Waiting<F>> {
        self.ready = Time::NEVER;
        match self.ask(now, watch, |policy, orders| policy.dequeue(now, orders)) {
            Next::Packet(number) => Some(self.take(number)),
            Next::NotBefore(ready) => {
                if !self.waiting.is_empty() {
                    self.ready = ready;
                }
                None
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.held
    }

    /// It limits itself.
    fn set_limit(&mut self, _limit: Limit) {}

    fn ready_at(&self) -> Time {
        if self.waiting.is_empty() { Time::NEVER } else { self.ready }
    }

    fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
        self.policy = supply(&self.name);
    }
}
