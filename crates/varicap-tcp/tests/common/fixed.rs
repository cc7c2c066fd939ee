//! A sender alone on a fixed link.
//!
//! ```text
//! sender ──► queue, 1 packet/ms ──► 50 ms ──► receiver ──► 50 ms ──► sender
//! ```

use std::collections::VecDeque;

use varicap_tcp::{AckPolicy, Congestion, Receiver, Segment, Sender, TcpConfig};
use varicap_units::{Bytes, Span, Time};

/// The room of the bottleneck, waiting or being sent: the packets of a round trip, as slow start may double the window
/// once before it can see the queue.
pub const BUFFER: usize = 100;

/// How a run went: the backlog that each packet found once the first 20 s were over, and how many were lost.
pub struct Run {
    pub backlogs: Vec<usize>,
    pub lost: u64,
}

/// 60 s of `congestion`.
pub fn run(congestion: Congestion) -> Run {
    let config = TcpConfig { congestion, ack: AckPolicy::Every, handshake: false, ..TcpConfig::default() };
    let (mut now, end) = (Time::ZERO, Time::ZERO + Span::from_secs(60));
    let mut sender = Sender::new(&config, now);
    let mut receiver = Receiver::new(&config, now);
    sender.write(Bytes::MAX);
    // Packets with the time at which the link has sent them, and acknowledgements with that of their arrival.
    let mut link: VecDeque<(Time, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(Time, Segment)> = VecDeque::new();
    let mut run = Run { backlogs: Vec::new(), lost: 0 };
    while now < end {
        while let Some(segment) = sender.poll(now) {
            if now >= Time::ZERO + Span::from_secs(20) {
                run.backlogs.push(link.len());
            }
            if link.len() >= BUFFER {
                run.lost += 1;
                continue;
            }
            let free = link.back().map_or(now, |last| last.0);
            link.push_back((free + Span::from_millis(1), segment));
        }
        let sent = link.front().map_or(Time::NEVER, |first| first.0);
        let heard = acks.front().map_or(Time::NEVER, |first| first.0);
        now = sent.min(heard).min(sender.poll_at());
        if now == heard {
            let (_, ack) = acks.pop_front().expect("it is there");
            sender.push(now, &ack);
        } else if now == sent {
            let (_, segment) = link.pop_front().expect("it is there");
            // Nothing but time lies between the link and the receiver, so it may as well hear at once.
            let arrived = now + Span::from_millis(50);
            receiver.push(arrived, &segment);
            while let Some(ack) = receiver.poll(arrived) {
                acks.push_back((arrived + Span::from_millis(50), ack));
            }
        }
    }
    run
}
