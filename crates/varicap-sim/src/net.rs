//! What lies between the endpoints: links, wires and the routes over them.

use varicap_engine::{Hop, Links, NodeId, Reactives, Wire};
use varicap_experiment::packets::PacketEvent;
use varicap_net::{Backlog, Link, QueueSample, Setting};
use varicap_units::{Rate, Time, Work};

use crate::connection::Connection;
use crate::observe::{LinkWatch, Observer, Traffic};
use crate::packet::Packet;
use crate::scheduler::Scheduler;

/// Links, wires and routes, and the event list that wakes them.
pub struct Net {
    /// Nodes 0 and on.
    pub hops: Vec<Hop<Packet>>,
    /// The nodes after the links.
    pub wires: Vec<Wire<Packet>>,
    /// The nodes on the way of each flow group: from the sender to the receiver, then back.
    pub routes: Vec<Box<[NodeId]>>,
    /// Segments under way.
    pub traffic: Traffic,
    /// The event list.
    pub scheduler: Scheduler,
    /// Meters of the flows.
    pub observer: Observer,
}

impl Net {
    /// Link number `link`, and what watches it.
    #[inline(always)]
    fn hop(&mut self, link: usize) -> (&mut Link<Packet>, LinkWatch<'_>) {
        let Hop { link: state, meter } = &mut self.hops[link];
        (state, LinkWatch { meter, link: link as u16, traffic: &mut self.traffic })
    }

    /// The next packet that comes out of link `link` at `now`.
    #[inline(always)]
    pub fn poll_link(&mut self, now: Time, link: usize) -> Option<Packet> {
        let (state, mut watch) = self.hop(link);
        let packet = state.poll(now, &mut watch)?;
        watch.traffic.record(now, watch.link, PacketEvent::Delivery, &packet);
        Some(packet)
    }

    /// Brings every link up to `now`.
    pub fn advance(&mut self, now: Time) {
        for link in 0..self.hops.len() {
            self.advance_link(now, link);
        }
    }

    /// The warm-up is over: links are measured from `now` on.
    pub fn begin_measuring(&mut self, now: Time) {
        self.hops.iter_mut().for_each(|hop| hop.meter.reset(now));
    }

    /// The next node of a packet's route; none if it is at its endpoint.
    #[inline]
    pub fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        let route = 2 * packet.group as usize + usize::from(packet.is_reverse());
        self.routes[route].get(packet.hop as usize).copied()
    }

    /// Sends a packet into `node`, the next of its route.
    #[inline(always)]
    pub fn enter(&mut self, now: Time, node: NodeId, mut packet: Packet) {
        packet.hop += 1;
        let index = node as usize;
        if index >= self.hops.len() {
            return self.enter_wire(now, node, packet);
        }
        let (link, mut watch) = self.hop(index);
        // Behind others it comes out after them: the wake stays.
        let is_first = link.is_quiet();
        link.push(now, packet, &mut watch);
        if is_first {
            let due = link.poll_at();
            self.scheduler.wake_by(node, due);
        }
    }

    #[cold]
    fn enter_wire(&mut self, now: Time, node: NodeId, packet: Packet) {
        let wire = &mut self.wires[node as usize - self.hops.len()];
        wire.push(now, packet);
        let due = wire.poll_at();
        self.scheduler.wake_by(node, due);
    }

    /// From `now` on `node`, a link, has this rate.
    pub fn set_rate(&mut self, now: Time, node: NodeId, rate: Rate) {
        let (link, mut watch) = self.hop(node as usize);
        link.set_rate(now, rate, &mut watch);
        let due = link.poll_at();
        self.scheduler.wake_by(node, due);
    }

    /// Sends what the sender of a connection has to send now.
    #[inline(never)]
    pub fn send_data(&mut self, now: Time, owner: u32, connection: &mut Connection) {
        loop {
            let (slot, place) = self.traffic.segments.vacant();
            if !connection.sender.poll_into(now, place) {
                return;
            }
            let packet = connection.packet(owner, slot, place, 0);
            self.traffic.segments.take();
            match connection.buffer {
                Some(buffer) => self.enter(now, buffer, packet),
                None => self.emit(now, packet),
            }
        }
    }

    /// Sends the acknowledgements of a connection that are due.
    #[inline(always)]
    pub fn send_acks(&mut self, now: Time, owner: u32, connection: &mut Connection) {
        while connection.receiver.is_due(now) {
            let (slot, place) = self.traffic.segments.vacant();
            connection.receiver.poll_into(now, place);
            let packet = connection.packet(owner, slot, place, Packet::REVERSE);
            self.traffic.segments.take();
            self.emit(now, packet);
        }
    }

    /// Sends a packet on its way.
    #[inline(always)]
    fn emit(&mut self, now: Time, packet: Packet) {
        if let Some(node) = self.next_node(&packet) {
            self.enter(now, node, packet);
        }
    }
}

impl Reactives for Net {
    fn sample(&mut self, now: Time, link: usize) -> Option<(QueueSample, Setting)> {
        let (state, mut watch) = self.hop(link);
        let sample = state.observe(now, &mut watch)?;
        Some((sample, state.wish(&sample)?))
    }

    fn allot(&mut self, now: Time, link: usize, setting: Setting) {
        let (state, mut watch) = self.hop(link);
        state.allot(now, setting, &mut watch);
        let due = state.poll_at();
        self.scheduler.wake_by(link as NodeId, due);
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
