//! The effects of netem on packets, against netem's own steps written down anew in wide integers: delay, reordering, copies,
//! damage and losses, packet by packet and to the nanosecond.

use crate::common;

use std::collections::BTreeMap;

use common::{constant, ms, ns, packet, parts};
use proptest::prelude::*;
use varicap_net::loss::Loss;
use varicap_net::{
    Backlog, DelayConfig, DelayParts, DropTailConfig, Frame, Framing, Link, LinkParts, LossCause, LossConfig,
    LossParts, Lost, NetemConfig, QueueConfig, ShaperConfig, Ties, Watch,
};
use varicap_units::{Amount, Bytes, Rate, Span, Stream, Streams, Time};

/// Linux `get_crandom`, in 128 bits.
struct Numbers {
    rho: u128,
    last: u128,
}

impl Numbers {
    fn new(correlation: f64, stream: &mut Stream) -> Numbers {
        let rho = (correlation * 4_294_967_295.0).round() as u128;
        Numbers { rho, last: if rho > 0 { u128::from(stream.bits() >> 32) } else { 0 } }
    }

    fn next(&mut self, stream: &mut Stream) -> u128 {
        let value = u128::from(stream.bits() >> 32);
        if self.rho == 0 {
            return value;
        }
        self.last = (value * (4_294_967_296 - (self.rho + 1)) + self.last * (self.rho + 1)) / 4_294_967_296;
        self.last
    }
}

struct Chance {
    threshold: u128,
    numbers: Numbers,
}

impl Chance {
    fn new(probability: f64, correlation: f64, stream: &mut Stream) -> Chance {
        let threshold = (probability * 4_294_967_295.0).round() as u128;
        Chance { threshold, numbers: Numbers::new(if threshold == 0 { 0.0 } else { correlation }, stream) }
    }

    fn happens(&mut self, stream: &mut Stream) -> bool {
        self.threshold > 0 && self.numbers.next(stream) <= self.threshold
    }
}

/// The settings of netem.
#[derive(Clone, Debug)]
struct Asked {
    delay: i128,
    jitter: i128,
    correlation: f64,
    table: Option<Vec<i128>>,
    reorder: f64,
    reorder_correlation: f64,
    gap: u32,
    overtakes: bool,
    duplicate: f64,
    duplicate_correlation: f64,
    corrupt: f64,
    corrupt_correlation: f64,
    loss: f64,
    loss_correlation: f64,
}

