//! Load-reactive links: samples at their own instants, thresholds, bounds, and what a controller may set.

use crate::common;

use std::sync::Arc;

use common::{Log, Packet, Told, drain, link, ms, ns, packet, parts};
use varicap_net::queue::Limit;
use varicap_net::{
    CapacityConfig, CapacityParts, Combine, ControlPackets, CustomControl, DropTailConfig, Frame,
    HysteresisConfig, Link, LinkParts, LoadReactiveConfig, LoadReactiveControl, Lost, OccupancyConfig,
    PiConfig, QueueConfig, QueueSample, ReactiveControlConfig, RedConfig, ResidualConfig, Service, Setting,
    SmoothedConfig, Step, StepsConfig, TargetDelayConfig, Thresholds, TraceConfig, TraceOffset, Watch,
};
use varicap_units::{Amount, Bytes, Probability, Rate, Span, Streams, Time, stream_name};

fn kbps(kilobits: u64) -> Rate {
    Rate::from_bps(kilobits * 1000)
}

fn bytes(bytes: u64) -> Amount {
    Amount::Bytes(Bytes::new(bytes))
}

/// From 80 kb/s up, by 80 kb/s above 3000 bytes, down below 1000: a packet of 1000 bytes takes 100 ms at first.
fn config() -> LoadReactiveConfig {
    LoadReactiveConfig {
        minimum: kbps(80),
        initial: None,
        residual: ResidualConfig::Constant(kbps(400)),
        pre_emption: true,
        pool: None,
        interval: Span::from_millis(100),
        phase: Span::ZERO,
        occupancy: OccupancyConfig::Instantaneous,
        counts_in_service: false,
        control_packets: ControlPackets::Inside,
        buffer: None,
        control: ReactiveControlConfig::Hysteresis(hysteresis()),
    }
}

fn hysteresis() -> HysteresisConfig {
    HysteresisConfig {
        low: bytes(1000),
        high: bytes(3000),
        increment: Step::By(kbps(80)),
        decrement: Step::By(kbps(80)),
        ..HysteresisConfig::default()
    }
}

fn with(control: HysteresisConfig) -> LoadReactiveConfig {
    LoadReactiveConfig { control: ReactiveControlConfig::Hysteresis(control), ..config() }
}

fn reactive_parts(config: &LoadReactiveConfig) -> LinkParts {
    let config = varicap_net::CapacityConfig::LoadReactive(config.clone());
    parts(CapacityParts::from_config(&config, &mut |_| Err("no files".to_owned())).unwrap())
}

fn reactive(config: &LoadReactiveConfig) -> Link<Packet> {
    link(&reactive_parts(config), 1)
}

/// When the capacity became what [ms, kb/s].
fn capacities(log: &Log) -> Vec<(u64, u64)> {
    let changes = log.0.iter().filter_map(|told| match told {
        Told::Capacity { at, rate } => Some((at.as_nanos() / 1_000_000, rate.as_bps() / 1000)),
        _ => None,
    });
    changes.collect()
}

fn push_many(link: &mut Link<Packet>, now: Time, count: u64, log: &mut Log) {
    (0..count).for_each(|number| link.push(now, packet(number, 1000), log));
}

#[test]
fn the_capacity_climbs_above_the_high_threshold_and_falls_below_the_low_one() {
    let (mut link, mut log) = (reactive(&config()), Log::default());
    push_many(&mut link, ms(50), 30, &mut log);
    drain(&mut link, ms(2000), &mut log);
    link.advance(ms(2000), &mut log);
    let climbed = [(0, 80), (100, 160), (200, 240), (300, 320), (400, 400)];
    let told = capacities(&log);
    assert_eq!(told[..5], climbed, "bounded by the residual after that");
    assert_eq!(told.last(), Some(&(told[5].0 + 300, 80)), "and down to the minimum step by step: {told:?}");
    assert!(told[5..].windows(2).all(|pair| pair[1].0 == pair[0].0 + 100 && pair[1].1 + 80 == pair[0].1));
}

