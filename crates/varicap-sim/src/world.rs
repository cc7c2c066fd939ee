//! The world of one run: links, wires and endpoints joined by one event list.
//!
//! The loop takes the earliest wake, polls that node and pushes what comes out into the next node at the same
//! instant. Nothing below this crate knows an event list; nothing here knows how TCP or a queue works.

use std::collections::VecDeque;

use varicap_experiment::measure::SenderTotals;
use varicap_net::{Backlog, Frame, Link, Lost, Watch};
use varicap_tcp::{Flags, Segment};
use varicap_units::{Bytes, Rate, Span, Time};

use crate::connection::Connection;
use crate::observe::Observer;
use crate::packet::{Packet, Pool};
use crate::scheduler::{NodeId, Scheduler};
use crate::workload::{Arrivals, DatagramSource};

/// A private delay line of a flow group.
#[derive(Debug)]
pub(crate) struct Wire {
    delay: Span,
    in_flight: VecDeque<(Time, Packet)>,
}

impl Wire {
    pub(crate) fn new(delay: Span) -> Wire {
        Wire { delay, in_flight: VecDeque::new() }
    }

    fn push(&mut self, now: Time, packet: Packet) {
        self.in_flight.push_back((now + self.delay, packet));
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.in_flight.pop_front_if(|(due, _)| *due <= now).map(|(_, packet)| packet)
    }

    fn poll_at(&self) -> Time {
        self.in_flight.front().map_or(Time::NEVER, |(due, _)| *due)
    }
}

/// The way of a flow group's packets in each direction, as nodes.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    pub(crate) forward: Box<[NodeId]>,
    pub(crate) reverse: Box<[NodeId]>,
}

/// What starts by itself: arrivals of transfers, or datagrams.
#[derive(Debug)]
pub(crate) enum Source {
    Transfers {
        group: u16,
        arrivals: Box<Arrivals>,
    },
    Datagrams {
        group: u16,
        meter: u32,
        source: Box<DatagramSource>,
    },
    /// Opens the connections that are there from the beginning, each at its start, in order of time.
    Openings(VecDeque<Opening>),
}

/// The start of one member of a flow group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Opening {
    pub(crate) at: Time,
    pub(crate) group: u16,
    pub(crate) member: u32,
}

impl Source {
    pub(crate) fn poll_at(&self) -> Time {
        match self {
            Source::Transfers { arrivals, .. } => arrivals.poll_at(),
            Source::Datagrams { source, .. } => source.poll_at(),
            Source::Openings(openings) => openings.front().map_or(Time::NEVER, |opening| opening.at),
        }
    }
}

/// Links, wires, sources and connections of one run. Node numbers run in this order.
pub struct World {
    pub(crate) links: Vec<Link<Packet>>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) sources: Vec<Source>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) free_connections: Vec<u32>,
    pub(crate) routes: Vec<Routes>,
    pub(crate) openers: crate::build::Openers,
    pub(crate) pool: Pool<Segment>,
    pub(crate) scheduler: Scheduler,
    pub(crate) observer: Observer,
    pub(crate) events: u64,
}

/// Gives a link's doings to the observer, and lost packets back to the pool.
struct LinkWatch<'a> {
    link: usize,
    observer: &'a mut Observer,
    pool: &'a mut Pool<Segment>,
}

impl Watch<Packet> for LinkWatch<'_> {
    #[inline]
    fn on_arrival(&mut self, at: Time, packet: &Packet, backlog: Backlog) {
        self.observer.on_arrival(self.link, at, packet, backlog, self.pool);
    }

    fn on_lost(&mut self, lost: Lost<Packet>) {
        self.observer.on_lost(self.link, &lost, self.pool);
        if lost.frame.segment != Packet::NO_SEGMENT {
            self.pool.remove(lost.frame.segment);
        }
    }

    fn on_mark(&mut self, at: Time, packet: &Packet) {
        self.observer.on_mark(self.link, at, packet, self.pool);
    }

    #[inline]
    fn on_departure(&mut self, at: Time, arrived: Time, packet: &Packet, backlog: Backlog) {
        self.observer.on_departure(self.link, at, arrived, packet, backlog, self.pool);
    }

    fn on_capacity(&mut self, at: Time, rate: Rate) {
        self.observer.links[self.link].on_capacity(at, rate);
    }

    fn on_opportunity(&mut self, _: Time, offered: Bytes, _: Bytes) {
        self.observer.links[self.link].on_opportunity(offered);
    }
}

