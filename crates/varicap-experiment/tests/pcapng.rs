//! Captures are read back with other people's parsers, and every checksum is computed again.

use etherparse::{
    Ipv4Slice, NetSlice, SlicedPacket, TcpOptionElement, TcpOptionReadError, TcpSlice, TransportSlice,
};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use proptest::prelude::*;
use varicap_experiment::packets::{PacketEvent, PacketLog, PacketOwner, PacketRecord};
use varicap_experiment::pcapng::{Capture, CapturedFlow, SnapLen, write_capture};
use varicap_net::LossCause;
use varicap_tcp::{AccurateEcn, EcnBytes, EcnMode, Flags, Recovery, Segment, Sender, TcpConfig};
use varicap_units::{Amount, Bytes, Time};

const PLAIN: CapturedFlow =
    CapturedFlow::Tcp { mss: 1460, timestamps: false, sack: true, window_scale: Some(7), ecn: false };
const STAMPED: CapturedFlow =
    CapturedFlow::Tcp { mss: 1448, timestamps: true, sack: true, window_scale: Some(0), ecn: false };
const DATA: PacketOwner = PacketOwner { group: 0, flow: 0, generation: 0, is_reverse: false };
const ACK: PacketOwner = PacketOwner { group: 0, flow: 0, generation: 0, is_reverse: true };

fn record(owner: PacketOwner, segment: Segment) -> PacketRecord {
    PacketRecord { at: segment.sent_at, link: 0, event: PacketEvent::Arrival, owner, segment }
}

fn data(seq: u64, len: u32) -> Segment {
    Segment { seq, len, window: 65_535, flags: Flags::ACK, wire_size: len as u16 + 40, ..Segment::default() }
}

fn capture(records: &[PacketRecord], groups: &[CapturedFlow], snap: SnapLen) -> Vec<u8> {
    let mut capture = Capture::new(Vec::new(), &["forward", "reverse"], groups, snap, None).unwrap();
    for record in records {
        capture.packet(record, None).unwrap();
    }
    capture.finish().unwrap()
}

/// The packets of a capture, and the names of its interfaces.
fn parse(file: &[u8]) -> (Vec<EnhancedPacketBlock<'static>>, Vec<String>) {
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push(packet.into_owned());
        }
    }
    let mut names = Vec::new();
    for interface in reader.interfaces() {
        assert_eq!(u32::from(interface.linktype), 101);
        for option in &interface.options {
            match option {
                InterfaceDescriptionOption::IfName(name) => names.push(name.to_string()),
                InterfaceDescriptionOption::IfTsResol(resolution) => assert_eq!(*resolution, 9),
                _ => {}
            }
        }
    }
    (packets, names)
}

/// The headers of one packet, whose IP and TCP checksums hold and whose lengths agree.
fn tcp_of(packet: &EnhancedPacketBlock<'static>) -> (Ipv4Slice<'static>, TcpSlice<'static>) {
    let bytes: &'static [u8] = packet.data.to_vec().leak();
    let sliced = SlicedPacket::from_ip(bytes).unwrap();
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (sliced.net, sliced.transport) else {
        panic!("not TCP over IPv4");
    };
    assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
    assert_eq!(usize::from(ip.header().total_len()), bytes.len());
    assert_eq!(
        tcp.checksum(),
        tcp.calc_checksum_ipv4(ip.header().source_addr().octets(), ip.header().destination_addr().octets())
            .unwrap()
    );
    (ip, tcp)
}

fn one(record: PacketRecord, group: CapturedFlow) -> (Ipv4Slice<'static>, TcpSlice<'static>) {
    tcp_of(&parse(&capture(&[record], &[group], SnapLen::WHOLE)).0[0])
}

#[test]
fn each_link_is_an_interface_and_times_are_nanoseconds() {
    let at = Time::from_nanos(5_000_000_123);
    let second = PacketRecord { at, link: 1, ..record(ACK, Segment::default()) };
    let (packets, names) = parse(&capture(&[record(DATA, data(0, 1460)), second], &[PLAIN], SnapLen::WHOLE));
    assert_eq!(names, ["forward", "reverse"]);
    assert_eq!((packets[0].interface_id, packets[1].interface_id), (0, 1));
    assert_eq!(packets[1].timestamp.as_nanos(), 5_000_000_123);
}