#[test]
fn a_link_that_is_polled_rarely_does_the_same_as_one_that_is_polled_often() {
    let mut logs = Vec::new();
    for often in [false, true] {
        let (mut link, mut log) = (reactive(&config()), Log::default());
        let mut number = 0;
        for millis in 0..5_000 {
            if often {
                while link.poll(ms(millis), &mut log).is_some() {}
            }
            // Bursts, and silences in which several samples pass.
            if millis % 700 < 60 && millis % 7 == 0 {
                link.push(ms(millis), packet(number, 500 + 13 * (millis % 40)), &mut log);
                number += 1;
            }
        }
        link.advance(ms(6_000), &mut log);
        logs.push(log.0);
    }
    assert!(logs[0].len() > 100 && capacities(&Log(logs[0].clone())).len() > 20);
    assert_eq!(logs[0], logs[1]);
}

#[test]
fn a_sample_sees_what_waits_before_departures_and_arrivals_of_its_instant() {
    // At 80 kb/s packets leave every 100 ms from 100 ms on, at the very instants of the samples.
    let (mut link, mut log) = (reactive(&config()), Log::default());
    push_many(&mut link, Time::ZERO, 5, &mut log);
    link.advance(ms(150), &mut log);
    // 4 wait until 100 ms, 3 after the departure: 4000 B is above the threshold, 3000 B is not.
    assert_eq!(capacities(&log), [(0, 80), (100, 160)]);
    let order: Vec<&Told> = log.0.iter().filter(|told| told.at() == ms(100)).collect();
    assert!(matches!(order[..], [Told::Capacity { .. }, Told::Departure { .. }]), "{order:?}");

    let (mut link, mut log) = (reactive(&config()), Log::default());
    push_many(&mut link, Time::ZERO, 4, &mut log);
    link.push(ms(100), packet(9, 1000), &mut log);
    link.advance(ms(150), &mut log);
    assert_eq!(capacities(&log), [(0, 80)], "what arrives at the sample is not seen by it");
}

#[test]
fn from_zero_the_head_waits_in_the_transmitter_uncounted_and_starts_when_capacity_appears() {
    for service in [Service::AtStart, Service::Fluid] {
        let config = LoadReactiveConfig { minimum: Rate::ZERO, ..config() };
        let parts = LinkParts { service, ..reactive_parts(&config) };
        let (mut link, mut log) = (link(&parts, 1), Log::default());
        push_many(&mut link, ms(10), 4, &mut log);
        link.advance(ms(500), &mut log);
        assert_eq!(link.rate(), Rate::ZERO, "3 wait, and the head does not count");
        assert_eq!(
            (link.backlog().frames, link.poll_at()),
            (3, ms(600)),
            "it is worth asking at each sample"
        );
        link.push(ms(510), packet(4, 1000), &mut log);
        let out = drain(&mut link, ms(760), &mut log);
        // 4 wait at 600 ms and, before the departure, at 700 ms.
        assert_eq!(capacities(&log), [(0, 0), (600, 80), (700, 160)]);
        assert_eq!(out, [(ms(700), 0), (ms(750), 1)], "{service:?}");
    }
}

#[test]
fn at_start_a_packet_under_way_keeps_its_rate() {
    for (service, expected) in [(Service::AtStart, [140, 190]), (Service::Fluid, [95, 145])] {
        let config = LoadReactiveConfig { phase: Span::from_millis(50), ..config() };
        let parts = LinkParts { service, ..reactive_parts(&config) };
        let (mut link, mut log) = (link(&parts, 1), Log::default());
        push_many(&mut link, ms(40), 6, &mut log);
        let out = drain(&mut link, ms(400), &mut log);
        // Fluid: 10 ms at 80 kb/s, the rest of 8 kb at 160.
        let out = [out[0].0, out[1].0];
        assert_eq!(out, expected.map(ms), "{service:?}");
    }
}

