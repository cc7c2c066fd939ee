//! Measurements during a run. Observing never schedules and never draws a random number.

use varicap_engine::{Datagram, meters_of};
use varicap_experiment::measure::{FlowMeter, LinkMeter, SenderTotals};
use varicap_experiment::packets::{PacketEvent, PacketLog, PacketOwner, PacketRecord};
use varicap_experiment::{FlowSpec, Transport};
use varicap_net::{Ahead, Backlog, Codepoint, Frame, Lost, Watch};
use varicap_tcp::{AckOutcome, Flags, Segment};
use varicap_units::{Bytes, Rate, Span, Time};

#[cfg(debug_assertions)]
use crate::audit::Audit;
use crate::budget::Guard;
use crate::connection::Connection;
use crate::packet::{Packet, Pool};
use crate::pages;
use crate::prefetch;

/// The meters of the flows of a run.
pub struct Observer {
    /// One for each flow, or for each group of transfers.
    flows: Vec<FlowMeter>,
    /// The totals of connections that are over, by meter; as far as there are any.
    over: Vec<SenderTotals>,
    /// Whether each meter belongs to a single connection, whose window is then sampled.
    is_single: Vec<bool>,
}

impl Observer {
    /// The meters of `flows`, in the order of the groups and of their members.
    pub fn new(flows: &[FlowSpec]) -> Observer {
        let mut observer = Observer { flows: Vec::new(), over: Vec::new(), is_single: Vec::new() };
        for flow in flows {
            let is_datagrams = matches!(flow.transport, Transport::Datagrams(_));
            let (mss, is_single) = (flow.payload(), !is_datagrams && !flow.carries_arrivals());
            pages::reserve(&mut observer.flows, meters_of(flow) as usize);
            for _ in 0..meters_of(flow) {
                let mut meter = FlowMeter::new(mss);
                if flow.reservation.is_some() {
                    meter.reserve();
                }
                observer.flows.push(meter);
                observer.is_single.push(is_single);
            }
        }
        observer
    }

    /// The number of meters.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Meter number `meter`.
    pub fn meter(&mut self, meter: usize) -> &mut FlowMeter {
        &mut self.flows[meter]
    }

    /// All meters, after the run.
    pub fn into_meters(self) -> impl Iterator<Item = FlowMeter> {
        self.flows.into_iter()
    }

    /// The warm-up is over: what is measured begins at `now`, when the senders have counted `senders`.
    pub fn begin_measuring(&mut self, now: Time, senders: Vec<SenderTotals>) {
        self.flows.iter_mut().zip(senders).for_each(|(meter, sender)| meter.reset(now, sender));
    }

    /// Whether meter number `meter` is that of one connection.
    pub(crate) fn is_single(&self, meter: usize) -> bool {
        self.is_single[meter]
    }

    /// Counts a datagram that reached its destination.
    pub(crate) fn on_datagram(&mut self, packet: &Packet) {
        let (meter, size) = (&mut self.flows[packet.owner() as usize], packet.wire_size());
        meter.on_data(size, size);
        if packet.is_reserved() {
            meter.on_marked(size);
        }
    }

    /// Counts a transfer that begins, if `connection` carries one.
    pub(crate) fn on_open(&mut self, connection: &Connection) {
        if connection.app.is_transfer() {
            self.flows[connection.meter as usize].on_transfer_begun();
        }
    }

    /// Counts a transfer that is turned away.
    #[cold]
    pub(crate) fn on_turned_away(&mut self, meter: u32) {
        self.flows[meter as usize].on_transfer_refused();
    }

    /// Counts a packet that reached its receiver, if it carries data, and brought `in_order` new bytes in order.
    #[inline]
    pub(crate) fn on_data(&mut self, connection: &mut Connection, now: Time, in_order: u64, packet: &Packet) {
        let meter = &mut self.flows[connection.meter as usize];
        meter.on_data(packet.wire_size(), Bytes::new(in_order));
        if packet.is_special() {
            on_special(meter, packet);
        }
        if let Some(transfer) = connection.app.on_delivered(now, in_order) {
            meter.on_transfer(transfer.size, transfer.took);
        }
        debug_assert_eq!(connection.app.delivered(), connection.receiver.delivered());
    }

