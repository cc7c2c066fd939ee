//! TCP Prague: DCTCP for the Internet. Source: RFC 9331 §4 (what is required);
//! draft-briscoe-iccrg-prague-congestion-control-04 §2.4 (how).
//!
//! The share of marked bytes is averaged over round trips (alpha). A mark makes the window smaller by half of that average, at
//! most once in a round trip; whatever is acknowledged unmarked opens it by a segment per window, marks or not. A
//! flow whose round trips are short, and which has lasted for a while, does both as if they took 25 ms, so that it
//! gets no more than others do. A loss halves the window, and segments are spaced out.
//!
//! Left out: window fractions below two segments, for which segments would have to become smaller, and tests of whether the
//! bottleneck has one queue with classic marks (RFC 9331 §4.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Bytes, NANOS_PER_SEC, Rate, Span, Time};

use super::dctcp::MarkedShare;
use super::reno::{Prior, remembering};
use super::{AckSample, CongestionControl, CongestionEvent, CongestionKind, EcnNeed, Start, Wants};

/// Weight of the newest round trip in alpha, and alpha at the first mark (draft §2.4).
const GAIN: f64 = 1.0 / 16.0;
const FIRST_ALPHA: f64 = 1.0;
/// Least window [segments].
const LEAST: u64 = 2;
/// Parts of a byte that the window is counted in.
const PARTS: u64 = 1 << 16;

/// TCP Prague.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PragueConfig {
    /// Least round trip by which a flow behaves (RTT_VIRT_MIN); 0 s: each by its own. Default: 25 ms (draft-04 §2.4.4).
    pub virtual_rtt: Span,
    /// Round trips after slow start until a flow behaves by it. Default: 500 (draft-04 §2.4.4).
    pub transition: u32,
}

impl Default for PragueConfig {
    fn default() -> PragueConfig {
        PragueConfig { virtual_rtt: Span::from_millis(25), transition: 500 }
    }
}

impl Part for PragueConfig {
    fn check(&self) -> Checked {
        part::bounded("virtual_rtt", self.virtual_rtt)
    }

    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("the engine does not prepare Linux's receivers, whose counts of marks it needs")
    }
}

/// Prague's window.
#[derive(Clone, Debug)]
pub struct Prague {
    config: PragueConfig,
    mss: u64,
    packet: u64,
    /// Congestion window [B/PARTS].
    window: u64,
    ssthresh: u64,
    share: MarkedShare,
    /// Whether a mark has ever come: alpha is kept from then on.
    is_marked: bool,
    /// The round trip that is being counted, when its count began, and how many there were since slow start.
    round: u64,
    counted_from: Time,
    rounds: u32,
    /// When the window fell because of marks, what must be delivered until a round trip is over since then, and what the window
    /// was before [B].
    reduced_at: Time,
    reduced_until: Option<u64>,
    before: u64,
    /// What has been delivered [B].
    delivered: u64,
    prior: Prior,
    smoothed: Span,
    pacing: Option<Rate>,
}

impl Prague {
    /// A window that starts as `start` says.
    pub fn new(config: &PragueConfig, start: &Start) -> Prague {
        let mss = start.mss.as_u64();
        Prague {
            config: config.clone(),
            mss,
            packet: start.packet.as_u64(),
            window: start.usable_window() * PARTS,
            ssthresh: start.initial_ssthresh.as_u64(),
            share: MarkedShare::new(FIRST_ALPHA, GAIN),
            is_marked: false,
            round: 0,
            counted_from: Time::ZERO,
            rounds: 0,
            reduced_at: Time::ZERO,
            reduced_until: None,
            before: 0,
            delivered: 0,
            prior: Prior::default(),
            smoothed: Span::ZERO,
            pacing: None,
        }
    }

    /// The average share of marked data.
    pub fn alpha(&self) -> f64 {
        self.share.alpha
    }

    fn bytes(&self) -> u64 {
        self.window / PARTS
    }

    fn set(&mut self, bytes: u64) {
        self.window = bytes.max(self.mss) * PARTS;
        self.set_pace();
    }

    /// Draft §2.4.4: whether the flow behaves as if its round trips were longer.
    fn is_virtual(&self) -> bool {
        self.rounds >= self.config.transition && self.smoothed < self.config.virtual_rtt
    }

    /// Whether a round trip, or a virtual one, is over since `from`, given whether a real one is.
    fn is_over(&self, now: Time, from: Time, real: bool) -> bool {
        real && (!self.is_virtual() || now.since(from) >= self.config.virtual_rtt)
    }

    /// Whether marks made the window smaller within the last round trip.
    fn is_recent(&self) -> bool {
        self.reduced_until.is_some_and(|until| self.delivered <= until)
    }

    /// Draft §2.4.1: alpha, once for each round trip; not before a mark says that there is a queue that marks.
    fn average(&mut self, now: Time, round: u64, was_marked: bool) {
        self.is_marked |= was_marked;
        if !self.is_over(now, self.counted_from, round != self.round) {
            return;
        }
        if self.bytes() >= self.ssthresh {
            self.rounds = self.rounds.saturating_add(1);
        }
        let first = self.share.alpha;
        self.share.close();
        if !self.is_marked {
            self.share.alpha = first;
        }
        (self.round, self.counted_from) = (round, now);
    }

