//! First in, first out, with the bytes counted: what most queues keep their frames in.

use std::collections::VecDeque;

use varicap_units::{Bytes, Time};

use super::Waiting;
use crate::frame::{Backlog, Frame};

/// First in, first out, with the bytes counted.
#[derive(Debug)]
pub(crate) struct Fifo<F> {
    frames: VecDeque<Waiting<F>>,
    bytes: Bytes,
}

impl<F: Frame> Fifo<F> {
    pub fn new() -> Fifo<F> {
        Fifo { frames: VecDeque::new(), bytes: Bytes::ZERO }
    }

    /// Appends a frame; none arrives before the one that arrived last.
    #[inline]
    pub fn push(&mut self, arrived: Time, frame: F) {
        debug_assert!(
            self.frames.back().is_none_or(|last| last.arrived <= arrived),
            "a frame arrives at {arrived:?}, before the last"
        );
        self.bytes += frame.wire_size();
        self.frames.push_back(Waiting { frame, arrived });
    }

    /// Takes the frame that waits longest.
    #[inline]
    pub fn pop(&mut self) -> Option<Waiting<F>> {
        let waiting = self.frames.pop_front()?;
        self.forget(waiting.frame.wire_size());
        Some(waiting)
    }

    /// The frame that waits longest.
    pub fn first(&self) -> Option<&Waiting<F>> {
        self.frames.front()
    }

    /// Takes the frame that came last.
    pub fn pop_last(&mut self) -> Option<Waiting<F>> {
        let waiting = self.frames.pop_back()?;
        self.forget(waiting.frame.wire_size());
        Some(waiting)
    }

    /// A frame of `size` has been taken out.
    #[inline]
    fn forget(&mut self, size: Bytes) {
        debug_assert!(size <= self.bytes, "{size} leave a queue of {}", self.bytes);
        self.bytes -= size;
        debug_assert!(!self.frames.is_empty() || self.bytes == Bytes::ZERO, "an empty queue holds bytes");
    }

    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { frames: self.frames.len() as u32, bytes: self.bytes }
    }
}