    /// Counts an acknowledgement that reached its sender.
    #[inline]
    pub(crate) fn on_ack(&mut self, connection: &Connection, outcome: &AckOutcome) {
        if let Some(rtt) = outcome.rtt {
            self.flows[connection.rtt_meter as usize].on_rtt(rtt);
        }
    }

    /// Begins to load the meter of `connection`.
    #[inline]
    pub(crate) fn prefetch(&self, connection: &Connection) {
        prefetch::load(&self.flows[connection.meter as usize]);
    }

    /// Begins to load what counts its round trips.
    #[inline]
    pub(crate) fn prefetch_round_trips(&self, connection: &Connection) {
        if let Some(rtt) = self.flows[connection.rtt_meter as usize].round_trips() {
            prefetch::load(rtt);
        }
    }

    /// Samples the sender's window, which may have changed.
    #[inline]
    pub(crate) fn on_window(&mut self, connection: &Connection, now: Time) {
        if connection.is_single() {
            self.flows[connection.meter as usize].on_cwnd(now, connection.sender.cwnd());
        }
    }

    /// Adds the totals of a connection that is over to those of its meter.
    pub(crate) fn on_close(&mut self, connection: &Connection, now: Time, marked_losses: u64) {
        let meter = connection.meter as usize;
        self.add_totals(meter, &sender_totals(now, connection, marked_losses));
        if connection.is_single() {
            self.flows[meter].on_close(now);
        }
        if connection.sender.gave_up() && connection.app.is_transfer() && !connection.app.is_delivered() {
            self.flows[meter].on_transfer_given_up();
        }
    }

    /// Adds the totals of a connection that is over to those of its meter.
    pub(crate) fn add_totals(&mut self, meter: usize, totals: &SenderTotals) {
        if self.over.len() <= meter {
            self.over.resize(meter + 1, SenderTotals::default());
        }
        self.over[meter] = self.over[meter].plus(totals);
    }

    /// The totals of the TCP senders of each meter up to `now`.
    pub fn sender_totals(
        &self,
        now: Time,
        connections: &[Connection],
        marked_losses: &MarkedLosses,
    ) -> Vec<SenderTotals> {
        let mut totals = self.over.clone();
        totals.resize(self.flows.len(), SenderTotals::default());
        for (owner, connection) in
            connections.iter().enumerate().filter(|(_, connection)| connection.is_open())
        {
            let total = &mut totals[connection.meter as usize];
            let marked = marked_losses.of_connection(owner as u32);
            *total = total.plus(&sender_totals(now, connection, marked));
        }
        totals
    }
}

/// Segments under way, and what happens to them.
#[derive(Debug)]
pub struct Traffic {
    /// The segments of all packets in the network.
    pub segments: Pool<Segment>,
    /// The log of packet events, if they are recorded.
    pub log: Option<PacketLog>,
    /// What the datagrams of endpoints contain, by the places of their segments; as far as there are any.
    payloads: Vec<Option<Datagram>>,
    /// Packets marked as reserved that links lost.
    pub marked_losses: MarkedLosses,
    /// Watches what the run takes.
    guard: Option<Guard>,
    /// Losses before the guard is asked again.
    losses_left: u32,
    /// Segments that links lost. Only kept where assertions are on.
    #[cfg(debug_assertions)]
    pub lost_segments: u64,
    /// Segments that links copied.
    #[cfg(debug_assertions)]
    pub copied_segments: u64,
    /// The segments of each connection. Only kept where assertions are on.
    #[cfg(debug_assertions)]
    pub audit: Audit,
}

