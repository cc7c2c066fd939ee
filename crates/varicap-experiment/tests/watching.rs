//! A link's measurements do not depend on whether, when or how often anybody looks at them.

#[path = "../../varicap-net/tests/common/mod.rs"]
mod common;

use std::sync::Arc;

use common::{Packet, capable, link, packet, parts};
use proptest::prelude::*;
use varicap_experiment::measure::{LinkMeasure, LinkMeter};
use varicap_net::{
    AccelBrakeConfig, ArqConfig, ArqParts, Backlog, CapacityConfig, CapacityParts, CbqClass, CbqConfig,
    CoDelConfig, DropTailConfig, DrrConfig, EredConfig, Frame, Framing, Link, LinkParts, Lost,
    OpportunityParts, OpportunityTrace, PieConfig, QueueConfig, RedConfig, SfqConfig, StepsConfig,
    TraceOffset, Watch,
};
use varicap_units::{Amount, Bytes, Probability, Rate, Span, Time, Work};

/// Measures a link as a run does.
struct Measured(LinkMeter);

impl Watch<Packet> for Measured {
    fn on_arrival(&mut self, at: Time, frame: &Packet, backlog: Backlog) {
        self.0.on_arrival(at, frame.wire_size(), backlog);
    }
    fn on_lost(&mut self, Lost { at, cause, frame }: Lost<Packet>) {
        self.0.on_lost(at, frame.wire_size(), cause);
    }
    fn on_departure(&mut self, at: Time, arrived: Time, frame: &Packet, backlog: Backlog) {
        self.0.on_departure(at, arrived, frame.wire_size(), backlog);
    }
    fn on_bypass(&mut self, _: Time, frame: &Packet) {
        self.0.on_bypass(frame.wire_size());
    }
    fn on_backlog(&mut self, at: Time, backlog: Backlog) {
        self.0.on_backlog(at, backlog);
    }
    fn on_capacity(&mut self, at: Time, rate: Rate) {
        self.0.on_capacity(at, rate);
    }
    fn on_rate_kept(&mut self, at: Time, rate: Rate, until: Time) {
        self.0.on_rate_kept(at, rate, until);
    }
    fn on_opportunity(&mut self, _: Time, offered: Bytes, _: Bytes) {
        self.0.on_opportunity(offered);
    }
}

fn brought_up_to(link: &mut Link<Packet>, now: Time, watch: &mut Measured) {
    while link.poll_at() <= now {
        let due = link.poll_at();
        while link.poll(due, watch).is_some() {}
    }
    link.advance(now, watch);
}

/// Measures a link to which frames of these flows and sizes come at these instants [us]; it is looked at every `look`.
fn measured(parts: &LinkParts, traffic: &[(u64, u16, u64)], look: Option<Span>) -> LinkMeasure {
    let (mut link, mut watch) = (link(parts, 1), Measured(LinkMeter::of(&parts.capacity)));
    let (end, mut looked, mut now) = (Time::ZERO + Span::from_millis(300), Time::ZERO, Time::ZERO);
    let arrivals = traffic.iter().scan(Time::ZERO, |at, arrival| {
        *at += Span::from_micros(arrival.0);
        Some((*at, Some(arrival)))
    });
    for (at, arrival) in arrivals.chain([(end, None)]) {
        while let Some(look) = look
            && looked + look < at
        {
            looked += look;
            brought_up_to(&mut link, looked, &mut watch);
            watch.0.totals(looked);
            assert_eq!(watch.0.waiting(), link.backlog(), "what waits at {looked:?}");
        }
        brought_up_to(&mut link, at, &mut watch);
        if let Some((_, flow, size)) = arrival {
            let codepoint = capable(size % 2 == 0);
            link.push(at, Packet { codepoint, flow: *flow, ..packet(now.as_nanos(), *size) }, &mut watch);
            now += Span::from_nanos(1);
        }
    }
    watch.0.finish(end)
}

fn class(flow: &str, share: f64, borrow: bool) -> CbqClass {
    let share = Probability::new(share).unwrap();
    CbqClass {
        flows: Some(vec![flow.to_owned()]),
        share,
        queue: QueueConfig::DropTail(drop_tail()),
        priority: 1,
        borrow,
    }
}

fn drop_tail() -> DropTailConfig {
    DropTailConfig { limit: Amount::Packets(12), counts_in_service: true, ..Default::default() }
}

fn cbq(borrow: bool) -> QueueConfig {
    let classes = [("a".to_owned(), class("a", 0.2, borrow)), ("b".to_owned(), class("b", 0.5, borrow))];
    QueueConfig::Cbq(CbqConfig { classes: classes.into() })
}