#[test]
fn the_length_of_a_packet_is_its_simulated_size() {
    let (ip, tcp) = one(record(DATA, data(0, 1460)), PLAIN);
    assert_eq!((ip.header().total_len(), tcp.payload().len()), (1500, 1460));
    let stamped = Segment { wire_size: 1448 + 52, ..data(0, 1448) };
    assert_eq!(one(record(DATA, stamped), STAMPED).0.header().total_len(), 1500);
    let sack = Segment { sack: [(10, 20), (30, 40), (0, 0), (0, 0)], sack_count: 2, ..data(0, 0) };
    assert_eq!(one(record(ACK, sack), PLAIN).0.header().total_len(), 40 + 20);
}

#[test]
fn a_handshake_takes_the_numbers_before_the_first_byte() {
    let syn = Segment { flags: Flags::SYN, ..data(0, 0) };
    let (_, syn) = one(record(DATA, syn), PLAIN);
    let (_, syn_ack) = one(record(ACK, Segment { flags: Flags::SYN.with(Flags::ACK), ..data(0, 0) }), PLAIN);
    let (_, first) = one(record(DATA, data(0, 1460)), PLAIN);
    let (_, ack) = one(record(ACK, Segment { ack: 1460, ..data(0, 0) }), PLAIN);
    assert!(syn.syn() && !syn.ack() && syn_ack.syn() && syn_ack.ack());
    assert_eq!(syn_ack.acknowledgment_number(), syn.sequence_number() + 1);
    assert_eq!(first.sequence_number(), syn.sequence_number() + 1);
    assert_eq!(first.acknowledgment_number(), syn_ack.sequence_number() + 1);
    assert_eq!(ack.acknowledgment_number(), first.sequence_number() + 1460);
    let options: Vec<TcpOptionElement> = syn.options_iterator().map(Result::unwrap).collect();
    for option in [
        TcpOptionElement::MaximumSegmentSize(1460),
        TcpOptionElement::WindowScale(7),
        TcpOptionElement::SelectiveAcknowledgementPermitted,
    ] {
        assert!(options.contains(&option), "{option:?}");
    }
}

#[test]
fn a_fin_takes_the_number_behind_the_data() {
    let (_, last) = one(record(DATA, Segment { flags: Flags::FIN, ..data(0, 1460) }), PLAIN);
    assert!(last.fin() && last.ack() && last.payload().len() == 1460);
    let answer = Segment { ack: 1461, flags: Flags::ACK.with(Flags::FIN), ..data(0, 0) };
    let (_, answer) = one(record(ACK, answer), PLAIN);
    assert!(answer.fin() && !last.syn());
    assert_eq!(answer.acknowledgment_number(), last.sequence_number() + 1460 + 1);
    let (_, end) = one(record(DATA, Segment { ack: 1, ..data(1461, 0) }), PLAIN);
    assert_eq!((end.fin(), end.acknowledgment_number()), (false, answer.sequence_number() + 1));
}

#[test]
fn sequence_numbers_wrap_at_32_bits() {
    let (_, first) = one(record(DATA, data(0, 1460)), PLAIN);
    let (_, later) = one(record(DATA, data((3 << 32) + 100, 1460)), PLAIN);
    assert_eq!(later.sequence_number(), first.sequence_number().wrapping_add(100));
}

#[test]
fn sack_blocks_are_absolute_and_timestamps_count_milliseconds() {
    let segment = Segment {
        ack: 1000,
        sack: [(500, 1500), (3000, 4000), (5000, 6000), (7000, 8000)],
        sack_count: 4,
        sent_at: Time::from_nanos(12_999_999),
        echo: Time::from_nanos(7_000_000),
        ..data(0, 0)
    };
    let (_, tcp) = one(record(ACK, segment), STAMPED);
    let options: Vec<TcpOptionElement> = tcp.options_iterator().map(Result::unwrap).collect();
    assert!(options.contains(&TcpOptionElement::Timestamp(12, 7)));
    let base = tcp.acknowledgment_number();
    // RFC 2018 §3: three blocks fit beside timestamps.
    let rest = [Some((base + 3000, base + 4000)), Some((base + 5000, base + 6000)), None];
    assert!(options.contains(&TcpOptionElement::SelectiveAcknowledgement((base + 500, base + 1500), rest)));
}

