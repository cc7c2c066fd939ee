//! Adaptive video: a player that asks for one segment after the other, each at a bitrate of its choice.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, FASTEST, Part, bounded, positive, require};
use varicap_units::{Bytes, JsonSchema, NANOS_PER_SEC, Rate, Span, Time};

use crate::playback::{Playback, Watched};
use crate::rules::{VideoRule, View};
use crate::{Application, Feeding, Offer, Start};

/// Most bitrates of a ladder.
const MOST_RUNGS: usize = 100;

/// A video that is fetched segment by segment while it is watched. The player asks for the next segment when one has
/// arrived and its buffer has room for another. Segments are as large as their bitrates say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Video {
    /// The bitrates, the lowest first. Default: 350, 600, 1000, 2000 and 3000 kbit/s ([yin15, §7.1]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Vec<Rate>>,
    /// The time that each segment shows. Default: 4 s ([yin15, §7.1]).
    pub segment: Span,
    /// The most that the player keeps ahead. Default: 30 s ([yin15, §7.1]).
    pub buffer: Span,
    /// How much must wait before the player begins; after a stall it goes on with the next segment. Default: a segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup: Option<Span>,
    /// How bitrates are chosen. Default: bola.
    pub rule: VideoRule,
    /// Whether the player heeds the rate that the network advertises (`feedback`, which it needs): it chooses no
    /// bitrate above it, and takes it for the throughput as long as it has measured none. Default: false.
    pub heed: bool,
    /// How long a request takes to the server, while nothing is sent. Default: 0 s.
    pub request: Span,
    /// How much there is to watch. Default: more than there is time for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
}

impl Default for Video {
    fn default() -> Video {
        Video {
            ladder: None,
            segment: Span::from_secs(4),
            buffer: Span::from_secs(30),
            startup: None,
            rule: VideoRule::default(),
            heed: false,
            request: Span::ZERO,
            length: None,
        }
    }
}

impl Video {
    /// The bitrates, the lowest first.
    fn ladder(&self) -> &[Rate] {
        const LADDER: [Rate; 5] = [
            Rate::from_bps(350_000),
            Rate::from_bps(600_000),
            Rate::from_bps(1_000_000),
            Rate::from_bps(2_000_000),
            Rate::from_bps(3_000_000),
        ];
        self.ladder.as_deref().unwrap_or(&LADDER)
    }

    fn startup(&self) -> Span {
        self.startup.unwrap_or(self.segment)
    }

    /// How many segments there are.
    fn segments(&self) -> u64 {
        self.length.map_or(u64::MAX, |length| length.as_nanos().div_ceil(self.segment.as_nanos()))
    }

    /// The size of a segment of this bitrate.
    fn size(&self, bitrate: Rate) -> Bytes {
        let bits = u128::from(bitrate.as_bps()) * u128::from(self.segment.as_nanos());
        Bytes::new((bits / u128::from(8 * NANOS_PER_SEC)) as u64).max(Bytes::new(1))
    }
}

impl Part for Video {
    fn check(&self) -> Checked {
        let rungs = self.ladder().len();
        require("ladder", (1..=MOST_RUNGS).contains(&rungs), rungs, format!("1 to {MOST_RUNGS} bitrates"))?;
        for (rung, bitrate) in self.ladder().iter().enumerate() {
            let key = format!("ladder.{rung}");
            let good = *bitrate > Rate::ZERO && *bitrate <= FASTEST;
            require(&key, good, bitrate, format!("above 0, and at most {FASTEST}"))?;
            let rises = rung == 0 || self.ladder()[rung - 1] < *bitrate;
            require(&key, rises, bitrate, "more than the bitrate before it")?;
        }
        positive("segment", self.segment)?;
        let shortest = Span::from_millis(10);
        require("segment", self.segment >= shortest, self.segment, format!("at least {shortest}"))?;
        bounded("segment", self.segment)?;
        bounded("buffer", self.buffer)?;
        let least = self.segment.saturating_mul(2);
        require("buffer", self.buffer >= least, self.buffer, format!("at least two segments, {least}"))?;
        let startup = self.startup();
        let most = self.buffer - self.segment;
        let expected = format!("at most {most}, a segment less than `buffer`: else it never begins");
        require("startup", startup <= most, startup, expected)?;
        bounded("request", self.request)?;
        self.length.map_or(Ok(()), |length| positive("length", length))?;
        self.rule.check().map_err(|fault| fault.within("rule"))
    }
}

impl Application for Video {
    type Feed = Box<Player>;

    fn feed(&self, start: &Start<'_>) -> Box<Player> {
        Box::new(Player {
            playback: Playback::new(start.at, self.startup()),
            state: State::Writes(start.at + self.request),
            asked: start.at,
            rung: 0,
            last: None,
            left: self.segments(),
            expected: 0,
            is_busy: true,
            advice: None,
            throughputs: VecDeque::with_capacity(self.rule.samples() as usize),
            config: self.clone(),
        })
    }

