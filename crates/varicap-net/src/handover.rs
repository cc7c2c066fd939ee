//! Handovers: capacity, delay and loss of a link that change together, again and again.
//!
//! ```text
//!   handover                          handover
//!      │ outage │ burst │                │
//!      └──0─────┴───────┴──── capacity ──┴──
//!      └──── one more delay, till here ──┘
//! ```
//!
//! One clock moves all three, each in the place that it has anyway: what the link offers is zero during the outage
//! ([`Interrupted`]), its delay grows by what the interval adds ([`Jumping`]), and what leaves the server soon after the
//! outage may be lost ([`Bursts`]). What an interval adds is drawn from one stream for all links of a run, since both
//! directions of a path are handed over together.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part, bounded, require};
use varicap_units::{JsonSchema, Probability, Rate, Span, Stream, Time};

use crate::capacity::{Capacity, CapacityParts, CapacityProcess, CapacitySegment};
use crate::delay::{Delay, DelayParts, DelayProcess, DelaySegment};
use crate::handover_phase::HandoverPhase;
use crate::loss::{Loss, LossParts};

/// Shortest time between handovers: shorter ones are more than the packets of any link.
const SHORTEST: Span = Span::from_micros(1);

/// Handovers from one satellite or cell to the next, at regular times. Each interrupts the link's capacity, changes its
/// delay and loses packets, on top of what `capacity`, `delay` and `loss` say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverConfig {
    /// Time from one handover to the next.
    pub period: Span,
    /// When the first handover begins: a time, or `random`. Default: after one period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<HandoverPhase>,
    /// For so long from its beginning nothing is sent: the capacity is zero. Default: 0 s.
    #[serde(default)]
    pub outage: Span,
    /// Each interval between handovers adds a delay of its own to that of the link, uniform from zero to this; links of
    /// a run that are handed over together draw alike. Default: 0 s.
    #[serde(default)]
    pub delay_spread: Span,
    /// Instead of random ones: the delays that intervals add, in turn, the first before the first handover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<Vec<Span>>,
    /// How long packets are lost at a handover: those that leave the server so soon after the outage. Default: 0 s.
    #[serde(default)]
    pub burst: Span,
    /// Probability that such a packet is lost. Default: 1.
    #[serde(default = "certain")]
    pub burst_loss: Probability,
}

fn certain() -> Probability {
    crate::channel::certain()
}

impl Part for HandoverConfig {
    fn check(&self) -> Checked {
        let HandoverConfig { period, outage, burst, .. } = self;
        require("period", *period >= SHORTEST, period, format!("at least {SHORTEST}"))?;
        bounded("period", *period)?;
        if let Some(HandoverPhase::FirstAt(phase)) = self.phase {
            bounded("phase", phase)?;
        }
        require("outage", outage < period, outage, format!("less than `period`, {period}"))?;
        let left = period.saturating_sub(*outage);
        require(
            "burst",
            *burst <= left,
            burst,
            format!("at most {left}, what the outage leaves of `period`"),
        )?;
        bounded("delay_spread", self.delay_spread)?;
        let Some(delays) = &self.delays else { return Ok(()) };
        require("delays", !delays.is_empty(), "empty", "at least one delay")?;
        require("delays", self.delay_spread == Span::ZERO, "a list", "nothing beside `delay_spread`")?;
        let mut numbered = delays.iter().enumerate();
        numbered.try_for_each(|(index, delay)| bounded(&format!("delays.{index}"), *delay))
    }

    fn draws(&self) -> bool {
        let moves = self.delays.is_none() && self.delay_spread > Span::ZERO;
        let loses = self.burst > Span::ZERO && self.burst_loss.draws();
        self.phase == Some(HandoverPhase::Random) || moves || loses
    }
}

impl HandoverConfig {
    fn clock(&self) -> Clock {
        let (first, is_random) = match self.phase {
            Some(HandoverPhase::FirstAt(phase)) => (phase, false),
            Some(HandoverPhase::Random) => (self.period, true),
            None => (self.period, false),
        };
        Clock { first: Time::ZERO + first, period: self.period, is_random }
    }

    /// `capacity` with the outages of these handovers.
    pub fn interrupt(&self, capacity: CapacityParts) -> CapacityParts {
        let outages = Outages { clock: self.clock(), length: self.outage };
        if self.outage == Span::ZERO { capacity } else { capacity.interrupted(outages) }
    }