    /// Draft §2.4.3: `unmarked` bytes have been acknowledged.
    fn open(&mut self, unmarked: u64) {
        if self.bytes() < self.ssthresh {
            let most = self.ssthresh.saturating_sub(self.bytes()).saturating_mul(PARTS);
            self.window += (unmarked * PARTS).min(most);
            return;
        }
        let mut opened = u128::from(unmarked) * u128::from(self.mss * PARTS) / u128::from(self.bytes());
        if self.is_virtual() {
            // (RTT / virtual RTT)^2: so many segments in a virtual round trip as another has, at its rate.
            let [own, virt] =
                [self.smoothed, self.config.virtual_rtt].map(|span| u128::from(span.as_nanos()));
            opened = opened * own / virt * own / virt;
        }
        self.window += opened as u64; // at most what was acknowledged, by the window of a segment or more
    }

    /// Draft §2.4.2: marks make the window smaller, once in a round trip.
    fn on_marks(&mut self, now: Time, in_flight: u64) {
        if !self.is_over(now, self.reduced_at, !self.is_recent()) {
            return;
        }
        self.before = self.bytes();
        (self.reduced_at, self.reduced_until) = (now, Some(self.delivered + in_flight));
        self.prior = Prior::default();
        self.ssthresh = self.share.reduced(self.before, self.mss).min(self.before.max(LEAST * self.mss));
        self.set(self.ssthresh);
    }

