//! When the timer of a sender fires. Each acknowledgement puts it off and hardly ever does it fire, so that the instant is
//! computed once it matters: when an earlier one has come at which the timer was to fire before. Linux's timers are as
//! lazy: `tcp_write_timer_handler` sets one anew that fires before `icsk_timeout`.

use varicap_units::{Span, Time};

use super::Sender;
use crate::timer::FIRST_PROBE;

/// From what the instant follows at which a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It is known.
    Over,
    /// It is known, and is `since`.
    Until,
    /// An RTO, to the nanosecond.
    Rto,
    /// An RTO on the timer's clock.
    Timeout,
    /// RFC 8985 §7.2: two smoothed RTTs, more if a delayed acknowledgement may be all that is missing, at most the RTO: from
    /// now if data was acknowledged alone, from when the first segment left if data `has_left`.
    Probe {
        /// Whether data has left.
        has_left: bool,
        /// Whether a single segment was in flight as the wait began: more of them make it no shorter.
        is_single: bool,
    },
}

/// The timer of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm {
    /// It fires now, or later if its wait is not over.
    at: Time,
    wait: Wait,
    /// When the wait began, or ends.
    since: Time,
    /// `at` has moved since anybody asked for it, so that nobody will come at the instant before.
    is_news: bool,
    /// The last acknowledgement, in order, left data in flight, of which the tail may be probed, and no probe of it is due
    /// before `at`.
    leads: bool,
}

impl Alarm {
    /// A timer that does not run.
    pub(super) fn off() -> Alarm {
        Alarm { at: Time::NEVER, wait: Wait::Over, since: Time::ZERO, is_news: true, leads: false }
    }

    /// Something happens that may change what is in flight, or what the timer waits for.
    #[inline]
    pub(super) fn follow(&mut self) {
        self.leads = false;
    }

    /// Whether the timer waits for what an acknowledgement in order left in flight, of which the tail may be probed.
    #[inline]
    pub(super) fn leads(&self) -> bool {
        self.leads
    }

    /// It fires at `at`.
    #[inline]
    pub(super) fn set(&mut self, at: Time) {
        (self.at, self.wait, self.is_news, self.leads) = (at, Wait::Over, true, false);
    }

    /// It does not fire before `at`, and that has not been said yet.
    #[inline]
    fn put_off(&mut self, at: Time) {
        (self.at, self.is_news, self.leads) = (at, true, false);
    }

    /// It does not fire before this instant.
    #[inline]
    pub(super) fn soonest(&self) -> Time {
        self.at
    }

    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.at.is_never()
    }
}

impl Sender {
    /// The instant at which the timer fires.
    #[inline]
    pub(super) fn fires_at(&self) -> Time {
        match self.alarm.wait {
            Wait::Over => self.alarm.at,
            Wait::Until => self.alarm.since,
            wait => self.end_of(self.alarm.since, wait),
        }
    }

    /// Computes the instant at which the timer fires, before what it follows from changes.
    #[inline]
    pub(super) fn fix_alarm(&mut self) {
        if !matches!(self.alarm.wait, Wait::Over | Wait::Until) {
            (self.alarm.since, self.alarm.wait) = (self.fires_at(), Wait::Until);
        }
    }

    /// An instant at which the timer may fire has come: if it does not yet, there is a later one.
    pub(super) fn ask_alarm(&mut self, now: Time) {
        if self.alarm.wait == Wait::Over {
            return;
        }
        let soonest = self.soonest_of(self.alarm.since, self.alarm.wait);
        if soonest > now {
            return self.alarm.put_off(soonest);
        }
        let at = self.fires_at();
        if at <= now { self.alarm.set(at) } else { self.alarm.put_off(at) }
    }

    /// As [`Sender::poll_at`], or earlier: then there is nothing to do but to ask again. Whoever asks must come, and whoever polls
    /// must ask by this: once it has come, a timer may have been put off from an instant of which nobody else knows.
    #[inline]
    pub fn wake_by(&mut self) -> Time {
        self.alarm.is_news = false;
        self.alarm.at.min(self.release.wake_at())
    }

    /// The sender is woken at `now`, as it asked to be: whether it is to be polled. If its timer was only put off it need not
    /// be, and what it remembers of the use of its window would be that of a moment at which nothing happens.
    #[inline]
    pub fn is_due(&mut self, now: Time) -> bool {
        if self.alarm.at <= now {
            self.ask_alarm(now);
        }
        self.alarm.at.min(self.release.wake_at()) <= now
    }

    /// The sender will be woken by `until` for its timer. If that was put off, it will be later.
    #[inline]
    pub fn look_ahead(&mut self, until: Time) {
        if self.alarm.at <= until && self.alarm.wait != Wait::Over {
            let soonest = self.soonest_of(self.alarm.since, self.alarm.wait);
            self.alarm.put_off(soonest.max(self.alarm.at));
        }
    }

