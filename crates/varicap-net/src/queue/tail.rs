//! Drop-tail as a queue that keeps its frames, for links whose queue is watched.

use varicap_units::Time;

use super::{DropTail, Fifo, Limit, QueueDiscipline, Supply, Transmitter, Waiting};
use crate::{Backlog, Frame, LossCause, Lost, Watch};

/// First in, first out; what does not fit is lost.
#[derive(Debug)]
pub(crate) struct Tail<F> {
    fifo: Fifo<F>,
    limit: DropTail,
}

impl<F: Frame> Tail<F> {
    /// An empty queue.
    pub fn new(limit: DropTail) -> Tail<F> {
        Tail { fifo: Fifo::new(), limit }
    }

    pub fn set_limit(&mut self, limit: Limit) {
        self.limit.set_limit(limit);
    }
}

impl<F: Frame> QueueDiscipline<F> for Tail<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        if self.limit.admits(self.fifo.backlog(), transmitter.state, frame.wire_size()) {
            self.fifo.push(now, frame);
        } else {
            watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, _now: Time, _supply: Supply, _watch: &mut W) -> Option<Waiting<F>> {
        self.fifo.pop()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}
