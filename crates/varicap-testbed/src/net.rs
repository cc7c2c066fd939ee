//! The links and wires of a network with real packets on them.

use std::collections::HashMap;

use varicap_engine::{Hop, Links, Node, NodeId, Nodes, Wire, routes};
use varicap_experiment::Network;
use varicap_experiment::packets::PacketEvent;
use varicap_net::{Backlog, Frame, Link, Lost, Watch};
use varicap_units::{Bytes, Rate, Streams, Time, Work};

use crate::packet::{Packet, Pool};
use crate::trace::Trace;

/// Links and wires, the routes over them, and the bytes of the packets on them.
pub struct Net {
    /// The links, each with its meter.
    pub hops: Vec<Hop<Packet>>,
    wires: Vec<Wire<Packet>>,
    /// The nodes on the route of each flow group: from its senders, then back to them.
    routes: Vec<Box<[NodeId]>>,
    nodes: Nodes,
    /// Bytes of the packets.
    pub pool: Pool,
    /// The number of reserved packets that links lost, by their tags.
    pub marked_losses: HashMap<u32, u64>,
    /// The log of what happens to packets, if it is kept.
    pub trace: Option<Trace>,
}

/// Observes one link, and gives lost packets back to the pool.
struct LinkWatch<'a> {
    link: u16,
    trace: &'a mut Option<Trace>,
    meter: &'a mut varicap_experiment::measure::LinkMeter,
    pool: &'a mut Pool,
    marked_losses: &'a mut HashMap<u32, u64>,
}

impl LinkWatch<'_> {
    fn log(&mut self, at: Time, event: PacketEvent, packet: &Packet) {
        if let Some(trace) = self.trace {
            trace.record(at, self.link, event, packet);
        }
    }
}

impl Watch<Packet> for LinkWatch<'_> {
    fn on_arrival(&mut self, at: Time, packet: &Packet, backlog: Backlog) {
        self.meter.on_arrival(at, packet.wire_size(), backlog);
        self.log(at, PacketEvent::Arrival, packet);
    }

    fn on_lost(&mut self, Lost { at, cause, frame }: Lost<Packet>) {
        self.meter.on_lost(at, frame.wire_size(), cause);
        self.log(at, PacketEvent::Lost(cause), &frame);
        if frame.is_reserved() {
            self.meter.on_reserved_lost();
            *self.marked_losses.entry(frame.tag).or_default() += 1;
        }
        self.pool.free(frame.slot);
    }

    fn on_copied(&mut self, _: Time, packet: &Packet) -> Option<Packet> {
        self.meter.on_copied(packet.wire_size());
        let mut copy = *packet;
        copy.slot = self.pool.copy(packet.slot);
        Some(copy)
    }

    fn on_damaged(&mut self, _: Time, _: &Packet) {
        self.meter.on_damaged();
    }

    fn on_transmission(&mut self, _: Time, is_again: bool) {
        self.meter.on_transmission(is_again);
    }

    fn on_mark(&mut self, at: Time, packet: &Packet) {
        self.meter.on_mark();
        self.log(at, PacketEvent::Mark, packet);
    }

    fn on_departure(&mut self, at: Time, arrived: Time, packet: &Packet, backlog: Backlog) {
        self.meter.on_departure(at, arrived, packet.wire_size(), backlog);
        self.log(at, PacketEvent::Departure, packet);
    }

    fn on_bypass(&mut self, _: Time, packet: &Packet) {
        self.meter.on_bypass(packet.wire_size());
    }

    fn on_backlog(&mut self, at: Time, backlog: Backlog) {
        self.meter.on_backlog(at, backlog);
    }

    fn on_capacity(&mut self, at: Time, rate: Rate) {
        self.meter.on_capacity(at, rate);
    }

    fn on_rate_kept(&mut self, at: Time, rate: Rate, until: Time) {
        self.meter.on_rate_kept(at, rate, until);
    }

    fn on_opportunity(&mut self, _: Time, offered: Bytes, _: Bytes) {
        self.meter.on_opportunity(offered);
    }
}