/// Packets marked as reserved that links lost, by the connection or stream of datagrams that they belonged to.
#[derive(Debug, Default)]
pub struct MarkedLosses {
    /// Losses of each connection, by its slot.
    connections: Vec<u64>,
    /// Losses of each stream of datagrams, by its meter.
    datagrams: Vec<u64>,
}

impl MarkedLosses {
    #[cold]
    fn count(&mut self, packet: &Packet) {
        let counts = if packet.is_datagram() { &mut self.datagrams } else { &mut self.connections };
        let owner = packet.owner() as usize;
        if counts.len() <= owner {
            counts.resize(owner + 1, 0);
        }
        counts[owner] += 1;
    }

    /// Losses of the connection in slot `owner`.
    pub fn of_connection(&self, owner: u32) -> u64 {
        self.connections.get(owner as usize).copied().unwrap_or(0)
    }

    /// Losses of the stream of datagrams of a meter.
    pub fn of_datagrams(&self, meter: u32) -> u64 {
        self.datagrams.get(meter as usize).copied().unwrap_or(0)
    }

    /// Takes the losses of the connection in slot `owner`, which is over, so that the next one there begins at zero.
    pub fn take(&mut self, owner: u32) -> u64 {
        self.connections.get_mut(owner as usize).map_or(0, std::mem::take)
    }
}

/// Losses after which the guard of a run is asked: one event may lose millions of packets.
const LOSSES_BETWEEN_QUESTIONS: u32 = 1 << 16;

/// Events of the log after which the guard of a run is asked.
const EVENTS_BETWEEN_QUESTIONS: usize = 1 << 16;

impl Traffic {
    /// An idle network, as large as `guard` allows; packet events go into `log`, if there is one.
    pub fn new(log: Option<PacketLog>, guard: Option<Guard>) -> Traffic {
        Traffic {
            segments: Pool::new(guard.clone()),
            log,
            payloads: Vec::new(),
            marked_losses: MarkedLosses::default(),
            guard,
            losses_left: LOSSES_BETWEEN_QUESTIONS,
            #[cfg(debug_assertions)]
            lost_segments: 0,
            #[cfg(debug_assertions)]
            copied_segments: 0,
            #[cfg(debug_assertions)]
            audit: Audit::default(),
        }
    }

    /// The segment that was written to the place that the pool gave last leaves with `packet`.
    #[inline(always)]
    pub(crate) fn send(&mut self, _packet: &Packet) {
        self.segments.take();
        #[cfg(debug_assertions)]
        self.audit.on_sent(_packet);
    }

    /// Gives a datagram that leaves now a segment if packets are recorded, since the log says when it was sent, or if its
    /// source wants to hear its number.
    #[inline]
    pub(crate) fn send_datagram(&mut self, now: Time, packet: &mut Packet, number: Option<u64>) {
        if self.log.is_some() || number.is_some() {
            let (slot, place) = self.segments.vacant();
            let (size, seq) = (packet.label().size, number.unwrap_or_default());
            *place =
                Segment { seq, wire_size: size, len: u32::from(size), sent_at: now, ..Segment::default() };
            packet.carry(slot);
            self.segments.take();
        }
    }

    /// Gives `packet`, which leaves now, a segment with `datagram`.
    pub(crate) fn send_bytes(&mut self, now: Time, packet: &mut Packet, number: u64, datagram: Datagram) {
        let (slot, place) = self.segments.vacant();
        let size = packet.label().size;
        let flags = match datagram.ecn {
            Codepoint::NotEct => Flags::default(),
            Codepoint::Ect0 => Flags::ECT,
            Codepoint::Ect1 => Flags::ECT.with(Flags::ECT1),
            Codepoint::Ce => Flags::ECT.with(Flags::CE),
        };
        let len = datagram.bytes.len() as u32;
        *place = Segment { seq: number, wire_size: size, len, sent_at: now, flags, ..Segment::default() };
        packet.carry(slot);
        self.segments.take();
        let slot = slot as usize;
        if self.payloads.len() <= slot {
            self.payloads.resize(slot + 1, None);
        }
        self.payloads[slot] = Some(datagram);
    }

