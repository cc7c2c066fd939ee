//! Dialogues in packetdrill's manner: what the peer says, when; what the sender must answer.
#![allow(dead_code)] // each file of tests uses its part

pub mod fixed;

use std::ops::Range;

use varicap_tcp::congestion::RenoConfig;
use varicap_tcp::{
    AckOutcome, AckPolicy, Congestion, Flags, Receiver, Recovery, Reservation, Rfc6298Timer, Segment, Sender,
    TcpConfig, Timer,
};
use varicap_units::{Amount, Bytes, Span, Streams, Time};

/// Payload of a segment in the dialogues [B].
pub const MSS: u64 = 1000;

pub fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// The settings of the dialogues unless they say otherwise: 1000-byte segments, no handshake, an ACK per segment,
/// at least 1 s of RTO, and none of the options that soften a loss.
pub fn config(recovery: Recovery, initial_window: u64) -> TcpConfig {
    TcpConfig {
        recovery,
        congestion: Congestion::Reno(RenoConfig::default()),
        ack: AckPolicy::Every,
        mss: Bytes::new(MSS),
        initial_window: Amount::Packets(initial_window),
        handshake: false,
        limited_transmit: false,
        ..TcpConfig::default()
    }
}

pub fn timer(minimum_ms: u64, granularity_ms: u64) -> Timer {
    Timer::Rfc6298(Rfc6298Timer {
        minimum: Span::from_millis(minimum_ms),
        granularity: Span::from_millis(granularity_ms),
        ..Rfc6298Timer::default()
    })
}

/// A segment on the record: when it left, what it carried, whether it had been sent before.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Time,
    pub data: Range<u64>,
    pub segment: Segment,
}

/// A sender and the script that it follows.
pub struct Script {
    pub sender: Sender,
    now: Time,
    acked: u64,
    window: u32,
    /// All that left, and how much of it was expected already.
    log: Vec<Sent>,
    expected: usize,
}

impl Script {
    /// A greedy sender at time zero.
    pub fn greedy(config: &TcpConfig) -> Script {
        Script::offering(config, u64::MAX)
    }

    /// A sender whose application offers `bytes` at time zero.
    pub fn offering(config: &TcpConfig, bytes: u64) -> Script {
        let mut sender = Sender::new(config, Time::ZERO);
        sender.write(Bytes::new(bytes));
        let window = u32::MAX;
        let mut script = Script { sender, now: Time::ZERO, acked: 0, window, log: Vec::new(), expected: 0 };
        script.drain();
        script
    }

    /// A sender with a reservation, whose application offers `bytes` at time zero.
    pub fn reserved(config: &TcpConfig, terms: &Reservation, bytes: u64) -> Script {
        let mut script = Script::offering(config, 0);
        script.sender.reserve(Time::ZERO, terms, Streams::new(1, 0).stream("delay"));
        script.write(bytes);
        script
    }

    /// From now on the sender has a reservation.
    pub fn reserve(&mut self, terms: &Reservation) {
        self.sender.reserve(self.now, terms, Streams::new(1, 0).stream("delay"));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(segment) = self.sender.poll(self.now) {
            let data = segment.seq..segment.seq + u64::from(segment.len);
            self.log.push(Sent { at: self.now, data, segment });
        }
    }

    /// Moves the clock; timers fire on the way.
    pub fn at(&mut self, time: Time) -> &mut Script {
        assert!(time >= self.now, "a script runs forward");
        while self.sender.poll_at() <= time {
            self.now = self.sender.poll_at();
            self.drain();
        }
        self.now = time;
        self.drain();
        self
    }

    /// The application offers more.
    pub fn write(&mut self, bytes: u64) -> &mut Script {
        self.sender.write(Bytes::new(bytes));
        self.drain();
        self
    }

    /// From now on acknowledgements offer this window [B].
    pub fn window(&mut self, window: u32) -> &mut Script {
        self.window = window;
        self
    }

