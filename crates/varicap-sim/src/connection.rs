//! One TCP connection of the world: both endpoints, the application that feeds it, and its processing jitter.

use varicap_engine::NodeId;
use varicap_engine::workload::{FeedAction, OnOffFeed};
use varicap_net::feedback::KnownRtt;
use varicap_tcp::{Flags, Receiver, Segment, Sender};
use varicap_units::{Bytes, Span, Stream, Time};

use crate::packet::Packet;

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

/// When a sender may answer an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// At once.
    AtOnce,
    /// At this instant.
    At(Time),
    /// Together with one before it.
    Held,
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
    /// Whether its meter has no other connection.
    pub is_single: bool,
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
    /// The link of its ABR source, which its data passes first.
    pub buffer: Option<NodeId>,
    feed: Feed,
    jitter: Option<Jitter>,
}

impl Connection {
    /// A connection opened at `now`, the only one of its meter.
    pub fn new(sender: Sender, receiver: Receiver, group: u16, meter: u32, now: Time) -> Connection {
        Connection {
            sender,
            receiver,
            group,
            meter,
            is_single: true,
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
            buffer: None,
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
        self.jitter = Some(jitter);
    }

    /// Whether a packet is its own, and not a straggler of a connection that had its slot before.
    #[inline]
    pub fn awaits(&self, packet: &Packet) -> bool {
        self.is_open && self.generation == packet.generation
    }

    /// The packet of a segment of this connection, number `owner`, in `slot`; `direction` is 0 or [`Packet::REVERSE`].
    #[inline]
    pub fn packet(&self, owner: u32, slot: u32, segment: &Segment, direction: u8) -> Packet {
        let mut flags = direction;
        if segment.flags.has(Flags::ECT) {
            flags |= Packet::ECT;
        }
        if segment.len == 0 {
            flags |= Packet::CONTROL;
        }
        if segment.flags.has(Flags::RESERVED) {
            flags |= Packet::RESERVED;
        }
        let (group, generation) = (self.group, self.generation);
        Packet { segment: slot, owner, generation, group, size: segment.wire_size, hop: 0, flags }
    }

    /// When the sender may answer what arrived, if not at once.
    #[inline]
    pub fn hold_back(&mut self, now: Time) -> Answer {
        let Some(jitter) = &mut self.jitter else { return Answer::AtOnce };
        if !self.release.is_never() {
            return Answer::Held;
        }
        self.release = now + jitter.stream.uniform_span(jitter.longest);
        Answer::At(self.release)
    }

    /// Whether the sender may send at `now`: nothing holds its answer back, or a timer has run out.
    pub fn may_send(&self, now: Time) -> bool {
        self.release.is_never() || self.release <= now || self.sender.poll_at() <= now
    }

    /// The round trips that its sender has measured.
    pub fn known_rtt(&self) -> Option<KnownRtt> {
        Some(KnownRtt { base: self.sender.min_rtt()?, smoothed: self.sender.smoothed_rtt()? })
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

    /// When one of its parts wants to be polled, but for an answer that is held back.
    #[inline]
    pub fn poll_at(&self) -> Time {
        let feed = match &self.feed {
            Feed::Done => Time::NEVER,
            Feed::OnOff(feed) => feed.poll_at(),
        };
        self.sender.poll_at().min(self.receiver.poll_at()).min(feed).min(self.stop)
    }
}
