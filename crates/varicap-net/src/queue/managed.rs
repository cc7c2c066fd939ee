//! A queue of a link that keeps its frames. In debug builds its contract is checked at each call.

use varicap_units::{Rate, Time};

use super::{
    Chosen, DropTail, Limit, LineLimit, QueueConfig, QueueDiscipline, Site, Supply, SupplyQueue, Transmitter,
    Waiting,
};
use crate::frame::{Backlog, Frame, Lost, Watch};

/// A queue that keeps its frames and decides about each of them.
///
/// Contract, asserted in debug builds: time never runs backwards; each change of rate is reported to it; what arrived has been lost, has left or waits, in frames
/// and in bytes.
#[derive(Debug)]
pub(crate) struct Managed<F> {
    queue: Chosen<F>,
    /// When it was last called; kept in debug builds only.
    called: Time,
    /// The rate that was reported to it last, if any; kept in debug builds only.
    rate: Option<Rate>,
}

impl<F: Frame> Managed<F> {
    /// The queue of `config`, empty, where `site` says.
    pub fn new(config: &QueueConfig, site: &Site<'_>) -> Managed<F> {
        Managed { queue: Chosen::new(config, site), called: Time::ZERO, rate: None }
    }

    /// Drop-tail that keeps its frames.
    pub fn drop_tail(limit: LineLimit) -> Managed<F> {
        let queue = Chosen::DropTail(Box::new(DropTail::within(limit)));
        Managed { queue, called: Time::ZERO, rate: None }
    }

    fn note(&mut self, now: Time) {
        assert!(now >= self.called, "time runs backwards: {now:?} after {:?}", self.called);
        self.called = now;
    }
}

impl<F: Frame> QueueDiscipline<F> for Managed<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        if cfg!(debug_assertions) {
            self.note(now);
            let offered = plus(self.backlog(), &frame);
            let mut audit = Audit { watch, lost: Backlog::default() };
            self.queue.enqueue(now, frame, transmitter, &mut audit);
            let accounted = audit.with(self.backlog());
            assert_eq!(offered, accounted, "what arrives is lost or waits");
        } else {
            self.queue.enqueue(now, frame, transmitter, watch);
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        if cfg!(debug_assertions) {
            self.note(now);
            let reported = if supply.offered.is_none() { Some(supply.rate) } else { None };
            assert_eq!(self.rate, reported, "a rate that the queue does not know of");
            let before = self.backlog();
            let mut audit = Audit { watch, lost: Backlog::default() };
            let next = self.queue.dequeue(now, supply, &mut audit);
            let left = audit.with(self.backlog());
            let accounted = next.as_ref().map_or(left, |waiting| plus(left, &waiting.frame));
            assert_eq!(before, accounted, "what waited leaves, is lost or still waits");
            assert!(
                next.as_ref().is_none_or(|waiting| waiting.arrived <= now),
                "a frame leaves before it came"
            );
            next
        } else {
            self.queue.dequeue(now, supply, watch)
        }
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn on_rate(&mut self, now: Time, rate: Rate) {
        if cfg!(debug_assertions) {
            self.note(now);
            self.rate = Some(rate);
        }
        self.queue.on_rate(now, rate);
    }

    fn set_limit(&mut self, limit: Limit) {
        self.queue.set_limit(limit);
    }

    fn ready_at(&self) -> Time {
        let ready = self.queue.ready_at();
        debug_assert!(ready.is_never() || self.backlog().frames > 0, "an empty queue promises a frame");
        ready
    }

    fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
        self.queue.supply(supply);
    }
}

fn plus<F: Frame>(backlog: Backlog, frame: &F) -> Backlog {
    Backlog { frames: backlog.frames + 1, bytes: backlog.bytes + frame.wire_size() }
}

/// Counts what a queue loses while it reports it.
struct Audit<'a, W> {
    watch: &'a mut W,
    lost: Backlog,
}

impl<W> Audit<'_, W> {
    /// The frames that were lost, in addition to `held`.
    fn with(&self, held: Backlog) -> Backlog {
        Backlog { frames: held.frames + self.lost.frames, bytes: held.bytes + self.lost.bytes }
    }
}

impl<F: Frame, W: Watch<F>> Watch<F> for Audit<'_, W> {
    fn on_lost(&mut self, lost: Lost<F>) {
        self.lost = plus(self.lost, &lost.frame);
        self.watch.on_lost(lost);
    }

    fn on_mark(&mut self, at: Time, frame: &F) {
        self.watch.on_mark(at, frame);
    }
}
