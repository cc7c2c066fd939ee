//! What is retransmitted, and when recovery ends. How far the window falls is the congestion control's affair.
//!
//! A recovery sees acknowledgements and expiries and answers with a [`Reaction`]; between them it says what to
//! resend and by how much it stretches the window (`credit`): inflation by duplicate ACKs, or what the
//! scoreboard knows to have left the network. A recovery is a file and a line in the registry: either one of the
//! family that counts duplicate ACKs ([`duplicates`]), or [`Rules`] of its own, such as [`sack`].

mod duplicates;
mod newreno;
mod old_tahoe;
mod reno;
mod sack;
mod scoreboard;
mod tahoe;

use crate::config::TcpConfig;
use crate::segment::Segment;
use duplicates::Duplicates;

/// The registry of recoveries: the choice in a scenario file, and the static dispatch to the chosen rules. A line names
/// the unit struct that answers for the choice, and the rules that run it.
macro_rules! recoveries {
    ($( $Variant:ident [$unit:path] runs $Rules:ty = $name:literal, $doc:literal; )+) => {
        varicap_units::parts! {
            /// What is retransmitted, and when recovery ends.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
            pub enum Recovery {
                $( $Variant[$unit] = $name, $doc; )+
            }
        }

        impl Recovery {
            /// Whether it uses selective acknowledgements.
            pub fn is_selective(self) -> bool {
                match self { $( Recovery::$Variant => <$Rules as Rules>::SELECTIVE, )+ }
            }
        }

        /// The rules of the chosen recovery.
        #[derive(Clone, Debug)]
        enum Chosen {
            $( $Variant($Rules), )+
        }

        impl Chosen {
            fn new(config: &TcpConfig) -> Chosen {
                match config.recovery { $( Recovery::$Variant => Chosen::$Variant(Rules::new(config)), )+ }
            }
            fn on_ack(&mut self, common: &mut Common, space: &Space, arrival: &Arrival<'_>) -> Reaction {
                match self { $( Chosen::$Variant(rules) => rules.on_ack(common, space, arrival), )+ }
            }
            fn on_timeout(&mut self, common: &mut Common, space: &Space) -> bool {
                match self { $( Chosen::$Variant(rules) => rules.on_timeout(common, space), )+ }
            }
            fn next_resend(&mut self, common: &mut Common, space: &Space, room: bool) -> Option<(u64, u64)> {
                match self { $( Chosen::$Variant(rules) => rules.next_resend(common, space, room), )+ }
            }
            fn last_resort(&mut self, common: &mut Common, space: &Space) -> Option<(u64, u64)> {
                match self { $( Chosen::$Variant(rules) => rules.last_resort(common, space), )+ }
            }
            fn held(&self) -> Held {
                match self { $( Chosen::$Variant(rules) => rules.held(), )+ }
            }
            fn beliefs(&self) -> Option<Beliefs> {
                match self { $( Chosen::$Variant(rules) => rules.beliefs(), )+ }
            }
        }
    };
}

recoveries! {
    OldTahoe[old_tahoe::OldTahoe] runs Duplicates<old_tahoe::OldTahoe> = "old-tahoe",
        "Timeouts only: no fast retransmit.";
    Tahoe[tahoe::Tahoe] runs Duplicates<tahoe::Tahoe> = "tahoe", "Fast retransmit, then slow start.";
    Reno[reno::Reno] runs Duplicates<reno::Reno> = "reno",
        "Fast retransmit and fast recovery with window inflation. Source: RFC 2581 §3.2.";
    NewReno[newreno::NewReno] runs Duplicates<newreno::NewReno> = "newreno",
        "Reno that stays in recovery on partial acknowledgements. Source: RFC 6582.";
    Sack[sack::Sack] runs sack::Selective = "sack", "Selective acknowledgements with a scoreboard. Source: RFC 6675.";
}

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

    /// Whether the three edges are in order.
    pub(crate) fn is_sound(&self) -> bool {
        self.una <= self.nxt && self.nxt <= self.max
    }

    /// The first unacknowledged segment.
    fn head(&self) -> (u64, u64) {
        (self.una, (self.una + self.mss).min(self.max))
    }
}

/// The change of the window that an acknowledgement calls for.
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

/// The sender's reaction to an acknowledgement.
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

/// An acknowledgement as recovery sees it; the sequence space is up to date.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// SND.UNA before it.
    pub(crate) before: u64,
    /// Whether it is a duplicate by RFC 5681 §2.
    pub(crate) is_duplicate: bool,
    /// The acknowledgement itself.
    pub(crate) segment: &'a Segment,
}

/// What a scoreboard believes of the data above SND.UNA, as Linux's `TCP_INFO` counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beliefs {
    /// Held by the receiver [B].
    pub sacked: u64,
    /// Lost, whether it was resent or not [B].
    pub lost: u64,
    /// Resent, and neither SACKed nor acknowledged since [B].
    pub resent: u64,
}

/// What the receiver is known to hold above SND.UNA, and what has left the network otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// SACKed data [B].
    sacked: u64,
    /// What left the pipe before it is acknowledged, less what was put there twice [B].
    outside_pipe: i64,
}

/// The rules of a recovery. What all have in common is handed to them.
trait Rules {
    /// Whether the receiver must send SACK blocks.
    const SELECTIVE: bool = false;

