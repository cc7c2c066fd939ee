//! Links with their meters, private wires, and the routes of packets over both.

use std::collections::VecDeque;

use varicap_experiment::measure::{LinkMeasure, LinkMeter};
use varicap_experiment::{FlowSpec, LinkSpec};
use varicap_net::{Backlog, Frame, Link};
use varicap_units::{Rate, Span, Streams, Time, Work};

use crate::nodes::{NodeId, Nodes};

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
        Hop { link: Link::new(&spec.parts, &spec.name, streams), meter: LinkMeter::of(&spec.parts.capacity) }
    }

    /// The measurements up to `end`, to which the link has been brought, when the run is over.
    pub fn finish(self, end: Time) -> LinkMeasure {
        #[cfg(debug_assertions)]
        self.assert_conserved(end);
        self.meter.finish(end)
    }

    /// Asserts that link and meter agree on every frame since the beginning: arrived = carried + dropped + waiting +
    /// in service. What the channel loses has been carried before.
    #[cfg(debug_assertions)]
    pub fn assert_conserved(&self, now: Time) {
        let totals = self.meter.clone().totals(now);
        let dropped = totals.overflowed_frames + totals.aqm_dropped_frames + totals.policed_frames;
        let inside = u64::from(self.link.backlog().frames) + u64::from(self.link.in_service().is_some());
        assert_eq!(
            totals.arrived_frames,
            totals.carried_frames + dropped + inside,
            "frames of a link: {totals:?}"
        );
    }
}

/// The links of a running network, by their numbers, as feedback observes them.
pub trait Links {
    /// Brings a link up to `now`.
    fn advance_link(&mut self, now: Time, link: usize);
    /// The capacity that a link offers now; its mean, if it has opportunities.
    fn rate(&self, link: usize) -> Rate;
    /// The work that a link's opportunities so far could have carried; `None` if it has a rate at each instant.
    fn opportunities(&self, link: usize) -> Option<Work>;
    /// The backlog of a link.
    fn backlog(&self, link: usize) -> Backlog;
    /// The instant at which a link's capacity changes next.
    fn changes_at(&self, link: usize) -> Time;
}

/// A private delay line of a flow group.
#[derive(Debug)]
pub struct Wire<F> {
    delay: Span,
    in_flight: VecDeque<(Time, F)>,
}

impl<F> Wire<F> {
    /// An empty wire that delays frames by `delay`.
    pub fn new(delay: Span) -> Wire<F> {
        Wire { delay, in_flight: VecDeque::new() }
    }

    /// A frame enters the wire.
    pub fn push(&mut self, now: Time, frame: F) {
        let due = now + self.delay;
        debug_assert!(self.in_flight.back().is_none_or(|(last, _)| *last <= due), "time goes back at a wire");
        self.in_flight.push_back((due, frame));
    }

    /// The next frame that has come out of the wire by `now`.
    pub fn poll(&mut self, now: Time) -> Option<F> {
        if self.poll_at() > now {
            return None;
        }
        self.in_flight.pop_front().map(|(_, frame)| frame)
    }

    /// The instant at which the next frame comes out of the wire.
    pub fn poll_at(&self) -> Time {
        self.in_flight.front().map_or(Time::NEVER, |(due, _)| *due)
    }
}

/// The private wires of all flow groups, and the nodes on the route of each group: from its senders, then back to them.
pub fn routes<F>(flows: &[FlowSpec], nodes: &Nodes) -> (Vec<Wire<F>>, Vec<Box<[NodeId]>>) {
    let mut wires = Vec::new();
    let mut routes = Vec::with_capacity(2 * flows.len());
    for flow in flows {
        let mut forward: Vec<NodeId> = flow.forward.iter().map(|&link| nodes.link(link)).collect();
        let mut reverse: Vec<NodeId> = flow.reverse.iter().map(|&link| nodes.link(link)).collect();
        if flow.access_delay > Span::ZERO {
            // Both wires are on the sender's side; one serves the whole group, since equal delays keep the order.
            forward.insert(0, nodes.wire(wires.len()));
            wires.push(Wire::new(flow.access_delay));
            reverse.push(nodes.wire(wires.len()));
            wires.push(Wire::new(flow.access_delay));
        }
        if let Some(abr) = &flow.abr {
            // Each connection enters a link of its own; the first one stands for all.
            forward.insert(0, nodes.link(abr.link(0)));
        }
        routes.extend([forward.into(), reverse.into()]);
    }
    (wires, routes)
}
