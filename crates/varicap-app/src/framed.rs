//! The camera of [`RealTime`] over datagrams, as RTP carries it: a frame is as many datagrams as it needs, evenly spaced,
//! and what is lost stays lost.

use std::collections::VecDeque;

use varicap_units::{Bytes, Rate, Span, Time};

use crate::RealTime;
use crate::bitrate::Bitrate;
use crate::playback::Watched;

/// Headers of IP, UDP and RTP: no datagram is smaller. Source: RFC 791, RFC 768, RFC 3550 §5.1.
const LEAST: u64 = 40;

/// A frame of which some datagram is under way.
#[derive(Clone, Copy, Debug)]
struct Frame {
    captured: Time,
    bitrate: Rate,
    /// The number of its first datagram, and of the first of the frame after it.
    begin: u64,
    end: u64,
    /// How many of its datagrams have not arrived.
    missing: u64,
}

/// A datagram that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed {
    /// Its size on the wire.
    pub size: Bytes,
    /// How many have left before it.
    pub number: u64,
}

/// The camera and the encoder of one stream of datagrams: [`FramedEncoder::send`] is called at each
/// [`FramedEncoder::poll_at`], [`FramedEncoder::on_arrived`] as a datagram reaches its destination.
#[derive(Debug)]
pub struct FramedEncoder {
    config: RealTime,
    bitrate: Bitrate,
    /// Bitrate of the last frame that arrived or was lost.
    last: Option<Rate>,
    /// Most bytes in a datagram, and those of the frame that is being sent.
    largest: u64,
    size: u64,
    /// When the next frame is captured, and when the next datagram leaves.
    capture: Time,
    next: Time,
    /// Datagrams sent, those of this frame that are not, and their distance.
    sent: u64,
    left: u64,
    gap: Span,
    /// One more than the highest number that has arrived: what is below has arrived or counts as lost.
    heard: u64,
    under_way: VecDeque<Frame>,
    watched: Watched,
}

impl FramedEncoder {
    /// A camera that is switched on at `at`, and sends datagrams of at most `largest` on the wire.
    pub fn new(config: &RealTime, largest: Bytes, at: Time) -> FramedEncoder {
        FramedEncoder {
            config: *config,
            bitrate: Bitrate::new(config, at),
            last: None,
            largest: largest.as_u64(),
            size: 0,
            capture: at,
            next: at,
            sent: 0,
            left: 0,
            gap: Span::ZERO,
            heard: 0,
            under_way: VecDeque::new(),
            watched: Watched::default(),
        }
    }

    /// The instant at which the next datagram leaves.
    pub fn poll_at(&self) -> Time {
        self.next
    }

    /// The datagram that leaves now.
    pub fn send(&mut self, now: Time) -> Framed {
        debug_assert!(now >= self.next, "a datagram leaves before it is due");
        if self.left == 0 {
            self.capture(now);
        }
        let framed = Framed { size: Bytes::new(self.size), number: self.sent };
        self.sent += 1;
        self.left -= 1;
        self.next = if self.left == 0 { self.capture } else { now + self.gap };
        framed
    }

    fn capture(&mut self, now: Time) {
        // The oldest datagram of which nothing is known has been under way for too long.
        let is_late =
            self.under_way.front().is_some_and(|frame| now.since(frame.captured) > self.config.deadline);
        self.bitrate.adapt(now, is_late);
        let bytes = self.bitrate.frame(self.config.frame);
        self.left = bytes.div_ceil(self.largest);
        self.size = bytes.div_ceil(self.left).max(LEAST).min(self.largest);
        self.gap = Span::from_nanos(self.config.frame.as_nanos() / self.left);
        let (begin, end) = (self.sent, self.sent + self.left);
        let (captured, bitrate) = (self.capture, self.bitrate.rate());
        self.under_way.push_back(Frame { captured, bitrate, begin, end, missing: self.left });
        self.capture += self.config.frame;
    }

    /// Notes that datagram `number` of `size` has reached its destination at `now`; those before it that have not count as
    /// lost.
    pub fn on_arrived(&mut self, now: Time, number: u64, size: Bytes) {
        debug_assert!(number < self.sent, "datagram {number} of {} has arrived", self.sent);
        self.bitrate.on_arrived(size.as_u64());
        if number >= self.heard {
            self.bitrate.on_lost(number - self.heard);
            self.heard = number + 1;
        }
        let place = self.under_way.partition_point(|frame| frame.end <= number);
        if let Some(frame) = self.under_way.get_mut(place).filter(|frame| frame.begin <= number) {
            frame.missing -= 1;
        }
        while let Some(frame) = self.under_way.front().copied().filter(|frame| frame.end <= self.heard) {
            self.under_way.pop_front();
            self.watched.count(frame.bitrate, self.last.replace(frame.bitrate));
            let is_late = frame.missing > 0 || now.since(frame.captured) > self.config.deadline;
            self.watched.late += u64::from(is_late);
        }
    }

