//! What is retransmitted, and when recovery ends. How far the window falls is the congestion control's affair.
//!
//! A recovery sees acknowledgements and expiries and answers with a [`Reaction`]; between them it says what to
//! resend and by how much it stretches the window (`credit`): inflation by duplicate ACKs, or what the
//! scoreboard knows to have left the network.

mod duplicates;
mod scoreboard;
mod selective;

use crate::config::{AfterRecovery, AfterTimeout, Recovery as Kind, TcpConfig};
use crate::segment::Segment;
use scoreboard::Scoreboard;

/// A sender's place in the life of a connection, with Linux's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The handshake is under way.
    Connecting,
    /// Nothing suspicious.
    Open,
    /// Duplicate ACKs or SACK blocks, not enough for a fast retransmit.
    Disorder,
    /// Fast recovery.
    Recovery,
    /// Resending after a timeout, or after Tahoe's fast retransmit.
    Loss,
}

/// Sequence space of a sender [B].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    /// SND.UNA: oldest byte not acknowledged.
    pub(crate) una: u64,
    /// SND.NXT: next byte to send; below `max` while resending from a hole on.
    pub(crate) nxt: u64,
    /// End of what was ever sent.
    pub(crate) max: u64,
    /// Largest payload of a segment [B].
    pub(crate) mss: u64,
}

impl Space {
    /// RFC 5681's FlightSize [B].
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.nxt - self.una
    }
}

/// What the window must do about an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A loss was detected: reduce the window, once.
    Reduce {
        /// FlightSize without what limited transmit sent [B].
        in_flight: u64,
    },
    /// Tahoe: fall to one segment.
    Restart {
        /// As above.
        in_flight: u64,
    },
    /// Recovery is over.
    Recovered {
        /// Most that the window may then be [B].
        limit: u64,
    },
}

/// What the sender must do about an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reaction {
    /// The congestion control may count the newly acknowledged data.
    pub(crate) grow: bool,
    /// The retransmission timer starts anew.
    pub(crate) rearm: bool,
    /// The window must change.
    pub(crate) signal: Option<Signal>,
    /// Send again from SND.UNA on.
    pub(crate) rewind: bool,
}

/// Loss recovery of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    state: State,
    kind: Kind,
    /// By how much the window is stretched (or, after a partial ACK, shortened) [B].
    credit: i64,
    /// The first unacknowledged segment must be sent, whatever the window says.
    head_due: bool,
    /// A partial ACK has come in this recovery.
    partial_seen: bool,
    limited_transmit: bool,
    repeat: bool,
    inflates: bool,
    after_timeout: AfterTimeout,
    after_recovery: AfterRecovery,
    threshold: u32,
    duplicates: u32,
    /// Recovery ends when this is acknowledged: the end of what was sent when it began.
    recover: Option<u64>,
    /// SND.NXT at the first duplicate ACK; what was sent since then is limited transmit's.
    disorder_from: u64,
    /// End of the rescue retransmission, or of the first one (RFC 6675's RescueRxt).
    rescue: u64,
    board: Scoreboard,
}

impl Recovery {
    pub(crate) fn new(config: &TcpConfig) -> Recovery {
        Recovery {
            state: State::Open,
            kind: config.recovery,
            credit: 0,
            head_due: false,
            partial_seen: false,
            limited_transmit: config.limited_transmit,
            repeat: config.repeat_fast_retransmit,
            inflates: config.window_inflation,
            after_timeout: config.after_timeout,
            after_recovery: config.after_recovery,
            threshold: config.duplicate_acks.max(1),
            duplicates: 0,
            recover: None,
            disorder_from: 0,
            rescue: 0,
            board: Scoreboard::default(),
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// By how much the window is stretched [B].
    #[inline]
    pub(crate) fn credit(&self) -> i64 {
        self.credit
    }

    pub(crate) fn is_selective(&self) -> bool {
        self.kind == Kind::Sack
    }

    /// Data in flight: RFC 6675's pipe where there is a scoreboard, FlightSize otherwise [B].
    pub(crate) fn in_flight(&self, space: &Space) -> u64 {
        let outside = if self.is_selective() { self.board.outside_pipe() } else { 0 };
        let pipe = space.flight() as i64 - outside;
        debug_assert!(pipe >= 0, "the pipe holds {pipe} B");
        pipe.max(0) as u64
    }

    /// An acknowledgement arrived that the sender's fast path leaves to recovery. `space` is up to date; SND.UNA
    /// was `before`. `is_duplicate` by RFC 5681 §2.
    pub(crate) fn on_ack(
        &mut self,
        space: &Space,
        before: u64,
        is_duplicate: bool,
        segment: &Segment,
    ) -> Reaction {
        if self.is_selective() {
            self.on_selective(space, before, segment)
        } else if space.una > before {
            self.on_cumulative(space, before)
        } else if is_duplicate {
            self.on_duplicate(space)
        } else {
            Reaction::default()
        }
    }

    /// The retransmission timer expired; true: send again from SND.UNA on.
    pub(crate) fn on_timeout(&mut self, space: &Space) -> bool {
        self.state = State::Loss;
        self.duplicates = 0;
        // RFC 6582 §3.2 (4) and RFC 6675 §5.1: the highest byte sent, so that old duplicates start nothing.
        self.recover = Some(space.max);
        if self.is_selective() {
            self.lose_everything(space);
            return false;
        }
        self.credit = 0;
        self.resend_from_hole()
    }

    fn resend_from_hole(&mut self) -> bool {
        self.head_due = self.after_timeout == AfterTimeout::FirstHole;
        !self.head_due
    }

    /// Whether something may have to be resent.
    #[inline]
    pub(crate) fn is_resending(&self) -> bool {
        self.head_due || matches!(self.state, State::Recovery | State::Loss)
    }

    /// What to resend before any new data, if `room` (of the window) is left for a segment.
    pub(crate) fn next_resend(&mut self, space: &Space, room: bool) -> Option<(u64, u64)> {
        if self.head_due {
            let (from, to) = self.board.first_hole(space.una, space.max, space.mss);
            self.head_due = false;
            if self.is_selective() {
                // RFC 6675 §5 (4.3): HighRxt and RescueRxt are the end of the first retransmission.
                self.rescue = to;
                self.resent(from, to);
            }
            return (from < to).then_some((from, to));
        }
        if !self.is_selective() || !room {
            return None;
        }
        let (from, to) = self.board.next_hole(space.una, space.mss, false)?;
        self.resent(from, to);
        Some((from, to))
    }

    /// What to resend when there is no new data to send, if there is room for a segment.
    pub(crate) fn last_resort(&mut self, space: &Space) -> Option<(u64, u64)> {
        if !self.is_selective() || self.state != State::Recovery {
            return None;
        }
        if let Some((from, to)) = self.board.next_hole(space.una, space.mss, true) {
            self.resent(from, to);
            return Some((from, to));
        }
        // RFC 6675 §4 NextSeg (4): one rescue retransmission per recovery.
        if space.una <= self.rescue {
            return None;
        }
        let hole = self.board.last_hole(space.una, space.max, space.mss)?;
        self.rescue = self.recover.unwrap_or(space.max);
        Some(hole)
    }

    /// FlightSize without what limited transmit sent [B].
    fn flight_before_disorder(&self, space: &Space) -> u64 {
        // RFC 5681 §3.2 (2): what limited transmit sent must not be counted.
        let limited = u64::from(self.threshold - 1) * space.mss;
        space.flight() - space.nxt.saturating_sub(self.disorder_from).min(limited).min(space.flight())
    }
}
