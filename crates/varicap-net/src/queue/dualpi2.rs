//! DualPI2: a queue of low latency beside a classic one, coupled. Source: RFC 9332, with the pseudo-code of its appendix A.
//!
//! ECT(1) and CE go into the L queue, all else into the C queue. A proportional integral controller of the queueing delay sets the
//! base probability p'. The C queue drops or marks with p'^2, the L queue marks with k p' or as its own ramp says, whichever
//! is more. As the rate of a classic flow is inversely proportional to the square root of its loss rate, and that
//! of a scalable one to its marking rate itself, flows of both queues get about the same. A scheduler serves the L queue first, within limits.
//!
//! A link has no timers of its own, so updates of p' are caught up with at the next arrival or departure, each as of its own
//! instant, like those of `pie`. Probabilities are carried out evenly, not by chance (`recur` in appendix A.1).

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Probability, Span, Time};

use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, TransmitterState, Waiting};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// Greatest coupling factor.
const MOST_COUPLING: f64 = 10.0;
/// RFC 9332 appendix A.1: gains of the controller from the largest round trip, `alpha = 0.1 Tupdate / RTT_max^2` and
/// `beta = 0.3 / RTT_max`, and the longest time between two updates, `RTT_max / 3`.
const ALPHA: f64 = 0.1;
const BETA: f64 = 0.3;
const UPDATES_PER_RTT: u64 = 3;
/// Shortest time between two updates.
const SHORTEST_UPDATE: Span = Span::from_micros(100);

/// DualPI2: a queue of low latency for ECT(1) and CE beside a classic one for all else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Config {
    /// Limit of what waits in both queues together. Default: 10000 packets (Linux; RFC 9332: 250 ms at the fastest rate).
    pub limit: Amount,
    /// Delay that the controller aims at in the classic queue. Default: 15 ms.
    pub target: Span,
    /// Longest round trip for which the controller is to be stable (RTT_max): it sets its gains. Default: 100 ms.
    pub max_rtt: Span,
    /// Coupling factor k: by how much the marking probability of the L queue exceeds the base probability. Default: 2.
    pub coupling: f64,
    /// Delay in the L queue from which on its own ramp marks (minTh). Default: 800 us.
    pub ramp_from: Span,
    /// Over how much more delay the ramp rises to certainty (range); 0 s: a step. Default: 400 us.
    pub ramp: Span,
    /// The amount that the L queue may hold without being marked by its own ramp (Th_len), at least 0 packets. Default: 1 packets.
    pub unmarked: Amount,
    /// Which queue is served. Default: wrr.
    pub scheduler: DualScheduler,
    /// `wrr`: the share of the C queue while both have packets waiting. Default: 0.0625.
    pub classic_share: Probability,
    /// `time-shifted-fifo`: how much earlier a packet of the L queue counts as arrived. Default: twice the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_shift: Option<Span>,
}

/// How DualPI2 chooses between its queues. Source: RFC 9332 §4.1, appendix A.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DualScheduler {
    /// Weighted round robin of bytes, with a small share for the C queue.
    #[default]
    Wrr,
    /// Whose first packet came first, with those of the L queue taken as older than they are.
    TimeShiftedFifo,
}

impl Default for DualPi2Config {
    fn default() -> DualPi2Config {
        DualPi2Config {
            limit: Amount::Packets(10_000),
            target: Span::from_millis(15),
            max_rtt: Span::from_millis(100),
            coupling: 2.0,
            ramp_from: Span::from_micros(800),
            ramp: Span::from_micros(400),
            unmarked: Amount::Packets(1),
            scheduler: DualScheduler::Wrr,
            classic_share: Probability::new(1.0 / 16.0).unwrap_or_default(),
            time_shift: None,
        }
    }
}

impl DualPi2Config {
    /// Tupdate = min(target, RTT_max / 3).
    fn update(&self) -> Span {
        self.target.min(self.max_rtt / UPDATES_PER_RTT)
    }
}