    /// Draft §2.4, packet pacing: a window per round trip, twice that while it may double.
    fn set_pace(&mut self) {
        let Some(nanos) = std::num::NonZeroU64::new(self.smoothed.as_nanos()) else { return };
        let gain = if self.bytes() < self.ssthresh / 2 { 2 } else { 1 };
        let wire = u128::from(self.bytes()) * u128::from(self.packet) / u128::from(self.mss);
        let bps = wire * 8 * gain * u128::from(NANOS_PER_SEC) / u128::from(nanos.get());
        self.pacing = Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1)));
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &AckSample) {
        self.smoothed = ack.smoothed_rtt.unwrap_or(self.smoothed);
        self.delivered = ack.delivered.as_u64();
        let marked = self.share.count(ack);
        let was_marked = ack.marked_packets > 0;
        if was_marked && !ack.in_recovery {
            self.on_marks(ack.now, ack.in_flight.as_u64());
        }
        // After that: the first mark finds the first alpha.
        self.average(ack.now, ack.round, was_marked);
        if ack.may_open && !ack.app_limited && !ack.in_recovery {
            self.open(ack.newly_acked.as_u64() - marked);
        }
        self.set_pace();
    }

    /// Draft §2.4, loss: as Reno. A window that marks have made smaller in this round trip falls from what it was before them, so
    /// that both together take half.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        let now = self.bytes();
        let from = if self.is_recent() { self.before.max(now) } else { now };
        let halved = (from / 2).max(LEAST * self.mss);
        match event.kind {
            CongestionKind::FastRetransmit => {
                self.prior = Prior::of(now, self.ssthresh);
                self.ssthresh = halved;
                self.set(halved.min(now.max(LEAST * self.mss)));
            }
            // RFC 9331 §4.3: RFC 3168's echo is a loss.
            CongestionKind::EcnEcho => {
                self.prior = Prior::default();
                self.ssthresh = halved;
                self.set(halved.min(now));
            }
            CongestionKind::Timeout { backoff } => {
                if backoff == 0 {
                    self.prior = Prior::of(now, self.ssthresh);
                    self.ssthresh = halved;
                }
                self.set(self.mss);
            }
        }
    }

    fn on_recovered(&mut self, _now: Time, limit: Bytes) {
        if limit.as_u64() < self.bytes() {
            self.set(limit.as_u64());
        }
    }

    fn on_undo(&mut self, _now: Time) {
        let prior = std::mem::take(&mut self.prior);
        self.ssthresh = self.ssthresh.max(prior.ssthresh);
        self.set(self.bytes().max(prior.cwnd));
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.set(self.mss + in_flight.as_u64());
    }

    fn on_unused(&mut self, window: Bytes) {
        self.ssthresh = remembering(self.bytes(), self.ssthresh);
        self.on_idle(window);
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        self.set(self.bytes().min(restart_window.as_u64()));
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.bytes())
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(Bytes::new(self.ssthresh))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn wants(&self) -> Wants {
        Wants { every_ack: true, ecn: EcnNeed::L4s, ..Wants::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Counting;

    const MSS: u64 = 1000;

    fn control(segments: u64, ssthresh: u64) -> Prague {
        let bytes = |segments: u64| Bytes::new(segments * MSS);
        let start = Start {
            mss: Bytes::new(MSS),
            packet: Bytes::new(MSS + 40),
            initial_window: bytes(segments),
            initial_ssthresh: bytes(ssthresh),
            counting: Counting::Acks,
        };
        Prague::new(&PragueConfig::default(), &start)
    }

    /// A round trip of ten segments at `at` ms, the first `marked` of them marked, for a flow with an RTT of `rtt` ms.
    fn round(control: &mut Prague, number: u64, at: u64, marked: u64, rtt: u64) {
        for acknowledged in 0..10 {
            let is_marked = acknowledged < marked;
            control.on_ack(&AckSample {
                newly_acked: Bytes::new(MSS),
                marked: is_marked,
                marked_packets: u32::from(is_marked),
                marked_bytes: Bytes::new(if is_marked { MSS } else { 0 }),
                smoothed_rtt: Some(Span::from_millis(rtt)),
                // A segment each ms.
                delivered: Bytes::new(at * MSS),
                in_flight: Bytes::new(rtt * MSS),
                round: number,
                ..AckSample::at(Time::ZERO + Span::from_millis(at))
            });
        }
    }

    #[test]
    fn unmarked_data_opens_the_window_by_a_segment_whatever_else_is_marked() {
        let mut control = control(10, 10);
        round(&mut control, 1, 50, 0, 50);
        assert!((10_900..11_000).contains(&control.bytes()), "{}", control.bytes());
        // The first mark halves, and the other nine open the window of five all the same.
        let mut control = self::control(10, 10);
        round(&mut control, 1, 50, 1, 50);
        assert!((6_400..6_800).contains(&control.bytes()), "{}", control.bytes());
    }

    #[test]
    fn marks_take_half_of_alpha_once_in_a_round_trip() {
        let mut control = control(100, 100);
        (control.is_marked, control.share.alpha) = (true, 0.2);
        round(&mut control, 5, 50, 1, 50);
        let once = control.bytes();
        assert!((90_000..90_200).contains(&once), "{once}");
        round(&mut control, 5, 60, 1, 50);
        assert!(control.bytes() > once, "twice in a round trip");
        round(&mut control, 7, 150, 1, 50);
        assert!(control.bytes() < once, "again in another");
    }

    #[test]
    fn alpha_is_one_until_the_first_mark() {
        let mut control = control(10, 10);
        (1..50).for_each(|number| round(&mut control, number, 50 * number, 0, 50));
        assert_eq!(control.alpha(), 1.0);
        (50..250).for_each(|number| round(&mut control, number, 50 * number, 1, 50));
        assert!((control.alpha() - 0.1).abs() < 0.01, "{}", control.alpha());
    }

    #[test]
    fn a_short_round_trip_counts_as_a_long_one_after_a_while() {
        let mut control = control(100, 100);
        (1..=500).for_each(|number| round(&mut control, number, 5 * number, 0, 5));
        let before = control.bytes();
        round(&mut control, 501, 2505, 0, 5);
        // Ten segments of a window of `before`, times (5 / 25)^2.
        let opened = control.bytes() - before;
        let usual = 10 * MSS * MSS / before;
        assert!((usual / 25).abs_diff(opened) <= 1, "{opened} of {usual}");
        // Marks count once in 25 ms.
        round(&mut control, 502, 2510, 1, 5);
        let once = control.bytes();
        round(&mut control, 504, 2520, 1, 5);
        assert!(control.bytes() >= once);
        round(&mut control, 510, 2536, 1, 5);
        assert!(control.bytes() < once);
    }

    #[test]
    fn slow_start_doubles_until_the_first_mark() {
        let mut control = control(10, 1000);
        round(&mut control, 1, 50, 0, 50);
        assert_eq!(control.cwnd(), Bytes::new(20 * MSS));
        round(&mut control, 2, 100, 1, 50);
        assert_eq!(control.ssthresh(), Some(Bytes::new(10 * MSS)));
    }

    #[test]
    fn a_loss_halves_and_does_not_add_to_marks_of_the_same_round_trip() {
        let lost = |kind| CongestionEvent { now: Time::ZERO, kind, in_flight: Bytes::new(20 * MSS) };
        let mut control = control(20, 20);
        control.on_congestion(&lost(CongestionKind::FastRetransmit));
        assert_eq!(control.cwnd(), Bytes::new(10 * MSS));
        let mut control = self::control(20, 20);
        round(&mut control, 1, 50, 1, 50);
        control.on_congestion(&lost(CongestionKind::FastRetransmit));
        assert_eq!(control.cwnd(), Bytes::new(10 * MSS));
        control.on_congestion(&lost(CongestionKind::Timeout { backoff: 0 }));
        assert_eq!(control.cwnd(), Bytes::new(MSS));
    }

    #[test]
    fn segments_are_paced_at_a_window_per_round_trip() {
        let mut control = control(10, 10);
        assert_eq!(control.pacing_rate(), None);
        control.on_ack(&AckSample { smoothed_rtt: Some(Span::from_millis(50)), ..AckSample::at(Time::ZERO) });
        // 10 segments of 1040 bytes in 50 ms.
        assert_eq!(control.pacing_rate(), Some(Rate::from_bps(1_664_000)));
        control.ssthresh = 100 * MSS;
        control.set_pace();
        assert_eq!(control.pacing_rate(), Some(Rate::from_bps(3_328_000)));
    }
}
