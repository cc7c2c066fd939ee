//! Linux's delays of acknowledgements, beyond counting segments and waiting for a fixed time. Source: `tcp_event_data_recv`,
//! `__tcp_ack_snd_check` and `tcp_data_queue` in Linux's net/ipv4/tcp_input.c, `tcp_send_delayed_ack` and `tcp_event_ack_sent`
//! in tcp_output.c, `tcp_delack_timer_handler` in tcp_timer.c, `__tcp_cleanup_rbuf` in tcp.c.

use std::collections::VecDeque;

use varicap_units::{Span, Time};

use super::growth::Growth;
use crate::ack_policy::{DelayedAck, LONGEST};
use crate::config::TcpConfig;
use crate::segment::{Flags, Segment};
use crate::timer::step::Step;

/// Out-of-order segments that are acknowledged at once before they are acknowledged together (TCP_FASTRETRANS_THRESH).
const NOT_COMPRESSED: u32 = 3;
/// Most segments that are acknowledged together (net.ipv4.tcp_comp_sack_nr).
const MOST_COMPRESSED: u32 = 44;
/// Share of the round-trip time that acknowledgements of out-of-order data wait: one part in so many.
const COMPRESSION_SHARE: u64 = 20;
/// By how much the timer of such an acknowledgement may be late, and is where nothing else wakes the kernel
/// (net.ipv4.tcp_comp_sack_slack_ns; `hrtimer_start_range_ns`).
const COMPRESSION_SLACK: Span = Span::from_micros(100);
/// RTO of a receiver, for whom it is only the measure of a long pause: before it knows the round-trip time, and what it adds
/// to that at least.
const FIRST_RTO: Span = Span::from_secs(1);
const LEAST_DEVIATION: Span = Span::from_millis(200);
/// Acknowledgements at once after a congestion mark.
const QUICK_AFTER_MARK: u32 = 2;

/// How long a receiver waits, and when it does not.
#[derive(Debug)]
pub(super) struct Delay {
    /// Acknowledgements that are still sent at once, and the most that may be.
    quick: u32,
    most_quick: u32,
    /// Most that waits for an acknowledgement, where the count of segments is one of bytes [B].
    pub(super) spared: Option<u64>,
    /// Whether a segment shorter than the MSS is acknowledged at once, and whether one waits nevertheless.
    ends_at_once: bool,
    /// Whether a full-sized segment in which a write ends is, too.
    pushed_at_once: bool,
    end_waits: bool,
    /// Data goes the other way as an answer: acknowledgements wait for it (Linux's ping-pong mode).
    answers: bool,
    /// The delay in force, which adapts between two bounds if they differ.
    delay: Span,
    least: Span,
    longest: Span,
    /// Half of the least one, rounded as the clock does.
    half_least: Span,
    /// The clock's ticks, if it has any: all of these are whole ones then.
    tick: Option<Step>,
    /// Arrival of the latest data in order, never before the first, and when the clock shows another time than then.
    latest: Time,
    ticks_at: Time,
    /// Before this instant more data in order says nothing of pauses: the clock shows what it showed, and the delay is one
    /// that short pauses leave as it is.
    calm_until: Time,
    /// When the SYN was answered, and the round-trip time that followed from the end of the handshake.
    answered: Option<Time>,
    rtt: Option<Span>,
    /// ECN-capable data has arrived.
    saw_capable: bool,
    compression: Option<Span>,
    /// Out-of-order segments at once since RCV.NXT moved here, and acknowledgements that were saved.
    at_once: u32,
    next: u64,
    saved: u32,
    /// When the timer of a delayed acknowledgement was to expire that was armed last, whatever became of that.
    armed: Time,
    mss: u64,
    /// How far the window grows, if segments that let it grow are acknowledged at once.
    growth: Option<Growth>,
}

impl Delay {
    pub(super) fn new(policy: &DelayedAck, config: &TcpConfig) -> Delay {
        let mss = config.mss.as_u64().max(1);
        let tick = policy.hertz.map(|hertz| Step::new(Span::from_secs(1) / u64::from(hertz.max(1))));
        // In whole ticks, with one to spare for the tick under way.
        let whole = |span: Span| match tick {
            Some(tick) => {
                let most = tick.whole(LONGEST.as_nanos()).saturating_sub(1);
                Span::from_nanos(tick.whole_up(span.as_nanos()).min(most) * tick.step)
            }
            None => span,
        };
        let mut delay = Delay {
            quick: 0,
            most_quick: policy.quick,
            spared: policy.count_bytes.then(|| u64::from(policy.segments.max(1) - 1) * mss),
            ends_at_once: policy.short_at_once,
            pushed_at_once: policy.pushed_at_once,
            end_waits: false,
            answers: false,
            delay: whole(policy.timeout),
            least: whole(policy.timeout),
            longest: whole(policy.maximum.unwrap_or(policy.timeout)),
            half_least: Span::ZERO,
            tick,
            latest: Time::NEVER,
            ticks_at: Time::ZERO,
            calm_until: Time::ZERO,
            answered: None,
            rtt: None,
            saw_capable: false,
            compression: policy.sack_compression,
            at_once: 0,
            next: 0,
            saved: 0,
            armed: Time::ZERO,
            mss,
            growth: policy.autotuning.then(|| Growth::new(config, policy.buffer_growth)),
        };
        delay.half_least = delay.part(delay.least, 2);
        delay
    }

