//! How much of the window was used, where that decides on its growth or its size. Source: RFC 2861, as Linux has it;
//! draft-ietf-ccwg-ratelimited-increase-11 (maxFS).

use varicap_units::{Bytes, Span, Time};

use super::Sender;
use crate::config::TcpConfig;
use crate::congestion::{CongestionControl, GrowWhen, Validation, Wants};
use crate::recovery::State;

/// The record of how much of the window was used.
#[derive(Debug)]
pub(super) struct Usage {
    /// Something reads it.
    pub(super) is_on: bool,
    /// The window grows by it.
    pub(super) decides_growth: bool,
    /// The window grows whether it is used or not.
    pub(super) grows_always: bool,
    /// A window that is not used decays.
    pub(super) decays: bool,
    /// Whether the window was full at some time since the last window of data began.
    is_full: bool,
    /// Unless it was: most that was outstanding since then [B].
    most: u64,
    /// The end of that window of data [B].
    until: u64,
    /// Segments that had been sent when it was looked at last.
    sent: u64,
    /// Most that was outstanding since the window was last used up [B].
    used: u64,
    /// When the window was last used up, or new data acknowledged. Linux: `snd_cwnd_stamp`.
    snd_cwnd_stamp: Time,
    /// Acknowledgements open the window up to what this allows. In a box, since few have it.
    pub(super) max_fs: Option<Box<MaxFs>>,
}

/// The limit of the window of a rate-limited sender. Source: draft-ietf-ccwg-ratelimited-increase-11 §3.
#[derive(Debug)]
pub(super) struct MaxFs {
    /// maxFS: the most that was in flight since cwnd fell last [B].
    most: u64,
    /// cwnd when it was looked at last [B].
    cwnd: u64,
}

impl Usage {
    /// A record that is kept if something reads it: the configuration, or a control that `wants` it.
    /// In the beginning cwnd is `initial_window` bytes.
    pub(super) fn new(config: &TcpConfig, now: Time, wants: Wants, initial_window: u64) -> Usage {
        let decides_growth = config.grow_when == GrowWhen::WindowUsed && !wants.own_window;
        let decays = config.restart_after_idle && config.validation == Validation::Decay && !wants.own_window;
        let grows_always = config.grow_when == GrowWhen::Always && !wants.own_window;
        Usage {
            is_on: decides_growth || decays || wants.rate_samples,
            decides_growth,
            grows_always,
            decays,
            is_full: false,
            most: 0,
            until: 0,
            sent: 0,
            used: 0,
            snd_cwnd_stamp: now,
            max_fs: (config.grow_when == GrowWhen::MaxFs && !wants.own_window)
                .then(|| Box::new(MaxFs { most: initial_window, cwnd: initial_window })),
        }
    }

    /// New data is acknowledged: a window through which data flows does not decay. RFC 2861 has no such rule.
    /// Source: Linux `tcp_cong_avoid`, and `tcp_end_cwnd_reduction` where the window falls meanwhile.
    #[inline]
    pub(super) fn on_new_data(&mut self, now: Time) {
        self.snd_cwnd_stamp = now;
    }
}