    /// The timer waits anew from `now` on for an RTO.
    #[inline]
    pub(super) fn wait_for_rto(&mut self, now: Time, wait: Wait) {
        if self.alarm.is_news || self.alarm.at > now + self.sampling.rtt.least_rto() {
            return self.wait_by(now, wait, self.soonest_of(now, wait));
        }
        (self.alarm.wait, self.alarm.since) = (wait, now);
    }

    /// The timer waits anew from `now` on, and does not fire before `soonest`. When it does is computed then, if it still waits:
    /// it is put off more often than it fires. What could fire at once is computed now: whoever comes at `now` is there already.
    #[inline(never)]
    fn wait_by(&mut self, now: Time, wait: Wait, soonest: Time) {
        let soonest = if soonest > now { soonest } else { self.end_of(now, wait) };
        if self.alarm.is_news || self.alarm.at > soonest {
            self.alarm.put_off(soonest);
        }
        (self.alarm.wait, self.alarm.since) = (wait, now);
    }

    /// An instant before which no timer fires whose wait began at `since`, by what takes little to find out.
    #[inline]
    fn soonest_of(&self, since: Time, wait: Wait) -> Time {
        let rtt = &self.sampling.rtt;
        match wait {
            Wait::Over | Wait::Until => self.fires_at(),
            Wait::Rto | Wait::Timeout => since + rtt.soonest_rto(),
            Wait::Probe { has_left, .. } => {
                let from = if has_left { self.recovery.head_left_at().unwrap_or(since) } else { since };
                rtt.soonest_probe(since, since.since(from), rtt.soonest_rto())
            }
        }
    }

    /// The timer waits anew from `now` on for what an acknowledgement in order left in flight, of which nothing left more
    /// than `age` ago, and the tail may be probed.
    #[inline]
    pub(super) fn wait_in_order(&mut self, now: Time, age: Span) {
        let rtt = &self.sampling.rtt;
        if self.alarm.is_news || self.alarm.at > rtt.soonest_probe(now, age, rtt.least_rto()) {
            return self.wait_in_order_sooner(now, age);
        }
        (self.alarm.wait, self.alarm.since, self.alarm.leads) = (Wait::Rto, now, true);
    }

    /// As `wait_in_order`, where the timer may have to be looked at sooner than it was to be.
    #[inline(never)]
    fn wait_in_order_sooner(&mut self, now: Time, age: Span) {
        let rtt = &self.sampling.rtt;
        let soonest = rtt.soonest_probe(now, age, rtt.soonest_rto());
        self.wait_by(now, Wait::Rto, soonest);
        // Else it is too late to tell without looking at what is in flight.
        self.alarm.leads = soonest > now;
    }

    /// The end of a wait that began at `since`.
    #[inline(never)]
    fn end_of(&self, since: Time, wait: Wait) -> Time {
        let rtt = &self.sampling.rtt;
        match wait {
            Wait::Over | Wait::Until => self.fires_at(),
            Wait::Rto => since + rtt.rto(),
            Wait::Timeout => rtt.deadline(since),
            Wait::Probe { has_left, is_single } => {
                let span = match rtt.smoothed() {
                    Some(smoothed) => {
                        let slack = if is_single { rtt.longest_ack_delay() } else { rtt.slack() };
                        smoothed.saturating_mul(2).saturating_add(slack)
                    }
                    None => FIRST_PROBE,
                };
                let from = if has_left { self.recovery.head_left_at().unwrap_or(since) } else { since };
                if since + span <= from + rtt.soonest_rto() {
                    return rtt.after(since, span); // the RTO is no shorter
                }
                let limit = from + rtt.rto();
                rtt.after(since, if limit > since { span.min(limit - since) } else { span })
            }
        }
    }

    /// As [`Sender::wait_for_probe`], where the timer [leads](Alarm::leads): no probe is due sooner than it fires.
    #[inline]
    pub(super) fn wait_on_for_probe(&mut self, now: Time, has_left: bool) {
        let wait = Wait::Probe { has_left, is_single: self.has_single() };
        debug_assert!(self.alarm.at <= self.end_of(now, wait), "a probe is due before the timer fires");
        (self.alarm.wait, self.alarm.since) = (wait, now);
    }

    /// Nothing more leaves now: what left last is the tail to be probed.
    #[inline(never)]
    pub(super) fn wait_for_probe(&mut self, now: Time, has_left: bool) {
        let wait = Wait::Probe { has_left, is_single: self.has_single() };
        self.wait_by(now, wait, self.soonest_of(now, wait));
    }
}

#[cfg(test)]
mod tests {
    use varicap_units::Bytes;

    use super::*;
    use crate::config::TcpConfig;
    use crate::recovery::{RackConfig, Recovery};
    use crate::segment::{Flags, Segment};
    use crate::timer::{LinuxTimer, Timer};

