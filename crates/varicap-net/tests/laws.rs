//! Laws of queueing and of Markov processes, each within a stated bound.
//!
//! Every estimate is the mean of independent replications. A law holds if it lies within four standard errors of that
//! mean; with 40 replications chance alone breaks that once in some 4,000 seeds, and the seeds are fixed. The standard
//! error itself is bounded, so that a test cannot pass by being vague.

use crate::common;

use common::{Log, link, ns, packet, parts};
use varicap_net::capacity::Capacity;
use varicap_net::{
    Backlog, CapacityConfig, CapacityParts, CapacityProcess, Frame, Link, Lost, MarkovConfig, SessionsConfig,
    SlottedMarkovConfig, StepsConfig, Watch,
};
use varicap_units::{Bytes, Frequency, Probability, Rate, Span, Streams, Time, Work};

const REPLICATIONS: u64 = 40;

/// Checks that the mean of `samples` is `law` within four standard errors, of which each is below `most` of the law.
fn assert_law(what: &str, samples: &[f64], law: f64, most: f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance =
        samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    assert!((mean - law).abs() <= 4.0 * error + 1e-9 * law, "{what}: {mean} ± {error}, law {law}");
    assert!(error <= most * law, "{what}: a standard error of {error} is no evidence for {law}");
}

fn capacity(config: &CapacityConfig) -> CapacityParts {
    CapacityParts::from_config(config, &mut |_| Err("no files".to_owned())).unwrap()
}

/// Time average of the capacity over `length`, in each replication [b/s].
fn time_averages(parts: &CapacityParts, length: Span) -> Vec<f64> {
    let averages = (0..REPLICATIONS).map(|replication| {
        let mut path = Capacity::new(parts, Streams::new(7, replication).stream("link.a.capacity"));
        let (mut now, end) = (Time::ZERO, Time::ZERO + length);
        let mut work = Work::ZERO;
        while now < end {
            let segment = path.segment(now);
            let until = segment.until.min(end);
            work += segment.rate * (until - now);
            now = until;
        }
        work.as_bits_f64() / length.as_secs_f64()
    });
    averages.collect()
}

fn assert_mean_rate(what: &str, config: &CapacityConfig, length: Span, most: f64) {
    let parts = capacity(config);
    assert_law(what, &time_averages(&parts, length), parts.mean_rate().as_bps() as f64, most);
}

fn row(values: &[f64]) -> Vec<Probability> {
    values.iter().map(|&value| Probability::new(value).unwrap()).collect()
}

fn rates(megabits: &[u64]) -> Vec<Rate> {
    megabits.iter().map(|&megabits| Rate::from_bps(megabits * 1_000_000)).collect()
}

fn on_off(on: Span, off: Span) -> CapacityConfig {
    CapacityConfig::Markov(MarkovConfig {
        rates: rates(&[10, 0]),
        mean_holding: vec![on, off],
        jumps: None,
        start: None,
    })
}

/// Adds up the time that frames wait before service.
#[derive(Default)]
struct Waits {
    frames: u64,
    sojourn: u64,
}

impl<F: Frame> Watch<F> for Waits {
    fn on_lost(&mut self, _lost: Lost<F>) {}
    fn on_departure(&mut self, at: Time, arrived: Time, _: &F, _: Backlog) {
        self.frames += 1;
        self.sojourn += (at - arrived).as_nanos();
    }
}

#[test]
fn waiting_of_poisson_arrivals_at_constant_service_is_pollaczek_khinchines() {
    // 1500 bytes at 12 Mb/s: D = 1 ms. Mean wait load D / (2 (1 - load)).
    for (load, most) in [(0.5, 0.01), (0.8, 0.02)] {
        let service = 1e6;
        let waits = (0..REPLICATIONS).map(|replication| {
            let mut arrivals = Streams::new(11, replication).stream("arrivals");
            let mut link: Link<_> = link(&parts(CapacityParts::Constant(Rate::from_bps(12_000_000))), 1);
            let mut waits = Waits::default();
            let mut at = 0.0;
            for number in 0..60_000 {
                at += arrivals.exponential(service / load);
                let now = ns(at as u64);
                link.push(now, packet(number, 1500), &mut waits);
                while link.poll(now, &mut waits).is_some() {}
            }
            waits.sojourn as f64 / waits.frames as f64 - service
        });
        let law = load * service / (2.0 * (1.0 - load));
        // The run starts empty; what that takes off the mean, of the order of a relaxation time 1/(1-load)^2 services
        // in 60,000 arrivals, is below 0.1 %, far below the standard error.
        assert_law(&format!("load {load}"), &waits.collect::<Vec<_>>(), law, most);
    }
}

#[test]
fn steps_and_traces_average_to_their_mean_over_whole_periods() {
    let steps = CapacityConfig::Steps(StepsConfig {
        at: vec![Span::ZERO, Span::from_millis(300), Span::from_millis(700)],
        rates: rates(&[10, 0, 4]),
        period: Some(Span::from_secs(1)),
    });
    let parts = capacity(&steps);
    assert_eq!(parts.mean_rate(), Rate::from_bps(4_200_000));
    assert!(time_averages(&parts, Span::from_secs(50)).iter().all(|average| *average == 4_200_000.0));
}

