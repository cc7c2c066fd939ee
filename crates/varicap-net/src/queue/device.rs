//! A network device behind another queue: what a queue discipline gives waits in the device's ring, beyond its reach. The
//! ring holds as little as keeps the device busy. Source: Linux's byte queue limits (`lib/dynamic_queue_limits.c`, Herbert 2011).
//!
//! AQM sees only what waits in front of the ring: delays that it measures end as a packet enters the ring.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Amount, Bytes, JsonSchema, Rate, Span, Time};

use super::limit::{holds_a_packet, in_bytes};
use super::part::below;
use super::shaper::{inner, on_kernel};
use super::{
    Chosen, Limit, QueueConfig, QueueDiscipline, QueuePart, Site, Supply, SupplyQueue, Transmitter,
    TransmitterState, Waiting,
};
use crate::frame::{Backlog, Frame, Watch};

/// A device whose ring stands between a queue and the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceConfig {
    /// The most that the ring holds, the packet in transmission not counted. Default: 256 packets (common among Linux's drivers).
    pub ring: Amount,
    /// Byte queue limits: over how long the ring must have held more than it needed before it is allowed less (hold_time); 0 s:
    /// no such limits. Default: 1 s (Linux).
    pub hold: Span,
    /// The queue in front of the ring. Default: drop-tail of 1 bdp.
    pub queue: Box<QueueConfig>,
}

impl Default for DeviceConfig {
    fn default() -> DeviceConfig {
        DeviceConfig { ring: Amount::Packets(256), hold: Span::from_secs(1), queue: Box::default() }
    }
}

impl Part for DeviceConfig {
    fn check(&self) -> Checked {
        part::amount("ring", self.ring)?;
        part::bounded("hold", self.hold)?;
        below("queue", self.queue.check())
    }

    fn on_kernel(&self) -> OnKernel {
        on_kernel(&self.queue)
    }

    fn draws(&self) -> bool {
        self.inside().iter().any(|(_, queue)| queue.draws())
    }
}

impl QueuePart for DeviceConfig {
    fn limit(&self) -> Amount {
        self.queue.limit()
    }

    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        vec![("ring", self.ring)]
    }

    fn inside(&self) -> Vec<(String, &QueueConfig)> {
        inner(&self.queue)
    }

    /// A class has no device of its own.
    fn may_be_inside(&self) -> bool {
        false
    }

    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        holds_a_packet("ring", self.ring, packet, bdp)?;
        below("queue", self.queue.fits(packet, bdp))
    }

    fn describe(&self, packet: Bytes, bdp: Bytes) -> String {
        format!(", {}; {}", in_bytes(self.ring, packet, bdp), self.queue.describe(packet, bdp))
    }
}

/// How many bytes a device may be given. Bytes are counted since the beginning.
#[derive(Clone, Copy, Debug)]
struct ByteLimits {
    hold: Span,
    /// The bytes that the device may hold [B].
    limit: u64,
    given: u64,
    completed: u64,
    /// As the last completion found it: all that had been given, by how much the device held more than the limit, and the
    /// last packet given before [B].
    given_then: u64,
    excess_then: u64,
    last_then: u64,
    /// The last packet that was given [B].
    last: u64,
    /// The least that the device held too much since `since` [B].
    slack: u64,
    since: Time,
}

impl ByteLimits {
    fn new(hold: Span) -> ByteLimits {
        ByteLimits {
            hold,
            limit: 0,
            given: 0,
            completed: 0,
            given_then: 0,
            excess_then: 0,
            last_then: 0,
            last: 0,
            slack: u64::MAX,
            since: Time::ZERO,
        }
    }

    /// Whether the device may be given a packet more; the last one may exceed the limit.
    fn allows(&self) -> bool {
        self.given <= self.limit + self.completed
    }

    fn on_given(&mut self, size: Bytes) {
        self.last = size.as_u64();
        self.given += self.last;
    }

    /// The device is done with a packet. If it ran dry although more was waiting, it is allowed what it was short of; if it
    /// never did for a while, less.
    fn on_completed(&mut self, now: Time, size: Bytes) {
        let before = self.limit;
        let mut excess = (self.given - self.completed).saturating_sub(self.limit);
        let done = self.completed + size.as_u64();
        let caught_up = done >= self.given_then;
        let is_empty = done == self.given;
        if (excess > 0 && is_empty) || (self.excess_then > 0 && caught_up) {
            self.limit += done.saturating_sub(self.given_then) + self.excess_then;
            (self.slack, self.since) = (u64::MAX, now);
        } else if !is_empty && !caught_up {
            self.slack = self.slack.min(self.slack_of(size));
            if now > self.since + self.hold {
                self.limit = self.limit.saturating_sub(self.slack);
                (self.slack, self.since) = (u64::MAX, now);
            }
        }
        if self.limit != before {
            excess = 0;
        }
        (self.given_then, self.excess_then, self.last_then) = (self.given, excess, self.last);
        self.completed = done;
    }