#[test]
fn the_block_of_a_duplicate_lies_below_the_acknowledgement() {
    // RFC 2883 §4.1.2: 500..1000 arrived twice, 3000..4000 is held.
    let mut segment = Segment { ack: 2000, sack_count: 2, ..data(0, 0) };
    for (slot, (from, to)) in [(500, 1000), (3000, 4000)].into_iter().enumerate() {
        segment.sack[slot] = segment.offset(from).zip(segment.offset(to)).expect("near");
    }
    assert_eq!(segment.duplicate_block(), Some((500, 1000)));
    let (_, tcp) = one(record(ACK, segment), PLAIN);
    let first = tcp.acknowledgment_number() - 2000;
    let options: Vec<TcpOptionElement> = tcp.options_iterator().map(Result::unwrap).collect();
    let rest = [Some((first + 3000, first + 4000)), None, None];
    assert!(options.contains(&TcpOptionElement::SelectiveAcknowledgement((first + 500, first + 1000), rest)));
}

#[test]
fn congestion_experienced_and_its_echo_are_in_the_headers() {
    let marked =
        Segment { flags: Flags::ACK.with(Flags::ECT).with(Flags::CE).with(Flags::CWR), ..data(0, 100) };
    let (ip, tcp) = one(record(DATA, marked), PLAIN);
    assert_eq!((ip.header().ecn().value(), tcp.cwr(), tcp.ece()), (0b11, true, false));
    let capable = Segment { flags: Flags::ACK.with(Flags::ECT), ..data(0, 100) };
    assert_eq!(one(record(DATA, capable), PLAIN).0.header().ecn().value(), 0b10);
    let scalable = Segment { flags: capable.flags.with(Flags::ECT1), ..capable };
    assert_eq!(one(record(DATA, scalable), PLAIN).0.header().ecn().value(), 0b01);
    let marked = Segment { flags: scalable.flags.with(Flags::CE), ..scalable };
    assert_eq!(one(record(DATA, marked), PLAIN).0.header().ecn().value(), 0b11);
    let echo = Segment { flags: Flags::ACK.with(Flags::ECE), ..data(0, 0) };
    assert!(one(record(ACK, echo), PLAIN).1.ece());
}

#[test]
fn a_handshake_negotiates_ecn_where_the_scenario_asks_for_it() {
    let CapturedFlow::Tcp { mss, timestamps, sack, window_scale, .. } = PLAIN else { unreachable!() };
    let capable = CapturedFlow::Tcp { mss, timestamps, sack, window_scale, ecn: true };
    let ecn_of = |owner, flags, group| {
        let (ip, tcp) = one(record(owner, Segment { flags, ..data(0, 0) }), group);
        (ip.header().ecn().value(), tcp.ece(), tcp.cwr())
    };
    // RFC 3168 §6.1.1: SYN with ECE and CWR, SYN-ACK with ECE alone, neither of them ECN-capable itself.
    assert_eq!(ecn_of(DATA, Flags::SYN, capable), (0, true, true));
    assert_eq!(ecn_of(ACK, Flags::SYN.with(Flags::ACK), capable), (0, true, false));
    assert_eq!(ecn_of(DATA, Flags::ACK, capable), (0, false, false));
    assert_eq!(ecn_of(DATA, Flags::SYN, PLAIN), (0, false, false));
}

