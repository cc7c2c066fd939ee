//! How a link with ARQ is described in a scenario file.

use serde::{Deserialize, Serialize};
use varicap_units::{JsonSchema, Span};

/// A link that sends in slots and resends what the channel loses (ARQ), so that loss becomes delay.
///
/// Packets are sent in order as link-layer packets, one in each slot: the cells of `framing`, or whole packets. The
/// oldest that is due is sent first. A packet comes out when all its cells are received and no older one is missing.
/// Source: [wireless, §II].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArqConfig {
    /// Time of a transmission. Default: that of a cell, or else of a full packet, at the link's capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Span>,
    /// Whether transmissions begin only at multiples of the slot, or as soon as there is something to send. Default: true.
    pub aligned: bool,
    /// Link-layer packets that may be under way, counted from the oldest that is not known to be received: 1 is
    /// stop-and-wait, more is selective repeat. Default: 1.
    pub window: u32,
    /// From the end of a transmission until the sender knows its fate. Default: 0 s.
    pub ack_delay: Span,
    /// After so many failed retransmissions a link-layer packet is given up, and its whole packet lost. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<u32>,
}

impl Default for ArqConfig {
    fn default() -> ArqConfig {
        ArqConfig { slot: None, aligned: true, window: 1, ack_delay: Span::ZERO, max_retransmissions: None }
    }
}
