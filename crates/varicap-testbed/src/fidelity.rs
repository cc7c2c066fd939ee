//! How exactly real time was kept: measured in every run, never assumed.

use varicap_experiment::histogram::Histogram;
use varicap_units::{Span, Time};

/// A packet that is released later than this counts as late.
pub const LATE: Span = Span::from_millis(1);
/// An emulator that wakes later than this was stalled by the machine.
pub const STALL: Span = Span::from_millis(5);

/// How late packets left the emulator, against their ideal times.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// Of each packet [ns].
    pub packets: Histogram,
    /// Packets later than [`LATE`].
    pub late_packets: u64,
    /// Times at which the emulator was woken later than [`STALL`].
    pub stalls: u64,
    /// Longest of all.
    pub longest: Span,
}

impl Lateness {
    /// A packet that was due at `due` is released at `now`.
    pub fn on_release(&mut self, due: Time, now: Time) {
        let late = now.since(due);
        self.packets.record(late.as_nanos());
        self.late_packets += u64::from(late > LATE);
        self.longest = self.longest.max(late);
    }

    /// The emulator wanted to be woken at `due`, and was at `now`.
    pub fn on_wake(&mut self, due: Time, now: Time) {
        if !due.is_never() && now > due {
            self.stalls += u64::from(now.since(due) > STALL);
        }
    }

    /// Forgets what was, at the end of a warm-up.
    pub fn clear(&mut self) {
        *self = Lateness::default();
    }
}
