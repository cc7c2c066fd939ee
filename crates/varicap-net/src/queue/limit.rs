//! How much a queue may hold.

use varicap_units::part::{self, Checked};
use varicap_units::{Amount, Bytes};

use super::TransmitterState;
use crate::frame::Backlog;

/// The most that a queue may hold: frames or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Frames.
    pub frames: u64,
    /// Bytes [B].
    pub bytes: Bytes,
    /// The bytes that each frame counts beyond its size [B].
    pub overhead: Bytes,
}

impl Limit {
    /// No limit at all.
    pub const NONE: Limit = Limit { frames: u64::MAX, bytes: Bytes::MAX, overhead: Bytes::ZERO };

    /// Packets limit the frames, everything else the bytes. A multiple of the BDP is at least one packet, for
    /// less would let nothing through.
    pub fn new(amount: Amount, packet: Bytes, bdp: Bytes) -> Limit {
        match amount {
            Amount::Packets(frames) => Limit { frames, ..Limit::NONE },
            Amount::Bdp(_) => Limit { bytes: amount.bytes(packet, bdp).max(packet), ..Limit::NONE },
            Amount::Bytes(_) | Amount::Unlimited => Limit { bytes: amount.bytes(packet, bdp), ..Limit::NONE },
        }
    }

    /// Whether a frame of `bytes` fits beside `held`.
    #[inline]
    pub fn admits(&self, held: Backlog, bytes: Bytes) -> bool {
        let overhead = self.overhead * (u64::from(held.frames) + 1);
        let bytes = bytes.saturating_add(overhead);
        u64::from(held.frames) < self.frames && held.bytes.saturating_add(bytes) <= self.bytes
    }

    /// Whether a frame of `bytes` fits beside what waits and, if `counts_in_service`, what is in service. A frame
    /// that goes into service at once does not wait.
    #[inline]
    pub(crate) fn has_room(
        &self,
        waiting: Backlog,
        state: TransmitterState,
        counts_in_service: bool,
        bytes: Bytes,
    ) -> bool {
        let free = state == TransmitterState::Free;
        (free && !counts_in_service) || self.admits(held(waiting, state, counts_in_service), bytes)
    }
}

/// The frames that wait and, if `counts_in_service`, the one in service.
#[inline]
pub(crate) fn held(waiting: Backlog, state: TransmitterState, counts_in_service: bool) -> Backlog {
    match state {
        TransmitterState::Busy(bytes) if counts_in_service => {
            Backlog { frames: waiting.frames + 1, bytes: waiting.bytes + bytes }
        }
        _ => waiting,
    }
}

/// Whether the limit at `key` has room for a packet of `packet` bytes on a path of `bdp` bytes [B].
pub(super) fn holds_a_packet(key: &str, limit: Amount, packet: Bytes, bdp: Bytes) -> Checked {
    let found = if let Amount::Bdp(_) = limit { in_bytes(limit, packet, bdp) } else { limit.to_string() };
    let expected = format!("room for at least one packet of {packet}");
    part::require(key, limit.bytes(packet, bdp) >= packet, found, expected)
}

/// An amount as a message gives it: as written, and in bytes.
pub(super) fn in_bytes(amount: Amount, packet: Bytes, bdp: Bytes) -> String {
    match amount {
        Amount::Bytes(_) | Amount::Unlimited => amount.to_string(),
        _ => format!("{amount} = {}", amount.bytes(packet, bdp)),
    }
}