#[test]
fn zero_does_not_wind_up() {
    let config = LoadReactiveConfig { minimum: Rate::ZERO, ..config() };
    let (mut link, mut log) = (reactive(&config), Log::default());
    // A thousand samples below the low threshold, then load: the first sample answers.
    push_many(&mut link, ms(100_010), 6, &mut log);
    link.advance(ms(100_150), &mut log);
    assert_eq!(capacities(&log), [(0, 0), (100_100, 80)]);
}

#[test]
fn strict_thresholds_are_between_and_others_are_not() {
    let rises = |strict: bool, waiting: u64, counts_in_service: bool| {
        let config = LoadReactiveConfig {
            counts_in_service,
            minimum: Rate::ZERO,
            ..with(HysteresisConfig { strict, ..hysteresis() })
        };
        let (mut link, mut log) = (reactive(&config), Log::default());
        push_many(&mut link, ms(10), waiting + 1, &mut log);
        link.advance(ms(100), &mut log);
        link.rate() > Rate::ZERO
    };
    assert_eq!((rises(true, 3, false), rises(true, 4, false)), (false, true));
    assert_eq!((rises(false, 2, false), rises(false, 3, false)), (false, true));
    assert_eq!((rises(true, 2, true), rises(true, 3, true)), (false, true), "with the one in service");
}

#[test]
fn thresholds_count_bytes_packets_or_both() {
    let rises = |control: HysteresisConfig, count: u64, size: u64| {
        let config = LoadReactiveConfig { minimum: Rate::ZERO, ..with(control) };
        let (mut link, mut log) = (reactive(&config), Log::default());
        (0..=count).for_each(|number| link.push(ms(10), packet(number, size), &mut log));
        link.advance(ms(100), &mut log);
        link.rate() > Rate::ZERO
    };
    let also = Some(Thresholds { low: Amount::Packets(1), high: Amount::Packets(3) });
    let packets = HysteresisConfig { low: Amount::Packets(1), high: Amount::Packets(3), ..hysteresis() };
    let either = HysteresisConfig { also, ..hysteresis() };
    let both = HysteresisConfig { combine: Combine::Both, ..either.clone() };
    // Four acknowledgements, two large packets, four large packets.
    for (control, acks, two, four) in [
        (hysteresis(), false, true, true),
        (packets, true, false, true),
        (either, true, true, true),
        (both, false, false, true),
    ] {
        let found =
            (rises(control.clone(), 4, 40), rises(control.clone(), 2, 2000), rises(control.clone(), 4, 1000));
        assert_eq!(found, (acks, two, four), "{control:?}");
    }
}

#[test]
fn proportional_steps_double_and_leave_zero() {
    let share = Probability::new(1.0).unwrap();
    let step = Step::Proportional(varicap_net::ProportionalStep { share, least: kbps(50) });
    let control = HysteresisConfig { increment: step, ..hysteresis() };
    let config = LoadReactiveConfig { minimum: Rate::ZERO, ..with(control) };
    let (mut link, mut log) = (reactive(&config), Log::default());
    push_many(&mut link, ms(10), 100, &mut log);
    link.advance(ms(450), &mut log);
    assert_eq!(capacities(&log), [(0, 0), (100, 50), (200, 100), (300, 200), (400, 400)]);
}

#[test]
fn a_residual_that_falls_preempts_at_once_or_only_stops_the_growth() {
    let residual = |rates: &[u64]| {
        ResidualConfig::Steps(StepsConfig {
            at: (0..rates.len() as u64).map(|step| Span::from_millis(250 * step)).collect(),
            rates: rates.iter().map(|&rate| kbps(rate)).collect(),
            period: None,
        })
    };
    let run = |pre_emption: bool| {
        let config = LoadReactiveConfig { residual: residual(&[400, 40, 400]), pre_emption, ..config() };
        let (mut link, mut log) = (reactive(&config), Log::default());
        push_many(&mut link, ms(10), 100, &mut log);
        link.advance(ms(650), &mut log);
        capacities(&log)
    };
    let climbs = [(0, 80), (100, 160), (200, 240)];
    // Back at 500 ms: the minimum at once, and the sample of that instant comes after it.
    assert_eq!(run(true), [&climbs[..], &[(250, 40), (500, 160), (600, 240)]].concat());
    assert_eq!(run(false), [&climbs[..], &[(500, 320), (600, 400)]].concat());
}

