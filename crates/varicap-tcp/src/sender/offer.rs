//! The receiver's window: how far it lets the sender go, silly windows, and probes of a closed one. Source: RFC 1122.

use crate::config::LARGEST_WINDOW;
use crate::segment::Segment;

/// The window that the receiver offers, and the need to probe it.
#[derive(Debug)]
pub(super) struct Offer {
    /// Right edge of the window [B]. A receiver should not move it left, and a sender must bear it
    /// (RFC 9293 §3.8.6).
    pub(super) edge: u64,
    /// Largest window offered so far [B], for silly-window avoidance.
    largest: u64,
    /// A window probe must be sent.
    pub(super) probe_due: bool,
    /// Probes that nothing has answered (Linux's `icsk_probes_out`).
    pub(super) probes_out: u32,
}

impl Offer {
    /// `edge` holds from the beginning, `largest` is the receiver's buffer.
    pub(super) fn new(edge: u64, largest: u64) -> Offer {
        Offer { edge, largest, probe_due: false, probes_out: 0 }
    }

    /// The handshake has ended with an offer of `window` bytes.
    pub(super) fn begin(&mut self, window: u32) {
        self.edge = Offer::window_of(window);
        self.largest = self.edge;
    }

    /// The right edge of the window that an acknowledgement offers [B].
    #[inline]
    pub(super) fn of(segment: &Segment) -> u64 {
        segment.ack.saturating_add(Offer::window_of(segment.window))
    }

    /// A window as one that can be advertised: no header says more (RFC 7323 §2.3) [B].
    #[inline]
    fn window_of(window: u32) -> u64 {
        u64::from(window).min(LARGEST_WINDOW.as_u64())
    }

    /// New data was acknowledged.
    #[inline]
    pub(super) fn on_new_data(&mut self, segment: &Segment) {
        self.edge = Offer::of(segment);
        self.probe_due = false;
    }

    /// An acknowledgement of nothing new; whether it opens the window.
    #[inline]
    pub(super) fn on_update(&mut self, segment: &Segment) -> bool {
        self.largest = self.largest.max(Offer::window_of(segment.window));
        let before = std::mem::replace(&mut self.edge, Offer::of(segment));
        self.edge > before
    }

    /// Whether `room`, less than the `len` bytes that could be sent, is worth a segment.
    /// RFC 1122 §4.2.3.4 (3): at least half of the largest window.
    pub(super) fn is_worthwhile(&self, room: u64, len: u64) -> bool {
        room >= len || room * 2 >= self.largest
    }
}
