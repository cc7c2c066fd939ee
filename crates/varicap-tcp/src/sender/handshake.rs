//! The three-way handshake.

use varicap_units::Time;

/// Whether the connection is open, and how its SYN fares.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) connected: bool,
    /// The SYN must be sent.
    syn_due: bool,
    syn_sent_at: Time,
    /// How often the SYN has timed out.
    expiries: u32,
    /// The answer to the SYN is acknowledged by a segment of its own.
    acknowledges: bool,
    /// That segment, or the acknowledgement of a FIN, must be sent.
    ack_due: bool,
}

impl Handshake {
    /// Begins at `now`, or needs none. It ends with a segment of its own if the sender `acknowledges`, or else with data.
    pub(super) fn new(now: Time, is_needed: bool, acknowledges: bool) -> Handshake {
        Handshake {
            connected: !is_needed,
            syn_due: is_needed,
            syn_sent_at: now,
            expiries: 0,
            acknowledges,
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
        if is_due {
            self.syn_sent_at = now;
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

    /// How often the SYN has timed out.
    pub(super) fn expiries(&self) -> u32 {
        self.expiries
    }

    /// The SYN timed out.
    pub(super) fn on_expiry(&mut self) {
        debug_assert!(!self.connected, "a SYN times out on an open connection");
        self.syn_due = true;
        self.expiries += 1;
    }

    /// The SYN was acknowledged, by a segment that echoes `echo`. Returns when the SYN left, if that is known: after a
    /// loss it is not (Karn's rule), unless timestamps are `exact`.
    pub(super) fn on_answer(&mut self, echo: Time, exact: bool) -> Option<Time> {
        self.connected = true;
        self.ack_due = self.acknowledges;
        self.syn_due = false;
        match self.expiries {
            0 => Some(self.syn_sent_at),
            _ => exact.then_some(echo),
        }
    }
}
