//! Sender and receiver over an ideal path that holds 100 segments: what TCP itself costs.
//!
//! ```text
//! sender ──► 100 segments in flight ──► receiver
//!        ◄────────────── ACKs ◄────────
//! ```
//!
//! Time it from outside: `perf stat target/release/examples/loopback 20000000 sack`.

use std::env;

use varicap_tcp::{AckPolicy, RackConfig, Recovery, Segment, TcpConfig};
use varicap_tcp::{Receiver, Sender};
use varicap_units::{Amount, Bytes, Span, Time};

fn main() {
    let mut arguments = env::args().skip(1);
    let packets: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let recovery = match arguments.next().as_deref() {
        Some("newreno") => Recovery::NewReno,
        Some("rack") => Recovery::Rack(RackConfig::linux()),
        _ => Recovery::Sack,
    };
    let ack = match arguments.next().as_deref() {
        Some("delayed") => AckPolicy::default(),
        _ => AckPolicy::Every,
    };
    let config = TcpConfig {
        recovery,
        ack,
        handshake: false,
        initial_window: Amount::Packets(100),
        max_window: Amount::Packets(100),
        ..TcpConfig::default()
    };
    let mut sender = Sender::new(&config, Time::ZERO);
    let mut receiver = Receiver::new(&config, Time::ZERO);
    sender.write(Bytes::MAX);
    let mut path = [Segment::default(); 128];
    let (mut head, mut tail, mut now) = (0usize, 0usize, Time::ZERO);
    while receiver.delivered() < packets * config.mss.as_u64() {
        while let Some(segment) = sender.poll(now) {
            path[tail % 128] = segment;
            tail += 1;
        }
        now += Span::from_micros(120);
        assert!(head < tail, "nothing in flight");
        receiver.push(now, &path[head % 128]);
        head += 1;
        while let Some(acknowledgement) = receiver.poll(now) {
            sender.push(now, &acknowledgement);
        }
    }
    println!("{:?}", sender.counters());
}
