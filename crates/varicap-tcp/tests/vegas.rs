//! TCP Vegas alone on a fixed link. Source: [brakmo95].
//!
//! ```text
//! sender ──► queue, 1 packet/ms ──► 50 ms ──► receiver ──► 50 ms ──► sender
//! ```

use std::collections::VecDeque;

use varicap_tcp::congestion::{RenoConfig, VegasConfig};
use varicap_tcp::{AckPolicy, Congestion, Receiver, Segment, Sender, TcpConfig};
use varicap_units::{Amount, Bytes, Span, Time};

/// What the bottleneck holds, waiting or being sent: the packets of a round trip, as slow start may double the window
/// once before it can see the queue.
const BUFFER: usize = 100;

/// How a run went: the backlog that each packet found once the first 20 s were over, and how many were lost.
struct Run {
    backlogs: Vec<usize>,
    lost: u64,
}

fn run(congestion: Congestion) -> Run {
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

#[test]
fn between_alpha_and_beta_packets_wait_and_none_is_lost() {
    for (alpha, beta) in [(2, 4), (6, 9)] {
        let (alpha_packets, beta_packets) = (Amount::Packets(alpha), Amount::Packets(beta));
        let vegas = VegasConfig { alpha: alpha_packets, beta: beta_packets, ..VegasConfig::default() };
        let run = run(Congestion::Vegas(vegas));
        assert_eq!(run.lost, 0);
        assert!(run.backlogs.len() > 39_000, "{} packets in 40 s of 1 packet/ms", run.backlogs.len());
        let (least, most) = (run.backlogs.iter().min().unwrap(), run.backlogs.iter().max().unwrap());
        // The packet that is being sent, whose transmission the least RTT contains, is in the backlog.
        let held = (alpha as usize)..=(beta as usize + 1);
        assert!(held.contains(least) && held.contains(most), "{least} to {most} packets, not {held:?}");
    }
}

#[test]
fn reno_fills_the_buffer_and_loses() {
    let run = run(Congestion::Reno(RenoConfig::default()));
    assert!(run.lost > 0);
    assert!(*run.backlogs.iter().max().unwrap() >= BUFFER - 1);
}
