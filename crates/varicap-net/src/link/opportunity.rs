//! A server that may send only at given instants: Mahimahi's delivery opportunities.
//!
//! An opportunity carries a number of bytes. Frames share it, a frame that does not fit keeps what is left of it for
//! the next, and what no frame uses is wasted. A frame that arrives at the instant of an opportunity misses it. The
//! trace begins again after its last instant, so that a first line of `0` coincides with the last line of the round
//! before. Source: the manual page of mm-link, and the behaviour of Mahimahi's link queue.
//!
//! With light opportunities ([`Light`]) a burst that finds the link idle has those of a train of its own, and the others
//! pass unused until the train is over. The first one of a train serves the frame that begins it.

use varicap_units::{Bytes, Rate, Span, Stream, Time, Work};

use super::light::Light;
use super::{Link, Transmission, share};
use crate::capacity::{NANOS_PER_MS, OpportunityParts};
use crate::frame::{Frame, Watch};
use crate::queue::Queue;

/// Where a link is in its trace of opportunities.
#[derive(Clone, Debug)]
pub(super) struct Opportunities {
    parts: OpportunityParts,
    size: Bytes,
    mean: Rate,
    /// How far into the trace the run began.
    offset: Span,
    /// Start of the present round, on the clock of the trace, which is `offset` ahead.
    base: Time,
    index: usize,
    /// Opportunities so far.
    passed: u64,
    /// The trace that bursts meet on an idle link, if that is another one.
    light: Option<Box<Light>>,
    /// The bytes that are still to be sent of the frame in service [B], and when it was begun.
    left: Bytes,
    began: Time,
}

impl Opportunities {
    /// The path through the trace whose offset `stream` draws, if it is random.
    pub fn new(parts: &OpportunityParts, stream: Stream) -> Opportunities {
        let (size, mean) = (parts.carried(), parts.mean_rate());
        let first = parts.first_ms(stream.clone());
        let light = parts.light.as_ref().map(|light| Box::new(Light::new(light, parts.offset, stream)));
        Opportunities {
            parts: parts.clone(),
            size,
            mean,
            offset: Span::from_millis(first),
            base: Time::ZERO,
            index: parts.trace.millis.partition_point(|&instant| instant < first),
            passed: 0,
            light,
            left: Bytes::ZERO,
            began: Time::ZERO,
        }
    }

    /// The work that all opportunities so far could have carried.
    pub fn offered(&self) -> Work {
        Work::from_nanobits(Work::of(self.size).as_nanobits() * u128::from(self.passed))
    }

    pub fn mean(&self) -> Rate {
        self.mean
    }

    /// The next opportunity; never again if the trace is over.
    pub fn next(&self) -> Time {
        let light = self.light.as_ref().map_or(Time::NEVER, |light| light.next());
        light.min(self.next_of_trace())
    }

    /// The next opportunity of the trace, which no load moves.
    fn next_of_trace(&self) -> Time {
        match self.parts.trace.millis.get(self.index) {
            Some(&millis) => {
                let at = self.base + Span::from_millis(millis);
                Time::ZERO + at.since(Time::ZERO + self.offset)
            }
            None => Time::NEVER,
        }
    }

    /// The opportunity passes; what it carries, which is nothing in an outage, nor during a train that it is not of.
    pub fn pass(&mut self) -> Bytes {
        let at = self.next();
        debug_assert!(!at.is_never(), "the trace is over");
        let is_out = self.parts.outages.is_some_and(|outages| outages.until(at).is_some());
        // At one instant the trace comes first.
        let is_of_trace = self.next_of_trace() == at;
        let is_light = self.light.as_ref().is_some_and(|light| light.is_under_way());
        let is_lost = is_out || is_of_trace && is_light;
        self.passed += u64::from(!is_lost);
        match &mut self.light {
            Some(light) if !is_of_trace => light.pass(),
            _ => self.pass_of_trace(),
        }
        if is_lost { Bytes::ZERO } else { self.size }
    }

    fn pass_of_trace(&mut self) {
        self.index += 1;
        if self.index == self.parts.trace.len() && self.parts.repeat {
            self.index = 0;
            self.base += self.parts.trace.period();
        }
    }

    /// A frame finds the link empty: when the next opportunity comes now, which may be at once.
    pub fn wake(&mut self, now: Time) -> Time {
        if let Some(light) = &mut self.light {
            light.begin(now);
        }
        self.next()
    }

    /// The frame in service leaves.
    pub fn end(&mut self, at: Time) {
        if let Some(light) = &mut self.light {
            light.on_departure(at);
        }
    }

    /// A frame of `size` bytes goes into service.
    pub fn begin(&mut self, at: Time, size: Bytes) {
        self.began = at;
        self.left = size + self.parts.overhead();
    }

    /// When the frame in service was begun.
    pub fn began(&self) -> Time {
        self.began
    }

