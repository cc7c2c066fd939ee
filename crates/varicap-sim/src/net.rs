//! The network between the endpoints: links, wires and the routes over them, and the event queue that wakes all nodes.

use varicap_engine::{Datagram, Hop, Links, Node, NodeId, Nodes, Reactives, Wire, routes};
use varicap_experiment::FlowSpec;
use varicap_experiment::measure::{LinkMeasure, LinkTotals};
use varicap_experiment::packets::{PacketEvent, PacketLog};
use varicap_net::{Backlog, Frame, Link, LossCause, Lost, Policed, QueueSample, Setting, Watch};
use varicap_tcp::{Polled, Segment};
use varicap_units::{Rate, Time, Work};

#[cfg(debug_assertions)]
use crate::audit::Audit;
use crate::budget::Guard;
use crate::connection::{Connection, Outset};
use crate::events::EventQueue;
use crate::observe::{LinkWatch, MarkedLosses, PipeWatch, Traffic};
use crate::packet::{Packet, Pool};
use crate::prefetch;

/// Links, wires and routes, and the event queue that wakes them.
pub struct Net {
    hops: Vec<Hop<Packet>>,
    wires: Vec<Wire<Packet>>,
    /// The nodes on the route of each flow group: from the sender to the receiver, then back; the last one first, so that
    /// the number of those still ahead is an index.
    routes: Vec<Box<[NodeId]>>,
    traffic: Traffic,
    nodes: Nodes,
    /// The event queue.
    pub queue: EventQueue,
    /// Segments that links and wires have taken in, and given out again. Only kept where assertions are on.
    #[cfg(debug_assertions)]
    balance: Balance,
}

/// Counts what goes into links and wires, and what comes out of them.
#[cfg(debug_assertions)]
#[derive(Debug, Default)]
struct Balance {
    taken: u64,
    given: u64,
}

impl Net {
    /// The idle network over `hops`, in which as many packets may be as `guard` allows.
    pub fn new(
        hops: Vec<Hop<Packet>>,
        flows: &[FlowSpec],
        nodes: Nodes,
        log: Option<PacketLog>,
        guard: Option<Guard>,
    ) -> Net {
        let (wires, mut routes) = routes(flows, &nodes);
        routes.iter_mut().for_each(|route| route.reverse());
        Net {
            hops,
            wires,
            routes,
            traffic: Traffic::new(log, guard),
            nodes,
            queue: EventQueue::new(nodes.fixed(), nodes.fixed()),
            #[cfg(debug_assertions)]
            balance: Balance::default(),
        }
    }

    /// The layout of the nodes' numbers.
    #[inline(always)]
    pub fn nodes(&self) -> Nodes {
        self.nodes
    }

    /// The number of the link that `node` is, if it is one. As [`Nodes::of`], by a comparison that spares the bounds
    /// check of the link afterwards.
    #[inline(always)]
    pub fn link_of(&self, node: NodeId) -> Option<usize> {
        let link = node.index();
        debug_assert_eq!(link < self.hops.len(), self.nodes.of(node) == Node::Link(link));
        (link < self.hops.len()).then_some(link)
    }

    /// Link number `link`, and what observes it.
    #[inline(always)]
    fn hop(&mut self, link: usize) -> (&mut Link<Packet>, LinkWatch<'_>) {
        let Hop { link: state, meter } = &mut self.hops[link];
        (state, LinkWatch { meter, link: link as u16, traffic: &mut self.traffic })
    }

    /// The next packet that comes out of link `link` at `now`, and when the one after it does: the link is woken then.
    #[inline(always)]
    pub fn poll_link(&mut self, now: Time, node: NodeId, link: usize) -> Option<(Packet, Time)> {
        let Hop { link: state, meter } = self.hops.get_mut(link)?;
        // Without a log: links with one plan nothing.
        let (packet, due) = match state.pipe() {
            Some(pipe) => (pipe.poll(now, &mut PipeWatch(meter)), pipe.poll_at()),
            None => {
                let mut watch = LinkWatch { meter, link: link as u16, traffic: &mut self.traffic };
                let packet = state.poll(now, &mut watch);
                if let Some(packet) = &packet {
                    watch.traffic.record(now, watch.link, PacketEvent::Delivery, packet);
                }
                (packet, state.poll_at())
            }
        };
        // Of packets that come out at once, one may have been due before.
        self.queue.wake(node, due.max(now));
        let packet = packet?;
        self.count_out(&packet);
        Some((packet, due))
    }