    /// `delay` with what the intervals between these handovers add.
    pub fn move_delay(&self, delay: DelayParts) -> DelayParts {
        let added = match &self.delays {
            Some(delays) => Added::InTurn(delays.as_slice().into()),
            None if self.delay_spread == Span::ZERO => return delay,
            None => Added::Uniform(self.delay_spread),
        };
        DelayParts::HandedOver(Arc::new(HandedOver { delay, clock: self.clock(), added }))
    }

    /// `loss` with the bursts of these handovers.
    pub fn burst(&self, loss: LossParts) -> LossParts {
        if self.burst == Span::ZERO || self.burst_loss.get() == 0.0 {
            return loss;
        }
        let HandoverConfig { outage, burst, burst_loss, .. } = *self;
        LossParts::Bursts(Arc::new(Bursts {
            loss,
            clock: self.clock(),
            outage,
            burst,
            probability: burst_loss,
        }))
    }
}

/// The instants of handovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    first: Time,
    period: Span,
    /// Whether each run draws the first one.
    is_random: bool,
}

impl Clock {
    /// The clock of a run that draws from `stream`; nothing if there is nothing to draw.
    pub(crate) fn drawn(self, mut stream: Stream) -> Option<Clock> {
        if !self.is_random {
            return None;
        }
        let first = Time::ZERO + Span::from_nanos(stream.below(self.period.as_nanos()));
        Some(Clock { first, ..self })
    }

    /// How many handovers have begun by `at`.
    fn begun(self, at: Time) -> u64 {
        if at < self.first { 0 } else { 1 + (at - self.first).as_nanos() / self.period.as_nanos() }
    }

    /// When handover number `number` begins, the first being 0.
    fn begins(self, number: u64) -> Time {
        self.first + self.period.saturating_mul(number)
    }

    /// Time since the last handover at `at`; none before the first.
    fn since_last(self, at: Time) -> Option<Span> {
        self.begun(at).checked_sub(1).map(|last| at - self.begins(last))
    }
}

/// Times at which nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outages {
    pub(crate) clock: Clock,
    length: Span,
}

impl Outages {
    /// Until when the outage lasts in which `at` lies; none if it lies in none.
    pub fn until(&self, at: Time) -> Option<Time> {
        let since = self.clock.since_last(at).filter(|since| *since < self.length)?;
        Some(at + (self.length - since))
    }

    /// When the next outage begins after `at`.
    fn next(&self, at: Time) -> Time {
        self.clock.begins(self.clock.begun(at))
    }

    /// The share of a rate that is left in the long run.
    pub fn thin(&self, rate: Rate) -> Rate {
        if rate.is_unlimited() {
            return rate;
        }
        let (whole, out) = (self.clock.period.as_nanos(), self.length.as_nanos());
        let left = u128::from(rate.as_bps()) * u128::from(whole - out);
        Rate::from_bps(((left + u128::from(whole) / 2) / u128::from(whole)) as u64)
    }
}

/// A capacity with outages.
#[derive(Clone, Debug)]
pub struct InterruptedParts {
    /// The capacity between them.
    pub capacity: CapacityParts,
    /// When it is zero.
    pub outages: Outages,
}

/// A path of rates with outages.
#[derive(Debug)]
pub struct Interrupted {
    path: Capacity,
    outages: Outages,
}

impl Interrupted {
    /// The path of `parts` between whose outages `stream` draws.
    pub fn new(parts: &InterruptedParts, stream: Stream) -> Interrupted {
        Interrupted { path: Capacity::new(&parts.capacity, stream), outages: parts.outages }
    }
}

impl CapacityProcess for Interrupted {
    fn segment(&mut self, now: Time) -> CapacitySegment {
        if let Some(until) = self.outages.until(now) {
            return CapacitySegment { rate: Rate::ZERO, until };
        }
        let CapacitySegment { rate, until } = self.path.segment(now);
        CapacitySegment { rate, until: until.min(self.outages.next(now)) }
    }
}

/// The delays that intervals between handovers add.
#[derive(Clone, Debug)]
enum Added {
    /// Uniform from zero to this, another one for each interval.
    Uniform(Span),
    /// These in turn.
    InTurn(Arc<[Span]>),
}