    /// The frames that have arrived or were lost.
    pub fn watched(&self) -> Watched {
        self.watched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera(initial: u64) -> FramedEncoder {
        let initial = Rate::from_bps(initial);
        FramedEncoder::new(&RealTime { initial, ..RealTime::default() }, Bytes::new(1000), Time::ZERO)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Sends until `end`; datagrams arrive after `delay`, unless `loses` says that they are lost.
    fn run(camera: &mut FramedEncoder, end: u64, delay: u64, loses: impl Fn(u64) -> bool) {
        let mut under_way: VecDeque<(Time, Framed)> = VecDeque::new();
        while camera.poll_at() < at(end) {
            let now = camera.poll_at();
            while let Some((due, framed)) = under_way.front().copied().filter(|(due, _)| *due <= now) {
                under_way.pop_front();
                camera.on_arrived(due, framed.number, framed.size);
            }
            let framed = camera.send(now);
            if !loses(framed.number) {
                under_way.push_back((now + Span::from_millis(delay), framed));
            }
        }
    }

    #[test]
    fn a_frame_is_as_many_datagrams_of_one_size_as_it_needs() {
        let mut camera = camera(500_000);
        // 500 kbit/s for 40 ms are 2500 bytes: three datagrams of 834, 13.33 ms apart.
        let sent: Vec<_> = (0..4).map(|_| (camera.poll_at(), camera.send(camera.poll_at()))).collect();
        let framed = |number, size| Framed { size: Bytes::new(size), number };
        assert_eq!(sent[0], (at(0), framed(0, 834)));
        assert_eq!(sent[1], (Time::ZERO + Span::from_nanos(13_333_333), framed(1, 834)));
        assert_eq!(sent[2], (Time::ZERO + Span::from_nanos(26_666_666), framed(2, 834)));
        assert_eq!(sent[3].0, at(40));
    }

    #[test]
    fn in_time_it_grows_by_8_percent_a_second() {
        let mut camera = camera(300_000);
        run(&mut camera, 10_001, 20, |_| false);
        let expected = 300_000.0 * (1.0f64 + 0.08 * 0.04).powi(250);
        assert!(
            (camera.bitrate.rate().as_bps() as f64 / expected - 1.0).abs() < 1e-3,
            "{:?}",
            camera.bitrate
        );
    }

    #[test]
    fn in_time_nothing_is_late_up_to_its_maximum() {
        let mut camera = camera(300_000);
        run(&mut camera, 60_000, 20, |_| false);
        assert_eq!(camera.bitrate.rate(), Rate::from_bps(3_000_000));
        assert_eq!((camera.watched().late, camera.watched().pieces > 1490), (0, true));
    }

    #[test]
    fn a_frame_without_one_of_its_datagrams_is_late_and_its_loss_lowers_nothing() {
        let mut camera = camera(500_000);
        run(&mut camera, 4_000, 20, |number| number == 4);
        assert_eq!(camera.watched().late, 1);
        assert!(camera.bitrate.rate() > Rate::from_bps(600_000), "one in many lost: {:?}", camera.bitrate);
    }

    #[test]
    fn it_falls_where_a_fifth_is_lost_and_where_nothing_comes_in_time() {
        for (delay, loses) in [(20, 5), (400, u64::MAX)] {
            let mut camera = camera(1_000_000);
            run(&mut camera, 20_000, delay, |number| number % loses == loses - 1);
            assert_eq!(camera.bitrate.rate(), Rate::from_bps(100_000), "{delay} ms, each {loses}th lost");
        }
    }

    #[test]
    fn where_nothing_arrives_at_all_it_falls_to_its_minimum() {
        let mut camera = camera(1_000_000);
        run(&mut camera, 5_000, 20, |number| number > 10);
        assert_eq!(camera.bitrate.rate(), Rate::from_bps(100_000));
    }

    #[test]
    fn a_datagram_that_comes_after_later_ones_still_counts_for_its_frame() {
        let mut camera = camera(500_000);
        let sent: Vec<_> = (0..6).map(|_| camera.send(camera.poll_at())).collect();
        for number in [1, 0, 2, 4, 5, 3] {
            camera.on_arrived(at(90), number, sent[number as usize].size);
        }
        // Of the second frame the last one came first: by then a datagram was missing, which came too late.
        assert_eq!((camera.watched().pieces, camera.watched().late), (2, 1));
    }
}
