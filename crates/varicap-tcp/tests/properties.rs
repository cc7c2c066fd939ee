//! TCP over a path that loses, reorders and duplicates, in both directions.
//!
//! ```text
//! sender ──► lose? duplicate? delay at random ──► receiver
//!        ◄── lose? duplicate? delay at random ◄──
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use varicap_tcp::congestion::{
    Bbr3Config, CongestionControl, CopaConfig, CubicConfig, DctcpConfig, PragueConfig, RenoConfig,
    VegasConfig,
};
use varicap_tcp::{
    AccurateEcn, AckPolicy, AfterTimeout, Congestion, DelayedAck, EchoCheck, EcnMode, Flags, LinuxTimer,
    MultipleTimer, Nagle, Pacing, PacingRatios, Polled, RackConfig, Receiver, Recovery, Reduction,
    Rfc6298Timer, RttBase, RttSamples, Segment, Sender, State, TcpConfig, TickTimer, Timer,
};
use varicap_units::{Amount, Bytes, Rate, Span, Stream, Streams, Time};

const MSS: u64 = 100;

/// How bad the path is.
#[derive(Clone, Copy, Debug)]
struct Path {
    loss: f64,
    ack_loss: f64,
    duplication: f64,
    marking: f64,
    reordering: Span,
}

/// How the application behaves.
#[derive(Clone, Copy, Debug)]
struct Application {
    total: u64,
    /// Size of a write and of a (slow) read; none: all at once.
    portion: Option<u64>,
    reads_slowly: bool,
}

struct World {
    sender: Sender,
    receiver: Receiver,
    /// (arrival, order, towards the receiver, index of the segment).
    flying: BinaryHeap<Reverse<(Time, usize, bool)>>,
    segments: Vec<Segment>,
    draws: Stream,
    path: Path,
    delivered: u64,
    handshake: bool,
    /// Right edge of the window, as the receiver said it last.
    edge: u64,
}

impl World {
    fn send(&mut self, now: Time, mut segment: Segment, forward: bool) {
        if forward {
            assert!(segment.len as u64 <= MSS);
            let probe = segment.seq + u64::from(segment.len) == self.edge.saturating_add(1);
            let inside = segment.seq + u64::from(segment.len) <= self.edge;
            assert!(inside || probe, "{segment:?} is outside of the window that ends at {}", self.edge);
            if segment.flags.has(Flags::ECT) && self.draws.chance(self.path.marking) {
                segment.flags = segment.flags.with(Flags::CE);
            }
        }
        let loss = if forward { self.path.loss } else { self.path.ack_loss };
        let copies = if self.draws.chance(loss) {
            0
        } else {
            1 + usize::from(self.draws.chance(self.path.duplication))
        };
        for _ in 0..copies {
            let at = now + Span::from_millis(10) + self.draws.uniform_span(self.path.reordering);
            self.flying.push(Reverse((at, self.segments.len(), forward)));
            self.segments.push(segment);
        }
    }

    /// Drains both ends; polling again must change nothing.
    fn settle(&mut self, now: Time) {
        // The segment that is said to be the last is: another poll finds nothing, and changes nothing.
        let (mut segment, mut polled) = (Segment::default(), Polled::Segment);
        while polled == Polled::Segment {
            polled = self.sender.poll_into(now, &mut segment);
            if polled != Polled::Nothing {
                self.send(now, segment, true);
            }
        }
        while let Some(segment) = self.receiver.poll(now) {
            self.edge = self.edge.max(segment.ack + u64::from(segment.window));
            self.send(now, segment, false);
        }
        let before = format!("{:?} {:?}", self.sender, self.receiver);
        assert!(self.sender.poll(now).is_none() && self.receiver.poll(now).is_none());
        assert_eq!(before, format!("{:?} {:?}", self.sender, self.receiver));
        assert!(self.sender.cwnd().as_u64() >= MSS);
        assert!(self.sender.control().pacing_rate() != Some(Rate::ZERO), "a pace of nothing");
        let _checks_that_the_pipe_is_not_negative = self.sender.in_flight();
    }

