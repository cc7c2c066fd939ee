//! How a link serves and frames, as a scenario file says it.

use serde::{Deserialize, Serialize};
use varicap_units::{Bytes, JsonSchema};

/// How the server measures out its capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// The capacity is integrated over each frame's own transmission, as a real link does.
    #[default]
    Fluid,
    /// The duration is fixed when transmission begins, as some papers assume.
    AtStart,
}

/// The bytes that the link layer adds to each frame before it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Framing {
    /// Bytes added to each frame. Default: 0 B.
    pub overhead: Bytes,
    /// Whether limits of the queue in bytes, and the bucket of a shaper, count the overhead as well, as Linux's queues count an
    /// Ethernet header of 14 B. Default: false.
    pub in_queue: bool,
    /// The frame and its overhead are cut into cells, the last one filled up. Default: no cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
}

/// Cells of fixed size, as in ATM: 48 bytes of payload in 53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cells {
    /// Bytes of a frame that a cell carries. Default: 48 B.
    pub payload: Bytes,
    /// Bytes that a cell takes on the wire. Default: 53 B.
    pub size: Bytes,
}

impl Default for Cells {
    fn default() -> Cells {
        Cells { payload: Bytes::new(48), size: Bytes::new(53) }
    }
}

impl Framing {
    /// The size of a frame of `bytes` on the wire [B].
    #[inline]
    pub fn framed(&self, bytes: Bytes) -> Bytes {
        let bytes = bytes + self.overhead;
        match self.cells {
            None => bytes,
            Some(cells) => cells.size * bytes.as_u64().div_ceil(cells.payload.as_u64().max(1)),
        }
    }
}