impl Part for DualPi2Config {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)?;
        part::positive("target", self.target)?;
        part::positive("max_rtt", self.max_rtt)?;
        // Updates are caught up with one by one.
        part::require("target", self.target >= SHORTEST_UPDATE, self.target, "100 us or more")?;
        let good = self.max_rtt / UPDATES_PER_RTT >= SHORTEST_UPDATE;
        part::require("max_rtt", good, self.max_rtt, "300 us or more")?;
        let good = self.coupling > 0.0 && self.coupling <= MOST_COUPLING;
        let expected = format!("above 0, and at most {MOST_COUPLING}");
        part::require("coupling", good, self.coupling, expected)?;
        part::bounded("ramp_from", self.ramp_from)?;
        part::bounded("ramp", self.ramp)?;
        if !matches!(self.unmarked, Amount::Packets(0)) {
            part::amount("unmarked", self.unmarked)?;
        }
        let share = self.classic_share.get();
        part::require("classic_share", share > 0.0 && share < 1.0, share, "above 0, and below 1")?;
        self.time_shift.map_or(Ok(()), |shift| part::bounded("time_shift", shift))
    }
}

impl QueuePart for DualPi2Config {
    fn limit(&self) -> Amount {
        self.limit
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        vec![("unmarked", self.unmarked)]
    }
}

/// One of the two queues.
#[derive(Debug)]
struct Half<F> {
    fifo: Fifo<F>,
    /// The count that `recur` has gathered.
    count: f64,
}

impl<F: Frame> Half<F> {
    fn new() -> Half<F> {
        Half { fifo: Fifo::new(), count: 0.0 }
    }

    /// How long its first frame has waited; zero if none waits.
    fn time(&self, now: Time) -> Span {
        self.fifo.first().map_or(Span::ZERO, |first| now.since(first.arrived))
    }

    fn is_empty(&self) -> bool {
        self.fifo.backlog().frames == 0
    }

    /// RFC 9332 appendix A.1, recur: true as often as the likelihood says, evenly.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let is_due = self.count > 1.0;
        if is_due {
            self.count -= 1.0;
        }
        is_due
    }
}

/// Two coupled queues.
#[derive(Debug)]
pub struct DualPi2<F> {
    low: Half<F>,
    classic: Half<F>,
    limit: Limit,
    config: DualPi2Config,
    /// The amount that the L queue may hold without its own marks.
    unmarked: Limit,
    time_shift: Span,
    /// Gains per update [1/s].
    alpha: f64,
    beta: f64,
    update: Span,
    next_update: Time,
    /// p', and the delay at the last update.
    base: f64,
    old_delay: Span,
    /// The credit with which the C queue may send before the L queue has its turn, in bytes times shares.
    credit: f64,
}