    /// Runs until all is acknowledged.
    fn run(&mut self, application: &Application) {
        let (mut now, mut written) = (Time::ZERO, 0);
        if application.reads_slowly {
            self.receiver.read_on_demand();
        }
        for step in 0.. {
            assert!(step < 50_000, "no end in sight: {:?}", self.sender);
            let portion = application.portion.unwrap_or(application.total).min(application.total - written);
            let idle = self.sender.counters().acked_bytes == written;
            if written < application.total && (idle || self.draws.chance(0.1)) {
                self.sender.write(Bytes::new(portion));
                written += portion;
            }
            if written == application.total {
                self.sender.close();
            }
            let stuck = self.flying.is_empty() && self.receiver.poll_at().is_never();
            if self.draws.chance(0.2) || stuck {
                self.receiver.read(Bytes::new(application.portion.unwrap_or(MSS)));
            }
            self.settle(now);
            if self.receiver.has_ended() {
                self.receiver.close();
            }
            if self.sender.is_over() && !self.receiver.is_closing() {
                break;
            }
            let arrival = self.flying.peek().map_or(Time::NEVER, |Reverse(next)| next.0);
            let timers = self.sender.poll_at().min(self.receiver.poll_at());
            let next = arrival.min(timers);
            let wants = written > self.sender.counters().acked_bytes;
            assert!(!wants || !next.is_never(), "a dead end: {:?} {:?}", self.sender, self.receiver);
            if next.is_never() {
                continue;
            }
            assert!(next >= now);
            now = next;
            if arrival == now {
                let Reverse((_, index, forward)) = self.flying.pop().expect("peeked");
                self.arrive(now, index, forward);
            }
        }
        assert_eq!(self.delivered, application.total);
        assert_eq!(self.receiver.delivered(), application.total);
        assert_eq!(self.receiver.out_of_order(), Bytes::ZERO);
        assert_eq!(self.sender.in_flight(), Bytes::ZERO);
        assert_eq!(self.sender.counters().acked_bytes, application.total);
    }

    fn arrive(&mut self, now: Time, index: usize, forward: bool) {
        let segment = self.segments[index];
        if forward {
            let before = self.receiver.delivered();
            let added = self.receiver.push(now, &segment);
            assert_eq!(self.receiver.delivered(), before + added);
            assert!(added == 0 || segment.seq <= before, "{segment:?} came out of order");
            self.delivered += added;
        } else {
            assert!(
                !self.handshake
                    || self.sender.state() != State::Connecting
                    || segment.flags.has(Flags::SYN)
                    || segment.flags.has(Flags::ACK)
            );
            self.sender.push(now, &segment);
        }
    }
}

fn timers() -> impl Strategy<Value = Timer> {
    let short = Rfc6298Timer {
        minimum: Span::from_millis(20),
        initial: Span::from_millis(50),
        maximum: Span::from_secs(2),
        granularity: Span::from_millis(1),
    };
    prop_oneof![
        Just(Timer::default()),
        Just(Timer::Rfc6298(short)),
        // All data arrives where nobody gives up.
        Just(Timer::Linux(LinuxTimer { retries2: 255, syn_retries: 127, ..LinuxTimer::default() })),
        Just(Timer::Ticks(TickTimer { tick: Span::from_millis(100), ..TickTimer::default() })),
        Just(Timer::Multiple(MultipleTimer::default())),
        Just(Timer::Multiple(MultipleTimer {
            factor: 1.5,
            of: RttBase::Base,
            backoff: false,
            ..MultipleTimer::default()
        })),
    ]
}

fn racks() -> impl Strategy<Value = Recovery> {
    any::<[bool; 6]>().prop_map(|[prr, tail_loss_probe, frto, undo, keep_in_flight, always]| {
        let reduction = if prr { Reduction::Prr } else { Reduction::AtOnce };
        let check_echo = if always { EchoCheck::Always } else { EchoCheck::Cumulative };
        Recovery::Rack(RackConfig { reduction, tail_loss_probe, frto, undo, keep_in_flight, check_echo })
    })
}

fn pacings() -> impl Strategy<Value = Pacing> {
    let ratios = (0.01f64..10.0, 0.01f64..10.0);
    prop_oneof![
        Just(Pacing::Off),
        ratios.prop_map(|(slow_start, avoidance)| Pacing::Linux(PacingRatios { slow_start, avoidance })),
    ]
}

