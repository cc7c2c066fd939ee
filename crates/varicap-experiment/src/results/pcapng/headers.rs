//! IPv4, TCP and UDP headers of a simulated packet, with valid checksums over a payload of zeros.

use std::io;

use varicap_tcp::{Flags, MAX_SACK_BLOCKS, Segment};
use varicap_units::Time;

use crate::results::packets::PacketOwner;

const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Port of every receiver (RFC 863: discard).
const RECEIVER_PORT: u16 = 9;
/// Port of a sender's first connection; RFC 6335's dynamic ports begin here.
const SENDER_PORT: u16 = 49_152;
/// Option bytes that fit in a TCP header (RFC 9293 §3.1) [B].
const MOST_OPTIONS: usize = 40;

const OPTION_NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK_PERMITTED: u8 = 4;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;
/// AccECN with the bytes of ECT(0) first (RFC 9768 §3.2.3: order 0).
const OPTION_ACCURATE_ECN: u8 = 172;
/// AccECN with the bytes of ECT(1) first (order 1).
const OPTION_ACCURATE_ECN_1: u8 = 174;

/// The values that make the headers of a flow group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedFlow {
    /// The group sends TCP segments.
    Tcp {
        /// Largest payload, as the SYN advertises it [B].
        mss: u16,
        /// Whether segments carry timestamps (RFC 7323).
        timestamps: bool,
        /// Whether the SYN permits SACK (RFC 2018).
        sack: bool,
        /// By how many bits windows are scaled down, if the SYN says that (RFC 7323).
        window_scale: Option<u8>,
        /// Whether the handshake negotiates ECN (RFC 3168).
        ecn: bool,
    },
    /// The group sends UDP datagrams.
    Datagrams,
}

/// The headers of one packet; the buffer is reused for the next.
#[derive(Debug, Default)]
pub(super) struct PacketBytes {
    headers: Vec<u8>,
    identification: u16,
}

