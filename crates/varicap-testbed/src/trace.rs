//! The packet log of a run in real time: what happens at the links to real packets, in the simulator's terms.

use std::collections::HashMap;

use varicap_engine::meters_of;
use varicap_experiment::Network;
use varicap_experiment::packets::{PacketEvent, PacketLog, PacketOwner, PacketRecord};
use varicap_net::Frame;
use varicap_tcp::{EcnBytes, Flags, MAX_SACK_BLOCKS, Segment};
use varicap_units::{Span, Time};

use crate::addresses::FIRST_PORT;
use crate::packet::{Packet, ipv4};

/// Logs the events of packets, whose headers it reads when they enter the network.
#[derive(Debug)]
pub struct Trace {
    log: PacketLog,
    /// The number of the first flow of each group, and whether its flows have fixed ports.
    groups: Vec<(u32, bool)>,
    /// The state of each connection's directions: from its sender, then back.
    connections: HashMap<u32, [Direction; 2]>,
    /// The segment in each slot of the pool.
    segments: Vec<Segment>,
}

/// The state that reading the headers of one direction of a connection needs.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// The number of the SYN, which comes before the first byte.
    initial: u32,
    /// The first byte that has not been sent.
    end: u64,
    /// By how many bits its windows are scaled down.
    window_scale: u8,
    /// The real timestamp at time zero [ms].
    clock: Option<u32>,
}

impl Direction {
    /// The offset in the stream of a sequence number near its end; -1, the SYN's, counts as zero.
    fn offset(&self, number: u32) -> u64 {
        let expected = self.initial.wrapping_add(1).wrapping_add(self.end as u32);
        let apart = i64::from(number.wrapping_sub(expected) as i32);
        self.end.saturating_add_signed(apart)
    }
}

impl Trace {
    /// An empty log of at most `limit` events for the flows of `network`.
    pub fn new(network: &Network, limit: usize) -> Trace {
        let mut first = 0;
        let groups = network.flows.iter().map(|flow| {
            let group = (first, !flow.carries_arrivals());
            first += meters_of(flow);
            group
        });
        let groups = groups.collect();
        Trace { log: PacketLog::new(limit), groups, connections: HashMap::new(), segments: Vec::new() }
    }

    /// The log.
    pub fn into_log(self) -> PacketLog {
        self.log
    }

    /// Reads the headers of a packet that enters the network at `now`.
    pub fn on_sent(&mut self, now: Time, packet: &Packet, bytes: &[u8]) {
        let segment = self.read(now, packet, bytes);
        let slot = packet.slot as usize;
        if self.segments.len() <= slot {
            self.segments.resize(slot + 1, Segment::default());
        }
        self.segments[slot] = segment;
    }

    /// Logs that `event` happened to a packet at link number `link`.
    pub fn record(&mut self, at: Time, link: u16, event: PacketEvent, packet: &Packet) {
        let (first, has_ports) = self.groups[usize::from(packet.group())];
        let port = packet.tag as u16;
        let (flow, generation) =
            if has_ports { (first + u32::from(port.saturating_sub(FIRST_PORT)), 0) } else { (first, port) };
        let owner = PacketOwner { group: packet.group(), flow, generation, is_reverse: packet.is_reverse() };
        let mut segment = self.segments.get(packet.slot as usize).copied().unwrap_or_default();
        if packet.is_marked() {
            segment.flags = segment.flags.with(Flags::CE);
        }
        if packet.is_reserved() {
            segment.flags = segment.flags.with(Flags::RESERVED);
        }
        self.log.push(&PacketRecord { at, link, event, owner, segment });
    }

    fn read(&mut self, now: Time, packet: &Packet, bytes: &[u8]) -> Segment {
        let mut segment = Segment { sent_at: now, wire_size: packet.size, ..Segment::default() };
        let Some((headers, tcp)) = ipv4::parse(bytes).zip(ipv4::tcp(bytes)) else {
            segment.len = u32::from(packet.size);
            return segment;
        };
        let connection = self.connections.entry(packet.tag).or_default();
        let (own, peer) = (usize::from(packet.is_reverse()), usize::from(!packet.is_reverse()));
        if headers.is_syn {
            let scale = tcp.window_scale.unwrap_or(0);
            connection[own] =
                Direction { initial: headers.sequence, window_scale: scale, ..Direction::default() };
        }
        segment.len = u32::from(headers.payload);
        segment.seq = connection[own].offset(headers.sequence);
        segment.flags = flags_of(&headers, &tcp, ipv4::ecn(bytes));
        let end = segment.end();
        // The receiver's direction has no data, and its FIN says nothing about round trips.
        if (segment.len > 0 || headers.is_fin && !packet.is_reverse()) && end <= connection[own].end {
            segment.flags = segment.flags.with(Flags::RESENT);
        }
        connection[own].end = connection[own].end.max(end);
        let scale = if headers.is_syn { 0 } else { connection[own].window_scale };
        segment.window = u32::from(tcp.window) << scale;
        if let Some(acknowledged) = headers.acknowledged {
            segment.ack = connection[peer].offset(acknowledged);
            for (start, stop) in tcp.sack.iter().take(MAX_SACK_BLOCKS) {
                let block = (start.wrapping_sub(acknowledged), stop.wrapping_sub(acknowledged));
                segment.sack[usize::from(segment.sack_count)] = block;
                segment.sack_count += 1;
            }
        }
        if let Some((capable, marked)) = tcp.ecn_bytes
            && usize::from(segment.sack_count) < MAX_SACK_BLOCKS
        {
            segment.count_ecn(EcnBytes { capable, marked, ect1: tcp.ect1_first });
        }
        if let Some((value, echo)) = tcp.timestamps {
            let sent_ms = (now.as_nanos() / 1_000_000) as u32;
            connection[own].clock.get_or_insert(value.wrapping_sub(sent_ms));
            if let Some(clock) = connection[peer].clock {
                segment.echo = Time::ZERO + Span::from_millis(u64::from(echo.wrapping_sub(clock)));
            }
        }
        segment
    }
}

fn flags_of(headers: &ipv4::Headers, tcp: &ipv4::Tcp, ecn: u8) -> Flags {
    const ECT1: u8 = 1;
    const CE: u8 = 3;
    let all = [
        (headers.is_syn, Flags::SYN),
        (headers.is_fin, Flags::FIN),
        (headers.acknowledged.is_some(), Flags::ACK),
        (tcp.psh, Flags::PUSH),
        (tcp.ece, Flags::ECE),
        (tcp.cwr, Flags::CWR),
        (tcp.ae, Flags::AE),
        (ecn != 0, Flags::ECT),
        (ecn == ECT1, Flags::ECT1),
        (ecn == CE, Flags::CE),
    ];
    let set = all.into_iter().filter(|(is_set, _)| *is_set);
    set.fold(Flags::default(), |flags, (_, flag)| flags.with(flag))
}
