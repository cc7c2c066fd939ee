//! The part of the workload that is not TCP: datagrams, and changes of reservations.

use varicap_app::{Framed, FramedEncoder, Watched};
use varicap_experiment::ReservationSpec;
use varicap_experiment::scenario::{DatagramRate, Datagrams, Spacing};
use varicap_net::capacity::Steps;
use varicap_net::{CapacityParts, CapacityProcess, CapacitySegment};
use varicap_units::{Bytes, Pacer, Rate, Stream, Time, TokenBucket, Work};

/// A stream of datagrams.
#[derive(Debug)]
pub struct DatagramSource {
    pace: Pace,
    stop: Time,
    next: Time,
    /// Datagrams sent so far.
    pub sent: u64,
    /// Decides which datagrams are marked, if some are.
    pub bucket: Option<Box<TokenBucket>>,
}

/// The law by which datagrams leave, and of which size.
#[derive(Debug)]
enum Pace {
    /// A rate, without regard to congestion.
    Constant { rate: Rate, size: Bytes, spacing: Spacing, pacer: Pacer, stream: Stream },
    /// An encoder that adapts to what arrives.
    Encoder(Box<FramedEncoder>),
}

/// A datagram that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Departing {
    /// Its size on the wire.
    pub size: Bytes,
    /// Whether it is marked as reserved.
    pub is_reserved: bool,
    /// Its number, if the source is to hear of its arrival.
    pub number: Option<u64>,
}

impl DatagramSource {
    /// A source that starts at `start` and draws its gaps from `stream`.
    pub fn new(config: &Datagrams, start: Time, stop: Time, stream: Stream) -> DatagramSource {
        let Datagrams { rate, size, spacing } = *config;
        let (pace, next) = match rate {
            DatagramRate::Constant(rate) => {
                let pace = Pace::Constant { rate, size, spacing, pacer: Pacer::default(), stream };
                (pace, if rate == Rate::ZERO { Time::NEVER } else { start })
            }
            DatagramRate::RealTime(camera) => {
                (Pace::Encoder(Box::new(FramedEncoder::new(&camera, size, start))), start)
            }
        };
        DatagramSource { pace, stop, next, sent: 0, bucket: None }
    }

    /// The instant at which the next datagram leaves.
    pub fn poll_at(&self) -> Time {
        self.next
    }

    /// The datagram that leaves now, marked as its tokens allow; schedules the next one.
    pub fn send(&mut self, now: Time) -> Departing {
        debug_assert!(now >= self.next, "a datagram leaves before it is due");
        self.sent += 1;
        let (size, number) = match &mut self.pace {
            Pace::Constant { rate, size, spacing, pacer, stream } => {
                self.next = now
                    + match spacing {
                        Spacing::Constant => pacer.gap(*rate, *size),
                        Spacing::Poisson => pacer.gap_of_work(*rate, exponential(stream, *size)),
                    };
                (*size, None)
            }
            Pace::Encoder(encoder) => {
                let Framed { size, number } = encoder.send(now);
                self.next = encoder.poll_at();
                (size, Some(number))
            }
        };
        if self.next >= self.stop {
            self.next = Time::NEVER;
        }
        let is_reserved = self.bucket.as_mut().is_some_and(|bucket| bucket.take(now, size));
        Departing { size, is_reserved, number }
    }

    /// Notes that the datagram with this number has arrived at `now`.
    pub fn on_arrived(&mut self, now: Time, number: u64, size: Bytes) {
        if let Pace::Encoder(encoder) = &mut self.pace {
            encoder.on_arrived(now, number, size);
        }
    }

    /// The playback of an encoder's frames.
    pub fn watched(&self) -> Watched {
        match &self.pace {
            Pace::Constant { .. } => Watched::default(),
            Pace::Encoder(encoder) => encoder.watched(),
        }
    }
}

/// Exponentially distributed work, with that of `mean` bytes as its mean.
fn exponential(stream: &mut Stream, mean: Bytes) -> Work {
    Work::from_nanobits((stream.exponential(Work::of(mean).as_nanobits() as f64) + 0.5) as u128)
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
