//! Handovers: capacity, delay and loss change together, at the nanosecond.

use crate::common;

use proptest::prelude::*;

use common::{Log, Told, constant, drain, link, ms, ns, packet, parts};
use varicap_net::capacity::{Capacity, CapacityProcess};
use varicap_net::delay::{Delay, DelayProcess};
use varicap_net::{
    CapacityParts, DelayParts, HandoverConfig, HandoverPhase, Link, LinkParts, LossCause, LossParts,
    OpportunityParts, OpportunityTrace, TraceOffset,
};
use varicap_units::part::Part;
use varicap_units::{Bytes, Probability, Rate, Span, Streams, Time};

const MS: u64 = 1_000_000;

fn handover(json: &str) -> HandoverConfig {
    let config: HandoverConfig = serde_json::from_str(json).unwrap();
    config.check().unwrap();
    config
}

/// A link with these handovers.
fn handed_over(json: &str, link: LinkParts) -> LinkParts {
    let handover = handover(json);
    LinkParts {
        capacity: handover.interrupt(link.capacity),
        delay: handover.move_delay(link.delay),
        loss: handover.burst(link.loss),
        ..link
    }
}

/// When a packet was lost [ns], why, and its number.
type Loss = (u64, LossCause, u64);

/// The fate of a packet of 1500 bytes each ms, at 12 Mb/s: when those that come out do [ns], and which are lost.
fn outcome(parts: &LinkParts, packets: u64) -> (Vec<(u64, u64)>, Vec<Loss>) {
    let (mut link, mut log, mut out) = (link(parts, 1), Log::default(), Vec::new());
    for number in 0..packets {
        if number > 0 {
            out.extend(drain(&mut link, ns(number * MS - 1), &mut log));
        }
        link.push(ms(number), packet(number, 1500), &mut log);
    }
    out.extend(drain(&mut link, ms(1_000_000), &mut log));
    (out.into_iter().map(|(at, number)| (at.as_nanos(), number)).collect(), log.losses())
}

#[test]
fn capacity_delay_and_loss_change_in_phase() {
    // Handovers at 10, 20, … ms: 2 ms without capacity, then 3 ms of loss; 1 ms more and 4 ms more of delay in turn.
    let json = r#"{"period": "10 ms", "outage": "2 ms", "delays": ["1 ms", "4 ms"], "burst": "3 ms"}"#;
    let link = LinkParts { delay: Span::from_millis(5).into(), ..parts(constant(12_000_000)) };
    let (out, lost) = outcome(&handed_over(json, link), 13);
    // Number 9 is through at the instant of the handover, with the delay of the new interval; 10 waits until 12 ms, and
    // is through at 13, when packets are being lost, as 11 is at 14; 12 is through as the burst ends.
    let expected: Vec<(u64, u64)> = (0..9)
        .map(|number| ((number + 1 + 6) * MS, number))
        .chain([((10 + 9) * MS, 9), ((15 + 9) * MS, 12)])
        .collect();
    assert_eq!(out, expected);
    let channel = |at, number| (at * MS, LossCause::Channel, number);
    assert_eq!(lost, [channel(13, 10), channel(14, 11)]);
}

#[test]
fn both_directions_are_handed_over_together() {
    let json = r#"{"period": "15 s", "phase": "4 s", "delay_spread": "30 ms"}"#;
    let delay = handover(json).move_delay(Span::from_millis(20).into());
    assert_eq!((delay.mean(), delay.least()), (Span::from_millis(35), Span::from_millis(20)));
    let streams = Streams::new(3, 0);
    let (mut up, mut down) = (Delay::new(&delay, "up", &streams), Delay::new(&delay, "down", &streams));
    let (mut now, mut seen) = (Time::ZERO, Vec::new());
    for interval in 0..100 {
        let segment = up.segment(now);
        assert_eq!(segment, down.segment(now));
        assert_eq!(segment.until, Time::ZERO + Span::from_secs(4 + 15 * interval));
        assert!((Span::from_millis(20)..=Span::from_millis(50)).contains(&segment.delay));
        seen.push(segment.delay.as_millis_f64());
        now = segment.until;
    }
    // A mean of 100 uniform draws over 30 ms is within 5 standard errors of 0.87 ms.
    let mean = seen.iter().sum::<f64>() / 100.0;
    assert!((mean - 35.0).abs() < 4.4, "{mean}");
}