#[test]
fn a_markov_chain_averages_to_its_stationary_mean() {
    let config = MarkovConfig {
        rates: rates(&[1, 5, 20, 0]),
        mean_holding: [700, 100, 50, 300].map(Span::from_millis).to_vec(),
        jumps: Some(vec![
            row(&[0.0, 0.7, 0.2, 0.1]),
            row(&[0.5, 0.0, 0.5, 0.0]),
            row(&[0.0, 0.9, 0.0, 0.1]),
            row(&[1.0, 0.0, 0.0, 0.0]),
        ]),
        start: None,
    };
    assert_mean_rate("four states", &CapacityConfig::Markov(config), Span::from_secs(2_000), 0.01);
}

#[test]
fn a_markov_chain_is_stationary_from_the_start() {
    // Over a tenth of a holding time the average is nearly that of the first state alone.
    let config = on_off(Span::from_secs(3), Span::from_secs(1));
    let parts = capacity(&config);
    let starts: Vec<f64> = (0..100u64)
        .map(|seed| {
            let first = (0..REPLICATIONS).map(|replication| {
                let stream = Streams::new(seed, replication).stream("link.a.capacity");
                Capacity::new(&parts, stream).segment(Time::ZERO).rate.as_bps() as f64
            });
            first.sum::<f64>() / REPLICATIONS as f64
        })
        .collect();
    assert_law("first state", &starts, parts.mean_rate().as_bps() as f64, 0.02);
}

#[test]
fn a_slotted_chain_averages_to_its_stationary_mean() {
    let config = SlottedMarkovConfig {
        rates: rates(&[1, 5, 20]),
        step: Span::from_millis(100),
        transitions: vec![row(&[0.8, 0.2, 0.0]), row(&[0.1, 0.8, 0.1]), row(&[0.0, 0.3, 0.7])],
        start: None,
    };
    assert_mean_rate("slots", &CapacityConfig::SlottedMarkov(config), Span::from_secs(1_000), 0.01);
}

#[test]
fn sessions_leave_their_stationary_mean() {
    for (arrivals, at_most) in [(2.0, 20), (40.0, 5)] {
        let config = SessionsConfig {
            capacity: Rate::from_bps(10_000_000),
            arrivals: Frequency::from_hz(arrivals).unwrap(),
            mean_size: Bytes::new(100_000),
            at_most,
        };
        assert_mean_rate("sessions", &CapacityConfig::Sessions(config), Span::from_secs(1_000), 0.01);
    }
}

#[test]
fn outages_have_their_share_of_time_and_their_mean_length() {
    let (on, off) = (Span::from_millis(300), Span::from_millis(100));
    let parts = capacity(&on_off(on, off));
    let (mut shares, mut lengths) = (Vec::new(), Vec::new());
    for replication in 0..REPLICATIONS {
        let mut path = Capacity::new(&parts, Streams::new(3, replication).stream("link.a.capacity"));
        let (mut now, mut outages, mut out) = (Time::ZERO, 0u64, 0u64);
        while now < Time::ZERO + Span::from_secs(1_000) {
            let segment = path.segment(now);
            if segment.rate == Rate::ZERO {
                outages += 1;
                out += (segment.until - now).as_nanos();
            }
            now = segment.until;
        }
        shares.push(out as f64 / now.as_nanos() as f64);
        lengths.push(out as f64 / outages as f64);
    }
    assert_law("share", &shares, 0.25, 0.01);
    assert_law("length", &lengths, off.as_nanos() as f64, 0.01);
}

#[test]
fn a_busy_link_delivers_the_mean_of_its_capacity() {
    let mut parts = parts(capacity(&on_off(Span::from_millis(30), Span::from_millis(10))));
    parts.delay = Span::from_millis(5).into();
    let end = Time::ZERO + Span::from_secs(40);
    let delivered = (0..REPLICATIONS).map(|replication| {
        let mut link = Link::new(&parts, "a", &Streams::new(5, replication));
        let mut log = Log::default();
        // Two frames inside keep the server busy whenever it may serve, since a frame on the wire is replaced.
        let mut bits = 0.0;
        for number in 0..20 {
            link.push(Time::ZERO, packet(number, 1500), &mut log);
        }
        while link.poll_at() <= end {
            let now = link.poll_at();
            while link.poll(now, &mut log).is_some() {
                bits += 12_000.0;
                link.push(now, packet(0, 1500), &mut log);
            }
        }
        bits / 40.0
    });
    // The traffic that is still inside at the end, 20 frames, is 0.08 % of 300 Mb; the standard error is ten times that.
    assert_law("delivered", &delivered.collect::<Vec<_>>(), 7_500_000.0, 0.01);
}
