//! The world of one run: links, wires and endpoints joined by one event queue.
//!
//! The loop takes the earliest wake, polls that node and pushes what comes out into the next node at the same
//! instant. Nothing below this crate knows an event queue; nothing here knows how TCP or a queue works.

mod closing;
mod endpoints;
mod events;
mod measured;
mod policies;
mod prefetching;
mod source;

use varicap_engine::{Admission, Node, NodeId, Opening};
use varicap_experiment::Transport;
use varicap_experiment::packets::PacketLog;
use varicap_net::Frame;
use varicap_units::{Bytes, Rate, Time};

use crate::connection::{Answer, Connection};
use crate::events::EventQueue;
use crate::net::Net;
use crate::observe::Observer;
use crate::openers::Openers;
use crate::packet::Packet;
use crate::pages;

pub use endpoints::{EndpointFactory, EndpointStart, Endpoints};
use events::Events;
pub use policies::{Decisions, Policies, Timetable};
pub use source::{FeedbackNode, Source};

/// Room is made at once for no more connections than these: 1.5 GB of addresses, and only what is used takes memory.
const MOST_EXPECTED: usize = 1 << 20;

/// Links, wires, sources and connections of one run.
pub struct World {
    net: Net,
    observer: Observer,
    sources: Vec<Source>,
    /// The connections, in slots that are reused.
    connections: Vec<Connection>,
    /// Slots of connections that are over.
    free: Vec<u32>,
    openers: Openers,
    feedback: Option<FeedbackNode>,
    /// Connections of transports that are not ours, and the node at which they are polled.
    endpoints: Option<Box<Endpoints>>,
    endpoints_node: Option<NodeId>,
    /// Connections that an advertised rate has just reached, with that rate; kept to reuse its allocation.
    heard: Vec<(u32, Rate)>,
    events: Events,
    /// Up to and including when events are handled now.
    end: Time,
    /// More is in use than a cache holds: what comes next begins to be loaded.
    prefetches: bool,
}

impl World {
    /// A world at time zero, whose sources are about to begin.
    pub(crate) fn assemble(
        mut net: Net,
        observer: Observer,
        sources: Vec<Source>,
        openers: Openers,
        feedback: Option<FeedbackNode>,
        endpoints: Option<Box<Endpoints>>,
    ) -> World {
        let endpoints_place = sources.iter().position(|source| matches!(source, Source::Endpoints));
        let endpoints_node = endpoints_place.map(|place| net.nodes().source(place));
        for (index, source) in sources.iter().enumerate() {
            let node = net.nodes().source(index);
            net.queue.wake(node, source.poll_at(&openers.openings));
        }
        // Most meters are that of a connection. Beyond that their number is the memory's to limit, as they open.
        let mut connections = Vec::new();
        pages::reserve(&mut connections, observer.len().min(MOST_EXPECTED));
        World {
            net,
            observer,
            sources,
            connections,
            free: Vec::new(),
            openers,
            feedback,
            endpoints,
            endpoints_node,
            heard: Vec::new(),
            events: Events::new(),
            end: Time::ZERO,
            prefetches: false,
        }
    }

    /// The instant that the run has reached: that of the next event, or of the one that is being handled.
    pub fn reached(&mut self) -> Option<Time> {
        self.net.queue.first_by(EventQueue::LAST).map(|(now, _)| now)
    }

    /// Asserts that nothing that was due by `now` is still waiting: polling late would be a defect of this loop, not of
    /// what it polls.
    #[cfg(debug_assertions)]
    fn assert_polled(&self, now: Time) {
        self.net.assert_conserved(now);
        for (owner, connection) in self.connections.iter().enumerate().filter(|(_, one)| one.is_open()) {
            // A sender that answers late because of its jitter is polled with the answer.
            let due = connection.poll_at();
            assert!(due > now || !connection.release.is_never(), "connection {owner} was due at {due:?}");
        }
        let due = self.openers.openings.poll_at();
        assert!(due > now, "a connection was to open at {due:?}");
    }

    #[inline(always)]
    fn step(&mut self, now: Time, node: NodeId) {
        // Links are woken most often.
        if let Some(link) = self.net.link_of(node) {
            return self.poll_link(now, node, link);
        }
        match self.net.nodes().of(node) {
            Node::Link(_) => {}
            Node::Connection(owner) => self.wake_connection(now, owner),
            Node::Answer(owner) => {
                self.net.queue.end_answer(node);
                self.answer(now, owner);
            }
            Node::Wire(wire) => self.poll_wire(now, node, wire),
            Node::Source(source) => self.poll_source(now, source),
        }
    }