#[test]
fn opportunities_in_an_outage_pass_unused() {
    let trace = OpportunityTrace::parse("t", &b"1\n2\n3\n4\n5\n"[..]).unwrap();
    let opportunities = CapacityParts::Opportunities(OpportunityParts {
        trace: trace.into(),
        size: Bytes::new(1500),
        mahimahi: false,
        repeat: true,
        offset: TraceOffset::default(),
        light: None,
        outages: None,
    });
    let plain = opportunities.mean_rate();
    let parts = handed_over(r#"{"period": "10 ms", "outage": "4 ms"}"#, parts(opportunities));
    let mut link = link(&parts, 1);
    let mut log = Log::default();
    for number in 0..40 {
        link.push(Time::ZERO, packet(number, 1500), &mut log);
    }
    link.advance(ms(25), &mut log);
    let left: Vec<u64> = log.departures().iter().map(|(at, _)| at / MS).collect();
    assert_eq!(left, [1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 17, 18, 19, 24, 25]);
    assert_eq!(parts.capacity.mean_rate(), Rate::from_bps(plain.as_bps() * 6 / 10));
    assert_eq!(link.rate(), parts.capacity.mean_rate());
    // A frame that passes in an outage offers nothing.
    let offered =
        log.0.iter().map(|told| if let Told::Opportunity { offered, .. } = told { *offered } else { 0 });
    assert_eq!(offered.sum::<u64>(), 17 * 1500);
}

#[test]
fn refusals_name_the_key() {
    let refusal = |json: &str| {
        let fault = serde_json::from_str::<HandoverConfig>(json).unwrap().check().unwrap_err();
        format!("{}: {}, expected {}", fault.key, fault.found, fault.expected)
    };
    assert_eq!(refusal(r#"{"period": "0 s"}"#), "period: 0 s, expected at least 1 us");
    assert_eq!(
        refusal(r#"{"period": "1 s", "outage": "1 s"}"#),
        "outage: 1 s, expected less than `period`, 1 s"
    );
    assert_eq!(
        refusal(r#"{"period": "1 s", "outage": "400 ms", "burst": "700 ms"}"#),
        "burst: 700 ms, expected at most 600 ms, what the outage leaves of `period`"
    );
    assert_eq!(refusal(r#"{"period": "1 s", "delays": []}"#), "delays: empty, expected at least one delay");
    assert_eq!(
        refusal(r#"{"period": "1 s", "delays": ["1 ms"], "delay_spread": "1 ms"}"#),
        "delays: a list, expected nothing beside `delay_spread`"
    );
}

#[test]
fn a_random_phase_is_one_for_all_that_a_handover_moves_and_another_in_each_run() {
    let json = r#"{"period": "20 ms", "phase": "random", "outage": "3 ms", "delays": ["0 ms", "7 ms"], "burst": "2 ms"}"#;
    let parts =
        handed_over(json, LinkParts { delay: Span::from_millis(5).into(), ..parts(constant(12_000_000)) });
    let mut begins = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let begin = |name: &str| {
            let mut link = Link::<common::Packet>::new(&parts, name, &Streams::new(seed, 0));
            // The first instant at which nothing is sent, and at which the delay is longer.
            let mut log = Log::default();
            link.advance(ms(40), &mut log);
            let out = log.0.iter().find_map(|told| match told {
                Told::Capacity { at, rate } if *rate == Rate::ZERO => Some(*at),
                _ => None,
            });
            let out = out.unwrap();
            let mut link = Link::<common::Packet>::new(&parts, name, &Streams::new(seed, 0));
            if let Some(before) = out.as_nanos().checked_sub(1) {
                assert_eq!(link.delay(ns(before)), Span::from_millis(5));
            }
            assert_eq!(link.delay(out), Span::from_millis(12));
            out
        };
        let at = begin("down");
        assert!(at < ms(20), "within a period");
        assert_eq!(at, begin("up"), "both directions alike");
        begins.insert(at);
    }
    assert!(begins.len() > 15, "{begins:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn capacity_and_delay_are_those_of_plain_arithmetic_at_every_instant(
        period in 1_000u64..50_000_000, phase in prop_oneof![Just(None), (0u64..90_000_000).prop_map(Some)],
        out in 0.0f64..1.0, added in proptest::collection::vec(0u64..30_000_000, 1..5),
        looks in proptest::collection::vec(0u64..20_000_000, 1..60),
    ) {
        let outage = (period as f64 * out) as u64;
        let config = HandoverConfig {
            period: Span::from_nanos(period),
            phase: phase.map(Span::from_nanos).map(HandoverPhase::FirstAt),
            outage: Span::from_nanos(outage),
            delay_spread: Span::ZERO,
            delays: Some(added.iter().map(|nanos| Span::from_nanos(*nanos)).collect()),
            burst: Span::ZERO,
            burst_loss: Default::default(),
        };
        prop_assert_eq!(config.check(), Ok(()));
        let streams = Streams::new(1, 0);
        let parts = config.interrupt(constant(1_000));
        let mut rates = Capacity::new(&parts, streams.stream("a"));
        let mut delays = Delay::new(&config.move_delay(DelayParts::from(Span::from_nanos(7))), "a", &streams);
        let mut now = 0;
        for look in looks {
            now += look;
            let since = now.checked_sub(phase.unwrap_or(period));
            let number = since.map_or(0, |since| 1 + since / period);
            let is_out = since.is_some_and(|since| since % period < outage);
            prop_assert_eq!(rates.segment(ns(now)).rate.as_bps(), if is_out { 0 } else { 1_000 });
            prop_assert_eq!(delays.segment(ns(now)).delay.as_nanos(), 7 + added[number as usize % added.len()]);
            // Nothing changes before the end of the segment.
            let until = rates.segment(ns(now)).until.as_nanos();
            if until < u64::MAX {
                let at_end = (until - phase.unwrap_or(period)) % period;
                prop_assert_eq!(at_end, if is_out { outage } else { 0 });
            }
        }
    }

    #[test]
    fn a_burst_loses_what_leaves_in_it_and_nothing_else(
        period in 5_000_000u64..40_000_000, burst in 1u64..5_000_000, loss in prop_oneof![Just(1.0f64), Just(0.5)],
    ) {
        let json = format!(r#"{{"period": "{period} ns", "burst": "{burst} ns", "burst_loss": {loss}}}"#);
        let bursts = handover(&json).burst(LossParts::None);
        let (out, lost) = outcome(&LinkParts { loss: bursts.clone(), ..parts(constant(12_000_000)) }, 200);
        prop_assert_eq!(out.len() + lost.len(), 200);
        let in_burst = |at: u64| at >= period && (at - period) % period < burst;
        prop_assert!(lost.iter().all(|(at, _, _)| in_burst(*at)));
        prop_assert!(loss < 1.0 || out.iter().all(|(at, _)| !in_burst(*at)));
        let mean = loss * burst as f64 / period as f64;
        prop_assert!((bursts.mean() - mean).abs() < 1e-12, "{} and {mean}", bursts.mean());
        // Of the packets in bursts a share of `loss` is lost: within five standard deviations.
        let kept = out.iter().filter(|(at, _)| in_burst(*at)).count() as f64;
        let (packets, share) = (kept + lost.len() as f64, loss);
        let deviation = (packets * share * (1.0 - share)).sqrt();
        prop_assert!((lost.len() as f64 - packets * share).abs() <= 5.0 * deviation, "{} of {packets}", lost.len());
    }
}

#[test]
fn the_mean_of_a_loss_with_bursts_is_what_is_lost_in_the_long_run() {
    // No multiples of a packet's millisecond, so that packets leave at any time after an outage.
    let json = r#"{"period": "20.713 ms", "outage": "4.3 ms", "burst": "4.1 ms", "burst_loss": 0.5}"#;
    let bursts = handover(json).burst(LossParts::Bernoulli(Probability::new(0.2).unwrap()));
    let mean: f64 = 1.0 - (1.0 - 0.2) * (1.0 - 4.1 / (20.713 - 4.3) * 0.5);
    assert!((bursts.mean() - mean).abs() < 1e-12, "{} and {mean}", bursts.mean());
    let capacity = handover(json).interrupt(constant(12_000_000));
    let packets = 40_000;
    let (out, lost) = outcome(&LinkParts { loss: bursts, ..parts(capacity) }, packets);
    assert_eq!((out.len() + lost.len()) as u64, packets);
    // Within five standard deviations, of packets by themselves.
    let packets = packets as f64;
    let deviation = (packets * mean * (1.0 - mean)).sqrt();
    assert!((lost.len() as f64 - packets * mean).abs() < 5.0 * deviation, "{} of {packets}", lost.len());
}
