//! Reductions of the window that were uncalled-for. Source: RFC 3708 (D-SACK), RFC 4015 (Eifel), as Linux joins them.

use varicap_units::Time;

use super::flight::in_millis;
use crate::segment::Segment;

/// The evidence that would show that the last reduction of the window answered no loss.
#[derive(Clone, Debug)]
pub(super) struct UndoMarker {
    is_enabled: bool,
    /// Timestamps say which transmission an acknowledgement answers.
    is_exact: bool,
    /// SND.UNA at the reduction that may be undone [B].
    from: Option<u64>,
    /// Retransmissions since then that were not reported as duplicates; none: nothing was resent.
    unrepeated: Option<u64>,
    /// When the first retransmission left.
    resent_at: Option<Time>,
    /// Whether the window may be restored: no mark has confirmed the congestion.
    restores: bool,
}

impl UndoMarker {
    pub(super) fn new(is_enabled: bool, is_exact: bool) -> UndoMarker {
        UndoMarker { is_enabled, is_exact, from: None, unrepeated: None, resent_at: None, restores: false }
    }

    /// Whether timestamps say which transmission an acknowledgement answers.
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The window falls, with SND.UNA at `una` and `resent` retransmissions in flight.
    pub(super) fn begin(&mut self, una: u64, resent: u64, restores: bool) {
        self.from = self.is_enabled.then_some(una);
        self.unrepeated = (resent > 0).then_some(resent);
        self.restores = restores;
    }

    /// There is nothing left to undo; whether the window may be restored.
    pub(super) fn end(&mut self) -> bool {
        self.from = None;
        self.restores
    }

    /// A mark confirms the congestion.
    pub(super) fn spoil(&mut self) {
        self.restores = false;
    }

    /// A segment leaves again.
    pub(super) fn on_resent(&mut self, now: Time) {
        self.resent_at.get_or_insert(now);
        self.unrepeated = Some(self.unrepeated.unwrap_or(0) + 1);
    }

    /// No retransmission is under way.
    pub(super) fn forget_resent(&mut self) {
        self.resent_at = None;
    }

    /// The receiver had `segments` up to `end` already.
    pub(super) fn on_repeated(&mut self, end: u64, segments: u64) {
        if self.from.is_some_and(|from| end > from) {
            self.unrepeated = self.unrepeated.map(|count| count.saturating_sub(segments));
        }
    }

    /// All that was resent was reported as duplicate.
    pub(super) fn is_all_repeated(&self) -> bool {
        self.from.is_some() && self.unrepeated == Some(0)
    }

    /// The acknowledgement answers what left before the first retransmission.
    pub(super) fn is_late(&self, segment: &Segment) -> bool {
        let is_older = |resent: Time| in_millis(segment.echo) < in_millis(resent);
        self.from.is_some() && self.is_exact && self.resent_at.is_some_and(is_older)
    }

    /// The reduction was uncalled-for.
    pub(super) fn is_spurious(&self, segment: &Segment) -> bool {
        self.is_all_repeated() || self.is_late(segment)
    }
}