    #[inline(always)]
    fn poll_link(&mut self, now: Time, node: NodeId, link: usize) {
        while let Some((packet, due)) = self.net.poll_link(now, node, link) {
            self.forward(now, packet);
            // Most wakes bring one packet: the next due time says so without another poll.
            if due > now {
                break;
            }
        }
        if self.prefetches {
            self.prefetch(link);
        }
    }

    #[cold]
    fn poll_wire(&mut self, now: Time, node: NodeId, wire: usize) {
        while let Some(packet) = self.net.poll_wire(now, wire) {
            self.forward(now, packet);
        }
        let due = self.net.wire_due(wire);
        self.net.queue.wake(node, due);
    }

    /// Passes a packet that came out of a node on to the next one, or to its endpoint.
    #[inline(always)]
    fn forward(&mut self, now: Time, packet: Packet) {
        if let Some(node) = self.net.next_node(&packet) {
            self.net.enter(now, node, packet);
        } else if packet.is_apart() {
            self.arrive_apart(now, &packet);
        } else if packet.is_reverse() {
            self.arrive_at_sender(now, packet);
        } else {
            self.arrive_at_receiver(now, packet);
        }
    }

    /// A packet is at its endpoint that is a datagram, or damaged: a checksum gives that away, and nobody hears of it.
    #[inline(never)]
    fn arrive_apart(&mut self, now: Time, packet: &Packet) {
        if packet.is_damaged() {
            return self.net.discard(packet);
        }
        self.arrive_datagram(now, packet);
    }

    fn arrive_datagram(&mut self, now: Time, packet: &Packet) {
        if let Some(datagram) = self.net.take_bytes(packet) {
            self.net.discard(packet);
            return self.arrive_at_endpoint(now, packet, &datagram);
        }
        self.observer.on_datagram(packet);
        let Some(number) = self.net.arrive_datagram(packet) else { return };
        let of_packet = |source: &&mut Source| matches!(source, Source::Datagrams { meter, .. } if *meter == packet.owner());
        if let Some(Source::Datagrams { source, .. }) = self.sources.iter_mut().find(of_packet) {
            source.on_arrived(now, number, packet.wire_size());
        }
    }

    #[inline(never)]
    fn arrive_at_receiver(&mut self, now: Time, packet: Packet) {
        let net = &mut self.net;
        let segment = net.arrive(&packet);
        let connection = &mut self.connections[packet.owner() as usize];
        if !connection.awaits(&packet) {
            return self.arrive_late(now, packet);
        }
        let news = connection.receiver.push(now, segment);
        self.observer.on_data(connection, now, news, &packet);
        net.send_ack(now, connection);
        let due = connection.receiver.poll_at().min(connection.app.poll_at());
        net.queue.wake_by(net.nodes().connection(packet.owner()), due);
        if connection.is_relayed && (news > 0 || connection.passes_end()) {
            self.relay(now, packet.owner(), news);
        }
    }

    #[inline(never)]
    fn arrive_at_sender(&mut self, now: Time, packet: Packet) {
        let (net, owner) = (&mut self.net, packet.owner());
        let segment = net.arrive(&packet);
        let connection = &mut self.connections[owner as usize];
        if !connection.awaits(&packet) {
            return self.arrive_late(now, packet);
        }
        let outcome = connection.sender.push(now, segment);
        self.observer.on_ack(connection, &outcome);
        let mut held_until = None;
        match connection.hold_back(now) {
            Answer::AtOnce => net.send_data(now, connection),
            Answer::At(release) => held_until = Some(release),
            Answer::Held => {}
        }
        self.observer.on_window(connection, now);
        net.queue.wake_by(net.nodes().connection(owner), connection.sender.wake_by(now));
        let (is_over, asks) = (connection.is_over(), connection.asks);
        if let Some(release) = held_until {
            // Often nothing happens before: then it takes no wake, though it counts as an event. A policy acts before.
            if now < release && release <= self.end && !is_over && !asks && net.queue.is_before_all(release) {
                self.events.count();
                net.queue.advance(release);
                return self.answer(release, owner);
            }
            net.queue.wake_answer(net.nodes().answer(owner), release);
        }
        if is_over {
            self.close(now, owner);
        }
        if asks {
            self.ask(now, owner);
        }
    }

    /// Wakes connection `owner`: mostly for its sender alone.
    #[inline(never)]
    fn wake_connection(&mut self, now: Time, owner: u32) {
        if self.connections[owner as usize].wakes_sender(now) {
            self.wake_sender(now, owner);
        } else {
            self.poll_connection(now, owner);
        }
        if self.prefetches {
            self.prefetch_timer();
        }
    }

