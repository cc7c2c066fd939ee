//! Delivery-rate samples, for controls that ask for them. Source: draft-cheng-iccrg-delivery-rate-estimation, as Linux
//! 6.18 has it (`tcp_rate.c`).
//!
//! Each segment remembers what was delivered when it left. When it is acknowledged, what was delivered since then, over
//! the longer of the times that sending and acknowledging it took, is a sample of the rate at which the path delivers.

use std::collections::VecDeque;

use varicap_units::{Bytes, Span, Time};

use super::{Delivered, Loss, Progress, RateSample};
use crate::segment::{MAX_SACK_BLOCKS, Segment};

/// The record of a segment from when it was sent last.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// End of its data [B].
    end: u64,
    at: Time,
    /// Data that had been delivered then [B], and when that was known.
    delivered: u64,
    delivered_at: Time,
    /// The instant at which the first segment of its flight left.
    first_sent_at: Time,
    /// Data in flight when it left, itself included [B], and what had been found to be lost by then.
    in_flight: u64,
    lost: u64,
    app_limited: bool,
    /// It was sent more than once.
    is_resent: bool,
    /// Its delivery has been reported, by a SACK block.
    is_delivered: bool,
}

/// The state of the estimation.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// All segments in flight, in order of their bytes, without gaps.
    segments: VecDeque<Sent>,
    /// End of the last segment that was sent [B].
    end: u64,
    /// The SACK blocks that were seen last [B].
    known: [(u64, u64); MAX_SACK_BLOCKS],
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// Samples of what was sent until this much is delivered are limited by the application; 0: none.
    limited_until: u64,
    /// All data found to be lost so far [B].
    lost: u64,
    /// The last sample that the application did not limit, or a faster one that it did.
    measured: Option<RateSample>,
}

