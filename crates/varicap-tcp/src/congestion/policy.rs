//! A congestion control that was learned: at the end of each interval a policy observes what happened in it, and answers
//! by how much the window, or the rate at which segments leave, is to move.
//!
//! ```text
//! acknowledgements, losses ──► interval ──► observation ──► policy ──► action in [-1, 1] ──► window, pacing rate
//! ```
//!
//! The policy comes from outside: from a file, from a program, or from an environment in which it learns. Actions move
//! what there is by a factor, so that one policy fits paths of any rate; a window and a rate that nobody moves stay as
//! they are. Losses move nothing by themselves: the policy observes them. What a standard demands of every sender holds
//! nevertheless: one segment after a timeout (RFC 5681 §3.1), the restart window after an idle time (RFC 5681 §4.1); and a
//! window that is not used does not grow beyond twice what is in flight, and none beyond eight times what the last round
//! trip delivered: else a policy that always opens it would fill the memory with packets that the path drops.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, OnKernel, Part, at_least_one, positive, require};
use varicap_units::{Bytes, Cadence, JsonSchema, NANOS_PER_SEC, Rate, Span, Time};

use super::interval::{FEATURES, Interval, IntervalSample, State};
use super::{AckSample, CongestionControl, CongestionEvent, CongestionKind, MOST_WINDOW, Start, Wants};

/// Most numbers in an action.
pub const MOST_ACTIONS: usize = 2;
/// Most intervals in an observation.
const MOST_HISTORY: u32 = 64;
/// Most doublings of an action.
const MOST_STEP: f64 = 4.0;
/// The window is at most so many times what the last round trip delivered, or so many segments.
const MOST_OF_DELIVERED: u64 = 8;
const LEAST_CEILING: u64 = 64;

/// The quantity that a policy moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Moves {
    /// The window, by the action's only number.
    #[default]
    Window,
    /// The pacing rate, by the action's only number; the window is twice what that rate carries in a round trip.
    Rate,
    /// The window by the first number; segments leave at the rate of a window per round trip times 2 to the second one.
    WindowAndRate,
}

impl Moves {
    /// How many numbers an action has.
    pub fn actions(self) -> usize {
        match self {
            Moves::Window | Moves::Rate => 1,
            Moves::WindowAndRate => 2,
        }
    }
}

/// A policy, and how often it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// The file with the policy: a network in ONNX (`.onnx`), or layers as NumPy arrays (`.npz`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A policy in Python instead, by the name under which it was given to `varicap.run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<String>,
    /// From one action to the next. A time such as `"10 ms"`: at each multiple of it, all connections of the flow act. Or
    /// what each connection counts by itself: so many acknowledgements (`"4 acks"`), or round trips of data (`"1 rtt"`); it
    /// acts at the instant of the last of them, after what that let go. Default: 10 ms.
    pub interval: Cadence,
    /// The quantity that it moves. Default: the window.
    pub moves: Moves,
    /// Doublings of the window or rate by an action of 1: an action a multiplies it by 2 to the step a. Default: 0.25.
    pub step: f64,
    /// The number of intervals that an observation describes, the last one first. Default: 1.
    pub history: u32,
}

impl Default for PolicyConfig {
    fn default() -> PolicyConfig {
        PolicyConfig {
            file: None,
            custom: None,
            interval: Cadence::Time(Span::from_millis(10)),
            moves: Moves::Window,
            step: 0.25,
            history: 1,
        }
    }
}

impl Part for PolicyConfig {
    fn check(&self) -> Checked {
        match self.interval {
            Cadence::Time(time) => positive("interval", time)?,
            Cadence::Acks(count) | Cadence::Rounds(count) => {
                require("interval", count > 0, self.interval, "at least one of them")?;
            }
        }
        let moves = self.step > 0.0 && self.step <= MOST_STEP;
        require("step", moves, self.step, format!("above 0, and at most {MOST_STEP}"))?;
        at_least_one("history", self.history)?;
        require("history", self.history <= MOST_HISTORY, self.history, format!("at most {MOST_HISTORY}"))?;
        if let (Some(file), Some(_)) = (&self.file, &self.custom) {
            return require("file", false, file, "no file where `custom` names a policy in Python");
        }
        for (key, name) in [("file", &self.file), ("custom", &self.custom)] {
            require(key, name.as_ref().is_none_or(|name| !name.is_empty()), "an empty name", "a name")?;
        }
        Ok(())
    }

    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("only the simulator asks policies")
    }

    /// A policy may.
    fn draws(&self) -> bool {
        true
    }
}

