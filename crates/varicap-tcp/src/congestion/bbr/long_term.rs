//! The rate of a policer: after several round trips with many losses at the same rate of delivery, that rate is kept to.
//! Source: Linux 6.18 (`bbr_lt_bw_sampling` and what it calls); no draft has it.

use varicap_units::{Span, Time};

use crate::congestion::bandwidth::Bandwidth;

/// Round trips of a sampling interval, at least and at most.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;

/// Share of what is delivered that must be lost, in 256ths.
const LOSS_THRESHOLD: u64 = 50;

/// Two intervals agree within an eighth, or 4 kb/s.
const RATIO: u64 = 8;
const DIFFERENCE: (u64, Span) = (500, Span::from_secs(1));

/// Round trips for which the rate is kept to.
const ROUNDS_IN_USE: u32 = 48;

/// One acknowledgement, as the long-term sampling needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LtSample {
    pub(super) now: Time,
    pub(super) round_start: bool,
    pub(super) is_probe_bw: bool,
    pub(super) is_app_limited: bool,
    /// Whether it showed losses.
    pub(super) is_loss: bool,
    /// All data delivered and lost so far [B].
    pub(super) delivered: u64,
    pub(super) lost: u64,
}

/// The outcome of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LtOutcome {
    None,
    /// From now on the rate is in use.
    Policed,
    /// From now on it is no longer.
    Over,
}

/// The estimation of a policer's rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    bw: Option<Bandwidth>,
    is_in_use: bool,
    is_sampling: bool,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// The policer's rate, if there is one.
    #[inline]
    pub(super) fn in_use(&self) -> Option<Bandwidth> {
        if self.is_in_use { self.bw } else { None }
    }

    /// Whether it takes note of an acknowledgement that shows no loss.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.is_in_use || self.is_sampling
    }

    /// Takes note of an acknowledgement.
    pub(super) fn take(&mut self, news: &LtSample) -> LtOutcome {
        if self.is_in_use {
            if news.is_probe_bw && news.round_start {
                self.rounds += 1;
                if self.rounds >= ROUNDS_IN_USE {
                    self.reset(news);
                    return LtOutcome::Over;
                }
            }
            return LtOutcome::None;
        }
        if !self.is_sampling {
            // A policer first passes what its bucket holds: the interval begins with the first loss.
            if !news.is_loss {
                return LtOutcome::None;
            }
            self.begin(news);
            self.is_sampling = true;
        }
        if news.is_app_limited {
            self.reset(news);
            return LtOutcome::None;
        }
        self.rounds += u32::from(news.round_start);
        if self.rounds > MOST_ROUNDS {
            self.reset(news);
            return LtOutcome::None;
        }
        if self.rounds < LEAST_ROUNDS || !news.is_loss {
            return LtOutcome::None;
        }
        self.judge(news)
    }

    /// An interval is long enough, and ends with a loss.
    fn judge(&mut self, news: &LtSample) -> LtOutcome {
        let (lost, delivered) = (news.lost - self.lost, news.delivered - self.delivered);
        let span = news.now.since(self.since);
        let is_little = lost * 256 < LOSS_THRESHOLD * delivered;
        if delivered == 0 || is_little || span < Span::from_millis(1) {
            return LtOutcome::None;
        }
        let bw = Bandwidth::of(delivered, span);
        if let Some(last) = self.bw {
            let difference = bw.max(last).less(bw.min(last));
            let tolerance = last.of_units(1, RATIO).max(Bandwidth::of(DIFFERENCE.0, DIFFERENCE.1));
            if difference <= tolerance {
                self.bw = Some(bw.midpoint(last));
                (self.is_in_use, self.rounds) = (true, 0);
                return LtOutcome::Policed;
            }
        }
        self.bw = Some(bw);
        self.begin(news);
        LtOutcome::None
    }

    /// An interval begins.
    fn begin(&mut self, news: &LtSample) {
        (self.since, self.delivered, self.lost, self.rounds) = (news.now, news.delivered, news.lost, 0);
    }

    fn reset(&mut self, news: &LtSample) {
        (self.bw, self.is_in_use, self.is_sampling) = (None, false, false);
        self.begin(news);
    }
}