    /// See [`crate::net::Net::take_bytes`].
    pub(crate) fn take_bytes(&mut self, packet: &Packet) -> Option<Datagram> {
        let mut datagram = self.payloads.get_mut(packet.segment() as usize)?.take()?;
        datagram.ecn = packet.codepoint();
        Some(datagram)
    }

    /// The number of a datagram that has arrived; those that have none and are recorded are all number 0.
    #[inline]
    pub(crate) fn number_of(&self, packet: &Packet) -> Option<u64> {
        (packet.segment() != Packet::NO_SEGMENT).then(|| self.segments.get(packet.segment()).seq)
    }

    /// Frees the segment of a datagram that has arrived or was lost, if it has one.
    #[inline]
    pub(crate) fn end_datagram(&mut self, packet: &Packet) {
        debug_assert!(packet.is_datagram(), "{packet:?} belongs to a connection");
        if packet.segment() != Packet::NO_SEGMENT {
            self.segments.free(packet.segment());
            if let Some(payload) = self.payloads.get_mut(packet.segment() as usize) {
                *payload = None;
            }
        }
    }

    /// The segment of a packet that is at its endpoint. It may be read until the next one is sent.
    #[inline]
    pub(crate) fn arrive(&mut self, packet: &Packet) -> &Segment {
        #[cfg(debug_assertions)]
        self.audit.on_arrived(packet);
        self.segments.free(packet.segment());
        let segment = self.segments.get_mut(packet.segment());
        if packet.is_marked() {
            segment.flags = segment.flags.with(Flags::CE);
        }
        segment
    }

    /// A packet is lost, at a link or, damaged, at its endpoint: its segment is free.
    pub(crate) fn discard(&mut self, packet: &Packet) {
        if packet.is_datagram() {
            return self.end_datagram(packet);
        }
        #[cfg(debug_assertions)]
        self.audit.on_lost(packet);
        self.segments.free(packet.segment());
    }

    /// A copy of `packet` with a segment of its own.
    fn copy(&mut self, packet: &Packet) -> Packet {
        let mut copy = *packet;
        if packet.segment() == Packet::NO_SEGMENT {
            return copy;
        }
        let segment = *self.segments.get(packet.segment());
        let (slot, place) = self.segments.vacant();
        *place = segment;
        self.segments.take();
        copy.carry(slot);
        if let Some(payload) = self.payloads.get(packet.segment() as usize).cloned() {
            if self.payloads.len() <= slot as usize {
                self.payloads.resize(slot as usize + 1, None);
            }
            self.payloads[slot as usize] = payload;
        }
        #[cfg(debug_assertions)]
        {
            self.copied_segments += 1;
            if !copy.is_datagram() {
                self.audit.on_copied(&copy, packet);
            }
        }
        copy
    }

    /// A link has lost a packet.
    #[cold]
    fn note_loss(&mut self) {
        self.losses_left -= 1;
        if self.losses_left == 0 {
            self.losses_left = LOSSES_BETWEEN_QUESTIONS;
            if let Some(guard) = &self.guard {
                guard.enforce(0);
            }
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, at: Time, link: u16, event: PacketEvent, packet: &Packet) {
        if self.log.is_some() {
            self.push(at, link, event, packet);
        }
    }

    /// Adds an event to the log; out of line, since most runs have no log.
    #[cold]
    #[inline(never)]
    fn push(&mut self, at: Time, link: u16, event: PacketEvent, packet: &Packet) {
        let Some(log) = &mut self.log else { return };
        let before = log.len();
        log.push(&record_of(at, link, event, packet, &self.segments));
        // A full log stays as long as it is: it is not asked about again.
        if log.len() > before
            && log.len().is_multiple_of(EVENTS_BETWEEN_QUESTIONS)
            && let Some(guard) = &self.guard
        {
            // The table that is made of the log counts, too, before there is one.
            guard.enforce(log.len() as u64 * PacketLog::BYTES_PER_EVENT);
        }
    }
}

/// Observes one link, and gives lost packets back to the pool.
pub(crate) struct LinkWatch<'a> {
    /// Measures the link.
    pub meter: &'a mut LinkMeter,
    /// The number of the link.
    pub link: u16,
    /// The segments under way.
    pub traffic: &'a mut Traffic,
}