    /// The acknowledgement of the first `step` segments, of which the one that it answers left at `echo`.
    fn acknowledgement(config: &TcpConfig, step: u64, echo: Time) -> Segment {
        let ack = step * config.mss.as_u64();
        Segment { ack, echo, window: u32::MAX, flags: Flags::ACK, ..Segment::default() }
    }

    /// A flow that is acknowledged every 10 ms, so that its timer, of a second, is always put off.
    #[test]
    fn whoever_comes_when_asked_to_is_seldom_woken_and_never_late() {
        let at = |step: u64| Time::ZERO + Span::from_millis(10 * step);
        let config = TcpConfig { handshake: false, ..TcpConfig::default() };
        let mut sender = Sender::new(&config, Time::ZERO);
        sender.write(Bytes::MAX);
        while sender.poll(Time::ZERO).is_some() {}
        let (mut due, mut early, mut wakes) = (sender.wake_by(), 0, 0);
        for step in 1..300 {
            if due <= at(step) {
                wakes += 1;
                assert!(!sender.is_due(due), "no timer fires");
                due = sender.wake_by();
            }
            sender.push(at(step), &acknowledgement(&config, step, at(step - 1)));
            while sender.poll(at(step)).is_some() {}
            let exact = sender.poll_at();
            due = due.min(sender.wake_by());
            assert!(due <= exact, "asked to come at {due:?}, which is after {exact:?}");
            early += u32::from(due < exact);
        }
        assert!(early > 250 && wakes == 3, "{early} times early, woken {wakes} times");
        // Nothing more is acknowledged.
        let due = sender.poll_at();
        assert!(sender.is_due(due) && sender.poll(due).is_some(), "the timer fires");
    }

    /// Of two flows that are acknowledged every 10 ms and whose timers, of a second, are always put off, one is asked beforehand.
    #[test]
    fn a_look_ahead_finds_what_the_sender_would_be_woken_for() {
        let at = |step: u64| Time::ZERO + Span::from_millis(10 * step);
        let config = TcpConfig { handshake: false, ..TcpConfig::default() };
        let [mut woken, mut asked] = [(); 2].map(|()| Sender::new(&config, Time::ZERO));
        for sender in [&mut woken, &mut asked] {
            sender.write(Bytes::MAX);
            while sender.poll(Time::ZERO).is_some() {}
        }
        let (mut due, mut saved) = ([woken.wake_by(), asked.wake_by()], 0);
        for step in 1..300 {
            let before = due[1];
            asked.look_ahead(at(step + 1));
            due[1] = asked.wake_by();
            assert!(due[1] <= asked.poll_at(), "asked to come at {:?}, after {:?}", due[1], asked.poll_at());
            if due[1] > before {
                assert!(before > at(step) && before <= at(step + 1), "too early to ask");
                saved += 1;
            }
            if due[0] <= at(step) {
                assert!(!woken.is_due(due[0]), "no timer fires");
                due[0] = woken.wake_by();
            }
            assert!(due[1] > at(step), "woken although it was asked beforehand");
            for sender in [&mut woken, &mut asked] {
                sender.push(at(step), &acknowledgement(&config, step, at(step - 1)));
                while sender.poll(at(step)).is_some() {}
            }
            due = [due[0].min(woken.wake_by()), due[1].min(asked.wake_by())];
            assert_eq!(woken.poll_at(), asked.poll_at());
        }
        assert_eq!(saved, 3);
        // Nothing more is acknowledged.
        let exact = asked.poll_at();
        asked.look_ahead(exact);
        assert!(asked.wake_by() <= exact);
    }

    /// A probe is due in the tick after the next 2.2 ms, and put off by the acknowledgements of each 0.1 ms.
    #[test]
    fn where_acknowledgements_come_often_the_next_look_is_early_and_none_is_late() {
        let at = |step: u64| Time::ZERO + Span::from_micros(100 * step);
        let (recovery, timer) = (Recovery::Rack(RackConfig::default()), Timer::Linux(LinuxTimer::default()));
        let config = TcpConfig { handshake: false, recovery, timer, ..TcpConfig::default() };
        let mut sender = Sender::new(&config, Time::ZERO);
        sender.write(Bytes::MAX);
        while sender.poll(Time::ZERO).is_some() {}
        let (mut due, mut early, mut wakes) = (sender.wake_by(), 0, 0);
        for step in 1..3000 {
            if due <= at(step) {
                wakes += 1;
                assert!(!sender.is_due(due), "a probe is due at {:?}", sender.poll_at());
                due = sender.wake_by();
                early += u32::from(due < sender.poll_at());
            }
            sender.push(at(step), &acknowledgement(&config, step, at(step - 1)));
            while sender.poll(at(step)).is_some() {}
            due = due.min(sender.wake_by());
            assert!(due <= sender.poll_at(), "asked to come at {due:?}, after {:?}", sender.poll_at());
        }
        assert!(early > 100 && wakes < 200, "woken {wakes} times, {early} times early");
    }
}