/// A data packet or an acknowledgement.
#[derive(Clone, Debug)]
struct Kind(u64, bool);

impl Frame for Kind {
    fn wire_size(&self) -> Bytes {
        Bytes::new(self.0)
    }
    fn mark_ce(&mut self) -> bool {
        false
    }
    fn is_control(&self) -> bool {
        self.1
    }
}

#[derive(Default)]
struct Silent(usize);

impl Watch<Kind> for Silent {
    fn on_lost(&mut self, _lost: Lost<Kind>) {
        self.0 += 1;
    }
}

#[test]
fn control_packets_are_counted_or_not_or_pass_beside() {
    // The first packet takes 60 ms at 80 kb/s; where the acknowledgements count, the capacity doubles at 20 ms.
    for (kind, rate, first) in [
        (ControlPackets::Inside, 160, ns(47_500_000)),
        (ControlPackets::Uncounted, 80, ms(70)),
        (ControlPackets::Outside, 80, ms(70)),
    ] {
        let phase = Span::from_millis(20);
        let config = LoadReactiveConfig { control_packets: kind, phase, ..config() };
        let parts = LinkParts { delay: Span::from_millis(5).into(), ..reactive_parts(&config) };
        let mut link = Link::new(&parts, "test", &Streams::new(1, 0));
        let mut log = Silent::default();
        link.push(ms(5), Kind(600, false), &mut log);
        (0..7).for_each(|_| link.push(ms(10), Kind(600, true), &mut log));
        if kind == ControlPackets::Outside {
            assert_eq!(link.poll_at(), ms(15));
        }
        let mut passed = 0;
        while kind == ControlPackets::Outside && link.poll(ms(15), &mut log).is_some() {
            passed += 1;
        }
        assert_eq!(passed, if kind == ControlPackets::Outside { 7 } else { 0 });
        link.advance(ms(20), &mut log);
        assert_eq!(link.rate(), kbps(rate), "{kind:?}");
        let mut out = Vec::new();
        while link.poll_at() < ms(2000) {
            let now = link.poll_at();
            while let Some(frame) = link.poll(now, &mut log) {
                out.push((now, frame.1));
            }
        }
        assert_eq!(out.len() + passed, 8);
        assert_eq!(out[0], (first, false), "{kind:?}");
        assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}

#[test]
fn an_averaged_occupancy_answers_later() {
    let first_rise = |occupancy: OccupancyConfig| {
        let config = LoadReactiveConfig { occupancy, minimum: Rate::ZERO, ..config() };
        let (mut link, mut log) = (reactive(&config), Log::default());
        push_many(&mut link, ms(60), 6, &mut log);
        link.advance(ms(3000), &mut log);
        capacities(&log)[1].0
    };
    // 5000 B wait from 60 ms on: the mean of the first interval is 2000 B.
    assert_eq!(first_rise(OccupancyConfig::Instantaneous), 100);
    assert_eq!(first_rise(OccupancyConfig::Mean), 200);
    // 1 - 0.9^n > 3/5 from n = 9 on.
    assert_eq!(first_rise(OccupancyConfig::Smoothed(SmoothedConfig::default())), 900);
}

#[test]
fn the_buffer_follows_the_capacity() {
    let config = LoadReactiveConfig { buffer: Some(Span::from_millis(400)), ..config() };
    let tail = DropTailConfig { limit: bytes(9000), counts_in_service: false, ..Default::default() };
    let parts = LinkParts { queue: QueueConfig::DropTail(tail), ..reactive_parts(&config) };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    // 80 kb/s for 400 ms are 4000 B, at 160 kb/s 8000 B, then the queue's own 9000 B.
    for (at, waits) in [(10, 4), (110, 8), (210, 9)] {
        push_many(&mut link, ms(at), 20, &mut log);
        assert_eq!(link.backlog().frames, waits, "at {at} ms");
    }
}

/// Says what it is told to say.
#[derive(Debug)]
struct Script(Vec<Setting>);

impl LoadReactiveControl for Script {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        self.0.pop().unwrap_or(Setting::of(sample.capacity))
    }
}