impl Watch<Packet> for LinkWatch<'_> {
    #[inline]
    fn on_arrival(&mut self, at: Time, packet: &Packet, backlog: Backlog) {
        self.meter.on_arrival(at, packet.wire_size(), backlog);
        self.traffic.record(at, self.link, PacketEvent::Arrival, packet);
    }

    #[cold]
    fn on_lost(&mut self, Lost { at, cause, frame }: Lost<Packet>) {
        self.traffic.note_loss();
        self.meter.on_lost(at, frame.wire_size(), cause);
        if frame.is_reserved() {
            self.meter.on_reserved_lost();
            self.traffic.marked_losses.count(&frame);
        }
        self.traffic.record(at, self.link, PacketEvent::Lost(cause), &frame);
        #[cfg(debug_assertions)]
        {
            self.traffic.lost_segments += u64::from(frame.segment() != Packet::NO_SEGMENT);
        }
        self.traffic.discard(&frame);
    }

    #[cold]
    fn on_copied(&mut self, _: Time, packet: &Packet) -> Option<Packet> {
        self.meter.on_copied(packet.wire_size());
        Some(self.traffic.copy(packet))
    }

    #[cold]
    fn on_damaged(&mut self, _: Time, _: &Packet) {
        self.meter.on_damaged();
    }

    #[cold]
    fn on_transmission(&mut self, _: Time, is_again: bool) {
        self.meter.on_transmission(is_again);
    }

    fn on_mark(&mut self, at: Time, packet: &Packet) {
        self.meter.on_mark();
        self.traffic.record(at, self.link, PacketEvent::Mark, packet);
    }

    #[inline]
    fn on_departure(&mut self, at: Time, arrived: Time, packet: &Packet, backlog: Backlog) {
        self.meter.on_departure(at, arrived, packet.wire_size(), backlog);
        self.traffic.record(at, self.link, PacketEvent::Departure, packet);
    }

    fn on_bypass(&mut self, _: Time, packet: &Packet) {
        self.meter.on_bypass(packet.wire_size());
    }

    fn on_backlog(&mut self, at: Time, backlog: Backlog) {
        self.meter.on_backlog(at, backlog);
    }

    #[cold]
    fn on_capacity(&mut self, at: Time, rate: Rate) {
        self.meter.on_capacity(at, rate);
    }

    #[cold]
    fn on_rate_kept(&mut self, at: Time, rate: Rate, until: Time) {
        self.meter.on_rate_kept(at, rate, until);
    }

    fn on_opportunity(&mut self, _: Time, offered: Bytes, _: Bytes) {
        self.meter.on_opportunity(offered);
    }

    fn on_offered(&mut self) {
        self.meter.on_offered();
    }

    fn on_planned(&mut self, wait: Span, size: Bytes) {
        self.meter.on_planned(wait, size);
    }

    fn on_waiting(&mut self, backlog: Backlog) -> Backlog {
        self.meter.on_waiting(backlog)
    }

    fn on_passed(&mut self, at: Time, arrived: Time, packet: &Packet) {
        debug_assert!(self.traffic.log.is_none(), "the log would miss what is reported late");
        self.meter.on_passed(at - arrived, packet.wire_size());
    }

    fn on_reported(&mut self, ahead: Ahead) {
        self.meter.on_reported(ahead);
    }
}

/// Observes what passes a link whose departures are planned: nothing is logged, and what it has no room for comes back.
pub(crate) struct PipeWatch<'a>(pub &'a mut LinkMeter);

