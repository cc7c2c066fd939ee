//! First in, first out; what does not fit is lost.

use varicap_units::{Bytes, Time};

use super::{Fifo, Limit, QueueDiscipline, Transmitter, Waiting};
use crate::{Backlog, Frame, LossCause, Lost, Watch};

/// A drop-tail queue.
#[derive(Debug)]
pub struct DropTail<F> {
    fifo: Fifo<F>,
    limit: Limit,
    counts_in_service: bool,
}

impl<F: Frame> DropTail<F> {
    /// An empty queue; `counts_in_service` says whether its limit counts the frame in service.
    pub fn new(limit: Limit, counts_in_service: bool) -> DropTail<F> {
        DropTail { fifo: Fifo::new(), limit, counts_in_service }
    }

    /// Whether a frame of `size` may pass an empty queue to a free transmitter.
    #[inline]
    pub(crate) fn passes(&self, size: Bytes) -> bool {
        !self.counts_in_service || self.limit.admits(Backlog::default(), size)
    }

    /// Takes a frame, or loses it, while one of `serving` bytes is in service.
    #[inline]
    pub(crate) fn wait<W: Watch<F>>(&mut self, now: Time, frame: F, serving: Bytes, watch: &mut W) {
        let counted =
            if self.counts_in_service { Backlog { frames: 1, bytes: serving } } else { Backlog::default() };
        let waiting = self.fifo.backlog();
        let held = Backlog { frames: waiting.frames + counted.frames, bytes: waiting.bytes + counted.bytes };
        if self.limit.admits(held, frame.wire_size()) {
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }
}

impl<F: Frame> QueueDiscipline<F> for DropTail<F> {
    #[inline]
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        let size = frame.wire_size();
        if self.limit.has_room(self.fifo.backlog(), transmitter, self.counts_in_service, size) {
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }

    #[inline]
    fn dequeue<W: Watch<F>>(&mut self, _now: Time, _watch: &mut W) -> Option<Waiting<F>> {
        self.fifo.pop()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}