impl Sender {
    /// Whether cwnd was used up at some time in the last round trip, if that is recorded.
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.usage.is_full
    }

    /// Whether acknowledgements open no window, since it was not used.
    #[inline]
    pub(super) fn grows_in_vain(&self) -> bool {
        if self.usage.decides_growth {
            !self.usage.is_full && !self.is_mostly_used()
        } else {
            self.app_limited && self.growth_limit().is_none_or(|limit| self.window.cwnd() >= limit)
        }
    }

    /// Draft §3: an acknowledgement is about to end what FlightSize was since the last one. maxFS starts anew with the first
    /// FlightSize after cwnd fell, for whatever reason.
    pub(super) fn note_flight(&mut self) {
        let (flight, now) = (self.space.flight(), self.window.cwnd());
        if let Some(MaxFs { most, cwnd }) = self.usage.max_fs.as_deref_mut() {
            let before = if now < *cwnd { 0 } else { *most };
            (*most, *cwnd) = (before.max(flight), now);
        }
    }

    /// Draft §3, limit(maxFS): how far acknowledgements may open the window of a sender that something other than cwnd limits [B].
    pub(super) fn growth_limit(&self) -> Option<u64> {
        let MaxFs { most: max_fs, .. } = *self.usage.max_fs.as_deref().filter(|_| self.app_limited)?;
        let mss = self.space.mss;
        let limit = if self.window.is_in_slow_start() { max_fs.saturating_mul(2) } else { max_fs + mss };
        Some(if self.counts_arrivals { limit / mss * mss } else { limit })
    }

    /// An acknowledgement has opened the window, which was `before` bytes: not beyond `limit`, if there is one.
    pub(super) fn cap_growth(&mut self, before: u64, limit: Option<u64>) {
        if let Some(limit) = limit
            && self.window.cwnd() > limit.max(before)
        {
            self.window.change(|control| control.cap(Bytes::new(limit.max(before))));
        }
        let now = self.window.cwnd();
        if let Some(MaxFs { cwnd, .. }) = self.usage.max_fs.as_deref_mut() {
            *cwnd = now.max(*cwnd);
        }
    }

    /// Whether, in slow start, more than half of the window was used: it then grows to twice what was acknowledged.
    #[inline]
    fn is_mostly_used(&self) -> bool {
        self.window.cwnd() < 2 * self.usage.most && self.window.is_in_slow_start()
    }

    /// The sender stops sending, because the window `is_full` or for another reason.
    #[inline]
    pub(super) fn note_usage(&mut self, is_full: bool) {
        if !self.usage.is_on {
            return;
        }
        if is_full {
            let usage = &mut self.usage;
            (usage.is_full, usage.until, usage.sent) = (true, self.space.nxt, self.counters.sent_packets);
            (usage.used, usage.snd_cwnd_stamp) = (0, self.release.last_sent_at());
        } else {
            self.note_room();
        }
    }

    /// As `note_usage`, where the window is not full.
    #[inline(never)]
    fn note_room(&mut self) {
        if self.counters.sent_packets != self.usage.sent {
            self.usage.sent = self.counters.sent_packets;
            if self.usage.decides_growth || self.usage.decays {
                self.note_partial_use();
            } else if self.space.una >= self.usage.until {
                // A control alone wants to know: a round trip has passed since the window was full.
                (self.usage.is_full, self.usage.until) = (false, self.space.nxt);
            }
        }
    }

    #[inline(never)]
    fn note_partial_use(&mut self) {
        let (flight, now) = (self.space.flight(), self.release.last_sent_at());
        let usage = &mut self.usage;
        if self.space.una >= usage.until || !usage.is_full && flight > usage.most {
            (usage.is_full, usage.most, usage.until) = (false, flight, self.space.nxt);
        }
        if usage.is_full || self.is_mostly_used() {
            (self.usage.used, self.usage.snd_cwnd_stamp) = (0, now);
            return;
        }
        self.usage.used = self.usage.used.max(flight);
        let unused = now.since(self.usage.snd_cwnd_stamp);
        if self.usage.decays && unused >= self.sampling.rtt.least_rto() {
            self.decay_if_unused(now, unused);
        }
    }

    /// The window was not used up, nor new data acknowledged, for `unused`. If that is an RTO, it falls half the way to what was
    /// used. Source: Linux `tcp_cwnd_application_limited`.
    #[cold]
    #[inline(never)]
    fn decay_if_unused(&mut self, now: Time, unused: Span) {
        if unused < self.sampling.rtt.rto() {
            return;
        }
        self.usage.snd_cwnd_stamp = now;
        if self.recovery.state() == State::Open {
            let used = std::mem::take(&mut self.usage.used).max(self.initial_window);
            let cwnd = self.window.cwnd();
            if used < cwnd {
                let half = Bytes::new(u64::midpoint(cwnd, used));
                self.window.change(|control| control.on_unused(half));
            }
        }
    }

    /// Nothing was sent for longer than an RTO: the window is halved for each, down to the restart window.
    pub(super) fn decay_idle(&mut self, now: Time) {
        let rto = self.sampling.rtt.rto();
        let restart = self.initial_window.min(self.window.cwnd());
        let (mut idle, mut cwnd) = (self.release.idle(now), self.window.cwnd());
        while idle > rto && cwnd > restart {
            idle = idle.saturating_sub(rto);
            cwnd = (cwnd / 2 / self.space.mss * self.space.mss).max(restart);
        }
        (self.usage.used, self.usage.snd_cwnd_stamp) = (0, now);
        self.window.change(|control| control.on_unused(Bytes::new(cwnd)));
    }
}
