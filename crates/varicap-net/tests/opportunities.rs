//! Delivery opportunities, worked out by hand from the rules of Mahimahi's link queue.

use crate::common;

use std::path::Path;
use std::sync::Arc;

use common::{Log, Told, drain, link, ms, ns, packet, parts};
use varicap_net::{
    CapacityParts, CbqClass, CbqConfig, DropTailConfig, LinkParts, OpportunityParts, OpportunityTrace,
    QueueConfig, TraceOffset,
};
use varicap_units::{Amount, Bytes, Probability, Span, Time};

fn opportunities(text: &str, mahimahi: bool, repeat: bool) -> LinkParts {
    let trace = Arc::new(OpportunityTrace::parse("t", text.as_bytes()).unwrap());
    parts(CapacityParts::Opportunities(OpportunityParts {
        trace,
        size: Bytes::new(1500),
        mahimahi,
        repeat,
        offset: TraceOffset::default(),
        light: None,
        outages: None,
    }))
}

/// Instant [ms], and bytes used, of each opportunity.
fn used(log: &Log) -> Vec<(u64, u64)> {
    let used = log.0.iter().filter_map(|told| match told {
        Told::Opportunity { at, used, .. } => Some((at.as_nanos() / 1_000_000, *used)),
        _ => None,
    });
    used.collect()
}

/// 750 + 750 bytes at 0 ms, 1000 at 1.7 ms, and 1500 exactly at 5 ms, over opportunities at 2, 2, 5 and 10 ms.
fn golden(mahimahi: bool) -> Log {
    let (mut link, mut log) = (link(&opportunities("2\n2\n5\n10\n", mahimahi, true), 1), Log::default());
    link.push(ms(0), packet(0, 750), &mut log);
    link.push(ms(0), packet(1, 750), &mut log);
    link.push(ns(1_700_000), packet(2, 1000), &mut log);
    link.push(ms(5), packet(3, 1500), &mut log);
    link.advance(ms(12), &mut log);
    log
}

#[test]
fn frames_share_an_opportunity_and_what_is_unused_is_wasted() {
    let log = golden(false);
    // Two frames fit the first opportunity exactly, the third has the second to itself, and the fourth, which arrives
    // with the opportunity at 5 ms, misses it.
    assert_eq!(log.departures(), [(2_000_000, 0), (2_000_000, 1), (2_000_000, 2), (10_000_000, 3)]);
    assert_eq!(used(&log), [(2, 1500), (2, 1000), (5, 0), (10, 1500), (12, 0), (12, 0)]);
}

#[test]
fn mahimahi_adds_four_bytes_and_keeps_the_remainder() {
    let log = golden(true);
    // 754 + 750 of 754 bytes; 4 + 1004; nothing; 1504 of the frame that missed 5 ms.
    assert_eq!(log.departures(), [(2_000_000, 0), (2_000_000, 1), (2_000_000, 2), (10_000_000, 3)]);
    assert_eq!(used(&log), [(2, 1504), (2, 1008), (5, 0), (10, 1504), (12, 0), (12, 0)]);
    // Its clock counts whole milliseconds: the third frame is one millisecond old at departure, not 0.3.
    let third = log.0.iter().find_map(|told| match told {
        Told::Departure { arrived, number: 2, .. } => Some(*arrived),
        _ => None,
    });
    assert_eq!(third, Some(ms(1)));
}

#[test]
fn mahimahi_counts_its_four_bytes_against_a_limit_in_bytes() {
    let admitted = |mahimahi, limit, managed: bool| {
        let tail = DropTailConfig { limit, counts_in_service: false, ..Default::default() };
        let class = |queue| CbqClass {
            flows: None,
            share: Probability::new(1.0).unwrap(),
            queue,
            priority: 1,
            borrow: true,
        };
        let tail = QueueConfig::DropTail(tail);
        let classes = CbqConfig { classes: [("all".to_owned(), class(tail.clone()))].into() };
        let queue = if managed { QueueConfig::Cbq(classes) } else { tail };
        let parts = LinkParts { queue, ..opportunities("10\n", mahimahi, true) };
        let (mut link, mut log) = (link(&parts, 1), Log::default());
        (0..20).for_each(|number| link.push(ms(1), packet(number, 1500), &mut log));
        20 - log.losses().len()
    };
    let limit = |bytes| Amount::Bytes(Bytes::new(bytes));
    for managed in [false, true] {
        assert_eq!(admitted(false, limit(15_000), managed), 10);
        assert_eq!(admitted(true, limit(15_000), managed), 9);
        assert_eq!(admitted(true, limit(15_040), managed), 10);
        assert_eq!(admitted(true, Amount::Packets(10), managed), 10);
    }
}

#[test]
fn a_frame_half_sent_waits_for_the_next_opportunity() {
    let (mut link, mut log) = (link(&opportunities("3\n8\n", false, true), 1), Log::default());
    link.push(ms(0), packet(0, 2000), &mut log);
    link.push(ms(0), packet(1, 1200), &mut log);
    link.advance(ms(3), &mut log);
    assert_eq!((link.in_service().map(|frame| frame.number), link.backlog().frames), (Some(0), 1));
    // The second takes the 1000 bytes that the first leaves at 8 ms, and 200 at 11 ms.
    assert_eq!(drain(&mut link, ms(100), &mut log), [(ms(8), 0), (ms(11), 1)]);
}

#[test]
fn the_first_zero_and_the_last_line_coincide_on_wrap() {
    let (mut link, mut log) = (link(&opportunities("0\n4\n", false, true), 1), Log::default());
    link.advance(ms(8), &mut log);
    assert_eq!(used(&log), [(0, 0), (4, 0), (4, 0), (8, 0), (8, 0)]);
}

#[test]
fn a_trace_that_ends_leaves_the_frames_waiting() {
    let mut parts = opportunities("4\n", false, false);
    parts.delay = Span::from_millis(10).into();
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    link.push(ms(0), packet(0, 1500), &mut log);
    link.push(ms(0), packet(1, 1500), &mut log);
    assert_eq!(drain(&mut link, Time::from_nanos(u64::MAX - 1), &mut log), [(ms(14), 0)]);
    assert_eq!((link.poll_at(), link.inside()), (Time::NEVER, 1));
}

#[test]
fn real_traces_have_their_published_means() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/traces");
    if !folder.exists() {
        eprintln!("skipped: no folder {}", folder.display());
        return;
    }
    // Means as published with the traces [Mb/s], with an opportunity of 1500 bytes; they have three digits.
    for (file, megabits, half_digit) in [
        ("ATT-LTE-driving-2016.down", 4.56, 0.005),
        ("ATT-LTE-driving-2016.up", 1.91, 0.005),
        ("Verizon-LTE-short.down", 5.03, 0.005),
        ("Verizon-LTE-short.up", 5.95, 0.005),
        ("TMobile-LTE-short.down", 16.7, 0.05),
        ("Verizon-EVDO-driving.down", 0.52, 0.005),
    ] {
        let text = std::fs::read(folder.join(file)).unwrap();
        let trace = Arc::new(OpportunityTrace::parse(file, &text[..]).unwrap());
        let parts = OpportunityParts {
            trace,
            size: Bytes::new(1500),
            mahimahi: false,
            repeat: true,
            offset: TraceOffset::default(),
            light: None,
            outages: None,
        };
        let mean = parts.mean_rate().as_bps() as f64 / 1e6;
        assert!((mean - megabits).abs() <= half_digit, "{file}: {mean}");
    }
}
