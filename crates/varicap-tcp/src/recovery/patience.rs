//! How long late segments are waited for before they count as lost. Source: RFC 8985 §6.2 step 4.

use varicap_units::Span;

use super::{Clock, Common, Order, Space, State};

/// Most segments by which arrivals may be out of order before no number of them shows a loss at once (Linux's
/// tcp_max_reordering).
const MOST_REORDERING: u64 = 300;

/// Recoveries for which a reordering window stays wide.
const PATIENT_RECOVERIES: u32 = 16;

/// The reordering window, and what has been seen of reordering.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    /// Segments by which arrivals have been out of order; at first the duplicate ACKs that show a loss.
    degree: u32,
    /// What it is at first.
    usual: u32,
    /// How often arrivals have been out of order.
    seen: u32,
    /// Quarters of the least RTT.
    quarters: u32,
    /// Recoveries until it is back at one quarter.
    recoveries_left: u32,
    /// No report of a duplicate widens it before this is acknowledged: the end of what was sent when one did last [B].
    next_round: u64,
}

impl Patience {
    /// No reordering was seen; `degree` duplicates show a loss at once.
    pub(super) fn new(degree: u32) -> Patience {
        Patience { degree, usual: degree, seen: 0, quarters: 1, recoveries_left: 0, next_round: 0 }
    }

    /// Whether nothing is waited for while the receiver holds `sacked` bytes, which are so many `segments`
    /// (RACK_update_reo_wnd).
    pub(super) fn is_over(&self, common: &Common, sacked: u64, segments: impl FnOnce() -> u64) -> bool {
        let degree = u64::from(self.degree);
        let is_recovering = matches!(common.state, State::Recovery | State::Loss);
        // Full segments are counted by their bytes; short ones and a FIN are looked for.
        let is_enough =
            || sacked >= degree * common.mss || !sacked.is_multiple_of(common.mss) && segments() >= degree;
        self.seen == 0 && (is_recovering || is_enough())
    }

    /// The width of the window otherwise.
    pub(super) fn width(&self, clock: Clock) -> Span {
        if clock.least == Span::MAX {
            return Span::ZERO;
        }
        (clock.least / 4).saturating_mul(u64::from(self.quarters)).min(clock.smoothed)
    }

    /// The segment at `from` arrived after one that ends at `highest`.
    pub(super) fn note_reordering(&mut self, from: u64, highest: u64, mss: u64) {
        debug_assert!(from < highest, "{from} is not below {highest}");
        let degree = (highest - from).div_ceil(mss).min(MOST_REORDERING) as u32;
        self.degree = self.degree.max(degree);
        self.seen = self.seen.saturating_add(1);
    }

    /// Arrivals have been so far out of order that waiting for cumulative acknowledgements would hold up the window.
    pub(super) fn is_far_off(&self) -> bool {
        self.degree > self.usual
    }

    /// What has been seen.
    pub(super) fn order(&self) -> Order {
        Order { degree: self.degree, seen: self.seen }
    }

    /// A recovery has ended in earnest.
    pub(super) fn on_recovered(&mut self) {
        self.recoveries_left = self.recoveries_left.saturating_sub(1);
    }

    /// A recovery was undone, since all that it had resent was reported as duplicate.
    pub(super) fn on_repeated(&mut self) {
        self.recoveries_left = (self.recoveries_left + 1).min(PATIENT_RECOVERIES);
    }

    /// A quarter of the least RTT more for each round trip in which the receiver `reported` a duplicate, for sixteen
    /// recoveries; only where arrivals have been out of order, which is what it is for.
    pub(super) fn widen(&mut self, reported: bool, space: &Space) {
        if reported && self.seen > 0 && space.una >= self.next_round {
            self.quarters = (self.quarters + 1).min(255);
            self.next_round = space.nxt.max(space.una + 1);
            self.recoveries_left = PATIENT_RECOVERIES;
        } else if self.recoveries_left == 0 {
            self.quarters = 1;
        }
    }
}
