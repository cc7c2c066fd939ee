//! Links with their meters, private wires, and the ways of packets over both.

use std::collections::VecDeque;

use varicap_experiment::measure::LinkMeter;
use varicap_experiment::{FlowSpec, LinkSpec};
use varicap_net::{Backlog, Frame, Link};
use varicap_units::{Rate, Span, Streams, Time, Work};

/// Names what packets pass: links first, in the order of the network, then wires.
pub type NodeId = u32;

/// A link and what measures it.
#[derive(Debug)]
pub struct Hop<F> {
    /// The link.
    pub link: Link<F>,
    /// Its meter.
    pub meter: LinkMeter,
}

impl<F: Frame> Hop<F> {
    /// The idle link of `spec`, with random numbers from `streams`.
    pub fn new(spec: &LinkSpec, streams: &Streams) -> Hop<F> {
        Hop { link: Link::new(&spec.parts, &spec.name, streams), meter: LinkMeter::new() }
    }
}

/// The links of a running network, by their numbers, for who watches them.
pub trait Links {
    /// Brings a link up to `now`.
    fn advance_link(&mut self, now: Time, link: usize);
    /// What it offers; its mean, if it has opportunities.
    fn rate(&self, link: usize) -> Rate;
    /// What its opportunities so far could have carried; none if it has a rate at each instant.
    fn opportunities(&self, link: usize) -> Option<Work>;
    /// What waits there.
    fn backlog(&self, link: usize) -> Backlog;
    /// When its capacity changes next.
    fn changes_at(&self, link: usize) -> Time;
}

/// A private delay line of a flow group.
#[derive(Debug)]
pub struct Wire<F> {
    delay: Span,
    in_flight: VecDeque<(Time, F)>,
}

impl<F> Wire<F> {
    /// An empty wire.
    pub fn new(delay: Span) -> Wire<F> {
        Wire { delay, in_flight: VecDeque::new() }
    }

    /// A frame enters it.
    pub fn push(&mut self, now: Time, frame: F) {
        self.in_flight.push_back((now + self.delay, frame));
    }

    /// The next frame that has come out by `now`.
    pub fn poll(&mut self, now: Time) -> Option<F> {
        if self.poll_at() > now {
            return None;
        }
        self.in_flight.pop_front().map(|(_, frame)| frame)
    }

    /// When the next frame comes out.
    pub fn poll_at(&self) -> Time {
        self.in_flight.front().map_or(Time::NEVER, |(due, _)| *due)
    }
}

/// The wires, and the way of each flow group's packets: there and back.
pub fn routes<F>(flows: &[FlowSpec], links: usize) -> (Vec<Wire<F>>, Vec<Box<[NodeId]>>) {
    let mut wires = Vec::new();
    let mut routes = Vec::with_capacity(2 * flows.len());
    for flow in flows {
        let mut forward: Vec<NodeId> = flow.forward.iter().map(|&link| link as NodeId).collect();
        let mut reverse: Vec<NodeId> = flow.reverse.iter().map(|&link| link as NodeId).collect();
        if flow.access_delay > Span::ZERO {
            // Both wires stand at the sender's side, one for the whole group: equal delays keep the order.
            forward.insert(0, (links + wires.len()) as NodeId);
            wires.push(Wire::new(flow.access_delay));
            reverse.push((links + wires.len()) as NodeId);
            wires.push(Wire::new(flow.access_delay));
        }
        if let Some(abr) = &flow.abr {
            // Each connection enters a link of its own; the first one stands for all.
            forward.insert(0, abr.link(0) as NodeId);
        }
        routes.extend([forward.into(), reverse.into()]);
    }
    (wires, routes)
}

/// How many meters a flow group has: one for each member, one for all transfers that arrive.
pub fn meters_of(flow: &FlowSpec) -> u32 {
    if flow.carries_arrivals() { 1 } else { flow.count }
}