impl Asked {
    fn parts(&self) -> LinkParts {
        let Asked { delay, jitter, correlation, reorder, reorder_correlation, gap, .. } = self;
        let distribution = if self.table.is_some() { r#"{"table": "d.dist"}"# } else { r#""uniform""# };
        let json = format!(
            r#"{{"netem": {{"delay": "{delay} ns", "jitter": "{jitter} ns", "correlation": {correlation},
                "distribution": {distribution}, "reorder": {reorder},
                "reorder_correlation": {reorder_correlation}, "gap": {gap}}}}}"#
        );
        let config: DelayConfig = serde_json::from_str(&json).unwrap();
        let text = self.table.iter().flatten().map(|entry| format!("{entry}\n")).collect::<String>();
        let text: &'static str = Box::leak(text.into_boxed_str());
        let delay = DelayParts::from_config(&config, &mut |_| Ok(Box::new(text.as_bytes()))).unwrap();
        let Asked { loss, loss_correlation, duplicate, duplicate_correlation, .. } = self;
        let loss =
            format!(r#"{{"correlated": {{"probability": {loss}, "correlation": {loss_correlation}}}}}"#);
        let loss = LossParts::new(&serde_json::from_str::<LossConfig>(&loss).unwrap()).unwrap();
        let Asked { corrupt, corrupt_correlation, .. } = self;
        let json = format!(
            r#"{{"duplicate": {duplicate}, "duplicate_correlation": {duplicate_correlation},
                "corrupt": {corrupt}, "corrupt_correlation": {corrupt_correlation}}}"#
        );
        let netem: NetemConfig = serde_json::from_str(&json).unwrap();
        LinkParts { delay, loss, netem, reorders: self.overtakes, ..parts(constant(12_000_000)) }
    }

    /// The frames that come out of those that are through the server at `departures` [ns]: when, which, whether it is damaged;
    /// and the number of each that is lost.
    fn reference(&self, seed: u64, departures: &[(u64, u64)]) -> (Vec<(i128, u64, bool)>, Vec<u64>) {
        let stream = |part: &str| Streams::new(seed, 0).stream(&format!("link.test.{part}"));
        let (mut of_delay, mut of_netem, mut of_loss) = (stream("delay"), stream("netem"), stream("loss"));
        let mut delays = Numbers::new(if self.jitter > 0 { self.correlation } else { 0.0 }, &mut of_delay);
        let mut reorder = Chance::new(self.reorder, self.reorder_correlation, &mut of_delay);
        let mut duplicate = Chance::new(self.duplicate, self.duplicate_correlation, &mut of_netem);
        let mut corrupt = Chance::new(self.corrupt, self.corrupt_correlation, &mut of_netem);
        let mut loss = Chance::new(self.loss, self.loss_correlation, &mut of_loss);
        let mut counter = 0;
        let (mut out, mut lost) = (Vec::new(), Vec::new());
        for &(at, number) in departures {
            let twice = duplicate.happens(&mut of_netem);
            let first_is_lost = loss.happens(&mut of_loss);
            // A lost frame takes its delay's number with it: that is drawn as it leaves the server.
            let mut delay = |of_delay: &mut Stream| -> i128 {
                if reorder.threshold > 0 && counter + 1 >= self.gap && reorder.happens(of_delay) {
                    counter = 0;
                    return 0;
                }
                counter += 1;
                if self.jitter == 0 {
                    return self.delay;
                }
                let random = delays.next(of_delay) as i128;
                let delay = match &self.table {
                    None => random % (2 * self.jitter) - self.jitter,
                    Some(table) => {
                        let entry = table[(random % table.len() as i128) as usize];
                        let rest = self.jitter % 8192 * entry;
                        (rest + if rest >= 0 { 4096 } else { -4096 }) / 8192 + self.jitter / 8192 * entry
                    }
                };
                (self.delay + delay).max(0)
            };
            let own = delay(&mut of_delay);
            if first_is_lost {
                lost.push(number);
            } else {
                let damaged = corrupt.happens(&mut of_netem);
                out.push((i128::from(at) + own, number, damaged));
            }
            if twice {
                if !first_is_lost && loss.happens(&mut of_loss) {
                    lost.push(number);
                    continue;
                }
                let own = delay(&mut of_delay);
                let damaged = corrupt.happens(&mut of_netem);
                out.push((i128::from(at) + own, number, damaged));
            }
        }
        if self.overtakes {
            out.sort_by_key(|(at, ..)| *at); // stable: frames of one instant keep their order
        } else {
            let mut last = 0;
            for (at, ..) in &mut out {
                last = last.max(*at);
                *at = last;
            }
        }
        (out, lost)
    }
}

/// A packet that may be damaged.
#[derive(Clone, Debug)]
struct Fragile {
    number: u64,
    size: Bytes,
    damaged: bool,
}

impl Frame for Fragile {
    fn wire_size(&self) -> Bytes {
        self.size
    }
    fn mark_ce(&mut self) -> bool {
        false
    }
    fn damage(&mut self) {
        self.damaged = true;
    }
}

#[derive(Default)]
struct Seen {
    departures: Vec<(u64, u64)>,
    lost: Vec<u64>,
    copies: usize,
    damaged: usize,
}

impl Watch<Fragile> for Seen {
    fn on_lost(&mut self, lost: Lost<Fragile>) {
        assert_eq!(lost.cause, LossCause::Channel);
        self.lost.push(lost.frame.number);
    }
    fn on_departure(&mut self, at: Time, _: Time, frame: &Fragile, _: Backlog) {
        self.departures.push((at.as_nanos(), frame.number));
    }
    fn on_copied(&mut self, _: Time, frame: &Fragile) -> Option<Fragile> {
        self.copies += 1;
        Some(frame.clone())
    }
    fn on_damaged(&mut self, _: Time, frame: &Fragile) {
        assert!(frame.damaged);
        self.damaged += 1;
    }
}

