//! The rate at which segments leave when the congestion control has none of its own. Source: Linux 6.18,
//! `tcp_update_pacing_rate` and `tcp_update_skb_after_send`.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{JsonSchema, Rate, Span};

varicap_units::parts! {
    /// The spacing of segments over the round trip.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(remote = "Self")]
    #[schemars(transform = varicap_units::schema::names)]
    pub enum Pacing {
        Off[NoPacing] = "off", "Segments leave as the window allows, unless the congestion control has a rate of its own.";
        Linux(config: PacingRatios) = "linux",
            "At a multiple of cwnd (or of what is outstanding, if that is more) per smoothed RTT, as Linux does where something asks\nfor pacing. The first ten segments are not paced. A rate of the congestion control comes before it.";
    }
}
varicap_units::choice!(Pacing);

/// [`Pacing::Off`] has no settings.
struct NoPacing;

impl Part for NoPacing {}

/// By how much the pacing rate exceeds a window per round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacingRatios {
    /// Ratio while cwnd is less than half of ssthresh (Linux's tcp_pacing_ss_ratio, in hundredths). Default: 2.
    pub slow_start: f64,
    /// Ratio otherwise (tcp_pacing_ca_ratio). Default: 1.2.
    pub avoidance: f64,
}

impl Default for PacingRatios {
    fn default() -> PacingRatios {
        PacingRatios { slow_start: 2.0, avoidance: 1.2 }
    }
}

impl PacingRatios {
    /// Both ratios in hundredths, as Linux has them: in slow start, and otherwise.
    pub fn percent(&self) -> (u64, u64) {
        let hundredths = |ratio: f64| (ratio * 100.0).round() as u64;
        (hundredths(self.slow_start), hundredths(self.avoidance))
    }
}

impl Part for PacingRatios {
    fn check(&self) -> Checked {
        for (key, ratio) in [("slow_start", self.slow_start), ("avoidance", self.avoidance)] {
            part::require(key, (0.01..=10.0).contains(&ratio), ratio, "from 0.01 to 10")?;
        }
        Ok(())
    }
}

/// The windows from which the rate of a sender follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    /// Congestion window [B].
    pub(crate) cwnd: u64,
    /// Slow start threshold, if there is one [B].
    pub(crate) ssthresh: Option<u64>,
    /// From the oldest byte that was not acknowledged to the newest one [B].
    pub(crate) outstanding: u64,
    /// Largest payload of a segment [B].
    pub(crate) mss: u64,
}

/// The pace of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    slow_start: u64,
    avoidance: u64,
    /// Segments that leave before pacing begins; the one after them is the first to hold another one back.
    free: u32,
    rate: Option<Rate>,
}

impl Pace {
    pub(crate) fn new(pacing: &Pacing) -> Option<Pace> {
        let Pacing::Linux(ratios) = pacing else { return None };
        let (slow_start, avoidance) = ratios.percent();
        Some(Pace { slow_start, avoidance, free: 9, rate: None })
    }

    /// An acknowledgement arrived, after which the smoothed RTT is `smoothed`.
    pub(crate) fn on_ack(&mut self, windows: &Windows, smoothed: Option<Span>) {
        let Some(smoothed) = smoothed.filter(|span| *span > Span::ZERO) else { return };
        let segments = |bytes: u64| bytes / windows.mss;
        // Linux counts segments: half of eleven is five.
        let is_slow_start =
            windows.ssthresh.is_some_and(|ssthresh| segments(windows.cwnd) < segments(ssthresh) / 2);
        let percent = if is_slow_start { self.slow_start } else { self.avoidance };
        // Hundredths of bytes per RTT [ns]: 8 bits a byte and 1e9 ns a second, less the hundredths.
        let window = u128::from(windows.cwnd.max(windows.outstanding));
        let bps = window * u128::from(percent) * 80_000_000 / u128::from(smoothed.as_nanos());
        self.rate = Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1)));
    }

    /// A segment leaves: the rate at which its payload is spaced from the next one; none: that need not wait.
    pub(crate) fn on_sent(&mut self) -> Option<Rate> {
        if self.free > 0 {
            self.free -= 1;
            return None;
        }
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(cwnd: u64, ssthresh: Option<u64>, outstanding: u64) -> u64 {
        let mut pace = Pace::new(&Pacing::Linux(PacingRatios::default())).unwrap();
        let windows = Windows {
            cwnd: cwnd * 1000,
            ssthresh: ssthresh.map(|segments| segments * 1000),
            outstanding: outstanding * 1000,
            mss: 1000,
        };
        pace.on_ack(&windows, Some(Span::from_millis(100)));
        (0..9).for_each(|_| assert_eq!(pace.on_sent(), None));
        // Segments per 100 ms, in hundredths.
        pace.on_sent().unwrap().as_bps() / 800
    }

    #[test]
    fn twice_the_window_below_half_of_ssthresh_and_a_fifth_more_from_there() {
        assert_eq!(rate(10, Some(1000), 10), 2000);
        assert_eq!(rate(10, Some(22), 10), 2000);
        assert_eq!(rate(10, Some(21), 10), 1200);
        assert_eq!(rate(10, Some(5), 10), 1200);
        assert_eq!(rate(10, None, 10), 1200);
    }

    #[test]
    fn what_is_outstanding_counts_if_it_is_more_than_the_window() {
        assert_eq!(rate(10, Some(5), 15), 1800);
    }

    #[test]
    fn there_is_no_pace_before_there_is_a_round_trip() {
        let mut pace = Pace::new(&Pacing::Linux(PacingRatios::default())).unwrap();
        pace.on_ack(&Windows { cwnd: 1000, ssthresh: None, outstanding: 0, mss: 1000 }, None);
        assert!((0..20).all(|_| pace.on_sent().is_none()));
        assert!(Pace::new(&Pacing::Off).is_none());
    }
}
