//! How far Linux's receiver lets its window grow: with its buffer, and that with what the application reads. Source:
//! `tcp_grow_window`, `tcp_rcv_rtt_update`, `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` in Linux's net/ipv4/tcp_input.c,
//! `tcp_select_initial_window` in tcp_output.c.
//!
//! Deviations: the window that is advertised stays the receiver's buffer, since it grows ahead of every slow start; what
//! matters here is that a segment that lets it grow is acknowledged at once. Round trips are exact; without a handshake the
//! way back takes no time in them. A buffer whose application reads on demand stays as it began, and what it holds unread
//! takes no room. Data out of order enlarges it when it arrives, not when a round trip ends.

use varicap_units::{Span, Time};

use crate::config::TcpConfig;
use crate::segment::Segment;

/// First and largest size of the buffer (the second and third number of net.ipv4.tcp_rmem) [B].
const BUFFER: (u64, u64) = (131_072, 33_554_432);
/// Memory that a segment takes in a queue beyond its payload [B].
const OVERHEAD: u64 = 856;
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
    /// What the buffer has room for (window_clamp), and the most it may ever have [B].
    room: u64,
    most: u64,
    mss: u64,
    /// What was read in a round trip (rcvq_space.space) [B], and where and when the current one began.
    read: u64,
    began: (u64, Time),
    /// The round-trip time (rcv_rtt_est); the longest span: none was measured.
    rtt: Span,
    /// How much of it lies before the sender's answer, and when the segment left that was measured last.
    back: Span,
    measured: Time,
}

impl Growth {
    pub(super) fn new(config: &TcpConfig) -> Growth {
        let mss = config.mss.as_u64().max(1);
        let most = config.offered_window().as_u64().min(window_of(BUFFER.1, mss));
        let window = (BUFFER.0 / 2 / mss * mss).min(FIRST_WINDOW).min(most);
        let room = window_of(BUFFER.0, mss).min(most);
        Growth {
            window,
            grows: window + mss < room,
            room,
            most,
            mss,
            read: FIRST_READ * mss,
            began: (0, Time::ZERO),
            rtt: Span::MAX,
            back: Span::ZERO,
            measured: Time::ZERO,
        }
    }

    /// The handshake ended with `segment`, `rtt` after the SYN was answered.
    pub(super) fn begin(&mut self, now: Time, segment: &Segment, rtt: Span) {
        self.began = (0, now);
        self.back = rtt.saturating_sub(now.since(segment.sent_at.min(now)));
    }

    /// A segment with data arrived, while so many bytes are `held` out of order. Returns whether the window grows.
    #[inline]
    pub(super) fn on_data(&mut self, segment: &Segment, held: impl FnOnce() -> u64) -> bool {
        // Mostly the window is as large as it may be.
        self.grows && segment.len >= LEAST_SEGMENT && self.grow(held())
    }

    /// Whether the window grows while so many bytes are `held` out of order; the segment that came last is not read yet.
    #[inline(never)]
    fn grow(&mut self, held: u64) -> bool {
        let most = self.room.saturating_sub(held + self.mss);
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
    pub(super) fn on_held(&mut self, span: u64) {
        self.make_room(2 * self.read + span);
    }

    /// A full segment that left at `left` arrived in order: a round trip.
    #[inline]
    pub(super) fn measure(&mut self, now: Time, left: Time) {
        if left == self.measured {
            return;
        }
        self.measured = left;
        let sample = now.since(left.min(now)) + self.back;
        self.rtt = if self.rtt <= sample { self.rtt - self.rtt / 8 + sample / 8 } else { sample };
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
        let window =
            2 * read + (u128::from(4 * read) * u128::from(read - self.read) / u128::from(self.read)) as u64;
        self.make_room(window);
        self.read = read;
    }
}

/// The window for which a buffer of `bytes` has room.
fn window_of(bytes: u64, mss: u64) -> u64 {
    bytes * mss / (mss + OVERHEAD)
}