    /// Rules as `config` sets them.
    fn new(config: &TcpConfig) -> Self;
    /// An acknowledgement arrived that the sender's fast path leaves to recovery.
    fn on_ack(&mut self, common: &mut Common, space: &Space, arrival: &Arrival<'_>) -> Reaction;
    /// The retransmission timer expired; true: send again from SND.UNA on.
    fn on_timeout(&mut self, common: &mut Common, space: &Space) -> bool;
    /// What to resend before any new data, if `room` (of the window) is left for a segment.
    fn next_resend(&mut self, common: &mut Common, space: &Space, room: bool) -> Option<(u64, u64)>;
    /// What to resend when there is no new data to send, if there is room for a segment.
    fn last_resort(&mut self, _common: &mut Common, _space: &Space) -> Option<(u64, u64)> {
        None
    }
    /// How much the receiver holds, and how much has left the network otherwise; nothing without a scoreboard.
    fn held(&self) -> Held {
        Held::default()
    }
    /// What it believes of the data in flight, if it has a scoreboard.
    fn beliefs(&self) -> Option<Beliefs> {
        None
    }
}

/// What every recovery has, and the sender reads for each segment.
#[derive(Clone, Debug)]
struct Common {
    state: State,
    /// By how much the window is stretched (or, after a partial ACK, shortened) [B].
    credit: i64,
    /// The first unacknowledged segment must be sent, whatever the window says.
    head_due: bool,
    limited_transmit: bool,
    threshold: u32,
    duplicates: u32,
    /// Recovery ends when this is acknowledged: the end of what was sent when it began.
    recover: Option<u64>,
    /// SND.NXT at the first duplicate ACK; what was sent since then is limited transmit's.
    disorder_from: u64,
    /// Data found to be lost so far [B].
    lost: u64,
}

impl Common {
    /// Whether all of what was sent when recovery began is acknowledged.
    fn is_recovered(&self, space: &Space) -> bool {
        self.recover.is_none_or(|recover| space.una >= recover)
    }

    /// Another duplicate ACK.
    fn count_duplicate(&mut self, space: &Space) {
        if self.duplicates == 0 {
            self.disorder_from = space.nxt;
        }
        self.duplicates += 1;
    }

    /// FlightSize without what limited transmit sent [B].
    fn flight_before_disorder(&self, space: &Space) -> u64 {
        // RFC 5681 §3.2 (2): what limited transmit sent must not be counted.
        let limited = u64::from(self.threshold - 1) * space.mss;
        space.flight() - space.nxt.saturating_sub(self.disorder_from).min(limited).min(space.flight())
    }
}

/// Loss recovery of one sender.
#[derive(Clone, Debug)]
pub(crate) struct LossRecovery {
    common: Common,
    chosen: Chosen,
    is_selective: bool,
}

impl LossRecovery {
    pub(crate) fn new(config: &TcpConfig) -> LossRecovery {
        LossRecovery {
            common: Common {
                state: State::Open,
                credit: 0,
                head_due: false,
                limited_transmit: config.limited_transmit,
                threshold: config.duplicate_acks.max(1),
                duplicates: 0,
                recover: None,
                disorder_from: 0,
                lost: 0,
            },
            chosen: Chosen::new(config),
            is_selective: config.recovery.is_selective(),
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.common.state
    }

    /// By how much the window is stretched [B].
    #[inline]
    pub(crate) fn credit(&self) -> i64 {
        self.common.credit
    }

    #[inline]
    pub(crate) fn is_selective(&self) -> bool {
        self.is_selective
    }

    /// Data in flight: RFC 6675's pipe where there is a scoreboard, FlightSize otherwise [B].
    pub(crate) fn in_flight(&self, space: &Space) -> u64 {
        let pipe = space.flight() as i64 - self.chosen.held().outside_pipe;
        debug_assert!(pipe >= 0, "the pipe holds {pipe} B");
        pipe.max(0) as u64
    }

    /// SACKed data above SND.UNA [B].
    pub(crate) fn sacked(&self) -> u64 {
        self.chosen.held().sacked
    }

    /// What it believes of the data in flight, if it has a scoreboard.
    pub(crate) fn beliefs(&self) -> Option<Beliefs> {
        self.chosen.beliefs()
    }

    /// Data found to be lost so far [B].
    pub(crate) fn lost(&self) -> u64 {
        self.common.lost
    }

    /// An acknowledgement arrived that the sender's fast path leaves to recovery. `space` is up to date.
    pub(crate) fn on_ack(&mut self, space: &Space, arrival: &Arrival<'_>) -> Reaction {
        debug_assert!(space.is_sound() && arrival.before <= space.una, "{space:?} after {arrival:?}");
        self.chosen.on_ack(&mut self.common, space, arrival)
    }

    /// The retransmission timer expired; true: send again from SND.UNA on.
    pub(crate) fn on_timeout(&mut self, space: &Space) -> bool {
        debug_assert!(space.is_sound(), "{space:?}");
        self.common.state = State::Loss;
        self.common.duplicates = 0;
        // RFC 6582 §3.2 (4) and RFC 6675 §5.1: the highest byte sent, so that old duplicates start nothing.
        self.common.recover = Some(space.max);
        self.chosen.on_timeout(&mut self.common, space)
    }

    /// Whether something may have to be resent.
    #[inline]
    pub(crate) fn is_resending(&self) -> bool {
        self.common.head_due || matches!(self.common.state, State::Recovery | State::Loss)
    }

    /// What to resend before any new data, if `room` (of the window) is left for a segment.
    pub(crate) fn next_resend(&mut self, space: &Space, room: bool) -> Option<(u64, u64)> {
        let hole = self.chosen.next_resend(&mut self.common, space, room);
        debug_assert!(hole.is_none_or(|(from, to)| space.una <= from && from < to && to <= space.max));
        hole
    }

    /// What to resend when there is no new data to send, if there is room for a segment.
    pub(crate) fn last_resort(&mut self, space: &Space) -> Option<(u64, u64)> {
        let hole = self.chosen.last_resort(&mut self.common, space);
        debug_assert!(hole.is_none_or(|(from, to)| space.una <= from && from < to && to <= space.max));
        hole
    }
}
