//! A queue that has each sender accelerate or brake. Source: [goyal20, §3.1].
//!
//! The target rate is `eta mu - (mu / delta) (x - target)^+` for a capacity mu and a queueing delay x. Of the packets that
//! leave at rate cr, the fraction `f = min(1, target rate / (2 cr))` stays an accelerate, since each accelerate lets two
//! packets in for one: the rate of the next round trip is then the target rate. A bucket of tokens spreads them evenly.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Span, Time, Work};

use super::{Fifo, Limit, QueueDiscipline, QueuePart, Site, Supply, Transmitter, Waiting};
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};

/// Most tokens: accelerates that may follow each other although the fraction is small.
const MOST_TOKENS: f64 = 5.0;

/// Accel-Brake Control at the bottleneck: brakes are CE marks, so that only ECN-capable packets get any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccelBrakeConfig {
    /// Hard limit of the queue. Default: 250 packets ([goyal20, §6]).
    pub limit: Amount,
    /// Which part of the capacity is the target rate while the queue is short (eta). Default: 0.98 ([goyal20, §6]).
    pub eta: f64,
    /// Queueing delay that is left alone (d_t). Default: 20 ms.
    pub target: Span,
    /// In which time more than that is to drain (delta); stable above two thirds of the round trip ([goyal20, §3.1.4]).
    /// Default: 133 ms ([goyal20, §6]).
    pub delta: Span,
    /// Over which the rate of departures is measured. Default: 50 ms.
    pub window: Span,
}

impl Default for AccelBrakeConfig {
    fn default() -> AccelBrakeConfig {
        AccelBrakeConfig {
            limit: Amount::Packets(250),
            eta: 0.98,
            target: Span::from_millis(20),
            delta: Span::from_millis(133),
            window: Span::from_millis(50),
        }
    }
}

impl Part for AccelBrakeConfig {
    fn check(&self) -> Checked {
        part::amount("limit", self.limit)?;
        part::require("eta", self.eta > 0.0 && self.eta <= 1.0, self.eta, "above 0, and at most 1")?;
        part::bounded("target", self.target)?;
        part::positive("delta", self.delta)?;
        part::positive("window", self.window)
    }
}

impl QueuePart for AccelBrakeConfig {
    fn limit(&self) -> Amount {
        self.limit
    }

    /// Its target rate follows the capacity of the whole link.
    fn may_be_inside(&self) -> bool {
        false
    }
}

/// A queue of accelerates and brakes; a brake is a frame that is marked CE.
#[derive(Debug)]
pub struct AccelBrake<F> {
    fifo: Fifo<F>,
    limit: Limit,
    config: AccelBrakeConfig,
    tokens: f64,
    /// Frames that left within the window: when, their sizes, and what opportunities had offered by then.
    left: VecDeque<Departure>,
    /// Sum of their sizes [B].
    carried: Bytes,
}

#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Time,
    size: Bytes,
    offered: Work,
}

impl<F: Frame> AccelBrake<F> {
    /// An empty queue.
    pub fn new(config: &AccelBrakeConfig, site: &Site<'_>) -> AccelBrake<F> {
        AccelBrake {
            fifo: Fifo::new(),
            limit: site.limit(config.limit),
            config: config.clone(),
            tokens: 1.0,
            left: VecDeque::new(),
            carried: Bytes::ZERO,
        }
    }

    /// The fraction of accelerates now that a frame of `size` leaves after `delay`.
    fn fraction(&mut self, now: Time, size: Bytes, delay: Span, supply: Supply) -> f64 {
        let offered = supply.offered.unwrap_or_default();
        while let Some(first) = self.left.front()
            && first.at + self.config.window <= now
        {
            self.carried -= first.size;
            self.left.pop_front();
        }
        let first = self.left.front().copied().unwrap_or(Departure { at: now, size, offered });
        self.left.push_back(Departure { at: now, size, offered });
        self.carried += size;
        let span = now.since(first.at).as_secs_f64();
        if span <= 0.0 {
            return 1.0;
        }
        // From the first departure on, which itself does not count: one interval for each of the others.
        let leaving = (self.carried - first.size).as_u64() as f64 * 8.0 / span;
        let capacity = match supply.offered {
            Some(_) => (offered - first.offered).as_bits_f64() / span,
            None if supply.rate.is_unlimited() => return 1.0,
            None => supply.rate.as_bps() as f64,
        };
        let excess = delay.as_secs_f64() - self.config.target.as_secs_f64();
        let drain = excess.max(0.0) / self.config.delta.as_secs_f64();
        let target = capacity * (self.config.eta - drain);
        (target / (2.0 * leaving)).clamp(0.0, 1.0)
    }
}

impl<F: Frame> QueueDiscipline<F> for AccelBrake<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, _transmitter: Transmitter, watch: &mut W) {
        if self.limit.admits(self.fifo.backlog(), frame.wire_size()) {
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        let mut next = self.fifo.pop()?;
        let size = supply.framing.framed(next.frame.wire_size());
        let fraction = self.fraction(now, size, now.since(next.arrived), supply);
        self.tokens = (self.tokens + fraction).min(MOST_TOKENS);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
        } else if next.frame.mark_ce() {
            watch.on_mark(now, &next.frame);
        }
        Some(next)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
