//! Frames that a link carries, and the reports of a link.

use varicap_units::{Bytes, Rate, Span, Time};

/// The ECN field of an IP header. Source: RFC 3168 §5; RFC 9331 §4.1 on ECT(1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codepoint {
    /// Its transport is not ECN-capable.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, with congestion controls that scale (L4S).
    Ect1 = 0b01,
    /// ECN-capable.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Codepoint {
    /// Whether a queue can mark such a frame.
    pub fn is_capable(self) -> bool {
        self != Codepoint::NotEct
    }

    /// Whether low latency is asked for: ECT(1), or CE, which may have been ECT(1). Source: RFC 9331 §5.1.
    pub fn is_l4s(self) -> bool {
        self as u8 & 1 != 0
    }

    /// Its name in the RFCs.
    pub fn name(self) -> &'static str {
        match self {
            Codepoint::NotEct => "not-ECT",
            Codepoint::Ect1 => "ECT(1)",
            Codepoint::Ect0 => "ECT(0)",
            Codepoint::Ce => "CE",
        }
    }
}

/// A frame that a link carries: a handle of a simulated segment, or real bytes.
pub trait Frame: Clone {
    /// Size on the wire, headers included [B].
    fn wire_size(&self) -> Bytes;
    /// Marks it as having experienced congestion; false if it is not ECN-capable.
    fn mark_ce(&mut self) -> bool;
    /// Its ECN field, [`Codepoint::Ce`] once it is marked.
    fn codepoint(&self) -> Codepoint {
        Codepoint::NotEct
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
    /// Damages it: its receiver will not take it, as a checksum gives it away.
    fn damage(&mut self) {}
    /// A number for its connection and direction: no two that pass a link at a time have the same.
    fn flow(&self) -> u32 {
        0
    }
    /// Its flow group, a place in [`LinkParts::groups`](crate::LinkParts::groups).
    fn group(&self) -> u16 {
        0
    }
}

/// The frames that wait at a link; the frame in service is not included.
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
    /// It did not conform to its reservation, or to the rate of a policer, which lets nothing else in; or no shaper's bucket
    /// could ever hold its tokens.
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

/// The reports of a link that plans its departures ([`Link::plan_departures`](crate::Link::plan_departures)) about the time after now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// The frames that wait now.
    pub waiting: Backlog,
    /// Integral over time of the frames that will wait, of those inside [frames ns].
    pub frame_time: u128,
    /// The same of their bytes [B ns].
    pub byte_time: u128,
}

/// An observer of a link, to which it reports in order of time. A link that plans its departures has five reports of its
/// own: it tells how long a frame will wait as it arrives, and of its departure later, instead of
/// [`Watch::on_arrival`] and [`Watch::on_departure`]. Observers never change what happens.
pub trait Watch<F> {
    /// A frame was offered to the link, which held `backlog` before it.
    fn on_arrival(&mut self, _at: Time, _frame: &F, _backlog: Backlog) {}
    /// A frame was lost. Every loss leaves through here.
    fn on_lost(&mut self, lost: Lost<F>);
    /// A frame that is through the server comes twice: its owner gives a copy, which is a frame of its own; without one it
    /// comes once.
    fn on_copied(&mut self, _at: Time, _frame: &F) -> Option<F> {
        None
    }
    /// A frame that is through the server has been damaged ([`Frame::damage`]).
    fn on_damaged(&mut self, _at: Time, _frame: &F) {}
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
    /// A frame was offered to a link that plans departures.
    fn on_offered(&mut self) {}
    /// That frame, of `size`, will wait for `wait`.
    fn on_planned(&mut self, _wait: Span, _size: Bytes) {}
    /// At that, `backlog` will wait. Returns how much may wait before this is to be reported again: the most that did, if
    /// nothing else is of interest. It is asked again after [`Watch::on_reported`].
    fn on_waiting(&mut self, _backlog: Backlog) -> Backlog {
        Backlog::default()
    }
    /// A frame that arrived at `arrived` has left the server as planned, at `at` or before now.
    fn on_passed(&mut self, _at: Time, _arrived: Time, _frame: &F) {}
    /// All departures up to now were told; of the plans `ahead` is still to come.
    fn on_reported(&mut self, _ahead: Ahead) {}
}
