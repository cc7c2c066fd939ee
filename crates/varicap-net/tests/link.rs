//! The behaviour of a link, case by case.

use crate::common;

use common::{Log, Told, constant, drain, link, ms, ns, packet, parts};
use varicap_net::{
    CapacityConfig, CapacityParts, Cells, DropTailConfig, Framing, LossCause, LossParts, QueueConfig,
    Service, StepsConfig,
};
use varicap_units::{Amount, Bytes, Probability, Rate, Span, Time};

/// Rates [kbit/s] from instants [ms] on.
fn steps(steps: &[(u64, u64)]) -> CapacityParts {
    let config = CapacityConfig::Steps(StepsConfig {
        at: steps.iter().map(|(at, _)| Span::from_millis(*at)).collect(),
        rates: steps.iter().map(|(_, kbps)| Rate::from_bps(kbps * 1000)).collect(),
        period: None,
    });
    CapacityParts::from_config(&config, &mut |_| Err("no files".to_owned())).unwrap()
}

fn drop_tail(limit: Amount, counts_in_service: bool) -> QueueConfig {
    QueueConfig::DropTail(DropTailConfig { limit, counts_in_service, ..Default::default() })
}

#[test]
fn a_frame_takes_its_transmission_time_and_the_delay() {
    let mut parts = parts(constant(12_000_000));
    parts.delay = Span::from_millis(20).into();
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    link.push(ms(5), packet(0, 1500), &mut log);
    link.push(ms(5), packet(1, 750), &mut log);
    assert_eq!(link.poll_at(), ms(26));
    assert_eq!(link.poll(ns(25_999_999), &mut log), None);
    assert_eq!(drain(&mut link, ms(100), &mut log), [(ms(26), 0), (ns(26_500_000), 1)]);
    assert_eq!(link.poll_at(), Time::NEVER);
}

#[test]
fn what_is_inside_is_seen_in_the_order_in_which_it_comes_out() {
    for hastened in [false, true] {
        let (mut link, mut log) = (link(&parts(constant(12_000_000)), 1), Log::default());
        if hastened {
            link.plan_departures();
        }
        (0..5).for_each(|number| link.push(ms(0), packet(number, 1500), &mut log));
        let first = link.poll(ms(1), &mut log).map(|frame| frame.number);
        let coming = |others| link.coming(others).map(|frame| frame.number);
        assert_eq!((first, coming(0), coming(3), coming(4)), (Some(0), Some(1), Some(4), None), "{hastened}");
    }
}

#[test]
fn reports_come_in_order_each_with_its_own_time() {
    let (mut link, mut log) = (link(&parts(steps(&[(0, 12_000), (1, 6_000)])), 1), Log::default());
    link.push(ms(0), packet(0, 1500), &mut log);
    link.push(ms(0), packet(1, 1500), &mut log);
    link.advance(ms(50), &mut log);
    let capacity = |at, kbps: u64| Told::Capacity { at, rate: Rate::from_bps(kbps * 1000) };
    let departure =
        |at, number, backlog| Told::Departure { at, arrived: ms(0), number, size: Bytes::new(1500), backlog };
    let expected = [
        capacity(ms(0), 12_000),
        Told::Arrival { at: ms(0), number: 0, backlog: 0 },
        Told::Arrival { at: ms(0), number: 1, backlog: 0 },
        capacity(ms(1), 6_000),
        departure(ms(1), 0, 0),
        departure(ms(3), 1, 0),
    ];
    assert_eq!(log.0, expected);
}

#[test]
fn changes_of_capacity_are_reported_while_idle() {
    let (mut link, mut log) = (link(&parts(steps(&[(0, 1), (7, 0), (9, 3)])), 1), Log::default());
    link.advance(ms(8), &mut log);
    assert_eq!(log.0.len(), 2);
    assert_eq!(link.rate(), Rate::ZERO);
    link.advance(ms(9), &mut log);
    assert_eq!(log.0.last(), Some(&Told::Capacity { at: ms(9), rate: Rate::from_bps(3_000) }));
}

#[test]
fn a_departure_frees_the_buffer_before_a_simultaneous_arrival() {
    let mut parts = parts(constant(12_000_000));
    parts.queue = drop_tail(Amount::Packets(1), true);
    for (arrival, lost) in [(ns(999_999), 1), (ms(1), 0)] {
        let (mut link, mut log) = (link(&parts, 1), Log::default());
        link.push(ms(0), packet(0, 1500), &mut log);
        link.push(arrival, packet(1, 1500), &mut log);
        assert_eq!(log.losses().len(), lost, "arrival at {arrival:?}");
    }
}

#[test]
fn a_limit_counts_the_frame_in_service_or_not() {
    for (limit, counts, kept) in [
        (Amount::Packets(3), true, 3),
        (Amount::Packets(3), false, 4),
        (Amount::Packets(0), true, 0),
        (Amount::Packets(0), false, 1),
        (Amount::Bytes(Bytes::new(4500)), true, 3),
        (Amount::Bytes(Bytes::new(4500)), false, 4),
        (Amount::Bytes(Bytes::new(4499)), true, 2),
        (Amount::Bdp(0.2), true, 2),   // 3000 of 15,000 bytes
        (Amount::Bdp(0.001), true, 1), // never less than a packet
        (Amount::Unlimited, true, 10),
    ] {
        let mut parts = parts(constant(12_000_000));
        parts.queue = drop_tail(limit, counts);
        let (mut link, mut log) = (link(&parts, 1), Log::default());
        for number in 0..10 {
            link.push(ms(0), packet(number, 1500), &mut log);
        }
        assert_eq!(link.inside(), kept, "{limit:?}, counts in service: {counts}");
        assert!(log.losses().iter().all(|(_, cause, _)| *cause == LossCause::Overflow));
    }
}

