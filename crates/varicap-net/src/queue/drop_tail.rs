//! First in, first out; what does not fit is lost.

use varicap_units::Time;

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

    /// As enqueue and dequeue in one, while nothing waits and the transmitter is free.
    #[inline]
    pub(crate) fn pass<W: Watch<F>>(
        &mut self,
        now: Time,
        frame: F,
        transmitter: Transmitter,
        watch: &mut W,
    ) -> Option<Waiting<F>> {
        let size = frame.wire_size();
        if self.limit.has_room(self.fifo.backlog(), transmitter, self.counts_in_service, size) {
            return Some(Waiting { frame, arrived: now });
        }
        watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        None
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