macro_rules! watch {
    ($world:ident, $link:expr) => {
        &mut LinkWatch { link: $link, observer: &mut $world.observer, pool: &mut $world.pool }
    };
}

impl World {
    /// Runs until `end`: every event before it and at it. `go_on` is asked now and then; false stops the run.
    pub fn run_until(&mut self, end: Time, go_on: &mut dyn FnMut(Time) -> bool) -> bool {
        const EVENTS_BETWEEN_QUESTIONS: u64 = 1 << 16;
        while let Some((now, node)) = self.scheduler.first() {
            if now > end {
                break;
            }
            self.step(now, node);
            self.events += 1;
            if self.events % EVENTS_BETWEEN_QUESTIONS == 0 && !go_on(now) {
                return false;
            }
        }
        for link in 0..self.links.len() {
            self.links[link].advance(end, watch!(self, link));
        }
        true
    }

    #[inline]
    fn step(&mut self, now: Time, node: NodeId) {
        let index = node as usize;
        if index < self.links.len() {
            while let Some(packet) = self.links[index].poll(now, watch!(self, index)) {
                self.forward(now, packet);
            }
            self.scheduler.wake(node, self.links[index].poll_at());
        } else if index >= self.first_connection() {
            self.poll_connection(now, (index - self.first_connection()) as u32);
        } else if index < self.first_source() {
            let wire = index - self.links.len();
            while let Some(packet) = self.wires[wire].poll(now) {
                self.forward(now, packet);
            }
            self.scheduler.wake(node, self.wires[wire].poll_at());
        } else {
            self.poll_source(now, index - self.first_source());
        }
    }

    /// The warm-up is over: what is measured begins at `now`.
    pub fn begin_measuring(&mut self, now: Time) {
        let senders = self.sender_totals();
        self.observer.links.iter_mut().for_each(|meter| meter.reset(now));
        self.observer.flows.iter_mut().zip(senders).for_each(|(meter, sender)| meter.reset(now, sender));
    }

    /// What the senders of each meter have counted so far.
    pub fn sender_totals(&self) -> Vec<SenderTotals> {
        let datagrams: Vec<(u32, u64)> = (self.sources.iter())
            .filter_map(|source| match source {
                Source::Datagrams { meter, source, .. } => Some((*meter, source.sent)),
                _ => None,
            })
            .collect();
        self.observer.sender_totals(&self.connections, &datagrams)
    }

    fn first_source(&self) -> usize {
        self.links.len() + self.wires.len()
    }

    fn first_connection(&self) -> usize {
        self.first_source() + self.sources.len()
    }

    /// Sends a packet to the next node of its route, or to its endpoint.
    #[inline]
    fn forward(&mut self, now: Time, mut packet: Packet) {
        let routes = &self.routes[packet.group as usize];
        let route = if packet.is_reverse() { &routes.reverse } else { &routes.forward };
        let Some(&node) = route.get(packet.hop as usize) else { return self.arrive(now, packet) };
        packet.hop += 1;
        let index = node as usize;
        let due = if index < self.links.len() {
            let link = &mut self.links[index];
            link.push(now, packet, watch!(self, index));
            link.poll_at()
        } else {
            let wire = &mut self.wires[index - self.links.len()];
            wire.push(now, packet);
            wire.poll_at()
        };
        self.scheduler.wake_by(node, due);
    }

    /// A packet has come to the end of its route.
    #[inline]
    fn arrive(&mut self, now: Time, packet: Packet) {
        if packet.segment == Packet::NO_SEGMENT {
            return self.observer.on_datagram(packet.owner, packet.wire_size());
        }
        let mut segment = self.pool.remove(packet.segment);
        if packet.flags & Packet::CE != 0 {
            segment.flags = segment.flags.with(Flags::CE);
        }
        let connection = &mut self.connections[packet.owner as usize];
        if connection.generation != packet.generation || !connection.is_open {
            return; // a straggler of a connection that is over
        }
        if packet.is_reverse() {
            let outcome = connection.sender.push(now, &segment);
            self.observer.on_ack(connection, now, &outcome);
            if connection.answers_at_once(now) {
                self.send_data(now, packet.owner);
            }
        } else {
            let news = connection.receiver.push(now, &segment);
            self.observer.on_data(connection, now, news, packet.wire_size());
            self.send_acks(now, packet.owner);
        }
        let connection = &self.connections[packet.owner as usize];
        let node = (self.first_connection() + packet.owner as usize) as NodeId;
        self.scheduler.wake_by(node, connection.timers_at().min(connection.release));
    }

