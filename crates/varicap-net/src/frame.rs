//! What a link carries, and what it reports.

use varicap_units::{Bytes, Rate, Time};

/// What a link carries: a handle of a simulated segment, or real bytes.
pub trait Frame {
    /// Size on the wire, headers included [B].
    fn wire_size(&self) -> Bytes;
    /// Marks it as having experienced congestion; false if it is not ECN-capable.
    fn mark_ce(&mut self) -> bool;
    /// Whether [`Frame::mark_ce`] can mark it.
    fn is_ecn_capable(&self) -> bool {
        false
    }
    /// Whether it carries no data of its own: an acknowledgement, a handshake.
    fn is_control(&self) -> bool {
        false
    }
    /// Whether it conforms to a reservation ([minrate]'s marked packets).
    fn is_reserved(&self) -> bool {
        false
    }
    /// Records whether it conforms to a reservation.
    fn set_reserved(&mut self, _reserved: bool) {}
    /// A number for its connection and direction: no two that pass a link at a time have the same.
    fn flow(&self) -> u32 {
        0
    }
    /// Its flow group, a place in [`LinkParts::groups`](crate::LinkParts::groups).
    fn group(&self) -> u16 {
        0
    }
}

/// What waits at a link; the frame in service is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Frames waiting.
    pub frames: u32,
    /// Bytes waiting [B].
    pub bytes: Bytes,
}

/// Why a frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// The queue was full.
    Overflow,
    /// An active queue management dropped it early.
    Aqm,
    /// The channel lost it.
    Channel,
    /// It did not conform to its reservation, and the link that polices it lets nothing else in.
    Policed,
}

/// A lost frame: when, why, and the frame itself, so that its owner can recycle it.
#[derive(Clone, Debug)]
pub struct Lost<F> {
    /// When it was lost.
    pub at: Time,
    /// Why it was lost.
    pub cause: LossCause,
    /// The lost frame.
    pub frame: F,
}

/// An observer of a link, to which it reports in order of time. Observers never change what happens.
pub trait Watch<F> {
    /// A frame was offered to the link, which held `backlog` before it.
    fn on_arrival(&mut self, _at: Time, _frame: &F, _backlog: Backlog) {}
    /// A frame was lost. Every loss leaves through here.
    fn on_lost(&mut self, lost: Lost<F>);
    /// A queue marked a frame (ECN).
    fn on_mark(&mut self, _at: Time, _frame: &F) {}
    /// A frame that arrived at `arrived` left the server; `backlog` is what still waits.
    fn on_departure(&mut self, _at: Time, _arrived: Time, _frame: &F, _backlog: Backlog) {}
    /// The frame that departs next takes no capacity: it passes by the queue and the server.
    fn on_bypass(&mut self, _at: Time, _frame: &F) {}
    /// From `at` on `backlog` waits, because frames went from there into service, or waited at a server that is idle:
    /// that is reported where it follows neither from an arrival nor from a departure.
    fn on_backlog(&mut self, _at: Time, _backlog: Backlog) {}
    /// From `at` on the link offers `rate`.
    fn on_capacity(&mut self, _at: Time, _rate: Rate) {}
    /// The capacity changes at `at`, yet the frame in service keeps `rate` until it ends at `until`.
    fn on_rate_kept(&mut self, _at: Time, _rate: Rate, _until: Time) {}
    /// A link with ARQ began to send a link-layer packet; `is_again` if it had been lost before.
    fn on_transmission(&mut self, _at: Time, _is_again: bool) {}
    /// A delivery opportunity of `offered` bytes passed, of which `used` were used.
    fn on_opportunity(&mut self, _at: Time, _offered: Bytes, _used: Bytes) {}
}
