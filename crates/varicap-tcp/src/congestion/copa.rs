//! A window that steers to the rate `1 / (delta * dq)`, where dq is the queueing delay: Copa. Source: [arun18].
//!
//! The queueing delay is what the least RTT of the last half of a smoothed RTT has more than the least RTT of 10 s. On
//! each acknowledgement the window opens or closes, towards the target, by `v / delta` packets per round trip; the
//! velocity v doubles in each round trip once the direction has been the same for three, and is 1 again when it changes.
//! Packets leave at twice the window per RTT. So the queue is nearly empty about every five round trips; where it is not,
//! somebody else fills it, and `1 / delta` itself is raised by one in each round trip, and halved at a loss, which makes
//! the sender compete as Reno does. Without such competition losses are no signal.
//!
//! Deviations: after a timeout the window is one segment and opens as in slow start (RFC 5681 §3.1; [arun18] says nothing
//! of timeouts); v is at most what moves the window by its own size in a round trip, as in the authors' code, and is 1 as
//! soon as the target lies in the other direction, as in QUIC's Copa (mvfst), not only at the end of the round trip, by
//! when a large v has emptied the path; an ECN echo counts as a loss.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Bytes, JsonSchema, Rate, Span, Time};

use super::bandwidth::{Bandwidth, Recent};
use super::least::Least;
use super::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, MOST_WINDOW, Quantity, Start, Wants,
};

/// Binary places of windows and of `1 / delta`.
const PLACES: u32 = 16;
const UNIT: u64 = 1 << PLACES;
/// The smallest and largest `delta`.
const DELTAS: std::ops::RangeInclusive<f64> = 0.001..=100.0;
/// For how long the least RTT holds. Source: [arun18, §2.1].
const MEMORY: Span = Span::from_secs(10);
/// Round trips in which the direction is kept before the velocity doubles: at rest it is kept for 2.5.
/// Source: [arun18, §2.1].
const STEADY_ROUNDS: u32 = 3;
/// Round trips within which the queue must have been nearly empty. Source: [arun18, §2.2].
const ROUNDS_TO_EMPTY: u64 = 5;
/// Largest `1 / delta` that competition leads to, in 65536ths of a packet.
const MOST_WEIGHT: u64 = UNIT << 24;
/// Least window, in segments, which leaves room for delayed acknowledgements.
const LEAST: u64 = 2;

/// How much delay is worth. Source: [arun18, §2].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CopaConfig {
    /// How much more delay counts than throughput, per packet (delta): the target rate is `1 / (delta * dq)`, dq being the
    /// queueing delay. From 0.001 to 100. Default: 0.5.
    pub delta: f64,
    /// Whether it finds out that others fill the buffer, and then competes with them (mode switching). Default: true.
    pub competes: bool,
}

impl Default for CopaConfig {
    fn default() -> CopaConfig {
        CopaConfig { delta: 0.5, competes: true }
    }
}

impl Part for CopaConfig {
    fn check(&self) -> Checked {
        part::require("delta", DELTAS.contains(&self.delta), self.delta, "from 0.001 to 100")
    }

    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("Linux has no Copa")
    }
}

/// Where the window goes, and since how many round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    is_up: bool,
    rounds: u32,
}

/// [arun18]'s window.
#[derive(Clone, Debug)]
pub struct Copa {
    mss: u64,
    packet: u64,
    /// In 65536ths of a byte.
    cwnd: u64,
    is_slow_start: bool,
    /// `1 / delta`, in 65536ths of a packet: that of the default mode, and today's.
    default_weight: u64,
    weight: u64,
    competes: bool,
    /// Whether it competes at the moment.
    is_competing: bool,
    velocity: u64,
    direction: Direction,
    /// The round trip under way, what will have been delivered when it is over [B], its window when it began, and whether it
    /// had a loss. What is delivered counts it, for acknowledgements in order may stand still for long while losses are
    /// repaired.
    round: u64,
    round_end: u64,
    began_with: u64,
    had_loss: bool,
    /// The last round trip in which the queue was nearly empty.
    empty: u64,
    standing: Least,
    minimum: Least,
    /// Largest RTTs of the last four round trips.
    maximum: Recent<Span, 4>,
    rtt_standing: Span,
    rtt_min: Span,
    pacing: Option<Rate>,
    /// The window before the last timeout, in 65536ths of a byte; zero: nothing to restore.
    prior: u64,
}