    /// How much more than it needs the device holds: twice what it completes at once is enough, and the part of a packet
    /// above the limit is no choice.
    fn slack_of(&self, size: Bytes) -> u64 {
        let unneeded = (self.limit + self.excess_then).saturating_sub(2 * size.as_u64());
        let rounding = if self.excess_then > 0 { self.last_then.saturating_sub(self.excess_then) } else { 0 };
        unneeded.max(rounding)
    }
}

/// A queue in front of a device's ring.
///
/// Deviation: a packet is completed as its transmission begins, as in ns-3; Linux hears of it after the transmission.
#[derive(Debug)]
pub struct Device<F> {
    queue: Chosen<F>,
    ring: VecDeque<Waiting<F>>,
    /// The bytes that the ring holds [B].
    held: Bytes,
    room: Limit,
    /// A full-sized packet, for which the ring must have room before it is given any [B].
    packet: Bytes,
    limits: Option<ByteLimits>,
    /// Since the first packet was asked for: what the link can carry.
    supply: Option<Supply>,
}

impl<F: Frame> Device<F> {
    /// An empty ring behind an empty queue.
    pub fn new(config: &DeviceConfig, site: &Site<'_>) -> Device<F> {
        Device {
            queue: Chosen::new(&config.queue, site),
            ring: VecDeque::new(),
            held: Bytes::ZERO,
            room: Limit::new(config.ring, site.packet, site.bdp),
            packet: site.packet,
            limits: (config.hold > Span::ZERO).then(|| ByteLimits::new(config.hold)),
            supply: None,
        }
    }

    fn in_ring(&self) -> Backlog {
        Backlog { frames: self.ring.len() as u32, bytes: self.held }
    }

    fn takes_more(&self) -> bool {
        let has_room = self.ring.is_empty() || self.room.admits(self.in_ring(), self.packet);
        has_room && self.limits.is_none_or(|limits| limits.allows())
    }

    /// Gives the ring what it takes.
    fn fill<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) {
        while self.takes_more()
            && let Some(next) = self.queue.dequeue(now, supply, watch)
        {
            let size = next.frame.wire_size();
            if let Some(limits) = &mut self.limits {
                limits.on_given(size);
            }
            self.held += size;
            self.ring.push_back(next);
        }
    }
}

impl<F: Frame> QueueDiscipline<F> for Device<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let state = match self.ring.front() {
            Some(first) => TransmitterState::Busy(first.frame.wire_size()),
            None => transmitter.state,
        };
        self.queue.enqueue(now, frame, Transmitter { state, ..transmitter }, watch);
        // A link that is free asks for the packet by itself; one that passes opportunities tells at these what it can carry.
        if let Some(supply) = self.supply
            && supply.offered.is_none()
            && transmitter.state != TransmitterState::Free
        {
            self.fill(now, supply, watch);
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        self.supply = Some(supply);
        if self.ring.is_empty() {
            self.fill(now, supply, watch);
        }
        let next = self.ring.pop_front()?;
        let size = next.frame.wire_size();
        self.held -= size;
        if let Some(limits) = &mut self.limits {
            limits.on_completed(now, size);
        }
        self.fill(now, supply, watch);
        Some(next)
    }

    fn backlog(&self) -> Backlog {
        let Backlog { frames, bytes } = self.queue.backlog();
        Backlog { frames: frames + self.ring.len() as u32, bytes: bytes + self.held }
    }

    fn on_rate(&mut self, now: Time, rate: Rate) {
        if let Some(supply) = &mut self.supply {
            supply.rate = rate;
        }
        self.queue.on_rate(now, rate);
    }

    fn set_limit(&mut self, limit: Limit) {
        self.queue.set_limit(limit);
    }

    fn ready_at(&self) -> Time {
        self.queue.ready_at()
    }

    fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
        self.queue.supply(supply);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1500);

    /// Gives a device all that it is allowed, and completes a packet; how much it held before [packets].
    fn step(limits: &mut ByteLimits, now: Time, waiting: &mut u32) -> u64 {
        while *waiting > 0 && limits.allows() {
            limits.on_given(PACKET);
            *waiting -= 1;
        }
        let held = (limits.given - limits.completed) / PACKET.as_u64();
        limits.on_completed(now, PACKET);
        held
    }

    /// How much it holds in each of a hundred transmissions of 0.24 ms [packets].
    fn held(hold: Span, mut waiting: u32) -> Vec<u64> {
        let mut limits = ByteLimits::new(hold);
        let at = |number: u64| Time::ZERO + Span::from_micros(240 * number);
        (0..100).map(|number| step(&mut limits, at(number), &mut waiting)).collect()
    }

    #[test]
    fn a_device_that_runs_dry_is_allowed_more_and_one_that_does_not_less() {
        let held = held(Span::from_millis(1), 1000);
        assert_eq!(held[0], 1, "the first packet exceeds the limit of nothing");
        assert_eq!(held.iter().skip(10).min(), Some(&2));
        assert_eq!(held.iter().max(), Some(&3));
        // By turns: more as soon as it is caught up with, less after the hold time.
        let changes = held.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(changes > 20, "{changes}");
    }

    #[test]
    fn a_long_hold_time_keeps_the_limit() {
        let held = held(Span::from_secs(1), 1000);
        assert!(held[10..].iter().all(|&now| now == held[10]), "{held:?}");
    }
}
