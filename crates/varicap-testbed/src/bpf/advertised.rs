//! The rates that are advertised to a connection, in the layout of `struct told` in `bpf/ratcp.bpf.c`.

use varicap_tcp::congestion::{RatcpConfig, RateRtt};
use varicap_units::{Bytes, Rate};

/// Length of `struct told` [B].
pub(super) const ADVERTISED_LEN: usize = 24;
/// The rate that stands for none.
const UNKNOWN: u64 = u64::MAX;

/// The rate advertised to a connection, and how the connection turns it into a window.
#[derive(Clone, Debug)]
pub(super) struct Advertised {
    /// The last advertised rate [b/s]; [`UNKNOWN`] if there is none.
    rate: u64,
    /// The given RTT [us], with [`RttKind::Known`].
    known_rtt: u32,
    /// A full packet on the wire [B].
    wire: u32,
    /// Target backlog [packets].
    beta: u32,
    rtt: RttKind,
    pacing: bool,
    /// The window after an idle time [packets]; 0: idle times change nothing.
    restart: u16,
}

/// Which RTT the rate is multiplied by; the numbers are those of `RTT_*` in the C source.
#[derive(Clone, Copy, Debug)]
enum RttKind {
    Base = 0,
    Smoothed = 1,
    Known = 2,
}

impl Advertised {
    pub(super) fn new(config: &RatcpConfig, packet: Bytes, restart: u16) -> Advertised {
        let (rtt, known_rtt) = match config.rtt {
            RateRtt::Base => (RttKind::Base, 0),
            RateRtt::Smoothed => (RttKind::Smoothed, 0),
            RateRtt::Known(rtt) => (RttKind::Known, narrow(rtt.as_nanos() / 1000)),
        };
        // As in the simulator: packets are counted as bytes of size one.
        let beta = narrow(config.beta.bytes(Bytes::new(1), Bytes::ZERO).as_u64());
        Advertised {
            rate: UNKNOWN,
            known_rtt,
            wire: narrow(packet.as_u64()),
            beta,
            rtt,
            pacing: config.pacing,
            restart,
        }
    }

    /// Stores a newly advertised rate; returns whether it differs from the last one.
    pub(super) fn hear(&mut self, rate: Rate) -> bool {
        let rate = if rate.is_unlimited() { UNKNOWN } else { rate.as_bps() };
        std::mem::replace(&mut self.rate, rate) != rate
    }

    pub(super) fn to_bytes(&self) -> [u8; ADVERTISED_LEN] {
        let mut bytes = [0; ADVERTISED_LEN];
        bytes[0..8].copy_from_slice(&self.rate.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.known_rtt.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.wire.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.beta.to_ne_bytes());
        bytes[20] = self.rtt as u8;
        bytes[21] = u8::from(self.pacing);
        bytes[22..24].copy_from_slice(&self.restart.to_ne_bytes());
        bytes
    }
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
