//! Links with ARQ: slots, cells, buffers, windows, and the laws of their throughput.

use crate::common;

use common::{Log, Packet, constant, drain, link, ms, ns, packet, parts};
use varicap_net::{
    ArqConfig, ArqParts, CapacityParts, Cells, CoDelConfig, DropTailConfig, Framing, GoodBadConfig, Link,
    LinkParts, LossCause, LossConfig, LossParts, QueueConfig,
};
use varicap_units::{Amount, Bytes, Probability, Rate, Span, Streams, Time};

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

/// A link with slots of 1 ms and packets of 125 B, one in a slot.
fn slotted(config: &ArqConfig, loss: &LossConfig) -> LinkParts {
    let base = parts(constant(1_000_000));
    let packet = Bytes::new(125);
    let arq = ArqParts::new(config, &base.capacity, &base.framing, packet).unwrap();
    LinkParts { arq: Some(arq), loss: LossParts::new(loss).unwrap(), packet, ..base }
}

/// The same, each packet in ten cells of 0.1 ms.
fn in_cells(config: &ArqConfig, loss: &LossConfig, limit: Amount, counts_in_service: bool) -> LinkParts {
    let cells = Cells { payload: Bytes::new(10), size: Bytes::new(12) };
    let framing = Framing { overhead: Bytes::ZERO, cells: Some(cells), in_queue: false };
    let base = slotted(config, loss);
    let slot = Some(Span::from_micros(100));
    let config = ArqConfig { slot, ..config.clone() };
    let arq = ArqParts::new(&config, &base.capacity, &framing, base.packet).unwrap();
    let queue = QueueConfig::DropTail(DropTailConfig { limit, counts_in_service, ..Default::default() });
    LinkParts { framing, queue, arq: Some(arq), ..base }
}

fn push_all(link: &mut Link<Packet>, log: &mut Log, arrivals: &[(u64, u64)], size: u64) {
    for &(micros, number) in arrivals {
        let now = Time::ZERO + Span::from_micros(micros);
        while link.poll(now, log).is_some() {}
        link.push(now, packet(number, size), log);
    }
}

/// Departures a second of a link that always has something to send, over `seconds`.
fn greedy(parts: &LinkParts, size: u64, seconds: u64, seed: u64) -> f64 {
    let (mut link, mut log) = (link(parts, seed), Log::default());
    let (mut now, mut sent, mut received) = (Time::ZERO, 0, 0);
    while now <= Time::ZERO + Span::from_secs(seconds) {
        while sent < received + 50 {
            link.push(now, packet(sent, size), &mut log);
            sent += 1;
        }
        now = link.poll_at();
        while let Some(frame) = link.poll(now, &mut log) {
            assert_eq!(frame.number, received, "in order");
            received += 1;
        }
        log.0.clear();
    }
    received as f64 / seconds as f64
}

#[test]
fn a_frame_takes_the_slot_after_it_came() {
    let mut link = link(&slotted(&ArqConfig::default(), &LossConfig::None), 1);
    let mut log = Log::default();
    push_all(&mut link, &mut log, &[(0, 0), (100, 1), (2_500, 2), (4_000, 3)], 125);
    let out = drain(&mut link, ms(10), &mut log);
    // The first begins at once, the second behind it; the third waits for a slot to begin; the last comes as one does.
    assert_eq!(out, [(ms(5), 3)]);
    assert_eq!(log.departures(), [(1_000_000, 0), (2_000_000, 1), (4_000_000, 2), (5_000_000, 3)]);
}

#[test]
fn a_link_that_is_not_aligned_begins_at_once() {
    let config = ArqConfig { aligned: false, ..ArqConfig::default() };
    let mut link = link(&slotted(&config, &LossConfig::None), 1);
    let mut log = Log::default();
    push_all(&mut link, &mut log, &[(100, 0), (2_500, 1)], 125);
    drain(&mut link, ms(10), &mut log);
    assert_eq!(log.departures(), [(1_100_000, 0), (3_500_000, 1)]);
}