    fn poll_connection(&mut self, now: Time, owner: u32) {
        let node = (self.first_connection() + owner as usize) as NodeId;
        let connection = &mut self.connections[owner as usize];
        if !connection.is_open {
            return self.scheduler.wake(node, Time::NEVER);
        }
        connection.work_feed(now);
        if connection.release.is_never() || connection.release <= now || connection.sender.poll_at() <= now {
            connection.release = Time::NEVER;
            self.send_data(now, owner);
            self.observer.on_window(&self.connections[owner as usize], now);
        }
        self.send_acks(now, owner);
        let connection = &self.connections[owner as usize];
        let due = if connection.is_open { connection.poll_at() } else { Time::NEVER };
        self.scheduler.wake(node, due);
    }

    #[inline]
    fn send_data(&mut self, now: Time, owner: u32) {
        while let Some(segment) = self.connections[owner as usize].sender.poll(now) {
            self.emit(now, owner, segment, 0);
        }
        let connection = &self.connections[owner as usize];
        if connection.size.is_some() && connection.sender.is_done() {
            self.close(now, owner);
        }
    }

    #[inline]
    fn send_acks(&mut self, now: Time, owner: u32) {
        while let Some(segment) = self.connections[owner as usize].receiver.poll(now) {
            self.emit(now, owner, segment, Packet::REVERSE);
        }
    }

    #[inline]
    fn emit(&mut self, now: Time, owner: u32, segment: Segment, direction: u8) {
        let connection = &self.connections[owner as usize];
        let mut flags = direction;
        if segment.flags.has(Flags::ECT) {
            flags |= Packet::ECT;
        }
        if segment.flags.has(Flags::RESERVED) {
            flags |= Packet::RESERVED;
        }
        let packet = Packet {
            segment: self.pool.insert(segment),
            owner,
            group: connection.group,
            generation: connection.generation,
            size: segment.wire_size,
            hop: 0,
            flags,
        };
        self.forward(now, packet);
    }

    /// A transfer is over: its slot becomes free.
    #[cold]
    fn close(&mut self, now: Time, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        connection.is_open = false;
        let group = connection.group;
        self.observer.on_close(connection, now);
        self.free_connections.push(owner);
        for source in &mut self.sources {
            if let Source::Transfers { group: of, arrivals } = source
                && *of == group
            {
                arrivals.active -= 1;
            }
        }
    }

    #[cold]
    fn poll_source(&mut self, now: Time, index: usize) {
        let node = (self.first_source() + index) as NodeId;
        match &mut self.sources[index] {
            Source::Transfers { group, arrivals } => {
                let group = *group;
                if let Some(size) = arrivals.arrive(now) {
                    let connection = self.openers.open_transfer(now, group, size);
                    self.install(now, connection);
                }
            }
            Source::Datagrams { group, meter, source } => {
                source.send(now);
                let packet = Packet {
                    segment: Packet::NO_SEGMENT,
                    owner: *meter,
                    group: *group,
                    generation: 0,
                    size: source.size.as_u64() as u16,
                    hop: 0,
                    flags: 0,
                };
                self.forward(now, packet);
            }
            Source::Openings(openings) => {
                if let Some(Opening { group, member, .. }) = openings.pop_front() {
                    let connection = self.openers.open_member(now, group, member);
                    self.install(now, connection);
                }
            }
        }
        self.scheduler.wake(node, self.sources[index].poll_at());
    }

    /// Gives a new connection a slot and lets it begin.
    fn install(&mut self, now: Time, mut connection: Connection) {
        let owner = match self.free_connections.pop() {
            Some(slot) => {
                connection.generation = self.connections[slot as usize].generation.wrapping_add(1);
                self.connections[slot as usize] = connection;
                slot
            }
            None => {
                self.connections.push(connection);
                (self.connections.len() - 1) as u32
            }
        };
        self.observer.on_window(&self.connections[owner as usize], now);
        self.poll_connection(now, owner);
    }
}
