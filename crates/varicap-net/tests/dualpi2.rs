//! DualPI2, driven by itself, against the pseudo-code of RFC 9332, appendix A.

use crate::common;

use common::{Log, Packet, Told, ms, packet};
use varicap_net::queue::{DualPi2, QueueDiscipline, Site, Supply, Transmitter, TransmitterState};
use varicap_net::{Codepoint, DualPi2Config, DualScheduler, Framing, LossCause};
use varicap_units::part::Part;
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

fn queue(config: &DualPi2Config) -> DualPi2<Packet> {
    DualPi2::new(config, &SITE)
}

fn of(codepoint: Codepoint, number: u64) -> Packet {
    Packet { codepoint, ..packet(number, 1000) }
}

/// Keeps a queue whose first packet has waited for `delay` ms, at a packet each ms, until `end` ms.
fn standing(queue: &mut DualPi2<Packet>, codepoint: Codepoint, delay: u64, end: u64) -> Log {
    let mut log = Log::default();
    for now in 0..end {
        queue.enqueue(ms(now), of(codepoint, now), BUSY, &mut log);
        if now >= delay {
            queue.dequeue(ms(now), SUPPLY, &mut log);
        }
    }
    log
}

fn marks(log: &Log) -> usize {
    log.0.iter().filter(|told| matches!(told, Told::Mark { .. })).count()
}

/// Appendix A.1, dualpi2_update: alpha = 0.1 Tupdate / RTT_max^2, beta = 0.3 / RTT_max, for the delays of each update [s].
fn by_the_rfc(delays: impl IntoIterator<Item = f64>) -> f64 {
    let (target, tupdate, rtt_max) = (0.015, 0.015, 0.1);
    let (alpha, beta) = (0.1 * tupdate / (rtt_max * rtt_max), 0.3 / rtt_max);
    let (mut p, mut previous): (f64, f64) = (0.0, 0.0);
    for delay in delays {
        p = (p + alpha * (delay - target) + beta * (delay - previous)).clamp(0.0, 1.0);
        previous = delay;
    }
    p
}

#[test]
fn the_base_probability_is_that_of_the_pseudo_code() {
    let mut queue = queue(&DualPi2Config::default());
    let mut log = Log::default();
    // A first packet at 1 ms: it has waited for 14, 29, 44 and 59 ms at the updates.
    queue.enqueue(ms(1), of(Codepoint::NotEct, 0), BUSY, &mut log);
    queue.enqueue(ms(60), of(Codepoint::NotEct, 1), BUSY, &mut log);
    let expected = by_the_rfc([0.014, 0.029, 0.044, 0.059]);
    assert!((queue.base_probability() - expected).abs() < 1e-12, "{}", queue.base_probability());
    assert!(expected > 0.1);
    // The queue empties, and stays so: p' comes down to zero, and every update counts, however late.
    while queue.dequeue(ms(60), SUPPLY, &mut log).is_some() {}
    queue.enqueue(ms(90), of(Codepoint::NotEct, 2), BUSY, &mut log);
    let expected = by_the_rfc([0.014, 0.029, 0.044, 0.059, 0.0, 0.0]);
    assert!((queue.base_probability() - expected).abs() < 1e-12, "{}", queue.base_probability());
}

#[test]
fn ect_1_and_ce_are_served_before_the_others() {
    let mut queue = queue(&DualPi2Config::default());
    let mut log = Log::default();
    for (number, codepoint) in
        [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce].into_iter().enumerate()
    {
        queue.enqueue(ms(0), of(codepoint, number as u64), BUSY, &mut log);
    }
    let order: Vec<u64> =
        std::iter::from_fn(|| queue.dequeue(ms(0), SUPPLY, &mut log)).map(|next| next.frame.number).collect();
    // One of the C queue has its turn after the first: its share is not zero.
    assert_eq!(order, [2, 0, 3, 1]);
}

#[test]
fn the_c_queue_has_its_share_while_both_have_packets() {
    let mut queue = queue(&DualPi2Config { ramp_from: Span::from_secs(9), ..DualPi2Config::default() });
    let mut log = Log::default();
    for number in 0..800 {
        queue.enqueue(ms(0), of(Codepoint::Ect1, number), BUSY, &mut log);
        queue.enqueue(ms(0), of(Codepoint::NotEct, 1000 + number), BUSY, &mut log);
    }
    let taken = std::iter::from_fn(|| queue.dequeue(ms(0), SUPPLY, &mut log)).take(480);
    let classic = taken.filter(|next| next.frame.number >= 1000).count();
    assert_eq!(classic, 480 / 16);
}