    fn segment(&self, ack: u64) -> Segment {
        // The receiver echoes the first segment that it had not acknowledged.
        let echoed = self.log.iter().rev().find(|sent| sent.data.contains(&self.acked));
        let resent = echoed.is_some_and(|sent| sent.segment.flags.has(Flags::RESENT));
        Segment {
            ack,
            sent_at: self.now,
            echo: echoed.map_or(self.now, |sent| sent.at),
            window: self.window,
            flags: if resent { Flags::ACK.with(Flags::RESENT) } else { Flags::ACK },
            wire_size: 40,
            ..Segment::default()
        }
    }

    /// The peer acknowledges everything below `ack`.
    pub fn ack(&mut self, ack: u64) -> AckOutcome {
        self.sack(ack, &[])
    }

    /// `count` duplicates of the last acknowledgement.
    pub fn duplicates(&mut self, count: usize) {
        for _ in 0..count {
            self.ack(self.acked);
        }
    }

    /// The peer acknowledges everything below `ack`, and holds `blocks`; the first of them may be a duplicate below `ack`.
    pub fn sack(&mut self, ack: u64, blocks: &[Range<u64>]) -> AckOutcome {
        let mut segment = self.segment(ack);
        for (slot, block) in segment.sack.iter_mut().zip(blocks) {
            *slot = (block.start.wrapping_sub(ack) as u32, block.end.wrapping_sub(ack) as u32);
        }
        segment.sack_count = blocks.len() as u8;
        self.push(segment)
    }

    /// Any segment arrives.
    pub fn push(&mut self, segment: Segment) -> AckOutcome {
        self.acked = self.acked.max(segment.ack);
        let outcome = self.sender.push(self.now, &segment);
        self.drain();
        outcome
    }

    /// Exactly these went out, in this order, since the last time we looked.
    #[track_caller]
    pub fn expect(&mut self, data: &[Range<u64>]) {
        let sent: Vec<_> = self.log[self.expected..].iter().map(|sent| sent.data.clone()).collect();
        assert_eq!(sent, data, "at {:?}", self.now);
        self.expected = self.log.len();
    }

    /// Exactly one segment went out since the last time we looked, at `time`.
    #[track_caller]
    pub fn expect_at(&mut self, time: Time, data: Range<u64>) {
        let sent: Vec<_> =
            self.log[self.expected..].iter().map(|sent| (sent.at, sent.data.clone())).collect();
        assert_eq!(sent, [(time, data)]);
        self.expected = self.log.len();
    }

    #[track_caller]
    pub fn expect_nothing(&mut self) {
        self.expect(&[]);
    }

    /// Forgets what went out so far.
    pub fn skip(&mut self) {
        self.expected = self.log.len();
    }

    /// All that went out.
    pub fn log(&self) -> &[Sent] {
        &self.log
    }

    /// The last segment that went out.
    pub fn last(&self) -> &Sent {
        self.log.last().expect("something was sent")
    }

    /// cwnd in whole segments.
    pub fn cwnd(&self) -> u64 {
        self.sender.cwnd().as_u64() / MSS
    }

    /// ssthresh in whole segments.
    pub fn ssthresh(&self) -> u64 {
        self.sender.ssthresh().expect("it has one").as_u64() / MSS
    }

    /// Data in flight in whole segments.
    pub fn in_flight(&self) -> u64 {
        self.sender.in_flight().as_u64() / MSS
    }
}

/// Ranges of `count` full segments from segment number `first` on.
pub fn segments(first: u64, count: u64) -> Vec<Range<u64>> {
    (first..first + count).map(|number| number * MSS..(number + 1) * MSS).collect()
}

/// Segment number `number`.
pub fn nth(number: u64) -> Range<u64> {
    number * MSS..(number + 1) * MSS
}

/// A SACK block of whole segments: number `first` up to, not including, `end`.
pub fn held(first: u64, end: u64) -> Range<u64> {
    first * MSS..end * MSS
}

/// A data segment for a receiver.
pub fn data(number: u64) -> Segment {
    Segment { seq: number * MSS, len: MSS as u32, wire_size: MSS as u16 + 40, ..Segment::default() }
}

/// Pushes a segment and collects the answers.
pub fn answer(receiver: &mut Receiver, now: Time, segment: &Segment) -> Vec<Segment> {
    receiver.push(now, segment);
    std::iter::from_fn(|| receiver.poll(now)).collect()
}
