//! The application at one connection: what it offers to the sender, and how much of it has been delivered.
//!
//! It knows neither sockets nor segments. Its engine polls it until `None`, carries out each offer at the sender,
//! reports what was delivered, and polls it again at [`Application::poll_at`]:
//!
//! ```text
//! poll ──► Write, Withdraw, End ──► sender ══ network ══► receiver ──► on_delivered ──► relay of another connection
//! ```

use varicap_app::{App, Feed, Feeding, Offer, Start, Watched};
use varicap_units::{Bytes, Rate, Span, Time};

/// A transfer that has been delivered in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The size of the transfer.
    pub size: Bytes,
    /// The time since its first connection was opened.
    pub took: Span,
}

/// The application at one connection. What each packet reads is last.
#[derive(Debug)]
#[repr(C)]
pub struct Application {
    feed: Feed,
    /// The instant at which it stops; NEVER if it does not stop, or has stopped already.
    stop: Time,
    /// The instant at which its connection was opened; for a relay, the first connection of its chain.
    opened: Time,
    /// The instant at which its next offer is due, at `stop` or before.
    due: Time,
    /// Data delivered in order at the other end [B].
    delivered: u64,
    /// The amount of delivered data that completes the transfer, or that its behaviour awaits [B]; out of reach if there is
    /// none, or it is complete.
    completes_at: u64,
    stage: Stage,
    /// Whether it carries a transfer.
    is_transfer: bool,
}

/// The stages in the life of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It offers what its behaviour says.
    Running,
    /// It was stopped and has withdrawn what was left; it has yet to offer its end.
    Stopping,
    /// It will never offer anything again.
    Over,
}

impl Application {
    /// The application `app` at a connection that opens now, until `stop`. `opened` is the instant at which the first
    /// connection of its chain was opened.
    pub fn new(app: &App, start: &Start<'_>, opened: Time, stop: Time) -> Application {
        debug_assert!(opened <= start.at, "a connection opens after those that it relays");
        let feed = app.feed(start);
        let size = feed.size();
        let awaited = feed.awaits();
        Application {
            due: feed.poll_at().min(stop),
            feed,
            stop,
            stage: Stage::Running,
            opened,
            is_transfer: size.is_some(),
            delivered: 0,
            completes_at: size.map_or(awaited, Bytes::as_u64),
        }
    }