#[test]
fn at_start_keeps_the_rate_of_the_beginning_and_fluid_follows() {
    // 12 Mb/s for half of the frame, then 3 Mb/s: 0.5 ms + 2 ms, or 1 ms as planned; the second takes 4 ms in both.
    let capacity = CapacityParts::Held(Rate::from_bps(12_000_000));
    for (service, first, second) in
        [(Service::Fluid, 2_500_000, 6_500_000), (Service::AtStart, 1_000_000, 5_000_000)]
    {
        let mut parts = parts(capacity.clone());
        parts.service = service;
        let (mut link, mut log) = (link(&parts, 1), Log::default());
        link.push(ms(0), packet(0, 1500), &mut log);
        link.push(ms(0), packet(1, 1500), &mut log);
        link.set_rate(ns(500_000), Rate::from_bps(3_000_000), &mut log);
        link.advance(ms(50), &mut log);
        assert_eq!(log.departures(), [(first, 0), (second, 1)], "{service:?}");
    }
}

#[test]
fn an_outage_holds_the_frame_until_it_ends() {
    for (service, out) in [(Service::Fluid, 10_500_000), (Service::AtStart, 1_000_000)] {
        let mut parts = parts(CapacityParts::Held(Rate::from_bps(12_000_000)));
        parts.service = service;
        let (mut link, mut log) = (link(&parts, 1), Log::default());
        link.push(ms(0), packet(0, 1500), &mut log);
        link.set_rate(ns(500_000), Rate::ZERO, &mut log);
        link.push(ms(5), packet(1, 1500), &mut log);
        link.set_rate(ms(10), Rate::from_bps(12_000_000), &mut log);
        link.advance(ms(50), &mut log);
        assert_eq!(log.departures()[0], (out, 0), "{service:?}");
        let second = if service == Service::Fluid { 11_500_000 } else { 11_000_000 };
        assert_eq!(log.departures()[1], (second, 1), "{service:?}");
    }
}

#[test]
fn a_link_that_never_carries_anything_is_never_polled() {
    let (mut link, mut log) = (link(&parts(constant(0)), 1), Log::default());
    link.push(ms(0), packet(0, 1500), &mut log);
    link.advance(ms(0), &mut log);
    assert_eq!(link.poll_at(), Time::NEVER);
    assert_eq!(link.inside(), 1);
}

#[test]
fn poll_at_is_never_late_over_an_outage() {
    let mut parts = parts(steps(&[(0, 12_000), (1, 0), (2, 0), (30, 12_000)]));
    parts.delay = Span::from_millis(3).into();
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    link.push(ns(500_000), packet(0, 1500), &mut log);
    assert_eq!(drain(&mut link, ms(100), &mut log), [(ns(33_500_000), 0)]);
}

#[test]
fn advancing_to_the_end_of_time_comes_to_an_end() {
    let (mut link, mut log) = (link(&parts(steps(&[(0, 12_000), (1, 6_000)])), 1), Log::default());
    link.push(ms(0), packet(0, 1500), &mut log);
    link.advance(Time::NEVER, &mut log);
    assert_eq!(log.departures(), [(1_000_000, 0)]);
}

#[test]
fn an_unlimited_rate_and_no_delay_take_no_time() {
    let (mut link, mut log) = (link(&parts(CapacityParts::Constant(Rate::UNLIMITED)), 1), Log::default());
    link.push(ms(4), packet(0, 1500), &mut log);
    link.push(ms(4), packet(1, 1500), &mut log);
    assert_eq!(link.poll_at(), ms(4));
    assert_eq!(drain(&mut link, ms(4), &mut log), [(ms(4), 0), (ms(4), 1)]);
}

#[test]
fn a_frame_lost_on_the_wire_has_used_its_capacity() {
    let mut parts = parts(constant(12_000_000));
    parts.loss = LossParts::Bernoulli(Probability::new(1.0).unwrap());
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    link.push(ms(0), packet(0, 1500), &mut log);
    link.push(ms(0), packet(1, 1500), &mut log);
    assert_eq!(drain(&mut link, ms(100), &mut log), []);
    assert_eq!(log.departures(), [(1_000_000, 0), (2_000_000, 1)]);
    let channel = LossCause::Channel;
    assert_eq!(log.losses(), [(1_000_000, channel, 0), (2_000_000, channel, 1)]);
    assert_eq!(link.inside(), 0);
}

#[test]
fn cells_are_sent_whole() {
    let mut parts = parts(constant(53 * 8 * 1000));
    parts.framing = Framing { overhead: Bytes::new(8), cells: Some(Cells::default()), in_queue: false };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    link.push(ms(0), packet(0, 40), &mut log); // 48 bytes: one cell of 1 ms
    link.push(ms(0), packet(1, 41), &mut log); // 49 bytes: two
    link.advance(ms(50), &mut log);
    assert_eq!(log.departures(), [(1_000_000, 0), (3_000_000, 1)]);
}

#[test]
fn files_are_read_through_the_caller() {
    let config = CapacityConfig::Trace(varicap_net::TraceConfig::named("a.csv"));
    let mut asked = Vec::new();
    let parts = CapacityParts::from_config(&config, &mut |file| {
        asked.push(file.to_owned());
        Ok(Box::new(&b"time_s,rate_mbps\n0,1\n1,3\n"[..]))
    });
    assert_eq!(parts.unwrap().mean_rate(), Rate::from_bps(2_000_000));
    assert_eq!(asked, ["a.csv"]);
    let missing = CapacityParts::from_config(&config, &mut |_| Err("not found".to_owned()));
    assert_eq!(missing.unwrap_err().to_string(), "a.csv: not found");
}