    /// The sender of connection `owner` is woken: the next segment may leave, or a timer has run out or was put off.
    fn wake_sender(&mut self, now: Time, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        if connection.sender.is_due(now) {
            self.net.send_data(now, connection);
            self.observer.on_window(connection, now);
        }
        self.net.queue.reschedule(self.net.nodes().connection(owner), connection.wake_by(now));
        if connection.sender.gave_up() && connection.is_over() {
            return self.close(now, owner);
        }
        debug_assert!(!connection.is_over(), "connection {owner} is over without an acknowledgement");
    }

    /// The sender of connection `owner` answers the acknowledgements that were held back until `now`.
    #[inline(always)]
    fn answer(&mut self, now: Time, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        debug_assert!(connection.is_open() && connection.release == now, "connection {owner} has no answer");
        debug_assert!(!connection.receiver.is_due(now), "connection {owner} has to acknowledge at {now:?}");
        connection.release = Time::NEVER;
        self.net.send_data(now, connection);
        self.observer.on_window(connection, now);
        self.net.queue.wake_by(self.net.nodes().connection(owner), connection.sender.wake_by(now));
        if connection.is_over() {
            self.close(now, owner);
        }
    }

    #[inline(never)]
    fn poll_connection(&mut self, now: Time, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        if !connection.is_open() {
            return self.linger(now, owner);
        }
        let was_active = connection.app.is_active();
        let (is_fed, ends) = connection.feed(now);
        let is_active = connection.app.is_active();
        if is_active != was_active {
            note_activity(&mut self.feedback, &mut self.net, now, connection.group, is_active);
        }
        let answers = connection.release <= now || is_fed && connection.release.is_never();
        if connection.sender.is_due(now) || answers {
            self.net.queue.end_answer(self.net.nodes().answer(owner));
            connection.release = Time::NEVER;
            self.net.send_data(now, connection);
            self.observer.on_window(connection, now);
        }
        if ends {
            connection.sender.close();
            if answers {
                self.net.send_data(now, connection);
            }
        }
        self.net.send_ack(now, connection);
        self.net.queue.reschedule(self.net.nodes().connection(owner), connection.wake_by(now));
        if connection.is_over() {
            self.close(now, owner);
        }
    }

    #[cold]
    fn poll_source(&mut self, now: Time, index: usize) {
        match &mut self.sources[index] {
            Source::Datagrams { group, meter, source } => {
                let departing = source.send(now);
                let mut packet = Packet::datagram(*meter, *group, departing.size);
                packet.set_reserved(departing.is_reserved);
                self.net.send_datagram(now, &mut packet, departing.number);
                self.net.begin(now, packet);
            }
            // One at a time, so that each counts as an event.
            Source::Openings => {
                let openings = &mut self.openers.openings;
                match openings.poll(now) {
                    Some(Admission::Connection(opening)) => match openings.flow(opening.group).transport {
                        Transport::Endpoint { .. } => self.open_endpoints(now, &opening),
                        _ => drop(self.open(now, &opening)),
                    },
                    Some(Admission::TurnedAway { group }) => {
                        self.observer.on_turned_away(openings.meter(group, None))
                    }
                    None => {}
                }
            }
            Source::Feedback => return self.poll_feedback(now),
            Source::Endpoints => return self.poll_endpoints(now),
            Source::Policies(_) => return self.poll_policies(now),
            Source::Reservation { group, changes } => {
                let (group, rate) = (*group, changes.change(now));
                self.set_reserved_rate(now, group, rate);
            }
            Source::Pools(pools) => {
                pools.poll(now, &mut self.net);
                if let Some(feedback) = &self.feedback {
                    self.net.queue.wake_by(feedback.node, now);
                }
            }
        }
        let due = self.sources[index].poll_at(&self.openers.openings);
        self.net.queue.wake(self.net.nodes().source(index), due);
    }

    /// Sets the rate that is reserved for each sender of flow group `group` from `now` on.
    #[cold]
    fn set_reserved_rate(&mut self, now: Time, group: u16, rate: Rate) {
        for source in &mut self.sources {
            if let Source::Datagrams { group: of, source, .. } = source
                && *of == group
                && let Some(bucket) = &mut source.bucket
            {
                bucket.set_rate(now, rate);
            }
        }
        for (owner, connection) in (0..).zip(&mut self.connections) {
            if !connection.is_open() || connection.group != group {
                continue;
            }
            connection.sender.set_reserved_rate(now, rate);
            respond(&mut self.net, &mut self.observer, now, owner, connection);
        }
    }

