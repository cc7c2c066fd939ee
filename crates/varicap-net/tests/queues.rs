//! RED and CoDel, driven by themselves.

use crate::common;

use common::{Log, Packet, Told, capable, ms, ns, packet};
use varicap_net::queue::{CoDel, QueueDiscipline, Red, Site, Supply, Transmitter, TransmitterState};
use varicap_net::{CoDelConfig, DropSpacing, Framing, LossCause, RedConfig};
use varicap_units::{Amount, Bytes, Probability, Rate, Span, Stream, Streams, Time};

const PACKET: Bytes = Bytes::new(1000);

/// A transmitter of 8 Mb/s with a frame in service: a packet takes 1 ms.
const BUSY: Transmitter =
    Transmitter { state: TransmitterState::Busy(PACKET), rate: Rate::from_bps(8_000_000) };

/// The same, with nothing in service.
const SUPPLY: Supply = Supply { rate: BUSY.rate, offered: None, framing: NO_FRAMING };
const NO_FRAMING: Framing = Framing { overhead: Bytes::ZERO, cells: None, in_queue: false };

fn probability(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

/// Random streams of link a.
fn streams(part: &str) -> Stream {
    Streams::new(1, 0).stream(&format!("link.a.{part}"))
}

const SITE: Site<'_> = Site {
    packet: PACKET,
    bdp: Bytes::new(10_000),
    overhead: Bytes::ZERO,
    framed: Bytes::ZERO,
    groups: &[],
    name: "queue",
    streams: &streams,
};

fn red(config: &RedConfig) -> Red<Packet> {
    Red::new(config, &SITE)
}

/// A RED whose average is the queue itself, between thresholds of 5 and 15 packets.
fn immediate() -> RedConfig {
    RedConfig { weight: 1.0, ..RedConfig::default() }
}

