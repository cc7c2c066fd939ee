//! Real packets on simulated links: their bytes stay in a pool while a small handle travels.

use varicap_net::{Codepoint, Frame};
use varicap_units::Bytes;

/// The handle of a packet under way: the place of its bytes, and its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packet {
    /// The slot of its bytes in the pool.
    pub slot: u32,
    /// The number by which the [`Director`](crate::emulator::Director) identifies its flow.
    pub tag: u32,
    /// Size that links see [B].
    pub size: u16,
    /// The number of its route.
    pub route: u16,
    /// Index of the next node of its route.
    pub hop: u8,
    flags: u8,
}

impl Packet {
    const ECT: u8 = 1;
    const CE: u8 = 2;
    const CONTROL: u8 = 4;
    const RESERVED: u8 = 8;
    const ECT1: u8 = 16;
    const DAMAGED: u8 = 32;

    /// The packet in `slot`, at the beginning of `route`.
    pub fn new(slot: u32, bytes: &[u8], route: u16, tag: u32, size: u16) -> Packet {
        // RFC 3168 §5.
        let mut flags = match ipv4::ecn(bytes) {
            0b00 => 0,
            0b01 => Packet::ECT | Packet::ECT1,
            0b10 => Packet::ECT,
            _ => Packet::ECT | Packet::CE,
        };
        if ipv4::parse(bytes).is_some_and(|headers| headers.protocol == ipv4::TCP && headers.payload == 0) {
            flags |= Packet::CONTROL;
        }
        Packet { slot, tag, size, route, hop: 0, flags }
    }

    /// The tag of the packets that have the number `flow` of [`Frame::flow`].
    pub fn tag_of_flow(flow: u32) -> u32 {
        flow >> 1
    }

    /// Whether it goes from a receiver to its sender.
    pub fn is_reverse(&self) -> bool {
        !self.route.is_multiple_of(2)
    }

    /// Whether a link has damaged it.
    pub fn is_damaged(&self) -> bool {
        self.flags & Packet::DAMAGED != 0
    }

    /// Whether a queue has marked it.
    pub fn is_marked(&self) -> bool {
        self.flags & Packet::CE != 0
    }
}

impl Frame for Packet {
    fn wire_size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    fn mark_ce(&mut self) -> bool {
        let capable = self.flags & Packet::ECT != 0;
        if capable {
            self.flags |= Packet::CE;
        }
        capable
    }

    fn codepoint(&self) -> Codepoint {
        match self.flags & (Packet::ECT | Packet::ECT1 | Packet::CE) {
            0 => Codepoint::NotEct,
            Packet::ECT => Codepoint::Ect0,
            flags if flags & Packet::CE == 0 => Codepoint::Ect1,
            _ => Codepoint::Ce,
        }
    }

    fn is_control(&self) -> bool {
        self.flags & Packet::CONTROL != 0
    }

    fn is_reserved(&self) -> bool {
        self.flags & Packet::RESERVED != 0
    }

    fn set_reserved(&mut self, reserved: bool) {
        self.flags = if reserved { self.flags | Packet::RESERVED } else { self.flags & !Packet::RESERVED };
    }

    fn damage(&mut self) {
        self.flags |= Packet::DAMAGED;
    }

    fn flow(&self) -> u32 {
        self.tag << 1 | u32::from(self.is_reverse())
    }

    fn group(&self) -> u16 {
        self.route / 2
    }
}

/// The bytes of the packets under way, in slots of equal size that are reused.
#[derive(Debug)]
pub struct Pool {
    bytes: Vec<u8>,
    lengths: Vec<u16>,
    free: Vec<u32>,
    slot_size: usize,
}

impl Pool {
    /// An empty pool for packets of at most `largest` bytes.
    pub fn new(largest: u32) -> Pool {
        Pool { bytes: Vec::new(), lengths: Vec::new(), free: Vec::new(), slot_size: largest as usize }
    }

    /// A free slot for the next packet; [`Pool::keep`] takes it.
    pub fn vacant(&mut self) -> (u32, &mut [u8]) {
        if self.free.is_empty() {
            self.free.push(self.lengths.len() as u32);
            self.lengths.push(0);
            self.bytes.resize(self.lengths.len() * self.slot_size, 0);
        }
        let slot = self.free[self.free.len() - 1];
        let start = slot as usize * self.slot_size;
        (slot, &mut self.bytes[start..start + self.slot_size])
    }

    /// Takes the slot that [`Pool::vacant`] returned last, which now holds a packet of `length` bytes.
    pub fn keep(&mut self, length: usize) {
        if let Some(slot) = self.free.pop() {
            self.lengths[slot as usize] = length as u16;
        }
    }