/// The fate of a frame that leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl<F: Frame> DualPi2<F> {
    /// Empty queues, whose first update is due one period after time zero.
    pub fn new(config: &DualPi2Config, site: &Site<'_>) -> DualPi2<F> {
        let (update, max_rtt) = (config.update(), config.max_rtt.as_secs_f64());
        DualPi2 {
            low: Half::new(),
            classic: Half::new(),
            limit: site.limit(config.limit),
            unmarked: site.limit(config.unmarked),
            time_shift: config.time_shift.unwrap_or(config.target * 2),
            alpha: ALPHA * update.as_secs_f64() / (max_rtt * max_rtt),
            beta: BETA / max_rtt,
            update,
            next_update: Time::ZERO + update,
            base: 0.0,
            old_delay: Span::ZERO,
            credit: 0.0,
            config: config.clone(),
        }
    }

    /// The base probability p' as of the last update that has been caught up with.
    pub fn base_probability(&self) -> f64 {
        self.base
    }

    /// Makes the updates that are due by `now`, each as of its own instant.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            self.update(self.next_update);
            self.next_update += self.update;
            if self.is_settled() && self.next_update <= now {
                let rest = now.since(self.next_update).as_nanos();
                self.next_update += Span::from_nanos(rest - rest % self.update.as_nanos());
            }
        }
    }

    /// Whether further updates change nothing as long as nothing comes or goes: empty queues, or such that only grow older.
    fn is_settled(&self) -> bool {
        let is_empty = self.low.is_empty() && self.classic.is_empty();
        let rests = is_empty && self.base == 0.0 && self.old_delay == Span::ZERO;
        rests || !is_empty && self.base == 1.0 && self.old_delay >= self.config.target
    }

    /// RFC 9332 appendix A.1 and A.2, dualpi2_update, with the greater of both delays (A.2).
    fn update(&mut self, at: Time) {
        let delay = self.classic.time(at).max(self.low.time(at));
        let [now, old, target] =
            [delay, self.old_delay, self.config.target].map(|span: Span| span.as_secs_f64());
        self.base = (self.base + self.alpha * (now - target) + self.beta * (now - old)).clamp(0.0, 1.0);
        self.old_delay = delay;
    }

    /// RFC 9332 appendix A.1, laqm: the native ramp of the L queue, for a frame that has waited for `delay`.
    fn ramp(&self, delay: Span) -> f64 {
        let Backlog { frames, bytes } = self.low.fifo.backlog();
        if u64::from(frames) < self.unmarked.frames && bytes < self.unmarked.bytes {
            // Th_len: of the packets that were there, this one included, no more than that many.
            return 0.0;
        }
        let above = delay.saturating_sub(self.config.ramp_from);
        if above >= self.config.ramp && above > Span::ZERO {
            1.0
        } else {
            above.as_nanos() as f64 / self.config.ramp.as_nanos().max(1) as f64
        }
    }

    /// RFC 9332 appendix A.2: what becomes of a frame from the L queue. Beyond saturation, where marks can say no more, it is
    /// dropped as a classic one would be.
    fn judge_low(&mut self, delay: Span) -> Verdict {
        let coupled = self.config.coupling * self.base;
        if coupled < 1.0 {
            let likelihood = self.ramp(delay).max(coupled);
            return if self.low.recur(likelihood) { Verdict::Mark } else { Verdict::Pass };
        }
        if self.low.recur(self.base * self.base) { Verdict::Drop } else { Verdict::Mark }
    }

    /// RFC 9332 appendix A.1 and A.2: what becomes of a frame from the C queue. Overload disables marks (p_Cmax = 1 / k^2).
    fn judge_classic(&mut self, frame: &F) -> Verdict {
        let likelihood = self.base * self.base;
        if !self.classic.recur(likelihood) {
            return Verdict::Pass;
        }
        let most = (1.0 / (self.config.coupling * self.config.coupling)).min(1.0);
        if frame.codepoint().is_capable() && likelihood < most { Verdict::Mark } else { Verdict::Drop }
    }

    /// Whether the L queue is served next; one of both has frames.
    fn serves_low(&self, now: Time) -> bool {
        if self.low.is_empty() || self.classic.is_empty() {
            return self.classic.is_empty();
        }
        match self.config.scheduler {
            DualScheduler::Wrr => self.credit <= 0.0,
            DualScheduler::TimeShiftedFifo => self.low.time(now) + self.time_shift >= self.classic.time(now),
        }
    }

    /// Takes the next frame, whichever queue it comes from; `true` if that is the L queue.
    fn take(&mut self, now: Time) -> Option<(Waiting<F>, bool)> {
        let is_low = self.serves_low(now);
        let waiting = if is_low { self.low.fifo.pop() } else { self.classic.fifo.pop() }?;
        Some((waiting, is_low))
    }

    /// A frame of `size` goes on, from the L queue if it `is_low`: at the other's expense, as far as that has packets. What
    /// is owed lasts until both queues are empty, so that one packet at a time gets no more than its share.
    fn charge(&mut self, size: Bytes, is_low: bool) {
        let (size, share) = (size.as_u64() as f64, self.config.classic_share.get());
        match (is_low, self.low.is_empty(), self.classic.is_empty()) {
            (_, true, true) => self.credit = 0.0,
            (true, _, false) => self.credit += size * share,
            (false, false, _) => self.credit -= size * (1.0 - share),
            _ => {}
        }
    }
}

impl<F: Frame> QueueDiscipline<F> for DualPi2<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        self.catch_up(now);
        let waiting = self.backlog();
        let is_free = transmitter.state == TransmitterState::Free && waiting.frames == 0;
        if !is_free && !self.limit.admits(waiting, frame.wire_size()) {
            return watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
        // RFC 9332 §4.2, appendix A.1: ECT(1) and CE.
        let half = if frame.codepoint().is_l4s() { &mut self.low } else { &mut self.classic };
        half.fifo.push(now, frame);
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, _supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        self.catch_up(now);
        while let Some((mut waiting, is_low)) = self.take(now) {
            let verdict = if is_low {
                self.judge_low(now.since(waiting.arrived))
            } else {
                self.judge_classic(&waiting.frame)
            };
            match verdict {
                Verdict::Drop => {
                    watch.on_lost(Lost { at: now, cause: LossCause::Aqm, frame: waiting.frame });
                    continue;
                }
                Verdict::Mark if waiting.frame.mark_ce() => watch.on_mark(now, &waiting.frame),
                Verdict::Mark | Verdict::Pass => {}
            }
            self.charge(waiting.frame.wire_size(), is_low);
            return Some(waiting);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        let (low, classic) = (self.low.fifo.backlog(), self.classic.fifo.backlog());
        Backlog { frames: low.frames + classic.frames, bytes: low.bytes + classic.bytes }
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
