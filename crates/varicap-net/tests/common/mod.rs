//! A frame, a watch that writes everything down, and links made in a line.

#![allow(dead_code, reason = "each test uses its part")]

use varicap_net::{
    Backlog, CapacityParts, Codepoint, DropTailConfig, Frame, Framing, Link, LinkParts, LossCause, LossParts,
    Lost, QueueConfig, Service, Watch,
};
use varicap_units::{Amount, Bytes, Rate, Span, Streams, Time};

/// A frame with a number of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub number: u64,
    pub size: Bytes,
    pub codepoint: Codepoint,
    pub reserved: bool,
    /// Its flow, alone in its group.
    pub flow: u16,
}

impl Frame for Packet {
    fn wire_size(&self) -> Bytes {
        self.size
    }
    fn mark_ce(&mut self) -> bool {
        let capable = self.codepoint.is_capable();
        if capable {
            self.codepoint = Codepoint::Ce;
        }
        capable
    }
    fn codepoint(&self) -> Codepoint {
        self.codepoint
    }
    fn is_reserved(&self) -> bool {
        self.reserved
    }
    fn set_reserved(&mut self, reserved: bool) {
        self.reserved = reserved;
    }
    fn flow(&self) -> u32 {
        u32::from(self.flow)
    }
    fn group(&self) -> u16 {
        self.flow
    }
}

/// ECT(0) if the transport is ECN-capable.
pub fn capable(ecn: bool) -> Codepoint {
    if ecn { Codepoint::Ect0 } else { Codepoint::NotEct }
}

pub fn packet(number: u64, size: u64) -> Packet {
    Packet { number, size: Bytes::new(size), codepoint: Codepoint::NotEct, reserved: false, flow: 0 }
}

/// The reports of a link, in the order in which it made them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Arrival { at: Time, number: u64, backlog: u32 },
    Lost { at: Time, cause: LossCause, number: u64 },
    Mark { at: Time, number: u64 },
    Departure { at: Time, arrived: Time, number: u64, size: Bytes, backlog: u32 },
    Capacity { at: Time, rate: Rate },
    Opportunity { at: Time, offered: u64, used: u64 },
}

impl Told {
    pub fn at(&self) -> Time {
        match *self {
            Told::Arrival { at, .. }
            | Told::Lost { at, .. }
            | Told::Mark { at, .. }
            | Told::Departure { at, .. }
            | Told::Capacity { at, .. }
            | Told::Opportunity { at, .. } => at,
        }
    }
}

/// Writes everything down.
#[derive(Debug, Default)]
pub struct Log(pub Vec<Told>);

impl Log {
    pub fn departures(&self) -> Vec<(u64, u64)> {
        let departures = self.0.iter().filter_map(|told| match told {
            Told::Departure { at, number, .. } => Some((at.as_nanos(), *number)),
            _ => None,
        });
        departures.collect()
    }

    pub fn losses(&self) -> Vec<(u64, LossCause, u64)> {
        let losses = self.0.iter().filter_map(|told| match told {
            Told::Lost { at, cause, number } => Some((at.as_nanos(), *cause, *number)),
            _ => None,
        });
        losses.collect()
    }
}

impl Watch<Packet> for Log {
    fn on_arrival(&mut self, at: Time, frame: &Packet, backlog: Backlog) {
        self.0.push(Told::Arrival { at, number: frame.number, backlog: backlog.frames });
    }
    fn on_lost(&mut self, lost: Lost<Packet>) {
        self.0.push(Told::Lost { at: lost.at, cause: lost.cause, number: lost.frame.number });
    }
    fn on_mark(&mut self, at: Time, frame: &Packet) {
        self.0.push(Told::Mark { at, number: frame.number });
    }
    fn on_departure(&mut self, at: Time, arrived: Time, frame: &Packet, backlog: Backlog) {
        let (number, size) = (frame.number, frame.size);
        self.0.push(Told::Departure { at, arrived, number, size, backlog: backlog.frames });
    }
    fn on_capacity(&mut self, at: Time, rate: Rate) {
        self.0.push(Told::Capacity { at, rate });
    }
    fn on_opportunity(&mut self, at: Time, offered: Bytes, used: Bytes) {
        self.0.push(Told::Opportunity { at, offered: offered.as_u64(), used: used.as_u64() });
    }
}

/// A link of `capacity` with an unlimited queue, no delay and no loss.
pub fn parts(capacity: CapacityParts) -> LinkParts {
    LinkParts {
        capacity,
        service: Service::Fluid,
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: Amount::Unlimited,
            counts_in_service: true,
            ..Default::default()
        }),
        loss: LossParts::None,
        arq: None,
        netem: Default::default(),
        delay: Span::ZERO.into(),
        reorders: false,
        framing: Framing::default(),
        packet: Bytes::new(1500),
        bdp: Bytes::new(15_000),
        groups: Default::default(),
        policing: Vec::new(),
    }
}

pub fn link(parts: &LinkParts, seed: u64) -> Link<Packet> {
    Link::new(parts, "test", &Streams::new(seed, 0))
}

/// Polls whenever the link asks for it, up to and including `end`; gives when each frame came out.
pub fn drain<W: Watch<Packet>>(link: &mut Link<Packet>, end: Time, log: &mut W) -> Vec<(Time, u64)> {
    let mut out = Vec::new();
    while link.poll_at() <= end {
        let now = link.poll_at();
        while let Some(frame) = link.poll(now, log) {
            out.push((now, frame.number));
        }
    }
    out
}

pub fn ns(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

pub fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

pub fn constant(bps: u64) -> CapacityParts {
    CapacityParts::Constant(Rate::from_bps(bps))
}