impl PacketBytes {
    /// Makes the headers of a packet and returns the packet's total length [B].
    pub fn fill(&mut self, flow: CapturedFlow, owner: PacketOwner, segment: &Segment) -> io::Result<usize> {
        self.headers.clear();
        self.headers.resize(IP_HEADER, 0);
        let (protocol, payload) = match flow {
            CapturedFlow::Tcp { .. } => {
                self.tcp(flow, owner, segment);
                (PROTOCOL_TCP, segment.len as usize)
            }
            CapturedFlow::Datagrams => {
                let payload = usize::from(segment.wire_size).saturating_sub(IP_HEADER + UDP_HEADER);
                self.udp(owner, payload);
                (PROTOCOL_UDP, payload)
            }
        };
        let length = self.headers.len() + payload;
        let total = u16::try_from(length).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{length} B do not fit in an IPv4 packet"))
        })?;
        self.ip(owner, protocol, total, segment.flags);
        self.transport_checksum(protocol, total - IP_HEADER as u16);
        Ok(length)
    }

    /// The headers without payload.
    pub fn headers(&self) -> &[u8] {
        &self.headers
    }

    fn ip(&mut self, owner: PacketOwner, protocol: u8, total: u16, flags: Flags) {
        // RFC 3168 §5: CE is 11, ECT(1) is 01, ECT(0) is 10.
        let ecn = if flags.has(Flags::CE) {
            0b11
        } else if flags.has(Flags::ECT.with(Flags::ECT1)) {
            0b01
        } else if flags.has(Flags::ECT) {
            0b10
        } else {
            0
        };
        let [.., high, low] = owner.flow.to_be_bytes();
        let (sender, receiver) = ([10, high, low, 1], [10, high, low, 2]);
        let (source, destination) = if owner.is_reverse { (receiver, sender) } else { (sender, receiver) };
        self.identification = self.identification.wrapping_add(1);
        let ip = &mut self.headers[..IP_HEADER];
        ip[0] = 0x45; // version 4, five words
        ip[1] = ecn;
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        ip[4..6].copy_from_slice(&self.identification.to_be_bytes());
        ip[6] = 0x40; // do not fragment
        ip[8] = 64; // time to live
        ip[9] = protocol;
        ip[12..16].copy_from_slice(&source);
        ip[16..20].copy_from_slice(&destination);
        let checksum = !folded(ip.chunks(2).map(word).sum());
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    }

    fn tcp(&mut self, flow: CapturedFlow, owner: PacketOwner, segment: &Segment) {
        let CapturedFlow::Tcp { mss, timestamps, sack, window_scale, ecn } = flow else { return };
        let is_syn = segment.flags.has(Flags::SYN);
        let (mine, theirs) = if owner.is_reverse {
            (initial_receiver_number(owner), initial_sender_number(owner))
        } else {
            (initial_sender_number(owner), initial_receiver_number(owner))
        };
        // A SYN takes the sequence number before the first byte. Every segment but the first SYN acknowledges.
        let acknowledges = !is_syn || owner.is_reverse;
        let first = mine.wrapping_add(1);
        let seq = if is_syn { mine } else { first.wrapping_add(segment.seq as u32) };
        let expected = theirs.wrapping_add(1).wrapping_add(segment.ack as u32);
        // RFC 7323 §2.2: the window of a SYN is not scaled.
        let scale = if is_syn { 0 } else { window_scale.unwrap_or(0) };
        let advertised = u16::try_from(segment.window >> scale).unwrap_or(u16::MAX);
        // No data flows to a sender, so it advertises no window; that must not look like a closed window.
        let window = if owner.is_reverse { advertised } else { u16::MAX };

        self.ports(owner);
        self.headers.extend_from_slice(&seq.to_be_bytes());
        self.headers.extend_from_slice(&(if acknowledges { expected } else { 0 }).to_be_bytes());
        let flags = if is_syn && ecn { segment.flags.with(ecn_setup(acknowledges)) } else { segment.flags };
        self.headers.extend_from_slice(&[0, tcp_flags(flags, acknowledges)]);
        self.headers.extend_from_slice(&window.to_be_bytes());
        self.headers.extend_from_slice(&[0; 4]); // checksum and urgent pointer
        let options = self.headers.len();
        if is_syn {
            self.headers.extend_from_slice(&[OPTION_MSS, 4]);
            self.headers.extend_from_slice(&mss.to_be_bytes());
            if let Some(scale) = window_scale {
                self.headers.extend_from_slice(&[OPTION_NOP, OPTION_WINDOW_SCALE, 3, scale]);
            }
            if sack && !timestamps {
                self.headers.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_SACK_PERMITTED, 2]);
            }
        }
        if timestamps {
            // Linux `tcp_options_write`: SACK-permitted takes the place of the padding.
            let padding = if is_syn && sack { [OPTION_SACK_PERMITTED, 2] } else { [OPTION_NOP; 2] };
            self.headers.extend_from_slice(&padding);
            self.headers.extend_from_slice(&[OPTION_TIMESTAMPS, 10]);
            self.headers.extend_from_slice(&clock(segment.sent_at).to_be_bytes());
            self.headers.extend_from_slice(&clock(segment.echo).to_be_bytes());
        }
        self.ecn_bytes(segment);
        let room = MOST_OPTIONS - (self.headers.len() - options);
        self.sack_blocks(segment, expected, room);
        let words = (self.headers.len() - IP_HEADER) / 4;
        // RFC 9768 §3.2.2: AE is the last bit of this byte.
        self.headers[IP_HEADER + 12] = (words as u8) << 4 | u8::from(flags.has(Flags::AE));
    }

    /// The AccECN option: one counter until a mark has come, then two (RFC 9768 §3.2.3.3).
    fn ecn_bytes(&mut self, segment: &Segment) {
        let Some(bytes) = segment.ecn_bytes() else { return };
        let [_, capable @ ..] = bytes.capable.to_be_bytes();
        let [_, marked @ ..] = bytes.marked.to_be_bytes();
        let kind = if bytes.ect1 { OPTION_ACCURATE_ECN_1 } else { OPTION_ACCURATE_ECN };
        if bytes.marked == 0 {
            self.headers.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_NOP, kind, 5]);
            self.headers.extend_from_slice(&capable);
        } else {
            self.headers.extend_from_slice(&[kind, 8]);
            self.headers.extend_from_slice(&capable);
            self.headers.extend_from_slice(&marked);
        }
    }

    /// As many SACK blocks as there is room for (RFC 2018 §3).
    fn sack_blocks(&mut self, segment: &Segment, expected: u32, room: usize) {
        let count = usize::from(segment.sack_count).min(MAX_SACK_BLOCKS).min(room.saturating_sub(4) / 8);
        if count == 0 {
            return;
        }
        self.headers.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_SACK, 2 + 8 * count as u8]);
        for (start, end) in &segment.sack[..count] {
            self.headers.extend_from_slice(&expected.wrapping_add(*start).to_be_bytes());
            self.headers.extend_from_slice(&expected.wrapping_add(*end).to_be_bytes());
        }
    }

    fn udp(&mut self, owner: PacketOwner, payload: usize) {
        self.ports(owner);
        // A datagram that is too long is refused when the IP header is made.
        let length = u16::try_from(UDP_HEADER + payload).unwrap_or(u16::MAX);
        self.headers.extend_from_slice(&length.to_be_bytes());
        self.headers.extend_from_slice(&[0; 2]);
    }

    fn ports(&mut self, owner: PacketOwner) {
        // Flows beyond 65,536 share addresses and differ in the receiver's port; successive connections
        // differ in the sender's port.
        let sender = SENDER_PORT + owner.generation % (u16::MAX - SENDER_PORT);
        let receiver = RECEIVER_PORT.wrapping_add((owner.flow >> 16) as u16);
        let (source, destination) = if owner.is_reverse { (receiver, sender) } else { (sender, receiver) };
        self.headers.extend_from_slice(&source.to_be_bytes());
        self.headers.extend_from_slice(&destination.to_be_bytes());
    }

    /// The checksum over the pseudo-header, the header and the payload, whose zeros add nothing.
    fn transport_checksum(&mut self, protocol: u8, length: u16) {
        let addresses: u32 = self.headers[12..IP_HEADER].chunks(2).map(word).sum();
        let transport: u32 = self.headers[IP_HEADER..].chunks(2).map(word).sum();
        let mut checksum = !folded(addresses + u32::from(protocol) + u32::from(length) + transport);
        let place = IP_HEADER + if protocol == PROTOCOL_TCP { 16 } else { 6 };
        if protocol == PROTOCOL_UDP && checksum == 0 {
            checksum = u16::MAX; // RFC 768: zero means that there is no checksum
        }
        self.headers[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The flags of a SYN, or of its answer, by which a connection negotiates ECN. Source: RFC 3168 §6.1.1.
fn ecn_setup(is_answer: bool) -> Flags {
    if is_answer { Flags::ECE } else { Flags::ECE.with(Flags::CWR) }
}

fn tcp_flags(flags: Flags, acknowledges: bool) -> u8 {
    let bit = |is_set: bool, bit: u8| if is_set { 1 << bit } else { 0 };
    bit(flags.has(Flags::FIN), 0)
        | bit(flags.has(Flags::SYN), 1)
        | bit(flags.has(Flags::PUSH), 3)
        | bit(acknowledges, 4)
        | bit(flags.has(Flags::ECE), 6)
        | bit(flags.has(Flags::CWR), 7)
}

/// Initial sequence numbers: fixed, different for each flow and each direction.
fn initial_sender_number(owner: PacketOwner) -> u32 {
    owner.flow.wrapping_add(1).wrapping_mul(1_000_000).wrapping_add(u32::from(owner.generation))
}

fn initial_receiver_number(owner: PacketOwner) -> u32 {
    initial_sender_number(owner).wrapping_add(1 << 31)
}

/// A timestamp clock of one tick per millisecond (RFC 7323 §5.4).
fn clock(at: Time) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}

fn word(bytes: &[u8]) -> u32 {
    u32::from(u16::from_be_bytes([bytes[0], bytes.get(1).copied().unwrap_or(0)]))
}

/// The one's complement sum of RFC 1071.
fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
