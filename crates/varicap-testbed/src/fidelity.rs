//! How exactly a run kept real time: measured in every run, never assumed.

use varicap_experiment::histogram::Histogram;
use varicap_units::{Span, Time};

/// The lateness above which a packet counts as late.
pub const LATE: Span = Span::from_millis(1);
/// The lateness of a wake-up above which the machine is taken to have stalled the emulator.
pub const STALL: Span = Span::from_millis(5);

/// The lateness of packets released by the emulator, relative to their ideal times.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// The lateness of each packet [ns].
    pub packets: Histogram,
    /// Packets later than [`LATE`].
    pub late_packets: u64,
    /// The number of times that the emulator was woken later than [`STALL`].
    pub stalls: u64,
    /// The longest lateness of a wake-up.
    pub longest: Span,
}

impl Lateness {
    /// Records that a packet that was due at `due` is released at `now`.
    pub fn on_release(&mut self, due: Time, now: Time) {
        let late = now.since(due);
        self.packets.record(late.as_nanos());
        self.late_packets += u64::from(late > LATE);
        self.longest = self.longest.max(late);
    }

    /// Records that the emulator, which was to be woken at `due`, woke at `now`.
    pub fn on_wake(&mut self, due: Time, now: Time) {
        if !due.is_never() && now > due {
            self.stalls += u64::from(now.since(due) > STALL);
        }
    }

    /// Discards all records, at the end of a warm-up.
    pub fn clear(&mut self) {
        *self = Lateness::default();
    }
}

/// How punctually the thread is woken that writes to the sockets and reads from them: a receiver that reads late acknowledges
/// late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    /// All that were due.
    pub all: u64,
    /// Those more than [`LATE`] late.
    pub late: u64,
}

impl Wakes {
    /// Counts a wake-up that was due at `due` and came at `now`.
    pub fn on_wake(&mut self, due: Time, now: Time) {
        self.all += 1;
        self.late += u64::from(now.since(due) > LATE);
    }
}