impl Copa {
    /// A window that starts as `start` says.
    pub fn new(config: &CopaConfig, start: &Start) -> Copa {
        let weight = (UNIT as f64 / config.delta).round() as u64;
        let cwnd = start.usable_window() * UNIT;
        Copa {
            mss: start.mss.as_u64(),
            packet: start.packet.as_u64(),
            cwnd,
            is_slow_start: true,
            default_weight: weight,
            weight,
            competes: config.competes,
            is_competing: false,
            velocity: 1,
            direction: Direction::default(),
            round: 0,
            round_end: 0,
            began_with: cwnd,
            had_loss: false,
            empty: 0,
            standing: Least::new(),
            minimum: Least::new(),
            maximum: Recent::new(),
            rtt_standing: Span::ZERO,
            rtt_min: Span::ZERO,
            pacing: None,
            prior: 0,
        }
    }

    /// The round trip that an acknowledgement belongs to: the next one, if all that was in flight when this one began has been
    /// delivered, or was lost and something else has been.
    fn round_of(&mut self, ack: &AckSample) -> u64 {
        let delivered = ack.delivered.as_u64();
        if delivered <= self.round_end {
            return self.round;
        }
        self.round_end = delivered + ack.in_flight.as_u64().saturating_sub(ack.newly_acked.as_u64());
        self.round + 1
    }

    /// RTTs of the path, and whether the queue is nearly empty. Source: [arun18, §2.1, §2.2].
    fn observe(&mut self, ack: &AckSample, rtt: Span, round: u64) {
        let smoothed = ack.smoothed_rtt.unwrap_or(rtt);
        self.rtt_standing = self.standing.take(ack.now, rtt, Span::from_nanos(smoothed.as_nanos() / 2));
        // The standing RTT is of the last 10 s, too, unless nothing else was heard of.
        self.rtt_min = self.minimum.take(ack.now, rtt, MEMORY).min(self.rtt_standing);
        self.maximum.take(round, rtt);
        let most = self.maximum.largest().saturating_sub(self.rtt_min);
        if self.queueing_delay().saturating_mul(10) <= most.as_nanos() {
            self.empty = round;
        }
    }

    /// dq \[ns\].
    fn queueing_delay(&self) -> u64 {
        (self.rtt_standing - self.rtt_min).as_nanos()
    }

    /// Whether the rate `cwnd / RTTstanding` is at most the target `1 / (delta * dq)`.
    fn is_below_target(&self) -> bool {
        let has = u128::from(self.cwnd) * u128::from(self.queueing_delay());
        let wanted =
            u128::from(self.weight) * u128::from(self.mss) * u128::from(self.rtt_standing.as_nanos());
        has <= wanted
    }

    /// Once per round trip: the mode, then the velocity.
    fn on_round(&mut self, round: u64) {
        let competing = self.competes && round.saturating_sub(self.empty) > ROUNDS_TO_EMPTY;
        if !competing {
            self.weight = self.default_weight;
        } else if self.is_competing && !self.had_loss {
            self.weight = (self.weight + UNIT).min(MOST_WEIGHT);
        }
        self.is_competing = competing;
        let is_up = self.cwnd > self.began_with;
        let rounds = if is_up == self.direction.is_up { self.direction.rounds + 1 } else { 1 };
        self.direction = Direction { is_up, rounds };
        self.velocity = if rounds > STEADY_ROUNDS { self.velocity.saturating_mul(2) } else { 1 };
        (self.round, self.began_with, self.had_loss) = (round, self.cwnd, false);
    }

    /// Something was lost: who competes halves what it competes with, once in a round trip, as long as recovery may last.
    fn on_loss(&mut self) {
        if self.is_competing && !self.had_loss {
            self.weight = (self.weight / 2).max(self.default_weight);
        }
        self.had_loss = true;
    }

    /// By how much the window moves for `acked` bytes: `v / delta` packets for each window of them.
    fn step(&mut self, acked: u64) -> u64 {
        // No more than the window itself in a round trip.
        let most = (self.cwnd / self.mss / self.weight).max(1);
        self.velocity = self.velocity.min(most);
        let acked = u128::from((acked * UNIT).min(self.cwnd));
        let packets = u128::from(self.velocity) * u128::from(self.weight);
        u64::try_from(packets * u128::from(self.mss) * acked / u128::from(self.cwnd)).unwrap_or(u64::MAX)
    }

    fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.clamp(LEAST * self.mss * UNIT, MOST_WINDOW * UNIT);
    }

    fn steer(&mut self, ack: &AckSample) {
        let acked = ack.newly_acked.as_u64().min(MOST_WINDOW);
        let below = self.is_below_target();
        if self.is_slow_start && below {
            if !ack.app_limited {
                self.set(self.cwnd + acked * UNIT);
            }
            return;
        }
        if self.is_slow_start {
            self.is_slow_start = false;
            (self.velocity, self.direction) = (1, Direction::default());
        }
        if self.velocity > 1 && below != self.direction.is_up {
            (self.velocity, self.direction) = (1, Direction { is_up: below, rounds: 0 });
        }
        let step = self.step(acked);
        if !below {
            self.set(self.cwnd.saturating_sub(step));
        } else if !ack.app_limited {
            self.set(self.cwnd + step);
        }
    }

    /// [arun18, §2.1]: twice the window per RTT, so that bursts don't look like a queue.
    fn set_pace(&mut self) {
        if self.rtt_standing > Span::ZERO {
            let rate = Bandwidth::of(self.bytes(), self.rtt_standing).of_units(2, 1);
            self.pacing = Some(rate.on_wire(self.mss, self.packet));
        }
    }

    fn bytes(&self) -> u64 {
        self.cwnd / UNIT
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, ack: &AckSample) {
        let round = self.round_of(ack);
        if let Some(rtt) = ack.rtt {
            self.observe(ack, rtt, round);
        }
        if round != self.round {
            self.on_round(round);
        }
        if ack.newly_lost > Bytes::ZERO {
            self.on_loss();
        }
        if self.rtt_standing > Span::ZERO {
            self.steer(ack);
        }
        self.set_pace();
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.on_loss();
        if let CongestionKind::Timeout { backoff } = event.kind {
            if backoff == 0 {
                self.prior = self.cwnd;
            }
            self.cwnd = self.mss * UNIT;
            self.is_slow_start = true;
        }
    }

    fn on_undo(&mut self, _now: Time) {
        let prior = std::mem::take(&mut self.prior);
        self.set(self.cwnd.max(prior));
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.cwnd = self.cwnd.min(restart_window.as_u64().clamp(self.mss, MOST_WINDOW) * UNIT);
        self.is_slow_start = true;
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.set((in_flight.as_u64() + self.mss) * UNIT);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.bytes())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn wants(&self) -> Wants {
        Wants { every_ack: true, own_recovery: true, ..Wants::default() }
    }

    fn shown(&self) -> &'static [Quantity] {
        SHOWN
    }

    fn show(&self, values: &mut Vec<f64>) {
        values.extend([
            UNIT as f64 / self.weight as f64,
            self.velocity as f64,
            f64::from(u8::from(self.is_competing)),
            Span::from_nanos(self.queueing_delay()).as_secs_f64(),
        ]);
    }
}