    /// The next of its actions that are due by `now`.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Offer> {
        if now < self.due { None } else { self.act(now) }
    }

    #[cold]
    fn act(&mut self, now: Time) -> Option<Offer> {
        let offer = match self.stage {
            Stage::Running if now >= self.stop => {
                (self.stage, self.stop) = (Stage::Stopping, Time::NEVER);
                self.due = now;
                return Some(Offer::Withdraw);
            }
            Stage::Running => self.feed.poll(now),
            Stage::Stopping => {
                self.stage = Stage::Over;
                self.due = Time::NEVER;
                return Some(Offer::End);
            }
            Stage::Over => None,
        };
        self.schedule();
        debug_assert!(offer.is_some() || self.due > now, "an application says when it does something next");
        offer
    }

    fn schedule(&mut self) {
        if !self.is_transfer {
            self.completes_at = self.feed.awaits();
        }
        self.due = if self.stage == Stage::Over { Time::NEVER } else { self.feed.poll_at().min(self.stop) };
    }

    /// The first of what each packet reads of this.
    #[inline]
    pub fn first_read(&self) -> &impl Sized {
        &self.due
    }

    /// The instant of its next action.
    #[inline]
    pub fn poll_at(&self) -> Time {
        self.due
    }

    /// The connection that it relays has delivered `bytes` more, the last ones if `is_last`. It must then be polled.
    pub fn relay(&mut self, now: Time, bytes: Bytes, is_last: bool) {
        if self.stage == Stage::Running {
            self.feed.relay(now, bytes, is_last);
            self.schedule();
        }
    }

    /// Notes that `bytes` more were delivered in order by `now`; returns the transfer if these complete it. It must then be
    /// polled at [`Application::poll_at`].
    #[inline]
    pub fn on_delivered(&mut self, now: Time, bytes: u64) -> Option<Completed> {
        self.delivered += bytes;
        if self.delivered < self.completes_at { None } else { self.complete(now) }
    }

    #[cold]
    fn complete(&mut self, now: Time) -> Option<Completed> {
        if !self.is_transfer {
            self.feed.on_delivered(now, self.delivered);
            self.schedule();
            return None;
        }
        debug_assert!(
            self.size().is_none_or(|size| self.delivered == size.as_u64()),
            "more came than was sent"
        );
        self.completes_at = u64::MAX;
        Some(Completed { size: self.size()?, took: now.since(self.opened) })
    }

    /// The network advertises `rate` to its connection; unlimited: it is no longer known.
    pub fn hear(&mut self, rate: Rate) {
        self.feed.hear(rate);
    }

    /// The playback up to `now`, if there is one.
    pub fn watched(&self, now: Time) -> Watched {
        self.feed.watched(now)
    }

    /// Data delivered in order at the other end so far [B].
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Whether it carries a transfer that has been delivered in full.
    pub fn is_delivered(&self) -> bool {
        self.size().is_some_and(|size| self.delivered >= size.as_u64())
    }

    /// Whether it carries one transfer, with which its connection ends.
    pub fn is_transfer(&self) -> bool {
        self.is_transfer
    }

    /// Size of its transfer, if it carries one.
    pub fn size(&self) -> Option<Bytes> {
        self.feed.size()
    }

    /// The instant at which its connection was opened; for a relay, the first connection of its chain.
    pub fn opened(&self) -> Time {
        self.opened
    }

    /// Whether it has more to send, or a transfer that is not over.
    pub fn is_active(&self) -> bool {
        self.stage == Stage::Running && self.feed.is_active()
    }

    /// Whether it may take back something that it has offered.
    pub fn may_withdraw(&self) -> bool {
        !self.stop.is_never() || self.feed.withdraws()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_app::{Relay, Transfer};
    use varicap_units::Stream;

    fn no_stream() -> Stream {
        unreachable!("this application draws nothing")
    }

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    fn application(app: &App, size: Option<Bytes>, stop: Time) -> Application {
        let start = Start { at: ms(10), mss: Bytes::new(1000), size, stream: &no_stream };
        Application::new(app, &start, ms(4), stop)
    }

    fn offers(application: &mut Application, now: Time) -> Vec<Offer> {
        std::iter::from_fn(|| application.poll(now)).collect()
    }

    #[test]
    fn a_transfer_is_offered_at_once_and_complete_when_all_is_delivered() {
        let size = Bytes::new(3000);
        let mut transfer = application(&App::Transfer(Transfer { size }), None, Time::NEVER);
        assert_eq!(offers(&mut transfer, ms(10)), [Offer::Write(size), Offer::End]);
        assert!(transfer.poll_at().is_never() && transfer.is_active());
        assert_eq!(transfer.on_delivered(ms(40), 2000), None);
        let completed = Completed { size, took: Span::from_millis(56) };
        assert_eq!(transfer.on_delivered(ms(60), 1000), Some(completed));
        assert!(transfer.is_delivered());
    }

    #[test]
    fn stopping_takes_back_the_rest_and_ends() {
        let mut greedy = application(&App::Greedy, None, ms(50));
        assert!(greedy.may_withdraw());
        assert_eq!(offers(&mut greedy, ms(10)), [Offer::Write(Bytes::MAX)]);
        assert_eq!(greedy.poll_at(), ms(50));
        assert_eq!(offers(&mut greedy, ms(49)), []);
        assert_eq!(offers(&mut greedy, ms(50)), [Offer::Withdraw, Offer::End]);
        assert!(!greedy.is_active() && greedy.poll_at().is_never());
    }

    #[test]
    fn a_relay_passes_on_what_it_is_given_and_ends_with_the_last() {
        let of = "a".to_owned();
        let mut relay = application(&App::Relay(Relay { of }), Some(Bytes::new(500)), Time::NEVER);
        assert_eq!(offers(&mut relay, ms(10)), []);
        relay.relay(ms(11), Bytes::new(200), false);
        assert_eq!(relay.poll_at(), ms(11));
        assert_eq!(offers(&mut relay, ms(11)), [Offer::Write(Bytes::new(200))]);
        relay.relay(ms(12), Bytes::new(300), true);
        assert_eq!(offers(&mut relay, ms(12)), [Offer::Write(Bytes::new(300)), Offer::End]);
        assert_eq!(relay.on_delivered(ms(20), 500).map(|done| done.took), Some(Span::from_millis(16)));
    }
}