#[test]
fn a_controller_may_set_delay_and_limit_and_frames_keep_their_order() {
    let config = LoadReactiveConfig {
        control: ReactiveControlConfig::Custom(CustomControl("s".to_owned())),
        ..config()
    };
    let parts = LinkParts { delay: Span::from_millis(300).into(), ..reactive_parts(&config) };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    let limit = Some(Limit { frames: 2, ..Limit::NONE });
    let fast = Setting { capacity: kbps(9999), delay: Some(Span::from_millis(20)), limit };
    link.set_control(Box::new(Script(vec![fast, Setting::of(kbps(80)), Setting::of(kbps(80))])));
    push_many(&mut link, ms(90), 4, &mut log);
    assert_eq!(link.poll_at(), ms(100), "the delay may change at the sample");
    let out = drain(&mut link, ms(1000), &mut log);
    // The first is through at 190 ms, with 300 ms to go; the others are through from 212 ms on, with 20 ms to go.
    let millis: Vec<u64> = out.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(millis, [490, 490, 490, 490]);
    assert_eq!(link.rate(), kbps(400));
    push_many(&mut link, ms(1010), 4, &mut log);
    assert_eq!(link.backlog().frames, 1, "the one in service counts");
}

#[test]
fn where_frames_may_overtake_a_shorter_delay_that_a_controller_sets_lets_them() {
    let config = LoadReactiveConfig {
        control: ReactiveControlConfig::Custom(CustomControl("s".to_owned())),
        ..config()
    };
    let delay = Span::from_millis(300).into();
    let parts = LinkParts { delay, reorders: true, ..reactive_parts(&config) };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    let near = Setting { capacity: kbps(9999), delay: Some(Span::from_millis(20)), limit: None };
    link.set_control(Box::new(Script(vec![near, Setting::of(kbps(80)), Setting::of(kbps(80))])));
    push_many(&mut link, ms(90), 3, &mut log);
    let out = drain(&mut link, ms(1000), &mut log);
    // The first is through at 190 ms, with 300 ms to go, and is overtaken by those that are through after 200 ms.
    let millis: Vec<(u64, u64)> =
        out.iter().map(|(at, number)| (at.as_nanos() / 1_000_000, *number)).collect();
    assert_eq!(millis, [(238, 1), (258, 2), (490, 0)]);
}

#[test]
fn losses_of_a_managed_queue_are_told_and_leave_the_count_right() {
    #[derive(Debug)]
    struct Checks;
    impl LoadReactiveControl for Checks {
        fn on_sample(&mut self, sample: &QueueSample) -> Setting {
            assert!(sample.waiting.frames <= 5 && sample.lost.frames <= sample.arrived.frames);
            assert_eq!(sample.waiting.bytes, Bytes::new(1000) * u64::from(sample.waiting.frames));
            Setting::of(Rate::from_bps(u64::from(sample.lost.frames) * 1000))
        }
    }
    let config = LoadReactiveConfig {
        minimum: Rate::ZERO,
        control: ReactiveControlConfig::Custom(CustomControl("c".to_owned())),
        ..config()
    };
    let red = RedConfig { limit: Amount::Packets(5), ..RedConfig::default() };
    let parts = LinkParts { queue: QueueConfig::Red(red), ..reactive_parts(&config) };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    link.set_control(Box::new(Checks));
    push_many(&mut link, ms(10), 20, &mut log);
    link.advance(ms(150), &mut log);
    assert_eq!(capacities(&log), [(0, 0), (100, 14)], "one in service, five wait, the rest is lost");
}