impl PolicyConfig {
    /// Where the policy comes from: its file, or its name in Python; nothing where an environment acts in its place.
    pub fn source(&self) -> Option<&str> {
        self.file.as_deref().or(self.custom.as_deref())
    }

    /// How many numbers an observation has.
    pub fn observed(&self) -> usize {
        FEATURES * self.history as usize
    }
}

/// Decides on an action by an observation.
pub trait Decide: Debug + Send {
    /// Writes the action that follows from `observation`; what lies outside of -1 to 1 counts as the nearest of these.
    fn decide(&mut self, observation: &[f32], action: &mut [f32]);
}

/// The window and the rate that a policy moves.
#[derive(Debug)]
pub struct Policy {
    cadence: Cadence,
    moves: Moves,
    step: f64,
    mss: u64,
    /// The window [B].
    cwnd: u64,
    /// The window before the last timeout [B]; zero: nothing to restore.
    prior: u64,
    rate: Option<Rate>,
    /// The window is at most this, whatever the policy wants [B].
    ceiling: u64,
    /// Rounds of data that have ended in this interval.
    rounds: u32,
    /// The round of data under way, when it began, and what had been delivered by then [B].
    round: u64,
    began: Time,
    delivered: u64,
    interval: Interval,
    /// The observations of the last intervals, the last one first.
    observation: Vec<f32>,
    /// The decider; none where actions come from an environment.
    decider: Option<Box<dyn Decide>>,
}

impl Policy {
    /// A window that starts as `start` says.
    pub fn new(config: &PolicyConfig, start: &Start) -> Policy {
        Policy {
            cadence: config.interval,
            moves: config.moves,
            step: config.step,
            mss: start.mss.as_u64(),
            cwnd: start.usable_window(),
            prior: 0,
            rate: None,
            ceiling: ceiling(start.usable_window(), start.mss.as_u64()),
            rounds: 0,
            round: 0,
            began: Time::ZERO,
            delivered: 0,
            interval: Interval::new(),
            observation: vec![0.0; config.observed()],
            decider: None,
        }
    }

    /// The connection opens at `now`.
    pub(crate) fn open(&mut self, now: Time) {
        self.interval.open(now);
    }

    /// From now on `decider` decides.
    pub fn set_decider(&mut self, decider: Box<dyn Decide>) {
        self.decider = Some(decider);
    }

    /// The observation at the end of the last interval.
    pub fn observation(&self) -> &[f32] {
        &self.observation
    }

    /// How many numbers an action has.
    pub fn actions(&self) -> usize {
        self.moves.actions()
    }

    /// Whether intervals are counted in what it hears, rather than timed.
    pub(crate) fn counts_intervals(&self) -> bool {
        self.cadence.time().is_none()
    }

    /// Whether an interval is over that is counted in what it hears.
    pub(crate) fn is_due(&self) -> bool {
        match self.cadence {
            Cadence::Time(_) => false,
            Cadence::Acks(count) => self.interval.acks() >= count,
            Cadence::Rounds(count) => self.rounds >= count,
        }
    }

    /// The interval ends at `now`, with `in_flight` bytes in flight.
    pub(crate) fn end_interval(&mut self, now: Time, in_flight: Bytes) -> IntervalSample {
        let state = State {
            in_flight,
            cwnd: Bytes::new(self.cwnd),
            pacing_rate: self.rate.unwrap_or(Rate::ZERO),
            mss: Bytes::new(self.mss),
        };
        self.rounds = 0;
        let (sample, observed) = self.interval.end(now, state);
        let last = self.observation.len() - FEATURES;
        self.observation.copy_within(..last, FEATURES);
        self.observation[..FEATURES].copy_from_slice(&observed);
        sample
    }

    /// Acts as the policy decides by the last observation; without one nothing moves.
    pub(crate) fn decide(&mut self, sample: &IntervalSample) {
        let Some(decider) = &mut self.decider else { return };
        let mut action = [0.0; MOST_ACTIONS];
        decider.decide(&self.observation, &mut action[..self.moves.actions()]);
        self.act(&action, sample);
    }