impl Net {
    /// The idle network, with random numbers from `streams`, for packets of at most `largest` bytes.
    pub fn new(network: &Network, streams: &Streams, largest: u32) -> Net {
        let hops: Vec<_> = network.links.iter().map(|spec| Hop::new(spec, streams)).collect();
        let nodes = Nodes::new(network, 0);
        let (wires, routes) = routes(&network.flows, &nodes);
        Net {
            hops,
            wires,
            routes,
            nodes,
            pool: Pool::new(largest),
            marked_losses: HashMap::new(),
            trace: None,
        }
    }

    fn hop(&mut self, link: usize) -> (&mut Link<Packet>, LinkWatch<'_>) {
        let number = link as u16;
        let Hop { link, meter } = &mut self.hops[link];
        let (pool, marked_losses, trace) = (&mut self.pool, &mut self.marked_losses, &mut self.trace);
        (link, LinkWatch { link: number, trace, meter, pool, marked_losses })
    }

    /// The next node of a packet's route; `None` at the end of it.
    pub fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        self.routes[usize::from(packet.route)].get(usize::from(packet.hop)).copied()
    }

    /// Sends a packet into `node`, the next of its route.
    pub fn enter(&mut self, now: Time, node: NodeId, mut packet: Packet) {
        packet.hop += 1;
        match self.nodes.of(node) {
            Node::Link(link) => {
                let (link, mut watch) = self.hop(link);
                link.push(now, packet, &mut watch);
            }
            Node::Wire(wire) => self.wires[wire].push(now, packet),
            other => debug_assert!(false, "{other:?} is on the route of a packet"),
        }
    }

    /// The next packet that comes out of `node` at `now`.
    pub fn poll(&mut self, now: Time, node: NodeId) -> Option<Packet> {
        match self.nodes.of(node) {
            Node::Link(link) => {
                let (link, mut watch) = self.hop(link);
                let packet = link.poll(now, &mut watch)?;
                watch.log(now, PacketEvent::Delivery, &packet);
                Some(packet)
            }
            Node::Wire(wire) => self.wires[wire].poll(now),
            Node::Source(_) | Node::Connection(_) | Node::Answer(_) => None,
        }
    }

    /// Sets the rate of a link from `now` on.
    pub fn set_rate(&mut self, now: Time, link: usize, rate: Rate) {
        let (link, mut watch) = self.hop(link);
        link.set_rate(now, rate, &mut watch);
    }

    /// The instant at which a packet comes out of a link or wire next, and that node; the first of several at the same
    /// time.
    pub fn first_due(&self) -> (Time, NodeId) {
        let links = self.hops.iter().map(|hop| hop.link.poll_at());
        let all = links.chain(self.wires.iter().map(Wire::poll_at)).zip((0..).map(NodeId::numbered));
        all.min().unwrap_or((Time::NEVER, NodeId::numbered(0)))
    }

    /// The node of link number `link`.
    pub fn link(&self, link: usize) -> NodeId {
        self.nodes.link(link)
    }

    /// Brings every link up to `now`.
    pub fn advance(&mut self, now: Time) {
        for link in 0..self.hops.len() {
            self.advance_link(now, link);
        }
    }

    /// Ends the warm-up: links are measured from `now` on.
    pub fn begin_measuring(&mut self, now: Time) {
        self.hops.iter_mut().for_each(|hop| hop.meter.reset(now, hop.link.begun()));
    }
}

impl Links for Net {
    fn advance_link(&mut self, now: Time, link: usize) {
        let (state, mut watch) = self.hop(link);
        state.advance(now, &mut watch);
    }

    fn rate(&self, link: usize) -> Rate {
        self.hops[link].link.rate()
    }

    fn opportunities(&self, link: usize) -> Option<Work> {
        self.hops[link].link.opportunities()
    }

    fn backlog(&self, link: usize) -> Backlog {
        self.hops[link].link.backlog()
    }

    fn changes_at(&self, link: usize) -> Time {
        self.hops[link].link.changes_at()
    }
}
