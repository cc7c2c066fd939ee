//! How far Linux's receiver lets its window grow: with its buffer, and that with what the application reads. Source:
//! `tcp_grow_window`, `tcp_rcv_rtt_update`, `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` in Linux's net/ipv4/tcp_input.c,
//! `tcp_select_initial_window` in tcp_output.c. Linux before 6.16 has rules of its own ([`BufferGrowth::SpaceAdjust`]).
//!
//! Deviations: the window that is advertised stays the receiver's buffer, since it grows ahead of every slow start; what
//! matters here is that a segment that lets it grow is acknowledged at once. Round trips are exact; without a handshake the
//! way back takes no time in them. A buffer whose application reads on demand stays as it began, and what it holds unread
//! takes no room. Data out of order enlarges it when it arrives, not when a round trip ends.

use std::collections::VecDeque;

use varicap_units::{Span, Time};

use crate::ack_policy::BufferGrowth;
use crate::config::TcpConfig;
use crate::segment::Segment;

/// First and largest size of the buffer (the second and third number of net.ipv4.tcp_rmem) [B].
const BUFFER: (u64, u64) = (131_072, 33_554_432);
/// The largest size before Linux 6.16 [B].
const BUFFER_BEFORE: u64 = 6_291_456;
/// Segments by which a window is enlarged beyond what was read, before Linux 6.16.
const CUSHION: u64 = 16;
/// The ticks of the clock of timestamps (TCP_TS_HZ), and the clock of TCP [ns].
const TIMESTAMP: u64 = 1_000_000;
const MICROSECOND: u64 = 1000;
/// Memory that a segment takes in a queue beyond its payload [B].
const OVERHEAD: u64 = 856;
/// The part of that which a segment saves that joins the one before it: the buffer's description. Source: `skb_try_coalesce` [B].
const JOINED: u64 = 256;
/// How many segments are joined at most (MAX_SKB_FRAGS, and the first).
const MOST_JOINED: u64 = 18;
/// Window of a connection that has received nothing [B].
const FIRST_WINDOW: u64 = 65_535;
/// Segments that the application is believed to have read in a round trip, before it has (TCP_INIT_CWND).
const FIRST_READ: u64 = 10;
/// Shorter segments let nothing grow [B].
const LEAST_SEGMENT: u32 = 128;

/// The window that the receiver is willing to offer, and what it may become.
#[derive(Debug)]
pub(super) struct Growth {
    /// The window (rcv_ssthresh) [B].
    window: u64,
    /// Whether there is room for it to grow, as far as nothing waits out of order.
    grows: bool,
    /// The room of the buffer (window_clamp), and the most it may ever have [B].
    room: u64,
    most: u64,
    mss: u64,
    /// Data that was read in a round trip (rcvq_space.space) [B], and where and when the current one began.
    read: u64,
    began: (u64, Time),
    /// The round-trip time (rcv_rtt_est); the longest span: none was measured.
    rtt: Span,
    /// How much of it lies before the sender's answer, and when the segment left that was measured last.
    back: Span,
    measured: Time,
    /// Before Linux 6.16: eight round trips [us], and the timestamp whose echo was measured last, and one; zero: none.
    before: Option<(u64, u64)>,
}

impl Growth {
    pub(super) fn new(config: &TcpConfig, rule: BufferGrowth) -> Growth {
        let mss = config.mss.as_u64().max(1);
        let is_before = rule == BufferGrowth::SpaceAdjust;
        let largest = if is_before { BUFFER_BEFORE } else { BUFFER.1 };
        let most = config.offered_window().as_u64().min(window_of(largest, mss));
        // Timestamps were not yet taken off the segments that are believed to have been read.
        let options = if is_before { u64::from(config.option_timestamps()) } else { 0 };
        // tcp_init_buffer_space: before data comes, half of the buffer is believed to be overhead, and a segment is reserved.
        let half = (BUFFER.0 / 2).saturating_sub(mss + options);
        let window = (BUFFER.0 / 2 / mss * mss).min(FIRST_WINDOW).min(half).min(most);
        let room = window_of(BUFFER.0, mss).min(most);
        Growth {
            window,
            grows: window + mss < room,
            room,
            most,
            mss,
            read: FIRST_READ * (mss + options),
            began: (0, Time::ZERO),
            rtt: Span::MAX,
            back: Span::ZERO,
            measured: Time::ZERO,
            before: is_before.then_some((0, 0)),
        }
    }