#[test]
fn a_packet_of_cells_departs_with_its_last_cell() {
    let parts = in_cells(&ArqConfig::default(), &LossConfig::None, Amount::Unlimited, true);
    let mut link = link(&parts, 1);
    let mut log = Log::default();
    push_all(&mut link, &mut log, &[(0, 0), (0, 1)], 100);
    drain(&mut link, ms(10), &mut log);
    assert_eq!(log.departures(), [(1_000_000, 0), (2_000_000, 1)]);
    let short = &[(5_000, 2)];
    push_all(&mut link, &mut log, short, 11); // a second cell, the rest of which is filled up
    drain(&mut link, ms(10), &mut log);
    assert_eq!(log.departures()[2], (5_200_000, 2));
}

#[test]
fn a_packet_is_lost_whole_if_not_all_its_cells_find_room() {
    // Room for 25 cells. At 0.45 ms the head has 6 cells left, with the second 16: 9 more fit, 10 do not.
    let arrivals = &[(0, 0), (0, 1), (450, 2)];
    for (limit, counts, lost) in
        [(250, true, true), (260, true, false), (200, false, false), (190, false, true)]
    {
        let limit = Amount::Bytes(Bytes::new(limit));
        let mut link = link(&in_cells(&ArqConfig::default(), &LossConfig::None, limit, counts), 1);
        let mut log = Log::default();
        push_all(&mut link, &mut log, arrivals, 100);
        let losses = log.losses();
        let expected = if lost { vec![(450_000, LossCause::Overflow, 2)] } else { vec![] };
        assert_eq!(losses, expected, "{limit} {counts}");
    }
}

#[test]
fn a_greedy_stop_and_wait_link_carries_the_success_probability() {
    let channel =
        GoodBadConfig { good: Span::from_millis(100), bad: Span::from_millis(10), delivered: p(0.99) };
    let expected = 0.99 / 1.1 * (f64::exp_m1(-0.01) + 1.0);
    let parts = slotted(&ArqConfig::default(), &LossConfig::Markov(channel.clone()));
    let rate = (0..10).map(|seed| greedy(&parts, 125, 100, seed)).sum::<f64>() / 10.0 / 1000.0;
    // 9,000 cycles with a coefficient of variation near 1, of which a tenth is bad: an error of about 0.0015.
    assert!((rate - expected).abs() < 0.004, "{rate}, {expected}");
    // Cells of a tenth of the slot meet fewer bad times.
    let expected = 0.99 / 1.1 * (f64::exp_m1(-0.001) + 1.0);
    let parts = in_cells(&ArqConfig::default(), &LossConfig::Markov(channel), Amount::Unlimited, true);
    let rate = (0..10).map(|seed| greedy(&parts, 100, 20, seed)).sum::<f64>() / 10.0 / 1000.0;
    assert!((rate - expected).abs() < 0.01, "{rate}, {expected}");
}

#[test]
fn a_window_fills_the_time_until_its_acknowledgement() {
    // Without losses W cells pass in 1 + D slots, and never more than one in a slot.
    for (window, delay, aligned, expected) in [
        (1, 0, true, 1.0),
        (1, 3, true, 0.25),
        (2, 3, true, 0.5),
        (4, 3, true, 1.0),
        (8, 3, true, 1.0),
        (3, 3, false, 0.75),
    ] {
        let ack_delay = Span::from_millis(delay);
        let config = ArqConfig { window, ack_delay, aligned, ..ArqConfig::default() };
        let rate = greedy(&slotted(&config, &LossConfig::None), 125, 10, 1) / 1000.0;
        assert!((rate - expected).abs() < 1e-3, "{window} {delay}: {rate}");
    }
    // Acknowledged in the middle of a slot, an aligned link waits for the next one.
    let config = ArqConfig { ack_delay: Span::from_micros(2_500), ..ArqConfig::default() };
    let rate = greedy(&slotted(&config, &LossConfig::None), 125, 10, 1) / 1000.0;
    assert!((rate - 0.25).abs() < 1e-3, "{rate}");
}

#[test]
fn selective_repeat_carries_what_the_channel_receives() {
    let loss = LossConfig::Bernoulli(p(0.2));
    let ack_delay = Span::from_millis(3);
    // Stop-and-wait spends 1 + D slots on each try; a window that is long enough never waits.
    for (window, expected) in [(1, 0.8 / 4.0), (64, 0.8)] {
        let config = ArqConfig { window, ack_delay, ..ArqConfig::default() };
        let rate = greedy(&slotted(&config, &loss), 125, 100, 1) / 1000.0;
        // Binomial over 100,000 slots (25,000 tries): an error of 0.0013 at most; four of them.
        assert!((rate - expected).abs() < 0.006, "{window}: {rate}");
    }
}

