//! What is measured while a run goes on. Observing never schedules and never draws a random number.

use varicap_experiment::measure::{FlowMeter, LinkMeter, SenderTotals};
use varicap_net::{Backlog, Frame, Lost};
use varicap_tcp::{AckOutcome, Segment, Sender};
use varicap_units::{Bytes, Time};

use crate::connection::Connection;
use crate::packet::{Packet, Pool};

/// The meters of a run, and the packet log if there is one.
pub struct Observer {
    /// One for each link.
    pub links: Vec<LinkMeter>,
    /// One for each flow, or for each group of transfers.
    pub flows: Vec<FlowMeter>,
    /// What the connections that are over have counted, by meter.
    over: Vec<SenderTotals>,
    /// Whether a meter has one connection, whose window is worth following.
    is_single: Vec<bool>,
}

impl Observer {
    /// Meters for `links` links and for flows with these segment sizes; the flag says whether it is a single connection.
    pub fn new(links: usize, flows: &[(Bytes, bool)]) -> Observer {
        Observer {
            links: vec![LinkMeter::new(); links],
            flows: flows.iter().map(|&(mss, _)| FlowMeter::new(mss)).collect(),
            over: vec![SenderTotals::default(); flows.len()],
            is_single: flows.iter().map(|&(_, is_single)| is_single).collect(),
        }
    }

    #[inline]
    pub(crate) fn on_arrival(
        &mut self,
        link: usize,
        at: Time,
        packet: &Packet,
        backlog: Backlog,
        _: &Pool<Segment>,
    ) {
        self.links[link].on_arrival(at, packet.wire_size(), backlog);
    }

    pub(crate) fn on_lost(&mut self, link: usize, lost: &Lost<Packet>, _: &Pool<Segment>) {
        self.links[link].on_lost(lost.at, lost.frame.wire_size(), lost.cause);
    }

    pub(crate) fn on_mark(&mut self, link: usize, _: Time, _: &Packet, _: &Pool<Segment>) {
        self.links[link].on_mark();
    }

    #[inline]
    pub(crate) fn on_departure(
        &mut self,
        link: usize,
        at: Time,
        arrived: Time,
        packet: &Packet,
        backlog: Backlog,
        _: &Pool<Segment>,
    ) {
        self.links[link].on_departure(at, arrived, packet.wire_size(), backlog);
    }

    /// A datagram of `size` came to its end.
    pub(crate) fn on_datagram(&mut self, meter: u32, size: Bytes) {
        self.flows[meter as usize].on_data(size, size);
    }

    /// A data packet of `size` came to its receiver, which had `in_order` new bytes from it.
    #[inline]
    pub(crate) fn on_data(&mut self, connection: &mut Connection, now: Time, in_order: u64, size: Bytes) {
        let meter = &mut self.flows[connection.meter as usize];
        meter.on_data(size, Bytes::new(in_order));
        if let Some(whole) = connection.size
            && !connection.is_delivered
            && connection.receiver.delivered() >= whole.as_u64()
        {
            connection.is_delivered = true;
            meter.on_transfer(whole, now.since(connection.opened));
        }
    }

    /// An acknowledgement came to its sender.
    #[inline]
    pub(crate) fn on_ack(&mut self, connection: &Connection, now: Time, outcome: &AckOutcome) {
        let meter = &mut self.flows[connection.meter as usize];
        if let Some(rtt) = outcome.rtt {
            meter.on_rtt(rtt);
        }
        self.on_window(connection, now);
    }

    /// The sender's window may have changed.
    #[inline]
    pub(crate) fn on_window(&mut self, connection: &Connection, now: Time) {
        let meter = connection.meter as usize;
        if self.is_single[meter] {
            self.flows[meter].on_cwnd(now, connection.sender.cwnd());
        }
    }

    /// A connection is over.
    pub(crate) fn on_close(&mut self, connection: &Connection, now: Time) {
        let meter = connection.meter as usize;
        self.over[meter] = self.over[meter].plus(&sender_totals(&connection.sender));
        if self.is_single[meter] {
            self.flows[meter].on_close(now);
        }
    }

    /// What the senders of each meter have counted so far.
    pub fn sender_totals(&self, connections: &[Connection], datagrams: &[(u32, u64)]) -> Vec<SenderTotals> {
        let mut totals = self.over.clone();
        for connection in connections.iter().filter(|connection| connection.is_open) {
            let total = &mut totals[connection.meter as usize];
            *total = total.plus(&sender_totals(&connection.sender));
        }
        for &(meter, sent) in datagrams {
            totals[meter as usize].sent_packets += sent;
        }
        totals
    }
}

fn sender_totals(sender: &Sender) -> SenderTotals {
    let counters = sender.counters();
    SenderTotals {
        sent_packets: counters.sent_packets,
        retransmitted_packets: counters.retransmitted_packets,
        timeouts: counters.timeouts,
        fast_retransmits: counters.fast_retransmits,
    }
}
