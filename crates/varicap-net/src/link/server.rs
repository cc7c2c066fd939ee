//! The exact arithmetic of a server: a frame's transmission under a rate that may change.
//!
//! Work is counted in nanobits (b/s times ns), so that nothing is lost: a frame of W nanobits at rate R takes
//! ceil((W - s) / R) ns, where s is the surplus, the work that the server could have done in the last nanosecond
//! beyond the frame before. A busy server therefore carries exactly R in the long run. A frame that keeps its rate
//! (at-start service) leaves its surplus to frames of that rate alone. 64 bits hold the work of a frame of 2 GB.

use varicap_units::{Bytes, NANOS_PER_SEC, Rate, Span, Time, Work};

use crate::config::{Framing, Service};

/// Bytes of the largest frame whose work fits in 64 bits [B].
const LARGEST_FRAME: u64 = u64::MAX / (8 * NANOS_PER_SEC);

/// The results that are remembered for frames of one size, before their framing.
#[derive(Clone, Copy, Debug)]
struct Known {
    size: Bytes,
    /// Their transmission takes `whole`, of which `spare` is left over: whole * rate = work + spare.
    whole: Span,
    spare: u64,
}

impl Known {
    /// No frame has this size.
    const NOTHING: Known = Known { size: Bytes::MAX, whole: Span::ZERO, spare: 0 };
}

/// The transmission of one frame after another.
#[derive(Clone, Debug)]
pub(super) struct Server {
    service: Service,
    /// Now [b/s].
    rate: u64,
    /// Work that the server will have in hand when the frame in service ends [nb].
    surplus: u64,
    /// Work left of the frame in service while the rate is zero [nb].
    left: u64,
    /// Whether the frame in service met a rate of zero as it came, so that its transmission begins when that ends.
    is_delayed: bool,
    /// The size of the last frame, and the one before that was another. While one is remembered the rate is neither zero nor
    /// unlimited, and the surplus is below it.
    last: Known,
    other: Known,
    /// With at-start service: when the last frame ends, or ended, that was in service as the rate changed, and the rate
    /// that it keeps [b/s], and the surplus of that rate [nb]. A frame that ends then is that one, or takes no time.
    kept_until: Time,
    kept_rate: u64,
    kept_surplus: u64,
}

impl Server {
    pub fn new(service: Service, rate: Rate) -> Server {
        Server {
            service,
            rate: rate.as_bps(),
            surplus: 0,
            left: 0,
            is_delayed: false,
            last: Known::NOTHING,
            other: Known::NOTHING,
            kept_until: Time::ZERO,
            kept_rate: 0,
            kept_surplus: 0,
        }
    }

    #[inline]
    pub fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// Begins to transmit a frame of `size` bytes [B], which takes more in this `framing`; when it will have ended if the
    /// rate stays.
    #[inline(always)]
    pub fn begin(&mut self, at: Time, size: Bytes, framing: &Framing) -> Time {
        if size != self.last.size {
            let takes_no_time = self.rate().is_unlimited() && self.surplus == 0;
            return if takes_no_time { at } else { self.measure(at, size, framing) };
        }
        debug_assert!(self.surplus < self.rate, "a surplus of {} at {} b/s", self.surplus, self.rate);
        let room = self.rate - self.surplus;
        let Known { whole, spare, .. } = self.last;
        if spare < room {
            self.surplus += spare;
            at + whole
        } else {
            self.surplus = spare - room;
            at + (whole - Span::from_nanos(1))
        }
    }

    /// As [`Server::begin`], for a size or rate not met just before.
    #[inline(never)]
    fn measure(&mut self, at: Time, size: Bytes, framing: &Framing) -> Time {
        if size == self.other.size {
            // Data and acknowledgements often take turns.
            std::mem::swap(&mut self.last, &mut self.other);
            return self.begin(at, size, framing);
        }
        let framed = framing.framed(size);
        assert!(framed.as_u64() <= LARGEST_FRAME, "a frame of {framed} exceeds 2 GB");
        let work = framed.as_u64() * 8 * NANOS_PER_SEC;
        if self.rate != 0 && !self.rate().is_unlimited() && self.surplus < self.rate {
            let whole = Span::from_nanos(work.div_ceil(self.rate));
            // Rounding up adds less than one nanosecond's work; modulo 2^64 the difference is exact.
            let spare = whole.as_nanos().wrapping_mul(self.rate).wrapping_sub(work);
            self.other = std::mem::replace(&mut self.last, Known { size, whole, spare });
            return self.begin(at, size, framing);
        }
        if work <= self.surplus {
            self.surplus -= work;
            return at;
        }
        let left = work - self.surplus;
        self.is_delayed = self.rate == 0;
        self.transmit(at, left)
    }