#[test]
fn what_is_resent_too_often_is_lost_whole() {
    let config = ArqConfig { max_retransmissions: Some(2), ..ArqConfig::default() };
    let parts = slotted(&config, &LossConfig::Bernoulli(p(0.3)));
    let mut link = link(&parts, 1);
    let mut log = Log::default();
    for number in 0..100_000 {
        link.push(ns(1), packet(number, 125), &mut log);
    }
    let out = drain(&mut link, Time::ZERO + Span::from_secs(1000), &mut log);
    let lost = log.losses().len();
    assert_eq!(out.len() + lost, 100_000);
    assert!(log.losses().iter().all(|(_, cause, _)| *cause == LossCause::Channel));
    // 0.3^3 = 0.027 of them, binomial: a standard deviation of 51.
    assert!((lost as f64 - 2_700.0).abs() < 4.0 * 51.0, "{lost}");
    assert_eq!(link.inside(), 0);
}

/// The queue of [wireless, §III-C] by itself: packets of `n` cells arrive with probability `arrival` just before the end
/// of a slot, at most `room` cells are held, and the channel is good or bad. The share of packets that find no room, and
/// the mean cells held at a slot's beginning; by iterating the distribution until it stays.
fn analysed(good: f64, bad: f64, delivered: f64, n: usize, room: usize, arrival: f64) -> (f64, f64) {
    let exp = |x: f64| f64::exp_m1(x) + 1.0;
    let all = exp(-1.0 / good - 1.0 / bad); // times in slots
    let to_bad = (1.0 / good) / (1.0 / good + 1.0 / bad) * (1.0 - all);
    let to_good = (1.0 / bad) / (1.0 / good + 1.0 / bad) * (1.0 - all);
    let received = delivered * exp(-1.0 / good);
    let lost = [[1.0 - to_bad - received, to_bad], [to_good, 1.0 - to_good]];
    let mut share = vec![[1.0, 0.0]; room + 1];
    share.iter_mut().skip(1).for_each(|pair| *pair = [0.0, 0.0]);
    for _ in 0..40_000 {
        let mut next = vec![[0.0; 2]; room + 1];
        for (held, pair) in share.iter().enumerate() {
            let fits = held + n <= room;
            let comes = if fits { arrival } else { 0.0 };
            for (from, &weight) in pair.iter().enumerate() {
                for (to, &stays) in lost[from].iter().enumerate() {
                    next[held][to] += weight * stays * (1.0 - comes);
                    if fits {
                        next[held + n][to] += weight * stays * comes;
                    }
                }
            }
            let departs = usize::from(held > 0);
            next[held - departs][0] += pair[0] * received * (1.0 - comes);
            if fits {
                next[held + n - departs][0] += pair[0] * received * comes;
            }
        }
        share = next;
    }
    let total = |pair: &[f64; 2]| pair[0] + pair[1];
    let overflow = share[room + 1 - n..].iter().map(total).sum();
    let mean = share.iter().enumerate().map(|(held, pair)| held as f64 * total(pair)).sum();
    (overflow, mean)
}

/// The same of a link: over `slots` of 1 ms.
fn simulated(parts: &LinkParts, size: u64, arrival: f64, slots: u64, seed: u64) -> (f64, f64) {
    let (mut link, mut log) = (link(parts, seed), Log::default());
    let mut arrivals = Streams::new(seed, 0).stream("arrivals");
    let slot = parts.arq.as_ref().unwrap().slot;
    let (mut offered, mut lost, mut held) = (0, 0, 0);
    for number in 0..slots {
        let begin = Time::ZERO + slot.saturating_mul(number);
        while link.poll(begin, &mut log).is_some() {}
        held += link.inside();
        if arrivals.chance(arrival) {
            link.push(begin + slot.saturating_sub(Span::from_nanos(1)), packet(number, size), &mut log);
            offered += 1;
        }
        lost += log.losses().len();
        log.0.clear();
    }
    (lost as f64 / offered as f64, held as f64 / slots as f64)
}

