//! Transfers that arrive at random, each on a connection of its own.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Bytes, Frequency, JsonSchema, Span, Stream, Streams, Time, stream_name};

use crate::transfer::packets_of;
use crate::{Application, Sizes, Start, Whole};

/// Transfers that arrive at random (Poisson), each on its own connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Mean number of transfers that arrive per second.
    pub rate: Frequency,
    /// Sizes of the transfers.
    pub size: Sizes,
    /// Maximum number of transfers at a time; further ones are turned away, and counted in `refused_transfers`. Default: 1000.
    #[serde(default = "at_most")]
    pub at_most: u32,
}

fn at_most() -> u32 {
    1000
}

impl Part for Arrivals {
    fn check(&self) -> Checked {
        let hz = self.rate.as_hz();
        part::require("rate", hz > 0.0 && hz <= 1e9, self.rate, "above 0 /s, and at most 1e9 /s")?;
        part::at_least_one("at_most", self.at_most)?;
        self.size.check().map_err(|fault| fault.within("size"))
    }

    fn draws(&self) -> bool {
        true
    }
}

impl Application for Arrivals {
    type Feed = Whole;

    fn feed(&self, start: &Start<'_>) -> Whole {
        debug_assert!(start.size.is_some(), "the size of a transfer is drawn when it arrives");
        Whole::new(start.size.unwrap_or_default(), start.at)
    }

    fn packets(&self, mss: f64, seconds: f64) -> f64 {
        self.rate.as_hz() * seconds * packets_of(self.size.mean(), mss)
    }
}

/// The arrivals of a flow group in time: when the next transfer arrives, its size, and whether it is admitted.
#[derive(Debug)]
pub struct TransferArrivals {
    config: Arrivals,
    stop: Time,
    times: Stream,
    draws: Stream,
    next: Time,
    active: u32,
}

impl TransferArrivals {
    /// The arrivals of the flow group called `name`, from `start` until before `stop`.
    pub fn new(
        config: &Arrivals,
        name: &str,
        start: Time,
        stop: Time,
        streams: &Streams,
    ) -> TransferArrivals {
        let mut arrivals = TransferArrivals {
            config: *config,
            stop,
            times: streams.stream(&stream_name::arrivals(name)),
            draws: streams.stream(&stream_name::sizes(name)),
            next: start,
            active: 0,
        };
        arrivals.schedule(start);
        arrivals
    }

    /// The instant at which the next transfer arrives.
    pub fn poll_at(&self) -> Time {
        self.next
    }

    /// The size of the transfer that arrives now, or `None` if it is turned away because too many are under way.
    pub fn arrive(&mut self, now: Time) -> Option<Bytes> {
        debug_assert!(now >= self.next, "no transfer arrives before {:?}", self.next);
        // Drawn in any case: whether one is turned away must not shift the sizes of the others.
        let size = self.config.size.draw(&mut self.draws);
        self.schedule(now);
        if self.active >= self.config.at_most {
            return None;
        }
        self.active += 1;
        Some(size)
    }

    /// Notes that a transfer that arrived earlier is over.
    pub fn on_over(&mut self) {
        debug_assert!(self.active > 0, "more transfers are over than have begun");
        self.active -= 1;
    }

    fn schedule(&mut self, now: Time) {
        let hz = self.config.rate.as_hz();
        self.next =
            if hz > 0.0 { now + Span::from_secs_f64(self.times.exponential(1.0 / hz)) } else { Time::NEVER };
        if self.next >= self.stop {
            self.next = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_arrival_does_not_shift_the_sizes_of_others() {
        let app = Arrivals {
            rate: Frequency::from_hz(10.0).unwrap(),
            size: Sizes::Exponential(Bytes::new(1000)),
            at_most: 1,
        };
        let sizes = |keep: bool| {
            let streams = Streams::new(1, 0);
            let mut arrivals = TransferArrivals::new(&app, "web", Time::ZERO, Time::NEVER, &streams);
            let mut seen = Vec::new();
            for _ in 0..10 {
                let now = arrivals.poll_at();
                seen.push((now, arrivals.arrive(now)));
                if !keep {
                    arrivals.on_over();
                }
            }
            seen
        };
        let (all, first) = (sizes(false), sizes(true));
        assert_eq!(all[0], first[0]);
        assert!(first[1..].iter().all(|(_, size)| size.is_none()));
        assert!(all.iter().zip(&first).all(|(a, b)| a.0 == b.0));
    }
}