    /// Copies the packet in `slot` into a slot of its own.
    pub fn copy(&mut self, slot: u32) -> u32 {
        let (from, length) = (slot as usize * self.slot_size, usize::from(self.lengths[slot as usize]));
        let copy = self.vacant().0;
        self.keep(length);
        self.bytes.copy_within(from..from + length, copy as usize * self.slot_size);
        copy
    }

    /// The packet in `slot`.
    pub fn get(&self, slot: u32) -> &[u8] {
        let start = slot as usize * self.slot_size;
        &self.bytes[start..start + usize::from(self.lengths[slot as usize])]
    }

    /// The packet in `slot`, mutably.
    pub fn get_mut(&mut self, slot: u32) -> &mut [u8] {
        let start = slot as usize * self.slot_size;
        &mut self.bytes[start..start + usize::from(self.lengths[slot as usize])]
    }

    /// Frees `slot`, whose packet is no longer needed.
    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

/// The fields of an IPv4 header (RFC 791) and of the TCP or UDP header behind it.
pub mod ipv4 {
    /// Protocol number of TCP.
    pub const TCP: u8 = 6;

    /// The header fields that the emulator needs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Headers {
        /// Protocol number.
        pub protocol: u8,
        /// Address of the sender.
        pub source: [u8; 4],
        /// Address of the receiver.
        pub destination: [u8; 4],
        /// Port of the sender.
        pub source_port: u16,
        /// Port of the receiver.
        pub destination_port: u16,
        /// TCP: sequence number of the first byte.
        pub sequence: u32,
        /// TCP: acknowledgement number, if the ACK flag is set.
        pub acknowledged: Option<u32>,
        /// TCP: the segment opens the connection (SYN).
        pub is_syn: bool,
        /// TCP: the segment ends its direction (FIN).
        pub is_fin: bool,
        /// TCP: the segment ends the connection (FIN or RST).
        pub is_last: bool,
        /// Payload behind the headers [B].
        pub payload: u16,
    }

    /// Parses the headers of an IPv4 packet with ports; `None` for any other packet.
    pub fn parse(packet: &[u8]) -> Option<Headers> {
        let first = *packet.first()?;
        if first >> 4 != 4 {
            return None;
        }
        let length = usize::from(first & 15) * 4;
        let whole = usize::from(be16(packet, 2)?).min(packet.len());
        let protocol = *packet.get(9)?;
        let transport = packet.get(length..whole)?;
        let mut headers = Headers {
            protocol,
            source: packet.get(12..16)?.try_into().ok()?,
            destination: packet.get(16..20)?.try_into().ok()?,
            source_port: be16(transport, 0)?,
            destination_port: be16(transport, 2)?,
            sequence: 0,
            acknowledged: None,
            is_syn: false,
            is_fin: false,
            is_last: false,
            payload: (transport.len() as u16).saturating_sub(8),
        };
        if protocol == TCP {
            let flags = *transport.get(13)?;
            headers.sequence = be32(transport, 4)?;
            headers.acknowledged = (flags & 0x10 != 0).then(|| be32(transport, 8)).flatten();
            headers.is_syn = flags & 2 != 0;
            headers.is_fin = flags & 1 != 0;
            headers.is_last = flags & 5 != 0;
            headers.payload = (transport.len() as u16).saturating_sub(u16::from(transport[12] >> 4) * 4);
        }
        Some(headers)
    }

    /// The part of a TCP header that the packet log needs in addition to [`Headers`].
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Tcp {
        /// The flag with which a write of the sender's application ends.
        pub psh: bool,
        /// The ECN echo flag.
        pub ece: bool,
        /// The flag by which a sender reports that it has reduced its window.
        pub cwr: bool,
        /// Accurate ECN's flag (RFC 9768).
        pub ae: bool,
        /// Payload that arrived as ECT(0), or as ECT(1) if the AccECN option has order 1, and as CE (RFC 9768 §3.2.3) [B].
        pub ecn_bytes: Option<(u32, u32)>,
        /// Whether that option has order 1.
        pub ect1_first: bool,
        /// Advertised window, not scaled.
        pub window: u16,
        /// By how many bits the windows that follow are scaled down, in a SYN.
        pub window_scale: Option<u8>,
        /// The timestamp, and the one that it echoes.
        pub timestamps: Option<(u32, u32)>,
        /// SACK blocks.
        pub sack: Vec<(u32, u32)>,
    }

