//! Invariants of every link, whatever its parts and its traffic.

use crate::common;

use std::sync::Arc;

use proptest::prelude::*;

use common::{Log, Packet, Told, link, packet, parts};
use varicap_net::capacity::read_rates;
use varicap_net::delay::{Delay, DelayProcess, read_delays};
use varicap_net::{
    ArqConfig, ArqParts, CapacityConfig, CapacityParts, CbqClass, CbqConfig, Cells, CoDelConfig, Codepoint,
    DelayConfig, DelayParts, DeviceConfig, DropFrom, DropTailConfig, DrrConfig, DualPi2Config, DualScheduler,
    EredConfig, FqCoDelConfig, Framing, GilbertElliottConfig, GoodBadConfig, HandoverConfig, LinkParts,
    LossConfig, LossParts, MarkovConfig, MarkovDelayConfig, OpportunityParts, OpportunityTrace, PieConfig,
    PolicerConfig, QueueConfig, RayleighConfig, RedConfig, Service, SessionsConfig, SfqConfig, ShaperConfig,
    SlottedMarkovConfig, StepMarkingConfig, StepsConfig, StepsDelayConfig, TraceLossConfig, TraceOffset,
    read_losses,
};
use varicap_units::{Amount, Bytes, Frequency, Probability, Rate, Span, Streams, Time, Work};