    /// The packet that comes out of link `link` after `others` others, if it is then at the endpoint of a connection.
    #[inline]
    pub fn coming(&self, link: usize, others: usize) -> Option<Packet> {
        let packet = *self.hops[link].link.coming(others)?;
        (packet.ahead() == 0 && !packet.is_datagram()).then_some(packet)
    }

    /// Begins to load the packet that comes out of link `link` after `others` others.
    #[inline]
    pub fn prefetch_packet(&self, link: usize, others: usize) {
        if let Some(packet) = self.hops[link].link.coming(others) {
            prefetch::load(packet);
        }
    }

    /// Begins to load the segment of `packet`.
    #[inline]
    pub fn prefetch(&self, packet: &Packet) {
        prefetch::load(self.traffic.segments.get(packet.segment()));
    }

    /// Whether more segments have been under way than a cache holds.
    pub fn is_long(&self) -> bool {
        const LONG: usize = 1 << 12;
        self.traffic.segments.slots() > LONG
    }

    /// The next packet that comes out of wire number `wire` at `now`.
    pub fn poll_wire(&mut self, now: Time, wire: usize) -> Option<Packet> {
        let packet = self.wires[wire].poll(now)?;
        self.count_out(&packet);
        Some(packet)
    }

    /// A packet has come out of a link or wire.
    #[inline(always)]
    fn count_out(&mut self, _packet: &Packet) {
        #[cfg(debug_assertions)]
        {
            self.balance.given += u64::from(_packet.segment() != Packet::NO_SEGMENT);
        }
    }

    /// The instant at which wire number `wire` is to be polled next.
    pub fn wire_due(&self, wire: usize) -> Time {
        self.wires[wire].poll_at()
    }

    /// Brings every link up to `now`.
    pub fn advance(&mut self, now: Time) {
        for link in 0..self.hops.len() {
            self.advance_link(now, link);
        }
    }

    /// The warm-up is over: links are measured from `now` on.
    pub fn begin_measuring(&mut self, now: Time) {
        self.hops.iter_mut().for_each(|hop| hop.meter.reset(now, hop.link.begun()));
    }

    /// The nodes that lie before packets of this group and direction, the last one first.
    #[inline(always)]
    fn route(&self, packet: &Packet) -> &[NodeId] {
        &self.routes[2 * packet.group() as usize + usize::from(packet.is_reverse())]
    }