impl Watch<Packet> for PipeWatch<'_> {
    fn on_lost(&mut self, _: Lost<Packet>) {
        debug_assert!(false, "a pipe loses nothing by itself");
    }

    #[inline(always)]
    fn on_offered(&mut self) {
        self.0.on_offered();
    }

    #[inline(always)]
    fn on_planned(&mut self, wait: Span, size: Bytes) {
        self.0.on_planned(wait, size);
    }

    fn on_waiting(&mut self, backlog: Backlog) -> Backlog {
        self.0.on_waiting(backlog)
    }

    #[inline(always)]
    fn on_passed(&mut self, at: Time, arrived: Time, packet: &Packet) {
        self.0.on_passed(at - arrived, packet.wire_size());
    }
}

/// The entry in the log for what happened to a packet.
fn record_of(at: Time, link: u16, event: PacketEvent, packet: &Packet, pool: &Pool<Segment>) -> PacketRecord {
    let owner = PacketOwner {
        group: packet.group(),
        flow: packet.owner(),
        generation: packet.generation(),
        is_reverse: packet.is_reverse(),
    };
    let mut segment = *pool.get(packet.segment());
    if packet.is_reserved() {
        segment.flags = segment.flags.with(Flags::RESERVED); // a link may have marked it
    }
    if packet.is_marked() {
        segment.flags = segment.flags.with(Flags::CE);
    }
    PacketRecord { at, link, event, owner, segment }
}

/// A packet that has just been counted as data conforms to a reservation, or carries no data, such as a SYN or a FIN.
#[cold]
fn on_special(meter: &mut FlowMeter, packet: &Packet) {
    if packet.is_control() {
        return meter.on_no_data(packet.wire_size());
    }
    meter.on_marked(packet.wire_size());
}

fn sender_totals(now: Time, connection: &Connection, marked_losses: u64) -> SenderTotals {
    let sender = &connection.sender;
    let counters = sender.counters();
    let mut totals = SenderTotals {
        sent_packets: counters.sent_packets,
        retransmitted_packets: counters.retransmitted_packets,
        timeouts: counters.timeouts,
        fast_retransmits: counters.fast_retransmits,
        gave_up: sender.gave_up().into(),
        marked_lost_packets: marked_losses,
        lost_tokens: sender.lost_tokens(now).unwrap_or_default(),
        watched: None,
    };
    totals.watch(&connection.app.watched(now));
    totals
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use varicap_experiment::Limits;
    use varicap_units::Span;

    use super::*;
    use crate::budget::Budget;

    /// A guard that lets nothing pass.
    fn strict() -> Option<Guard> {
        let limits = Limits { memory: Some(Bytes::new(1)), time: Some(Span::ZERO) };
        Some(Guard::new(&Arc::new(Budget::new(limits))))
    }

    #[test]
    fn the_guard_is_asked_as_the_log_grows_and_not_once_it_is_full() {
        let mut traffic = Traffic::new(Some(PacketLog::new(EVENTS_BETWEEN_QUESTIONS)), None);
        let mut packet = Packet::datagram(0, 0, Bytes::new(100));
        traffic.send_datagram(Time::ZERO, &mut packet, None);
        let push = |traffic: &mut Traffic| traffic.record(Time::ZERO, 0, PacketEvent::Arrival, &packet);
        (1..EVENTS_BETWEEN_QUESTIONS).for_each(|_| push(&mut traffic));
        traffic.guard = strict();
        let last = catch_unwind(AssertUnwindSafe(|| push(&mut traffic)));
        assert!(last.is_err(), "the guard is asked");
        assert_eq!(traffic.log.as_ref().map(PacketLog::len), Some(EVENTS_BETWEEN_QUESTIONS));
        push(&mut traffic); // unwinds if the guard is asked
        assert!(traffic.log.as_ref().is_some_and(PacketLog::is_truncated));
    }
}
