//! Fast retransmit, then slow start. Source: [jacobson88].

use varicap_units::part::{OnKernel, Part};

use super::duplicates::{Duplicates, Family};
use super::{Common, Reaction, SequenceSpace, Signal, State};
use crate::config::TahoeResends;

/// Duplicate ACKs are treated as a timeout.
#[derive(Clone, Debug)]
pub(crate) struct Tahoe;

impl Part for Tahoe {
    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("Linux always has fast recovery: simulator only")
    }
}

impl Family for Tahoe {
    /// Tahoe goes back over data that is in flight already. When the first copies have all been acknowledged, the second
    /// ones are answered by duplicates; a fast retransmit in answer to them goes back again, and so on indefinitely.
    const REPEATS_AT_RECOVER: bool = false;

    fn begin(
        rules: &mut Duplicates<Tahoe>,
        common: &mut Common,
        _space: &SequenceSpace,
        in_flight: u64,
    ) -> Reaction {
        common.state = State::Loss;
        common.credit = 0;
        let rewind = match rules.tahoe_resends {
            TahoeResends::GoBackN => rules.resend_from_hole(common),
            TahoeResends::LostSegment => {
                common.head_due = true;
                false
            }
        };
        Reaction { rearm: true, signal: Some(Signal::Restart { in_flight }), rewind, ..Reaction::default() }
    }
}