    /// The bytes that are sent of the frame of `size` bytes in service, `framed` on the link.
    pub fn begun(&self, size: Bytes, framed: Bytes) -> Bytes {
        let whole = (framed + self.parts.overhead()).as_u64();
        share(size, u128::from(whole - self.left.as_u64()), u128::from(whole))
    }

    /// Sends what it may of the frame in service; what it took of `budget`, and whether the frame is through.
    pub fn send(&mut self, budget: Bytes) -> (Bytes, bool) {
        let sent = budget.min(self.left);
        self.left -= sent;
        (sent, self.left == Bytes::ZERO)
    }

    /// When a frame is said to have arrived: Mahimahi's clock counts whole milliseconds.
    pub fn stamp(&self, arrived: Time) -> Time {
        if !self.parts.mahimahi {
            return arrived;
        }
        Time::from_nanos(arrived.as_nanos() / NANOS_PER_MS * NANOS_PER_MS)
    }
}

impl<F: Frame> Link<F> {
    /// Takes a frame into service at an opportunity, if one waits.
    fn take_next<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        if let Queue::Managed(_) = &self.queue {
            let next = self.dequeue(at, watch);
            self.serve_managed(at, next);
            return watch.on_backlog(at, self.backlog());
        }
        let Some(next) = self.line.get(self.under_way) else { return };
        let size = next.frame.wire_size();
        self.waiting.frames -= 1;
        self.waiting.bytes -= size;
        self.serve(at, size);
        watch.on_backlog(at, self.waiting);
    }

    /// A frame has come to a server that had none: if it is alone, it may begin a train.
    pub(super) fn wake_opportunities(&mut self, now: Time) {
        if self.backlog().frames == 1
            && let Transmission::Opportunities(path) = &mut self.transmission
        {
            self.change = path.wake(now);
        }
    }

    /// Sends what one opportunity carries.
    pub(super) fn pass_opportunity<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let Transmission::Opportunities(path) = &mut self.transmission else { return };
        let offered = path.pass();
        self.change = path.next();
        let mut budget = offered;
        while budget > Bytes::ZERO {
            if self.in_service.is_none() {
                self.take_next(at, watch);
                if self.in_service.is_none() {
                    break;
                }
            }
            let Transmission::Opportunities(path) = &mut self.transmission else { return };
            let (sent, through) = path.send(budget);
            budget -= sent;
            if through {
                path.end(at);
                self.send_off(at, watch);
                self.in_service = None;
            }
        }
        watch.on_opportunity(at, offered, offered - budget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::{OpportunityTrace, TraceOffset};
    use std::sync::Arc;

    fn parse(text: &str) -> Arc<OpportunityTrace> {
        Arc::new(OpportunityTrace::parse("t.down", text.as_bytes()).unwrap())
    }

    fn stream() -> Stream {
        varicap_units::Streams::new(1, 0).stream("traces.offset")
    }

    #[test]
    fn the_first_zero_and_the_last_line_coincide_on_wrap() {
        let trace = parse("0\n5\n10\n");
        let parts = OpportunityParts {
            trace,
            size: Bytes::new(1500),
            mahimahi: false,
            repeat: true,
            offset: TraceOffset::default(),
            outages: None,
            light: None,
        };
        let mut path = Opportunities::new(&parts, stream());
        let mut instants = Vec::new();
        for _ in 0..7 {
            instants.push(path.next().as_nanos() / NANOS_PER_MS);
            path.pass();
        }
        assert_eq!(instants, [0, 5, 10, 10, 15, 20, 20]);
    }

    #[test]
    fn a_trace_that_does_not_repeat_ends() {
        let trace = parse("3\n4\n");
        let parts = OpportunityParts {
            trace,
            size: Bytes::new(1500),
            mahimahi: false,
            repeat: false,
            offset: TraceOffset::default(),
            outages: None,
            light: None,
        };
        let mut path = Opportunities::new(&parts, stream());
        path.pass();
        path.pass();
        assert_eq!(path.next(), Time::NEVER);
    }

    #[test]
    fn a_run_that_begins_within_the_trace_meets_the_rest_of_it_and_then_the_whole() {
        let offset = TraceOffset::At(Span::from_millis(5));
        let (trace, size) = (parse("2\n2\n5\n10\n"), Bytes::new(1500));
        let parts = OpportunityParts {
            trace,
            size,
            mahimahi: false,
            repeat: true,
            offset,
            outages: None,
            light: None,
        };
        let mut path = Opportunities::new(&parts, stream());
        let instants: Vec<u64> = std::iter::repeat_with(|| {
            let at = path.next().as_nanos() / NANOS_PER_MS;
            path.pass();
            at
        })
        .take(7)
        .collect();
        assert_eq!(instants, [0, 5, 7, 7, 10, 15, 17]);
    }
}