#[test]
fn observing_from_outside_takes_the_place_of_the_own_controller() {
    let (mut link, mut log) = (reactive(&config()), Log::default());
    link.hand_over();
    push_many(&mut link, ms(10), 6, &mut log);
    let sample = link.observe(ms(50), &mut log).unwrap();
    assert_eq!((sample.waiting.frames, sample.capacity, sample.span), (5, kbps(80), Span::ZERO));
    assert_eq!(link.wish(&sample).unwrap().capacity, kbps(160));
    link.allot(ms(50), Setting::of(kbps(5000)), &mut log);
    assert_eq!(link.rate(), kbps(400), "within the residual");
    let sample = link.observe(ms(100), &mut log).unwrap();
    assert_eq!((sample.span, sample.arrived.frames), (Span::from_millis(50), 0));
    link.advance(ms(5000), &mut log);
    assert_eq!(capacities(&log), [(0, 80), (50, 400)], "nothing happens by itself");
}

/// Offers a steady load for ten seconds; the capacity and the bytes that wait at the end.
fn settle(control: ReactiveControlConfig, bps: u64) -> (f64, f64) {
    let config = LoadReactiveConfig {
        control,
        minimum: Rate::ZERO,
        residual: ResidualConfig::Constant(kbps(10_000)),
        ..config()
    };
    let (mut link, mut log) = (reactive(&config), Log::default());
    let gap = 500 * 8 * 1_000_000_000 / bps;
    (1..10_000_000_000 / gap).for_each(|number| link.push(ns(number * gap), packet(number, 500), &mut log));
    (link.rate().as_bps() as f64, link.backlog().bytes.as_u64() as f64)
}

#[test]
fn pi_brings_the_queue_to_its_target() {
    let control =
        ReactiveControlConfig::Pi(PiConfig { target: bytes(4000), proportional: 4.0, integral: 4.0 });
    let (capacity, waiting) = settle(control, 800_000);
    assert!((waiting - 4000.0).abs() <= 600.0, "{waiting} B");
    assert!((capacity / 800_000.0 - 1.0).abs() < 0.05, "{capacity} b/s");
}

#[test]
fn target_delay_brings_the_queueing_delay_to_its_target() {
    let (capacity, waiting) =
        settle(ReactiveControlConfig::TargetDelay(TargetDelayConfig::default()), 800_000);
    // 50 ms at 800 kb/s are 5000 B.
    assert!((waiting - 5000.0).abs() <= 600.0, "{waiting} B");
    assert!((capacity / 800_000.0 - 1.0).abs() < 0.05, "{capacity} b/s");
}

#[test]
fn parts_are_cheap_to_share() {
    let CapacityParts::LoadReactive(parts) = reactive_parts(&config()).capacity else {
        panic!("another kind")
    };
    assert_eq!(Arc::clone(&parts).config, config());
    assert_eq!(CapacityParts::LoadReactive(parts).mean_rate(), kbps(400), "what there is at most");
}

#[test]
fn a_residual_begins_where_its_trace_does() {
    let offset = TraceOffset::Random;
    let residual = ResidualConfig::Trace(TraceConfig { offset, ..TraceConfig::named("t.csv") });
    let config = LoadReactiveConfig { residual, ..config() };
    let text = "time_s,mbps\n0,1\n1,2\n";
    let parts = CapacityParts::from_config(&CapacityConfig::LoadReactive(config), &mut |_| {
        Ok(Box::new(text.as_bytes()))
    });
    assert_eq!(parts.unwrap().stream_name("up"), stream_name::traces());
}
