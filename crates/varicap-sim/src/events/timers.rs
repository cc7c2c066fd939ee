//! The event queue by itself, so that its timers can be measured: [minrate, Table I] gives the cost of setting, handling
//! and cancelling a fine-grained timer.

use varicap_engine::NodeId;
use varicap_units::{Span, Streams, Time};

use super::EventQueue;

/// The timers of many connections on one event queue, each set at random within an interval.
pub struct Timers {
    queue: EventQueue,
    interval: Span,
    now: Time,
    /// The offset within the interval at which each one is set to expire.
    phases: Vec<Span>,
}

impl Timers {
    /// `count` timers, none of them set.
    pub fn new(count: u32, interval: Span) -> Timers {
        let mut stream = Streams::new(1, 0).stream("timers");
        let phases = (0..count).map(|_| stream.uniform_span(interval)).collect();
        Timers { queue: EventQueue::new(count as usize, 0), interval, now: Time::ZERO, phases }
    }

    /// Sets each of them, or moves it.
    pub fn set_all(&mut self) {
        for (node, &phase) in (0..).map(NodeId::numbered).zip(&self.phases) {
            self.queue.wake(node, self.now + phase);
        }
    }

    /// Handles as many expiries as there are timers, in order, and sets each expired timer again, an interval later.
    pub fn handle_all(&mut self) {
        for _ in 0..self.phases.len() {
            let Some((at, node)) = self.queue.first_by(EventQueue::LAST) else { return };
            self.now = at;
            self.queue.wake(node, at + self.interval);
        }
    }

    /// Cancels each of them.
    pub fn cancel_all(&mut self) {
        for (node, _) in (0..).map(NodeId::numbered).zip(&self.phases) {
            self.queue.wake(node, Time::NEVER);
        }
    }

    /// The instant at which the next one expires; NEVER if none is set.
    pub fn expires_at(&mut self) -> Time {
        self.queue.first_by(EventQueue::LAST).map_or(Time::NEVER, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_expires_once_in_an_interval_until_it_is_cancelled() {
        let interval = Span::from_millis(20);
        let mut timers = Timers::new(100, interval);
        assert!(timers.expires_at().is_never());
        timers.set_all();
        let first = timers.expires_at();
        timers.handle_all();
        assert_eq!(timers.expires_at(), first + interval);
        timers.cancel_all();
        assert!(timers.expires_at().is_never());
    }
}
