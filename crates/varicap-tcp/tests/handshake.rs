//! How a handshake ends: with a segment of its own, or with the first data. Source: RFC 9293 §3.10.7.3.

use crate::common;

use common::{MSS, answer, config, data, ms};
use varicap_tcp::{
    AckPolicy, DelayedAck, Flags, Pacing, PacingRatios, RackConfig, Receiver, Recovery, Segment, Sender,
    TcpConfig,
};
use varicap_units::{Amount, Bytes, Rate, Time};

fn hand_shaking(handshake_ack: bool) -> TcpConfig {
    let recovery = Recovery::Rack(RackConfig::default());
    TcpConfig { handshake: true, handshake_ack, ..config(recovery, 2) }
}

/// A sender that offers `bytes`, whose SYN is answered after 100 ms.
fn connected(config: &TcpConfig, bytes: u64) -> Sender {
    let mut sender = Sender::new(config, Time::ZERO);
    sender.write(Bytes::new(bytes));
    sender.poll(Time::ZERO).expect("a SYN");
    answer_syn(&mut sender);
    sender
}

fn answer_syn(sender: &mut Sender) {
    let flags = Flags::SYN.with(Flags::ACK);
    sender.push(ms(100), &Segment { flags, window: u32::MAX, ..Segment::default() });
}

/// The segments that leave at `now`: number of the first byte, length, and size on the wire.
fn leaving(sender: &mut Sender, now: Time) -> Vec<(u64, u32, u16)> {
    std::iter::from_fn(|| sender.poll(now)).map(|sent| (sent.seq, sent.len, sent.wire_size)).collect()
}

#[test]
fn an_empty_segment_goes_before_the_first_data_or_none_does() {
    let first = [(0, 1000, 1040), (1000, 1000, 1040)];
    let mut sender = connected(&hand_shaking(false), 9 * MSS);
    assert_eq!(leaving(&mut sender, ms(100)), first);
    let mut sender = connected(&hand_shaking(true), 9 * MSS);
    assert_eq!(leaving(&mut sender, ms(100)), [&[(0, 0, 40)], &first[..]].concat());
    let counters = sender.counters();
    assert_eq!((counters.sent_packets, counters.empty_packets), (2, 2), "data, and the SYN and that segment");
    assert_eq!(counters.sent_bytes, 2172);
    assert_eq!(sender.in_flight(), Bytes::new(2 * MSS), "it is not in flight");
}

/// Its options make it longer than a segment without data (`tcp_syn_options`).
#[test]
fn a_syn_is_none_of_the_ten_segments_that_are_not_paced() {
    for timestamps in [false, true] {
        let recovery = Recovery::Rack(RackConfig::linux());
        let pacing = Pacing::Linux(PacingRatios::default());
        let config = TcpConfig { handshake: true, timestamps, pacing, ..config(recovery, 20) };
        let mut sender = connected(&config, 20 * MSS);
        let sent = leaving(&mut sender, ms(100)).iter().filter(|(_, len, _)| *len > 0).count();
        assert_eq!(sent, 10, "the eleventh waits: tcp_update_skb_after_send");
        assert!(sender.poll_at() > ms(100) && !sender.poll_at().is_never());
    }
}

#[test]
fn it_leaves_at_once_and_once_although_there_is_no_data() {
    let mut sender = connected(&hand_shaking(true), 0);
    assert_eq!(leaving(&mut sender, ms(100)), [(0, 0, 40)]);
    assert!(sender.poll_at().is_never(), "nothing answers it");
    sender.write(Bytes::new(MSS));
    assert_eq!(leaving(&mut sender, ms(300)), [(0, 1000, 1040)]);
}

#[test]
fn pacing_does_not_count_it() {
    let mut sender = Sender::new(&hand_shaking(true), Time::ZERO).capped();
    sender.write(Bytes::MAX);
    sender.poll(Time::ZERO).expect("a SYN");
    sender.on_rate_feedback(ms(50), Rate::from_bps(80_000));
    answer_syn(&mut sender);
    assert_eq!(leaving(&mut sender, ms(100)), [(0, 0, 40), (0, 1000, 1040)]);
}

#[test]
fn a_receiver_does_not_answer_it_and_counts_it_for_nothing() {
    let linux = DelayedAck { quick: 0, autotuning: false, ..DelayedAck::linux() };
    for (ack, answers_to_data) in [
        (AckPolicy::Every, [1, 1]),
        (AckPolicy::Delayed(DelayedAck::default()), [0, 1]),
        (AckPolicy::Delayed(linux), [0, 1]),
    ] {
        let mut receiver = Receiver::new(&TcpConfig { ack, ..hand_shaking(true) }, Time::ZERO);
        answer(&mut receiver, ms(1), &Segment { flags: Flags::SYN, ..Segment::default() });
        assert_eq!(answer(&mut receiver, ms(101), &Segment::default()), []);
        assert!(receiver.poll_at().is_never());
        let answers = [0, 1].map(|number| answer(&mut receiver, ms(110 + number), &data(number)).len());
        assert_eq!(answers, answers_to_data, "{ack:?}");
    }
}

/// RFC 9293 §3.7.1 (MSS), RFC 2018 §2 (SACK-permitted), RFC 7323 §2.2 and §3.2 (window scale, timestamps), each in whole words;
/// with timestamps, SACK-permitted takes the place of their padding (Linux `tcp_syn_options`).
#[test]
fn a_syn_and_its_answer_have_the_size_of_their_options() {
    let sizes = |recovery, timestamps, receive_window, count_options| {
        let settings = config(recovery, 10);
        let config = TcpConfig { handshake: true, timestamps, receive_window, count_options, ..settings };
        let mut sender = Sender::new(&config, Time::ZERO);
        let syn = sender.poll(Time::ZERO).expect("a SYN");
        let answer = answer(&mut Receiver::new(&config, Time::ZERO), ms(1), &syn)[0];
        assert_eq!(answer.wire_size, syn.wire_size);
        syn.wire_size
    };
    let old = Amount::Bytes(Bytes::new(65_535));
    for large in [Amount::Bytes(Bytes::new(65_536)), Amount::Packets(66), Amount::Unlimited] {
        assert_eq!(sizes(Recovery::Sack, true, large, true), 60);
        assert_eq!(sizes(Recovery::Reno, true, large, true), 60);
        assert_eq!(sizes(Recovery::Sack, false, large, true), 52);
        assert_eq!(sizes(Recovery::Reno, false, large, true), 48);
    }
    assert_eq!(sizes(Recovery::Sack, true, old, true), 60, "timestamps and the scale are one standard");
    assert_eq!(sizes(Recovery::Sack, false, old, true), 48);
    assert_eq!(sizes(Recovery::Reno, false, old, true), 44, "4.3BSD's only option is the MSS");
    assert_eq!(sizes(Recovery::Sack, true, Amount::Unlimited, false), 40);
}