/// A C queue that never holds more than one packet has no more than its share, either.
#[test]
fn one_classic_packet_at_a_time_gets_the_share() {
    let mut queue = queue(&DualPi2Config { ramp_from: Span::from_secs(9), ..DualPi2Config::default() });
    let mut log = Log::default();
    for number in 0..800 {
        queue.enqueue(ms(0), of(Codepoint::Ect1, number), BUSY, &mut log);
    }
    let (mut classic, mut waits) = (0, false);
    for number in 0..480 {
        if !std::mem::replace(&mut waits, true) {
            queue.enqueue(ms(0), of(Codepoint::NotEct, 1000 + number), BUSY, &mut log);
        }
        let next = queue.dequeue(ms(0), SUPPLY, &mut log).expect("packets wait");
        if next.frame.number >= 1000 {
            (classic, waits) = (classic + 1, false);
        }
    }
    assert!((480 / 16..=480 / 16 + 1).contains(&classic), "{classic}");
}

#[test]
fn a_time_shifted_fifo_lets_the_older_go_once_the_shift_is_over() {
    let scheduler = DualScheduler::TimeShiftedFifo;
    let first = |behind: u64| {
        let mut queue = queue(&DualPi2Config { scheduler, ..DualPi2Config::default() });
        let mut log = Log::default();
        queue.enqueue(ms(0), of(Codepoint::NotEct, 0), BUSY, &mut log);
        queue.enqueue(ms(behind), of(Codepoint::Ect1, 1), BUSY, &mut log);
        queue.dequeue(ms(behind), SUPPLY, &mut log).expect("one waits").frame.number
    };
    // Twice the target: 30 ms.
    assert_eq!((first(30), first(31)), (1, 0));
}

#[test]
fn the_ramp_marks_what_has_waited_and_not_the_last_packet() {
    let marks_after = |micros: u64, packets: u64| {
        let mut queue = queue(&DualPi2Config::default());
        let mut log = Log::default();
        for number in 0..packets {
            queue.enqueue(ms(1), of(Codepoint::Ect1, number), BUSY, &mut log);
        }
        let now = ms(1) + Span::from_micros(micros);
        while queue.dequeue(now, SUPPLY, &mut log).is_some() {}
        marks(&log)
    };
    // Below the ramp; half way up; above it: `recur` needs more than one to mark, so that the first passes.
    assert_eq!(marks_after(800, 101), 0);
    assert_eq!(marks_after(1000, 101), 49);
    assert_eq!(marks_after(1200, 101), 99);
    // A single packet in the queue is not marked however long it has waited (Th_len).
    assert_eq!(marks_after(10_000, 1), 0);
}

#[test]
fn a_range_of_zero_is_a_step() {
    let config = DualPi2Config {
        ramp_from: Span::from_millis(1),
        ramp: Span::ZERO,
        unmarked: Amount::Packets(0),
        ..DualPi2Config::default()
    };
    assert_eq!(config.check(), Ok(()));
    let marks_after = |nanos: u64| {
        let (mut queue, mut log) = (queue(&config), Log::default());
        (0..11).for_each(|number| queue.enqueue(ms(1), of(Codepoint::Ect1, number), BUSY, &mut log));
        while queue.dequeue(ms(1) + Span::from_nanos(nanos), SUPPLY, &mut log).is_some() {}
        marks(&log)
    };
    assert_eq!((marks_after(1_000_000), marks_after(1_000_001)), (0, 10));
}

