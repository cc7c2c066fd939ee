//! A camera: frames at a fixed pace, of a bitrate that follows how late they arrive.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, FASTEST, Part, bounded, positive, require};
use varicap_units::{Bytes, JsonSchema, Rate, Span, Time};

use crate::bitrate::Bitrate;
use crate::playback::Watched;
use crate::{Application, Feeding, Offer, Start};

/// Frames at a fixed pace, each of which is wanted before its deadline. While frames are late the bitrate falls to 85 % of
/// what arrives, at most once in half a second; otherwise it grows by 8 % a second. Over datagrams, which may be lost, it
/// also falls by half the share of those lost if that is above 10 %, and does not grow above 2 %.
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
            bitrate: Bitrate::new(self, start.at),
            last: None,
            next: start.at,
            sent: 0,
            under_way: VecDeque::new(),
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
    bitrate: Bitrate,
    /// Bitrate of the last frame that arrived.
    last: Option<Rate>,
    /// When the next frame is captured.
    next: Time,
    sent: u64,
    under_way: VecDeque<Frame>,
    watched: Watched,
}

impl Encoder {
    /// Whether frames are late at `now`, those that have not arrived included.
    fn is_late(&self, now: Time) -> bool {
        self.under_way.front().is_some_and(|frame| now.since(frame.captured) > self.config.deadline)
    }
}

impl Feeding for Encoder {
    fn poll(&mut self, now: Time) -> Option<Offer> {
        if now < self.next {
            return None;
        }
        self.bitrate.adapt(now, self.is_late(now));
        let (bitrate, size) = (self.bitrate.rate(), self.bitrate.frame(self.config.frame));
        self.sent += size;
        self.under_way.push_back(Frame { captured: self.next, bitrate, size, end: self.sent });
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
            self.bitrate.on_arrived(frame.size);
            self.watched.count(frame.bitrate, self.last.replace(frame.bitrate));
            self.watched.late += u64::from(now.since(frame.captured) > self.config.deadline);
        }
    }

    fn hear(&mut self, rate: Rate) {
        if self.config.heed {
            self.bitrate.advise(rate);
        }
    }

    fn watched(&self, _: Time) -> Watched {
        self.watched
    }
}