    /// When `left` nanobits that begin at `at` will have been carried at the present rate.
    fn transmit(&mut self, at: Time, left: u64) -> Time {
        self.surplus = 0;
        if self.rate().is_unlimited() {
            return at;
        }
        if self.rate == 0 {
            self.left = left;
            return Time::NEVER;
        }
        let nanos = left.div_ceil(self.rate);
        self.surplus = nanos.wrapping_mul(self.rate).wrapping_sub(left);
        at + Span::from_nanos(nanos)
    }

    /// Nothing is left to transmit: what the server could have done is gone.
    #[inline]
    pub fn idle(&mut self) {
        self.surplus = 0;
    }

    /// Whether the last change let a frame begin that had met a rate of zero; true once for each.
    pub fn take_delayed(&mut self) -> bool {
        self.rate != 0 && std::mem::take(&mut self.is_delayed)
    }

    /// The rate of the frame in service that ends at `finish`, if it is not that of now.
    pub fn kept(&self, finish: Time) -> Option<Rate> {
        (finish == self.kept_until).then_some(Rate::from_bps(self.kept_rate))
    }

    /// The work that is left at `now` of the frame in service that ends at `finish`.
    pub fn left(&self, now: Time, finish: Time) -> Work {
        if finish.is_never() {
            return Work::from_nanobits(u128::from(self.left));
        }
        let (rate, surplus) = match self.kept(finish) {
            Some(rate) => (rate.as_bps(), self.kept_surplus),
            None => (self.rate, self.surplus),
        };
        let carried = u128::from(finish.since(now).as_nanos()) * u128::from(rate);
        Work::from_nanobits(carried.saturating_sub(u128::from(surplus)))
    }

    /// From `at` on the rate is another. Takes and gives the end of the frame in service (`None` if there is none).
    pub fn change(&mut self, at: Time, rate: Rate, finish: Option<Time>) -> Option<Time> {
        let old = std::mem::replace(&mut self.rate, rate.as_bps());
        (self.last, self.other) = (Known::NOTHING, Known::NOTHING);
        let finish = finish?;
        let left = if finish.is_never() {
            self.left
        } else if self.service == Service::AtStart {
            self.keep(old, finish);
            return Some(finish);
        } else if finish <= at {
            return Some(finish);
        } else {
            // Below the work of one frame, since a frame takes at most ceil(work / rate).
            let carried = u128::from((finish - at).as_nanos()) * u128::from(old);
            (carried - u128::from(self.surplus)) as u64
        };
        Some(self.transmit(at, left))
    }