/// A delay that handovers move.
#[derive(Clone, Debug)]
pub struct HandedOver {
    delay: DelayParts,
    pub(crate) clock: Clock,
    added: Added,
}

impl HandedOver {
    /// The same by another clock.
    pub(crate) fn with(&self, clock: Clock) -> HandedOver {
        HandedOver { clock, ..self.clone() }
    }

    /// The delay without handovers.
    pub fn delay(&self) -> &DelayParts {
        &self.delay
    }

    /// Long-run mean.
    pub fn mean(&self) -> Span {
        let added = match &self.added {
            Added::Uniform(spread) => spread.as_nanos() / 2,
            Added::InTurn(delays) => {
                let sum: u128 = delays.iter().map(|delay| u128::from(delay.as_nanos())).sum();
                (sum / delays.len() as u128) as u64
            }
        };
        self.delay.mean() + Span::from_nanos(added)
    }

    /// The least that it can be.
    pub fn least(&self) -> Span {
        let added = match &self.added {
            Added::Uniform(_) => Span::ZERO,
            Added::InTurn(delays) => delays.iter().min().copied().unwrap_or_default(),
        };
        self.delay.least() + added
    }
}

/// A path of delays that handovers move.
#[derive(Debug)]
pub struct Jumping {
    path: Delay,
    clock: Clock,
    added: Added,
    /// The delay that the present interval adds, and how many handovers have been before it.
    now: Span,
    interval: u64,
    stream: Stream,
}

impl Jumping {
    /// The path of `parts` along `path`; `stream` draws what intervals add.
    pub fn new(parts: &HandedOver, path: Delay, stream: Stream) -> Jumping {
        let (clock, added) = (parts.clock, parts.added.clone());
        let mut jumping = Jumping { path, clock, added, now: Span::ZERO, interval: 0, stream };
        jumping.draw();
        jumping
    }

    fn draw(&mut self) {
        self.now = match &self.added {
            Added::Uniform(spread) => self.stream.uniform_span(*spread),
            Added::InTurn(delays) => delays[(self.interval % delays.len() as u64) as usize],
        };
    }
}

impl DelayProcess for Jumping {
    fn segment(&mut self, now: Time) -> DelaySegment {
        let begun = self.clock.begun(now);
        while self.interval < begun {
            self.interval += 1;
            self.draw();
        }
        let DelaySegment { delay, until } = self.path.segment(now);
        DelaySegment { delay: delay + self.now, until: until.min(self.clock.begins(begun)) }
    }
}

/// A loss with bursts at handovers.
#[derive(Clone, Debug)]
pub struct Bursts {
    loss: LossParts,
    pub(crate) clock: Clock,
    outage: Span,
    burst: Span,
    probability: Probability,
}

impl Bursts {
    /// The same by another clock.
    pub(crate) fn with(&self, clock: Clock) -> Bursts {
        Bursts { clock, ..self.clone() }
    }

    /// The loss without handovers.
    pub fn loss(&self) -> &LossParts {
        &self.loss
    }

    /// Long-run share of what is sent that is lost, if it is sent at random instants at which there is no outage.
    pub fn mean(&self) -> f64 {
        let sent = (self.clock.period - self.outage).as_secs_f64();
        let burst = self.burst.as_secs_f64() / sent * self.probability.get();
        1.0 - (1.0 - self.loss.mean()) * (1.0 - burst)
    }
}

/// The loss of one direction of a link with bursts at handovers.
#[derive(Clone, Debug)]
pub struct Bursting {
    /// The loss without them.
    pub loss: Loss,
    parts: Arc<Bursts>,
    stream: Stream,
}

impl Bursting {
    /// `loss` with the bursts of `parts`; `stream` draws what they lose.
    pub fn new(parts: &Arc<Bursts>, loss: Loss, stream: Stream) -> Bursting {
        Bursting { loss, parts: parts.clone(), stream }
    }

    /// Whether a burst loses what is through at `end`.
    pub fn loses(&mut self, end: Time) -> bool {
        let Bursts { clock, outage, burst, probability, .. } = &*self.parts;
        let since = clock.since_last(end).and_then(|since| since.as_nanos().checked_sub(outage.as_nanos()));
        since.is_some_and(|since| since < burst.as_nanos()) && self.stream.chance(probability.get())
    }
}