#[test]
fn the_queue_is_that_of_the_analysis() {
    let channel = |good, bad| GoodBadConfig {
        good: Span::from_micros(good),
        bad: Span::from_micros(bad),
        delivered: p(0.99),
    };
    let error = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    };
    // One cell, eight of them held: System 1 at 10 Hz, times in slots of 4.6 ms, here 1 ms.
    let room = Amount::Packets(8);
    let one = LinkParts {
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: room,
            counts_in_service: true,
            ..Default::default()
        }),
        ..slotted(&ArqConfig::default(), &LossConfig::Markov(channel(21_700, 2_170)))
    };
    let runs: Vec<_> = (0..10).map(|seed| simulated(&one, 125, 0.6, 200_000, seed)).collect();
    let (overflow, mean) = analysed(21.7, 2.17, 0.99, 1, 8, 0.6);
    let (measured, margin) = error(&runs.iter().map(|run| run.0).collect::<Vec<_>>());
    // Four and a half standard errors: t with 9 degrees of freedom exceeds them once in 700 seeds.
    assert!(
        (measured - overflow).abs() < 4.5 * margin && margin < 0.05 * overflow,
        "{measured} {margin} {overflow}"
    );
    let (measured, margin) = error(&runs.iter().map(|run| run.1).collect::<Vec<_>>());
    assert!((measured - mean).abs() < 4.5 * margin && margin < 0.05 * mean, "{measured} {margin} {mean}");
    // Ten cells a packet, room for 80: the head's cells leave one by one.
    let limit = Amount::Bytes(Bytes::new(800));
    let ten = in_cells(&ArqConfig::default(), &LossConfig::Markov(channel(21_700, 2_170)), limit, true);
    let runs: Vec<_> = (0..10).map(|seed| simulated(&ten, 100, 0.06, 400_000, seed)).collect();
    let (overflow, _) = analysed(217.0, 21.7, 0.99, 10, 80, 0.06);
    let (measured, margin) = error(&runs.iter().map(|run| run.0).collect::<Vec<_>>());
    assert!(
        (measured - overflow).abs() < 4.5 * margin && margin < 0.05 * overflow,
        "{measured} {margin} {overflow}"
    );
}

#[test]
fn a_queue_with_delays_of_its_own_manages_what_waits() {
    let codel = QueueConfig::CoDel(CoDelConfig::default());
    let channel = LossConfig::Bernoulli(p(0.5));
    let config = ArqConfig { window: 4, ack_delay: Span::from_millis(2), ..ArqConfig::default() };
    let parts = LinkParts { queue: codel, ..slotted(&config, &channel) };
    let mut link = link(&parts, 1);
    let mut log = Log::default();
    let arrivals: Vec<(u64, u64)> = (0..2_000).map(|number| (number * 1_000, number)).collect();
    push_all(&mut link, &mut log, &arrivals, 125);
    drain(&mut link, ms(10_000), &mut log);
    let dropped = log.losses().iter().filter(|(_, cause, _)| *cause == LossCause::Aqm).count();
    assert!(dropped > 10, "{dropped}");
    assert_eq!((log.departures().len() + log.losses().len(), link.inside()), (2_000, 0));
}

#[test]
fn refusals_name_the_key() {
    let refusal = |config: ArqConfig, capacity: CapacityParts| {
        let parts = ArqParts::new(&config, &capacity, &Framing::default(), Bytes::new(1500));
        parts.unwrap_err().to_string()
    };
    let config = ArqConfig::default;
    assert_eq!(
        refusal(ArqConfig { slot: Some(Span::ZERO), ..config() }, constant(1_000)),
        "`arq.slot` is 0 s, expected a time above zero"
    );
    // 1500 bytes at 1 Mb/s take 12 ms: in less, more would come through than the link can carry.
    assert_eq!(
        refusal(ArqConfig { slot: Some(Span::from_millis(10)), ..config() }, constant(1_000_000)),
        "`arq.slot` is 10 ms, expected at least 12 ms, the time of a link-layer packet of 1500 B at 1 Mbit/s"
    );
    assert_eq!(
        refusal(ArqConfig { window: 0, ..config() }, constant(1_000)),
        "`arq.window` is 0, expected 1 (stop-and-wait) to 4096"
    );
    assert_eq!(
        refusal(config(), CapacityParts::Constant(Rate::UNLIMITED)),
        "`capacity` is unlimited, expected a capacity above 0 and not unlimited: with `arq` a transmission takes a slot"
    );
    assert!(refusal(config(), CapacityParts::Held(Rate::from_bps(1))).contains("expected a constant one"));
}
