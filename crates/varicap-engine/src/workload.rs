//! What applications offer to TCP, and when: the random side of a flow.

use varicap_experiment::ReservationSpec;
use varicap_experiment::scenario::{Datagrams, OnOff, Sizes, Spacing};
use varicap_net::capacity::Steps;
use varicap_net::{CapacityParts, CapacityProcess, CapacitySegment};
use varicap_units::{Bytes, Frequency, Rate, Span, Stream, Streams, Time, TokenBucket, stream_name};

/// Draws a size from a distribution; at least one byte.
pub fn draw_size(sizes: &Sizes, stream: &mut Stream) -> Bytes {
    let bytes = match *sizes {
        Sizes::Fixed(size) => return size,
        Sizes::Exponential(mean) => stream.exponential(mean.as_u64() as f64),
        Sizes::Lognormal(ref law) => {
            // E exp(m + s Z) = exp(m + s^2/2): the location that gives the stated mean.
            let location = libm::log(law.mean.as_u64() as f64) - law.sigma * law.sigma / 2.0;
            libm::exp(location + law.sigma * stream.normal())
        }
        Sizes::Pareto(ref law) => {
            // Mean = least * shape / (shape - 1).
            let least = law.mean.as_u64() as f64 * (law.shape - 1.0) / law.shape;
            least * libm::pow(1.0 - stream.uniform(), -1.0 / law.shape)
        }
    };
    Bytes::new((bytes + 0.5) as u64).max(Bytes::new(1))
}

/// Poisson arrivals of transfers.
#[derive(Debug)]
pub struct Arrivals {
    rate: Frequency,
    sizes: Sizes,
    at_most: u32,
    stop: Time,
    times: Stream,
    draws: Stream,
    next: Time,
    /// Transfers under way.
    pub active: u32,
    /// Transfers turned away because `at_most` were under way.
    pub refused: u64,
}

impl Arrivals {
    /// Arrivals from `start` on, with the streams `flow.NAME.arrivals` and `flow.NAME.sizes`.
    pub fn new(
        app: &varicap_experiment::scenario::Arrivals,
        name: &str,
        start: Time,
        stop: Time,
        streams: &Streams,
    ) -> Arrivals {
        let mut arrivals = Arrivals {
            rate: app.rate,
            sizes: app.size,
            at_most: app.at_most,
            stop,
            times: streams.stream(&stream_name::arrivals(name)),
            draws: streams.stream(&stream_name::sizes(name)),
            next: start,
            active: 0,
            refused: 0,
        };
        arrivals.schedule(start);
        arrivals
    }

    /// When the next transfer arrives.
    pub fn poll_at(&self) -> Time {
        self.next
    }

    /// The size of the transfer that arrives now, or `None` if it is turned away.
    pub fn arrive(&mut self, now: Time) -> Option<Bytes> {
        // Drawn in any case: whether one is turned away must not shift the sizes of the others.
        let size = draw_size(&self.sizes, &mut self.draws);
        self.schedule(now);
        if self.active >= self.at_most {
            self.refused += 1;
            return None;
        }
        self.active += 1;
        Some(size)
    }

    fn schedule(&mut self, now: Time) {
        let hz = self.rate.as_hz();
        self.next =
            if hz > 0.0 { now + Span::from_secs_f64(self.times.exponential(1.0 / hz)) } else { Time::NEVER };
        if self.next >= self.stop {
            self.next = Time::NEVER;
        }
    }
}

/// Datagrams sent without regard to anything.
#[derive(Debug)]
pub struct DatagramSource {
    spacing: Spacing,
    gap: Span,
    stop: Time,
    stream: Stream,
    next: Time,
    /// Wire size of each [B].
    pub size: Bytes,
    /// Sent so far.
    pub sent: u64,
    /// Says which of them are marked, if some are.
    pub bucket: Option<Box<TokenBucket>>,
}

impl DatagramSource {
    /// A source that starts at `start` and draws its gaps from `stream`.
    pub fn new(config: &Datagrams, start: Time, stop: Time, stream: Stream) -> DatagramSource {
        DatagramSource {
            spacing: config.spacing,
            gap: config.rate.transmission_time(config.size),
            stop,
            stream,
            next: if config.rate == Rate::ZERO { Time::NEVER } else { start },
            size: config.size,
            sent: 0,
            bucket: None,
        }
    }

    /// When the next one leaves.
    pub fn poll_at(&self) -> Time {
        self.next
    }

    /// Whether the one that leaves now is marked; it takes its tokens.
    pub fn mark(&mut self, now: Time) -> bool {
        self.bucket.as_mut().is_some_and(|bucket| bucket.take(now, self.size))
    }