/// RFC 9768 §3.1.1 and Figure 3: AE is the last of the reserved bits, before CWR and ECE.
#[test]
fn the_flags_of_accurate_ecn_are_in_the_headers() {
    let ace = |owner, flags, group| {
        let (_, tcp) = one(record(owner, Segment { flags, ..data(0, 0) }), group);
        (tcp.ns(), tcp.cwr(), tcp.ece())
    };
    let syn = Flags::SYN.with(Flags::of_ace(0b111));
    assert_eq!(ace(DATA, syn, PLAIN), (true, true, true));
    let accurate = TcpConfig { ecn: EcnMode::Accurate(AccurateEcn::default()), ..TcpConfig::default() };
    let group = CapturedFlow::of(&accurate);
    assert_eq!(ace(DATA, syn, group), (true, true, true));
    // Not RFC 3168's answer, although the scenario asks for ECN.
    let syn_ack = Flags::SYN.with(Flags::ACK).with(Flags::of_ace(0b010));
    assert_eq!(ace(ACK, syn_ack, group), (false, true, false));
    // A third SYN asks for nothing.
    assert_eq!(ace(DATA, Flags::SYN, group), (false, false, false));
    for count in 0..8 {
        let (ae, cwr, ece) = ace(ACK, Flags::ACK.with(Flags::of_ace(count)), group);
        assert_eq!(u32::from(ae) << 2 | u32::from(cwr) << 1 | u32::from(ece), count);
    }
}

/// RFC 9768 §3.2.3: kind 172, the counters of ECT(0) and CE in 24 bits each; the second one once it has moved. Kind 174 has that
/// of ECT(1) first. SACK blocks have the rest of the room.
#[test]
fn the_counters_of_accurate_ecn_are_in_an_option() {
    let option = |bytes: EcnBytes, blocks: u8, group| {
        let mut segment = Segment { sack_count: blocks, ..data(0, 0) };
        segment.sack[..usize::from(blocks)].fill((10, 20));
        segment.count_ecn(bytes);
        one(record(ACK, segment), group).1.options().to_vec()
    };
    let counted = |capable, marked| EcnBytes { capable, marked, ect1: false };
    let first = option(counted(0x0102_0304, 0), 0, PLAIN);
    assert_eq!(first, [1, 1, 1, 172, 5, 2, 3, 4]);
    let both = option(counted(1461, 0xff00_0007), 0, PLAIN);
    assert_eq!(both, [172, 8, 0, 5, 181, 0, 0, 7]);
    let other = option(EcnBytes { ect1: true, ..counted(1461, 0) }, 0, PLAIN);
    assert_eq!(other, [1, 1, 1, 174, 5, 0, 5, 181]);
    let other = option(EcnBytes { ect1: true, ..counted(1461, 7) }, 0, PLAIN);
    assert_eq!(other, [174, 8, 0, 5, 181, 0, 0, 7]);
    assert_eq!(option(counted(1, 1), 3, PLAIN).len(), 8 + 4 + 24);
    assert_eq!(option(counted(1, 1), 2, STAMPED).len(), 12 + 8 + 4 + 16);
}

#[test]
fn a_packet_that_the_queue_marks_has_experienced_congestion() {
    let mut log = PacketLog::new(10);
    let capable = |seq| record(DATA, Segment { flags: Flags::ACK.with(Flags::ECT), ..data(seq, 1000) });
    let event = |record, event| PacketRecord { at: Time::from_nanos(20_000_000), event, ..record };
    for event in [
        capable(0),
        capable(1000),
        event(capable(1000), PacketEvent::Mark),
        event(capable(1000), PacketEvent::Lost(LossCause::Channel)),
        capable(2000),
    ] {
        log.push(&event);
    }
    let file = write_capture(Vec::new(), &log, &["forward"], &[PLAIN], SnapLen::WHOLE).unwrap();
    let (packets, _) = parse(&file);
    let ecn: Vec<u8> = packets.iter().map(|packet| tcp_of(packet).0.header().ecn().value()).collect();
    assert_eq!(ecn, [0b10, 0b11, 0b10]);
    let comment = packets[1].options.iter().find_map(|option| match option {
        EnhancedPacketOption::Comment(text) => Some(text.to_string()),
        _ => None,
    });
    assert_eq!(comment.unwrap(), "marked by the queue at 0.02 s; lost on the channel at 0.02 s");
}

