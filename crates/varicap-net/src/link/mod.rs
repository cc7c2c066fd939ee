//! A link: queue, server, loss and delay in one state machine that is worked off lazily.
//!
//! ```text
//! push ──► queue ──► server (capacity) ──► loss ──► delay ──► poll
//! ```
//!
//! There is no event for the departure from the server: whoever pushes or polls brings the link up to `now`, in order
//! of time, and each doing is reported with its own exact time. At one instant a change of capacity comes first, then
//! departures, then arrivals: what leaves at `now` makes room for what arrives at `now`.

mod opportunity;
mod server;

use std::collections::VecDeque;

use varicap_units::{Bytes, Rate, Span, Streams, Time};

use crate::capacity::{Capacity, CapacityParts, CapacityProcess};
use crate::loss::Loss;
use crate::queue::{Queue, QueueDiscipline, Transmitter, TransmitterState, Waiting};
use crate::{Backlog, Frame, Framing, LossCause, LossConfig, Lost, QueueConfig, Service, Watch};

use opportunity::Opportunities;
pub use opportunity::{OpportunityParts, OpportunityTrace};
use server::Server;

/// All that a link is made of, with its traces already read.
#[derive(Clone, Debug)]
pub struct LinkParts {
    /// The capacity in time.
    pub capacity: CapacityParts,
    /// How the server measures out its capacity.
    pub service: Service,
    /// The queue.
    pub queue: QueueConfig,
    /// Random loss after the server.
    pub loss: LossConfig,
    /// Propagation delay.
    pub delay: Span,
    /// What the link layer adds to each frame.
    pub framing: Framing,
    /// A full-sized packet, in which amounts of packets are meant [B].
    pub packet: Bytes,
    /// The bandwidth-delay product, in which amounts of BDP are meant [B].
    pub bdp: Bytes,
}

/// What comes out at the far end, and when.
#[derive(Debug)]
struct OnTheWire<F> {
    due: Time,
    frame: F,
}

/// When a frame may be sent.
#[derive(Debug)]
enum Transmission {
    /// At a rate at all times; the path says which.
    Rate(Server, Capacity),
    /// At given instants.
    Opportunities(Box<Opportunities>),
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link<F> {
    /// When the frame in service leaves the server if the capacity stays; never if there is none.
    finish: Time,
    /// When the capacity changes next, or the next opportunity comes.
    change: Time,
    now: Time,
    delay: Span,
    framing: Framing,
    loss: Loss,
    queue: Queue<F>,
    in_service: Option<Waiting<F>>,
    /// Frames under way.
    wire: VecDeque<OnTheWire<F>>,
    transmission: Transmission,
}

impl<F: Frame> Link<F> {
    /// The link called `name`, idle at time zero. Its random streams are `link.NAME.capacity`, `link.NAME.loss` and
    /// `link.NAME.queue`.
    pub fn new(parts: &LinkParts, name: &str, streams: &Streams) -> Link<F> {
        let stream = |part: &str| streams.stream(&format!("link.{name}.{part}"));
        // The first rate is in force at once, yet reported when the link first moves: its change comes at zero.
        let (transmission, change) = match &parts.capacity {
            CapacityParts::Opportunities(opportunities) => {
                let opportunities = Opportunities::new(opportunities);
                let next = opportunities.next();
                (Transmission::Opportunities(Box::new(opportunities)), next)
            }
            capacity => {
                let mut path = Capacity::new(capacity, stream("capacity"));
                let server = Server::new(parts.service, path.segment(Time::ZERO).rate);
                (Transmission::Rate(server, path), Time::ZERO)
            }
        };
        Link {
            finish: Time::NEVER,
            change,
            now: Time::ZERO,
            delay: parts.delay,
            framing: parts.framing,
            loss: Loss::new(&parts.loss, stream("loss")),
            in_service: None,
            queue: Queue::new(&parts.queue, parts.packet, parts.bdp, stream("queue")),
            wire: VecDeque::new(),
            transmission,
        }
    }

