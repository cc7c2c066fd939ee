//! Throughput advice at one connection: when its SCONE packets pass the network elements, and what it has received.

use varicap_net::SconeConfig;
use varicap_net::feedback::ReceivedAdvice;
use varicap_units::{Rate, Stream, Time};

/// The advice to one connection.
#[derive(Debug)]
pub(crate) struct Advised {
    scone: SconeConfig,
    /// When its next SCONE packet passes the network elements.
    asks_at: Time,
    /// Decides how long it is until the one after.
    gaps: Stream,
    received: ReceivedAdvice,
}

impl Advised {
    /// A connection that opens at `now`, and asks at once.
    pub fn new(now: Time, scone: SconeConfig, gaps: Stream) -> Advised {
        Advised { scone, asks_at: now, gaps, received: ReceivedAdvice::new(scone.period) }
    }

    /// The advice that its SCONE packet takes along at `now`, if one passes, where network elements have found `rate`.
    pub fn ask(&mut self, now: Time, rate: Rate) -> Option<Rate> {
        if now < self.asks_at {
            return None;
        }
        // An element that may not say more than its capacity says nothing where there is no limit.
        self.asks_at = now + self.scone.gap(&mut self.gaps);
        (!rate.is_unlimited()).then(|| self.scone.quantised(rate))
    }

    /// Advice of `rate` arrives at `now`; what holds from now on.
    pub fn hear(&mut self, now: Time, rate: Rate) -> Rate {
        self.received.push(now, rate);
        self.lowest().unwrap_or(rate)
    }

    /// Forgets what has expired by `now`; whether what holds has changed.
    pub fn expire(&mut self, now: Time) -> bool {
        self.received.expire(now)
    }

    /// The advice that holds, if any.
    pub fn lowest(&self) -> Option<Rate> {
        self.received.lowest()
    }

    /// When it asks or forgets next; before there is a rate to tell nothing is gained by asking.
    pub fn poll_at(&self, is_known: bool) -> Time {
        let asks_at = if is_known { self.asks_at } else { Time::NEVER };
        asks_at.min(self.received.expires_at())
    }
}
