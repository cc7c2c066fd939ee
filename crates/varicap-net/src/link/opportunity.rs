//! A server that may send only at given instants: Mahimahi's delivery opportunities.
//!
//! An opportunity carries a number of bytes. Frames share it, a frame that does not fit keeps what is left of it for
//! the next, and what nobody uses is wasted. A frame that arrives at the instant of an opportunity misses it. The
//! trace begins again after its last instant, so that a first line of `0` coincides with the last line of the round
//! before. Source: the manual page of mm-link, and the behaviour of Mahimahi's link queue.

use std::sync::Arc;

use varicap_units::{Bytes, Rate, Span, Time, Work};

use super::{Link, Transmission};
use crate::check::{Lines, read_digits};
use crate::queue::Queue;
use crate::{Frame, NetError, Watch};

/// Bytes that Mahimahi's opportunity carries, and what it adds to each packet (the header of its TUN device).
const MAHIMAHI_SIZE: Bytes = Bytes::new(1504);
const MAHIMAHI_OVERHEAD: Bytes = Bytes::new(4);

/// Latest instant of a trace: thirty years [ms].
const LATEST_MS: u64 = 1_000_000_000_000;

const NANOS_PER_MS: u64 = 1_000_000;

/// Instants of delivery opportunities, in ms from the start; the last one is the period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpportunityTrace {
    millis: Vec<u64>,
}

impl OpportunityTrace {
    /// Reads one non-decreasing integer a line. Memory is a small multiple of the text.
    pub fn parse(file: &str, text: &[u8]) -> Result<OpportunityTrace, NetError> {
        let mut millis: Vec<u64> = Vec::new();
        let mut last_line = 0;
        for line in Lines::new(file, text) {
            let (number, text) = line?;
            let expected = "one whole number of milliseconds";
            let instant = read_digits(text).ok_or_else(|| NetError::trace(file, number, text, expected))?;
            if millis.last().is_some_and(|&before| instant < before) {
                return Err(NetError::trace(file, number, text, "no less than on the line before"));
            }
            if instant > LATEST_MS {
                return Err(NetError::trace(file, number, text, format!("at most {LATEST_MS} ms")));
            }
            millis.push(instant);
            last_line = number;
        }
        match millis.last() {
            None => Err(NetError::File {
                file: file.to_owned(),
                reason: "is empty, expected one whole number of milliseconds a line".to_owned(),
            }),
            Some(0) => Err(NetError::trace(file, last_line, "0", "a last instant above zero")),
            Some(_) => Ok(OpportunityTrace { millis }),
        }
    }

    /// Opportunities of one round.
    pub fn len(&self) -> usize {
        self.millis.len()
    }

    /// Never true of a trace that was read.
    pub fn is_empty(&self) -> bool {
        self.millis.is_empty()
    }

    /// The instants [ms].
    pub fn into_millis(self) -> Vec<u64> {
        self.millis
    }

    /// Time after which the trace begins again.
    pub fn period(&self) -> Span {
        Span::from_millis(self.millis.last().copied().unwrap_or_default())
    }
}

/// A trace of opportunities and what each of them carries.
#[derive(Clone, Debug)]
pub struct OpportunityParts {
    /// When.
    pub trace: Arc<OpportunityTrace>,
    /// Bytes that an opportunity carries; not heeded under Mahimahi's exact rules [B].
    pub size: Bytes,
    /// Mahimahi's exact rules.
    pub mahimahi: bool,
    /// Whether the trace begins again after its last opportunity.
    pub repeat: bool,
}

impl OpportunityParts {
    /// Bytes that an opportunity carries [B].
    pub fn carried(&self) -> Bytes {
        if self.mahimahi { MAHIMAHI_SIZE } else { self.size }
    }

    /// Long-run mean rate [b/s]. A trace that does not begin again counts over its own length.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.trace.len() as u128 * u128::from(self.carried().as_u64()) * 8;
        let millis = u128::from(self.trace.period().as_nanos() / NANOS_PER_MS).max(1);
        Rate::from_bps(u64::try_from((bits * 1000 + millis / 2) / millis).unwrap_or(u64::MAX))
    }
}

/// Where a link is in its trace of opportunities.
#[derive(Clone, Debug)]
pub(super) struct Opportunities {
    parts: OpportunityParts,
    size: Bytes,
    mean: Rate,
    /// Start of the present round.
    base: Time,
    index: usize,
    /// Opportunities so far.
    passed: u64,
    /// What is still to be sent of the frame in service [B], and when it was begun.
    left: Bytes,
    began: Time,
}

impl Opportunities {
    pub fn new(parts: &OpportunityParts) -> Opportunities {
        let (size, mean) = (parts.carried(), parts.mean_rate());
        Opportunities {
            parts: parts.clone(),
            size,
            mean,
            base: Time::ZERO,
            index: 0,
            passed: 0,
            left: Bytes::ZERO,
            began: Time::ZERO,
        }
    }