    /// Whether a segment in order that is not marked is data, and tells nothing but that it arrived.
    #[inline]
    pub(super) fn expects(&self, segment: &Segment) -> bool {
        segment.len > 0 && self.answered.is_none() && segment.flags.has(Flags::ECT) == self.saw_capable
    }

    /// A segment after the SYN arrived, with data or without: the handshake is over.
    #[inline]
    pub(super) fn on_segment(&mut self, now: Time, segment: &Segment) {
        // Deviation: where the handshake ends with the first data, a pause before that counts as part of the round trip.
        if let Some(answered) = self.answered.take() {
            let rtt = now.since(answered);
            self.rtt = Some(rtt);
            if let Some(growth) = &mut self.growth {
                growth.begin(now, segment, rtt);
            }
        }
    }

    /// `segment` brought data in order, when `window` bytes were advertised and so many `held` out of order. The application
    /// has read everything below `read`, if it reads at once.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        now: Time,
        segment: &Segment,
        window: u64,
        held: &VecDeque<(u64, u64)>,
        read: Option<u64>,
    ) {
        if now >= self.calm_until {
            self.note_pause(now, window);
        }
        if let Some(growth) = &mut self.growth {
            self.quick |= u32::from(growth.on_data(segment, held));
            if u64::from(segment.len) >= self.mss {
                growth.measure(now, segment.sent_at);
            }
            if let Some(read) = read {
                growth.on_read(now, read);
            }
        }
    }

    /// Data in order arrives after a pause, or when a short one still moves the delay.
    #[inline(never)]
    fn note_pause(&mut self, now: Time, window: u64) {
        let tick = if now < self.ticks_at { self.latest } else { self.on_tick(now) };
        let pause = tick.since(self.latest);
        let before = self.delay;
        let mut is_settled = false;
        if self.latest.is_never() {
            self.grant(window, self.most_quick);
        } else if pause <= self.least / 2 {
            self.delay = self.part(before, 2) + self.half_least;
            is_settled = self.delay == before;
        } else {
            self.on_pause(pause, window);
        }
        self.latest = tick;
        self.calm_until = if is_settled { self.ticks_at } else { Time::ZERO };
    }

    /// From now on the delay is another one.
    #[inline]
    fn set_delay(&mut self, delay: Span) {
        (self.delay, self.calm_until) = (delay, Time::ZERO);
    }

    /// `segment` came out of order and is one of those `held` now, before which `next` is missing.
    pub(super) fn on_held(&mut self, now: Time, segment: &Segment, next: u64, held: &VecDeque<(u64, u64)>) {
        if let Some(growth) = &mut self.growth {
            if u64::from(segment.len) >= self.mss {
                growth.measure(now, segment.sent_at);
            }
            self.quick |= u32::from(growth.on_held(segment, next, held));
        }
    }

    /// The application has read everything below `next`.
    #[inline]
    pub(super) fn on_read(&mut self, now: Time, next: u64) {
        if let Some(growth) = &mut self.growth {
            growth.on_read(now, next);
        }
    }

    /// The first data in order since the clock ticked; what it shows now.
    #[inline]
    fn on_tick(&mut self, now: Time) -> Time {
        let shows = self.on_clock(now);
        self.ticks_at = shows + self.tick.map_or(Span::ZERO, |tick| Span::from_nanos(tick.step));
        shows
    }

    #[cold]
    fn on_pause(&mut self, pause: Span, window: u64) {
        if pause < self.delay {
            self.delay = (self.part(self.delay, 2) + pause).min(self.rto());
        } else if pause > self.rto() {
            // The sender has probably restarted its window.
            self.grant(window, self.most_quick);
        }
    }

    /// The ECN bits of a segment; `echoes`: congestion is being echoed.
    pub(super) fn on_marks(&mut self, segment: &Segment, echoes: bool, window: u64) {
        let capable = segment.flags.has(Flags::ECT);
        let is_marked = segment.flags.has(Flags::CE);
        // A sender whose window falls may have to wait for each acknowledgement. Data that is not ECN-capable although the
        // connection is was probably resent.
        if segment.len > 0 && (is_marked && !echoes || !capable && self.saw_capable) {
            self.hurry(window, QUICK_AFTER_MARK);
        }
        self.saw_capable |= capable;
    }

    /// Whether acknowledgements are ever sent at once because the sender may wait for them.
    pub(super) fn hurries(&self) -> bool {
        self.most_quick > 0
    }

    /// From now on up to `most` acknowledgements go out at once, if any ever do.
    pub(super) fn hurry(&mut self, window: u64, most: u32) {
        if !self.hurries() {
            return;
        }
        self.grant(window, most);
        self.answers = false;
        self.set_delay(self.least);
    }

    /// No more than half of the window: acknowledgements of the other half are on their way when they are used up.
    #[cold]
    fn grant(&mut self, window: u64, most: u32) {
        let half = u32::try_from(window / (2 * self.mss)).unwrap_or(u32::MAX);
        let granted = if half == 0 { 2 } else { half };
        self.quick = self.quick.max(granted.min(most).min(self.most_quick));
    }

    /// Whether a segment, which the application has read, is acknowledged because it ends what the sender had
    /// to say. If answers are expected, one may carry the acknowledgement of the first such segment.
    #[inline]
    pub(super) fn is_end(&mut self, segment: &Segment) -> bool {
        if u64::from(segment.len) >= self.mss {
            let is_pushed = self.pushed_at_once && segment.flags.has(Flags::PUSH);
            self.end_waits |= is_pushed;
            return is_pushed && !self.answers;
        }
        if !self.ends_at_once {
            return false;
        }
        let is_second = std::mem::replace(&mut self.end_waits, true);
        is_second || !self.answers
    }

    #[inline]
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.answers
    }

    /// Data in order has just arrived, of which the acknowledgement waits until `pending` already, or never: until when it
    /// may. `None`: no longer.
    #[inline]
    pub(super) fn deadline(&mut self, pending: Time) -> Option<Time> {
        let mut delay = self.delay;
        if delay > self.least {
            let rtt = self.rtt.map_or(self.longest, |rtt| self.whole_up(rtt).max(self.least));
            delay = delay.min(rtt).min(self.longest);
        }
        // A timer fires in the tick after the one in which it is due (`timer::linux`).
        let from = self.ticks_at;
        if pending.is_never() {
            self.armed = from + delay;
            return Some(self.armed);
        }
        if pending <= from + delay / 4 && pending <= from + self.part(delay, 4) {
            return None;
        }
        self.armed = pending.min(from + delay);
        Some(self.armed)
    }

    /// Whether out-of-order data waits for its acknowledgement.
    pub(super) fn has_saved(&self) -> bool {
        self.saved > 0
    }

    /// Until when the acknowledgement of out-of-order data may wait; `None`: not at all.
    pub(super) fn compress(&mut self, now: Time, next: u64) -> Option<Time> {
        let longest = self.compression?;
        if self.next != next {
            (self.next, self.at_once) = (next, 0);
        }
        if self.is_quick() || self.saved >= MOST_COMPRESSED {
            return None;
        }
        if self.at_once < NOT_COMPRESSED {
            self.at_once += 1;
            return None;
        }
        self.saved += 1;
        let wait = self.rtt.map_or(longest, |rtt| longest.min(rtt / COMPRESSION_SHARE));
        let due = now + wait + COMPRESSION_SLACK;
        // Linux tcp_delack_timer_handler: a timer that nobody waits for any more is not stopped, and sends what was saved.
        Some(if self.armed > now { due.min(self.armed) } else { due })
    }

    /// Whether an acknowledgement that was due changes nothing here as it leaves, unless it answers a SYN.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        !self.end_waits && self.quick | self.saved == 0
    }

    /// An acknowledgement leaves, because it was due or because its time had come; perhaps that of a SYN.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, was_due: bool, answers_syn: bool) {
        self.end_waits = false;
        if answers_syn {
            self.answered = Some(now);
            return;
        }
        let waited = !was_due && self.saved == 0;
        self.saved = 0;
        if waited && self.answers {
            self.answers = false;
            self.set_delay(self.least);
        } else if waited {
            // In vain: nothing came that it could have been sent with.
            self.set_delay((self.delay * 2).min(self.rto()));
        }
        if self.quick == 1 {
            self.set_delay(self.least);
        }
        self.quick = self.quick.saturating_sub(1);
    }

    /// Data of this host leaves and carries an acknowledgement: soon after data arrived, it is an answer.
    pub(super) fn on_data_sent(&mut self, now: Time) {
        self.answers |= !self.latest.is_never() && self.on_clock(now).since(self.latest) < self.delay;
    }

    /// The RTO by the round trip of the handshake.
    pub(super) fn rto(&self) -> Span {
        self.whole_up(self.rtt.map_or(FIRST_RTO, |rtt| rtt + (rtt * 2).max(LEAST_DEVIATION)))
    }

    /// The instant that the clock shows at `now`.
    #[inline]
    fn on_clock(&self, now: Time) -> Time {
        self.tick.map_or(now, |tick| Time::from_nanos(tick.whole(now.as_nanos()) * tick.step))
    }

    /// One of so many parts of `span`, in whole ticks.
    #[inline]
    fn part(&self, span: Span, parts: u64) -> Span {
        let part = span / parts;
        self.tick.map_or(part, |tick| Span::from_nanos(tick.whole(part.as_nanos()) * tick.step))
    }

    #[inline]
    fn whole_up(&self, span: Span) -> Span {
        self.tick.map_or(span, |tick| Span::from_nanos(tick.round_up(span.as_nanos())))
    }
}
