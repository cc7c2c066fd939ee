//! Light opportunities: worked out by hand, and against a slow reference that looks at every opportunity there is.

use crate::common;

use std::sync::Arc;

use common::{Log, Told, drain, link, ms, ns, packet, parts};
use proptest::prelude::*;
use varicap_net::capacity::Trains;
use varicap_net::{
    CapacityParts, CoDelConfig, LightParts, LinkParts, OpportunityParts, OpportunityTrace, QueueConfig,
    TraceOffset,
};
use varicap_units::{Amount, Bytes, Span, Time};

/// Three opportunities a train, 0, 2 and 5 ms after its first frame, later 0 and 1 ms; else one every 10 ms.
const TRAINS: &str = "0 20 0 2 5\n50 20 0 1\n100 20 0\n";
const HEAVY: &str = "10\n20\n30\n40\n50\n60\n70\n80\n90\n100\n";

fn with_light(heavy: &str, light: &str, idle: Span) -> LinkParts {
    let trace = Arc::new(OpportunityTrace::parse("heavy", heavy.as_bytes()).unwrap());
    let trains = Arc::new(Trains::parse("light", light.as_bytes()).unwrap());
    parts(CapacityParts::Opportunities(OpportunityParts {
        trace,
        size: Bytes::new(1500),
        mahimahi: false,
        repeat: true,
        offset: TraceOffset::default(),
        light: Some(LightParts { trains, idle }),
        outages: None,
    }))
}

/// Pushes full packets at these instants [us], and gives when each departs [us].
fn departures(parts: &LinkParts, pushed: &[u64]) -> Vec<u64> {
    let (mut link, mut log) = (link(parts, 1), Log::default());
    for (number, at) in pushed.iter().enumerate() {
        drain(&mut link, ns(at * 1000), &mut log);
        link.push(ns(at * 1000), packet(number as u64, 1500), &mut log);
    }
    link.advance(ms(1000), &mut log);
    log.departures().into_iter().map(|(at, _)| at / 1000).collect()
}

#[test]
fn a_burst_has_its_train_and_what_is_longer_the_heavy_trace() {
    let parts = with_light(HEAVY, TRAINS, Span::ZERO);
    // Five at once at 3.5 ms: 0, 2 and 5 ms later, and from then on every 10 ms.
    assert_eq!(departures(&parts, &[3500; 5]), [3500, 5500, 8500, 10_000, 20_000]);
    // The opportunity at 10 ms passes unused while a train is under way.
    assert_eq!(departures(&parts, &[7000; 5]), [7000, 9000, 12_000, 20_000, 30_000]);
}

#[test]
fn sparse_frames_each_begin_a_train() {
    let parts = with_light(HEAVY, TRAINS, Span::ZERO);
    let at = [1000, 14_000, 77_000, 99_000, 103_000];
    assert_eq!(departures(&parts, &at), at);
}

#[test]
fn a_train_begins_only_after_the_link_was_idle_for_longer() {
    let parts = with_light(HEAVY, TRAINS, Span::from_millis(4));
    // Sent at 1 ms. What comes at 5 ms, 4 ms later, meets the rest of that train, over by 6 ms; what comes at 9 ms the
    // heavy trace. At 15 ms the link has been idle for longer, by a clock of whole milliseconds.
    assert_eq!(departures(&parts, &[1000, 5000, 9000, 15_000]), [1000, 6000, 10_000, 15_000]);
    assert_eq!(departures(&parts, &[1000, 5000, 9000, 14_999]), [1000, 6000, 10_000, 20_000]);
}

#[test]
fn a_paced_sender_has_at_most_a_train_a_millisecond() {
    let parts = with_light(HEAVY, "0 20 0\n100 20 0\n", Span::ZERO);
    assert_eq!(departures(&parts, &[1000, 1200, 1400]), [1000, 10_000, 20_000]);
    assert_eq!(departures(&parts, &[1000, 2200, 3400]), [1000, 2200, 3400]);
}

#[test]
fn a_frame_that_is_dropped_begins_no_train() {
    let mut parts = with_light("900\n", "0 20 5\n100 20 0\n", Span::ZERO);
    let pushed: Vec<u64> = (1..10).map(|at| at * 1000).collect();
    parts.queue = QueueConfig::CoDel(CoDelConfig { limit: Amount::Packets(1), ..CoDelConfig::default() });
    // A burst that comes at 1 ms has its opportunity 5 ms later, whatever is refused beside it until then.
    assert_eq!(departures(&parts, &pushed)[0], 6000);
}

#[test]
fn the_train_is_that_of_its_instant() {
    let parts = with_light(HEAVY, TRAINS, Span::ZERO);
    assert_eq!(departures(&parts, &[49_999; 3]), [49_999, 51_999, 54_999]);
    assert_eq!(departures(&parts, &[50_000; 3]), [50_000, 51_000, 60_000]);
    assert_eq!(departures(&parts, &[100_000; 3]), [100_000, 102_000, 105_000]);
}