    /// The TCP header of an IPv4 packet with its options; `None` for any other packet.
    pub fn tcp(packet: &[u8]) -> Option<Tcp> {
        const WINDOW_SCALE: u8 = 3;
        const SACK: u8 = 5;
        const ACCURATE_ECN_0: u8 = 172;
        const ACCURATE_ECN_1: u8 = 174;
        const TIMESTAMPS: u8 = 8;
        parse(packet).filter(|headers| headers.protocol == TCP)?;
        let header = packet.get(usize::from(packet[0] & 15) * 4..)?;
        let flags = *header.get(13)?;
        let mut tcp = Tcp {
            psh: flags & 0x08 != 0,
            ece: flags & 0x40 != 0,
            cwr: flags & 0x80 != 0,
            ae: header[12] & 1 != 0,
            window: be16(header, 14)?,
            ..Tcp::default()
        };
        let mut options = header.get(20..usize::from(header[12] >> 4) * 4)?;
        while let [kind, rest @ ..] = options {
            match kind {
                0 => break,
                1 => {
                    options = rest;
                    continue;
                }
                _ => {}
            }
            let Some(option) = rest.first().and_then(|length| options.get(2..usize::from(*length))) else {
                break; // it does not fit
            };
            match *kind {
                WINDOW_SCALE => tcp.window_scale = option.first().copied(),
                TIMESTAMPS => tcp.timestamps = be32(option, 0).zip(be32(option, 4)),
                ACCURATE_ECN_0 | ACCURATE_ECN_1 => {
                    // Fields that have not moved may be left out, the last ones first; that of CE begins at zero.
                    let counted = |at: usize| {
                        let field = option.get(at..at + 3)?;
                        Some(u32::from_be_bytes([0, field[0], field[1], field[2]]))
                    };
                    tcp.ecn_bytes = counted(0).map(|capable| (capable, counted(3).unwrap_or(0)));
                    tcp.ect1_first = *kind == ACCURATE_ECN_1;
                }
                SACK => {
                    let blocks = option.chunks_exact(8);
                    tcp.sack = blocks.filter_map(|block| be32(block, 0).zip(be32(block, 4))).collect();
                }
                _ => {}
            }
            options = &options[2 + option.len()..];
        }
        Some(tcp)
    }

    /// The two ECN bits of a packet; zero if it is not an IPv4 packet.
    pub fn ecn(packet: &[u8]) -> u8 {
        match packet {
            [first, tos, ..] if first >> 4 == 4 => tos & 3,
            _ => 0,
        }
    }