/// Sends frames (gap before it [ns], size [B]) through the link, which is polled when it asks for it.
fn run(parts: &LinkParts, seed: u64, frames: &[(u64, u64)]) -> (Vec<(i128, u64, bool)>, Seen) {
    let mut link: Link<Fragile> = Link::new(parts, "test", &Streams::new(seed, 0));
    let (mut seen, mut out, mut now) = (Seen::default(), Vec::new(), 0);
    let mut poll = |link: &mut Link<Fragile>, until: Time, seen: &mut Seen| {
        while link.poll_at() <= until {
            let at = link.poll_at();
            while let Some(frame) = link.poll(at, seen) {
                out.push((i128::from(at.as_nanos()), frame.number, frame.damaged));
            }
        }
    };
    for (number, &(gap, size)) in (0..).zip(frames) {
        now += gap;
        poll(&mut link, ns(now), &mut seen);
        link.push(ns(now), Fragile { number, size: Bytes::new(size), damaged: false }, &mut seen);
    }
    poll(&mut link, ms(1_000_000_000), &mut seen);
    assert_eq!(link.inside(), 0);
    (out, seen)
}

fn asked() -> impl Strategy<Value = Asked> {
    let share = || prop_oneof![2 => Just(0.0), 3 => 0.0f64..0.6, 1 => Just(1.0)];
    let correlation = || prop_oneof![Just(0.0), 0.0f64..0.95];
    let table = prop_oneof![Just(None), proptest::collection::vec(-32_768i128..32_768, 1..40).prop_map(Some)];
    let delay = (0i128..30_000_000, prop_oneof![Just(0i128), 1i128..40_000_000], correlation(), table);
    let reorder = (share(), correlation(), 1u32..6, any::<bool>());
    let copies = (share(), correlation(), share(), correlation());
    (delay, reorder, copies, (share(), correlation())).prop_map(
        |((delay, jitter, correlation, table), reorder, copies, (loss, loss_correlation))| Asked {
            delay,
            jitter,
            correlation,
            table,
            reorder: reorder.0,
            reorder_correlation: reorder.1,
            gap: reorder.2,
            overtakes: reorder.3,
            duplicate: copies.0,
            duplicate_correlation: copies.1,
            corrupt: copies.2,
            corrupt_correlation: copies.3,
            loss,
            loss_correlation,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn each_packet_fares_as_in_netem(
        asked in asked(),
        frames in proptest::collection::vec((prop_oneof![Just(0u64), 0u64..3_000_000], 40u64..1500), 1..60),
        seed in 0u64..1000,
    ) {
        let (out, seen) = run(&asked.parts(), seed, &frames);
        prop_assert_eq!(seen.departures.len(), frames.len());
        let (mut expected, lost) = asked.reference(seed, &seen.departures);
        // The set of frames that comes out at one instant is told in the order of the link; numbers of one instant are compared as sets.
        let sorted = |list: &mut Vec<(i128, u64, bool)>| list.sort_unstable();
        let mut found = out.clone();
        sorted(&mut found);
        sorted(&mut expected);
        prop_assert_eq!(found, expected);
        prop_assert_eq!(seen.lost, lost);
        if !asked.overtakes {
            prop_assert!(out.windows(2).all(|pair| pair[0].1 <= pair[1].1), "the order is kept: {:?}", out);
        }
    }
}

fn loss(json: &str) -> Loss {
    let parts = LossParts::new(&serde_json::from_str::<LossConfig>(json).unwrap()).unwrap();
    Loss::new(&parts, "a", &Streams::new(5, 0))
}

fn mean(json: &str) -> f64 {
    LossParts::new(&serde_json::from_str::<LossConfig>(json).unwrap()).unwrap().mean()
}

/// Lost frames of a million, in runs of so many losses.
fn bursts(json: &str) -> (f64, BTreeMap<u32, u32>) {
    let (mut loss, mut bursts, mut length, mut lost) = (loss(json), BTreeMap::new(), 0, 0);
    for _ in 0..1_000_000 {
        if loss.loses(Time::ZERO, Time::ZERO) {
            (length, lost) = (length + 1, lost + 1);
        } else if length > 0 {
            *bursts.entry(length).or_default() += 1;
            length = 0;
        }
    }
    (f64::from(lost) / 1e6, bursts)
}

#[test]
fn gemodel_is_the_gilbert_elliott_channel_and_begins_good() {
    let json = r#"{"gemodel": {"p": "1 %", "r": "25 %"}}"#;
    let (share, bursts) = bursts(json);
    // The share of bad states, 1 / 26, is known to 0.0005 and the length, 4, to 0.036: four standard deviations each.
    assert!((share - 0.01 / 0.26).abs() < 0.002 && (mean(json) - 0.01 / 0.26).abs() < 1e-12, "{share}");
    let count: u32 = bursts.values().sum();
    assert!((share * 1e6 / f64::from(count) - 4.0).abs() < 0.15, "{count}");
    assert!(
        !loss(r#"{"gemodel": {"p": 1, "r": 0}}"#).loses(Time::ZERO, Time::ZERO),
        "the first finds it good"
    );
    // r is 1 - p unless it is given: then each packet turns bad with p whatever was before.
    assert!((mean(r#"{"gemodel": {"p": "3 %"}}"#) - 0.03).abs() < 1e-12);
    let both = r#"{"gemodel": {"p": "2 %", "r": "10 %", "one_minus_h": "70 %", "one_minus_k": "0.1 %"}}"#;
    assert!((mean(both) - (0.7 / 6.0 + 0.001 * 5.0 / 6.0)).abs() < 1e-12);
}

#[test]
fn the_chain_of_four_states_has_its_shares_and_its_single_losses() {
    let json = r#"{"4state": {"p13": "1 %", "p31": "20 %", "p32": "30 %", "p23": "60 %", "p14": "0.5 %"}}"#;
    // Relative to a gap's packet: 3 as 0.01 / 0.2, 2 as half of 3, 4 as 0.005.
    let expected = (0.05 + 0.005) / (1.0 + 0.05 + 0.025 + 0.005);
    assert!((mean(json) - expected).abs() < 1e-12, "{}", mean(json));
    let (share, _) = bursts(json);
    // Bursts of losses are 2 to 5 long: four standard deviations of some 40,000 clustered losses.
    assert!((share - expected).abs() < 0.002, "{share} {expected}");
    let (share, alone) = bursts(r#"{"4state": {"p13": 0, "p14": "1 %"}}"#);
    assert!(alone.keys().eq(&[1]), "single losses only: {alone:?}");
    assert!((share - 0.01 / 1.01).abs() < 4.0 * (0.01f64 / 1e6).sqrt(), "{share}");
    let faulty: LossConfig = serde_json::from_str(r#"{"4state": {"p13": 0.6, "p14": 0.5}}"#).unwrap();
    assert_eq!(
        LossParts::new(&faulty).unwrap_err().to_string(),
        "`4state.p14` is 0.5, expected at most 1 - p13"
    );
}

#[test]
fn correlation_makes_loss_rarer_than_its_probability() {
    let json = r#"{"correlated": {"probability": "10 %", "correlation": "25 %"}}"#;
    let (share, _) = bursts(json);
    assert!((share - mean(json)).abs() < 0.002 && share < 0.08, "{share} {}", mean(json));
    assert!((mean(r#"{"correlated": {"probability": "10 %"}}"#) - 0.1).abs() < 1e-12);
}

/// Mean and standard deviation of the delays of 200,000 packets [ms], and the correlation of neighbours.
fn moments(json: &str) -> (f64, f64, f64) {
    let config: DelayConfig = serde_json::from_str(json).unwrap();
    let delay = DelayParts::from_config(&config, &mut |_| Err("no files".to_owned())).unwrap();
    let expected = delay.mean().as_nanos() as f64 / 1e6;
    let link = LinkParts { delay, reorders: true, ..parts(constant(u64::MAX)) };
    let frames = vec![(1_000_000_000, 100); 20_000];
    let mut all = Vec::new();
    for seed in 0..10 {
        let (out, seen) = run(&link, seed, &frames);
        all.extend(
            out.iter()
                .zip(&seen.departures)
                .map(|((at, ..), (left, _))| (at - i128::from(*left)) as f64 / 1e6),
        );
    }
    let count = all.len() as f64;
    let mean = all.iter().sum::<f64>() / count;
    let variance = all.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / count;
    let covariance = all.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / count;
    // Four standard errors of the mean.
    assert!(
        (mean - expected).abs() < 4.0 * (variance / count).sqrt() + 1e-6,
        "{json}: {mean} for {expected}"
    );
    (mean, variance.sqrt(), covariance / variance.max(1e-12))
}

#[test]
fn delays_have_the_moments_of_their_distributions() {
    let netem =
        |keys: &str| moments(&format!(r#"{{"netem": {{"delay": "100 ms", "jitter": "10 ms", {keys}}}}}"#));
    let (_, uniform, _) = netem(r#""distribution": "uniform""#);
    assert!((uniform - 10.0 / 3f64.sqrt()).abs() < 0.05, "{uniform}");
    let (mean, normal, _) = netem(r#""distribution": "normal""#);
    assert!((mean - 100.0).abs() < 0.1 && (normal - 10.0).abs() < 0.1, "{mean} {normal}");
    let (mean, pareto, _) = netem(r#""distribution": "pareto""#);
    assert!((99.4..100.0).contains(&mean) && (8.0..11.6).contains(&pareto), "{mean} {pareto}");
    netem(r#""distribution": "paretonormal""#);
    // Where a delay would be below zero it is zero, which raises the mean.
    let (mean, ..) = moments(r#"{"netem": {"delay": "5 ms", "jitter": "10 ms"}}"#);
    assert!((mean - 15.0 * 15.0 / 40.0).abs() < 0.1, "{mean}");
    // As in netem, the remainder of the correlated number hardly depends on the number before.
    let (_, _, correlation) = netem(r#""correlation": "75 %""#);
    assert!(correlation.abs() < 4.0 / 200_000f64.sqrt(), "{correlation}");
    // One in gap - 1 + 1 / reorder takes no delay: here one in five.
    let (mean, ..) = moments(r#"{"netem": {"delay": "10 ms", "reorder": "50 %", "gap": 4}}"#);
    assert!((mean - 8.0).abs() < 0.1, "{mean}");
}

#[test]
fn wifi_jitter_is_that_of_the_draft() {
    // 1 ms of short waits less half of one for 1 - 1/e of the packets; 12 x 7.5 ms of long ones for 1/15 of them.
    let (mean, deviation, correlation) = moments(r#"{"wifi": {"delay": "1 ms", "jitter": "7 ms"}}"#);
    let expected = 1.0 + 1.0 - 0.5 * (1.0 - 1.0 / std::f64::consts::E) + 6.0;
    assert!((mean - expected).abs() < 4.0 * deviation / 200_000f64.sqrt(), "{mean} {expected}");
    // Second moment of the long waits: 7.5² (12 + 144) / 15; of the short ones and their correlation less than 2.
    let long: f64 = 7.5 * 7.5 * 156.0 / 15.0 - 36.0;
    assert!((deviation * deviation - long).abs() < 0.03 * long, "{deviation}");
    assert!(correlation.abs() < 4.0 / 200_000f64.sqrt(), "{correlation}");
    let (mean, deviation, _) = moments(r#""wifi""#);
    assert!(
        (mean - (1.0 - 0.5 * (1.0 - 1.0 / std::f64::consts::E))).abs() < 4.0 * deviation / 200_000f64.sqrt(),
        "{mean}"
    );
}

#[test]
fn an_observer_draws_no_delay() {
    let delay = DelayParts::from_config(
        &serde_json::from_str(r#"{"netem": {"delay": "9 ms", "jitter": "9 ms"}}"#).unwrap(),
        &mut |_| Err("no files".to_owned()),
    );
    let link = LinkParts { delay: delay.unwrap(), ..parts(constant(12_000_000)) };
    let outcome = |looks: bool| {
        let (mut link, mut seen, mut out) =
            (Link::new(&link, "test", &Streams::new(3, 0)), Seen::default(), Vec::new());
        for number in 0..50 {
            let now = ms(40 * number);
            link.push(now, Fragile { number, size: Bytes::new(1500), damaged: false }, &mut seen);
            while link.poll_at() < ms(40 * number + 40) {
                let at = link.poll_at();
                while link.poll(at, &mut seen).is_some() {
                    out.push(at);
                    if looks {
                        assert_eq!(link.delay(at), at.since(ms(40 * number + 1)), "that of the last frame");
                    }
                }
            }
        }
        out
    };
    assert_eq!(outcome(true), outcome(false));
}

/// Numbers of the frames that overflow of those that arrive each millisecond where each takes two, from a backlog on.
fn overflows(ties: Ties) -> Vec<u64> {
    let queue = DropTailConfig { limit: Amount::Packets(5), ties, ..Default::default() };
    let link = LinkParts { queue: QueueConfig::DropTail(queue), ..parts(constant(6_000_000)) };
    let (mut link, mut log) = (common::link(&link, 1), common::Log::default());
    for number in 0..20 {
        common::drain(&mut link, ns(number * 1_000_000), &mut log);
        link.push(ms(number), packet(number, 1500), &mut log);
    }
    log.losses().into_iter().map(|(.., number)| number).collect()
}

#[test]
fn ties_decide_which_of_two_is_lost() {
    // Two arrive for each that leaves, and one of them at the very instant: it is the one that finds the queue full if it
    // goes first, else the other.
    assert_eq!(overflows(Ties::DeparturesFirst), [9, 11, 13, 15, 17, 19]);
    assert_eq!(overflows(Ties::ArrivalsFirst), [8, 10, 12, 14, 16, 18]);
}

#[test]
fn a_latency_limits_a_shaper_as_tbf_does() {
    // tbf at 8 Mb/s with latency 6 ms and a burst of 3028 B: 6,000 + 3,028 B, Ethernet's 14 B counted.
    let shaper = ShaperConfig {
        rate: Rate::from_bps(8_000_000),
        burst: Amount::Bytes(Bytes::new(3028)),
        latency: Some(Span::from_millis(6)),
        queue: Default::default(),
    };
    let framing = Framing { overhead: Bytes::new(14), in_queue: true, cells: None };
    let link = LinkParts { queue: QueueConfig::Shaper(shaper), framing, ..parts(constant(u64::MAX)) };
    let (mut link, mut log) = (common::link(&link, 1), common::Log::default());
    for number in 0..20 {
        link.push(Time::ZERO, packet(number, 1500), &mut log);
    }
    let out = common::drain(&mut link, ms(100), &mut log);
    // The bucket lets two go at once; of 1514 B each five more are at most 9,028 B, and each takes 1.514 ms.
    let times: Vec<_> = out.iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(times, [0, 0, 1_514_000, 3_028_000, 4_542_000, 6_056_000, 7_570_000]);
    let refused = |json: &str| {
        use varicap_units::part::Part;
        let config: QueueConfig = serde_json::from_str(json).unwrap();
        let fault = config.check().unwrap_err();
        format!("{}: {}", fault.key, fault.expected)
    };
    let both = r#"{"shaper": {"rate": "8 Mb/s", "burst": "3 kB", "latency": "6 ms", "queue": "codel"}}"#;
    assert_eq!(refused(both), "shaper.latency: either a latency or a `queue`");
    let packets = r#"{"shaper": {"rate": "8 Mb/s", "burst": "3 packets", "latency": "6 ms"}}"#;
    assert_eq!(refused(packets), "shaper.burst: bytes, to which `latency` adds");
}

#[test]
fn limits_in_bytes_count_the_overhead_where_they_are_told_to() {
    let held = |in_queue: bool| {
        let queue = DropTailConfig { limit: Amount::Bytes(Bytes::new(15_000)), ..Default::default() };
        let framing = Framing { overhead: Bytes::new(14), in_queue, cells: None };
        let link = LinkParts { queue: QueueConfig::DropTail(queue), framing, ..parts(constant(1_000)) };
        let (mut link, mut log) = (common::link(&link, 1), common::Log::default());
        (0..20).for_each(|number| link.push(Time::ZERO, packet(number, 1500), &mut log));
        20 - log.losses().len()
    };
    assert_eq!((held(false), held(true)), (10, 9));
}
