//! Timeouts only, as before 1988.

use varicap_units::part::{OnKernel, Part};

use super::duplicates::Family;

/// No fast retransmit.
#[derive(Clone, Debug)]
pub(crate) struct OldTahoe;

impl Part for OldTahoe {
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("Linux always has fast retransmit: simulator only")
    }
}

impl Family for OldTahoe {
    const HEEDS_DUPLICATES: bool = false;
}