fn configs() -> impl Strategy<Value = TcpConfig> {
    let parts = (
        prop_oneof![
            Just(Recovery::OldTahoe),
            Just(Recovery::Tahoe),
            Just(Recovery::Reno),
            Just(Recovery::NewReno),
            Just(Recovery::Sack),
            racks(),
            racks()
        ],
        prop_oneof![
            Just(Congestion::Reno(RenoConfig::default())),
            Just(Congestion::Reno(RenoConfig { byte_counting: Some(2), ..RenoConfig::default() })),
            Just(Congestion::Cubic(CubicConfig::default())),
            Just(Congestion::Bbr),
            (0u32..=3).prop_map(|offload_quanta| Congestion::Bbr3(Bbr3Config { offload_quanta })),
            Just(Congestion::Vegas(VegasConfig::default())),
            any::<bool>()
                .prop_map(|competes| Congestion::Copa(CopaConfig { competes, ..CopaConfig::default() })),
            Just(Congestion::Dctcp(DctcpConfig::default())),
            (any::<bool>(), 0u32..4).prop_map(|(classic_fallback, transition)| {
                let prague = PragueConfig { classic_fallback, transition, ..PragueConfig::default() };
                Congestion::Prague(prague)
            }),
        ],
        timers(),
        prop_oneof![
            Just(AckPolicy::Every),
            Just(AckPolicy::default()),
            Just(AckPolicy::Delayed(DelayedAck {
                segments: 4,
                timeout: Span::from_millis(200),
                ..DelayedAck::default()
            })),
        ],
        (
            1u64..12,
            prop_oneof![Just(Amount::Unlimited), (1u64..2000).prop_map(|b| Amount::Bytes(Bytes::new(b)))],
        ),
        any::<[bool; 9]>(),
        (1u32..5, prop_oneof![Just(None), (1u32..4).prop_map(Some)], any::<bool>(), any::<bool>(), ecn()),
        (pacings(), prop_oneof![Just(Nagle::Off), Just(Nagle::Rfc896), Just(Nagle::Minshall)]),
    );
    parts.prop_map(
        |(
            recovery,
            congestion,
            timer,
            ack,
            (initial, receive_window),
            switches,
            (dup, burst, go, one, ecn),
            (pacing, nagle),
        )| {
            TcpConfig {
                recovery,
                congestion,
                timer,
                ack,
                mss: Bytes::new(MSS),
                initial_window: Amount::Packets(initial),
                receive_window,
                handshake: switches[0],
                timestamps: switches[1],
                limited_transmit: switches[2],
                repeat_fast_retransmit: switches[3],
                ecn,
                restart_after_idle: switches[5],
                window_inflation: switches[6],
                dsack: switches[7],
                fin: switches[8],
                duplicate_acks: dup,
                max_burst: burst,
                pacing,
                nagle,
                after_timeout: if go { AfterTimeout::GoBackN } else { AfterTimeout::FirstHole },
                rtt_samples: if one { RttSamples::OnePerWindow } else { RttSamples::EveryAck },
                ..TcpConfig::default()
            }
        },
    )
}

/// Delayed acknowledgements of every second segment, with any of the habits that may be added.
fn policies() -> impl Strategy<Value = DelayedAck> {
    let maximum = prop_oneof![Just(None), (40u64..=500).prop_map(|ms| Some(Span::from_millis(ms)))];
    (maximum, 0u32..20, any::<[bool; 4]>()).prop_map(|(maximum, quick, switches)| DelayedAck {
        maximum,
        quick,
        count_bytes: switches[0],
        short_at_once: switches[1],
        pushed_at_once: switches[1],
        sack_compression: switches[2].then_some(Span::from_millis(1)),
        hertz: switches[3].then_some(250),
        ..DelayedAck::default()
    })
}

fn paths() -> impl Strategy<Value = Path> {
    (0.0..0.35, 0.0..0.35, 0.0..0.3, 0.0..0.3, prop_oneof![Just(0u64), 1u64..40]).prop_map(
        |(loss, ack_loss, duplication, marking, reordering)| Path {
            loss,
            ack_loss,
            duplication,
            marking,
            reordering: Span::from_millis(reordering),
        },
    )
}