fn queues() -> Vec<QueueConfig> {
    let limit = Amount::Packets(12);
    let (target, interval) = (Span::from_millis(1), Span::from_millis(5));
    vec![
        QueueConfig::DropTail(drop_tail()),
        QueueConfig::Red(RedConfig { limit, weight: 0.2, ..RedConfig::default() }),
        QueueConfig::Ered(EredConfig { limit, weight: 0.2, ..EredConfig::default() }),
        QueueConfig::CoDel(CoDelConfig { limit, target, interval, ..CoDelConfig::default() }),
        QueueConfig::Pie(PieConfig { limit, target, max_burst: Span::ZERO, ..PieConfig::default() }),
        QueueConfig::Drr(DrrConfig { limit, ..DrrConfig::default() }),
        QueueConfig::Sfq(SfqConfig { limit, ..SfqConfig::default() }),
        QueueConfig::AccelBrake(AccelBrakeConfig { limit, ..AccelBrakeConfig::default() }),
        cbq(true),
        cbq(false),
    ]
}

fn opportunities() -> CapacityParts {
    let trace = Arc::new(OpportunityTrace::parse("t", &b"3\n4\n4\n11\n15\n"[..]).unwrap());
    CapacityParts::Opportunities(OpportunityParts {
        trace,
        size: Bytes::new(1500),
        mahimahi: false,
        repeat: true,
        offset: TraceOffset::default(),
        light: None,
        outages: None,
    })
}

fn links() -> Vec<LinkParts> {
    let steps = CapacityConfig::Steps(StepsConfig {
        at: [0, 7, 20].map(Span::from_millis).into(),
        rates: [8_000_000, 0, 2_000_000].map(Rate::from_bps).into(),
        period: Some(Span::from_millis(40)),
    });
    let steps = CapacityParts::from_config(&steps, &mut |_| unreachable!()).unwrap();
    let slotted = common::constant(4_000_000);
    let config = ArqConfig { window: 4, ..ArqConfig::default() };
    let arq = ArqParts::new(&config, &slotted, &Framing::default(), Bytes::new(1500)).unwrap();
    vec![
        parts(common::constant(4_000_000)),
        parts(steps),
        parts(opportunities()),
        LinkParts { arq: Some(arq), ..parts(slotted) },
    ]
}

fn any_link() -> impl Strategy<Value = LinkParts> {
    let links = proptest::sample::select(links());
    (links, proptest::sample::select(queues())).prop_map(|(link, queue)| LinkParts {
        queue,
        groups: ["a", "b"].map(Arc::from).into(),
        ..link
    })
}

fn same(parts: &LinkParts, traffic: &[(u64, u16, u64)], look: Span) {
    let (often, never) = (measured(parts, traffic, Some(look)), measured(parts, traffic, None));
    assert_eq!((often.done, often.peak), (never.done, never.peak));
}

#[test]
fn looks_change_nothing_at_a_link_with_opportunities_or_at_a_queue_that_lets_it_idle() {
    let traffic: Vec<(u64, u16, u64)> = (0..60).map(|number| (700, number % 2, 1500)).collect();
    let queue = QueueConfig::DropTail(drop_tail());
    same(&LinkParts { queue, ..parts(opportunities()) }, &traffic, Span::from_micros(130));
    let groups = ["a", "b"].map(Arc::from).into();
    let idling = LinkParts { queue: cbq(false), groups, ..parts(common::constant(4_000_000)) };
    same(&idling, &traffic, Span::from_micros(130));
}

#[test]
fn no_link_sends_more_after_a_cut_than_its_capacity_and_no_more_is_lost_than_was_there() {
    for parts in links() {
        let parts = LinkParts { queue: QueueConfig::DropTail(drop_tail()), ..parts };
        for cut in 1..40 {
            let (mut link, mut watch) = (link(&parts, 1), Measured(LinkMeter::of(&parts.capacity)));
            (0..15).for_each(|number| link.push(Time::ZERO, packet(number, 1500), &mut watch));
            let (begin, end) = (Span::from_micros(997 * cut), Span::from_millis(60));
            brought_up_to(&mut link, Time::ZERO + begin, &mut watch);
            watch.0.reset(Time::ZERO + begin, link.begun());
            brought_up_to(&mut link, Time::ZERO + end, &mut watch);
            let measure = watch.0.finish(Time::ZERO + end);
            let (used, offered) = (Work::of(measure.used), measure.done.offered);
            assert!(used <= offered, "{used:?} of {offered:?} after {begin} of {:?}", parts.capacity);
            assert!(measure.done.lost_frames() <= measure.done.arrived_frames + measure.held_frames);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn looks_change_nothing_whatever_the_queue(
        parts in any_link(),
        traffic in proptest::collection::vec((0u64..4_000, 0u16..2, 40u64..1500), 1..120),
        look in 50u64..5_000,
    ) {
        same(&parts, &traffic, Span::from_micros(look));
    }
}
