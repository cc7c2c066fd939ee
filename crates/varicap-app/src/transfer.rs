//! One transfer of a given size.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Bytes, JsonSchema, Time};

use crate::{Application, Feeding, Offer, Start};

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Amount of data to transfer.
    pub size: Bytes,
}

impl Part for Transfer {
    fn check(&self) -> Checked {
        part::size("size", self.size)
    }
}

impl Application for Transfer {
    type Feed = Whole;

    fn feed(&self, start: &Start<'_>) -> Whole {
        Whole::new(self.size, start.at)
    }

    fn packets(&self, mss: f64, _: f64) -> f64 {
        packets_of(self.size, mss)
    }
}

/// How many packets with `mss` bytes of data carry a transfer of `size`, and the one that ends it.
pub(crate) fn packets_of(size: Bytes, mss: f64) -> f64 {
    size.as_u64() as f64 / mss + 1.0
}

/// A transfer that is offered as a whole when its connection opens, and then ends.
#[derive(Debug)]
pub struct Whole {
    size: Bytes,
    due: Time,
    is_written: bool,
}

impl Whole {
    /// A transfer of `size` that begins at `start`.
    pub fn new(size: Bytes, start: Time) -> Whole {
        Whole { size, due: start, is_written: false }
    }
}

impl Feeding for Whole {
    fn poll(&mut self, now: Time) -> Option<Offer> {
        if now < self.due {
            return None;
        }
        if std::mem::replace(&mut self.is_written, true) {
            self.due = Time::NEVER;
            return Some(Offer::End);
        }
        Some(Offer::Write(self.size))
    }

    fn poll_at(&self) -> Time {
        self.due
    }

    fn size(&self) -> Option<Bytes> {
        Some(self.size)
    }
}
