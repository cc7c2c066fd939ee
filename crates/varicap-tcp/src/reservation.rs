//! How a sender uses a reservation: marking, timed and delayed transmissions. Source: [minrate, §II-A, §IV].

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use varicap_units::{
    BucketDepth, Bytes, JsonSchema, NANOS_PER_SEC, Rate, Span, Stream, Time, TokenBucket, Work,
};

/// Timers that are chosen by the formula fire no more often than this: a bucket of little more than a packet would ask
/// for a timer at every byte.
const SHORTEST_INTERVAL: Span = Span::from_millis(1);

/// A timer that sends what conforms, whatever cwnd says. Source: [minrate, Fig. 5].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TimedConfig {
    /// From one expiry to the next. Default: what loses no token, (bucket - (packet - 1 B)) / rate, at least 1 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// Whose timer it is. Default: own.
    pub timer: TimerOwner,
}

impl TimedConfig {
    /// From one expiry to the next, for a bucket of this depth and rate and full segments of `packet` bytes.
    fn interval_for(&self, depth: Bytes, rate: Rate, packet: Bytes) -> Span {
        self.interval.unwrap_or_else(|| lossless_interval(depth, rate, packet).max(SHORTEST_INTERVAL))
    }
}

/// Whose timer drives timed transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerOwner {
    /// Each connection's own, from its beginning on.
    #[default]
    Own,
    /// One for all connections of the host: it expires at whole multiples of the interval, for all at once.
    Shared,
}

/// Segments that find no tokens are held back for a random time. Source: [minrate, §IV-A].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DelayedConfig {
    /// Longest time for which a segment is held back, uniform from zero. Default: the depth of the bucket in time:
    /// whoever holds longer loses tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<Span>,
}

/// A reservation as its sender keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation {
    /// Mean rate, on the wire.
    pub rate: Rate,
    /// Depth of the token bucket.
    pub bucket: BucketDepth,
    /// Peak rate; unlimited: none.
    pub peak: Rate,
    /// Timed transmissions.
    pub timed: Option<TimedConfig>,
    /// Delayed transmissions.
    pub delayed: Option<DelayedConfig>,
    /// Whether timed transmissions and the reserved part of the window end when a marked packet is lost.
    pub safeguard: bool,
}

impl Reservation {
    /// Marking alone: no timer, no delays.
    pub fn new(rate: Rate, bucket: BucketDepth) -> Reservation {
        let peak = Rate::UNLIMITED;
        Reservation { rate, bucket, peak, timed: None, delayed: None, safeguard: false }
    }

    /// How often its timer expires for packets of `packet` bytes, at its first rate; none without timed transmissions.
    pub fn interval(&self, packet: Bytes) -> Option<Span> {
        let depth = TokenBucket::new(Time::ZERO, self.rate, self.bucket).depth();
        self.timed.as_ref().map(|timed| timed.interval_for(depth, self.rate, packet))
    }
}

/// The longest time between two looks at a bucket of `depth` in which it loses no token at `rate`, wherever packets of
/// `packet` bytes leave it: up to one byte less than a packet may stay in it. Source: [minrate, §IV-A].
pub fn lossless_interval(depth: Bytes, rate: Rate, packet: Bytes) -> Span {
    let left = packet.saturating_sub(Bytes::new(1));
    let nanobits = Work::of(depth.saturating_sub(left)).as_nanobits();
    match u128::from(rate.as_bps()) {
        0 => Span::MAX,
        bps => u64::try_from(nanobits / bps).map_or(Span::MAX, Span::from_nanos),
    }
}

/// The state of a sender's reservation.
#[derive(Debug)]
pub(crate) struct Reserved {
    bucket: TokenBucket,
    /// A full segment on the wire [B].
    packet: Bytes,
    timed: Option<TimedConfig>,
    /// The instant at which the timer expires next.
    timer_at: Time,
    /// The timer has expired, and there may be tokens left.
    is_expired: bool,
    delays: Option<Delays>,
    /// Which segments in flight were marked, if the loss of marked packets matters.
    marks: Option<Marks>,
    marked_packets: u64,
}

/// Delayed transmissions.
#[derive(Debug)]
struct Delays {
    longest: Option<Span>,
    stream: Stream,
    /// The instant until which the next segment is held back.
    until: Time,
}

impl Reserved {
    pub(crate) fn new(now: Time, terms: &Reservation, packet: Bytes, stream: Stream) -> Reserved {
        let bucket = TokenBucket::new(now, terms.rate, terms.bucket).with_peak(terms.peak, packet);
        let delays = terms.delayed.as_ref();
        let mut reserved = Reserved {
            bucket,
            packet,
            timed: terms.timed.clone(),
            timer_at: Time::NEVER,
            is_expired: false,
            delays: delays.map(|delayed| Delays { longest: delayed.longest, stream, until: Time::NEVER }),
            marks: terms.safeguard.then(Marks::default),
            marked_packets: 0,
        };
        reserved.reset_timer(now);
        reserved
    }