impl Delivery {
    /// The bytes from `from` to `to` leave now, after which `in_flight` bytes are. If nothing `is_outstanding`, a flight
    /// begins with them: no guess at what was lost may shorten an interval.
    pub(super) fn on_sent(
        &mut self,
        now: Time,
        (from, to): (u64, u64),
        is_outstanding: bool,
        in_flight: u64,
    ) {
        debug_assert!(from < to, "an empty segment");
        if !is_outstanding {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let sent = Sent {
            end: to,
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight,
            lost: self.lost,
            app_limited: self.limited_until > 0,
            is_resent: false,
            is_delivered: false,
        };
        if from < self.end {
            self.note_resent(from, &sent);
        }
        if to > self.end {
            self.end = to;
            self.segments.push_back(sent);
        }
    }

    /// The bytes in flight from `from` on leave again, as `sent`.
    #[cold]
    #[inline(never)]
    fn note_resent(&mut self, from: u64, sent: &Sent) {
        let first = self.segments.partition_point(|segment| segment.end <= from);
        for again in self.segments.range_mut(first..).take_while(|segment| segment.end <= sent.end) {
            *again = Sent { end: again.end, is_delivered: again.is_delivered, is_resent: true, ..*sent };
        }
    }

    /// The application left a gap, with `in_flight` bytes in flight: until they are delivered, samples measure it rather than
    /// the path.
    pub(super) fn on_gap(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// The last sample that the application did not limit, or a faster one that it did.
    pub(super) fn measured(&self) -> Option<RateSample> {
        self.measured
    }

    /// Whether samples of what leaves now measure the application rather than the path.
    pub(super) fn is_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// The bytes from `from` to `to` were found to be lost: `report` learns of each segment of them.
    pub(super) fn on_lost(&mut self, (from, to): (u64, u64), mut report: impl FnMut(&Loss)) {
        let (first, mut start) = (self.segments.partition_point(|sent| sent.end <= from), from);
        for sent in self.segments.range(first..).take_while(|sent| sent.end <= to) {
            let (seq, size) = (start, sent.end - start);
            start = sent.end;
            self.lost += size;
            report(&Loss {
                seq,
                size: Bytes::new(size),
                in_flight: Bytes::new(sent.in_flight),
                lost: Bytes::new(self.lost - sent.lost),
                delivered: Bytes::new(self.delivered),
                app_limited: sent.app_limited,
            });
        }
    }

    /// An acknowledgement arrived at `now`, with which `delivered` bytes have been delivered. `flight` with what is remembered
    /// of it, and the sample that it gives.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        segment: &Segment,
        flight: Progress,
        delivered: Bytes,
        least: Option<Span>,
    ) -> (Progress, Option<RateSample>) {
        let newest = self.take_delivered(segment);
        let progress = Progress {
            lost: Bytes::new(self.lost),
            newest: newest.map(|sent| Delivered {
                prior_delivered: Bytes::new(sent.delivered),
                in_flight: Bytes::new(sent.in_flight),
                lost: Bytes::new(self.lost - sent.lost),
                app_limited: sent.app_limited,
                rtt: (!sent.is_resent).then(|| now.since(sent.at)),
            }),
            ..flight
        };
        (progress, self.measure(now, newest, delivered.as_u64(), least))
    }

    /// After an acknowledgement of which `newest` is the segment that left last, `delivered` bytes have been delivered. The
    /// sample that it gives, unless that is over less than the least round trip: then it says nothing.
    fn measure(
        &mut self,
        now: Time,
        newest: Option<Sent>,
        delivered: u64,
        least: Option<Span>,
    ) -> Option<RateSample> {
        if delivered > self.delivered {
            (self.delivered, self.delivered_at) = (delivered, now);
        }
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let newest = newest?;
        self.first_sent_at = newest.at;
        let interval = newest.at.since(newest.first_sent_at).max(now.since(newest.delivered_at));
        let is_sound = interval > Span::ZERO && least.is_none_or(|least| interval >= least);
        let sample = is_sound.then(|| RateSample {
            delivered: Bytes::new(self.delivered - newest.delivered),
            prior_delivered: Bytes::new(newest.delivered),
            interval,
            app_limited: newest.app_limited,
        })?;
        if !sample.app_limited || self.measured.is_none_or(|last| sample.is_as_fast_as(&last)) {
            self.measured = Some(sample);
        }
        Some(sample)
    }

    /// Of the segments that `segment` newly acknowledges, the one that was sent last.
    fn take_delivered(&mut self, segment: &Segment) -> Option<Sent> {
        let (mut last, mut count) = (None::<&Sent>, 0);
        while let Some(sent) = self.segments.get(count).filter(|sent| sent.end <= segment.ack) {
            if !sent.is_delivered && sent.is_newer_than(last) {
                last = Some(sent);
            }
            count += 1;
        }
        let mut newest = last.copied();
        for _ in 0..count {
            self.segments.pop_front();
        }
        if segment.sack_count > 0 {
            self.take_held(segment, &mut newest);
        }
        newest
    }

    /// Of what `segment` newly reports by SACK blocks, and `newest`, the one that was sent last.
    #[inline(never)]
    fn take_held(&mut self, segment: &Segment, newest: &mut Option<Sent>) {
        let count = usize::from(segment.sack_count).min(segment.sack.len());
        let mut known = [(0, 0); MAX_SACK_BLOCKS];
        for (place, &(from, to)) in segment.sack[..count].iter().enumerate() {
            let (from, to) = (segment.ack + u64::from(from), segment.ack + u64::from(to));
            // A block is reported again as it grows, perhaps behind a new one (RFC 2018 §4): what is new of it counts.
            let before = [self.known[place], self.known[place.saturating_sub(1)]];
            let seen = before
                .into_iter()
                .find(|block| block.0 == from && block.1 <= to)
                .map_or(from, |block| block.1);
            known[place] = (from, to);
            if seen == to {
                continue;
            }
            let first = self.segments.partition_point(|sent| sent.end <= seen);
            for sent in self.segments.range_mut(first..).take_while(|sent| sent.end <= to) {
                see(newest, sent);
                sent.is_delivered = true;
            }
        }
        self.known = known;
    }
}

impl Sent {
    /// Whether it was sent after `other`, if there is one.
    #[inline]
    fn is_newer_than(&self, other: Option<&Sent>) -> bool {
        other.is_none_or(|other| (self.at, self.end) >= (other.at, other.end))
    }
}

/// `sent` was delivered: it is the newest if it was sent after `newest`, and is news.
#[inline]
fn see(newest: &mut Option<Sent>, sent: &Sent) {
    if !sent.is_delivered && sent.is_newer_than(newest.as_ref()) {
        *newest = Some(*sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Flags;
    use varicap_units::Rate;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn ack(number: u64) -> Segment {
        Segment { ack: number, flags: Flags::ACK, ..Segment::default() }
    }

    /// The sample of an acknowledgement, after which `delivered` bytes have been delivered.
    fn on_ack(
        delivery: &mut Delivery,
        now: Time,
        segment: &Segment,
        delivered: u64,
        least: Option<Span>,
    ) -> Option<RateSample> {
        delivery.on_ack(now, segment, Progress::default(), Bytes::new(delivered), least).1
    }

    #[test]
    fn a_burst_through_a_bottleneck_is_measured_at_the_rate_of_its_acknowledgements() {
        let mut delivery = Delivery::default();
        let bytes = |n: u64| (n * 1000, (n + 1) * 1000);
        (0..4).for_each(|n| delivery.on_sent(ms(0), bytes(n), n > 0, 1000));
        // Acknowledgements come 10 ms apart, after 100 ms; each lets another segment leave.
        let samples: Vec<_> = (0..12)
            .map(|n| {
                let now = ms(100 * (n / 4 + 1) + 10 * (n % 4));
                let sample = on_ack(&mut delivery, now, &ack((n + 1) * 1000), (n + 1) * 1000, None);
                delivery.on_sent(now, bytes(n + 4), true, 1000);
                sample.unwrap()
            })
            .collect();
        assert_eq!((samples[3].delivered, samples[3].interval), (Bytes::new(4000), Span::from_millis(130)));
        let last = samples[11];
        assert_eq!((last.delivered, last.prior_delivered), (Bytes::new(4000), Bytes::new(8000)));
        assert_eq!((last.interval, last.rate()), (Span::from_millis(100), Rate::from_bps(320_000)));
    }

    #[test]
    fn what_the_application_left_unused_is_marked_until_it_is_delivered() {
        let mut delivery = Delivery::default();
        delivery.on_gap(0);
        delivery.on_sent(ms(0), (0, 1000), false, 1000);
        delivery.on_gap(1000);
        delivery.on_sent(ms(0), (1000, 2000), true, 1000);
        assert!(on_ack(&mut delivery, ms(100), &ack(1000), 1000, None).unwrap().app_limited);
        delivery.on_sent(ms(100), (2000, 3000), true, 1000);
        assert!(on_ack(&mut delivery, ms(101), &ack(2000), 2000, None).unwrap().app_limited);
        // It left before the gap was delivered, and what leaves now does not.
        assert!(on_ack(&mut delivery, ms(200), &ack(3000), 3000, None).unwrap().app_limited);
        delivery.on_sent(ms(200), (3000, 4000), false, 1000);
        assert!(!on_ack(&mut delivery, ms(300), &ack(4000), 4000, None).unwrap().app_limited);
    }

    #[test]
    fn an_acknowledgement_of_several_segments_is_a_sample_of_the_one_that_left_last() {
        let mut delivery = Delivery::default();
        delivery.on_sent(ms(0), (0, 1000), false, 1000);
        delivery.on_sent(ms(0), (1000, 2000), true, 1000);
        on_ack(&mut delivery, ms(100), &ack(1000), 1000, None);
        delivery.on_sent(ms(100), (2000, 3000), true, 1000);
        let sample = on_ack(&mut delivery, ms(220), &ack(3000), 3000, None).unwrap();
        assert_eq!((sample.prior_delivered, sample.delivered), (Bytes::new(1000), Bytes::new(2000)));
        assert_eq!(sample.interval, Span::from_millis(120));
    }

    #[test]
    fn a_sample_that_the_application_limited_is_shown_if_it_is_the_fastest() {
        let mut delivery = Delivery::default();
        let mut shown = |number: u64, took: u64, gap: bool| {
            let from = number * 1000;
            if gap {
                delivery.on_gap(0);
            }
            delivery.on_sent(ms(1000 * number), (from, from + 1000), false, 1000);
            on_ack(&mut delivery, ms(1000 * number + took), &ack(from + 1000), from + 1000, None).unwrap();
            delivery
                .measured()
                .map(|sample| (sample.interval.as_nanos() / 1_000_000, sample.app_limited))
                .unwrap()
        };
        assert_eq!(shown(0, 100, true), (100, true));
        assert_eq!(shown(1, 200, true), (100, true), "slower");
        assert_eq!(shown(2, 50, true), (50, true), "faster");
        assert_eq!(shown(3, 300, false), (300, false), "what the path can do");
        assert_eq!(shown(4, 400, true), (300, false));
    }

    #[test]
    fn selective_acknowledgements_count_once_and_retransmissions_as_what_they_are() {
        let mut delivery = Delivery::default();
        (0..4).for_each(|n| delivery.on_sent(ms(0), (n * 1000, (n + 1) * 1000), n > 0, 1000));
        let mut held = ack(0);
        (held.sack[0], held.sack_count) = ((1000, 4000), 1);
        assert_eq!(on_ack(&mut delivery, ms(100), &held, 3000, None).unwrap().delivered, Bytes::new(3000));
        assert_eq!(on_ack(&mut delivery, ms(101), &held, 3000, None), None);
        delivery.on_sent(ms(110), (0, 1000), true, 1000);
        let sample = on_ack(&mut delivery, ms(210), &ack(4000), 4000, None).unwrap();
        assert_eq!((sample.delivered, sample.prior_delivered), (Bytes::new(1000), Bytes::new(3000)));
        // A sample over less than the least round trip says nothing.
        delivery.on_sent(ms(220), (4000, 5000), false, 1000);
        assert_eq!(on_ack(&mut delivery, ms(230), &ack(5000), 5000, Some(Span::from_millis(50))), None);
    }
}
