//! The part of the workload that is not TCP: datagrams, and changes of reservations.

use varicap_experiment::ReservationSpec;
use varicap_experiment::scenario::{Datagrams, Spacing};
use varicap_net::capacity::Steps;
use varicap_net::{CapacityParts, CapacityProcess, CapacitySegment};
use varicap_units::{Bytes, Rate, Span, Stream, Time, TokenBucket};

/// A stream of datagrams, sent without regard to congestion.
#[derive(Debug)]
pub struct DatagramSource {
    spacing: Spacing,
    gap: Span,
    stop: Time,
    stream: Stream,
    next: Time,
    /// Wire size of each datagram [B].
    pub size: Bytes,
    /// Datagrams sent so far.
    pub sent: u64,
    /// Decides which datagrams are marked, if some are.
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

    /// The instant at which the next datagram leaves.
    pub fn poll_at(&self) -> Time {
        self.next
    }

    /// Decides whether the datagram that leaves now is marked as reserved, and takes its tokens if so.
    pub fn mark(&mut self, now: Time) -> bool {
        self.bucket.as_mut().is_some_and(|bucket| bucket.take(now, self.size))
    }

    /// Notes that a datagram leaves now, and schedules the next one.
    pub fn send(&mut self, now: Time) {
        debug_assert!(now >= self.next, "a datagram leaves before it is due");
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
    /// The changes of `reservation`; none if it never changes.
    pub fn new(reservation: &ReservationSpec) -> Option<ReservedRates> {
        let CapacityParts::Steps(timeline) = &reservation.rate else { return None };
        let mut steps = Steps::new(timeline.clone());
        let next = steps.segment(Time::ZERO).until;
        Some(ReservedRates { steps, next })
    }

    /// The instant at which the reservation changes next.
    pub fn poll_at(&self) -> Time {
        self.next
    }

    /// The reserved rate from `now` on.
    pub fn change(&mut self, now: Time) -> Rate {
        debug_assert!(now >= self.next, "a reservation changes before its time");
        let CapacitySegment { rate, until } = self.steps.segment(now);
        self.next = until;
        rate
    }
}