    /// Sets the mean rate from `now` on.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        self.bucket.set_rate(now, rate);
        let pending = self.timer_at;
        self.reset_timer(now);
        self.timer_at = self.timer_at.min(pending);
    }

    pub(crate) fn rate(&self) -> Rate {
        self.bucket.rate()
    }

    pub(crate) fn lost_tokens(&self, now: Time) -> Work {
        self.bucket.lost(now)
    }

    pub(crate) fn marked_packets(&self) -> u64 {
        self.marked_packets
    }

    /// Whether a timer sends what conforms, or did until the reservation was no longer trusted.
    pub(crate) fn is_timed(&self) -> bool {
        self.timed.is_some()
    }

    /// Whether a full segment would be marked.
    pub(crate) fn conforms(&self, now: Time) -> bool {
        self.bucket.conforms(now, self.packet)
    }

    /// Whether the segment from `from` to `to` conforms; it leaves now, with `wire_size` bytes. All below `una` was
    /// acknowledged.
    pub(crate) fn mark(&mut self, now: Time, una: u64, (from, to): (u64, u64), wire_size: u16) -> bool {
        debug_assert!(from <= to && wire_size > 0, "{from}..{to} in {wire_size} B");
        let conforms = self.bucket.take(now, Bytes::new(u64::from(wire_size)));
        self.marked_packets += u64::from(conforms);
        if let Some(marks) = &mut self.marks
            && from < to
        {
            marks.forget_below(una);
            marks.note(from, to, conforms);
        }
        conforms
    }

    /// [minrate, Fig. 5]: reset TIMER.
    fn reset_timer(&mut self, now: Time) {
        let Some(timed) = &self.timed else { return };
        let interval = timed.interval_for(self.bucket.depth(), self.bucket.rate(), self.packet);
        self.timer_at = match timed.timer {
            TimerOwner::Own => now + interval,
            TimerOwner::Shared => {
                let step = interval.as_nanos().max(1);
                Time::ZERO + Span::from_nanos((now.as_nanos() / step + 1).saturating_mul(step))
            }
        };
    }

    /// Whether the timer has expired and its transmissions are not over.
    pub(crate) fn is_expired(&mut self, now: Time) -> bool {
        if now >= self.timer_at {
            self.is_expired = true;
            self.reset_timer(now);
        }
        self.is_expired
    }

    /// Ends the transmissions of an expiry of the timer.
    pub(crate) fn end_expiry(&mut self) {
        self.is_expired = false;
    }

    /// Whether the next segment, sent for an acknowledgement, is held back at `now`: for its whole time, even if tokens
    /// come, so that polling early changes nothing.
    pub(crate) fn holds(&mut self, now: Time) -> bool {
        if self.is_expired || self.delays.is_none() {
            return false;
        }
        let conforms = self.conforms(now);
        let full = self.bucket.rate().transmission_time(self.bucket.depth());
        let Some(delays) = &mut self.delays else { return false };
        if delays.until.is_never() && !conforms {
            delays.until = now + delays.stream.uniform_span(delays.longest.unwrap_or(full));
        }
        let is_held = now < delays.until && !delays.until.is_never();
        if !is_held {
            delays.until = Time::NEVER;
        }
        is_held
    }

    /// The instant at which to poll it: at the timer's expiry, or when a segment was held back long enough. `is_over`
    /// says that the sender has nothing more to do.
    pub(crate) fn poll_at(&mut self, now: Time, is_over: bool) -> Time {
        if is_over {
            return Time::NEVER;
        }
        let held = self.delays.as_mut().map_or(Time::NEVER, |delays| {
            if delays.until <= now {
                delays.until = Time::NEVER;
            }
            delays.until
        });
        self.timer_at.min(held)
    }

    /// The segment at `seq` was lost. Whether it was marked, and this matters: timed transmissions end then.
    /// Source: [minrate, §IV-B].
    pub(crate) fn on_lost(&mut self, seq: u64) -> bool {
        if !self.marks.as_ref().is_some_and(|marks| marks.is_marked(seq)) {
            return false;
        }
        self.marks = None;
        self.timed = None;
        self.timer_at = Time::NEVER;
        self.is_expired = false;
        true
    }
}

/// Which of the segments in flight were marked, in order of their bytes.
#[derive(Debug, Default)]
struct Marks {
    /// End of each segment [B], and whether it was marked when it was sent last.
    segments: VecDeque<(u64, bool)>,
}

impl Marks {
    fn place(&self, seq: u64) -> usize {
        self.segments.partition_point(|(end, _)| *end <= seq)
    }

    fn note(&mut self, from: u64, to: u64, marked: bool) {
        let place = self.place(from);
        match self.segments.get_mut(place) {
            Some(segment) => segment.1 = marked,
            None => self.segments.push_back((to, marked)),
        }
    }

    fn is_marked(&self, seq: u64) -> bool {
        self.segments.get(self.place(seq)).is_some_and(|(_, marked)| *marked)
    }

    fn forget_below(&mut self, una: u64) {
        while self.segments.front().is_some_and(|(end, _)| *end <= una) {
            self.segments.pop_front();
        }
    }
}

/// The window that carries `rate` over a round trip of `rtt`, in payload [B], where a full segment has `mss` payload in
/// a packet of `packet`. Source: [minrate, §IV-B].
pub(crate) fn reserved_window(rate: Rate, rtt: Span, mss: u64, packet: u64) -> u64 {
    let work = (rate * rtt).as_nanobits().saturating_mul(u128::from(mss));
    let bytes = work / (8 * u128::from(NANOS_PER_SEC) * u128::from(packet.max(1)));
    u64::try_from(bytes).unwrap_or(u64::MAX).min(1 << 62)
}
