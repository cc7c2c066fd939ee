//! How long late segments are waited for before they count as lost. Source: RFC 8985 §6.2 step 4.

use varicap_units::Span;

use super::{Clock, Common, Order, SequenceSpace, State};

/// Most segments by which arrivals may be out of order before no number of them shows a loss at once (Linux's
/// tcp_max_reordering).
const MAX_REORDERING: u64 = 300;

/// Recoveries for which a reordering window stays wide.
const REO_WND_PERSIST: u32 = 16;

/// The reordering window, and what has been seen of reordering.
#[derive(Clone, Debug)]
pub(super) struct ReorderingWindow {
    /// Segments by which arrivals have been out of order; at first the duplicate ACKs that show a loss.
    reordering: u32,
    /// Its initial value.
    initial_reordering: u32,
    /// How often arrivals have been out of order.
    reord_seen: u32,
    /// Quarters of the least RTT.
    reo_wnd_mult: u32,
    /// Recoveries until it is back at one quarter.
    reo_wnd_persist: u32,
    /// No report of a duplicate widens it before this is acknowledged: the end of what was sent when one did last [B].
    dsack_round: u64,
}

impl ReorderingWindow {
    /// No reordering was seen; `reordering` duplicates show a loss at once.
    pub(super) fn new(reordering: u32) -> ReorderingWindow {
        ReorderingWindow {
            reordering,
            initial_reordering: reordering,
            reord_seen: 0,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            dsack_round: 0,
        }
    }

    /// Whether nothing is waited for while the receiver holds `sacked` bytes, which are so many `segments`
    /// (RACK_update_reo_wnd).
    pub(super) fn is_zero(&self, common: &Common, sacked: u64, segments: impl FnOnce() -> u64) -> bool {
        let reordering = u64::from(self.reordering);
        let is_recovering = matches!(common.state, State::Recovery | State::Loss);
        // Full segments are counted by their bytes; short ones and a FIN are looked for.
        let is_enough = || {
            sacked >= reordering * common.mss
                || !sacked.is_multiple_of(common.mss) && segments() >= reordering
        };
        self.reord_seen == 0 && (is_recovering || is_enough())
    }

    /// The width of the window otherwise.
    pub(super) fn reo_wnd(&self, clock: Clock) -> Span {
        if clock.least == Span::MAX {
            return Span::ZERO;
        }
        (clock.least / 4).saturating_mul(u64::from(self.reo_wnd_mult)).min(clock.smoothed)
    }

    /// The segment at `from` arrived after one that ends at `highest`.
    pub(super) fn note_reordering(&mut self, from: u64, highest: u64, mss: u64) {
        debug_assert!(from < highest, "{from} is not below {highest}");
        let reordering = (highest - from).div_ceil(mss).min(MAX_REORDERING) as u32;
        self.reordering = self.reordering.max(reordering);
        self.reord_seen = self.reord_seen.saturating_add(1);
    }

    /// Arrivals have been so far out of order that waiting for cumulative acknowledgements would hold up the window.
    pub(super) fn exceeds_initial(&self) -> bool {
        self.reordering > self.initial_reordering
    }

    /// The reordering that has been seen.
    pub(super) fn seen_reordering(&self) -> Order {
        Order { degree: self.reordering, seen: self.reord_seen }
    }

    /// A recovery has ended in earnest.
    pub(super) fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }

    /// A recovery was undone, since all that it had resent was reported as duplicate.
    pub(super) fn on_repeated(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }

    /// A quarter of the least RTT more for each round trip in which the receiver `reported` a duplicate, for sixteen
    /// recoveries; only where arrivals have been out of order, which is what it is for.
    pub(super) fn update(&mut self, reported: bool, space: &SequenceSpace) {
        if reported && self.reord_seen > 0 && space.una >= self.dsack_round {
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(255);
            self.dsack_round = space.nxt.max(space.una + 1);
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }
}