/// Offers `frames` packets to a queue that is held at `level`; packets from one loss to the next.
fn gaps_at(config: &RedConfig, level: u32, frames: u64) -> Vec<u64> {
    let (mut queue, mut log) = (filled(config, level), Log::default());
    let (mut gaps, mut since) = (Vec::new(), 0);
    for number in 0..frames {
        since += 1;
        log.0.clear();
        queue.enqueue(ms(1), packet(number, 1000), BUSY, &mut log);
        if log.losses().is_empty() {
            queue.dequeue(ms(1), SUPPLY, &mut log);
        } else {
            gaps.push(since);
            since = 0;
        }
    }
    gaps.remove(0); // the first begins before the queue stood at its level
    gaps
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

#[test]
fn red_spaces_its_drops_by_the_law_of_choice() {
    // Half way between the thresholds p = 0.1 / 2 = 1/20. Both published algorithms count the frame itself, so the gaps
    // are uniform on 20..=39 and 1..=19 (rounding may let one more pass); means and deviations of those, and of a
    // geometric law.
    for (spacing, shortest, longest, law, deviation) in [
        (DropSpacing::Wait, 20, 40, 29.5, 5.8),
        (DropSpacing::Uniform, 1, 20, 10.0, 5.5),
        (DropSpacing::Geometric, 1, u64::MAX, 20.0, 19.5),
    ] {
        let gaps = gaps_at(&RedConfig { spacing, ..immediate() }, 10, 100_000);
        let range = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
        assert!(range.0 >= shortest && range.1 <= longest, "{spacing:?}: {range:?}");
        // Four standard errors of a mean of that many gaps.
        let error = deviation / (gaps.len() as f64).sqrt();
        assert!((mean(&gaps) - law).abs() < 4.0 * error, "{spacing:?}: {} ± {error}", mean(&gaps));
    }
}

#[test]
fn red_drops_nothing_below_the_minimum_and_all_above_the_maximum() {
    let (mut queue, mut log) = (red(&immediate()), Log::default());
    for number in 0..5 {
        queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
    }
    assert_eq!(log.losses(), []);
    while queue.backlog().frames < 15 {
        queue.enqueue(ms(0), packet(0, 1000), BUSY, &mut log);
    }
    log.0.clear();
    for number in 0..100 {
        queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
    }
    assert_eq!(log.losses().len(), 100);
    assert!(log.losses().iter().all(|(_, cause, _)| *cause == LossCause::Aqm));
}

/// Fills a queue of RED to `level` packets.
fn filled(config: &RedConfig, level: u32) -> Red<Packet> {
    let mut queue = red(config);
    while queue.backlog().frames < level {
        queue.enqueue(ms(0), packet(0, 1000), BUSY, &mut Log::default());
    }
    queue
}

/// Share of packets of `size` that are lost by a queue filled to `level`, each the first offered to it. The random
/// stream goes on from one to the next: all offers that are accepted are taken back by draining and filling up.
fn share_lost(config: &RedConfig, level: u32, size: u64, offers: u64) -> f64 {
    let (mut queue, mut lost) = (filled(config, level), 0);
    for number in 0..offers {
        let mut log = Log::default();
        queue.enqueue(ms(0), packet(number, size), BUSY, &mut log);
        lost += log.losses().len();
        if log.losses().is_empty() {
            while queue.backlog().frames > 0 {
                queue.dequeue(ms(0), SUPPLY, &mut log);
            }
            while queue.backlog().frames < level {
                queue.enqueue(ms(0), packet(0, 1000), BUSY, &mut log);
            }
        }
    }
    lost as f64 / offers as f64
}

#[test]
fn gentle_red_drops_a_share_between_the_maximum_and_twice_it() {
    let config = RedConfig { gentle: true, spacing: DropSpacing::Geometric, ..immediate() };
    // At 21 packets p = 0.1 + 0.9 * 6 / 15 = 0.46; binomial standard deviation 0.005 in 10,000.
    let share = share_lost(&config, 21, 1000, 10_000);
    assert!((share - 0.46).abs() < 0.02, "{share}");
    assert_eq!(share_lost(&RedConfig { gentle: false, ..config }, 15, 1000, 100), 1.0);
}

#[test]
fn red_counts_bytes_if_its_minimum_is_given_in_bytes() {
    let config = RedConfig {
        min_threshold: Amount::Bytes(Bytes::new(5_000)),
        max_threshold: Amount::Bytes(Bytes::new(15_000)),
        max_probability: probability(0.8),
        spacing: DropSpacing::Geometric,
        ..immediate()
    };
    // At 10,000 bytes p = 0.4, times the size over a mean packet; binomial standard deviations 0.005 and 0.002.
    let (large, small) = (share_lost(&config, 10, 1000, 10_000), share_lost(&config, 10, 100, 10_000));
    assert!((large - 0.4).abs() < 0.02, "{large}");
    assert!((small - 0.04).abs() < 0.008, "{small}");
}

#[test]
fn an_idle_time_decays_the_average_as_the_packets_that_could_have_been_sent() {
    let config = RedConfig { weight: 0.1, ..RedConfig::default() };
    let (mut queue, mut log) = (red(&config), Log::default());
    for number in 0..50 {
        queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
    }
    let before = queue.average();
    while queue.dequeue(ms(10), SUPPLY, &mut log).is_some() {}
    // 7.5 ms idle at 1 ms per mean packet: seven empty queues, and the one of the arrival itself.
    queue.enqueue(ns(17_500_000), packet(99, 1000), BUSY, &mut log);
    let law = before * 0.9f64.powi(8);
    assert!((queue.average() - law).abs() < 1e-12 * law, "{} not {law}", queue.average());
}

#[test]
fn red_marks_instead_of_dropping_what_can_be_marked() {
    let config = RedConfig { ecn: true, spacing: DropSpacing::Uniform, ..immediate() };
    let (mut queue, mut log) = (red(&config), Log::default());
    let capable = |number| Packet { codepoint: capable(true), ..packet(number, 1000) };
    while queue.backlog().frames < 10 {
        queue.enqueue(ms(0), capable(0), BUSY, &mut log);
    }
    for number in 0..200 {
        queue.enqueue(ms(0), capable(number), BUSY, &mut log);
        queue.dequeue(ms(0), SUPPLY, &mut log);
    }
    assert_eq!(log.losses(), []);
    assert!(log.0.iter().filter(|told| matches!(told, Told::Mark { .. })).count() >= 10);
}

#[test]
fn reds_limit_holds_whatever_the_average() {
    let config = RedConfig { limit: Amount::Packets(3), ..RedConfig::default() };
    let (mut queue, mut log) = (red(&config), Log::default());
    for number in 0..5 {
        queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
    }
    assert_eq!(log.losses(), [(0, LossCause::Overflow, 3), (0, LossCause::Overflow, 4)]);
}

#[test]
fn a_maximum_probability_of_zero_drops_nothing_below_the_maximum_threshold() {
    let config = RedConfig { max_probability: probability(0.0), ..immediate() };
    let (mut queue, mut log) = (red(&config), Log::default());
    for number in 0..15 {
        queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
    }
    assert_eq!(log.losses(), []);
}

fn codel(ecn: bool) -> CoDel<Packet> {
    let config = CoDelConfig { ecn, ..CoDelConfig::default() };
    CoDel::new(&config, &SITE)
}

/// Fills a CoDel queue with packets that arrive and leave every ms after `delay`, for `length`; tells what happened.
fn standing(queue: &mut CoDel<Packet>, ecn: bool, delay: Span, start: Time, length: Span) -> Log {
    let mut log = Log::default();
    let (mut arrival, mut number) = (start, 0);
    let mut now = start + delay;
    while now < start + length {
        while arrival <= now {
            queue.enqueue(
                arrival,
                Packet { codepoint: capable(ecn), ..packet(number, 1000) },
                BUSY,
                &mut log,
            );
            arrival += Span::from_millis(1);
            number += 1;
        }
        queue.dequeue(now, SUPPLY, &mut log);
        now += Span::from_millis(1);
    }
    log
}

#[test]
fn codel_lets_a_delay_below_its_target_stand() {
    let log = standing(&mut codel(false), false, Span::from_millis(4), ms(0), Span::from_secs(5));
    assert_eq!(log.losses(), []);
}

#[test]
fn codel_drops_after_an_interval_and_then_ever_closer() {
    // The sojourn time of every head is 50 ms at first. The first head above the target comes at 50 ms, so the first
    // drop is due an interval later, at 150 ms, and each drop after the n-th 100 ms / sqrt(n) later, at the next
    // dequeue: after 250, 320.7, 378.4, 428.4 ms (RFC 8289 §5.5).
    let log = standing(&mut codel(false), false, Span::from_millis(50), ms(0), Span::from_millis(430));
    let drops: Vec<u64> = log.losses().iter().map(|(at, ..)| at / 1_000_000).collect();
    assert_eq!(drops, [150, 250, 321, 379, 429]);
    assert!(log.losses().iter().all(|(_, cause, _)| *cause == LossCause::Aqm));
}

#[test]
fn codel_marks_what_can_be_marked_at_the_same_instants() {
    let log = standing(&mut codel(true), true, Span::from_millis(50), ms(0), Span::from_millis(430));
    let marks = log.0.iter().filter(|told| matches!(told, Told::Mark { .. }));
    let marks: Vec<u64> = marks.map(|told| told.at().as_nanos() / 1_000_000).collect();
    assert_eq!(log.losses(), []);
    assert_eq!(marks, [150, 250, 321, 379, 429]);
}

#[test]
fn codel_takes_up_the_drop_rate_of_a_recent_episode() {
    let mut queue = codel(false);
    standing(&mut queue, false, Span::from_millis(50), ms(0), Span::from_millis(430));
    while queue.dequeue(ms(430), SUPPLY, &mut Log::default()).is_some() {}
    // Five drops before, of which the first of an episode does not count: the new one begins with a count of four,
    // and its second drop follows after 100 ms / sqrt(4).
    let log = standing(&mut queue, false, Span::from_millis(50), ms(500), Span::from_millis(230));
    let drops: Vec<u64> = log.losses().iter().map(|(at, ..)| at / 1_000_000).collect();
    assert_eq!(drops, [650, 700]);
}

#[test]
fn codel_leaves_the_last_packet_alone() {
    let (mut queue, mut log) = (codel(false), Log::default());
    for second in 0..100 {
        queue.enqueue(ms(second * 1000), packet(second, 1000), BUSY, &mut log);
        queue.enqueue(ms(second * 1000), packet(second, 1000), BUSY, &mut log);
        // However old the head, no more than a packet is left behind it.
        queue.dequeue(ms(second * 1000 + 900), SUPPLY, &mut log);
        queue.dequeue(ms(second * 1000 + 900), SUPPLY, &mut log);
    }
    assert_eq!(log.losses(), []);
}