    /// The next node of a packet's route; none if it is at its endpoint.
    #[inline(always)]
    pub fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        let ahead = packet.ahead();
        if ahead == 0 { None } else { self.route(packet).get(ahead - 1).copied() }
    }

    /// Sends a packet into `node`, the next of its route.
    #[inline(always)]
    pub fn enter(&mut self, now: Time, node: NodeId, mut packet: Packet) {
        packet.enter();
        #[cfg(debug_assertions)]
        {
            self.balance.taken += u64::from(packet.segment() != Packet::NO_SEGMENT);
        }
        if let Some(link) = self.link_of(node) {
            self.enter_link(now, node, link, packet);
        } else if let Node::Wire(wire) = self.nodes.of(node) {
            self.enter_wire(now, node, wire, packet);
        } else {
            debug_assert!(false, "{node:?} is on the route of a packet");
        }
    }

    #[inline(always)]
    fn enter_link(&mut self, now: Time, node: NodeId, link: usize, packet: Packet) {
        let Hop { link: state, meter } = &mut self.hops[link];
        let Some(pipe) = state.pipe() else { return self.enter_slowly(now, node, link, packet) };
        // Behind other packets it comes out after them: the pending wake stays.
        let is_first = pipe.poll_at().is_never();
        if let Some(packet) = pipe.push(now, packet, &mut PipeWatch(meter)) {
            return self.lose(now, link, packet);
        }
        if is_first {
            let due = pipe.poll_at();
            self.queue.wake_by(node, due);
        }
    }

    /// Link `link` has no room for a packet.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, at: Time, link: usize, frame: Packet) {
        self.hop(link).1.on_lost(Lost { at, cause: LossCause::Overflow, frame });
    }

    #[inline(never)]
    fn enter_slowly(&mut self, now: Time, node: NodeId, link: usize, packet: Packet) {
        let (state, mut watch) = self.hop(link);
        let is_first = state.is_quiet();
        state.push(now, packet, &mut watch);
        if is_first {
            let due = state.poll_at();
            self.queue.wake_by(node, due);
        }
    }

    #[cold]
    fn enter_wire(&mut self, now: Time, node: NodeId, wire: usize, packet: Packet) {
        let wire = &mut self.wires[wire];
        wire.push(now, packet);
        let due = wire.poll_at();
        self.queue.wake_by(node, due);
    }

    /// Sets the rate of link number `link` from `now` on.
    pub fn set_rate(&mut self, now: Time, link: usize, rate: Rate) {
        let (state, mut watch) = self.hop(link);
        state.set_rate(now, rate, &mut watch);
        let due = state.poll_at();
        self.queue.wake_by(self.nodes.link(link), due);
    }

    /// From now on samples of link number `link` are taken from outside.
    pub fn hand_over(&mut self, link: usize) {
        self.hops[link].link.hand_over();
    }

    /// The sample of a load-reactive link whose samples are taken from outside.
    pub fn observe(&mut self, now: Time, link: usize) -> Option<QueueSample> {
        let (state, mut watch) = self.hop(link);
        state.observe(now, &mut watch)
    }

    /// The totals of link number `link` at `now`, up to which it is brought.
    pub fn totals(&mut self, now: Time, link: usize) -> LinkTotals {
        self.advance_link(now, link);
        self.hops[link].meter.totals(now)
    }

    /// Sends the segments that the sender of a connection may send now.
    #[inline(always)]
    pub fn send_data(&mut self, now: Time, connection: &mut Connection) {
        loop {
            let (slot, place) = self.traffic.segments.vacant();
            let left = connection.sender.poll_into(now, place);
            if left == Polled::Nothing {
                return;
            }
            let (node, packet) = connection.packet(slot, place, 0);
            self.traffic.send(&packet);
            self.enter(now, node, packet);
            if left == Polled::Last {
                return;
            }
        }
    }

    /// Sends the acknowledgements of a connection that are due: one, or two where the marks of its data change (RFC 8257 §3.2).
    #[inline(always)]
    pub fn send_ack(&mut self, now: Time, connection: &mut Connection) {
        let mut is_due = connection.receiver.is_due(now);
        while is_due {
            let (slot, place) = self.traffic.segments.vacant();
            is_due = connection.receiver.poll_into(now, place);
            let (node, packet) = connection.packet(slot, place, Packet::REVERSE);
            self.traffic.send(&packet);
            self.enter(now, node, packet);
        }
    }

    /// Where a packet sets out: with all of its route ahead, at the first node of that.
    pub fn outset(&self, mut packet: Packet) -> Outset {
        let route = self.route(&packet);
        packet.set_out(route.len());
        Outset { node: route[route.len() - 1], packet }
    }

    /// Sets where the packets of connection `owner` set out: its data may pass a link of its own before those of its route.
    pub fn set_outsets(&self, owner: u32, connection: &mut Connection) {
        let [mut data, acks] = [0, Packet::REVERSE]
            .map(|direction| self.outset(Packet::new(connection.label(owner, direction))));
        data.node = connection.buffer.map_or(data.node, |buffer| self.nodes.link(buffer as usize));
        connection.set_outsets(data, acks);
    }

    /// Sends a packet into the first node of its route.
    pub fn begin(&mut self, now: Time, packet: Packet) {
        let Outset { node, packet } = self.outset(packet);
        self.enter(now, node, packet);
    }

    /// Notes when a datagram leaves its source, if packets are recorded, and its number, if it has one.
    #[inline]
    pub fn send_datagram(&mut self, now: Time, packet: &mut Packet, number: Option<u64>) {
        self.traffic.send_datagram(now, packet, number);
    }

    /// Sends `datagram`, the one with this `number` of its endpoint, in `packet`, which has no segment yet.
    pub fn send_bytes(&mut self, now: Time, mut packet: Packet, number: u64, datagram: Datagram) {
        self.traffic.send_bytes(now, &mut packet, number, datagram);
        self.begin(now, packet);
    }

    /// The bytes of a datagram that is at its endpoint, if it has any, with the ECN field that it arrived with.
    pub fn take_bytes(&mut self, packet: &Packet) -> Option<Datagram> {
        self.traffic.take_bytes(packet)
    }

    /// Forgets a damaged packet that is at its endpoint.
    pub fn discard(&mut self, packet: &Packet) {
        self.traffic.discard(packet);
    }

    /// Forgets a datagram that is at its endpoint, and returns its number, if it may have one.
    #[inline]
    pub fn arrive_datagram(&mut self, packet: &Packet) -> Option<u64> {
        let number = self.traffic.number_of(packet);
        self.traffic.end_datagram(packet);
        number
    }

    /// The segment of a packet that is at its endpoint. It may be read until the next one is sent.
    #[inline]
    pub fn arrive(&mut self, packet: &Packet) -> &Segment {
        self.traffic.arrive(packet)
    }

    /// The segment of a packet that has arrived, if none was sent since.
    pub fn arrived(&self, packet: &Packet) -> &Segment {
        self.traffic.segments.get(packet.segment())
    }

    /// The reserved packets that links lost.
    pub fn marked_losses(&mut self) -> &mut MarkedLosses {
        &mut self.traffic.marked_losses
    }

    /// Takes the log of packet events, if there is one.
    pub fn take_log(&mut self) -> Option<PacketLog> {
        self.traffic.log.take()
    }

    /// The state at `now` of each reservation that links mark.
    pub fn policed(&mut self, now: Time) -> impl Iterator<Item = Policed> + '_ {
        self.hops.iter_mut().flat_map(move |hop| hop.link.policed(now))
    }

    /// Each link with its meter.
    pub fn hops(&mut self) -> impl Iterator<Item = &mut Hop<Packet>> {
        self.hops.iter_mut()
    }

    /// Connection `owner` is over, and is not woken any more.
    pub fn cancel_wakes(&mut self, owner: u32) {
        self.queue.wake(self.nodes.connection(owner), Time::NEVER);
        self.queue.end_answer(self.nodes.answer(owner));
    }

    /// Forgets the segments under way and the wakes to come: the run is over.
    pub fn drop_traffic(&mut self) {
        self.traffic.segments = Pool::new(None);
        self.queue = EventQueue::new(0, 0);
    }

    /// The measurements of each link up to `end`, when the run is over.
    pub fn finish(self, end: Time) -> impl Iterator<Item = LinkMeasure> {
        self.hops.into_iter().map(move |hop| hop.finish(end))
    }

    /// The segments of each connection. Only kept where assertions are on.
    #[cfg(debug_assertions)]
    pub fn audit(&mut self) -> &mut Audit {
        &mut self.traffic.audit
    }

    /// Asserts that every link and wire has been polled up to `now`, and that no segment has gone missing: each one
    /// that entered a link or wire came out again, was lost, or is inside and has its place in the pool.
    #[cfg(debug_assertions)]
    pub fn assert_conserved(&self, now: Time) {
        for (link, hop) in self.hops.iter().enumerate() {
            assert!(hop.link.poll_at() > now, "link {link} was not polled at {now:?}");
        }
        for (wire, state) in self.wires.iter().enumerate() {
            assert!(state.poll_at() > now, "wire {wire} was not polled at {now:?}");
        }
        let Balance { taken, given } = &self.balance;
        let (lost, kept) = (self.traffic.lost_segments, self.traffic.segments.in_use() as u64);
        let came = taken + self.traffic.copied_segments;
        assert_eq!(came, given + lost + kept, "segments that links and wires took in were lost track of");
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
        self.queue.wake_by(self.nodes.link(link), due);
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
