//! A camera: frames at a fixed pace, of a bitrate that follows how late they arrive. A simplification of Google's
//! congestion control (draft-ietf-rmcat-gcc-02): its increase and decrease, with the delay of a frame instead of a filtered
//! gradient.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, FASTEST, Part, bounded, positive, require};
use varicap_units::{Bytes, NANOS_PER_SEC, Rate, Span, Time};

use crate::playback::Watched;
use crate::{Application, Feeding, Offer, Start};

/// A decrease leaves this share of what arrives, in hundredths. Source: draft-ietf-rmcat-gcc-02 §5.5 (beta).
const KEPT: u64 = 85;
/// The bitrate grows by so much in a second, in hundredths. Source: draft-ietf-rmcat-gcc-02 §5.5 (eta).
const GROWTH: u64 = 8;
/// The time over which what arrives is measured. Source: draft-ietf-rmcat-gcc-02 §5.5 (R_hat).
const WINDOW: Span = Span::from_millis(500);

/// Frames at a fixed pace, each of which is wanted before its deadline. While frames are late the bitrate falls to 85 % of
/// what arrives, at most once in half a second; otherwise it grows by 8 % a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RealTime {
    /// Time from one frame to the next. Default: 40 ms.
    pub frame: Span,
    /// The bitrate at the beginning. Default: 300 kbit/s.
    pub initial: Rate,
    /// The lowest bitrate. Default: 100 kbit/s.
    pub minimum: Rate,
    /// The highest bitrate. Default: 3 Mbit/s.
    pub maximum: Rate,
    /// Frames that take longer are late. Default: 200 ms.
    pub deadline: Span,
    /// Whether the encoder heeds the rate that the network advertises (`feedback`, which it needs): it never
    /// exceeds it. Default: false.
    pub heed: bool,
}

impl Default for RealTime {
    fn default() -> RealTime {
        RealTime {
            frame: Span::from_millis(40),
            initial: Rate::from_bps(300_000),
            minimum: Rate::from_bps(100_000),
            maximum: Rate::from_bps(3_000_000),
            deadline: Span::from_millis(200),
            heed: false,
        }
    }
}

impl Part for RealTime {
    fn check(&self) -> Checked {
        positive("frame", self.frame)?;
        bounded("frame", self.frame)?;
        let shortest = Span::from_millis(1);
        require("frame", self.frame >= shortest, self.frame, format!("at least {shortest}"))?;
        positive("deadline", self.deadline)?;
        bounded("deadline", self.deadline)?;
        let (least, most) = (self.minimum, self.maximum);
        require("minimum", least > Rate::ZERO, least, "above 0")?;
        require("maximum", most <= FASTEST, most, format!("at most {FASTEST}"))?;
        require("maximum", most >= least, most, format!("at least `minimum`, {least}"))?;
        let range = format!("from {least} (`minimum`) to {most} (`maximum`)");
        require("initial", (least..=most).contains(&self.initial), self.initial, range)
    }
}

impl Application for RealTime {
    type Feed = Box<Encoder>;

    fn feed(&self, start: &Start<'_>) -> Box<Encoder> {
        Box::new(Encoder {
            config: *self,
            bitrate: self.initial,
            last: None,
            next: start.at,
            sent: 0,
            under_way: VecDeque::new(),
            window: start.at,
            arrived: 0,
            grown: start.at,
            advice: Rate::UNLIMITED,
            watched: Watched::default(),
        })
    }

    fn packets(&self, mss: f64, seconds: f64) -> f64 {
        let frames = seconds / self.frame.as_secs_f64();
        frames * (self.maximum.as_bps() as f64 / 8.0 * self.frame.as_secs_f64() / mss).ceil()
    }

    fn actions(&self, _: f64, seconds: f64) -> f64 {
        2.0 * seconds / self.frame.as_secs_f64()
    }
}

/// A frame under way.
#[derive(Clone, Copy, Debug)]
struct Frame {
    captured: Time,
    bitrate: Rate,
    size: u64,
    /// Where it ends, counted from the first byte of all [B].
    end: u64,
}

/// The camera and the encoder of one connection.
#[derive(Debug)]
pub struct Encoder {
    config: RealTime,
    bitrate: Rate,
    /// Bitrate of the last frame that arrived.
    last: Option<Rate>,
    /// When the next frame is captured.
    next: Time,
    sent: u64,
    under_way: VecDeque<Frame>,
    /// When measuring what arrives began.
    window: Time,
    /// What has arrived since [B].
    arrived: u64,
    /// Up to when the bitrate has grown.
    grown: Time,
    /// The rate that the network advertises.
    advice: Rate,
    watched: Watched,
}

impl Encoder {
    /// Whether frames are late at `now`, those that have not arrived included.
    fn is_late(&self, now: Time) -> bool {
        self.under_way.front().is_some_and(|frame| now.since(frame.captured) > self.config.deadline)
    }

    /// Adapts the bitrate to what was measured up to `now`.
    fn adapt(&mut self, now: Time, is_late: bool) {
        let passed = now.since(self.window);
        if is_late && passed >= WINDOW {
            let nanos = u128::from(passed.as_nanos());
            let arrived = u128::from(self.arrived) * 8 * u128::from(NANOS_PER_SEC) / nanos;
            let kept = arrived.min(self.bitrate.as_bps().into()) * u128::from(KEPT) / 100;
            self.bitrate = Rate::from_bps(kept as u64);
        } else if !is_late {
            let grown = now.since(self.grown).min(Span::from_secs(1)).as_nanos();
            let more = u128::from(self.bitrate.as_bps()) * u128::from(grown) * u128::from(GROWTH);
            let more = more / (100 * u128::from(NANOS_PER_SEC));
            self.bitrate = Rate::from_bps(self.bitrate.as_bps() + more as u64);
        }
        if passed >= WINDOW {
            (self.window, self.arrived) = (now, 0);
        }
        self.grown = now;
        let RealTime { minimum, maximum, .. } = self.config;
        self.bitrate = self.bitrate.min(self.advice).clamp(minimum, maximum);
    }
}

impl Feeding for Encoder {
    fn poll(&mut self, now: Time) -> Option<Offer> {
        if now < self.next {
            return None;
        }
        self.adapt(now, self.is_late(now));
        let bits = u128::from(self.bitrate.as_bps()) * u128::from(self.config.frame.as_nanos());
        let size = ((bits / u128::from(8 * NANOS_PER_SEC)) as u64).max(1);
        self.sent += size;
        self.under_way.push_back(Frame { captured: self.next, bitrate: self.bitrate, size, end: self.sent });
        self.next += self.config.frame;
        Some(Offer::Write(Bytes::new(size)))
    }

    fn poll_at(&self) -> Time {
        self.next
    }

    fn awaits(&self) -> u64 {
        self.under_way.front().map_or(u64::MAX, |frame| frame.end)
    }

    fn on_delivered(&mut self, now: Time, delivered: u64) {
        while let Some(frame) = self.under_way.front().copied().filter(|frame| frame.end <= delivered) {
            self.under_way.pop_front();
            self.arrived += frame.size;
            self.watched.count(frame.bitrate, self.last.replace(frame.bitrate));
            self.watched.late += u64::from(now.since(frame.captured) > self.config.deadline);
        }
    }

    fn hear(&mut self, rate: Rate) {
        if self.config.heed {
            self.advice = rate;
        }
    }

    fn watched(&self, _: Time) -> Watched {
        self.watched
    }
}
