//! The world of one run: links, wires and endpoints joined by one event list.
//!
//! The loop takes the earliest wake, polls that node and pushes what comes out into the next node at the same
//! instant. Nothing below this crate knows an event list; nothing here knows how TCP or a queue works.

use std::collections::VecDeque;

use varicap_engine::workload::{Arrivals, DatagramSource, ReservedRates};
use varicap_engine::{Feedback, NodeId, Pools};
use varicap_experiment::measure::SenderTotals;
use varicap_experiment::series::ReservedState;
use varicap_net::Policed;
use varicap_units::{Bytes, Rate, Time, Work};

use crate::build::Openers;
use crate::connection::{Answer, Connection};
use crate::net::Net;
use crate::packet::{FlowOwner, Packet};

/// What starts by itself: arrivals of transfers, or datagrams.
#[derive(Debug)]
pub enum Source {
    /// Transfers that arrive at random.
    Transfers {
        /// Their flow group.
        group: u16,
        /// When, and how large.
        arrivals: Box<Arrivals>,
    },
    /// One stream of datagrams.
    Datagrams {
        /// Its flow group.
        group: u16,
        /// Its meter.
        meter: u32,
        /// When.
        source: Box<DatagramSource>,
    },
    /// Opens the connections that are there from the beginning, each at its start, in order of time.
    Openings(VecDeque<Opening>),
    /// What links tell senders; it lies apart, in [`World`].
    Feedback,
    /// Load-reactive links that share a capacity.
    Pools(Pools),
    /// Changes of a flow's reservation.
    Reservation {
        /// Its flow group.
        group: u16,
        /// When, and to what.
        changes: ReservedRates,
    },
}

/// The start of one member of a flow group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Opening {
    /// When.
    pub at: Time,
    /// Whose.
    pub group: u16,
    /// Its number in the group.
    pub member: u32,
}

impl Source {
    /// When it next does something.
    pub fn poll_at(&self) -> Time {
        match self {
            Source::Transfers { arrivals, .. } => arrivals.poll_at(),
            Source::Datagrams { source, .. } => source.poll_at(),
            Source::Openings(openings) => openings.front().map_or(Time::NEVER, |opening| opening.at),
            Source::Feedback => Time::ZERO,
            Source::Pools(pools) => pools.poll_at(),
            Source::Reservation { changes, .. } => changes.poll_at(),
        }
    }
}

/// Links, wires, sources and connections of one run. Node numbers run in this order.
pub struct World {
    /// Links and wires, and the event list.
    pub net: Net,
    /// What starts by itself.
    pub sources: Vec<Source>,
    /// The connections, in slots that are used again.
    pub connections: Vec<Connection>,
    pub(crate) free: Vec<u32>,
    pub(crate) openers: Openers,
    /// What links tell senders; its node is the last source.
    pub(crate) feedback: Option<Feedback>,
    /// Rates that have just arrived, and who hears them; kept for its memory.
    pub(crate) heard: Vec<(u32, Rate)>,
    pub(crate) first_source: usize,
    pub(crate) first_connection: usize,
    /// Events worked off so far.
    pub events: u64,
}

