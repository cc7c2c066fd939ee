//! Rules of the window that every congestion control follows, and stacks differ in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From what ssthresh is computed when the window falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halving {
    /// From the data in flight; at a timeout at most cwnd of it. Source: RFC 5681 (4).
    #[default]
    FlightSize,
    /// From cwnd, whether it was used or not: ns-2, Linux.
    Window,
    /// From cwnd or the receiver's window, whichever is smaller: 4.3BSD.
    OfferedWindow,
}