    fn packets(&self, mss: f64, seconds: f64) -> f64 {
        let highest = self.ladder().last().map_or(0.0, |rate| rate.as_bps() as f64);
        let watched = self.length.map_or(f64::INFINITY, Span::as_secs_f64);
        highest / 8.0 / mss * (seconds + self.buffer.as_secs_f64()).min(watched)
    }

    fn actions(&self, _: f64, seconds: f64) -> f64 {
        2.0 * seconds / self.segment.as_secs_f64()
    }
}

/// The event that the player waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A segment has arrived at this instant: it looks whether there is room for another.
    Looks(Time),
    /// Its buffer has room from this instant on; then it asks.
    Asks(Time),
    /// Its request reaches the server then, which writes the segment.
    Writes(Time),
    /// The segment is under way.
    Fetches,
    /// There is nothing more to watch.
    Done,
}

/// The player of one connection.
#[derive(Debug)]
pub struct Player {
    config: Video,
    playback: Playback,
    state: State,
    /// When it asked for the present segment.
    asked: Time,
    /// The rung of the present segment.
    rung: usize,
    /// The rung of the one before, if there was one.
    last: Option<usize>,
    /// Segments that have not been asked for, the present one included.
    left: u64,
    /// The end of the present segment, counted from the first [B].
    expected: u64,
    /// Whether something is under way, or asked for.
    is_busy: bool,
    /// The rate that the network advertises.
    advice: Option<Rate>,
    /// Throughputs of the last segments, the oldest first [b/s].
    throughputs: VecDeque<f64>,
}

impl Player {
    /// The harmonic mean of the throughputs; what is advised where there is none yet.
    fn throughput(&self) -> Option<Rate> {
        let inverse: f64 = self.throughputs.iter().map(|bps| 1.0 / bps).sum();
        let count = self.throughputs.len() as f64;
        let measured = (count > 0.0).then(|| Rate::from_bps((count / inverse) as u64));
        measured.or(self.advice)
    }

    /// Chooses the bitrate of the next segment.
    fn choose(&self, now: Time) -> usize {
        let view = View {
            ladder: self.config.ladder(),
            level: self.playback.level(now),
            buffer: self.config.buffer,
            segment: self.config.segment,
            last: self.last.unwrap_or(0),
            throughput: self.throughput(),
        };
        let most = self.advice.map_or(usize::MAX, |advice| view.rung_below(advice));
        self.config.rule.choose(&view).min(most)
    }

    /// Asks for the next segment.
    fn ask(&mut self, now: Time) {
        self.asked = now;
        self.rung = self.choose(now);
        self.state = State::Writes(now + self.config.request);
    }

    /// The server writes the segment that was asked for.
    fn write(&mut self) -> Offer {
        let size = self.config.size(self.config.ladder()[self.rung]);
        self.expected += size.as_u64();
        self.state = State::Fetches;
        Offer::Write(size)
    }
}

impl Feeding for Player {
    fn poll(&mut self, now: Time) -> Option<Offer> {
        if let State::Looks(_) = self.state {
            let room = self.config.buffer - self.config.segment;
            self.state =
                if self.left == 0 { State::Done } else { State::Asks(self.playback.falls_to(now, room)) };
        }
        if let State::Asks(at) = self.state
            && at <= now
        {
            self.ask(now);
        }
        // Only here: whoever counts active flows looks before and after.
        self.is_busy = matches!(self.state, State::Writes(_) | State::Fetches);
        match self.state {
            State::Writes(at) if at <= now => Some(self.write()),
            _ => None,
        }
    }

    fn poll_at(&self) -> Time {
        match self.state {
            State::Looks(at) | State::Asks(at) | State::Writes(at) => at,
            State::Fetches | State::Done => Time::NEVER,
        }
    }

    fn is_active(&self) -> bool {
        self.is_busy
    }

    fn awaits(&self) -> u64 {
        if self.state == State::Fetches { self.expected } else { u64::MAX }
    }

    fn on_delivered(&mut self, now: Time, delivered: u64) {
        debug_assert!(self.state == State::Fetches && delivered == self.expected, "{delivered} B");
        let bitrate = self.config.ladder()[self.rung];
        let last = self.last.replace(self.rung).map(|rung| self.config.ladder()[rung]);
        self.playback.push(now, self.config.segment);
        self.playback.watched.count(bitrate, last);
        let samples = self.config.rule.samples() as usize;
        if samples > 0 {
            if self.throughputs.len() == samples {
                self.throughputs.pop_front();
            }
            let took = now.since(self.asked).max(Span::from_nanos(1));
            let bits = 8.0 * self.config.size(bitrate).as_u64() as f64;
            self.throughputs.push_back(bits / took.as_secs_f64());
        }
        self.left -= 1;
        if self.left == 0 {
            self.playback.end(now);
        }
        self.state = State::Looks(now);
    }

    fn hear(&mut self, rate: Rate) {
        if self.config.heed {
            self.advice = (!rate.is_unlimited()).then_some(rate);
        }
    }

    fn watched(&self, now: Time) -> Watched {
        self.playback.watched(now)
    }
}