fn probability(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn capacity(config: &CapacityConfig) -> CapacityParts {
    CapacityParts::from_config(config, &mut |_| Err("no files".to_owned())).unwrap()
}

fn rates() -> impl Strategy<Value = CapacityParts> {
    let rate = prop_oneof![1 => Just(Rate::ZERO), 4 => (1_000u64..200_000_000).prop_map(Rate::from_bps)];
    let pair = (rate.clone(), 1_000_000u64..200_000_000);
    let steps = proptest::collection::vec((rate.clone(), 1u64..30_000_000), 1..6).prop_map(|steps| {
        let at = steps.iter().scan(0, |sum, (_, length)| {
            let at = *sum;
            *sum += *length;
            Some(Span::from_nanos(at))
        });
        let at: Vec<Span> = at.collect();
        let period = Some(*at.last().unwrap() + Span::from_millis(5));
        capacity(&CapacityConfig::Steps(StepsConfig {
            rates: steps.iter().map(|(r, _)| *r).collect(),
            at,
            period,
        }))
    });
    let markov = (pair.clone(), (1_000u64..50_000_000, 1_000u64..50_000_000)).prop_map(|(pair, holding)| {
        capacity(&CapacityConfig::Markov(MarkovConfig {
            rates: vec![pair.0, Rate::from_bps(pair.1)],
            mean_holding: vec![Span::from_nanos(holding.0), Span::from_nanos(holding.1)],
            jumps: None,
            start: None,
        }))
    });
    let slotted = (pair, 1u64..20).prop_map(|(pair, step)| {
        capacity(&CapacityConfig::SlottedMarkov(SlottedMarkovConfig {
            rates: vec![pair.0, Rate::from_bps(pair.1)],
            step: Span::from_millis(step),
            transitions: vec![vec![probability(0.75), probability(0.25)]; 2],
            start: None,
        }))
    });
    let sessions = (1_000_000u64..50_000_000, 1.0f64..1000.0).prop_map(|(bps, arrivals)| {
        capacity(&CapacityConfig::Sessions(SessionsConfig {
            capacity: Rate::from_bps(bps),
            arrivals: Frequency::from_hz(arrivals).unwrap(),
            mean_size: Bytes::new(5_000),
            at_most: 10,
        }))
    });
    let constant =
        prop_oneof![Just(Rate::UNLIMITED), Just(Rate::ZERO), rate].prop_map(CapacityParts::Constant);
    prop_oneof![constant, steps, markov, slotted, sessions]
}

fn opportunities() -> impl Strategy<Value = CapacityParts> {
    (proptest::collection::vec(0u64..6, 1..20), any::<bool>()).prop_map(|(gaps, mahimahi)| {
        let instants = gaps.iter().scan(1, |sum, gap| {
            *sum += gap;
            Some(format!("{sum}\n"))
        });
        let trace = OpportunityTrace::parse("t", instants.collect::<String>().as_bytes()).unwrap();
        let (trace, size) = (Arc::new(trace), Bytes::new(1500));
        CapacityParts::Opportunities(OpportunityParts {
            trace,
            size,
            mahimahi,
            repeat: true,
            offset: TraceOffset::default(),
            light: None,
            outages: None,
        })
    })
}

fn any_queue() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1u64..20).prop_map(Amount::Packets),
        (1_500u64..20_000).prop_map(|bytes| Amount::Bytes(Bytes::new(bytes))),
        Just(Amount::Unlimited),
    ];
    let drop_tail = (limit.clone(), any::<bool>()).prop_map(|(limit, counts_in_service)| {
        QueueConfig::DropTail(DropTailConfig { limit, counts_in_service, ..Default::default() })
    });
    let red = (limit.clone(), any::<bool>(), any::<bool>()).prop_map(|(limit, gentle, ecn)| {
        let weight = 0.2;
        QueueConfig::Red(RedConfig { limit, gentle, ecn, weight, ..RedConfig::default() })
    });
    let ered = (limit.clone(), any::<bool>(), any::<bool>()).prop_map(|(limit, gentle, ecn)| {
        let (weight, reserve) = (0.2, Amount::Packets(3));
        let thresholds = (Amount::Packets(4), Amount::Packets(12));
        let (min_threshold, max_threshold) = thresholds;
        let ered = EredConfig {
            limit,
            reserve,
            gentle,
            ecn,
            weight,
            min_threshold,
            max_threshold,
            ..EredConfig::default()
        };
        QueueConfig::Ered(ered)
    });
    let drop = prop_oneof![Just(DropFrom::Longest), Just(DropFrom::Arriving)];
    let fair = (limit.clone(), drop, any::<bool>()).prop_map(|(limit, drop, virtual_time)| {
        if virtual_time {
            QueueConfig::Sfq(SfqConfig { limit, drop, ..SfqConfig::default() })
        } else {
            QueueConfig::Drr(DrrConfig { limit, drop, ..DrrConfig::default() })
        }
    });
    let pie = (limit.clone(), any::<bool>(), any::<bool>()).prop_map(|(limit, ecn, derandomise)| {
        let (target, update) = (Span::from_millis(2), Span::from_millis(3));
        let max_burst = Span::ZERO;
        QueueConfig::Pie(PieConfig {
            limit,
            ecn,
            derandomise,
            target,
            update,
            max_burst,
            ..PieConfig::default()
        })
    });
    let threshold = prop_oneof![Just(None), (0u64..20).prop_map(|ms| Some(Span::from_millis(ms)))];
    let codel =
        (limit.clone(), any::<[bool; 2]>(), threshold).prop_map(|(limit, [ecn, flows], ce_threshold)| {
            let interval = Span::from_millis(10);
            if flows {
                let fq_codel =
                    FqCoDelConfig { limit, ecn, interval, ce_threshold, ..FqCoDelConfig::default() };
                QueueConfig::FqCoDel(fq_codel)
            } else {
                QueueConfig::CoDel(CoDelConfig {
                    limit,
                    ecn,
                    interval,
                    ce_threshold,
                    ..CoDelConfig::default()
                })
            }
        });
    let step = (limit.clone(), 1u64..10, any::<[bool; 2]>()).prop_map(|(limit, most, [by_delay, drop])| {
        let (threshold, delay) = (Amount::Packets(most), Span::from_millis(most));
        QueueConfig::StepMarking(StepMarkingConfig {
            limit,
            threshold: (!by_delay).then_some(threshold),
            delay: by_delay.then_some(delay),
            drop,
        })
    });
    let dualpi2 = (limit, any::<[bool; 2]>()).prop_map(|(limit, [shifted, is_step])| {
        let (target, max_rtt) = (Span::from_millis(2), Span::from_millis(9));
        let scheduler = if shifted { DualScheduler::TimeShiftedFifo } else { DualScheduler::Wrr };
        let ramp = if is_step { Span::ZERO } else { Span::from_micros(400) };
        QueueConfig::DualPi2(DualPi2Config {
            limit,
            target,
            max_rtt,
            scheduler,
            ramp,
            ..DualPi2Config::default()
        })
    });
    let simple = prop_oneof![drop_tail, red, ered, fair, codel, pie, step].boxed();
    let classes = (simple.clone(), 0.1f64..1.0, any::<bool>()).prop_map(|(queue, share, borrow)| {
        let class = CbqClass { flows: None, share: probability(share), queue, priority: 1, borrow };
        QueueConfig::Cbq(CbqConfig { classes: [("all".to_owned(), class)].into() })
    });
    let device = (simple.clone(), 1u64..6, 0u64..3_000_000).prop_map(|(queue, ring, hold)| {
        let (ring, hold, queue) = (Amount::Packets(ring), Span::from_nanos(hold), Box::new(queue));
        QueueConfig::Device(DeviceConfig { ring, hold, queue })
    });
    let buckets = (simple.clone(), 100_000u64..20_000_000, 1u64..10, any::<bool>()).prop_map(
        |(queue, bps, packets, waits)| {
            let (rate, burst, queue) = (Rate::from_bps(bps), Amount::Packets(packets), Box::new(queue));
            if waits {
                QueueConfig::Shaper(ShaperConfig { rate, burst, latency: None, queue })
            } else {
                QueueConfig::Policer(PolicerConfig { rate, burst, queue, monitor: None })
            }
        },
    );
    prop_oneof![4 => simple, 1 => classes, 1 => device, 1 => buckets, 1 => dualpi2]
}