    /// The handshake ended with `segment`, `rtt` after the SYN was answered.
    pub(super) fn begin(&mut self, now: Time, segment: &Segment, rtt: Span) {
        self.began = (0, now);
        self.back = rtt.saturating_sub(now.since(segment.sent_at.min(now)));
    }

    /// A segment with data arrived in order, beside what is `held` out of order. Returns whether the window grows.
    #[inline]
    pub(super) fn on_data(&mut self, segment: &Segment, held: &VecDeque<(u64, u64)>) -> bool {
        // Mostly the window is as large as it may be. The segment is not read yet.
        self.grows
            && segment.len >= LEAST_SEGMENT
            && self.grow(room_of(self.mss, self.mss) + taken(held, self.mss))
    }

    /// Whether the window grows while so much of the room is taken.
    #[inline(never)]
    fn grow(&mut self, taken: u64) -> bool {
        let most = self.room.saturating_sub(taken);
        if self.window >= most {
            return false;
        }
        self.window += (2 * self.mss).min(most - self.window);
        self.grows = self.window + self.mss < self.room;
        true
    }

    /// The buffer has room for a window of `bytes`, if it may, or for a larger one if it has.
    fn make_room(&mut self, bytes: u64) {
        self.room = self.room.max(bytes.min(self.most));
        self.grows = self.window + self.mss < self.room;
    }

    /// Data waits out of order up to `span` bytes ahead: there must be room for it beside what is read in a round trip.
    fn make_room_for(&mut self, span: u64) {
        if self.before.is_none() {
            self.make_room(2 * self.read + span);
        }
    }

    /// A segment with data is `held` out of order. Returns whether the window grows. Source: `tcp_data_queue_ofo`, in which the
    /// segment counts where it was joined with the one before it.
    pub(super) fn on_held(&mut self, segment: &Segment, next: u64, held: &VecDeque<(u64, u64)>) -> bool {
        self.make_room_for(held.back().map_or(0, |last| last.1 - next));
        if segment.len < LEAST_SEGMENT || self.window >= self.room {
            return false;
        }
        let is_joined = held.iter().any(|&(from, to)| from < segment.seq && segment.seq < to);
        let own = if is_joined { 0 } else { room_of(segment.len.into(), self.mss) };
        self.grow(taken(held, self.mss).saturating_sub(own))
    }

    /// A full segment that left at `left` arrived, in order or not: a round trip (`tcp_rcv_rtt_measure_ts`).
    #[inline]
    pub(super) fn measure(&mut self, now: Time, left: Time) {
        if left == self.measured {
            return;
        }
        self.measured = left;
        if self.before.is_some() {
            return self.measure_by_timestamps(now, left);
        }
        let sample = now.since(left.min(now)) + self.back;
        self.rtt = if self.rtt <= sample { self.rtt - self.rtt / 8 + sample / 8 } else { sample };
    }

