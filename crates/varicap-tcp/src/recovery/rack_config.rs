//! The settings of recovery by time. Source: RFC 8985, and what Linux adds to it.

use serde::{Deserialize, Serialize};
use varicap_units::JsonSchema;
use varicap_units::part::Part;

/// Recovery by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RackConfig {
    /// How the window falls in recovery. Default: at-once (RFC 6675 §5; Linux: prr).
    pub reduction: Reduction,
    /// Whether a silent tail is probed after two smoothed RTTs and what the clock adds, before the retransmission timer expires and
    /// no later than that, whichever `timer` there is (RFC 8985 §7). The probe of a single segment, of which the acknowledgement
    /// may be delayed, waits for two smoothed RTTs and `timer.linux.minimum` as in Linux, or with any other timer 200 ms
    /// (TLP.max_ack_delay), whatever its least RTO. Default: true.
    pub tail_loss_probe: bool,
    /// Whether new data tests if a timeout was spurious (RFC 5682). Default: false (Linux: true).
    pub frto: bool,
    /// Whether a reduction of the window is undone that turns out to have answered no loss, by timestamps (RFC 4015) or
    /// reported duplicates (RFC 3708). Default: false (Linux: true).
    pub undo: bool,
    /// Whether the window after a timeout has room for a segment beyond what left too recently to be lost; else for one
    /// segment in all (RFC 5681 §3.1). Default: false (Linux: true).
    pub keep_in_flight: bool,
    /// Which retransmissions, once delivered, must be no younger than the timestamp that comes back, where there are
    /// timestamps, to show that others are lost (RFC 8985 §6.2 step 2). Default: always (Linux: cumulative).
    pub check_echo: EchoCheck,
}

impl Default for RackConfig {
    fn default() -> RackConfig {
        RackConfig {
            reduction: Reduction::AtOnce,
            tail_loss_probe: true,
            frto: false,
            undo: false,
            keep_in_flight: false,
            check_echo: EchoCheck::Always,
        }
    }
}

impl RackConfig {
    /// The settings of Linux.
    pub fn linux() -> RackConfig {
        RackConfig {
            reduction: Reduction::Prr,
            tail_loss_probe: true,
            frto: true,
            undo: true,
            keep_in_flight: true,
            check_echo: EchoCheck::Cumulative,
        }
    }
}

impl Part for RackConfig {}

/// How the window falls in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// To ssthresh when recovery begins: nothing leaves until the pipe is as small.
    AtOnce,
    /// In proportion to what is delivered, and by slow start up to ssthresh once the pipe is smaller: ssthresh over RecoverFS of
    /// it leaves. RecoverFS is SND.NXT - SND.UNA as recovery begins, less what was SACKed before; with `halving = "window"` it
    /// is cwnd, of which ssthresh is a share then (Linux). Source: RFC 9937 §6.1.
    Prr,
}

/// Which retransmissions a timestamp is to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EchoCheck {
    /// Each. A receiver that misses a segment echoes old timestamps, so that those it reports above the hole show nothing.
    Always,
    /// Those that are acknowledged cumulatively; those in SACK blocks count by their round trip alone.
    Cumulative,
}
