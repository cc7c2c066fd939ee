//! Short segments that wait. Source: RFC 896, RFC 9293 §3.7.4; Minshall's variant as in Linux, `tcp_nagle_check`.

use crate::config::Nagle;
use crate::recovery::SequenceSpace;

/// Which short segments wait for an acknowledgement, or for more data.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortSegments {
    rule: Nagle,
    /// End of the last short segment that was sent [B].
    last_end: u64,
}

impl ShortSegments {
    pub(super) fn new(rule: Nagle) -> ShortSegments {
        ShortSegments { rule, last_end: 0 }
    }

    /// From now on `rule` decides.
    pub(super) fn set(&mut self, rule: Nagle) {
        self.rule = rule;
    }

    /// A segment that ends at `end` leaves, shorter than it might have been.
    #[inline]
    pub(super) fn on_sent(&mut self, end: u64) {
        self.last_end = end;
    }

    /// Whether a short segment that would be the next one has to wait. What was sent before never waits.
    pub(super) fn wait(&self, space: &SequenceSpace) -> bool {
        let outstanding = match self.rule {
            Nagle::Off => return false,
            Nagle::Rfc896 => space.max,
            Nagle::Minshall => self.last_end,
        };
        outstanding > space.una && space.nxt == space.max
    }
}