    /// Before Linux 6.16: by timestamps of a millisecond, each of which is measured once, smoothed upwards.
    #[cold]
    fn measure_by_timestamps(&mut self, now: Time, left: Time) {
        let Some((eight, echoed)) = &mut self.before else { return };
        // The acknowledgement that the segment answered left so much earlier.
        let stamp = left.as_nanos().saturating_sub(self.back.as_nanos()) / TIMESTAMP;
        let sample = (now.as_nanos() / TIMESTAMP).saturating_sub(stamp) * (TIMESTAMP / MICROSECOND);
        if stamp + 1 == *echoed {
            return;
        }
        *echoed = stamp + 1;
        if sample > 0 {
            let is_least = *eight == 0 || 8 * sample < *eight;
            *eight = if is_least { 8 * sample } else { *eight - *eight / 8 + sample };
            self.rtt = Span::from_nanos(*eight / 8 * MICROSECOND);
        }
    }

    /// The application has read everything below `next`: once in a round trip the buffer becomes large enough for a sender
    /// that goes on as it did.
    #[inline]
    pub(super) fn on_read(&mut self, now: Time, next: u64) {
        let (from, at) = self.began;
        if now.since(at) < self.rtt {
            return;
        }
        let read = next - from;
        if read > self.read {
            self.enlarge(read);
        }
        self.began = (next, now);
    }

    #[cold]
    fn enlarge(&mut self, read: u64) {
        // A round trip late, and in slow start twice as much arrives in each.
        if self.before.is_some() {
            let base = 2 * read + CUSHION * self.mss;
            let more = u128::from(base) * u128::from(read - self.read) / u128::from(self.read);
            self.make_room(base + 2 * more as u64);
            self.read = read;
            return;
        }
        let window =
            2 * read + (u128::from(4 * read) * u128::from(read - self.read) / u128::from(self.read)) as u64;
        self.make_room(window);
        self.read = read;
    }
}

/// The share of the window that a block of `bytes` takes which waits out of order: segments that follow each other are joined.
fn room_of(bytes: u64, mss: u64) -> u64 {
    let segments = bytes.div_ceil(mss);
    let joined = segments - segments.div_ceil(MOST_JOINED);
    window_of(bytes + segments * OVERHEAD - joined * JOINED, mss)
}

/// The share of the window that all data takes which waits out of order.
fn taken(held: &VecDeque<(u64, u64)>, mss: u64) -> u64 {
    held.iter().map(|&(from, to)| room_of(to - from, mss)).sum()
}

/// The window for which a buffer of `bytes` has room. Source: `tcp_win_from_space`, whose ratio is one of 256ths.
fn window_of(bytes: u64, mss: u64) -> u64 {
    (bytes * ((mss << 8) / (mss + OVERHEAD))) >> 8
}

#[cfg(test)]
mod tests {
    use varicap_units::Bytes;

    use super::*;

    #[test]
    fn before_6_16_round_trips_are_whole_milliseconds_and_windows_have_a_cushion() {
        let config = TcpConfig { mss: Bytes::new(1448), timestamps: true, ..TcpConfig::default() };
        let at = |micros| Time::ZERO + Span::from_micros(micros);
        let grown = |rule| {
            let mut growth = Growth::new(&config, rule);
            let first = Segment { sent_at: at(40_050), ..Segment::default() };
            // The answer to the SYN left at 20 ms, the way takes 20 ms.
            growth.begin(at(60_050), &first, Span::from_micros(40_050));
            growth.measure(at(61_290), at(40_050));
            // A round trip later 23 segments are read, of which ten were expected.
            growth.on_read(at(61_290 + 40_500), 23 * 1448);
            (growth.rtt, growth.room)
        };
        // From 20 to 61.29 ms timestamps count 41 ms; 2 * 33304 + 16 * 1448, and twice 18704/14600 of that.
        let base = 2 * 33_304 + 16 * 1448;
        assert_eq!(
            grown(BufferGrowth::SpaceAdjust),
            (Span::from_millis(41), base + 2 * (base * (33_304 - 14_600) / 14_600)),
        );
        let read = 33_304;
        let more = 4 * read * (read - 14_480) / 14_480;
        assert_eq!(grown(BufferGrowth::RcvbufGrow), (Span::from_micros(41_290), 2 * read + more));
    }
}
