//! Fast recovery that partial acknowledgements do not end. Source: RFC 6582.

use varicap_units::part::Part;

use super::duplicates::{Duplicates, Family};
use super::{Common, Reaction, SequenceSpace};
use crate::config::AfterRecovery;

/// Reno that resends a segment on each partial acknowledgement.
#[derive(Clone, Debug)]
pub(crate) struct NewReno;

impl Part for NewReno {}

impl Family for NewReno {
    /// RFC 6582 §3.2 (3): new data, but not all of what was sent when recovery began.
    fn on_partial(
        rules: &mut Duplicates<NewReno>,
        common: &mut Common,
        space: &SequenceSpace,
        before: u64,
    ) -> Option<Reaction> {
        let acked = space.una - before;
        rules.lose_head(common, space);
        if rules.inflates {
            // Deflate by what was acknowledged; add back a segment if it was at least one.
            common.credit -= acked as i64;
            if acked >= space.mss {
                common.credit += space.mss as i64;
            }
        }
        // For the first partial ACK, also reset the retransmit timer (the impatient variant).
        let rearm = !std::mem::replace(&mut rules.partial_seen, true);
        Some(Reaction { rearm, ..Reaction::default() })
    }

    fn limit(rules: &Duplicates<NewReno>, space: &SequenceSpace) -> u64 {
        match rules.after_recovery {
            // RFC 6582 §3.2 (3), option 1: cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS).
            AfterRecovery::FlightSize => space.flight().max(space.mss) + space.mss,
            AfterRecovery::Ssthresh => u64::MAX,
        }
    }
}
