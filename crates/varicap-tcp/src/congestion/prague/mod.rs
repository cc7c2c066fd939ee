//! TCP Prague: DCTCP for the Internet. Source: RFC 9331 §4 (what is required);
//! draft-briscoe-iccrg-prague-congestion-control-04 §2.4 (how).
//!
//! The share of marked bytes is averaged over round trips (alpha). A mark makes the window smaller by half of that average, at
//! most once in a round trip; whatever is acknowledged unmarked opens it by a segment per window, marks or not. A
//! flow whose round trips are short, and which has lasted for a while, does both as if they took 25 ms, so that it
//! gets no more than others do. A loss halves the window, and segments are spaced out.
//!
//! A window that marks or losses bring below two segments is a fraction for the pace alone: two segments may be in flight, which
//! leave further apart, down to less than one in a round trip (RFC 9331 §4.3; the authors' Linux module,
//! `prague_update_pacing_rate`). Segments keep their size, where the draft makes them smaller. Whether the bottleneck marks by
//! RFC 3168 is estimated by [`classic`], and answered where a scenario says so.

mod classic;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Bytes, JsonSchema, NANOS_PER_SEC, Rate, Span, Time};

use super::dctcp::MarkedShare;
use super::reno::{Prior, remembering};
use super::{AckSample, CongestionControl, CongestionEvent, CongestionKind, EcnNeed, Quantity, Start, Wants};
use classic::Classic;

/// Weight of the newest round trip in alpha, and alpha at the first mark (draft §2.4).
const GAIN: f64 = 1.0 / 16.0;
const FIRST_ALPHA: f64 = 1.0;
/// The least that may be in flight, however small a fraction the window is [segments].
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
    /// Whether marks that seem to be those of a classic queue, which marks by RFC 3168 and delays, take a third of the window,
    /// as they do from CUBIC. Default: false (as in Linux's module; RFC 9331 §4.3 leaves it to the configuration).
    pub classic_fallback: bool,
}