#[test]
fn windows_are_scaled_except_in_a_syn() {
    let segment = Segment { window: 1 << 20, ..data(0, 0) };
    assert_eq!(one(record(ACK, segment), PLAIN).1.window_size(), 1 << 13);
    let syn_ack = Segment { flags: Flags::SYN.with(Flags::ACK), window: 9000, ..segment };
    assert_eq!(one(record(ACK, syn_ack), PLAIN).1.window_size(), 9000);
}

#[test]
fn a_sender_that_advertises_nothing_does_not_show_a_closed_window() {
    let segment = Segment { window: 0, ..data(0, 1460) };
    assert_eq!(one(record(DATA, segment), PLAIN).1.window_size(), u16::MAX);
}

#[test]
fn directions_flows_and_connections_are_told_apart() {
    let addresses = |owner: PacketOwner| {
        let (ip, tcp) = one(record(owner, data(0, 10)), PLAIN);
        let (from, to) = (ip.header().source_addr(), ip.header().destination_addr());
        (from, tcp.source_port(), to, tcp.destination_port())
    };
    let (from, from_port, to, to_port) = addresses(DATA);
    assert_eq!(addresses(ACK), (to, to_port, from, from_port));
    assert_eq!(addresses(PacketOwner { flow: 0x0203, ..DATA }).0.octets(), [10, 2, 3, 1]);
    assert_ne!(addresses(PacketOwner { flow: 0x1_0000, ..DATA }), addresses(DATA));
    assert_ne!(addresses(PacketOwner { generation: 1, ..DATA }), addresses(DATA));
}

#[test]
fn a_snap_length_cuts_packets_and_keeps_their_original_length() {
    let whole = capture(&[record(DATA, data(0, 1460)), record(DATA, data(0, 10))], &[PLAIN], SnapLen::WHOLE);
    for (length, captured) in [(96, [96, 50]), (33, [33, 33]), (1500, [1500, 50]), (0, [1500, 50])] {
        let file = capture(
            &[record(DATA, data(0, 1460)), record(DATA, data(0, 10))],
            &[PLAIN],
            SnapLen::new(length),
        );
        let mut reader = PcapNgReader::new(&file[..]).unwrap();
        while let Some(block) = reader.next_block() {
            block.unwrap();
        }
        assert!(reader.interfaces().iter().all(|interface| interface.snaplen == length));
        let ((packets, _), (all, _)) = (parse(&file), parse(&whole));
        for ((packet, whole), captured) in packets.iter().zip(&all).zip(captured) {
            assert_eq!((packet.data.len(), packet.original_len), (captured, whole.original_len));
            assert_eq!(packet.data[..], whole.data[..captured]);
        }
    }
}

#[test]
fn datagrams_are_udp_of_their_wire_size() {
    let segment = Segment { wire_size: 1001, ..Segment::default() };
    let (packets, _) = parse(&capture(&[record(DATA, segment)], &[CapturedFlow::Datagrams], SnapLen::WHOLE));
    let sliced = SlicedPacket::from_ip(&packets[0].data).unwrap();
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (sliced.net, sliced.transport) else {
        panic!("not UDP over IPv4");
    };
    assert_eq!((ip.header().total_len(), udp.length()), (1001, 981));
    let [from, to] =
        [ip.header().source_addr(), ip.header().destination_addr()].map(|address| address.octets());
    assert_eq!(udp.checksum(), udp.to_header().calc_checksum_ipv4_raw(from, to, udp.payload()).unwrap());
}

