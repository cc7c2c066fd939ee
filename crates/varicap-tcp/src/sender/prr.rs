//! Proportional rate reduction: the window falls with what is delivered, not at once. Source: RFC 9937.

use std::num::NonZeroU64;

/// A reduction of the window that is under way; all in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// RecoverFS, of which ssthresh is a share: the flight when recovery began, or cwnd as in Linux.
    recover_fs: NonZeroU64,
    /// Delivered and sent since it began.
    prr_delivered: u64,
    prr_out: u64,
}

/// The changes of the flight that an acknowledgement shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrrAck {
    /// Newly delivered [B].
    pub(super) delivered: u64,
    /// Whether anything was found to be lost.
    pub(super) is_loss: bool,
    /// Whether SND.UNA advanced.
    pub(super) advanced: bool,
    /// Data in flight after it [B].
    pub(super) pipe: u64,
}

impl Prr {
    /// The window begins to fall, in proportion to `recover_fs` bytes.
    pub(super) fn begin(recover_fs: u64) -> Prr {
        let recover_fs = NonZeroU64::new(recover_fs).unwrap_or(NonZeroU64::MIN);
        Prr { recover_fs, prr_delivered: 0, prr_out: 0 }
    }

    /// `len` bytes leave.
    #[inline]
    pub(super) fn on_sent(&mut self, len: u64) {
        self.prr_out += len;
    }

    /// The window after an acknowledgement [B], on its way to `ssthresh`; none: it stays as it is.
    pub(super) fn on_ack(&mut self, ack: &PrrAck, ssthresh: u64, mss: u64) -> Option<u64> {
        if ack.delivered == 0 {
            return None;
        }
        self.prr_delivered += ack.delivered;
        let allowed = if ack.pipe > ssthresh {
            // In proportion: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out, in whole segments as in Linux.
            let segments = share(self.prr_delivered, ssthresh, self.recover_fs.get(), mss);
            segments.saturating_mul(mss).saturating_sub(self.prr_out)
        } else {
            // Slow start while acknowledgements show no more losses, else conservation of packets.
            let safe_ack = ack.advanced && !ack.is_loss;
            let bound = self.prr_delivered.saturating_sub(self.prr_out).max(ack.delivered);
            (bound + if safe_ack { mss } else { 0 }).min(ssthresh - ack.pipe)
        };
        // The first retransmission always leaves.
        let allowed = if self.prr_out == 0 { allowed.max(mss) } else { allowed };
        Some((ack.pipe + allowed).max(mss))
    }
}

/// How many segments of `mss` bytes `delivered` times `ssthresh` over `recover_fs` comes to, rounded up.
#[inline]
fn share(delivered: u64, ssthresh: u64, recover_fs: u64, mss: u64) -> u64 {
    // Long division takes long, and only windows of gigabytes need it.
    if let (Some(product), Some(whole)) = (delivered.checked_mul(ssthresh), recover_fs.checked_mul(mss)) {
        return product.div_ceil(whole);
    }
    let product = u128::from(delivered) * u128::from(ssthresh);
    u64::try_from(product.div_ceil(u128::from(recover_fs) * u128::from(mss))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn news(delivered: u64, pipe: u64) -> PrrAck {
        PrrAck { delivered: delivered * MSS, is_loss: false, advanced: false, pipe: pipe * MSS }
    }

    /// RFC 9937 §7, in spirit: a single loss in a window of twenty leaves as half of what arrives.
    #[test]
    fn every_second_delivery_lets_out_a_segment_until_the_window_is_halved() {
        let mut prr = Prr::begin(20 * MSS);
        let (mut pipe, mut sent) = (19, Vec::new());
        for _ in 0..19 {
            pipe -= 1;
            let window = prr.on_ack(&news(1, pipe), 10 * MSS, MSS).unwrap();
            let leaves = window / MSS - pipe;
            prr.on_sent(leaves * MSS);
            pipe += leaves;
            sent.push(leaves);
        }
        assert_eq!(sent.iter().sum::<u64>(), 10, "{sent:?}");
        assert!(sent.windows(2).all(|pair| pair[0] + pair[1] <= 2), "no burst: {sent:?}");
        assert_eq!(pipe, 10);
    }

    #[test]
    fn below_ssthresh_it_grows_by_slow_start_only_without_new_losses() {
        let mut prr = Prr::begin(20 * MSS);
        prr.on_sent(MSS);
        let advancing = PrrAck { advanced: true, ..news(1, 4) };
        assert_eq!(prr.on_ack(&advancing, 10 * MSS, MSS), Some(6 * MSS));
        prr.on_sent(2 * MSS);
        let losing = PrrAck { advanced: true, is_loss: true, ..news(1, 4) };
        assert_eq!(prr.on_ack(&losing, 10 * MSS, MSS), Some(5 * MSS));
        assert_eq!(prr.on_ack(&news(0, 4), 10 * MSS, MSS), None);
    }
}