impl World {
    /// Runs until `end`: every event before it and at it. `go_on` is asked now and then; false stops the run.
    pub fn run_until(&mut self, end: Time, go_on: &mut dyn FnMut(Time) -> bool) -> bool {
        const EVENTS_BETWEEN_QUESTIONS: u64 = 1 << 16;
        while let Some((now, node)) = self.net.scheduler.first() {
            if now > end {
                break;
            }
            self.step(now, node);
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_BETWEEN_QUESTIONS) && !go_on(now) {
                return false;
            }
        }
        self.net.advance(end);
        true
    }

    #[inline(always)]
    fn step(&mut self, now: Time, node: NodeId) {
        let index = node as usize;
        if index < self.net.hops.len() {
            self.poll_link(now, node);
        } else if index >= self.first_connection {
            self.poll_connection(now, (index - self.first_connection) as u32);
        } else if index < self.first_source {
            self.poll_wire(now, node);
        } else {
            self.poll_source(now, index - self.first_source);
        }
    }

    #[inline(always)]
    fn poll_link(&mut self, now: Time, node: NodeId) {
        let index = node as usize;
        // Most wakes bring one packet: the next due time says so without another poll.
        let mut due = now;
        while due <= now
            && let Some(packet) = self.net.poll_link(now, index)
        {
            self.forward(now, packet);
            due = self.net.hops[index].link.poll_at();
        }
        if due <= now {
            due = self.net.hops[index].link.poll_at();
        }
        self.net.scheduler.wake(node, due);
    }

    #[cold]
    fn poll_wire(&mut self, now: Time, node: NodeId) {
        let wire = node as usize - self.net.hops.len();
        while let Some(packet) = self.net.wires[wire].poll(now) {
            self.forward(now, packet);
        }
        let due = self.net.wires[wire].poll_at();
        self.net.scheduler.wake(node, due);
    }

    /// A packet has come out of a node.
    #[inline(always)]
    fn forward(&mut self, now: Time, packet: Packet) {
        if let Some(node) = self.net.next_node(&packet) {
            self.net.enter(now, node, packet);
        } else if packet.segment == Packet::NO_SEGMENT {
            self.net.observer.on_datagram(&packet);
        } else if packet.is_reverse() {
            self.arrive_at_sender(now, packet);
        } else {
            self.arrive_at_receiver(now, packet);
        }
    }

    #[inline(never)]
    fn arrive_at_receiver(&mut self, now: Time, packet: Packet) {
        let net = &mut self.net;
        let segment = net.traffic.arrive(&packet);
        let connection = &mut self.connections[packet.owner as usize];
        if !connection.awaits(&packet) {
            return;
        }
        let news = connection.receiver.push(now, segment);
        net.observer.on_data(connection, now, news, &packet);
        net.send_acks(now, packet.owner, connection);
        let due = connection.receiver.poll_at();
        if !due.is_never() {
            net.scheduler.wake_by(self.first_connection as NodeId + packet.owner, due);
        }
        if connection.is_relayed && news > 0 {
            self.relay(now, packet.owner, news);
        }
    }

    #[inline(never)]
    fn arrive_at_sender(&mut self, now: Time, packet: Packet) {
        let net = &mut self.net;
        let segment = net.traffic.arrive(&packet);
        let connection = &mut self.connections[packet.owner as usize];
        if !connection.awaits(&packet) {
            return;
        }
        let node = self.first_connection as NodeId + packet.owner;
        let outcome = connection.sender.push(now, segment);
        net.observer.on_ack(connection, &outcome);
        match connection.hold_back(now) {
            Answer::AtOnce => net.send_data(now, packet.owner, connection),
            Answer::At(release) => net.scheduler.wake_once(node, release),
            Answer::Held => {}
        }
        net.observer.on_window(connection, now);
        net.scheduler.wake_by(node, connection.sender.poll_at());
        if connection.is_over() {
            self.close(now, packet.owner);
        }
    }

    fn poll_connection(&mut self, now: Time, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        let node = self.first_connection as NodeId + owner;
        if !connection.is_open {
            return self.net.scheduler.polled(node, now, Time::NEVER);
        }
        let was_active = connection.is_active;
        connection.work_feed(now);
        if connection.is_active != was_active {
            let (group, is_active) = (connection.group, connection.is_active);
            note_activity(&mut self.feedback, &mut self.net, now, self.first_connection, group, is_active);
        }
        if connection.may_send(now) {
            connection.release = Time::NEVER;
            self.net.send_data(now, owner, connection);
            self.net.observer.on_window(connection, now);
        }
        self.net.send_acks(now, owner, connection);
        self.net.scheduler.polled(node, now, connection.poll_at());
        if connection.is_over() {
            self.close(now, owner);
        }
    }

    /// A transfer is over: its slot becomes free.
    #[cold]
    fn close(&mut self, now: Time, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        connection.is_open = false;
        let group = connection.group;
        if let Some(feedback) = &mut self.feedback {
            feedback.on_close(group, owner);
            if std::mem::take(&mut connection.is_active) {
                note_activity(&mut self.feedback, &mut self.net, now, self.first_connection, group, false);
            }
        }
        let marked_losses = self.net.traffic.marked_losses.take(owner);
        self.net.observer.on_close(connection, now, marked_losses);
        self.free.push(owner);
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
        match &mut self.sources[index] {
            Source::Transfers { group, arrivals } => {
                let group = *group;
                if let Some(size) = arrivals.arrive(now) {
                    let connection = self.openers.open_transfer(now, group, size);
                    self.install(now, connection);
                }
            }
            Source::Datagrams { group, meter, source } => {
                let mut packet = Packet::datagram(*meter, *group, source.size);
                if source.mark(now) {
                    packet.flags |= Packet::RESERVED;
                }
                source.send(now);
                self.forward(now, packet);
            }
            Source::Openings(openings) => {
                if let Some(Opening { group, member, .. }) = openings.pop_front() {
                    let connection = self.openers.open_member(now, group, member);
                    self.install(now, connection);
                }
            }
            Source::Feedback => return self.poll_feedback(now),
            Source::Reservation { group, changes } => {
                let (group, rate) = (*group, changes.change(now));
                self.set_reserved_rate(now, group, rate);
            }
            Source::Pools(pools) => {
                pools.poll(now, &mut self.net);
                if self.feedback.is_some() {
                    self.net.scheduler.wake_by(self.first_connection as NodeId - 1, now);
                }
            }
        }
        let due = self.sources[index].poll_at();
        self.net.scheduler.wake((self.first_source + index) as NodeId, due);
    }

    /// From `now` on `rate` is reserved for each sender of a group.
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
        for (owner, connection) in self.connections.iter_mut().enumerate() {
            if !connection.is_open || connection.group != group {
                continue;
            }
            connection.sender.set_reserved_rate(now, rate);
            let owner = owner as u32;
            if connection.may_send(now) {
                self.net.send_data(now, owner, connection);
            }
            self.net.observer.on_window(connection, now);
            self.net.scheduler.wake_by(self.first_connection as NodeId + owner, connection.sender.poll_at());
        }
    }

    /// What links tell, and who hears it.
    #[cold]
    fn poll_feedback(&mut self, now: Time) {
        let Some(feedback) = &mut self.feedback else { return };
        let connections = &mut self.connections;
        let mut heard = std::mem::take(&mut self.heard);
        let rtt = |owner: u32| connections[owner as usize].known_rtt();
        feedback.poll(now, &mut self.net, &rtt, &mut |owner, rate| heard.push((owner, rate)));
        let due = feedback.poll_at(&self.net);
        self.net.scheduler.wake(self.first_connection as NodeId - 1, due);
        for (owner, rate) in heard.drain(..) {
            let connection = &mut connections[owner as usize];
            if let Some(buffer) = connection.buffer {
                self.net.set_rate(now, buffer, rate);
            }
            connection.sender.on_rate_feedback(now, rate);
            if connection.may_send(now) {
                self.net.send_data(now, owner, connection);
            }
            self.net.observer.on_window(connection, now);
            self.net.scheduler.wake_by(self.first_connection as NodeId + owner, connection.sender.poll_at());
        }
        self.heard = heard;
    }

    /// The connection `owner` has delivered `bytes` more in order, which another one takes on.
    #[cold]
    fn relay(&mut self, now: Time, owner: u32, bytes: u64) {
        let source = &self.connections[owner as usize];
        let is_complete = source.size.is_some_and(|size| source.receiver.delivered() >= size.as_u64());
        let slot = match source.relay {
            Some(slot) => slot,
            None => {
                let Some(connection) = self.openers.open_relay(now, source) else { return };
                let slot = self.install(now, connection);
                self.connections[owner as usize].relay = Some(slot);
                slot
            }
        };
        let connection = &mut self.connections[slot as usize];
        connection.sender.write(Bytes::new(bytes));
        if is_complete {
            connection.sender.close();
        }
        self.poll_connection(now, slot);
    }

    /// Gives a new connection a slot and lets it begin.
    fn install(&mut self, now: Time, mut connection: Connection) -> u32 {
        let (group, is_active) = (connection.group, connection.is_active);
        let name = self.feedback.is_some().then(|| self.openers.name(&connection));
        let owner = match self.free.pop() {
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
        if let (Some(feedback), Some(name)) = (&mut self.feedback, name) {
            feedback.on_open(now, group, owner, &name, &self.openers.streams);
            if is_active {
                note_activity(&mut self.feedback, &mut self.net, now, self.first_connection, group, true);
            }
        }
        self.poll_connection(now, owner);
        owner
    }

    /// The warm-up is over: what is measured begins at `now`.
    pub fn begin_measuring(&mut self, now: Time) {
        let senders = self.sender_totals(now);
        self.net.begin_measuring(now);
        self.net.observer.begin_measuring(now, senders);
    }

    /// What the senders of each meter have counted up to `now`.
    pub fn sender_totals(&mut self, now: Time) -> Vec<SenderTotals> {
        let mut totals = self.net.observer.sender_totals(now, &self.connections, &self.net.traffic);
        for source in &self.sources {
            if let Source::Datagrams { meter, source, .. } = source {
                let total = &mut totals[*meter as usize];
                total.sent_packets += source.sent;
                total.lost_tokens += source.bucket.as_ref().map_or(Work::ZERO, |bucket| bucket.lost(now));
                total.marked_lost_packets += self.net.traffic.marked_losses.of_datagrams(*meter);
            }
        }
        for (meter, state) in self.policed(now) {
            totals[meter].lost_tokens += state.lost_tokens;
        }
        totals
    }

    /// Where the reservations that links mark stand, each with its meter.
    fn policed(&mut self, now: Time) -> Vec<(usize, ReservedState)> {
        let (connections, openers) = (&self.connections, &self.openers);
        let links = self.net.hops.iter_mut().flat_map(|hop| hop.link.policed(now));
        let states = links.map(|Policed { flow, group, rate, lost_tokens }| {
            let meter = match FlowOwner::of(flow) {
                FlowOwner::Datagrams(meter) => meter,
                // A connection that is over has left its slot to others: its tokens count for the first of its group.
                FlowOwner::Connection(slot) => match connections.get(slot as usize) {
                    Some(connection) if connection.group == group => connection.meter,
                    _ => openers.first_meter(group),
                },
            };
            (meter as usize, ReservedState { rate, lost_tokens })
        });
        states.collect()
    }

    /// Where the reservation of each meter stands at `now`.
    pub fn reserved_states(&mut self, now: Time) -> Vec<Option<ReservedState>> {
        let mut states = vec![None; self.net.observer.flows.len()];
        for connection in self.connections.iter().filter(|connection| connection.is_open) {
            let sender = &connection.sender;
            if let Some((rate, lost_tokens)) = sender.reserved_rate().zip(sender.lost_tokens(now)) {
                states[connection.meter as usize] = Some(ReservedState { rate, lost_tokens });
            }
        }
        for source in &self.sources {
            if let Source::Datagrams { meter, source, .. } = source
                && let Some(bucket) = &source.bucket
            {
                let state = ReservedState { rate: bucket.rate(), lost_tokens: bucket.lost(now) };
                states[*meter as usize] = Some(state);
            }
        }
        for (meter, state) in self.policed(now) {
            states[meter] = Some(state);
        }
        states
    }
}

/// A connection has become active, or is not any more: what links tell changes.
#[cold]
fn note_activity(
    feedback: &mut Option<Feedback>,
    net: &mut Net,
    now: Time,
    first_connection: usize,
    group: u16,
    is_active: bool,
) {
    if let Some(feedback) = feedback {
        feedback.on_activity(group, is_active);
        net.scheduler.wake_by(first_connection as NodeId - 1, now);
    }
}