    /// Polls the feedback: links advertise rates, and connections react to those that have reached them.
    #[cold]
    fn poll_feedback(&mut self, now: Time) {
        let Some(FeedbackNode { state, node }) = &mut self.feedback else { return };
        let connections = &mut self.connections;
        let mut heard = std::mem::take(&mut self.heard);
        let rtt = |owner: u32| connections[owner as usize].known_rtt();
        state.poll(now, &mut self.net, &rtt, &mut |owner, rate| heard.push((owner, rate)));
        let due = state.poll_at(&self.net);
        self.net.queue.wake(*node, due);
        for (owner, rate) in heard.drain(..) {
            let connection = &mut connections[owner as usize];
            if let Some(buffer) = connection.buffer {
                self.net.set_rate(now, buffer as usize, rate);
            }
            connection.sender.on_rate_feedback(now, rate);
            connection.app.hear(rate);
            respond(&mut self.net, &mut self.observer, now, owner, connection);
        }
        self.heard = heard;
    }

    /// Passes `bytes` that connection `owner` has just delivered in order to the connection that relays them.
    #[cold]
    fn relay(&mut self, now: Time, owner: u32, bytes: u64) {
        let source = &self.connections[owner as usize];
        // A flow that ends otherwise than by its size, such as one that is stopped, ends by its FIN.
        let is_last = source.app.is_delivered() || source.receiver.has_ended();
        let slot = match source.relay {
            Some(slot) => slot,
            None if bytes == 0 => return,
            None => {
                let relay = self.openers.openings.relay_of(source.group, source.member, &source.app);
                let Some(opening) = relay else { return };
                let slot = self.open(now, &opening);
                self.connections[owner as usize].relay = Some(slot);
                slot
            }
        };
        self.connections[slot as usize].app.relay(now, Bytes::new(bytes), is_last);
        self.poll_connection(now, slot);
    }

    /// Opens a connection and lets it begin; returns its slot.
    fn open(&mut self, now: Time, opening: &Opening) -> u32 {
        let mut connection = self.openers.open(now, opening);
        let (group, is_active) = (connection.group, connection.app.is_active());
        self.observer.on_open(&connection);
        let owner = match self.free.pop() {
            Some(slot) => {
                debug_assert!(!self.connections[slot as usize].is_open(), "slot {slot} is in use");
                connection.set_generation(self.connections[slot as usize].generation().wrapping_add(1));
                self.connections[slot as usize] = connection;
                slot
            }
            None => {
                pages::reserve(&mut self.connections, 1);
                self.connections.push(connection);
                (self.connections.len() - 1) as u32
            }
        };
        self.net.set_outsets(owner, &mut self.connections[owner as usize]);
        #[cfg(debug_assertions)]
        self.net.audit().on_open(owner, self.connections[owner as usize].generation());
        if let Some(feedback) = &mut self.feedback {
            let openings = &self.openers.openings;
            let name = openings.name(group, opening.member);
            feedback.state.on_open(now, group, owner, &name, openings.streams());
            if is_active {
                note_activity(&mut self.feedback, &mut self.net, now, group, true);
            }
        }
        // A sender that has not been polled yet does not say when it is to be: it is, as if to answer.
        self.connections[owner as usize].release = now;
        self.poll_connection(now, owner);
        owner
    }

    /// Takes the log of packet events, if there is one.
    pub fn take_log(&mut self) -> Option<PacketLog> {
        self.net.take_log()
    }
}

/// The sender of connection `owner` responds to something that has changed its window or rate. If its timer runs out at the
/// same instant, for the last time, it is woken to be closed.
#[cold]
fn respond(net: &mut Net, observer: &mut Observer, now: Time, owner: u32, connection: &mut Connection) {
    if connection.may_send(now) {
        net.send_data(now, connection);
    }
    observer.on_window(connection, now);
    let due = if connection.is_over() { now } else { connection.sender.poll_at() };
    net.queue.wake_by(net.nodes().connection(owner), due);
}

/// Notes that a connection has become active, or is no longer, which changes what links advertise.
#[cold]
fn note_activity(feedback: &mut Option<FeedbackNode>, net: &mut Net, now: Time, group: u16, is_active: bool) {
    if let Some(feedback) = feedback {
        feedback.state.on_activity(group, is_active);
        net.queue.wake_by(feedback.node, now);
    }
}
