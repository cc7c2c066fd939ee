//! The progress that an acknowledgement shows to RACK, and by which it is judged.

use varicap_units::{Span, Time};

use super::ring::Sent;

/// The moment at which an acknowledgement arrives, as far as the rules need it.
#[derive(Clone, Copy, Debug)]
pub(in crate::recovery) struct Moment {
    pub(in crate::recovery) now: Time,
    /// No RTT is shorter, as far as is known.
    pub(in crate::recovery) least: Span,
    /// When what it echoes was sent; NEVER if that is not known, or not asked for.
    pub(in crate::recovery) echo: Time,
    /// Data below was sent when the current recovery began [B].
    pub(in crate::recovery) recover: u64,
    /// End of the highest segment that was SACKed before [B].
    pub(in crate::recovery) highest: u64,
}

/// When the first and the last of some segments left.
#[derive(Clone, Copy, Debug)]
pub(in crate::recovery) struct Times {
    /// Never: there are none.
    first: Time,
    last: Time,
}

impl Default for Times {
    fn default() -> Times {
        Times { first: Time::NEVER, last: Time::ZERO }
    }
}

impl Times {
    #[inline]
    pub(super) fn add(&mut self, at: Time) {
        (self.first, self.last) = (self.first.min(at), self.last.max(at));
    }

    #[inline]
    pub(in crate::recovery) fn first(&self) -> Option<Time> {
        (!self.first.is_never()).then_some(self.first)
    }

    #[inline]
    pub(in crate::recovery) fn last(&self) -> Option<Time> {
        (!self.first.is_never()).then_some(self.last)
    }
}

/// The progress that an acknowledgement has shown.
#[derive(Clone, Copy, Debug)]
pub(in crate::recovery) struct Progress {
    /// Data newly delivered, cumulatively or selectively [B].
    pub(in crate::recovery) delivered: u64,
    /// Data newly SACKed [B].
    pub(in crate::recovery) sacked: u64,
    /// The segments that were newly acknowledged cumulatively, and never resent.
    pub(in crate::recovery) acked: Times,
    /// The same of those that were newly SACKed.
    pub(in crate::recovery) held: Times,
    /// A segment was acknowledged that had been resent.
    pub(in crate::recovery) acked_resent: bool,
    /// Data of before the recovery arrived that was never resent: the timeout, if it was one, was spurious (RFC 5682).
    pub(in crate::recovery) acked_original: bool,
    /// The lowest segment that arrived after later ones, although it was never resent [B]; [`IN_ORDER`]: none did.
    pub(in crate::recovery) reordered: u64,
}

/// No segment arrived after later ones.
pub(in crate::recovery) const IN_ORDER: u64 = u64::MAX;

impl Default for Progress {
    fn default() -> Progress {
        Progress {
            delivered: 0,
            sacked: 0,
            acked: Times::default(),
            held: Times::default(),
            acked_resent: false,
            acked_original: false,
            reordered: IN_ORDER,
        }
    }
}

impl Progress {
    /// `sent`, which was never resent, was delivered.
    #[inline]
    pub(super) fn note_original(&mut self, sent: &Sent, moment: &Moment) {
        self.acked_original |= sent.to() <= moment.recover;
        if sent.from < moment.highest {
            self.reordered = self.reordered.min(sent.from);
        }
    }
}
