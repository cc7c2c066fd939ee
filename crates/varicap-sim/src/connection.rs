//! One TCP connection of the world: both endpoints, the application that feeds it, and its processing jitter.

use varicap_tcp::{Receiver, Sender};
use varicap_units::{Bytes, Span, Stream, Time};

use crate::workload::{FeedAction, OnOffFeed};

/// What feeds the connection after its start.
#[derive(Debug)]
pub enum Feed {
    /// Everything was offered at the start.
    Done,
    /// On and off in turn.
    OnOff(Box<OnOffFeed>),
}

/// Delays the sender's answer to acknowledgements, against phase effects.
#[derive(Debug)]
pub struct Jitter {
    longest: Span,
    stream: Stream,
}

impl Jitter {
    /// Uniform from zero to `longest`.
    pub fn new(longest: Span, stream: Stream) -> Jitter {
        Jitter { longest, stream }
    }
}

/// A connection in its slot.
#[derive(Debug)]
pub struct Connection {
    /// The sending half.
    pub sender: Sender,
    /// The receiving half.
    pub receiver: Receiver,
    /// Index of its flow group.
    pub group: u16,
    /// Index of its meter.
    pub meter: u32,
    /// How many connections used the slot before it.
    pub generation: u16,
    /// Whether the slot is in use.
    pub is_open: bool,
    /// Whether its transfer has been delivered in full.
    pub is_delivered: bool,
    /// Whether its application has more to send, or a transfer is not over.
    pub is_active: bool,
    /// Whether another connection relays what it delivers.
    pub is_relayed: bool,
    /// Size of its transfer, if it carries one.
    pub size: Option<Bytes>,
    /// When it was opened; of a relay, when the first connection of its row was.
    pub opened: Time,
    /// Slot of the connection that relays what it delivers, once there is one.
    pub relay: Option<u32>,
    /// When its application stops; NEVER if it does not.
    pub stop: Time,
    /// When the sender may answer the acknowledgements that have arrived; NEVER if nothing waits.
    pub release: Time,
    feed: Feed,
    jitter: Option<Box<Jitter>>,
}

impl Connection {
    /// A connection opened at `now`.
    pub fn new(sender: Sender, receiver: Receiver, group: u16, meter: u32, now: Time) -> Connection {
        Connection {
            sender,
            receiver,
            group,
            meter,
            generation: 0,
            is_open: true,
            is_delivered: false,
            is_active: true,
            is_relayed: false,
            size: None,
            opened: now,
            relay: None,
            stop: Time::NEVER,
            release: Time::NEVER,
            feed: Feed::Done,
            jitter: None,
        }
    }

    /// Fed by `feed` from now on.
    pub fn feed_with(&mut self, feed: Feed) {
        self.is_active = matches!(feed, Feed::Done);
        self.feed = feed;
    }

    /// Delays its answers by `jitter`.
    pub fn delay_answers(&mut self, jitter: Jitter) {
        self.jitter = Some(Box::new(jitter));
    }

    /// Whether the sender may answer at once; else it will when [`Connection::release`] has come.
    #[inline]
    pub fn answers_at_once(&mut self, now: Time) -> bool {
        let Some(jitter) = &mut self.jitter else { return true };
        if self.release.is_never() {
            self.release = now + jitter.stream.uniform_span(jitter.longest);
        }
        false
    }

    /// Whether the sender may send at `now`: nothing holds its answer back, or a timer has run out.
    pub fn may_send(&self, now: Time) -> bool {
        self.release.is_never() || self.release <= now || self.sender.poll_at() <= now
    }

    /// Whether its transfer is over: all sent and acknowledged.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.size.is_some() && self.is_open && self.sender.is_done()
    }

    /// Works off what the application does up to `now`.
    pub fn work_feed(&mut self, now: Time) {
        if now >= self.stop {
            self.stop = Time::NEVER;
            self.feed = Feed::Done;
            self.sender.withdraw();
            self.sender.close();
            self.is_active = false;
        }
        if let Feed::OnOff(feed) = &mut self.feed {
            while now >= feed.poll_at() {
                match feed.act(now) {
                    FeedAction::Write(bytes) => self.sender.write(bytes),
                    FeedAction::Withdraw => self.sender.withdraw(),
                    FeedAction::Wait => {}
                }
            }
            self.is_active = feed.is_on();
        }
    }

    /// When one of its parts wants to be polled.
    #[inline]
    pub fn poll_at(&self) -> Time {
        let feed = match &self.feed {
            Feed::Done => Time::NEVER,
            Feed::OnOff(feed) => feed.poll_at(),
        };
        self.timers_at().min(self.release).min(feed).min(self.stop)
    }

    /// When a timer of an endpoint runs out.
    #[inline]
    pub fn timers_at(&self) -> Time {
        self.sender.poll_at().min(self.receiver.poll_at())
    }
}
