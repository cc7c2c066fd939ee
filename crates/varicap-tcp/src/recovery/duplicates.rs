//! Recovery by duplicate ACKs: Tahoe, Reno (RFC 2581 §3.2) and NewReno (RFC 6582).

use super::{AfterRecovery, AfterTimeout, Kind, Reaction, Recovery, Signal, Space, State};

impl Recovery {
    /// SND.UNA moved up from `before`.
    pub(super) fn on_cumulative(&mut self, space: &Space, before: u64) -> Reaction {
        let recovered = self.recover.is_none_or(|recover| space.una >= recover);
        match self.state {
            State::Recovery if self.kind == Kind::NewReno && !recovered => self.on_partial(space, before),
            State::Recovery => {
                let limit = match self.kind {
                    // RFC 6582 §3.2 (3), option 1: cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS).
                    Kind::NewReno if self.after_recovery == AfterRecovery::FlightSize => {
                        space.flight().max(space.mss) + space.mss
                    }
                    _ => u64::MAX,
                };
                self.open();
                Reaction { rearm: true, signal: Some(Signal::Recovered { limit }), ..Reaction::default() }
            }
            State::Loss if !recovered => {
                self.duplicates = 0;
                self.credit = 0;
                // FirstHole: each acknowledgement uncovers the next hole.
                self.head_due = self.after_timeout == AfterTimeout::FirstHole;
                Reaction { grow: true, rearm: true, ..Reaction::default() }
            }
            _ => {
                self.open();
                Reaction { grow: true, rearm: true, ..Reaction::default() }
            }
        }
    }

    fn open(&mut self) {
        self.state = State::Open;
        self.duplicates = 0;
        self.credit = 0;
        self.head_due = false;
    }

    /// RFC 6582 §3.2 (3): new data, but not all of what was sent when recovery began.
    fn on_partial(&mut self, space: &Space, before: u64) -> Reaction {
        let acked = space.una - before;
        self.head_due = true;
        if self.inflates {
            // Deflate by what was acknowledged; add back a segment if it was at least one.
            self.credit -= acked as i64;
            if acked >= space.mss {
                self.credit += space.mss as i64;
            }
        }
        // For the first partial ACK, also reset the retransmit timer (the impatient variant).
        let rearm = !std::mem::replace(&mut self.partial_seen, true);
        Reaction { rearm, ..Reaction::default() }
    }

    /// A duplicate ACK.
    pub(super) fn on_duplicate(&mut self, space: &Space) -> Reaction {
        if self.kind == Kind::OldTahoe {
            return Reaction::default();
        }
        let mss = space.mss as i64;
        if self.state == State::Recovery {
            // RFC 5681 §3.2 (4): inflate by the segment that has left the network.
            self.credit += if self.inflates { mss } else { 0 };
            return Reaction::default();
        }
        if self.duplicates == 0 {
            self.disorder_from = space.nxt;
        }
        self.duplicates += 1;
        if self.duplicates < self.threshold {
            if self.state == State::Open {
                self.state = State::Disorder;
            }
            if self.limited_transmit && self.state == State::Disorder {
                // RFC 3042: a new segment on each of the first duplicate ACKs.
                self.credit = i64::from(self.duplicates) * mss;
            }
            return Reaction::default();
        }
        if self.duplicates > self.threshold || !self.may_fast_retransmit(space) {
            return Reaction::default();
        }
        self.fast_retransmit(space)
    }

    /// RFC 6582 §3.2 (1): the cumulative ACK covers more than what was sent when the last recovery began.
    fn may_fast_retransmit(&self, space: &Space) -> bool {
        self.repeat || self.recover.is_none_or(|recover| space.una > recover)
    }

    fn fast_retransmit(&mut self, space: &Space) -> Reaction {
        let in_flight = self.flight_before_disorder(space);
        self.recover = Some(space.max);
        // The timer starts anew with the retransmission, as in BSD, Linux and ns-2: RFC 6298 would let it run on.
        if self.kind == Kind::Tahoe {
            self.state = State::Loss;
            self.credit = 0;
            let rewind = self.resend_from_hole();
            let signal = Some(Signal::Restart { in_flight });
            return Reaction { rearm: true, signal, rewind, ..Reaction::default() };
        }
        self.state = State::Recovery;
        self.partial_seen = false;
        self.head_due = true;
        // RFC 5681 §3.2 (3): cwnd = ssthresh + 3*SMSS.
        self.credit = if self.inflates { i64::from(self.threshold) * space.mss as i64 } else { 0 };
        Reaction { rearm: true, signal: Some(Signal::Reduce { in_flight }), ..Reaction::default() }
    }
}
