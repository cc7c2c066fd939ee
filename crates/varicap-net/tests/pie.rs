//! PIE, driven by itself, against the pseudo-code of RFC 8033.

use crate::common;

use common::{Log, Packet, Told, capable, ms, packet};
use varicap_net::queue::{Pie, QueueDiscipline, Site, Supply, Transmitter, TransmitterState};
use varicap_net::{Framing, LossCause, PieConfig};
use varicap_units::{Amount, Bytes, Rate, Span, Stream, Streams, Time};

const PACKET: Bytes = Bytes::new(1000);
const RATE: Rate = Rate::from_bps(8_000_000);
const BUSY: Transmitter = Transmitter { state: TransmitterState::Busy(PACKET), rate: RATE };
const SUPPLY: Supply = Supply {
    rate: RATE,
    offered: None,
    framing: Framing { overhead: Bytes::ZERO, cells: None, in_queue: false },
};

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

fn pie(config: &PieConfig) -> Pie<Packet> {
    Pie::new(config, &SITE)
}

fn no_burst() -> PieConfig {
    PieConfig { max_burst: Span::ZERO, ..PieConfig::default() }
}

/// RFC 8033 appendix A, calculate_drop_prob, in its own words, for delays of 0 at first and then as given [s].
fn by_the_rfc(delays: impl IntoIterator<Item = f64>) -> f64 {
    let (mut drop_prob, mut qdelay_old): (f64, f64) = (0.0, 0.0);
    for current_qdelay in delays {
        let mut p = 0.125 * (current_qdelay - 0.015) + 1.25 * (current_qdelay - qdelay_old);
        if drop_prob < 0.000001 {
            p /= 2048.0;
        } else if drop_prob < 0.00001 {
            p /= 512.0;
        } else if drop_prob < 0.0001 {
            p /= 128.0;
        } else if drop_prob < 0.001 {
            p /= 32.0;
        } else if drop_prob < 0.01 {
            p /= 8.0;
        } else if drop_prob < 0.1 {
            p /= 2.0;
        } else if p > 0.02 {
            p = 0.02;
        }
        drop_prob += p;
        if current_qdelay == 0.0 && qdelay_old == 0.0 {
            drop_prob *= 0.98;
        }
        drop_prob = drop_prob.clamp(0.0, 1.0);
        qdelay_old = current_qdelay;
    }
    drop_prob
}

/// A queue whose head has waited since time zero: nothing leaves.
fn stuck() -> Pie<Packet> {
    let (mut queue, mut log) = (pie(&no_burst()), Log::default());
    for number in 0..10 {
        queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
    }
    assert_eq!(log.losses(), []);
    queue
}

/// Lets the queue catch up: the packet that comes is too large for it.
fn touch(queue: &mut Pie<Packet>, now: Time) {
    queue.set_limit(varicap_net::queue::Limit { frames: 0, bytes: Bytes::ZERO, overhead: Bytes::ZERO });
    queue.enqueue(now, packet(0, 1000), BUSY, &mut Log::default());
}

#[test]
fn the_probability_is_that_of_the_pseudo_code() {
    // Between updates only the time passes, so that the head has waited for as many periods as there were updates.
    for updates in [1, 2, 5, 10, 20, 40, 60] {
        let mut queue = stuck();
        touch(&mut queue, ms(15 * updates));
        let law = by_the_rfc((1..=updates).map(|update| 0.015 * update as f64));
        assert!((queue.probability() - law).abs() < 1e-12, "{updates}: {} not {law}", queue.probability());
        assert!(law > 0.0 || updates == 1, "the first finds the target itself");
    }
}

#[test]
fn updates_are_the_same_whether_caught_up_with_at_once_or_late() {
    let (mut lazy, mut eager) = (stuck(), stuck());
    for update in 1..=30 {
        touch(&mut eager, ms(15 * update));
    }
    touch(&mut lazy, ms(15 * 30));
    assert!(lazy.probability() > 0.1, "{}", lazy.probability());
    assert_eq!(lazy.probability(), eager.probability());
    // Nothing waits from now on: the probability falls to zero, and stays there for a hundred years.
    while lazy.dequeue(ms(451), SUPPLY, &mut Log::default()).is_some() {}
    while eager.dequeue(ms(451), SUPPLY, &mut Log::default()).is_some() {}
    for update in 31..=500 {
        touch(&mut eager, ms(15 * update));
        touch(&mut lazy, ms(15 * update));
        assert_eq!(lazy.probability(), eager.probability());
    }
    assert_eq!(lazy.probability(), 0.0);
    touch(&mut lazy, Time::ZERO + Span::from_secs(100 * 365 * 86_400));
    assert_eq!(lazy.probability(), 0.0);
}

#[test]
fn an_outage_of_years_ends_with_everything_dropped() {
    let mut queue = stuck();
    touch(&mut queue, Time::ZERO + Span::from_secs(365 * 86_400));
    assert_eq!(queue.probability(), 1.0);
}

