//! An application that is active and silent in turn.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, FASTEST, Part};
use varicap_units::{Bytes, JsonSchema, Pacer, Rate, Span, Stream, Time};

use crate::{Application, Feeding, Offer, Start};

/// Alternating active and silent periods, beginning with an active one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Length of an active period (the mean, if exponential).
    pub on: Span,
    /// Length of a silent period (the mean, if exponential).
    pub off: Span,
    /// Whether both lengths are exponentially distributed instead of fixed. Default: false.
    #[serde(default)]
    pub exponential: bool,
    /// Rate at which the application offers data while active. Default: always more to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl Part for OnOff {
    fn check(&self) -> Checked {
        part::positive("on", self.on)?;
        part::bounded("off", self.off)?;
        let Some(rate) = self.rate else { return Ok(()) };
        let good = rate > Rate::ZERO && rate <= FASTEST;
        part::require("rate", good, rate, format!("above 0, and at most {FASTEST}"))
    }

    fn draws(&self) -> bool {
        self.exponential
    }
}

impl Application for OnOff {
    type Feed = Box<OnOffFeed>;

    fn feed(&self, start: &Start<'_>) -> Box<OnOffFeed> {
        Box::new(OnOffFeed {
            config: *self,
            stream: (start.stream)(),
            is_on: false,
            until: start.at,
            next_write: Time::NEVER,
            chunk: start.mss,
            pacer: Pacer::default(),
        })
    }

    fn packets(&self, mss: f64, seconds: f64) -> f64 {
        match self.rate {
            Some(rate) => rate.as_bps() as f64 / 8.0 / mss * seconds,
            None => f64::INFINITY,
        }
    }

    fn actions(&self, mss: f64, seconds: f64) -> f64 {
        // No period is shorter than a nanosecond.
        let [on, off] = [self.on, self.off].map(|span| span.as_secs_f64().max(1e-9));
        let writes = self.rate.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0 / mss * on);
        (2.0 + writes) * seconds / (on + off)
    }
}

/// The periods of one connection.
#[derive(Debug)]
pub struct OnOffFeed {
    config: OnOff,
    stream: Stream,
    is_on: bool,
    /// The end of the present period.
    until: Time,
    /// The instant of the next write while active, if it writes at a rate.
    next_write: Time,
    /// The amount of each write, if it writes at a rate.
    chunk: Bytes,
    pacer: Pacer,
}

impl OnOffFeed {
    /// Ends the present period, and begins the next one at `now`.
    fn turn(&mut self, now: Time) -> Option<Offer> {
        self.is_on = !self.is_on;
        let mean = if self.is_on { self.config.on } else { self.config.off };
        let length = if self.config.exponential { self.stream.exponential_span(mean) } else { mean };
        self.until = now + length.max(Span::from_nanos(1));
        self.next_write = Time::NEVER;
        match (self.is_on, self.config.rate) {
            (false, _) => Some(Offer::Withdraw),
            (true, None) => Some(Offer::Write(Bytes::MAX)),
            (true, Some(_)) => {
                self.next_write = now;
                None
            }
        }
    }
}

impl Feeding for OnOffFeed {
    fn poll(&mut self, now: Time) -> Option<Offer> {
        if now >= self.until
            && let Some(offer) = self.turn(now)
        {
            return Some(offer);
        }
        if now < self.next_write {
            return None;
        }
        self.next_write = now + self.pacer.gap(self.config.rate?, self.chunk);
        Some(Offer::Write(self.chunk))
    }

    fn poll_at(&self) -> Time {
        self.until.min(self.next_write)
    }

    fn is_active(&self) -> bool {
        self.is_on
    }

    fn withdraws(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Streams;

    fn feed(rate: Option<Rate>) -> Box<OnOffFeed> {
        let (on, off) = (Span::from_millis(20), Span::from_millis(30));
        let stream = || Streams::new(1, 0).stream("app");
        let start = Start { at: Time::ZERO, mss: Bytes::new(1000), size: None, stream: &stream };
        OnOff { on, off, exponential: false, rate }.feed(&start)
    }

    #[test]
    fn without_a_rate_it_offers_everything_and_takes_back_the_rest() {
        let mut feed = feed(None);
        let mut seen = Vec::new();
        for _ in 0..3 {
            let now = feed.poll_at();
            while let Some(offer) = feed.poll(now) {
                seen.push((now.as_nanos() / 1_000_000, offer));
            }
        }
        let all = Offer::Write(Bytes::MAX);
        assert_eq!(seen, [(0, all), (20, Offer::Withdraw), (50, all)]);
    }

    #[test]
    fn with_a_rate_it_writes_a_packet_at_a_time() {
        let mut feed = feed(Some(Rate::from_bps(800_000))); // a packet in 10 ms
        let mut written = 0;
        while feed.poll_at() < Time::ZERO + Span::from_millis(50) {
            let now = feed.poll_at();
            while let Some(offer) = feed.poll(now) {
                written += u32::from(offer == Offer::Write(Bytes::new(1000)));
            }
        }
        assert_eq!(written, 2);
    }
}
