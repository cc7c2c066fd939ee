//! Rules of the window that every congestion control follows, and stacks differ in.

use serde::{Deserialize, Serialize};
use varicap_units::JsonSchema;
use varicap_units::part::{self, Checked, Part};

/// From what ssthresh is computed when the window falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halving {
    /// From the data in flight; at a timeout in recovery, from at most what it was when that began. Source: RFC 5681 (4).
    #[default]
    FlightSize,
    /// From cwnd, whether it was used or not: Linux.
    Window,
    /// From cwnd or the receiver's window, whichever is smaller: 4.3BSD, ns-2.
    OfferedWindow,
}

/// The quantities that are rounded down to whole segments when the window falls; ssthresh is at least two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// Nothing, unless windows are counted in segments.
    #[default]
    None,
    /// ssthresh: ns-2.35, which leaves half a segment in the window (`precisionReduce_`).
    Ssthresh,
    /// ssthresh and the window that becomes it: 4.3BSD, ns 1, ns-2 of the year 2000.
    Window,
}

varicap_units::parts! {
    /// How much of what an acknowledgement covers opens the window.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(remote = "Self")]
    #[schemars(transform = varicap_units::schema::names)]
    pub enum Counting {
        Acks[PerAck] = "acks",
            "At most a segment per acknowledgement; all of it in CUBIC's congestion avoidance. Source: RFC 5681 (2), RFC 9438.";
        Bytes(config: ByteCounting) = "bytes",
            "All acknowledged bytes, in slow start up to a limit per acknowledgement. Source: RFC 3465.";
        Segments[WholeSegments] = "segments",
            "All segments that newly arrived, acknowledged or SACKed, without a limit, and windows in whole segments. What slow start\ndoes not need to reach ssthresh counts in congestion avoidance: Linux.";
    }
}
varicap_units::choice!(Counting);

/// [`Counting::Acks`] has no settings.
struct PerAck;

impl Part for PerAck {}

/// [`Counting::Segments`] has no settings.
struct WholeSegments;

impl Part for WholeSegments {}

/// Appropriate byte counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ByteCounting {
    /// Most segments that one acknowledgement may add in slow start (RFC 3465's L); after a timeout it is one. Default: 2.
    pub limit: u32,
}

impl Default for ByteCounting {
    fn default() -> ByteCounting {
        ByteCounting { limit: 2 }
    }
}

impl Part for ByteCounting {
    fn check(&self) -> Checked {
        part::at_least_one("limit", self.limit)
    }
}

/// When acknowledgements may open the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrowWhen {
    /// When cwnd was what limited the sender when it last stopped sending.
    #[default]
    WindowLimited,
    /// When the window was full at some time in the last window of data, and in slow start also while it is less than twice
    /// the most that was outstanding then: Linux.
    WindowUsed,
    /// As window-limited; and while something else limits the sender, up to limit(maxFS): in slow start twice maxFS, and otherwise a
    /// segment more than it, whatever the control. maxFS is the most that was in flight since cwnd fell last; before it ever did, the
    /// initial window at least. A window that is larger already stays as it is. A control in Python may
    /// exceed it by what one acknowledgement adds. Source: draft-ietf-ccwg-ratelimited-increase-11 §3.
    MaxFs,
    /// At each one, whether the window was used or not: 4.3BSD, ns-2 (`control_increase_ 0`).
    Always,
}

/// The fate of a window that is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Validation {
    /// After an idle RTO it is the initial window. Source: RFC 5681 §4.1.
    #[default]
    Restart,
    /// It is halved for each idle RTO, down to the initial window, and falls half the way to what was used if for an RTO it was not
    /// used up, nor new data acknowledged; ssthresh remains at three quarters of it. Source: RFC 2861; Linux.
    Decay,
}
