//! Additions to a segment that leaves, beyond its numbers. Hardly any has some: whether there is any extra at all is noted as they
//! come and go, so that most segments are asked one question.

use varicap_units::Time;

use super::Sender;
use crate::segment::Flags;

impl Sender {
    /// Whether a segment that leaves takes more than its numbers: it is ECN-capable or gives the only sample of its window, a
    /// write of the application may end in it, or the window falls step by step, which it opens.
    fn has_any_extra(&self) -> bool {
        self.ecn.enabled || self.sampling.is_one_per_window() || self.writes.is_some() || self.prr.is_some()
    }

    /// Something has changed by which segments that leave may take more than their numbers.
    pub(super) fn note_extras(&mut self) {
        self.has_extras = self.has_any_extra();
    }

    /// The flags of the bytes of `data`, which leave for the first time if it `is_new`: `flags`, and what they take beyond
    /// their numbers.
    #[inline(always)]
    pub(super) fn with_extras(&mut self, now: Time, data: (u64, u64), flags: Flags, is_new: bool) -> Flags {
        debug_assert_eq!(self.has_extras, self.has_any_extra(), "an extra came or went unnoticed");
        if self.has_extras { self.add_extras(now, data, flags, is_new) } else { flags }
    }

    #[inline(never)]
    fn add_extras(&mut self, now: Time, (from, to): (u64, u64), mut flags: Flags, is_new: bool) -> Flags {
        if is_new {
            flags = self.ecn.flags();
            self.sampling.on_sent(now, to);
        }
        if let Some(prr) = &mut self.prr {
            prr.on_sent(to - from);
        }
        if self.writes.is_none() { flags } else { flags.with(self.push_flag(from, to)) }
    }

    /// Says whether a write of the application ends in a segment.
    #[inline(never)]
    fn push_flag(&self, from: u64, to: u64) -> Flags {
        let end = self.writes.as_ref().and_then(|writes| writes.end_after(from));
        if end.is_some_and(|end| end <= to) { Flags::PUSH } else { Flags::default() }
    }
}