    /// Offers a frame to the link.
    #[inline(always)]
    pub fn push<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) {
        self.advance(now, watch);
        watch.on_arrival(now, &frame, self.queue.backlog());
        let (Queue::DropTail(queue), Transmission::Rate(..)) = (&mut self.queue, &self.transmission) else {
            return self.push_managed(now, frame, watch);
        };
        match &self.in_service {
            Some(serving) => queue.wait(now, frame, serving.frame.wire_size(), watch),
            None => self.push_free(now, frame, watch),
        }
    }

    /// As the end of push, for a frame that finds drop-tail empty and the server free.
    #[inline(never)]
    fn push_free<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) {
        let Queue::DropTail(queue) = &self.queue else { return };
        if !queue.passes(frame.wire_size()) {
            return watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
        self.serve(now, Some(Waiting { frame, arrived: now }));
        if self.finish <= now {
            // A link without limit: it is through at once.
            self.depart(now, watch);
        }
    }

    /// The next frame that has come out at the far end by `now`.
    #[inline]
    pub fn poll<W: Watch<F>>(&mut self, now: Time, watch: &mut W) -> Option<F> {
        self.advance(now, watch);
        if self.wire.front()?.due > now {
            return None;
        }
        self.wire.pop_front().map(|arriving| arriving.frame)
    }

    /// Whether nothing is in service or under way.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.wire.is_empty() && self.in_service.is_none()
    }

    /// When to poll next: nothing comes out before. A frame that may be held up by a change of capacity is polled for
    /// after that change, which may turn out early.
    #[inline]
    pub fn poll_at(&self) -> Time {
        match self.wire.front() {
            Some(first) => first.due,
            None => self.poll_at_server(),
        }
    }

    /// As poll_at, while nothing is under way.
    fn poll_at_server(&self) -> Time {
        let waits = match &self.transmission {
            Transmission::Rate(..) => self.in_service.is_some(),
            Transmission::Opportunities(_) => self.in_service.is_some() || self.backlog().frames > 0,
        };
        if waits { self.finish.min(self.change) + self.delay } else { Time::NEVER }
    }

    /// Brings the link up to `now`.
    #[inline]
    pub fn advance<W: Watch<F>>(&mut self, now: Time, watch: &mut W) {
        debug_assert!(now >= self.now, "time runs backwards: {now:?} after {:?}", self.now);
        self.now = now;
        if self.change.min(self.finish) <= now {
            self.catch_up(now, watch);
        }
    }

    /// Works off changes and departures up to `now`, in order of time, a change before a departure.
    #[inline(never)]
    fn catch_up<W: Watch<F>>(&mut self, now: Time, watch: &mut W) {
        loop {
            if self.change <= self.finish {
                if self.change > now || self.change.is_never() {
                    return;
                }
                self.pass_change(watch);
            } else {
                if self.finish > now {
                    return;
                }
                self.depart(self.finish, watch);
            }
        }
    }

    /// Sets the rate of a [`CapacityParts::Held`] link from `now` on; under another capacity the next change of its own
    /// overrules it.
    pub fn set_rate<W: Watch<F>>(&mut self, now: Time, rate: Rate, watch: &mut W) {
        self.advance(now, watch);
        if let Transmission::Rate(server, _) = &mut self.transmission {
            if server.rate() == rate {
                return;
            }
            let finish = self.in_service.is_some().then_some(self.finish);
            self.finish = server.change(now, rate, finish).unwrap_or(Time::NEVER);
            watch.on_capacity(now, rate);
        }
    }

    /// What waits; the frame in service is not included.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The frame in service, or half sent between two opportunities.
    #[inline]
    pub fn in_service(&self) -> Option<&F> {
        self.in_service.as_ref().map(|serving| &serving.frame)
    }

    /// Frames inside: waiting, in service and under way.
    pub fn inside(&self) -> usize {
        self.backlog().frames as usize + usize::from(self.in_service.is_some()) + self.wire.len()
    }

    /// When the capacity changes next, or the next opportunity comes: who wants to know of it at once polls then.
    pub fn changes_at(&self) -> Time {
        self.change
    }

    /// The capacity now; of a trace of opportunities the mean [b/s].
    pub fn rate(&self) -> Rate {
        match &self.transmission {
            Transmission::Rate(server, _) => server.rate(),
            Transmission::Opportunities(path) => path.mean(),
        }
    }

    /// Takes the next frame, if there is one, into service at `at`.
    #[inline(always)]
    fn serve(&mut self, at: Time, next: Option<Waiting<F>>) {
        match (&mut self.transmission, &next) {
            (Transmission::Rate(server, _), Some(next)) => {
                self.finish = server.begin(at, self.framing.framed(next.frame.wire_size()));
            }
            (Transmission::Rate(server, _), None) => {
                self.finish = Time::NEVER;
                server.idle();
            }
            (Transmission::Opportunities(path), Some(next)) => {
                path.begin(self.framing.framed(next.frame.wire_size()));
            }
            (Transmission::Opportunities(_), None) => {}
        }
        self.in_service = next;
    }

    /// The frame in service leaves at `at`, and the next one is taken.
    #[inline(always)]
    fn depart<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        if let Queue::DropTail(queue) = &mut self.queue {
            let next = queue.dequeue(at, watch);
            self.send_off(at, watch);
            self.serve(at, next);
        } else {
            self.depart_managed(at, watch);
        }
    }

    /// As the end of push, for queues that are managed and opportunities: kept apart so that drop-tail stays in
    /// registers.
    #[inline(never)]
    fn push_managed<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) {
        let (rate, idle) = match &self.transmission {
            Transmission::Rate(server, _) => (server.rate(), TransmitterState::Free),
            Transmission::Opportunities(path) => (path.mean(), TransmitterState::Waiting),
        };
        let state = match &self.in_service {
            Some(serving) => TransmitterState::Busy(serving.frame.wire_size()),
            None => idle,
        };
        self.queue.enqueue(now, frame, Transmitter { state, rate }, watch);
        if state == TransmitterState::Free {
            let next = self.queue.dequeue(now, watch);
            self.serve(now, next);
        }
    }

    /// As depart, for queues that are managed.
    #[inline(never)]
    fn depart_managed<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let next = self.queue.dequeue(at, watch);
        self.send_off(at, watch);
        self.serve(at, next);
    }

    /// The frame in service is through at `at`: under way, unless the channel loses it.
    #[inline(always)]
    fn send_off<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let Some(Waiting { frame, arrived }) = self.in_service.take() else { return };
        let arrived = match &self.transmission {
            Transmission::Rate(..) => arrived,
            Transmission::Opportunities(path) => path.stamp(arrived),
        };
        watch.on_departure(at, arrived, &frame, self.queue.backlog());
        if self.loss.loses() {
            return watch.on_lost(Lost { at, cause: LossCause::Channel, frame });
        }
        self.wire.push_back(OnTheWire { due: at + self.delay, frame });
    }

    /// The capacity changes, or an opportunity comes.
    #[inline(never)]
    fn pass_change<W: Watch<F>>(&mut self, watch: &mut W) {
        let at = self.change;
        match &mut self.transmission {
            Transmission::Rate(server, path) => {
                let segment = path.segment(at);
                if segment.rate != server.rate() {
                    let finish = self.in_service.is_some().then_some(self.finish);
                    self.finish = server.change(at, segment.rate, finish).unwrap_or(Time::NEVER);
                    watch.on_capacity(at, segment.rate);
                } else if at == Time::ZERO {
                    watch.on_capacity(at, segment.rate);
                }
                self.change = segment.until;
            }
            Transmission::Opportunities(_) => self.pass_opportunity(at, watch),
        }
    }

    /// Sends what one opportunity carries.
    fn pass_opportunity<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let Transmission::Opportunities(path) = &mut self.transmission else { return };
        path.pass();
        self.change = path.next();
        let offered = path.size();
        let mut budget = offered;
        while budget > Bytes::ZERO {
            if self.in_service.is_none() {
                let next = self.queue.dequeue(at, watch);
                self.serve(at, next);
                if self.in_service.is_none() {
                    break;
                }
            }
            let Transmission::Opportunities(path) = &mut self.transmission else { return };
            let (sent, through) = path.send(budget);
            budget -= sent;
            if through {
                self.send_off(at, watch);
            }
        }
        watch.on_opportunity(at, offered, offered - budget);
    }
}