/// Appendix A.1: p_CL = k p', p_C = p'^2. A queue that stands 2 ms above the target for 300 ms.
#[test]
fn the_l_queue_is_marked_with_k_p_and_the_c_queue_with_p_squared() {
    let config = DualPi2Config { ramp_from: Span::from_secs(9), ..DualPi2Config::default() };
    // The head of the queue is 17 ms old at each update once it stands.
    let p =
        |updates: usize| by_the_rfc(std::iter::once(0.015).chain(std::iter::repeat_n(0.017, updates - 1)));
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 { (17..300).map(|now: usize| of(p((now / 15).max(1)))).sum() };
    let low = standing(&mut queue(&config), Codepoint::Ect1, 17, 300);
    assert!((marks(&low) as f64 - sum(&|p| 2.0 * p)).abs() < 1.5, "{} of {}", marks(&low), sum(&|p| 2.0 * p));
    let classic = standing(&mut queue(&config), Codepoint::Ect0, 17, 3000);
    let squared: f64 = (17..3000).map(|now: usize| p((now / 15).max(1)).powi(2)).sum();
    assert!(squared > 5.0, "{squared}");
    assert!((marks(&classic) as f64 - squared).abs() < 1.5, "{} of {squared}", marks(&classic));
    let dropped = standing(&mut queue(&config), Codepoint::NotEct, 17, 3000);
    assert_eq!((marks(&dropped), marks(&low) > 0, low.losses().len()), (0, true, 0));
    // A frame that cannot be marked is dropped, which shortens the queue: fewer are needed.
    assert!(dropped.losses().iter().all(|(_, cause, _)| *cause == LossCause::Aqm));
    assert!((3..marks(&classic)).contains(&dropped.losses().len()), "{}", dropped.losses().len());
}

/// Appendix A.2: beyond p_CL = 1 the L queue is dropped with p_C as well, and beyond p_Cmax ECT(0) is dropped, not marked.
#[test]
fn overload_drops_what_marks_do_not_hold() {
    let mut queue = queue(&DualPi2Config::default());
    let mut log = standing(&mut queue, Codepoint::Ect1, 200, 200);
    assert_eq!(log.losses(), []);
    let saturated = queue.base_probability();
    assert!((0.7..0.9).contains(&saturated), "{saturated}");
    (0..30).for_each(|_| assert!(queue.dequeue(ms(200), SUPPLY, &mut log).is_some()));
    let lost = log.losses().len() as f64;
    let share = saturated * saturated;
    assert!((lost / (lost + 30.0) - share).abs() < 0.02, "{lost}");
    // Every one that is not dropped is marked.
    assert_eq!(marks(&log), 30);

    let mut queue = self::queue(&DualPi2Config::default());
    let mut log = standing(&mut queue, Codepoint::Ect0, 200, 200);
    (0..10).for_each(|_| assert!(queue.dequeue(ms(200), SUPPLY, &mut log).is_some()));
    assert_eq!(marks(&log), 0);
    assert!(log.losses().len() > 10, "{}", log.losses().len());
}

#[test]
fn both_queues_share_one_limit() {
    let limit = Amount::Packets(3);
    let mut queue = queue(&DualPi2Config { limit, ..DualPi2Config::default() });
    let mut log = Log::default();
    for (number, codepoint) in
        [Codepoint::Ect1, Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0].into_iter().enumerate()
    {
        queue.enqueue(ms(0), of(codepoint, number as u64), BUSY, &mut log);
    }
    assert_eq!(log.losses(), [(0, LossCause::Overflow, 3)]);
}

/// Updates that are due while nothing happens are skipped where they change nothing, and give what all of them would.
#[test]
fn a_long_pause_costs_nothing_and_changes_nothing() {
    let mut queue = queue(&DualPi2Config::default());
    let mut log = Log::default();
    let year = Time::ZERO + Span::from_secs(365 * 86_400);
    queue.enqueue(year, of(Codepoint::NotEct, 0), BUSY, &mut log);
    assert!(
        queue.dequeue(year + Span::from_secs(365 * 86_400), SUPPLY, &mut log).is_some()
            || !log.losses().is_empty()
    );
    queue.enqueue(year + Span::from_secs(400 * 86_400), of(Codepoint::NotEct, 1), BUSY, &mut log);
    assert_eq!(queue.base_probability(), 0.0);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let faulty = |config: DualPi2Config| config.check().unwrap_err().key;
    let default = DualPi2Config::default;
    let short = Span::from_micros(99);
    assert_eq!(faulty(DualPi2Config { target: short, ..default() }), "target");
    assert_eq!(faulty(DualPi2Config { max_rtt: short * 3, ..default() }), "max_rtt");
    assert_eq!(default().check(), Ok(()));
    assert_eq!(faulty(DualPi2Config { coupling: 0.0, ..default() }), "coupling");
    assert_eq!(faulty(DualPi2Config { target: Span::ZERO, ..default() }), "target");
    assert_eq!(faulty(DualPi2Config { max_rtt: Span::from_nanos(2), ..default() }), "max_rtt");
    let none = varicap_units::Probability::default();
    assert_eq!(faulty(DualPi2Config { classic_share: none, ..default() }), "classic_share");
}