#[test]
fn what_became_of_a_lost_packet_is_a_comment_on_its_arrival() {
    let mut log = PacketLog::new(6);
    let [first, second, third] = [0, 1000, 2000].map(|seq| record(DATA, data(seq, 1000)));
    let lost = |record: PacketRecord, cause| PacketRecord {
        at: Time::from_nanos(20_000_000),
        event: PacketEvent::Lost(cause),
        ..record
    };
    for event in [
        first,
        second,
        lost(second, LossCause::Overflow),
        third,
        PacketRecord { event: PacketEvent::Departure, ..first },
        lost(first, LossCause::Channel),
        third, // one too many
    ] {
        log.push(&event);
    }
    let file = write_capture(Vec::new(), &log, &["forward"], &[PLAIN], SnapLen::WHOLE).unwrap();
    let (packets, _) = parse(&file);
    let comments: Vec<Option<String>> = packets
        .iter()
        .map(|packet| {
            packet.options.iter().find_map(|option| match option {
                EnhancedPacketOption::Comment(text) => Some(text.to_string()),
                _ => None,
            })
        })
        .collect();
    let expected = [Some("lost on the channel at 0.02 s"), Some("dropped: the queue was full"), None];
    assert_eq!(comments, expected.map(|comment| comment.map(str::to_owned)));
    assert!(String::from_utf8_lossy(&file).contains("only its first 6 events"));
}

#[test]
fn a_segment_too_long_for_ipv4_is_refused() {
    let mut capture = Capture::new(Vec::new(), &["forward"], &[PLAIN], SnapLen::new(96), None).unwrap();
    let error = capture.packet(&record(DATA, Segment { len: 65_500, ..data(0, 0) }), None).unwrap_err();
    assert_eq!(error.to_string(), "65540 B do not fit in an IPv4 packet");
}

#[test]
fn the_window_scale_is_the_least_that_holds_the_receive_window() {
    let scale = |receive_window| match CapturedFlow::of(&TcpConfig { receive_window, ..TcpConfig::default() })
    {
        CapturedFlow::Tcp { window_scale, .. } => window_scale,
        CapturedFlow::Datagrams => unreachable!(),
    };
    assert_eq!(scale(Amount::Bytes(Bytes::new(65_535))), None, "it needs none");
    assert_eq!(scale(Amount::Bytes(Bytes::new(65_536))), Some(1));
    assert_eq!(scale(Amount::Unlimited), Some(14));
}

#[test]
fn a_captured_syn_is_as_long_as_the_simulated_one() {
    for (timestamps, recovery) in
        [(true, Recovery::Sack), (true, Recovery::Reno), (false, Recovery::Sack), (false, Recovery::Reno)]
    {
        for window in [65_535, 65_536] {
            let receive_window = Amount::Bytes(Bytes::new(window));
            let config = TcpConfig { timestamps, recovery, receive_window, ..TcpConfig::default() };
            let syn = Sender::new(&config, Time::ZERO).poll(Time::ZERO).expect("a SYN");
            let group = CapturedFlow::of(&config);
            let (ip, _) = one(record(DATA, Segment { len: 0, ..syn }), group);
            assert_eq!(ip.header().total_len(), syn.wire_size, "{config:?}");
        }
    }
}

proptest! {
    #[test]
    fn checksums_hold_for_any_segment(
        (seq, ack, sent_at, echo) in any::<(u64, u64, u64, u64)>(),
        (window, flags, len) in (any::<u32>(), any::<u16>(), 0u32..9000),
        blocks in prop::collection::vec(any::<(u32, u32)>(), 4),
        (flow, generation, is_reverse, sack_count) in (any::<u32>(), any::<u16>(), any::<bool>(), 0u8..=4),
        group in prop::sample::select(vec![PLAIN, STAMPED]),
    ) {
        let segment = Segment {
            seq,
            ack,
            sent_at: Time::from_nanos(sent_at),
            echo: Time::from_nanos(echo),
            window,
            len,
            sack: [blocks[0], blocks[1], blocks[2], blocks[3]],
            sack_count,
            flags: Flags(flags),
            wire_size: 0,
        };
        let owner = PacketOwner { group: 0, flow, generation, is_reverse };
        let record = PacketRecord { at: Time::from_nanos(sent_at), link: 0, event: PacketEvent::Arrival, owner, segment };
        let (_, tcp) = one(record, group);
        prop_assert_eq!(tcp.payload().len(), len as usize);
        let is_known = |option| matches!(option, Ok(_) | Err(TcpOptionReadError::UnknownId(172 | 174)));
        prop_assert!(tcp.options_iterator().all(is_known));
    }
}