    /// Moves the window and the rate by `action`, after `sample`.
    pub(crate) fn act(&mut self, action: &[f32; MOST_ACTIONS], sample: &IntervalSample) {
        let [first, second] = action.map(|value| f64::from(value.clamp(-1.0, 1.0)));
        // An action that is no number moves nothing.
        let [first, second] = [first, second].map(|value| if value.is_nan() { 0.0 } else { value });
        let factor = libm::exp2(self.step * first);
        match self.moves {
            Moves::Window => self.cwnd = self.moved(factor, sample),
            Moves::Rate => {
                // Until there is an RTT there is no rate.
                let Some(first) = self.window_per_rtt(sample) else { return };
                let rate = rate_of(self.rate.map_or(first, |rate| rate.as_bps() as f64) * factor);
                self.rate = Some(rate);
                let carried = bytes_in(rate, sample.smoothed_rtt);
                self.cwnd = carried.saturating_mul(2).clamp(4 * self.mss, self.ceiling);
            }
            Moves::WindowAndRate => {
                self.cwnd = self.moved(factor, sample);
                self.rate = self.window_per_rtt(sample).map(|rate| rate_of(rate * libm::exp2(second)));
            }
        }
    }

    /// The window times `factor`, within what is used of it.
    fn moved(&self, factor: f64, sample: &IntervalSample) -> u64 {
        let most = sample.in_flight.as_u64().saturating_mul(2).max(self.cwnd).max(2 * self.mss);
        // As a cast: beyond the range it saturates.
        ((self.cwnd as f64 * factor) as u64).clamp(self.mss, most.min(self.ceiling))
    }

    /// A window in each smoothed RTT, once that is known [b/s].
    fn window_per_rtt(&self, sample: &IntervalSample) -> Option<f64> {
        let rtt = sample.smoothed_rtt.as_nanos() as f64;
        (rtt > 0.0).then(|| self.cwnd as f64 * 8.0 * NANOS_PER_SEC as f64 / rtt)
    }
}

/// The largest window where a round trip has `delivered` so much [B].
fn ceiling(delivered: u64, mss: u64) -> u64 {
    delivered.saturating_mul(MOST_OF_DELIVERED).clamp(LEAST_CEILING * mss, MOST_WINDOW)
}

/// The nearest rate that lets something out, and is not unlimited.
fn rate_of(bps: f64) -> Rate {
    Rate::from_bps((bps + 0.5).clamp(1.0, 1e15) as u64)
}

