//! What lies between the endpoints: links, wires and the routes over them.

use std::collections::VecDeque;

use varicap_net::{Backlog, Link, Lost, Watch};
use varicap_tcp::{Flags, Segment};
use varicap_units::{Bytes, Rate, Span, Time};

use crate::connection::Connection;
use crate::observe::{LinkObserver, Observer};
use crate::packet::{Packet, Pool};
use crate::scheduler::{NodeId, Scheduler};

/// A private delay line of a flow group.
#[derive(Debug)]
pub struct Wire {
    delay: Span,
    in_flight: VecDeque<(Time, Packet)>,
}

impl Wire {
    /// An empty wire.
    pub fn new(delay: Span) -> Wire {
        Wire { delay, in_flight: VecDeque::new() }
    }

    fn push(&mut self, now: Time, packet: Packet) {
        self.in_flight.push_back((now + self.delay, packet));
    }

    /// The next packet that has come out by `now`.
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        if self.poll_at() > now {
            return None;
        }
        self.in_flight.pop_front().map(|(_, packet)| packet)
    }

    /// When the next packet comes out.
    pub fn poll_at(&self) -> Time {
        self.in_flight.front().map_or(Time::NEVER, |(due, _)| *due)
    }
}

/// The way of a flow group's packets in each direction, as nodes.
#[derive(Debug, Default)]
pub struct Routes {
    /// From the sender to the receiver.
    pub forward: Box<[NodeId]>,
    /// From the receiver to the sender.
    pub reverse: Box<[NodeId]>,
}

/// Links, wires and routes, and the event list that wakes them.
pub struct Net {
    /// Nodes 0 and on.
    pub links: Vec<Link<Packet>>,
    /// The nodes after the links.
    pub wires: Vec<Wire>,
    /// One for each flow group.
    pub routes: Vec<Routes>,
    /// Segments under way.
    pub pool: Pool<Segment>,
    /// The event list.
    pub scheduler: Scheduler,
    /// Meters and logs.
    pub observer: Observer,
}

/// Gives a link's doings to its observer, and lost packets back to the pool.
struct LinkWatch<'a> {
    observer: LinkObserver<'a>,
    pool: &'a mut Pool<Segment>,
}

impl Watch<Packet> for LinkWatch<'_> {
    #[inline]
    fn on_arrival(&mut self, at: Time, packet: &Packet, backlog: Backlog) {
        self.observer.on_arrival(at, packet, backlog, self.pool);
    }

    #[cold]
    fn on_lost(&mut self, lost: Lost<Packet>) {
        self.observer.on_lost(&lost, self.pool);
        if lost.frame.segment != Packet::NO_SEGMENT {
            self.pool.remove(lost.frame.segment);
        }
    }

    #[cold]
    fn on_mark(&mut self, at: Time, packet: &Packet) {
        self.observer.on_mark(at, packet, self.pool);
    }

    #[inline]
    fn on_departure(&mut self, at: Time, arrived: Time, packet: &Packet, backlog: Backlog) {
        self.observer.on_departure(at, arrived, packet, backlog, self.pool);
    }

    #[cold]
    fn on_capacity(&mut self, at: Time, rate: Rate) {
        self.observer.on_capacity(at, rate);
    }

    fn on_opportunity(&mut self, _: Time, offered: Bytes, _: Bytes) {
        self.observer.on_opportunity(offered);
    }
}

macro_rules! watch {
    ($net:ident, $link:expr) => {
        &mut LinkWatch { observer: $net.observer.link($link), pool: &mut $net.pool }
    };
}

impl Net {
    /// The next packet that comes out of link `link` at `now`.
    #[inline]
    pub fn poll_link(&mut self, now: Time, link: usize) -> Option<Packet> {
        let packet = self.links[link].poll(now, watch!(self, link))?;
        self.observer.link(link).on_delivery(now, &packet, &self.pool);
        Some(packet)
    }

    /// Brings every link up to `now`.
    pub fn advance(&mut self, now: Time) {
        for link in 0..self.links.len() {
            self.advance_link(now, link);
        }
    }

    /// Brings one link up to `now`.
    pub fn advance_link(&mut self, now: Time, link: usize) {
        self.links[link].advance(now, watch!(self, link));
    }

    /// Sends a packet into the next node of its route; gives it back if it is at its endpoint.
    #[inline]
    pub fn forward(&mut self, now: Time, mut packet: Packet) -> Option<Packet> {
        let routes = &self.routes[packet.group as usize];
        let route = if packet.is_reverse() { &routes.reverse } else { &routes.forward };
        let Some(&node) = route.get(packet.hop as usize) else { return Some(packet) };
        packet.hop += 1;
        let index = node as usize;
        let due = match self.links.get_mut(index) {
            Some(link) => {
                link.push(now, packet, watch!(self, index));
                link.poll_at()
            }
            None => {
                let wire = &mut self.wires[index - self.links.len()];
                wire.push(now, packet);
                wire.poll_at()
            }
        };
        self.scheduler.wake_by(node, due);
        None
    }

    /// Sends a segment of a connection on its way; `direction` is 0 or [`Packet::REVERSE`].
    #[inline]
    pub fn emit(&mut self, now: Time, owner: u32, connection: &Connection, segment: Segment, direction: u8) {
        let mut flags = direction;
        if segment.flags.has(Flags::ECT) {
            flags |= Packet::ECT;
        }
        if segment.flags.has(Flags::RESERVED) {
            flags |= Packet::RESERVED;
        }
        let packet = Packet {
            owner,
            group: connection.group,
            generation: connection.generation,
            size: segment.wire_size,
            hop: 0,
            flags,
            segment: self.pool.insert(segment),
        };
        // A route has at least one link: nothing is at its endpoint yet.
        let _ = self.forward(now, packet);
    }
}
