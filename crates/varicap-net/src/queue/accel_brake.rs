//! A queue that tells each sender to accelerate or to brake. Source: [goyal20, §3.1].
//!
//! The target rate is `eta mu - (mu / delta) (x - target)^+` for a capacity mu and a queueing delay x. Of the packets that
//! leave at rate cr, the fraction `f = min(1, target rate / (2 cr))` stays an accelerate, for each accelerate lets two
//! packets in for one: the rate of the next round trip is then the target rate. A bucket of tokens spreads them evenly.

use std::collections::VecDeque;

use varicap_units::{Bytes, Span, Time, Work};

use super::{Fifo, Limit, QueueDiscipline, Supply, Transmitter, Waiting};
use crate::{AccelBrakeConfig, Backlog, Frame, LossCause, Lost, Watch};

/// Most tokens: accelerates that may follow each other although the fraction is small.
const MOST_TOKENS: f64 = 5.0;

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
    pub fn new(config: &AccelBrakeConfig, limit: Limit) -> AccelBrake<F> {
        AccelBrake {
            fifo: Fifo::new(),
            limit,
            config: config.clone(),
            tokens: 1.0,
            left: VecDeque::new(),
            carried: Bytes::ZERO,
        }
    }

    /// From now on no more than `limit` may wait; what waits already stays.
    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
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
}
