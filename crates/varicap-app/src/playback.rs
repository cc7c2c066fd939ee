//! A player's buffer, and the quality of what its viewer sees.

use varicap_units::{Rate, Span, Time};

varicap_units::totals! {
    /// The media that was fetched and watched since the start of a run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Watched {
        /// Segments that have arrived, or frames.
        pub pieces: u64,
        /// Sum of their bitrates [b/s].
        pub bitrates: u128,
        /// How often a piece had another bitrate than the one before.
        pub switches: u64,
        /// Sum of the differences, without signs [b/s].
        pub changes: u128,
        /// Time in which something was shown.
        pub played: Span,
        /// Time in which nothing was, although it had begun.
        pub stalled: Span,
        /// Players that have begun to show something.
        pub started: u64,
        /// Sum of the times that they took to begin.
        pub startup: Span,
        /// Frames that came too late to be shown.
        pub late: u64,
    }
}

impl Watched {
    /// Counts a piece of `bitrate`, after one of `last`.
    pub(crate) fn count(&mut self, bitrate: Rate, last: Option<Rate>) {
        self.pieces += 1;
        self.bitrates += u128::from(bitrate.as_bps());
        let change = last.map_or(0, |last| last.as_bps().abs_diff(bitrate.as_bps()));
        self.switches += u64::from(change > 0);
        self.changes += u128::from(change);
    }
}

/// The stage of the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has shown nothing so far.
    Starting,
    Playing,
    /// Its buffer has run out, and it waits for the next segment.
    Stalled,
    /// All has been shown.
    Over,
}

/// A buffer that fills by whole segments and drains in real time while it plays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Playback {
    opened: Time,
    /// How much must wait before it begins.
    startup: Span,
    stage: Stage,
    /// The media that waits to be shown, as of `settled`.
    level: Span,
    settled: Time,
    /// Nothing comes after what waits.
    is_last: bool,
    pub watched: Watched,
}

impl Playback {
    /// A player that opens at `now`, and begins once `startup` waits.
    pub fn new(now: Time, startup: Span) -> Playback {
        let watched = Watched::default();
        Playback {
            opened: now,
            startup,
            stage: Stage::Starting,
            level: Span::ZERO,
            settled: now,
            is_last: false,
            watched,
        }
    }

    /// Plays up to `now`.
    pub fn settle(&mut self, now: Time) {
        let passed = now.since(self.settled);
        self.settled = now;
        match self.stage {
            Stage::Starting | Stage::Over => {}
            Stage::Stalled => self.watched.stalled += passed,
            Stage::Playing => {
                let played = passed.min(self.level);
                self.watched.played += played;
                self.level -= played;
                if passed > played && self.is_last {
                    self.stage = Stage::Over;
                } else if passed > played {
                    self.stage = Stage::Stalled;
                    self.watched.stalled += passed - played;
                }
            }
        }
    }

    /// A segment of `length` has arrived at `now`.
    pub fn push(&mut self, now: Time, length: Span) {
        self.settle(now);
        self.level += length;
        match self.stage {
            Stage::Starting if self.level >= self.startup => {
                self.watched.started += 1;
                self.watched.startup += now.since(self.opened);
                self.stage = Stage::Playing;
            }
            Stage::Stalled => self.stage = Stage::Playing,
            Stage::Starting | Stage::Playing | Stage::Over => {}
        }
    }

    /// Nothing comes after what waits at `now`: it plays to its end, and that is no stall.
    pub fn end(&mut self, now: Time) {
        self.settle(now);
        self.is_last = true;
        if self.stage == Stage::Starting {
            self.watched.started += 1;
            self.watched.startup += now.since(self.opened);
            self.stage = Stage::Playing;
        }
    }

    /// The media that waits to be shown at `now`.
    pub fn level(&self, now: Time) -> Span {
        let passed = if self.stage == Stage::Playing { now.since(self.settled) } else { Span::ZERO };
        self.level.saturating_sub(passed)
    }

    /// When no more than `level` will wait, if nothing comes; NEVER if it does not play.
    pub fn falls_to(&self, now: Time, level: Span) -> Time {
        let above = self.level(now).saturating_sub(level);
        match (above, self.stage) {
            (Span::ZERO, _) => now,
            (above, Stage::Playing) => now + above,
            _ => Time::NEVER,
        }
    }

    /// The media that was watched up to `now`.
    pub fn watched(&self, now: Time) -> Watched {
        let mut player = *self;
        player.settle(now);
        player.watched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Streams;

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    #[test]
    fn a_stall_lasts_from_the_empty_buffer_to_the_next_segment() {
        let segment = Span::from_millis(1000);
        let mut player = Playback::new(ms(100), segment * 2);
        player.push(ms(400), segment);
        assert_eq!((player.level(ms(900)), player.watched(ms(900)).started), (segment, 0));
        player.push(ms(1000), segment);
        assert_eq!(player.falls_to(ms(1000), segment), ms(2000));
        assert_eq!(player.level(ms(2500)), Span::from_millis(500));
        player.push(ms(3700), segment);
        let watched = player.watched(ms(4000));
        assert_eq!((watched.played, watched.stalled), (Span::from_millis(2300), Span::from_millis(700)));
        assert_eq!((watched.started, watched.startup), (1, Span::from_millis(900)));
    }

    /// Media that was pushed is played or waits; time is that before the start, played or stalled; and a fluid stalls for as long
    /// as playing was ahead of what had arrived when it was the farthest ahead (its reflection at an empty buffer).
    #[test]
    fn buffers_obey_the_bounds_of_a_fluid() {
        for seed in 0..200 {
            let mut stream = Streams::new(seed, 0).stream("arrivals");
            let segment = Span::from_millis(1 + stream.below(5000));
            let startup = Span::from_millis(stream.below(3 * segment.as_nanos() / 1_000_000 + 1));
            let mut player = Playback::new(Time::ZERO, startup);
            let (mut now, mut pushed, mut ahead) = (Time::ZERO, Span::ZERO, Span::ZERO);
            let behind = |begun: Option<Time>, at: Time, pushed: Span| {
                begun.map_or(Span::ZERO, |begun| at.since(begun).saturating_sub(pushed))
            };
            let mut begun = None;
            for _ in 0..60 {
                now += Span::from_millis(stream.below(4000));
                ahead = ahead.max(behind(begun, now, pushed));
                player.push(now, segment);
                pushed += segment;
                begun = begun.or((pushed >= startup).then_some(now));
                let later = now + Span::from_millis(stream.below(9000));
                for at in [now, later] {
                    let (watched, level) = (player.watched(at), player.level(at));
                    assert_eq!(watched.played + level, pushed);
                    if watched.started == 1 {
                        assert_eq!(watched.startup + watched.played + watched.stalled, at.since(Time::ZERO));
                    } else {
                        assert_eq!(watched.played + watched.stalled, Span::ZERO);
                    }
                    assert_eq!(watched.stalled, ahead.max(behind(begun, at, pushed)));
                }
            }
        }
    }
}