fn applications() -> impl Strategy<Value = Application> {
    (1u64..6000, prop_oneof![Just(None), (30u64..700).prop_map(Some)], any::<bool>())
        .prop_map(|(total, portion, reads_slowly)| Application { total, portion, reads_slowly })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_data_arrives_in_order_and_once(
        config in configs(), path in paths(), application in applications(), seed: u64,
    ) {
        let buffer = config.receive_window.bytes(config.mss, Bytes::ZERO).as_u64();
        World {
            sender: Sender::new(&config, Time::ZERO).drawing_from(Streams::new(seed, 0).stream("control")),
            receiver: Receiver::new(&config, Time::ZERO),
            flying: BinaryHeap::new(),
            segments: Vec::new(),
            draws: Streams::new(seed, 0).stream("path"),
            path,
            delivered: 0,
            handshake: config.handshake,
            edge: if config.handshake { 0 } else { buffer },
        }
        .run(&application);
    }

    /// RFC 5681 §4.2: within 500 ms, and at least every second full-sized segment.
    #[test]
    fn data_in_order_is_acknowledged_in_time(
        policy in policies(), pauses in proptest::collection::vec(0u64..900, 1..60),
    ) {
        let config = TcpConfig { ack: AckPolicy::Delayed(policy), mss: Bytes::new(MSS), ..TcpConfig::default() };
        let mut receiver = Receiver::new(&config, Time::ZERO);
        let (mut now, mut acked, mut waits_since) = (Time::ZERO, 0, None);
        for (number, pause) in (0..).zip(pauses) {
            let arrival = now + Span::from_millis(pause);
            while receiver.poll_at() <= arrival {
                now = receiver.poll_at();
                prop_assert!(waits_since.is_some_and(|since| now - since <= Span::from_millis(500)));
                acked = receiver.poll(now).expect("its time has come").ack;
                waits_since = None;
            }
            now = arrival;
            receiver.push(now, &Segment { seq: number * MSS, len: MSS as u32, ..Segment::default() });
            waits_since = waits_since.or(Some(now));
            if let Some(ack) = receiver.poll(now) {
                (acked, waits_since) = (ack.ack, None);
            }
            prop_assert!(receiver.delivered() - acked < 2 * MSS, "two segments wait");
            prop_assert_eq!(waits_since.is_some(), !receiver.poll_at().is_never());
        }
    }

    #[test]
    fn no_acknowledgement_however_absurd_panics(
        config in configs(), garbage in proptest::collection::vec(garbage(), 1..80),
    ) {
        let mut sender = Sender::new(&config, Time::ZERO);
        sender.write(Bytes::new(5_000));
        let mut now = Time::ZERO;
        for (wait, segment) in garbage {
            while sender.poll(now).is_some() {}
            now = now.max((now + wait).min(sender.poll_at()));
            sender.push(now, &segment);
            prop_assert!(sender.cwnd().as_u64() >= MSS);
            let _checks_that_the_pipe_is_not_negative = sender.in_flight();
        }
        while sender.poll(now).is_some() {}
        let waits = sender.counters().acked_bytes < 5_000;
        prop_assert!(!waits || !sender.poll_at().is_never());
    }

    #[test]
    fn no_data_however_absurd_panics(
        config in configs(), garbage in proptest::collection::vec(garbage(), 1..80),
    ) {
        let mut receiver = Receiver::new(&config, Time::ZERO);
        for (wait, segment) in garbage {
            let now = Time::ZERO + wait;
            receiver.push(now, &segment);
            while let Some(ack) = receiver.poll(now) {
                prop_assert_eq!(ack.ack, receiver.delivered() + u64::from(receiver.has_ended()));
            }
        }
    }
}

/// Any bits, near the numbers that matter.
fn garbage() -> impl Strategy<Value = (Span, Segment)> {
    let number = || prop_oneof![6 => 0u64..6_000, 1 => any::<u64>()];
    let offset = || prop_oneof![6 => 0u32..6_000, 1 => any::<u32>()];
    let block = || (offset(), offset());
    (
        (number(), number(), number(), number()),
        (offset(), 0u32..200, [block(), block(), block(), block()]),
        (any::<u8>(), prop_oneof![3 => Just(Flags::ACK.0), 1 => any::<u16>()], 0u64..3_000),
    )
        .prop_map(|((seq, ack, sent, echo), (window, len, sack), (sack_count, flags, wait))| {
            let segment = Segment {
                seq,
                ack,
                sent_at: Time::from_nanos(sent),
                echo: Time::from_nanos(echo),
                window,
                len,
                sack,
                sack_count: sack_count % 6,
                flags: Flags(flags),
                wire_size: 40,
            };
            (Span::from_millis(wait), segment)
        })
}

fn ecn() -> impl Strategy<Value = EcnMode> {
    prop_oneof![
        Just(EcnMode::Off),
        Just(EcnMode::Classic),
        any::<(bool, bool)>()
            .prop_map(|(option, as_linux)| EcnMode::Accurate(AccurateEcn { option, as_linux })),
    ]
}