    /// One leaves now.
    pub fn send(&mut self, now: Time) {
        self.sent += 1;
        let gap = match self.spacing {
            Spacing::Constant => self.gap,
            Spacing::Poisson => self.stream.exponential_span(self.gap),
        };
        self.next = now + gap;
        if self.next >= self.stop {
            self.next = Time::NEVER;
        }
    }
}

/// The instants at which a reservation changes.
#[derive(Debug)]
pub struct ReservedRates {
    steps: Steps,
    next: Time,
}

impl ReservedRates {
    /// Of `reservation`; none if it never changes.
    pub fn new(reservation: &ReservationSpec) -> Option<ReservedRates> {
        let CapacityParts::Steps(timeline) = &reservation.rate else { return None };
        let mut steps = Steps::new(timeline.clone());
        let next = steps.segment(Time::ZERO).until;
        Some(ReservedRates { steps, next })
    }

    /// When it changes next.
    pub fn poll_at(&self) -> Time {
        self.next
    }

    /// What is reserved from `now` on.
    pub fn change(&mut self, now: Time) -> Rate {
        let CapacitySegment { rate, until } = self.steps.segment(now);
        self.next = until;
        rate
    }
}

/// An application that is on and off in turn.
#[derive(Debug)]
pub struct OnOffFeed {
    config: OnOff,
    stream: Stream,
    is_on: bool,
    /// End of the present period.
    until: Time,
    /// Next write while on, if it writes at a rate.
    next_write: Time,
    chunk: Bytes,
}

/// What an on/off application does at a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedAction {
    /// Offers this much more.
    Write(Bytes),
    /// Takes back what has not been sent.
    Withdraw,
    /// Nothing.
    Wait,
}

impl OnOffFeed {
    /// Begins with an on period at `start`; writes `chunk` bytes at a time if it has a rate.
    pub fn new(config: OnOff, chunk: Bytes, start: Time, stream: Stream) -> OnOffFeed {
        OnOffFeed { config, stream, is_on: false, until: start, next_write: Time::NEVER, chunk }
    }

    /// Whether it is active now.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// When it next does something.
    pub fn poll_at(&self) -> Time {
        self.until.min(self.next_write)
    }

    /// What it does at `now`.
    pub fn act(&mut self, now: Time) -> FeedAction {
        if now >= self.until {
            self.is_on = !self.is_on;
            let mean = if self.is_on { self.config.on } else { self.config.off };
            let length = if self.config.exponential { self.stream.exponential_span(mean) } else { mean };
            self.until = now + length.max(Span::from_nanos(1));
            self.next_write = Time::NEVER;
            if !self.is_on {
                return FeedAction::Withdraw;
            }
            match self.config.rate {
                None => return FeedAction::Write(Bytes::MAX),
                Some(_) => self.next_write = now,
            }
        }
        if now >= self.next_write
            && let Some(rate) = self.config.rate
        {
            self.next_write = now + rate.transmission_time(self.chunk);
            return FeedAction::Write(self.chunk);
        }
        FeedAction::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_experiment::scenario::{Lognormal, Pareto};

    /// Mean of 200,000 draws; the bound is five standard errors for a coefficient of variation up to 1.3.
    fn mean(sizes: Sizes) -> f64 {
        let mut stream = Streams::new(7, 0).stream("sizes");
        let n = 200_000;
        (0..n).map(|_| draw_size(&sizes, &mut stream).as_u64() as f64).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn every_size_distribution_has_its_stated_mean() {
        let size = Bytes::new(100_000);
        let bound = 5.0 * 1.3 / 200_000f64.sqrt();
        for sizes in [
            Sizes::Fixed(size),
            Sizes::Exponential(size),
            Sizes::Lognormal(Lognormal { mean: size, sigma: 1.0 }),
            Sizes::Pareto(Pareto { mean: size, shape: 2.5 }), // coefficient of variation 0.89
        ] {
            let error = mean(sizes) / 1e5 - 1.0;
            assert!(error.abs() < bound, "{sizes:?}: {error}");
        }
    }

    #[test]
    fn a_refused_arrival_does_not_shift_the_sizes_of_others() {
        let app = varicap_experiment::scenario::Arrivals {
            rate: Frequency::from_hz(10.0).unwrap(),
            size: Sizes::Exponential(Bytes::new(1000)),
            at_most: 1,
        };
        let sizes = |keep: bool| {
            let mut arrivals = Arrivals::new(&app, "web", Time::ZERO, Time::NEVER, &Streams::new(1, 0));
            let mut seen = Vec::new();
            for _ in 0..10 {
                let now = arrivals.poll_at();
                seen.push((now, arrivals.arrive(now)));
                if !keep {
                    arrivals.active = 0;
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