    /// Bytes that an opportunity carries [B].
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// What all opportunities so far could have carried.
    pub fn offered(&self) -> Work {
        Work::from_nanobits(Work::of(self.size).as_nanobits() * u128::from(self.passed))
    }

    pub fn mean(&self) -> Rate {
        self.mean
    }

    /// The next opportunity; never again if the trace is over.
    pub fn next(&self) -> Time {
        match self.parts.trace.millis.get(self.index) {
            Some(&millis) => self.base + Span::from_millis(millis),
            None => Time::NEVER,
        }
    }

    /// The opportunity passes.
    pub fn pass(&mut self) {
        self.passed += 1;
        self.index += 1;
        if self.index == self.parts.trace.len() && self.parts.repeat {
            self.index = 0;
            self.base += self.parts.trace.period();
        }
    }

    /// A frame of `size` bytes goes into service.
    pub fn begin(&mut self, at: Time, size: Bytes) {
        self.began = at;
        self.left = if self.parts.mahimahi { size + MAHIMAHI_OVERHEAD } else { size };
    }

    /// When the frame in service was begun.
    pub fn began(&self) -> Time {
        self.began
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
            return self.serve_managed(at, next);
        }
        let Some(next) = self.line.get(self.under_way) else { return };
        let size = next.frame.wire_size();
        self.waiting.frames -= 1;
        self.waiting.bytes -= size;
        self.serve(at, size);
    }

    /// Sends what one opportunity carries.
    pub(super) fn pass_opportunity<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let Transmission::Opportunities(path) = &mut self.transmission else { return };
        path.pass();
        self.change = path.next();
        let offered = path.size();
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

    fn parse(text: &str) -> Result<OpportunityTrace, NetError> {
        OpportunityTrace::parse("t.down", text.as_bytes())
    }

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_line_and_what_was_expected() {
        assert_eq!(
            refusal("1\n\n3\n"),
            "t.down, line 2: found ``, expected one whole number of milliseconds"
        );
        assert_eq!(
            refusal("1\n5\n3\n"),
            "t.down, line 3: found `3`, expected no less than on the line before"
        );
        assert_eq!(refusal("0\n0\n"), "t.down, line 2: found `0`, expected a last instant above zero");
        assert_eq!(
            refusal("7 8\n"),
            "t.down, line 1: found `7 8`, expected one whole number of milliseconds"
        );
        assert_eq!(refusal("-3\n"), "t.down, line 1: found `-3`, expected one whole number of milliseconds");
        assert_eq!(refusal(""), "t.down: is empty, expected one whole number of milliseconds a line");
        assert_eq!(
            refusal("99999999999999999999999\n"),
            "t.down, line 1: found `99999999999999999999999`, expected one whole number of milliseconds"
        );
        assert!(refusal("9999999999999999\n").ends_with("at most 1000000000000 ms"));
        let not_text = OpportunityTrace::parse("t", &[b'1', b'\n', 0xff, b'\n']).unwrap_err();
        assert_eq!(not_text.to_string(), "t, line 2: found `\u{fffd}`, expected text in UTF-8");
    }

    #[test]
    fn a_last_line_without_an_end_and_ends_of_dos_are_read() {
        assert_eq!(parse("1\r\n4\r\n9").unwrap(), OpportunityTrace { millis: vec![1, 4, 9] });
    }

    #[test]
    fn the_first_zero_and_the_last_line_coincide_on_wrap() {
        let trace = Arc::new(parse("0\n5\n10\n").unwrap());
        let parts = OpportunityParts { trace, size: Bytes::new(1500), mahimahi: false, repeat: true };
        let mut path = Opportunities::new(&parts);
        let mut instants = Vec::new();
        for _ in 0..7 {
            instants.push(path.next().as_nanos() / NANOS_PER_MS);
            path.pass();
        }
        assert_eq!(instants, [0, 5, 10, 10, 15, 20, 20]);
    }

    #[test]
    fn a_trace_that_does_not_repeat_ends() {
        let trace = Arc::new(parse("3\n4\n").unwrap());
        let parts = OpportunityParts { trace, size: Bytes::new(1500), mahimahi: false, repeat: false };
        let mut path = Opportunities::new(&parts);
        path.pass();
        path.pass();
        assert_eq!(path.next(), Time::NEVER);
    }

    #[test]
    fn the_mean_counts_a_round_over_its_period() {
        let trace = Arc::new(parse("1\n1\n2\n4\n").unwrap());
        let parts = OpportunityParts { trace, size: Bytes::new(1500), mahimahi: false, repeat: true };
        assert_eq!(parts.mean_rate(), Rate::from_bps(12_000_000));
        let exact = OpportunityParts { mahimahi: true, ..parts };
        assert_eq!(exact.mean_rate(), Rate::from_bps(12_032_000));
    }
}