fn any_loss() -> impl Strategy<Value = LossParts> {
    let gilbert_elliott = GilbertElliottConfig {
        to_bad: probability(0.1),
        to_good: probability(0.3),
        loss_good: probability(0.0),
        loss_bad: probability(0.8),
    };
    let markov =
        GoodBadConfig { good: Span::from_millis(10), bad: Span::from_millis(1), delivered: probability(0.9) };
    let rayleigh = RayleighConfig {
        doppler: Frequency::from_hz(30.0).unwrap(),
        threshold_db: -10.0,
        delivered: probability(1.0),
        oscillators: 8,
    };
    let trace = serde_json::from_str::<TraceLossConfig>(r#"{"file": "l.csv"}"#).unwrap();
    prop_oneof![
        Just(LossConfig::None),
        Just(LossConfig::Bernoulli(probability(0.1))),
        Just(LossConfig::GilbertElliott(gilbert_elliott)),
        Just(LossConfig::Markov(markov)),
        Just(LossConfig::Rayleigh(rayleigh)),
        Just(LossConfig::Trace(trace)),
    ]
    .prop_map(|config| {
        let rows = b"time_s,loss\n0,0.1\n0.0013,1\n0.002000001,0\n";
        LossParts::from_config(&config, &mut |_| Ok(Box::new(&rows[..]))).unwrap()
    })
}

fn any_link(capacity: impl Strategy<Value = CapacityParts>) -> impl Strategy<Value = LinkParts> {
    let service = prop_oneof![Just(Service::Fluid), Just(Service::AtStart)];
    (capacity, service, any_queue(), any_loss(), any_delay(), any::<bool>()).prop_map(
        |(capacity, service, queue, loss, delay, reorders)| {
            let framing = Framing::default();
            LinkParts { service, queue, loss, delay, reorders, framing, ..parts(capacity) }
        },
    )
}

/// The same with handovers.
fn handed_over(link: impl Strategy<Value = LinkParts>) -> impl Strategy<Value = LinkParts> {
    let handover = (1_000_000u64..90_000_000, 0.0f64..0.5, 0u64..30_000_000, 0.0f64..0.5);
    (link, handover).prop_map(|(link, (period, outage, spread, burst))| {
        let part = |share: f64| Span::from_nanos((period as f64 * share) as u64);
        let handover = HandoverConfig {
            period: Span::from_nanos(period),
            phase: None,
            outage: part(outage),
            delay_spread: Span::from_nanos(spread),
            delays: None,
            burst: part(burst),
            burst_loss: probability(0.7),
        };
        LinkParts {
            capacity: handover.interrupt(link.capacity),
            delay: handover.move_delay(link.delay),
            loss: handover.burst(link.loss),
            ..link
        }
    })
}

/// Delays that stay and delays that vary, by steps or by a chain.
fn any_delay() -> impl Strategy<Value = DelayParts> {
    let some = || prop_oneof![Just(0u64), 0u64..50_000_000].prop_map(Span::from_nanos);
    let read =
        |config: &DelayConfig| DelayParts::from_config(config, &mut |_| Err("no files".to_owned())).unwrap();
    let steps = proptest::collection::vec((some(), 1u64..20_000_000), 1..6).prop_map(move |steps| {
        let at = steps.iter().scan(0, |sum, (_, length)| {
            let at = *sum;
            *sum += *length;
            Some(Span::from_nanos(at))
        });
        let at: Vec<Span> = at.collect();
        let period = Some(*at.last().unwrap() + Span::from_millis(3));
        let delays = steps.iter().map(|(delay, _)| *delay).collect();
        read(&DelayConfig::Steps(StepsDelayConfig { at, delays, period }))
    });
    let markov = (some(), some(), 1_000u64..20_000_000).prop_map(move |(one, other, mean)| {
        read(&DelayConfig::Markov(MarkovDelayConfig {
            delays: vec![one, other],
            mean_holding: vec![Span::from_nanos(mean); 2],
            jumps: None,
            start: None,
        }))
    });
    prop_oneof![some().prop_map(DelayParts::from), steps, markov]
}

/// Links with ARQ, whatever their window, acknowledgements and cells.
fn any_arq() -> impl Strategy<Value = LinkParts> {
    let link =
        any_link((100_000u64..20_000_000).prop_map(|bps| CapacityParts::Constant(Rate::from_bps(bps))));
    let delay = prop_oneof![Just(0u64), 0u64..20_000_000].prop_map(Span::from_nanos);
    let most = prop_oneof![Just(None), (0u32..3).prop_map(Some)];
    (link, 1u32..20, delay, most, any::<[bool; 2]>()).prop_map(
        |(link, window, ack_delay, most, [aligned, in_cells])| {
            let config = ArqConfig { slot: None, aligned, window, ack_delay, max_retransmissions: most };
            let framing = Framing { cells: in_cells.then(Cells::default), ..Framing::default() };
            let arq = ArqParts::new(&config, &link.capacity, &framing, link.packet).unwrap();
            LinkParts { framing, arq: Some(arq), ..link }
        },
    )
}

fn any_kind() -> impl Strategy<Value = LinkParts> {
    let plain = || any_link(prop_oneof![rates(), opportunities()]);
    prop_oneof![2 => plain(), 1 => any_arq(), 1 => handed_over(plain())]
}

/// Arrivals: time since the one before, frames at that time, and their size.
fn any_traffic() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let gap = prop_oneof![Just(0u64), Just(1_000_000), 0u64..5_000_000];
    proptest::collection::vec((gap, 1u64..5, prop_oneof![Just(1500u64), 40u64..3000]), 1..60)
}