/// The departures of a drop-tail queue without limit and a server with both kinds of opportunities, in plain arithmetic [ns].
fn reference(heavy: &[u64], trains: &[(u64, Vec<u64>)], idle: u64, frames: &[(u64, u64)]) -> Vec<u64> {
    const MS: u64 = 1_000_000;
    let (period, round) = (trains.last().unwrap().0, *heavy.last().unwrap());
    let mut coming: Vec<u64> =
        (0..4000 / round + 1).flat_map(|turn| heavy.iter().map(move |at| (turn * round + at) * MS)).collect();
    coming.sort_unstable();
    let mut ends = Vec::new();
    let mut queue: std::collections::VecDeque<(u64, u64)> = Default::default(); // (arrived, left to send)
    let (mut train, mut departed): (Vec<u64>, Option<u64>) = (Vec::new(), None);
    let mut next_frame = 0;
    loop {
        // At one instant: the heavy trace, the train, then what arrives.
        let light = train.first().copied().unwrap_or(u64::MAX);
        let trace = coming.first().copied().unwrap_or(u64::MAX);
        let arrival = frames.get(next_frame).map_or(u64::MAX, |frame| frame.0);
        let now = light.min(trace).min(arrival);
        if now == u64::MAX || ends.len() == frames.len() {
            return ends;
        }
        let budget = if trace == now {
            coming.remove(0);
            if train.is_empty() { 1500 } else { 0 }
        } else if light == now {
            train.remove(0);
            1500
        } else {
            let (_, size) = frames[next_frame];
            next_frame += 1;
            queue.push_back((now, size));
            if queue.len() == 1 && departed.is_none_or(|at| now / MS > (at + idle) / MS) {
                let sent = trains[..trains.len() - 1].iter().rfind(|(at, _)| *at <= now / MS % period);
                let (_, offsets) = sent.unwrap_or(&trains[0]);
                train = offsets.iter().map(|offset| now + offset * MS).collect();
            }
            0
        };
        let mut left = budget;
        while left > 0
            && let Some((_, size)) = queue.front_mut()
        {
            let sent = left.min(*size);
            (left, *size) = (left - sent, *size - sent);
            if *size == 0 {
                queue.pop_front();
                departed = Some(now);
                ends.push(now);
            }
        }
    }
}

fn increasing(gaps: &[u64]) -> Vec<u64> {
    gaps.iter()
        .scan(0, |sum, gap| {
            *sum += gap;
            Some(*sum)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_departure_is_where_the_reference_has_it_and_nothing_is_lost_track_of(
        heavy in proptest::collection::vec(0u64..9, 1..12),
        trains in proptest::collection::vec((1u64..40, proptest::collection::vec(0u64..4, 1..6)), 2..5),
        idle in prop_oneof![Just(0u64), 0u64..20_000_000],
        frames in proptest::collection::vec((prop_oneof![3 => Just(0u64), 2 => Just(1_000_000), 4 => 0u64..5_000_000, 1 => 0u64..60_000_000], 40u64..1500), 1..60),
        managed in any::<bool>(),
    ) {
        let heavy: Vec<u64> = increasing(&heavy).into_iter().map(|at| at + 1).collect();
        let starts = increasing(&trains.iter().map(|(gap, _)| *gap).collect::<Vec<_>>());
        let trains: Vec<(u64, Vec<u64>)> =
            starts.into_iter().zip(trains.iter().map(|(_, gaps)| increasing(gaps))).collect();
        let line = |(at, offsets): &(u64, Vec<u64>)| {
            let offsets: String = offsets.iter().map(|offset| format!(" {offset}")).collect();
            format!("{at} 20{offsets}\n")
        };
        let light: String = trains.iter().map(line).collect();
        let lines: String = heavy.iter().map(|at| format!("{at}\n")).collect();
        let mut parts = with_light(&lines, &light, Span::from_nanos(idle));
        if managed {
            // One that drops nothing of so little.
            parts.queue = QueueConfig::CoDel(CoDelConfig { target: Span::from_secs(9), ..CoDelConfig::default() });
        }
        let instants = increasing(&frames.iter().map(|(gap, _)| *gap).collect::<Vec<_>>());
        let frames: Vec<(u64, u64)> = instants.into_iter().zip(frames.iter().map(|(_, size)| *size)).collect();

        let (mut link, mut log) = (link(&parts, 1), Log::default());
        let mut out = 0;
        for (number, (at, size)) in frames.iter().enumerate() {
            out += drain(&mut link, ns(*at), &mut log).len();
            link.push(ns(*at), packet(number as u64, *size), &mut log);
        }
        let end = Time::from_nanos(3_500_000_000);
        out += drain(&mut link, end, &mut log).len();
        prop_assert_eq!(frames.len(), out + link.inside());
        let departures: Vec<u64> = log.departures().into_iter().map(|(at, _)| at).collect();
        let expected = reference(&heavy, &trains, idle, &frames);
        prop_assert_eq!(departures, expected.into_iter().filter(|at| *at <= end.as_nanos()).collect::<Vec<_>>());
        let offered: u64 = log.0.iter().filter_map(|told| match told {
            Told::Opportunity { offered, .. } => Some(*offered),
            _ => None,
        }).sum();
        prop_assert_eq!(link.opportunities().map(|work| work.as_nanobits()), Some(u128::from(offered) * 8_000_000_000));
    }
}