    /// The frame in service, which ends at `finish`, keeps the rate at which it began: `old`, if this is the first
    /// change since. Its surplus is there for the next frame if the rate is the same by then.
    fn keep(&mut self, old: u64, finish: Time) {
        if finish != self.kept_until {
            (self.kept_until, self.kept_rate, self.kept_surplus) = (finish, old, self.surplus);
        }
        self.surplus = if self.rate == self.kept_rate { self.kept_surplus } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is added to a frame.
    const BARE: Framing = Framing { overhead: Bytes::ZERO, cells: None, in_queue: false };

    fn ns(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn a_busy_server_carries_exactly_its_rate() {
        // 3 b/s does not divide 8e9 nb: a byte takes 2.67 s, three bytes exactly 8 s.
        let mut server = Server::new(Service::Fluid, Rate::from_bps(3));
        let mut at = Time::ZERO;
        for _ in 0..3_000 {
            at = server.begin(at, Bytes::new(1), &BARE);
        }
        assert_eq!(at, Time::ZERO + Span::from_secs(8_000));
    }

    #[test]
    fn frames_of_several_sizes_take_turns_at_exactly_its_rate() {
        // 6 B are 48 b: 16 s at 3 b/s, in whichever order they come.
        for sizes in [&[1, 5][..], &[2, 4, 2, 4], &[1, 2, 3], &[1, 1, 2, 2]] {
            let mut server = Server::new(Service::Fluid, Rate::from_bps(3));
            let mut at = Time::ZERO;
            for _ in 0..1_000 {
                for &size in sizes {
                    at = server.begin(at, Bytes::new(size), &BARE);
                }
            }
            let rounds: u64 = sizes.iter().sum::<u64>() / 6 * 1_000;
            assert_eq!(at, Time::ZERO + Span::from_secs(16 * rounds), "{sizes:?}");
        }
    }

    #[test]
    fn frames_shorter_than_a_nanosecond_add_up() {
        // 100 bytes at 3.2 Tb/s take 0.25 ns.
        let mut server = Server::new(Service::Fluid, Rate::from_bps(3_200_000_000_000));
        let mut at = Time::ZERO;
        for _ in 0..400 {
            at = server.begin(at, Bytes::new(100), &BARE);
        }
        assert_eq!(at, ns(100));
    }

    #[test]
    fn an_idle_server_saves_no_work() {
        let mut server = Server::new(Service::Fluid, Rate::from_bps(3));
        // 2.67 s each, so that two in a row leave 2 nb in hand, enough for the third to end a nanosecond earlier.
        let first = server.begin(Time::ZERO, Bytes::new(1), &BARE);
        let second = server.begin(first, Bytes::new(1), &BARE);
        let third = server.clone().begin(second, Bytes::new(1), &BARE);
        server.idle();
        let after_idling = server.begin(second, Bytes::new(1), &BARE);
        assert_eq!(after_idling - second, first - Time::ZERO);
        assert_eq!(after_idling - third, Span::from_nanos(1));
    }

    #[test]
    fn fluid_service_follows_the_rate_and_at_start_does_not() {
        for (service, finish) in [(Service::Fluid, 1_500), (Service::AtStart, 2_000)] {
            let mut server = Server::new(service, Rate::from_bps(4_000_000)); // a byte takes 2 us
            let planned = server.begin(Time::ZERO, Bytes::new(1), &BARE);
            let planned = server.change(ns(1_000), Rate::from_bps(8_000_000), Some(planned));
            assert_eq!(planned, Some(ns(finish)), "{service:?}");
        }
    }

    #[test]
    fn what_is_left_of_a_frame_that_keeps_its_rate_goes_by_that_rate() {
        let mut server = Server::new(Service::AtStart, Rate::from_bps(8_000));
        let first = server.begin(Time::ZERO, Bytes::new(10), &BARE); // 10 ms
        let millis = |ms: u64| ns(ms * 1_000_000);
        assert_eq!((first, server.kept(first)), (millis(10), None));
        server.change(millis(2), Rate::from_bps(800_000), Some(first));
        server.change(millis(3), Rate::ZERO, Some(first));
        assert_eq!(server.kept(first), Some(Rate::from_bps(8_000)));
        assert_eq!(server.left(millis(4), first), Work::of(Bytes::new(6)));
        server.change(millis(9), Rate::from_bps(16_000), Some(first));
        let second = server.begin(first, Bytes::new(10), &BARE); // 5 ms
        assert_eq!((second, server.kept(second)), (millis(15), None));
        assert_eq!(server.left(millis(12), second), Work::of(Bytes::new(6)));
    }

    #[test]
    fn an_outage_stops_fluid_service_and_its_work_is_kept() {
        let mut server = Server::new(Service::Fluid, Rate::from_bps(4_000_000));
        let planned = server.begin(Time::ZERO, Bytes::new(1), &BARE);
        let planned = server.change(ns(500), Rate::ZERO, Some(planned));
        assert_eq!(planned, Some(Time::NEVER));
        let planned = server.change(ns(9_000), Rate::from_bps(4_000_000), planned);
        assert_eq!(planned, Some(ns(10_500)));
    }

    #[test]
    fn a_frame_that_meets_an_outage_at_start_takes_the_first_positive_rate() {
        let mut server = Server::new(Service::AtStart, Rate::ZERO);
        let planned = server.begin(Time::ZERO, Bytes::new(1), &BARE);
        assert_eq!(planned, Time::NEVER);
        let planned = server.change(ns(7_000), Rate::from_bps(8_000_000), Some(planned));
        let planned = server.change(ns(7_500), Rate::ZERO, planned);
        assert_eq!(planned, Some(ns(8_000)));
    }

    #[test]
    fn unlimited_is_no_time_at_all() {
        let mut server = Server::new(Service::Fluid, Rate::UNLIMITED);
        assert_eq!(server.begin(ns(5), Bytes::new(1_000_000), &BARE), ns(5));
    }
}