/// One run: what the link told, what came out, and what stayed inside.
#[derive(Debug, PartialEq)]
struct Run {
    told: Vec<Told>,
    out: Vec<(Time, u64)>,
    offered: u64,
    inside: usize,
}

/// Runs the arrivals through a link that is polled whenever it asks, and moreover advanced and polled at the instants
/// of `looks`, for a second.
fn run(parts: &LinkParts, seed: u64, traffic: &[(u64, u64, u64)], looks: &[u64]) -> Run {
    let mut link = link(parts, seed);
    let mut log = Log::default();
    let mut out = Vec::new();
    let mut offered = 0;
    let mut looks: Vec<Time> = looks.iter().map(|&nanos| Time::from_nanos(nanos)).collect();
    looks.sort_unstable();
    let mut catch_up =
        |link: &mut varicap_net::Link<Packet>, until: Time, log: &mut Log, out: &mut Vec<_>| {
            loop {
                let look = looks.first().copied().unwrap_or(Time::NEVER);
                let now = link.poll_at().min(look);
                if now > until {
                    return;
                }
                if now == look {
                    looks.remove(0);
                    link.advance(now, log);
                }
                while let Some(frame) = link.poll(now, log) {
                    out.push((now, frame.number));
                }
                assert!(
                    link.poll_at() > now,
                    "asks to be polled at {:?}, which is not after {now:?}",
                    link.poll_at()
                );
            }
        };
    let mut now = Time::ZERO;
    for &(gap, frames, size) in traffic {
        now += Span::from_nanos(gap);
        catch_up(&mut link, now, &mut log, &mut out);
        for _ in 0..frames {
            let codepoint = [Codepoint::Ect0, Codepoint::NotEct, Codepoint::Ect1][(offered % 3) as usize];
            let reserved = offered % 4 == 0;
            link.push(now, Packet { codepoint, reserved, ..packet(offered, size) }, &mut log);
            offered += 1;
        }
    }
    let end = Time::ZERO + Span::from_secs(1);
    catch_up(&mut link, end, &mut log, &mut out);
    link.advance(end, &mut log);
    Run { told: log.0, out, offered, inside: link.inside() }
}

