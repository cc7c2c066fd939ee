//! The values that a sender and its recovery exchange.

use varicap_units::{Span, Time};

use super::State;
use crate::segment::Segment;

/// Sequence space of a sender [B].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceSpace {
    /// SND.UNA: oldest byte not acknowledged.
    pub(crate) una: u64,
    /// SND.NXT: next byte to send; below `max` while resending from a hole on.
    pub(crate) nxt: u64,
    /// End of what was ever sent.
    pub(crate) max: u64,
    /// Largest payload of a segment [B].
    pub(crate) mss: u64,
}

impl SequenceSpace {
    /// RFC 5681's FlightSize [B].
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Whether the three edges are in order.
    pub(crate) fn is_sound(&self) -> bool {
        self.una <= self.nxt && self.nxt <= self.max
    }

    /// The first unacknowledged segment.
    pub(super) fn head(&self) -> (u64, u64) {
        (self.una, (self.una + self.mss).min(self.max))
    }
}

/// The change of the window that an acknowledgement calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A loss was detected: reduce the window, once.
    Reduce {
        /// FlightSize without what limited transmit sent [B].
        in_flight: u64,
    },
    /// Tahoe: fall to one segment.
    Restart {
        /// As above.
        in_flight: u64,
    },
    /// A loss was detected while the window falls already.
    Resume,
    /// A tail loss probe repaired a loss: reduce the window, for nothing is left to recover.
    TailRepaired {
        /// FlightSize [B].
        in_flight: u64,
    },
    /// A mark was echoed: reduce the window, once in a window of data.
    Mark,
    /// Recovery is over.
    Recovered {
        /// Most that the window may then be [B].
        limit: u64,
    },
    /// The last reduction was uncalled-for.
    Undone {
        /// Whether the window becomes what it was before.
        restores: bool,
    },
}

/// The sender's reaction to an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reaction {
    /// The congestion control may count the newly acknowledged data.
    pub(crate) grow: bool,
    /// The retransmission timer starts anew.
    pub(crate) rearm: bool,
    /// The window must change.
    pub(crate) signal: Option<Signal>,
    /// The window must change in these ways, in this order, before the acknowledgement opens it.
    pub(crate) first: [Option<Signal>; 3],
    /// Send again from SND.UNA on.
    pub(crate) rewind: bool,
    /// Data newly delivered, where the recovery keeps a record of each segment [B].
    pub(crate) delivered: u64,
    /// When the first segment left that gives an RTT sample, where the recovery knows.
    pub(crate) timed: Option<Time>,
    /// The same of the last such segment, which left later if several were waiting for the acknowledgement.
    pub(crate) last_timed: Option<Time>,
    /// Whether the first one was acknowledged cumulatively.
    pub(crate) covers_timed: bool,
    /// How long until what is late is lost, if nothing arrives.
    pub(crate) reorder_after: Option<Span>,
}

impl Reaction {
    /// Adds a change of the window.
    pub(super) fn say(&mut self, signal: Signal) {
        let free = self.first.iter_mut().find(|place| place.is_none());
        debug_assert!(free.is_some(), "{signal:?} after {:?}", self.first);
        if let Some(place) = free {
            *place = Some(signal);
        }
    }
}

/// The time of an acknowledgement or an expiry, and what is known of the round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Time,
    /// Least RTT seen; longer than every RTT before there is a sample.
    pub(crate) least: Span,
    /// Smoothed RTT; the same.
    pub(crate) smoothed: Span,
}

impl Clock {
    /// The same, with the round trip of what left at `timed` and was just delivered.
    #[inline]
    pub(super) fn with(self, timed: Option<Time>) -> Clock {
        let least = timed.map_or(self.least, |at| self.least.min(self.now.since(at)));
        let smoothed = if self.smoothed == Span::MAX { least } else { self.smoothed };
        Clock { least, smoothed, ..self }
    }
}

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    pub(crate) now: Time,
    /// The state in which it expired.
    pub(super) before: State,
    /// Whether it expired before without new data being acknowledged since.
    pub(crate) again: bool,
    /// The window fell for this flight already.
    pub(crate) holds_threshold: bool,
}

/// An acknowledgement as recovery sees it; the sequence space is up to date.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// SND.UNA before it.
    pub(crate) before: u64,
    /// Whether it repeats the last one and has no SACK blocks.
    pub(crate) says_nothing: bool,
    /// Whether it is a duplicate by RFC 5681 §2, SACK blocks or not, even if they report a duplicate (RFC 2883).
    pub(crate) is_duplicate: bool,
    /// Whether it echoes a mark that counts as congestion.
    pub(crate) is_marked: bool,
    pub(crate) clock: Clock,
    /// The acknowledgement itself.
    pub(crate) segment: &'a Segment,
}

/// The state of the data above SND.UNA according to a scoreboard, as Linux's `TCP_INFO` counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beliefs {
    /// Held by the receiver [B].
    pub sacked: u64,
    /// Lost, whether it was resent or not [B].
    pub lost: u64,
    /// Resent, and neither SACKed nor acknowledged since [B].
    pub resent: u64,
}

/// The reordering that a sender has seen in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Segments by which arrivals have been out of order; at first the duplicate ACKs that show a loss.
    pub degree: u32,
    /// How often they were out of order.
    pub seen: u32,
}

/// The data that the receiver is known to hold above SND.UNA, or that has left the network otherwise; nothing without a scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// SACKed data [B].
    pub(super) sacked: u64,
    /// Data that left the pipe before it is acknowledged, less what was put there twice [B].
    pub(super) outside_pipe: i64,
}