/// The quantities that `show` shows, with the paper's names.
const SHOWN: &[Quantity] = &[
    Quantity { name: "copa_delta", unit: "1", description: "Copa's delta: what delay is worth." },
    Quantity { name: "copa_velocity", unit: "1", description: "Its velocity v." },
    Quantity {
        name: "copa_competing",
        unit: "1",
        description: "Its mode: 1 where it competes with others that fill the buffer.",
    },
    Quantity { name: "copa_dq_s", unit: "s", description: "The queueing delay dq that it sees." },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Counting, Rounding};

    const MSS: u64 = 1000;

    fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    fn copa(config: &CopaConfig, segments: u64) -> Copa {
        let initial_window = Bytes::new(segments * MSS);
        let (mss, packet) = (Bytes::new(MSS), Bytes::new(MSS + 40));
        let initial_ssthresh = Bytes::MAX;
        Copa::new(
            config,
            &Start {
                mss,
                packet,
                initial_window,
                initial_ssthresh,
                counting: Counting::Acks,
                rounding: Rounding::None,
            },
        )
    }

    /// A path on which time passes: an acknowledgement each ms, round trips of a hundred.
    struct Path {
        copa: Copa,
        now: Time,
        delivered: u64,
        /// The data that each acknowledgement shows to be lost \[B\].
        loses: u64,
    }

    impl Path {
        fn new(config: &CopaConfig, segments: u64) -> Path {
            let mut copa = copa(config, segments);
            copa.round_end = 100 * MSS;
            Path { copa, now: Time::ZERO, delivered: 0, loses: 0 }
        }

        /// A round trip of a hundred acknowledged segments after `rtt`; cwnd when it is over \[segments\].
        fn round(&mut self, rtt: Span) -> f64 {
            for _ in 0..100 {
                self.now += ms(1);
                self.delivered += MSS;
                self.copa.on_ack(&AckSample {
                    newly_acked: Bytes::new(MSS),
                    newly_lost: Bytes::new(self.loses),
                    rtt: Some(rtt),
                    smoothed_rtt: Some(rtt),
                    delivered: Bytes::new(self.delivered),
                    in_flight: Bytes::new(100 * MSS),
                    ..AckSample::at(self.now)
                });
            }
            self.window()
        }

        fn window(&self) -> f64 {
            self.copa.cwnd as f64 / (UNIT * MSS) as f64
        }

        fn signal(&mut self, kind: CongestionKind) {
            self.copa.on_congestion(&CongestionEvent { now: self.now, kind, in_flight: Bytes::new(MSS) });
        }
    }

    fn settled(competes: bool) -> Path {
        let mut path = Path::new(&CopaConfig { competes, ..CopaConfig::default() }, 100);
        path.copa.is_slow_start = false;
        path.round(ms(100));
        path.copa.set(100 * MSS * UNIT);
        path
    }

    #[test]
    fn slow_start_doubles_until_the_target_is_exceeded() {
        let mut path = Path::new(&CopaConfig::default(), 100);
        assert_eq!(path.round(ms(100)), 200.0);
        // 200 packets in 110 ms are 1.8 per ms; the target is 1 / (0.5 * 10 ms), 0.2 per ms. It stands for 55 ms more.
        path.round(ms(110));
        assert!(!path.copa.is_slow_start);
        assert!((250.0..260.0).contains(&path.window()), "{}", path.window());
    }

    #[test]
    fn the_window_moves_by_two_packets_in_a_round_trip_and_doubles_its_steps_when_three_went_the_same_way() {
        let mut path = settled(false);
        let mut last = path.window();
        let mut steps = Vec::new();
        for _ in 0..7 {
            let window = path.round(ms(100));
            steps.push((window - last).round());
            last = window;
        }
        // A hundred packets of a window of 110 and 120 are acknowledged: not all of 8 and 16.
        assert_eq!(steps, [2.0, 2.0, 2.0, 2.0, 4.0, 7.0, 13.0]);
    }

    #[test]
    fn a_new_direction_is_taken_with_small_steps() {
        let mut path = settled(false);
        for _ in 0..6 {
            path.round(ms(100));
        }
        assert!(path.copa.velocity > 1);
        path.round(ms(150));
        assert_eq!((path.copa.velocity, path.copa.direction.is_up), (1, false));
    }

    #[test]
    fn where_the_queue_never_empties_it_competes_as_reno_does() {
        let mut path = settled(true);
        // An RTT of 150 ms that varies by 2: others fill the buffer.
        for round in 0..ROUNDS_TO_EMPTY + 4 {
            path.round(ms(150 + 2 * (round % 2)));
        }
        assert!(path.copa.is_competing);
        let weight = path.copa.weight / UNIT;
        path.round(ms(150));
        assert_eq!(path.copa.weight / UNIT, weight + 1);
        path.signal(CongestionKind::FastRetransmit);
        assert_eq!(path.copa.weight, (weight + 1) * UNIT / 2);
        // Losses go on while it recovers: half of that after another round trip, and so on.
        path.loses = MSS;
        path.round(ms(150));
        path.round(ms(152));
        assert_eq!(path.copa.weight, ((weight + 1) * UNIT / 4).max(2 * UNIT));
        path.loses = 0;
        // Nobody fills it any more.
        path.round(ms(100));
        path.round(ms(100));
        assert_eq!((path.copa.is_competing, path.copa.weight), (false, 2 * UNIT));
    }

    #[test]
    fn a_loss_is_no_signal_in_the_default_mode_and_a_timeout_leaves_a_segment() {
        let mut path = settled(true);
        let before = path.window();
        path.signal(CongestionKind::FastRetransmit);
        assert_eq!((path.window(), path.copa.weight), (before, 2 * UNIT));
        path.signal(CongestionKind::Timeout { backoff: 0 });
        path.signal(CongestionKind::Timeout { backoff: 1 });
        assert_eq!(path.window(), 1.0);
        path.copa.on_undo(path.now);
        assert_eq!(path.window(), before);
    }

    #[test]
    fn packets_leave_at_twice_the_window_per_round_trip() {
        let mut path = settled(true);
        path.round(ms(100));
        let packets = path.copa.pacing.unwrap().as_bps() as f64 / (8.0 * (MSS + 40) as f64);
        assert!((packets * 0.1 / (2.0 * path.window()) - 1.0).abs() < 1e-4, "{packets}");
    }

    #[test]
    fn delta_has_bounds() {
        let check = |delta| CopaConfig { delta, ..CopaConfig::default() }.check().is_ok();
        assert_eq!([0.0009, 0.001, 100.0, 101.0, f64::NAN].map(check), [false, true, true, false, false]);
    }
}