/// A packet each ms for `length`, of which one leaves each ms after `delay`.
fn standing(queue: &mut Pie<Packet>, ecn: bool, delay: u64, length: u64) -> Log {
    let mut log = Log::default();
    for now in 0..length {
        queue.enqueue(ms(now), Packet { codepoint: capable(ecn), ..packet(now, 1000) }, BUSY, &mut log);
        if now >= delay {
            queue.dequeue(ms(now), SUPPLY, &mut log);
        }
    }
    log
}

#[test]
fn a_delay_below_the_target_stands() {
    let log = standing(&mut pie(&PieConfig::default()), false, 10, 60_000);
    assert_eq!(log.losses(), []);
}

#[test]
fn a_burst_passes_and_what_stands_longer_is_dropped() {
    // From the first update that finds half the target on, the allowance is used up in ten updates of 15 ms.
    let first = |config: &PieConfig| {
        let log = standing(&mut pie(config), false, 100, 5_000);
        log.losses().first().map(|(at, cause, _)| (at / 1_000_000, *cause)).expect("it drops in the end")
    };
    let certain = PieConfig { alpha: 1000.0, beta: 1000.0, ..PieConfig::default() };
    // The delay is above half the target at 15 ms, so that no arrival renews the allowance after 7 ms.
    assert_eq!(first(&certain), (150, LossCause::Aqm));
    assert_eq!(
        first(&PieConfig { max_burst: Span::from_millis(60), ..certain.clone() }),
        (60, LossCause::Aqm)
    );
}

#[test]
fn what_can_be_marked_is_marked_below_the_threshold_only() {
    let marks = |log: &Log| log.0.iter().filter(|told| matches!(told, Told::Mark { .. })).count();
    let config = PieConfig { ecn: true, ..no_burst() };
    // With a delay of 30 ms that nothing brings down the probability passes the threshold of 0.1 after 2.3 s.
    let log = standing(&mut pie(&config), true, 30, 2_000);
    assert_eq!(log.losses(), [], "the probability is below the threshold");
    assert!(marks(&log) > 0);
    let certain = PieConfig { alpha: 1000.0, beta: 1000.0, ..config };
    let log = standing(&mut pie(&certain), true, 100, 1_000);
    assert!(!log.losses().is_empty(), "from the threshold on it drops");
    let plain = standing(&mut pie(&PieConfig { ecn: true, ..no_burst() }), false, 30, 3_000);
    assert!(!plain.losses().is_empty() && marks(&plain) == 0);
}

/// Packets from one drop to the next at a probability that stands.
fn gaps(derandomise: bool) -> (Vec<u64>, f64) {
    // All packets come within a fraction of a period, so that the probability of the first update stands.
    let config = PieConfig {
        derandomise,
        update: Span::from_secs(1),
        beta: 100.0,
        alpha: 100.0,
        limit: Amount::Unlimited,
        ..no_burst()
    };
    let (mut queue, mut log) = (pie(&config), Log::default());
    for number in 0..10 {
        queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
    }
    let step = |number: u64| Time::ZERO + Span::from_secs(1) + Span::from_nanos(number);
    let (mut gaps, mut since) = (Vec::new(), 0);
    for number in 0..100_000 {
        since += 1;
        log.0.clear();
        queue.enqueue(step(number), packet(number, 1000), BUSY, &mut log);
        if !log.losses().is_empty() {
            gaps.push(since);
            since = 0;
        }
    }
    (gaps, queue.probability())
}

#[test]
fn drops_are_spaced_if_they_are_derandomised() {
    // p = 100 (1 - 0.015) / 2048 + 100 / 2048 = 0.0969 after the update at 1 s, that is a drop in 10.3 packets.
    let (plain, p) = gaps(false);
    assert!((p - (98.5 + 100.0) / 2048.0).abs() < 1e-12, "{p}");
    let mean = |gaps: &[u64]| gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    // Geometric: the mean of about 9700 gaps has a deviation of (1 / p) / sqrt(9700) = 0.1.
    assert!((mean(&plain) - 1.0 / p).abs() < 0.4, "{}", mean(&plain));
    let (spaced, _) = gaps(true);
    // 0.85 / p = 8.8: the ninth packet may be the first to go; 8.5 / p = 87.7: the 88th goes for certain.
    assert_eq!(spaced.iter().min(), Some(&9));
    assert!(spaced.iter().all(|gap| *gap <= 88));
    assert!((mean(&spaced) - (8.0 + 1.0 / p)).abs() < 0.5, "{}", mean(&spaced));
}

#[test]
fn the_limit_holds_whatever_the_probability() {
    let config = PieConfig { limit: Amount::Packets(3), ..PieConfig::default() };
    let (mut queue, mut log) = (pie(&config), Log::default());
    for number in 0..5 {
        queue.enqueue(ms(0), packet(number, 1000), BUSY, &mut log);
    }
    assert_eq!(log.losses(), [(0, LossCause::Overflow, 3), (0, LossCause::Overflow, 4)]);
}
