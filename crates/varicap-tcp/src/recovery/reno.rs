//! Fast retransmit and fast recovery; the first new acknowledgement ends it. Source: RFC 2581 §3.2.

use varicap_units::part::{OnKernel, Part};

use super::duplicates::Family;

/// The family as it is.
#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl Part for Reno {
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Nearly(
            "recovery = reno runs as newreno: Linux stays in recovery on partial acknowledgements",
        )
    }
}

impl Family for Reno {}