    /// Sets "congestion experienced" (RFC 3168 §5), with the checksum corrected (RFC 1624).
    pub fn mark_ce(packet: &mut [u8]) {
        let (Some(old), Some(sum)) = (be16(packet, 0), be16(packet, 10)) else { return };
        let new = old | 3;
        let total = u32::from(!sum) + u32::from(!old) + u32::from(new);
        let folded = (total & 0xffff) + (total >> 16);
        let sum = !(((folded & 0xffff) + (folded >> 16)) as u16);
        packet[1] = new as u8;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Damages a TCP or UDP packet so that its receiver finds the checksum wrong, and nobody finds more.
    pub fn damage(packet: &mut [u8]) {
        const UDP: u8 = 17;
        let (Some(first), Some(protocol)) = (packet.first().copied(), packet.get(9).copied()) else { return };
        let at = match protocol {
            TCP => 16,
            UDP => 6,
            _ => return,
        };
        let at = usize::from(first & 15) * 4 + at;
        let Some(sum) = be16(packet, at) else { return };
        // A UDP checksum of zero would say that there is none.
        let wrong = if sum ^ 1 == 0 { sum ^ 2 } else { sum ^ 1 };
        packet[at..at + 2].copy_from_slice(&wrong.to_be_bytes());
    }

    fn be16(bytes: &[u8], at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
    }

    fn be32(bytes: &[u8], at: usize) -> Option<u32> {
        Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of an IPv4 header: zero over a header that carries its own.
    fn checksum(header: &[u8]) -> u16 {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        !(((folded & 0xffff) + (folded >> 16)) as u16)
    }

    #[test]
    fn damage_changes_the_checksum_of_the_transport_and_nothing_else() {
        let (whole, mut packet) = (packet(), packet());
        ipv4::damage(&mut packet);
        let changed: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != packet[at]).collect();
        assert_eq!(changed, [37], "the second byte of TCP's checksum, behind 20 bytes of IP");
        // UDP: a checksum of 1 would become 0, which says that there is none.
        let mut datagram = vec![0x45, 0, 0, 28, 1, 2, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        datagram.extend([0x30, 0x39, 0, 80, 0, 8, 0, 1]);
        ipv4::damage(&mut datagram);
        assert_eq!(datagram[26..28], [0, 3]);
        for mut short in [vec![], vec![0x45], vec![0x45; 21]] {
            ipv4::damage(&mut short); // what is no packet is left alone
        }
    }

    #[test]
    fn a_copy_has_a_slot_of_its_own() {
        let mut pool = Pool::new(100);
        let (slot, place) = pool.vacant();
        place[..3].copy_from_slice(&[1, 2, 3]);
        pool.keep(3);
        let copy = pool.copy(slot);
        pool.get_mut(slot)[0] = 9;
        assert_eq!((pool.get(copy), pool.get(slot)), (&[1, 2, 3][..], &[9, 2, 3][..]));
    }

    fn packet() -> Vec<u8> {
        let mut packet = vec![0x45, 0x02, 0, 52, 1, 2, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend([0x30, 0x39, 0, 80, 0, 0, 1, 0, 0, 0, 2, 0, 0x80, 0x10, 0, 0, 0, 0, 0, 0]);
        packet.extend([1; 12]);
        packet
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut packet = packet();
        assert_eq!((ipv4::ecn(&packet), checksum(&packet[..20])), (2, 0));
        ipv4::mark_ce(&mut packet);
        assert_eq!((ipv4::ecn(&packet), checksum(&packet[..20])), (3, 0));
    }

    #[test]
    fn headers_are_read_and_truncated_packets_refused() {
        let packet = packet();
        let headers = ipv4::parse(&packet).unwrap();
        assert_eq!((headers.source_port, headers.destination_port), (12345, 80));
        assert_eq!((headers.sequence, headers.acknowledged, headers.payload), (256, Some(512), 0));
        assert_eq!(headers.destination, [10, 0, 0, 2]);
        for length in 0..33 {
            assert_eq!(ipv4::parse(&packet[..length]), None, "{length}");
        }
        assert_eq!(ipv4::parse(&[0x60; 60]), None);
        let acknowledgement = Packet::new(0, &packet, 0, 0, 52);
        assert!(acknowledgement.is_control(), "it carries no data");
    }

    #[test]
    fn options_of_a_header_are_read_as_far_as_they_fit() {
        let mut packet = packet();
        packet[32] = 0x80; // eight words: twelve bytes of options
        packet[33] = 0xd0; // CWR, ECE, ACK
        packet[34..36].copy_from_slice(&[1, 2]);
        packet[40..52].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        let tcp = ipv4::tcp(&packet).unwrap();
        assert_eq!((tcp.ece, tcp.cwr, tcp.window, tcp.timestamps), (true, true, 258, Some((7, 9))));
        assert_eq!((tcp.ae, tcp.ecn_bytes), (false, None));
        packet[32] = 0x81; // AE
        packet[40..52].copy_from_slice(&[172, 8, 1, 0, 2, 0, 0, 3, 1, 1, 1, 0]);
        let tcp = ipv4::tcp(&packet).unwrap();
        assert_eq!((tcp.ae, tcp.ecn_bytes, tcp.ect1_first), (true, Some((0x01_0002, 3)), false));
        packet[40] = 174;
        let tcp = ipv4::tcp(&packet).unwrap();
        assert_eq!((tcp.ecn_bytes, tcp.ect1_first), (Some((0x01_0002, 3)), true));
        packet[40..45].copy_from_slice(&[172, 5, 0, 0, 1]);
        packet[45] = 0;
        assert_eq!(ipv4::tcp(&packet).unwrap().ecn_bytes, Some((1, 0)));
        packet[40..52].copy_from_slice(&[3, 3, 7, 1, 5, 10, 0, 0, 1, 0, 0, 0]);
        let tcp = ipv4::tcp(&packet).unwrap();
        assert_eq!((tcp.window_scale, tcp.sack.len()), (Some(7), 0), "the second option is cut off");
    }

    #[test]
    fn only_capable_packets_are_marked() {
        let mut capable = Packet::new(0, &packet(), 0, 0, 52);
        assert!(capable.mark_ce() && capable.is_marked());
        for (field, codepoint) in
            [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce].into_iter().enumerate()
        {
            let mut bytes = packet();
            bytes[1] = field as u8;
            let mut packet = Packet::new(0, &bytes, 0, 0, 52);
            assert_eq!((packet.codepoint(), codepoint as usize), (codepoint, field));
            assert_eq!(packet.mark_ce(), packet.codepoint() == Codepoint::Ce, "{codepoint:?}");
        }
        let mut plain = packet();
        plain[1] = 0;
        let mut other = Packet::new(0, &plain, 0, 0, 52);
        assert!(!other.mark_ce() && !other.is_marked());
    }

    #[test]
    fn the_pool_uses_slots_again() {
        let mut pool = Pool::new(4);
        let fill = |pool: &mut Pool, byte: u8, length: usize| {
            let (slot, bytes) = pool.vacant();
            bytes[..length].fill(byte);
            pool.keep(length);
            slot
        };
        let (a, b) = (fill(&mut pool, 1, 4), fill(&mut pool, 2, 2));
        pool.free(a);
        assert_eq!(fill(&mut pool, 3, 1), a);
        assert_eq!((pool.get(a), pool.get(b)), ([3].as_slice(), [2, 2].as_slice()));
    }
}
