//! The bitrate of an encoder that follows what the network delivers in time. A simplification of Google's congestion
//! control (draft-ietf-rmcat-gcc-02): its increase and decrease, with the delay of a frame instead of a filtered gradient,
//! and its answer to losses where there are any.

use varicap_units::{NANOS_PER_SEC, Rate, Span, Time};

use crate::RealTime;

/// A decrease leaves this share of what arrives, in hundredths. Source: draft-ietf-rmcat-gcc-02 §5.5 (beta).
const KEPT: u64 = 85;
/// The bitrate grows by so much in a second, in hundredths. Source: draft-ietf-rmcat-gcc-02 §5.5 (eta).
const GROWTH: u64 = 8;
/// The time over which what arrives is measured. Source: draft-ietf-rmcat-gcc-02 §5.5 (R_hat).
const WINDOW: Span = Span::from_millis(500);
/// Beyond this share of losses, in hundredths, the bitrate falls by half of it. Source: draft-ietf-rmcat-gcc-02 §6.
const MANY: u64 = 10;
/// Below this share of losses, in hundredths, the bitrate may grow. Source: draft-ietf-rmcat-gcc-02 §6.
const FEW: u64 = 2;

/// The bitrate of one encoder.
#[derive(Debug)]
pub(crate) struct Bitrate {
    rate: Rate,
    least: Rate,
    most: Rate,
    /// When measuring what arrives began.
    window: Time,
    /// Data that has arrived since [B].
    arrived: u64,
    /// Packets that have arrived or were lost since, and those that were lost.
    resolved: u64,
    lost: u64,
    /// Up to when the bitrate has grown.
    grown: Time,
    /// The rate that the network advertises.
    advice: Rate,
}

impl Bitrate {
    /// The first bitrate of an encoder that begins at `at`.
    pub fn new(config: &RealTime, at: Time) -> Bitrate {
        Bitrate {
            rate: config.initial,
            least: config.minimum,
            most: config.maximum,
            window: at,
            arrived: 0,
            resolved: 0,
            lost: 0,
            grown: at,
            advice: Rate::UNLIMITED,
        }
    }

    /// The rate with which the next frame is encoded.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// How large a frame is that stands for `length` [B].
    pub fn frame(&self, length: Span) -> u64 {
        let bits = u128::from(self.rate.as_bps()) * u128::from(length.as_nanos());
        ((bits / u128::from(8 * NANOS_PER_SEC)) as u64).max(1)
    }

    /// Notes that `size` bytes have arrived.
    pub fn on_arrived(&mut self, size: u64) {
        self.arrived += size;
        self.resolved += 1;
    }

    /// Notes that `lost` packets were found to be lost.
    pub fn on_lost(&mut self, lost: u64) {
        self.resolved += lost;
        self.lost += lost;
    }

    /// From now on it does not exceed `rate`.
    pub fn advise(&mut self, rate: Rate) {
        self.advice = rate;
    }

    /// Adapts to what was measured up to `now`; `is_late`: what arrives does so late.
    pub fn adapt(&mut self, now: Time, is_late: bool) {
        let passed = now.since(self.window);
        let is_measured = passed >= WINDOW;
        let bps = u128::from(self.rate.as_bps());
        let loses = |share: u64| 100 * self.lost > share * self.resolved;
        if is_late && is_measured {
            let nanos = u128::from(passed.as_nanos());
            let arrived = u128::from(self.arrived) * 8 * u128::from(NANOS_PER_SEC) / nanos;
            self.rate = Rate::from_bps((arrived.min(bps) * u128::from(KEPT) / 100) as u64);
        } else if loses(MANY) && is_measured {
            let (lost, all) = (u128::from(self.lost), u128::from(self.resolved));
            self.rate = Rate::from_bps((bps * (2 * all - lost) / (2 * all)) as u64);
        } else if !is_late && !loses(FEW) {
            let grown = now.since(self.grown).min(Span::from_secs(1)).as_nanos();
            let more = bps * u128::from(grown) * u128::from(GROWTH) / (100 * u128::from(NANOS_PER_SEC));
            self.rate = Rate::from_bps(self.rate.as_bps() + more as u64);
        }
        if is_measured {
            (self.window, self.arrived, self.resolved, self.lost) = (now, 0, 0, 0);
        }
        self.grown = now;
        self.rate = self.rate.min(self.advice).clamp(self.least, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_half_a_second(arrived: u64, lost: u64, is_late: bool) -> u64 {
        let config = RealTime { initial: Rate::from_bps(1_000_000), ..RealTime::default() };
        let mut bitrate = Bitrate::new(&config, Time::ZERO);
        (0..arrived).for_each(|_| bitrate.on_arrived(500));
        bitrate.on_lost(lost);
        bitrate.adapt(Time::ZERO + WINDOW, is_late);
        bitrate.rate().as_bps()
    }

    #[test]
    fn losses_decide_as_the_draft_says() {
        assert_eq!(after_half_a_second(99, 1, false), 1_040_000, "1 %: it grows by 8 % a second");
        assert_eq!(after_half_a_second(95, 5, false), 1_000_000, "5 %: it stays");
        assert_eq!(after_half_a_second(90, 10, false), 1_000_000, "10 %: it stays");
        assert_eq!(after_half_a_second(80, 20, false), 900_000, "20 %: it falls by half of that");
    }

    #[test]
    fn what_is_late_leaves_85_hundredths_of_what_arrives() {
        // 100 packets of 500 bytes in half a second are 800 kbit/s.
        assert_eq!(after_half_a_second(100, 0, true), 680_000);
        assert_eq!(after_half_a_second(100, 100, true), 680_000, "losses change nothing of that");
        assert_eq!(after_half_a_second(1000, 0, true), 850_000, "never more than 85 % of what it was");
    }
}