/// The integral of the capacity that `told` reports, over an interval.
fn offered_work(told: &[Told], from: Time, until: Time) -> Work {
    let mut work = Work::ZERO;
    let (mut rate, mut since) = (Rate::ZERO, Time::ZERO);
    let changes = told.iter().filter_map(|told| match told {
        Told::Capacity { at, rate } => Some((*at, *rate)),
        _ => None,
    });
    for (at, next) in changes.chain([(until, Rate::ZERO)]) {
        let (start, end) = (since.max(from), at.min(until));
        if start < end {
            work += rate * (end - start);
        }
        (rate, since) = (next, at);
    }
    work
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn offered_is_delivered_lost_or_inside(
        parts in any_kind(), traffic in any_traffic(), seed in 0u64..100,
    ) {
        let run = run(&parts, seed, &traffic, &[]);
        let lost = run.told.iter().filter(|told| matches!(told, Told::Lost { .. })).count();
        prop_assert_eq!(run.offered as usize, run.out.len() + lost + run.inside);
    }

    #[test]
    fn frames_come_out_in_the_order_of_arrival_and_not_before_the_delay(
        parts in any_kind(), traffic in any_traffic(), seed in 0u64..100,
    ) {
        let run = run(&parts, seed, &traffic, &[]);
        prop_assert!(run.out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        // The two queues of DualPI2 overtake each other.
        let reorders = parts.reorders || matches!(parts.queue, QueueConfig::DualPi2(_));
        prop_assert!(reorders || run.out.windows(2).all(|pair| pair[0].1 < pair[1].1));
        let lost = |number: u64| run.told.iter().any(|told| matches!(told, Told::Lost { number: n, .. } if *n == number));
        let mut delays = Delay::new(&parts.delay, "test", &Streams::new(seed, 0));
        let mut due: Vec<(Time, u64)> = Vec::new();
        for told in &run.told {
            let Told::Departure { at, number, .. } = told else { continue };
            let out = *at + delays.segment(*at).delay;
            if !lost(*number) {
                // In order it comes out with the last of those ahead of it.
                let ahead = due.last().map_or(Time::ZERO, |last| last.0);
                due.push((if parts.reorders { out } else { out.max(ahead) }, *number));
            }
        }
        due.sort_by_key(|(at, _)| *at);
        due.retain(|(at, _)| *at <= Time::ZERO + Span::from_secs(1));
        prop_assert_eq!(run.out, due);
    }

    #[test]
    fn reports_come_in_order_of_time(
        parts in any_kind(), traffic in any_traffic(), seed in 0u64..100,
    ) {
        let run = run(&parts, seed, &traffic, &[]);
        prop_assert!(run.told.windows(2).all(|pair| pair[0].at() <= pair[1].at()));
    }

    #[test]
    fn looking_early_or_twice_changes_nothing(
        parts in any_kind(), traffic in any_traffic(), seed in 0u64..100,
        looks in proptest::collection::vec(prop_oneof![0u64..100_000_000, 0u64..1_000_000_000], 0..40),
    ) {
        prop_assert_eq!(run(&parts, seed, &traffic, &looks), run(&parts, seed, &traffic, &[]));
    }

    #[test]
    fn the_same_seed_gives_the_same_run(
        parts in any_kind(), traffic in any_traffic(), seed in 0u64..100,
    ) {
        prop_assert_eq!(run(&parts, seed, &traffic, &[]), run(&parts, seed, &traffic, &[]));
    }

    #[test]
    fn departures_in_any_interval_need_no_more_than_its_capacity(
        parts in prop_oneof![any_link(rates()), handed_over(any_link(rates()))], traffic in any_traffic(), seed in 0u64..100,
    ) {
        if parts.capacity.mean_rate().is_unlimited() {
            return Ok(()); // its capacity has no integral
        }
        let run = run(&LinkParts { service: Service::Fluid, ..parts }, seed, &traffic, &[]);
        let departures: Vec<(Time, Bytes)> = run.told.iter().filter_map(|told| match told {
            Told::Departure { at, size, .. } => Some((*at, *size)),
            _ => None,
        }).collect();
        // Between two departures everything that left was also served, except for the first nanosecond's work that the
        // rounding up of the first departure had in hand.
        let in_hand = Rate::from_bps(200_000_000) * Span::from_nanos(1);
        for (index, &(from, _)) in departures.iter().enumerate() {
            let mut work = Work::ZERO;
            for &(until, size) in &departures[index + 1..] {
                work += Work::of(size);
                prop_assert!(work <= offered_work(&run.told, from, until) + in_hand, "{:?} to {:?}", from, until);
            }
        }
    }

    #[test]
    fn a_busy_link_carries_exactly_its_capacity(
        capacity in rates(), sizes in proptest::collection::vec(1u64..3000, 1..200), seed in 0u64..100,
    ) {
        if capacity.mean_rate().is_unlimited() {
            return Ok(()); // its capacity has no integral
        }
        let parts = parts(capacity);
        let traffic: Vec<(u64, u64, u64)> = sizes.iter().map(|size| (0, 1, *size)).collect();
        let run = run(&parts, seed, &traffic, &[]);
        let mut work = Work::ZERO;
        for told in &run.told {
            let Told::Departure { at, size, .. } = told else { continue };
            work += Work::of(*size);
            // The departure is the first nanosecond at whose end the capacity suffices.
            prop_assert!(offered_work(&run.told, Time::ZERO, *at) >= work);
            if at.as_nanos() > 0 {
                let before = Time::from_nanos(at.as_nanos() - 1);
                prop_assert!(offered_work(&run.told, Time::ZERO, before) < work);
            }
        }
    }

    #[test]
    fn a_rate_set_from_outside_serves_as_the_same_steps_do(
        steps in proptest::collection::vec((0u64..50_000_000, 1u64..3_000_000), 1..20), frames in 1u64..40,
    ) {
        let at = steps.iter().scan(0, |sum, (_, length)| {
            let at = *sum;
            *sum += *length;
            Some(Span::from_nanos(at))
        });
        let at: Vec<Span> = at.collect();
        let rates: Vec<Rate> = steps.iter().map(|(bps, _)| Rate::from_bps(*bps)).collect();
        let path = StepsConfig { at: at.clone(), rates: rates.clone(), period: None };
        let mut stepped = link(&parts(capacity(&CapacityConfig::Steps(path))), 1);
        let mut held = link(&parts(CapacityParts::Held(rates[0])), 1);
        let (mut steps_told, mut held_told) = (Log::default(), Log::default());
        for number in 0..frames {
            stepped.push(Time::ZERO, packet(number, 1500), &mut steps_told);
            held.push(Time::ZERO, packet(number, 1500), &mut held_told);
        }
        for (at, rate) in at.iter().zip(&rates) {
            held.set_rate(Time::ZERO + *at, *rate, &mut held_told);
        }
        let end = Time::ZERO + Span::from_secs(1);
        stepped.advance(end, &mut steps_told);
        held.advance(end, &mut held_told);
        prop_assert_eq!(steps_told.departures(), held_told.departures());
    }

    #[test]
    fn any_bytes_are_read_or_refused_as_a_trace_of_opportunities(text in any_text()) {
        if let Ok(trace) = OpportunityTrace::parse("t", &text[..]) {
            prop_assert!(trace.len() <= text.len());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused_as_a_trace_of_rates(text in any_text(), header in any::<bool>()) {
        let text = if header { [b"time_s,rate_mbps\n".as_slice(), &text].concat() } else { text };
        if let Ok(timeline) = read_rates("t", &text[..], true) {
            timeline.mean_rate();
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused_as_a_trace_of_delays(text in any_text(), header in any::<bool>()) {
        let text = if header { [b"time_s,delay_ms\n".as_slice(), &text].concat() } else { text };
        if let Ok(timeline) = read_delays("t", &text[..], true) {
            prop_assert!(timeline.pieces().count() <= text.len());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused_as_a_trace_of_losses(text in any_text(), header in any::<bool>()) {
        let text = if header { [b"time_s,loss\n".as_slice(), &text].concat() } else { text };
        if let Ok(timeline) = read_losses("t", &text[..], true) {
            prop_assert!(timeline.pieces().all(|(_, loss)| (0.0..=1.0).contains(&loss.get())));
        }
    }
}

/// Bytes of any kind, or what looks like a trace.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let like_a_trace = "([0-9]{1,20}[.,\r\n -]{1,2}|[0-9]\\.[0-9]e[0-9]{1,3}\n|NaN,|inf,|1,){0,40}";
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..400), like_a_trace.prop_map(String::into_bytes)]
}