/// The data that `rate` carries in `span` [B].
fn bytes_in(rate: Rate, span: Span) -> u64 {
    let bits = (rate * span).as_nanobits() / u128::from(NANOS_PER_SEC);
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

impl CongestionControl for Policy {
    fn on_ack(&mut self, ack: &AckSample) {
        self.interval.on_ack(ack);
        if ack.round != self.round {
            let delivered = ack.delivered.as_u64();
            // Where much is lost, a round of data takes many round trips.
            let rounds =
                ack.smoothed_rtt.map_or(1, |rtt| (ack.now - self.began).as_nanos() / rtt.as_nanos().max(1));
            self.ceiling = ceiling((delivered - self.delivered) / rounds.max(1), self.mss);
            (self.round, self.began, self.delivered) = (ack.round, ack.now, delivered);
            self.rounds += 1;
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.interval.on_congestion(event);
        if let CongestionKind::Timeout { backoff } = event.kind {
            self.prior = if backoff == 0 { self.cwnd } else { self.prior };
            // RFC 5681 §3.1: "cwnd MUST be set to no more than the loss window, LW, which equals 1 full-sized segment".
            self.cwnd = self.mss;
        }
    }

    fn on_undo(&mut self, _: Time) {
        self.cwnd = self.cwnd.max(std::mem::take(&mut self.prior));
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.cwnd = self.cwnd.min(restart_window.as_u64()).max(self.mss);
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.cwnd = self.mss + in_flight.as_u64();
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn wants(&self) -> Wants {
        // Over a few acknowledgements, what was delivered per time says how far apart they are, not how fast the path is.
        let rate_samples = self.counts_intervals();
        Wants { every_ack: true, own_recovery: true, rate_samples, ..Wants::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::RateSample;
    use varicap_units::Amount;

    const MSS: u64 = 1000;

    fn policy(config: PolicyConfig) -> Policy {
        let mut policy = Policy::new(
            &config,
            &Start {
                mss: Bytes::new(MSS),
                packet: Bytes::new(MSS + 40),
                initial_window: Bytes::new(10 * MSS),
                initial_ssthresh: Amount::Unlimited.bytes(Bytes::new(MSS), Bytes::ZERO),
                counting: crate::congestion::Counting::Acks,
                rounding: crate::congestion::Rounding::None,
            },
        );
        policy.open(Time::ZERO);
        policy
    }

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// `delivered` bytes in all are delivered at `now`, after 20 ms.
    fn ack(policy: &mut Policy, now: Time, delivered: u64, rtt: u64) {
        policy.on_ack(&AckSample {
            delivered: Bytes::new(delivered),
            rtt: Some(Span::from_millis(rtt)),
            smoothed_rtt: Some(Span::from_millis(20)),
            min_rtt: Some(Span::from_millis(20)),
            ..AckSample::at(now)
        });
    }

    fn observed(policy: &Policy, name: &str) -> f32 {
        let place = crate::congestion::OBSERVED.iter().position(|quantity| quantity.name == name);
        policy.observation()[place.unwrap()]
    }

    #[test]
    fn an_action_of_one_multiplies_the_window_by_two_to_the_step() {
        let mut policy = policy(PolicyConfig { step: 1.0, ..PolicyConfig::default() });
        let sample = policy.end_interval(ms(10), Bytes::new(10 * MSS));
        policy.act(&[1.0, 0.0], &sample);
        assert_eq!(policy.cwnd(), Bytes::new(20 * MSS));
        policy.act(&[-0.5, 0.0], &sample);
        assert_eq!(policy.cwnd(), Bytes::new(14_142));
        // A value outside the range counts as the nearest in it, and one that is no number as nothing.
        policy.act(&[-9.0, 0.0], &sample);
        assert_eq!(policy.cwnd(), Bytes::new(7071));
        policy.act(&[f32::NAN, 0.0], &sample);
        assert_eq!(policy.cwnd(), Bytes::new(7071));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow_and_none_falls_below_a_segment() {
        let mut policy = policy(PolicyConfig { step: 4.0, ..PolicyConfig::default() });
        let sample = policy.end_interval(ms(10), Bytes::new(3 * MSS));
        policy.act(&[1.0, 0.0], &sample);
        assert_eq!(policy.cwnd(), Bytes::new(10 * MSS), "twice what is in flight is less than what there is");
        let sample = policy.end_interval(ms(20), Bytes::new(8 * MSS));
        policy.act(&[1.0, 0.0], &sample);
        assert_eq!(policy.cwnd(), Bytes::new(16 * MSS));
        (0..9).for_each(|_| policy.act(&[-1.0, 0.0], &sample));
        assert_eq!(policy.cwnd(), Bytes::new(MSS));
    }

    #[test]
    fn a_rate_is_moved_once_there_is_an_rtt_and_the_window_holds_two_round_trips_of_it() {
        let mut policy = policy(PolicyConfig { moves: Moves::Rate, step: 1.0, ..PolicyConfig::default() });
        let sample = policy.end_interval(ms(10), Bytes::ZERO);
        policy.act(&[1.0, 0.0], &sample);
        assert_eq!((policy.cwnd(), policy.pacing_rate()), (Bytes::new(10 * MSS), None));
        ack(&mut policy, ms(15), MSS, 20);
        let sample = policy.end_interval(ms(20), Bytes::ZERO);
        policy.act(&[1.0, 0.0], &sample);
        // Ten segments in 20 ms are 4 Mb/s, and an action of 1 doubles them.
        assert_eq!(policy.pacing_rate(), Some(Rate::from_bps(8_000_000)));
        assert_eq!(policy.cwnd(), Bytes::new(40 * MSS));
    }

    #[test]
    fn losses_and_marks_move_nothing_but_a_timeout_leaves_one_segment() {
        let mut policy = policy(PolicyConfig::default());
        let event = |kind| CongestionEvent { now: ms(5), kind, in_flight: Bytes::new(9 * MSS) };
        policy.on_congestion(&event(CongestionKind::FastRetransmit));
        policy.on_congestion(&event(CongestionKind::EcnEcho));
        assert_eq!(policy.cwnd(), Bytes::new(10 * MSS));
        policy.on_congestion(&event(CongestionKind::Timeout { backoff: 0 }));
        assert_eq!(policy.cwnd(), Bytes::new(MSS));
        let sample = policy.end_interval(ms(10), Bytes::new(MSS));
        assert_eq!((sample.timeouts, sample.lost), (1, Bytes::new(9 * MSS)));
        policy.on_undo(ms(12));
        assert_eq!(policy.cwnd(), Bytes::new(10 * MSS), "the timeout was spurious");
    }

    #[test]
    fn an_observation_has_no_units_and_remembers_the_intervals_before() {
        let mut policy = policy(PolicyConfig { history: 2, ..PolicyConfig::default() });
        ack(&mut policy, ms(5), 5 * MSS, 20);
        policy.end_interval(ms(10), Bytes::new(5 * MSS));
        assert_eq!(observed(&policy, "queueing"), 0.0);
        assert_eq!(observed(&policy, "delivery"), 1.0, "the best so far");
        assert_eq!(observed(&policy, "in_flight"), 0.5);
        assert_eq!(observed(&policy, "rounds"), 0.5);
        assert_eq!(observed(&policy, "silence"), 0.25);
        // 4 Mb/s in 20 ms are 10 segments, which is the window.
        assert_eq!(observed(&policy, "excess"), 0.0);
        ack(&mut policy, ms(12), 6 * MSS, 30);
        policy.on_ack(&AckSample { newly_lost: Bytes::new(3 * MSS), marked: true, ..AckSample::at(ms(13)) });
        policy.end_interval(ms(20), Bytes::new(5 * MSS));
        assert_eq!(observed(&policy, "queueing"), 0.5);
        assert_eq!(observed(&policy, "loss"), 0.75);
        assert_eq!(observed(&policy, "marks"), 0.5);
        let delivery = observed(&policy, "delivery");
        assert!(
            (0.2..0.2003).contains(&delivery),
            "a fifth of the best, which fades by a thousandth: {delivery}"
        );
        assert_eq!(policy.observation()[FEATURES + 2], 1.0, "the interval before");
        policy.end_interval(ms(30), Bytes::new(5 * MSS));
        assert_eq!(observed(&policy, "queueing"), 0.5, "without a sample the last one stays");
    }

    #[test]
    fn intervals_of_acknowledgements_and_of_round_trips_end_as_they_are_counted() {
        let counting = |interval| policy(PolicyConfig { interval, ..PolicyConfig::default() });
        let mut of_acks = counting(Cadence::Acks(2));
        ack(&mut of_acks, ms(20), MSS, 20);
        assert!(!of_acks.is_due());
        ack(&mut of_acks, ms(21), 2 * MSS, 20);
        assert!(of_acks.is_due());
        let sample = of_acks.end_interval(ms(21), Bytes::ZERO);
        assert_eq!((sample.acks, sample.span, of_acks.is_due()), (2, Span::from_millis(21), false));
        let mut of_rounds = counting(Cadence::Rounds(1));
        for (millis, round) in [(20, 1), (21, 1), (40, 2)] {
            of_rounds.on_ack(&AckSample { round, ..AckSample::at(ms(millis)) });
            assert_eq!(of_rounds.is_due(), millis != 21, "{millis} ms");
            if of_rounds.is_due() {
                of_rounds.end_interval(ms(millis), Bytes::ZERO);
            }
        }
    }

    #[test]
    fn the_rate_of_a_few_acknowledgements_is_that_of_the_path_and_not_of_their_spacing() {
        let mut policy = policy(PolicyConfig { interval: Cadence::Acks(1), ..PolicyConfig::default() });
        // 4 Mb/s: ten segments in 20 ms. Their acknowledgements come in pairs, which are 0.1 ms apart.
        for (micros, delivered) in [(20_000, 1), (20_100, 2), (24_000, 3), (24_100, 4)] {
            let rate = RateSample {
                delivered: Bytes::new(10 * MSS),
                prior_delivered: Bytes::ZERO,
                interval: Span::from_millis(20),
                app_limited: false,
            };
            let now = Time::ZERO + Span::from_micros(micros);
            let delivered = Bytes::new(delivered * MSS);
            let (rate, rtt) = (Some(rate), Some(Span::from_millis(20)));
            policy.on_ack(&AckSample { delivered, rate, rtt, min_rtt: rtt, ..AckSample::at(now) });
            policy.end_interval(now, Bytes::ZERO);
            assert_eq!(observed(&policy, "excess"), 0.0, "the window is what the path holds");
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let fault = |config: PolicyConfig| config.check().unwrap_err().key;
        let sane = PolicyConfig::default();
        assert!(sane.check().is_ok());
        for nothing in [Cadence::Time(Span::ZERO), Cadence::Acks(0), Cadence::Rounds(0)] {
            assert_eq!(fault(PolicyConfig { interval: nothing, ..sane.clone() }), "interval");
        }
        assert_eq!(fault(PolicyConfig { step: f64::NAN, ..sane.clone() }), "step");
        assert_eq!(fault(PolicyConfig { history: 65, ..sane.clone() }), "history");
        let both = PolicyConfig { file: Some("a.npz".into()), custom: Some("b".into()), ..sane.clone() };
        assert_eq!(fault(both), "file");
        assert_eq!(fault(PolicyConfig { file: Some(String::new()), ..sane }), "file");
    }
}
