//! The three-way handshake.

use varicap_units::Time;

use crate::config::{AfterLostSyn, TcpConfig};

/// The state of the handshake and of its SYN.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) connected: bool,
    /// The connection was given up, before it was open or later.
    pub(super) gave_up: bool,
    /// The SYN must be sent.
    syn_due: bool,
    /// When the first SYN left and, once the connection is open, when its timer expired first of several times in a row: Linux has
    /// one stamp for both, too.
    pub(super) retrans_stamp: Time,
    /// The cost of its loss.
    after_loss: AfterLostSyn,
    /// How often the SYN has timed out.
    expiries: u16,
    /// The size of its options beyond those of other segments [B].
    pub(super) syn_options: u16,
    /// The answer to the SYN is acknowledged by a segment of its own.
    acknowledges: bool,
    /// The third segment, or the acknowledgement of a FIN, must be sent.
    ack_due: bool,
}

impl Handshake {
    /// Begins at `now`, or needs none, as `config` says.
    pub(super) fn new(now: Time, config: &TcpConfig) -> Handshake {
        Handshake {
            connected: !config.handshake,
            gave_up: false,
            syn_due: config.handshake,
            retrans_stamp: now,
            after_loss: config.after_lost_syn,
            expiries: 0,
            syn_options: config.options_of_syn(),
            acknowledges: config.handshake_ack,
            ack_due: false,
        }
    }

    /// Whether it is over, with all of its segments sent.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.connected && !self.ack_due
    }

    /// Whether the SYN must be sent; it is, now.
    pub(super) fn take_syn(&mut self, now: Time) -> bool {
        let is_due = std::mem::take(&mut self.syn_due);
        if is_due && self.expiries == 0 {
            self.retrans_stamp = now;
        }
        is_due
    }

    /// Whether a bare acknowledgement must be sent, of the answer to the SYN or of a FIN; it is, now.
    pub(super) fn take_ack(&mut self) -> bool {
        std::mem::take(&mut self.ack_due)
    }

    /// A segment of the other side must be acknowledged by one of its own.
    pub(super) fn owe_ack(&mut self) {
        self.ack_due = true;
    }

    /// Whether a SYN has timed out.
    pub(super) fn was_lost(&self) -> bool {
        self.expiries > 0
    }

    /// Whether the connection starts with a window of one segment, after an answer that echoes `echo`, the time of the SYN that
    /// is answered if timestamps are `exact`.
    pub(super) fn costs_window(&self, echo: Time, exact: bool) -> bool {
        match self.after_loss {
            AfterLostSyn::OneSegment => self.expiries > 0,
            AfterLostSyn::Linux => self.expiries > 1 && !(exact && echo == self.retrans_stamp),
        }
    }

    /// The connection is given up: nothing is sent any more.
    pub(super) fn give_up(&mut self) {
        (self.connected, self.gave_up) = (false, true);
        (self.syn_due, self.ack_due) = (false, false);
    }

    /// How often the SYN has timed out.
    pub(super) fn expiries(&self) -> u32 {
        self.expiries.into()
    }

    /// The SYN timed out.
    pub(super) fn on_expiry(&mut self) {
        debug_assert!(!self.connected, "a SYN times out on an open connection");
        self.syn_due = true;
        self.expiries = self.expiries.saturating_add(1);
    }

    /// The SYN was acknowledged, by a segment that echoes `echo`. Returns when the SYN left, if that is known: after a
    /// loss it is not (Karn's rule), unless timestamps are `exact`.
    pub(super) fn on_answer(&mut self, echo: Time, exact: bool) -> Option<Time> {
        self.connected = true;
        self.ack_due = self.acknowledges;
        self.syn_due = false;
        match self.expiries {
            0 => Some(self.retrans_stamp),
            _ => exact.then_some(echo),
        }
    }
}
