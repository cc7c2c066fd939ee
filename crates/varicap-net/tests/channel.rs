//! Laws of channels: what a transmission meets, with a stated confidence bound.

use crate::common;

use common::{Log, constant, drain, link, packet, parts};
use varicap_net::channel::{Channel, ChannelPart};
use varicap_net::{
    CapacityConfig, CapacityParts, CbqClass, CbqConfig, ChannelParts, DropTailConfig, GoodBadConfig,
    LinkParts, LossCause, LossConfig, LossParts, QueueConfig, RayleighConfig, StatesConfig, StepsConfig,
};
use varicap_units::{Amount, Frequency, Probability, Rate, Span, Streams, Time};

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn channel(parts: &ChannelParts, seed: u64) -> Channel {
    let streams = Streams::new(seed, 0);
    Channel::new(parts, streams.stream("link.a.channel"), streams.stream("link.a.loss"))
}

fn rayleigh(doppler: f64, threshold_db: f64, oscillators: u32) -> ChannelParts {
    let doppler = Frequency::from_hz(doppler).unwrap();
    RayleighConfig { doppler, threshold_db, delivered: p(1.0), oscillators }.channel().unwrap()
}

/// Share of slots of `slot` that a channel receives, and its standard error from 20 seeds.
fn received(parts: &ChannelParts, slot: Span, slots: u32) -> (f64, f64) {
    let shares: Vec<f64> = (0..20)
        .map(|seed| {
            let mut channel = channel(parts, seed);
            let good = (0..slots).filter(|&number| {
                let begin = Time::ZERO + slot.saturating_mul(u64::from(number));
                channel.receives(begin, begin + slot)
            });
            good.count() as f64 / f64::from(slots)
        })
        .collect();
    mean_and_error(&shares)
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Mean durations of the good and the bad times of a channel of two states [s], means and errors over 20 seeds.
fn durations(parts: &ChannelParts, length: Span) -> [(f64, f64); 2] {
    let mut means = [Vec::new(), Vec::new()];
    for seed in 0..20 {
        let mut channel = channel(parts, seed);
        let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
        let (mut before, mut at) = channel.state(Time::ZERO);
        while at < Time::ZERO + length {
            let (state, until) = channel.state(at);
            sums[state] += until.since(at).as_secs_f64();
            counts[state] += f64::from(u8::from(state != before));
            (before, at) = (state, until);
        }
        (0..2).for_each(|state| means[state].push(sums[state] / counts[state]));
    }
    [mean_and_error(&means[1]), mean_and_error(&means[0])]
}

#[test]
fn a_slot_is_received_if_the_channel_is_good_throughout_it() {
    let (good, bad, delivered, slot) = (0.1, 0.01, 0.99, 4.608e-3);
    let config = GoodBadConfig {
        good: Span::from_secs_f64(good),
        bad: Span::from_secs_f64(bad),
        delivered: p(delivered),
    };
    let parts = config.channel().unwrap();
    let (share, error) = received(&parts, Span::from_secs_f64(slot), 50_000);
    let expected = delivered * good / (good + bad) * (f64::exp_m1(-slot / good) + 1.0);
    // Four standard errors are exceeded once in 16,000 seeds.
    assert!((share - expected).abs() < 4.0 * error && error < 1e-3, "{share} ± {error}, {expected}");
    assert!((parts.mean_loss() - (1.0 - delivered * good / (good + bad))).abs() < 1e-12);
}

#[test]
fn several_states_fare_as_the_worst() {
    // A state of probability 1 is left for one of 0.5 and returns: received = P(stay) + 0.5 (1 - P(stay)) in one, 0.5 in
    // the other.
    let config = StatesConfig {
        delivered: vec![p(1.0), p(0.5)],
        mean_holding: vec![Span::from_millis(30), Span::from_millis(10)],
        jumps: None,
        start: None,
    };
    let parts = config.channel().unwrap();
    let (share, error) = received(&parts, Span::from_millis(5), 50_000);
    let stays = 0.75 * (f64::exp_m1(-5.0 / 30.0) + 1.0);
    let expected = stays + 0.5 * (1.0 - stays);
    assert!((share - expected).abs() < 4.0 * error && error < 1e-3, "{share} ± {error}, {expected}");
}

#[test]
fn jakes_fades_are_rayleighs_with_many_oscillators() {
    // Exactly Rayleigh at -10 dB: bad for 0.1327 / f_d, good for 1.2616 / f_d, 0.717 f_d crossings a second.
    let [(good, good_error), (bad, bad_error)] = durations(&rayleigh(10.0, -10.0, 200), Span::from_secs(15));
    assert!((bad - 13.27e-3).abs() < 4.0 * bad_error && bad_error < 0.6e-3, "{bad} ± {bad_error}");
    assert!((good - 126.16e-3).abs() < 4.0 * good_error && good_error < 6e-3, "{good} ± {good_error}");
}

#[test]
fn durations_scale_with_the_doppler_frequency() {
    let slow = durations(&rayleigh(1.0, -10.0, 8), Span::from_secs(50));
    let fast = durations(&rayleigh(100.0, -10.0, 8), Span::from_millis(500));
    for (slow, fast) in slow.into_iter().zip(fast) {
        // The same phases, hence the same path in another time, up to rounding to a nanosecond.
        assert!((slow.0 / (100.0 * fast.0) - 1.0).abs() < 1e-4, "{slow:?} {fast:?}");
    }
}

#[test]
fn a_level_that_is_never_crossed_takes_no_time_to_find_out() {
    let mut never_good = channel(&rayleigh(10.0, 20.0, 8), 1);
    assert!(!never_good.receives(Time::ZERO, Time::ZERO + Span::from_secs(100)));
    let mut never_bad = channel(&rayleigh(10.0, -200.0, 8), 1);
    assert!(never_bad.receives(Time::ZERO, Time::ZERO + Span::from_secs(100)));
}

#[test]
fn what_is_sent_does_not_change_the_channel() {
    for parts in [rayleigh(30.0, -10.0, 8), {
        let (good, bad) = (Span::from_millis(30), Span::from_millis(3));
        GoodBadConfig { good, bad, delivered: p(0.5) }.channel().unwrap()
    }] {
        let end = Time::ZERO + Span::from_secs(10);
        let mut busy = channel(&parts, 7);
        let mut idle = channel(&parts, 7);
        for slot in 0..9_000 {
            let begin = Time::ZERO + Span::from_millis(slot);
            busy.receives(begin, begin + Span::from_millis(1));
        }
        assert_eq!(busy.state(end), idle.state(end));
    }
}

#[test]
fn a_transmission_meets_what_lies_within_it_and_no_more() {
    let config = StatesConfig {
        delivered: vec![p(1.0), p(0.0)],
        mean_holding: vec![Span::from_millis(30), Span::from_millis(10)],
        jumps: None,
        start: Some(0),
    };
    let parts = config.channel().unwrap();
    let (_, bad) = channel(&parts, 3).state(Time::ZERO);
    let (_, good) = channel(&parts, 3).state(bad);
    let moment = Span::from_nanos(1);
    let receives = |from, to| channel(&parts, 3).receives(from, to);
    assert!(receives(Time::ZERO, bad) && !receives(Time::ZERO, bad + moment));
    assert!(!receives(bad, bad) && receives(good, good));
    let mut late = channel(&parts, 3);
    assert!(!late.receives(bad, good + moment) && late.receives(good, good + moment + moment));
}

/// Share of the frames of `size`, of which one comes to a link every `gap`, that the channel loses, and its standard error from 20 seeds.
fn lost(parts: &LinkParts, size: u64, gap: Span) -> (f64, f64) {
    let shares: Vec<f64> = (0..20)
        .map(|seed| {
            let (mut link, mut log, mut now) = (link(parts, seed), Log::default(), Time::ZERO);
            for number in 0..20_000 {
                drain(&mut link, now, &mut log);
                link.push(now, packet(number, size), &mut log);
                now += gap;
            }
            drain(&mut link, now, &mut log);
            let lost = log.losses().into_iter().filter(|(_, cause, _)| *cause == LossCause::Channel);
            lost.count() as f64 / log.departures().len() as f64
        })
        .collect();
    mean_and_error(&shares)
}

/// A channel that is good and bad for these times [ms], and the share of transmissions of `length` that it loses.
fn good_bad(good: f64, bad: f64, length: f64) -> (LossParts, f64) {
    let [mean_good, mean_bad] = [good, bad].map(|millis| Span::from_secs_f64(millis / 1e3));
    let config = GoodBadConfig { good: mean_good, bad: mean_bad, delivered: p(1.0) };
    let loss = LossParts::new(&LossConfig::Markov(config)).unwrap();
    (loss, 1.0 - good / (good + bad) * (f64::exp_m1(-length / good) + 1.0))
}

#[test]
fn what_waits_for_its_share_is_not_yet_sent() {
    let (loss, expected) = good_bad(20.0, 1.0, 1.2);
    let limit = Amount::Packets(4);
    let queue =
        QueueConfig::DropTail(DropTailConfig { limit, counts_in_service: true, ..Default::default() });
    let class = CbqClass { flows: None, share: p(0.1), queue, priority: 1, borrow: false };
    let queue = QueueConfig::Cbq(CbqConfig { classes: [("all".to_owned(), class)].into() });
    // 1500 bytes at 10 Mb/s come twice as often as the share of a tenth lets them go.
    let parts = LinkParts { queue, loss, ..parts(constant(10_000_000)) };
    let (share, error) = lost(&parts, 1500, Span::from_millis(6));
    assert!((share - expected).abs() < 4.0 * error && error < 2e-3, "{share} ± {error}, {expected}");
}

#[test]
fn what_waits_for_the_end_of_an_outage_is_not_yet_sent() {
    let (loss, expected) = good_bad(200.0, 5.0, 0.1);
    let steps = CapacityConfig::Steps(StepsConfig {
        at: [0, 5].map(Span::from_millis).into(),
        rates: [10_000_000, 0].map(Rate::from_bps).into(),
        period: Some(Span::from_millis(55)),
    });
    let capacity = CapacityParts::from_config(&steps, &mut |_| unreachable!()).unwrap();
    // One frame comes while the link is open, and six while it is closed.
    let (share, error) = lost(&LinkParts { loss, ..parts(capacity) }, 125, Span::from_micros(8_300));
    assert!((share - expected).abs() < 4.0 * error && error < 4e-3, "{share} ± {error}, {expected}");
}

#[test]
fn refusals_name_the_key() {
    let refusal = |config| LossParts::new(&config).unwrap_err().to_string();
    let good_bad = |good, bad| {
        let (good, bad) = (Span::from_millis(good), Span::from_millis(bad));
        refusal(LossConfig::Markov(GoodBadConfig { good, bad, delivered: p(1.0) }))
    };
    assert_eq!(good_bad(0, 1), "`markov.good` is 0 s, expected a time above zero");
    assert_eq!(good_bad(1, 0), "`markov.bad` is 0 s, expected a time above zero");
    let fading = |doppler, threshold_db, oscillators| {
        let doppler = Frequency::from_hz(doppler).unwrap();
        let config = RayleighConfig { doppler, threshold_db, delivered: p(1.0), oscillators };
        refusal(LossConfig::Rayleigh(config))
    };
    assert_eq!(
        fading(0.0, -10.0, 8),
        "`rayleigh.doppler` is 0 /s, expected above 0 Hz, and at most 100000 Hz"
    );
    assert_eq!(
        fading(10.0, f64::NAN, 8),
        "`rayleigh.threshold_db` is NaN, expected -200 to 20 dB of the mean power"
    );
    assert_eq!(fading(10.0, -10.0, 0), "`rayleigh.oscillators` is 0, expected 1 to 1000");
    let states = |delivered: Vec<Probability>, holding: usize| {
        let mean_holding = vec![Span::from_millis(1); holding];
        refusal(LossConfig::States(StatesConfig { delivered, mean_holding, jumps: None, start: None }))
    };
    assert_eq!(states(vec![], 0), "`states.delivered` is empty, expected at least one state");
    assert_eq!(
        states(vec![p(1.0), p(0.0)], 3),
        "`states.mean_holding` is 3 values, expected 2, one per state"
    );
}

#[test]
#[ignore = "prints what docs/wireless.md says of the fading process"]
fn print_durations() {
    for oscillators in [4, 8, 16, 64] {
        let [good, bad] = durations(&rayleigh(10.0, -10.0, oscillators), Span::from_secs(100));
        println!("{oscillators}: good {good:?} s, bad {bad:?} s, {} crossings/s", 1.0 / (good.0 + bad.0));
    }
}
