//! Which round trip a congestion control hears of: with a record of each segment that of the last one, as in Linux
//! (`tcp_clean_rtx_queue`: ca_rtt_us), while the RTO follows the first.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{MSS, config, ms};
use varicap_tcp::congestion::{AckSample, CongestionControl, CongestionEvent, Controller, Wants};
use varicap_tcp::{Flags, RackConfig, Recovery, Segment, Sender, TcpConfig};
use varicap_units::{Bytes, Span, Time};

/// RTT and least RTT [ms].
type Heard = Vec<(Option<Span>, Option<Span>)>;

/// A window of three segments that grows by one with each acknowledgement, and remembers what it hears.
#[derive(Debug)]
struct Listener(u64, Arc<Mutex<Heard>>);

impl CongestionControl for Listener {
    fn on_ack(&mut self, ack: &AckSample) {
        self.0 += MSS;
        self.1.lock().expect("one thread").push((ack.rtt, ack.min_rtt));
    }
    fn on_congestion(&mut self, _: &CongestionEvent) {}
    fn on_idle(&mut self, _: Bytes) {}
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.0)
    }
    fn wants(&self) -> Wants {
        Wants { every_ack: true, ..Wants::default() }
    }
}

/// Segments 0 to 2 leave at 0 ms and 3 and 4 when the first is acknowledged, after 100 ms. The second acknowledgement
/// comes at 210 ms; it covers segments 1 to 3, or has only SACKed the last two.
fn heard(recovery: Recovery, sacks: bool) -> (Heard, Option<Span>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let config = TcpConfig { timestamps: true, ..config(recovery, 3) };
    let control = Controller::Boxed(Box::new(Listener(3 * MSS, Arc::clone(&notes))));
    let mut sender = Sender::with_control(&config, Time::ZERO, control);
    sender.write(Bytes::MAX);
    let push = |sender: &mut Sender, at: Time, ack: u64, echo: Time, held: u32| {
        while sender.poll(at).is_some() {}
        let mut segment =
            Segment { ack: ack * MSS, echo, flags: Flags::ACK, window: u32::MAX, ..Segment::default() };
        if held > 0 {
            (segment.sack[0], segment.sack_count) = ((MSS as u32, (1 + held) * MSS as u32), 1);
        }
        sender.push(at, &segment).rtt
    };
    push(&mut sender, ms(0), 0, ms(0), 0);
    push(&mut sender, ms(100), 1, ms(0), 0);
    let measured = push(&mut sender, ms(210), if sacks { 1 } else { 4 }, ms(0), if sacks { 2 } else { 0 });
    let heard = notes.lock().expect("one thread").clone();
    (heard, measured)
}

fn rtts(rtt: u64, least: u64) -> (Option<Span>, Option<Span>) {
    (Some(Span::from_millis(rtt)), Some(Span::from_millis(least)))
}

#[test]
fn of_several_segments_the_last_one_counts() {
    let rack = Recovery::Rack(RackConfig::linux());
    let (found, measured) = heard(rack, false);
    assert_eq!(found.last(), Some(&rtts(110, 100)));
    assert_eq!(measured, Some(Span::from_millis(210)), "the timer follows the first");
    let (found, _) = heard(rack, true);
    assert_eq!(found.last().map(|last| last.0), Some(rtts(110, 0).0), "SACKed or acknowledged");
}

/// Linux takes blocks in the order of sequence (`tcp_sacktag_write_queue`), not in that of the acknowledgement, which names the
/// one that arrived last first. Segments 0 to 2 leave at 0 ms, 3 and 4 at 100 ms, 5 and 6 at 120 ms; 3 and 5 are SACKed.
#[test]
fn of_several_blocks_the_highest_counts_wherever_it_stands() {
    let heard = |blocks: [u32; 2]| {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let control = Controller::Boxed(Box::new(Listener(3 * MSS, Arc::clone(&notes))));
        let mut sender =
            Sender::with_control(&config(Recovery::Rack(RackConfig::linux()), 3), Time::ZERO, control);
        sender.write(Bytes::MAX);
        let mut segment = Segment { flags: Flags::ACK, window: u32::MAX, ..Segment::default() };
        while sender.poll(ms(0)).is_some() {}
        for (ack, at) in [(1, ms(100)), (2, ms(120))] {
            sender.push(at, &Segment { ack: ack * MSS, ..segment });
            while sender.poll(at).is_some() {}
        }
        segment.ack = 2 * MSS;
        for (place, number) in blocks.into_iter().enumerate() {
            let from = (number - 2) * MSS as u32;
            segment.sack[place] = (from, from + MSS as u32);
        }
        segment.sack_count = 2;
        sender.push(ms(230), &segment);
        let rtt = notes.lock().expect("one thread").last().expect("it was heard").0;
        (rtt, sender.smoothed_rtt())
    };
    let (rtt, srtt) = heard([3, 5]);
    assert_eq!(rtt, Some(Span::from_millis(110)));
    assert_eq!(heard([5, 3]), (rtt, srtt), "the timer follows segment 3");
}

#[test]
fn without_a_record_there_is_one_sample() {
    let (found, measured) = heard(Recovery::Sack, false);
    assert_eq!(found.last(), Some(&rtts(210, 100)));
    assert_eq!(measured, Some(Span::from_millis(210)));
}
