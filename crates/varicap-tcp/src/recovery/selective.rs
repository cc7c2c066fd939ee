//! Recovery by selective acknowledgements. Source: RFC 6675 §5.

use super::{Reaction, Recovery, Signal, Space, State};
use crate::segment::Segment;

impl Recovery {
    /// An acknowledgement that advances SND.UNA, carries SACK blocks, or both.
    pub(super) fn on_selective(&mut self, space: &Space, before: u64, segment: &Segment) -> Reaction {
        let advanced = space.una > before;
        if advanced {
            self.board.advance(before, space.una);
            self.duplicates = 0;
            self.head_due = false;
        }
        let news = segment.sack_count > 0 && self.board.update(space.una, space.max, segment) > 0;
        if news {
            self.board.find_lost(space.una, self.threshold, space.mss);
        }
        let recovered = self.recover.is_none_or(|recover| space.una >= recover);
        let mut reaction = Reaction { rearm: advanced, ..Reaction::default() };
        match self.state {
            State::Recovery if recovered => {
                // RFC 6675 §5 (A): an ACK beyond RecoveryPoint ends it; cwnd already is ssthresh.
                self.settle();
                reaction.signal = Some(Signal::Recovered { limit: u64::MAX });
            }
            State::Recovery => {}
            State::Loss if !recovered => reaction.grow = advanced,
            _ => {
                reaction.grow = advanced;
                self.settle();
                if news {
                    reaction.signal = self.on_news(space);
                    reaction.rearm |= reaction.signal.is_some();
                }
            }
        }
        self.refresh_credit();
        reaction
    }

    /// Outside of recovery: Disorder while the receiver holds something, Open otherwise.
    fn settle(&mut self) {
        self.state = if self.board.is_empty() { State::Open } else { State::Disorder };
    }

    /// A duplicate ACK by RFC 6675 §2: it SACKs data that was not known to have arrived.
    fn on_news(&mut self, space: &Space) -> Option<Signal> {
        if self.duplicates == 0 {
            self.disorder_from = space.nxt;
        }
        self.duplicates += 1;
        // RFC 6675 §5 (1) and (2).
        if self.duplicates < self.threshold && !self.board.is_lost(space.una) {
            return None;
        }
        let in_flight = self.flight_before_disorder(space);
        self.state = State::Recovery;
        self.recover = Some(space.max);
        self.head_due = true;
        self.board.begin(space.una);
        Some(Signal::Reduce { in_flight })
    }

    /// After a timeout all that is not SACKed is lost; the scoreboard is kept. Source: RFC 6675 §5.1.
    pub(super) fn lose_everything(&mut self, space: &Space) {
        if self.board.is_reneged(space.una) {
            self.board.clear();
        }
        self.head_due = false;
        self.board.begin(space.una);
        self.board.declare_lost(space.una, space.max);
        self.refresh_credit();
    }

    pub(super) fn resent(&mut self, from: u64, to: u64) {
        self.board.on_resent(from, to);
        self.refresh_credit();
    }

    fn refresh_credit(&mut self) {
        // Before recovery begins, what left the pipe lets out new data only as limited transmit (RFC 6675 §5 (3)).
        let held = self.state == State::Disorder && !self.limited_transmit;
        self.credit = if held || self.state == State::Open { 0 } else { self.board.outside_pipe() };
    }
}