impl Default for PragueConfig {
    fn default() -> PragueConfig {
        PragueConfig { virtual_rtt: Span::from_millis(25), transition: 500, classic_fallback: false }
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
    /// Congestion window, which may be less than a segment [B/PARTS].
    window: u64,
    /// The window is that of a timeout or of a pause: less than two segments is what may be in flight.
    is_restarted: bool,
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
    /// Data that has been delivered [B].
    delivered: u64,
    prior: Prior,
    smoothed: Span,
    classic: Classic,
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
            is_restarted: start.usable_window() < LEAST * mss,
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
            classic: Classic::default(),
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

    /// Data that may be in flight [B].
    fn allowed(&self) -> u64 {
        let least = if self.is_restarted { self.mss } else { LEAST * self.mss };
        self.bytes().max(least)
    }

    /// A timeout, a pause or the end of recovery sets the window.
    fn set(&mut self, bytes: u64) {
        self.window = bytes.max(self.mss) * PARTS;
        self.is_restarted = bytes < LEAST * self.mss;
        self.set_pace();
    }

    /// Marks or a loss make the window smaller, down to any fraction of a segment.
    fn reduce(&mut self, bytes: u64) {
        self.window = bytes.clamp(1, self.bytes().max(1)) * PARTS;
        self.is_restarted = false;
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
        if self.allowed() >= self.ssthresh {
            self.rounds = self.rounds.saturating_add(1);
        }
        let first = self.share.alpha;
        self.share.close();
        if self.is_marked {
            self.classic.close();
        } else {
            self.share.alpha = first;
        }
        (self.round, self.counted_from) = (round, now);
    }

    /// Draft §2.4.3: `unmarked` bytes have been acknowledged.
    fn open(&mut self, unmarked: u64) {
        if self.allowed() < self.ssthresh {
            let most = self.ssthresh.saturating_sub(self.allowed()).saturating_mul(PARTS);
            self.window += (unmarked * PARTS).min(most);
            return;
        }
        let mut opened =
            u128::from(unmarked) * u128::from(self.mss * PARTS) / u128::from(self.bytes().max(self.mss));
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
        let share = if self.config.classic_fallback {
            self.share.alpha.max(self.classic.share())
        } else {
            self.share.alpha
        };
        self.reduce((self.before as f64 * (1.0 - share / 2.0)) as u64);
        self.fall_to(self.bytes());
    }

    /// The window has fallen to `bytes`: from here on it opens by a segment.
    fn fall_to(&mut self, bytes: u64) {
        self.ssthresh = bytes.max(LEAST * self.mss);
        self.classic.on_fall(self.ssthresh / self.mss);
    }

    /// Draft §2.4, packet pacing: a window per round trip, twice that while it may double.
    fn set_pace(&mut self) {
        let Some(nanos) = std::num::NonZeroU64::new(self.smoothed.as_nanos()) else { return };
        let gain = if self.allowed() < self.ssthresh / 2 { 2 } else { 1 };
        let wire = u128::from(self.bytes()) * u128::from(self.packet) / u128::from(self.mss);
        let bps = wire * 8 * gain * u128::from(NANOS_PER_SEC) / u128::from(nanos.get());
        self.pacing = Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1)));
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &AckSample) {
        self.smoothed = ack.smoothed_rtt.unwrap_or(self.smoothed);
        if let (Some(rtt), Some(least)) = (ack.rtt, ack.min_rtt) {
            self.classic.on_rtt(rtt, least);
        }
        self.delivered = ack.delivered.as_u64();
        let marked = self.share.count(ack);
        let was_marked = ack.marked_packets > 0;
        if was_marked && !ack.in_recovery {
            self.on_marks(ack.now, ack.in_flight.as_u64());
        }
        // After that, where RFC 8257 has it before: the first mark finds the first alpha. Source: the authors' Linux module, in
        // which `prague_enter_cwr` comes before `prague_update_alpha`.
        self.average(ack.now, ack.round, was_marked);
        // A window that is a fraction is never used up: its pace is the limit.
        let is_limiting = !ack.app_limited || self.bytes() < self.allowed();
        if ack.may_open && is_limiting && !ack.in_recovery {
            self.open(ack.newly_acked.as_u64() - marked);
        }
        self.set_pace();
    }

    /// Draft §2.4, loss: as Reno. A window that marks have made smaller in this round trip falls from what it was before them, so
    /// that both together take half.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        let now = self.bytes();
        let from = if self.is_recent() { self.before.max(now) } else { now };
        let halved = from / 2;
        match event.kind {
            CongestionKind::FastRetransmit => {
                self.prior = Prior::of(now, self.ssthresh);
                self.fall_to(halved);
                self.reduce(halved);
            }
            // RFC 9331 §4.3: RFC 3168's echo is a loss.
            CongestionKind::EcnEcho => {
                self.prior = Prior::default();
                self.fall_to(halved);
                self.reduce(halved);
            }
            CongestionKind::Timeout { backoff } => {
                if backoff == 0 {
                    self.prior = Prior::of(now, self.ssthresh);
                    self.fall_to(halved);
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
        if prior.cwnd > self.bytes() {
            self.window = prior.cwnd * PARTS;
            self.is_restarted &= prior.cwnd < LEAST * self.mss;
            self.set_pace();
        }
    }

    fn cap(&mut self, most: Bytes) {
        self.window = self.window.min(most.as_u64() * PARTS);
        self.set_pace();
    }

    fn on_kept(&mut self, in_flight: Bytes) {
        self.set(self.mss + in_flight.as_u64());
    }

    fn on_unused(&mut self, window: Bytes) {
        self.ssthresh = remembering(self.allowed(), self.ssthresh);
        self.on_idle(window);
    }

    fn on_idle(&mut self, restart_window: Bytes) {
        if restart_window.as_u64() < self.bytes() {
            self.set(restart_window.as_u64());
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.allowed())
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

    fn shown(&self) -> &'static [Quantity] {
        &[
            Quantity {
                name: "prague_alpha",
                unit: "1",
                description: "Alpha: the share of its data that was marked.",
            },
            Quantity {
                name: "prague_window_bytes",
                unit: "B",
                description: "Its window, fractions of a segment included.",
            },
            Quantity {
                name: "prague_classic",
                unit: "1",
                description: "How much the bottleneck seems to mark by RFC 3168: 0 to 8 not, 9 to 17 surely.",
            },
        ]
    }

    fn show(&self, values: &mut Vec<f64>) {
        values.extend([self.share.alpha, self.window as f64 / PARTS as f64, self.classic.score()]);
    }
}

#[cfg(test)]
mod tests;
