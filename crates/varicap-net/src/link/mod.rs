//! A link: queue, server, loss and delay in one state machine that is advanced lazily.
//!
//! ```text
//! push ──► queue ──► server (capacity) ──► loss, copies ──► delay ──► poll
//! ```
//!
//! There is no event for the departure from the server (where nothing can change it, it is known beforehand: `pipe`):
//! whoever pushes or polls brings the link up to `now`, in order of time, and everything that happens on the way is
//! reported with its own exact time. At one instant a change of capacity comes first, then departures, then arrivals:
//! what leaves at `now` makes room for what arrives at `now`.

mod arq;
#[cfg(debug_assertions)]
mod audit;
mod config;
mod copies;
mod delay;
mod light;
mod opportunity;
mod parts;
mod pipe;
mod reactive;
mod ring;
mod server;

use std::collections::VecDeque;

use varicap_units::{Bytes, Rate, Span, Streams, Time, Work, stream_name};

use crate::capacity::{Capacity, CapacityParts, CapacityProcess};
use crate::config::Framing;
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};
use crate::loss::Loss;
use crate::policing::{Policed, Policer};
use crate::queue::{
    Limit, Queue, QueueDiscipline, Supply, SupplyQueue, Transmitter, TransmitterState, Waiting,
};
use crate::reactive::Reactive;

use arq::Arq;
pub use arq::ArqParts;
#[cfg(debug_assertions)]
use audit::Tally;
pub use config::ArqConfig;
use delay::Varying;
use opportunity::Opportunities;
pub use parts::LinkParts;
pub use pipe::Pipe;
use server::Server;

/// A frame inside the link.
#[derive(Debug)]
struct Inside<F> {
    /// When it arrived; once it is under way, when it comes out.
    time: Time,
    frame: F,
}

/// When a frame may be sent.
#[derive(Debug)]
enum Transmission {
    /// At a rate at all times; the path says which.
    Rate(Server, Capacity),
    /// At given instants.
    Opportunities(Box<Opportunities>),
    /// In slots, until it is received.
    Arq(Box<Arq>),
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link<F> {
    /// All that it carries, if its departures are planned; the rest of the link is then idle.
    pipe: Option<Pipe<F>>,
    /// When the frame in service leaves the server if the capacity stays; if there is none, when the queue, which makes its
    /// frames wait, gives one; else never.
    finish: Time,
    /// When the capacity changes next, or the next opportunity comes.
    change: Time,
    now: Time,
    /// The delay of what left the server last; of a constant one, and that of a controller, of all that leaves.
    delay: Span,
    /// No frame takes less.
    least_delay: Span,
    /// The changes of the delay, if it is not constant.
    varying: Option<Box<Varying>>,
    framing: Framing,
    loss: Loss,
    queue: Queue<F>,
    /// Frames inside: under way, then the one in service, then those that wait. Drop-tail is no more than a limit, so its
    /// frames wait here, and are moved only when they come and go. A managed queue keeps its own frames until it gives
    /// one into service.
    line: VecDeque<Inside<F>>,
    /// How many of the line are under way.
    under_way: usize,
    /// Size of the frame in service [B].
    in_service: Option<Bytes>,
    /// The part of the line that waits; with a managed queue, frames that ARQ sends ahead of their turn.
    waiting: Backlog,
    transmission: Transmission,
    /// The controller that sets the rate by the queue, if there is one; then the queue is managed.
    reactive: Option<Box<Reactive>>,
    /// The policer that marks packets as they arrive, if there is one; then the queue is managed.
    policer: Option<Box<Policer>>,
}

/// The bytes that `part` of `whole` is of `size` bytes, rounded up.
fn share(size: Bytes, part: u128, whole: u128) -> Bytes {
    debug_assert!(part <= whole, "{part} of {whole}");
    let bytes = (u128::from(size.as_u64()) * part).div_ceil(whole.max(1));
    Bytes::new(bytes as u64) // at most the size
}

impl<F: Frame> Link<F> {
    /// The link called `name`, idle at time zero. Its random streams are `link.NAME.capacity`, `link.NAME.loss`,
    /// `link.NAME.channel`, `link.NAME.delay`, `link.NAME.handover`, `link.NAME.netem` and `link.NAME.queue`; those of all links are
    /// `handovers` and `handovers.phase`.
    pub fn new(parts: &LinkParts, name: &str, streams: &Streams) -> Link<F> {
        let drawn = parts.drawn(streams);
        let parts = drawn.as_ref().unwrap_or(parts);
        let stream = |part: &str| streams.stream(&stream_name::link(name, part));
        // The first rate is in force at once, yet reported when the link first moves: its change comes at zero.
        let mut queue = Queue::new(parts, &stream);
        let policer = Policer::new(&parts.policing);
        if policer.is_some() {
            queue = queue.managed();
        }
        let mut reactive = None;
        let mut loss = Loss::new(&parts.loss, name, streams);
        let (transmission, change) = match (&parts.capacity, &parts.arq) {
            (CapacityParts::Constant(rate), Some(arq)) => {
                let loss = std::mem::replace(&mut loss, Loss::None);
                let mut arq = Arq::new(arq, *rate, parts.framing, loss);
                queue = arq.relieve(&parts.queue, queue, [parts.packet, parts.bdp]);
                (Transmission::Arq(Box::new(arq)), Time::ZERO)
            }
            (CapacityParts::Opportunities(opportunities), _) => {
                let stream = streams.stream(&parts.capacity.stream_name(name));
                let opportunities = Opportunities::new(opportunities, stream);
                let next = opportunities.next();
                (Transmission::Opportunities(Box::new(opportunities)), next)
            }
            (capacity, _) => {
                let mut path = Capacity::new(capacity, streams.stream(&capacity.stream_name(name)));
                let mut segment = path.segment(Time::ZERO);
                if let CapacityParts::LoadReactive(control) = capacity {
                    let limit = Limit::new(parts.queue.limit(), parts.packet, parts.bdp);
                    let control = Reactive::new(control, limit, parts.packet, segment);
                    segment.rate = control.initial();
                    reactive = Some(Box::new(control));
                    queue = queue.managed();
                }
                let server = Server::new(parts.service, segment.rate);
                (Transmission::Rate(server, path), Time::ZERO)
            }
        };
        let mut link = Link {
            pipe: None,
            finish: Time::NEVER,
            change,
            now: Time::ZERO,
            delay: parts.delay.least(),
            least_delay: parts.delay.least(),
            varying: Varying::new(parts, name, streams),
            framing: parts.framing,
            loss,
            queue,
            line: VecDeque::new(),
            under_way: 0,
            in_service: None,
            waiting: Backlog::default(),
            transmission,
            reactive,
            policer,
        };
        link.report_rate(Time::ZERO);
        link
    }

    /// From now on departures are planned, if nothing can change them: at a constant rate and delay, behind a drop-tail
    /// queue, without loss. The link, which is idle and at time zero, delivers the same frames at the same times; its watch learns of
    /// departures later, as [`Watch`] says.
    pub fn plan_departures(&mut self) {
        if let (Queue::Line(limit), Transmission::Rate(server, Capacity::Constant(_)), Loss::None) =
            (&self.queue, &self.transmission, &self.loss)
            && server.rate() > Rate::ZERO
            && self.varying.is_none()
        {
            debug_assert!(self.inside() == 0 && self.change == Time::ZERO, "a link that has begun");
            self.pipe = Some(Pipe::new(server.clone(), self.delay, self.framing, *limit));
        }
    }

    /// All that it carries, if its departures are planned ([`Link::plan_departures`]): asking it directly saves a detour.
    #[inline(always)]
    pub fn pipe(&mut self) -> Option<&mut Pipe<F>> {
        self.pipe.as_mut()
    }

    /// Lets the queue know the rate that is offered from `at` on. Opportunities have none.
    fn report_rate(&mut self, at: Time) {
        let rate = self.rate();
        if let (Queue::Managed(queue), Transmission::Rate(..) | Transmission::Arq(_)) =
            (&mut self.queue, &self.transmission)
        {
            queue.on_rate(at, rate);
        }
    }

    /// Supplies its queue with what decides there, if that comes from outside: `supply` is called with its name.
    pub fn supply_queue(&mut self, supply: &mut SupplyQueue<'_>) {
        self.queue.supply(supply);
    }

    /// Offers a frame to the link.
    #[inline(always)]
    pub fn push<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) {
        #[cfg(debug_assertions)]
        let (inside, watch) = (self.inside(), &mut Tally::of(watch));
        self.offer(now, frame, watch);
        #[cfg(debug_assertions)]
        self.audit(inside + 1 + watch.copied, watch.lost);
    }

    #[inline(always)]
    fn offer<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) {
        if let Some(pipe) = &mut self.pipe {
            if let Some(frame) = pipe.push(now, frame, watch) {
                watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
            }
            return;
        }
        self.bring_to(now, watch);
        watch.on_arrival(now, &frame, self.backlog());
        let Queue::Line(limit) = &self.queue else { return self.push_managed(now, frame, watch) };
        let (state, size) = (self.state(), frame.wire_size());
        if !limit.admits(self.waiting, state, size) {
            return watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
        self.line.push_back(Inside { time: now, frame });
        if state != TransmitterState::Free {
            self.waiting.frames += 1;
            self.waiting.bytes += size;
            if state == TransmitterState::Waiting {
                self.wake_opportunities(now);
            }
            return;
        }
        self.serve(now, size);
        if self.finish <= now {
            // A link without limit: it is through at once.
            self.depart(now, watch);
        }
    }

    /// The next frame that has come out at the far end by `now`.
    #[inline]
    pub fn poll<W: Watch<F>>(&mut self, now: Time, watch: &mut W) -> Option<F> {
        #[cfg(debug_assertions)]
        let (inside, watch) = (self.inside(), &mut Tally::of(watch));
        let delivered = self.take_due(now, watch);
        #[cfg(debug_assertions)]
        self.audit(inside + watch.copied, watch.lost + usize::from(delivered.is_some()));
        delivered
    }

    #[inline(always)]
    fn take_due<W: Watch<F>>(&mut self, now: Time, watch: &mut W) -> Option<F> {
        if let Some(pipe) = &mut self.pipe {
            return pipe.poll(now, watch);
        }
        self.bring_to(now, watch);
        if self.first_due() > now {
            return None;
        }
        self.under_way -= 1;
        self.line.pop_front().map(|arriving| arriving.frame)
    }

    /// The frame that will probably come out after `others` others, if it is inside already: nothing depends on it.
    #[inline]
    pub fn coming(&self, others: usize) -> Option<&F> {
        match &self.pipe {
            Some(pipe) => pipe.coming(others),
            None => self.line.get(others).map(|inside| &inside.frame),
        }
    }

    /// When the first of those under way comes out; never if there is none.
    #[inline]
    fn first_due(&self) -> Time {
        match self.line.front() {
            Some(first) if self.under_way > 0 => first.time,
            _ => Time::NEVER,
        }
    }

    /// Whether a frame that is pushed now may be the first to come out.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        if let Some(pipe) = &self.pipe {
            return pipe.poll_at().is_never();
        }
        self.may_overtake() || self.under_way == 0 && (self.in_service.is_none() || self.reactive.is_some())
    }

    /// When to poll next: nothing comes out before. A frame that may be held up by a change of capacity is polled for
    /// after that change, which may turn out early.
    #[inline(always)]
    pub fn poll_at(&self) -> Time {
        match &self.pipe {
            Some(pipe) => pipe.poll_at(),
            None => self.poll_at_line(),
        }
    }

    /// The same of a link that plans nothing.
    fn poll_at_line(&self) -> Time {
        if self.under_way == 0 {
            return self.poll_at_server();
        }
        let first = self.first_due();
        if self.may_overtake() { first.min(self.poll_at_server()) } else { first }
    }

    /// When to poll next for what has not left the server.
    fn poll_at_server(&self) -> Time {
        if let (Transmission::Arq(arq), Some(_)) = (&self.transmission, self.in_service) {
            return arq.first_end(self.change) + self.least_delay;
        }
        let waits = self.in_service.is_some() || self.backlog().frames > 0;
        match (waits, &self.reactive) {
            (false, _) => Time::NEVER,
            (true, None) => self.finish.min(self.change) + self.least_delay,
            // A controller may shorten the delay as well.
            (true, Some(_)) => (self.finish + self.least_delay).min(self.change),
        }
    }

    /// Brings the link up to `now`.
    #[inline]
    pub fn advance<W: Watch<F>>(&mut self, now: Time, watch: &mut W) {
        #[cfg(debug_assertions)]
        let (inside, watch) = (self.inside(), &mut Tally::of(watch));
        match &mut self.pipe {
            Some(pipe) => pipe.advance(now, watch),
            None => self.bring_to(now, watch),
        }
        #[cfg(debug_assertions)]
        self.audit(inside + watch.copied, watch.lost);
    }

    #[inline(always)]
    fn bring_to<W: Watch<F>>(&mut self, now: Time, watch: &mut W) {
        debug_assert!(now >= self.now, "time runs backwards: {now:?} after {:?}", self.now);
        self.now = now;
        if self.change.min(self.finish) <= now {
            self.catch_up(now, watch);
        }
    }

    /// Processes changes and departures up to `now`, in order of time, a change before a departure.
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
        debug_assert!(self.pipe.is_none(), "departures were planned at another rate");
        self.advance(now, watch);
        self.change_rate(now, rate, watch);
    }

    /// From `at` on, up to which the link has been brought, the rate is `rate`.
    fn change_rate<W: Watch<F>>(&mut self, at: Time, rate: Rate, watch: &mut W) {
        let Transmission::Rate(server, _) = &mut self.transmission else { return };
        if rate == server.rate() {
            return;
        }
        let finish = self.in_service.is_some().then_some(self.finish);
        self.finish = server.change(at, rate, finish).unwrap_or(Time::NEVER);
        let kept = server.kept(self.finish);
        if server.take_delayed() {
            self.loss.hold_until(at);
        }
        self.report_rate(at);
        if self.in_service.is_none() && self.backlog().frames > 0 {
            self.finish = at; // the queue waits for what the rate brings: it is asked again
        }
        if let Some(kept) = kept {
            watch.on_rate_kept(at, kept, self.finish);
        }
        watch.on_capacity(at, rate);
    }

    /// The frames that wait; the frame in service is not included.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        if let Some(pipe) = &self.pipe {
            return pipe.backlog();
        }
        match &self.queue {
            Queue::Line(_) => self.waiting,
            Queue::Managed(queue) => {
                let Backlog { frames, bytes } = queue.backlog();
                Backlog { frames: frames + self.waiting.frames, bytes: bytes + self.waiting.bytes }
            }
        }
    }

    /// The frame in service, or half sent between two opportunities.
    #[inline]
    pub fn in_service(&self) -> Option<&F> {
        if let Some(pipe) = &self.pipe {
            return pipe.in_service();
        }
        self.in_service.and_then(|_| self.line.get(self.under_way)).map(|inside| &inside.frame)
    }

    /// The part of the frames in service that is sent already, of the time to which the link was brought [B].
    pub fn begun(&self) -> Bytes {
        let Some(frame) = self.in_service() else { return Bytes::ZERO };
        let size = frame.wire_size();
        match &self.transmission {
            Transmission::Rate(server, _) => {
                let planned = self.pipe.as_ref().map(Pipe::left);
                let left = planned.unwrap_or_else(|| server.left(self.now, self.finish));
                let whole = Work::of(self.framing.framed(size));
                share(
                    size,
                    whole.as_nanobits() - left.as_nanobits().min(whole.as_nanobits()),
                    whole.as_nanobits(),
                )
            }
            Transmission::Opportunities(path) => path.begun(size, self.framing.framed(size)),
            Transmission::Arq(arq) => {
                let sizes = self.line.iter().skip(self.under_way).map(|inside| inside.frame.wire_size());
                arq.begun(self.now, sizes)
            }
        }
    }

    /// Frames inside: waiting, in service and under way.
    pub fn inside(&self) -> usize {
        if let Some(pipe) = &self.pipe {
            return pipe.inside();
        }
        self.backlog().frames as usize + usize::from(self.in_service.is_some()) + self.under_way
    }

    /// Where the connections that the link polices stand at `now`.
    pub fn policed(&mut self, now: Time) -> impl Iterator<Item = Policed> {
        self.policer.iter_mut().flat_map(move |policer| policer.policed(now))
    }

    /// When the capacity changes next, or the next opportunity comes. An observer that needs the change at its own instant
    /// polls then.
    pub fn changes_at(&self) -> Time {
        self.pipe.as_ref().map_or(self.change, Pipe::changes_at)
    }

    /// The capacity now; of a trace of opportunities the mean [b/s].
    pub fn rate(&self) -> Rate {
        match &self.transmission {
            Transmission::Rate(server, _) => server.rate(),
            Transmission::Opportunities(path) => path.mean(),
            Transmission::Arq(arq) => arq.rate(),
        }
    }

    /// The work that its opportunities so far could have carried; none if it has a rate at each instant.
    pub fn opportunities(&self) -> Option<Work> {
        match &self.transmission {
            Transmission::Rate(..) | Transmission::Arq(_) => None,
            Transmission::Opportunities(path) => Some(path.offered()),
        }
    }

    /// The state of the transmitter that an arriving frame finds.
    #[inline]
    fn state(&self) -> TransmitterState {
        match (self.in_service, &self.transmission) {
            (Some(size), _) => TransmitterState::Busy(size),
            (None, Transmission::Rate(..) | Transmission::Arq(_)) => TransmitterState::Free,
            (None, Transmission::Opportunities(_)) => TransmitterState::Waiting,
        }
    }

    /// The first of the line that is not under way, of `size` bytes, goes into service at `at`.
    #[inline(always)]
    fn serve(&mut self, at: Time, size: Bytes) {
        self.in_service = Some(size);
        match &mut self.transmission {
            Transmission::Rate(server, _) => self.finish = server.begin(at, size, &self.framing),
            Transmission::Opportunities(path) => path.begin(at, self.framing.framed(size)),
            Transmission::Arq(_) => {}
        }
    }

    /// There is nothing to serve.
    #[inline(always)]
    fn rest(&mut self) {
        self.in_service = None;
        self.finish = Time::NEVER;
        if let Transmission::Rate(server, _) = &mut self.transmission {
            server.idle();
        }
    }

    /// The frame in service leaves at `at`, and the next one is taken.
    #[inline(always)]
    fn depart<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        if let Queue::Managed(_) = &self.queue {
            return self.depart_managed(at, watch);
        }
        let next = if self.waiting.frames > 0 { self.line.get(self.under_way + 1) } else { None };
        let next = next.map(|waiting| waiting.frame.wire_size());
        if let Some(size) = next {
            self.waiting.frames -= 1;
            self.waiting.bytes -= size;
        }
        self.send_off(at, watch);
        match next {
            Some(size) => self.serve(at, size),
            None => self.rest(),
        }
    }

    /// The end of a push where the queue is managed: kept apart so that drop-tail stays in registers.
    #[inline(never)]
    fn push_managed<W: Watch<F>>(&mut self, now: Time, mut frame: F, watch: &mut W) {
        if let Some(policer) = &mut self.policer
            && !policer.police(now, &mut frame)
        {
            return watch.on_lost(Lost { at: now, cause: LossCause::Policed, frame });
        }
        if let Transmission::Arq(_) = &self.transmission {
            return self.push_slotted(now, frame, watch);
        }
        let (state, rate) = (self.state(), self.rate());
        if self.reactive.is_some() {
            return self.push_reactive(now, frame, Transmitter { state, rate }, watch);
        }
        let was_empty = matches!(state, TransmitterState::Waiting) && self.backlog().frames == 0;
        let Queue::Managed(queue) = &mut self.queue else { return };
        queue.enqueue(now, frame, Transmitter { state, rate }, watch);
        match state {
            TransmitterState::Free => self.wake(now, watch),
            // A frame that was dropped beside one that waits must not begin a train anew.
            TransmitterState::Waiting if was_empty => self.wake_opportunities(now),
            TransmitterState::Waiting | TransmitterState::Busy(_) => {}
        }
    }

    /// The idle server asks the queue for a frame.
    fn wake<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let next = self.dequeue(at, watch);
        self.serve_managed(at, next);
        watch.on_backlog(at, self.backlog());
    }

    /// The frame that a managed queue gives into service, if it gives one.
    fn dequeue<W: Watch<F>>(&mut self, at: Time, watch: &mut W) -> Option<Waiting<F>> {
        let supply = Supply { rate: self.rate(), offered: self.opportunities(), framing: self.framing };
        match (&mut self.queue, &mut self.reactive) {
            (Queue::Managed(queue), None) => queue.dequeue(at, supply, watch),
            (Queue::Managed(queue), Some(reactive)) => reactive.dequeue(queue, at, supply, watch),
            (Queue::Line(_), _) => None,
        }
    }

    /// A departure where the queue is managed: what the queue drops goes before what departs.
    #[inline(never)]
    fn depart_managed<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        if self.in_service.is_none() {
            return self.wake(at, watch);
        }
        let next = self.dequeue(at, watch);
        self.send_off(at, watch);
        self.serve_managed(at, next);
    }

    fn serve_managed(&mut self, at: Time, next: Option<Waiting<F>>) {
        let Some(Waiting { frame, arrived }) = next else {
            self.rest();
            if let (Transmission::Rate(..), Queue::Managed(queue)) = (&self.transmission, &self.queue) {
                self.finish = queue.ready_at();
            }
            return;
        };
        let size = frame.wire_size();
        self.line.push_back(Inside { time: arrived, frame });
        self.loss.hold_until(at);
        self.serve(at, size);
    }

    /// The frame in service is through at `at`: under way, unless the channel loses it.
    #[inline(always)]
    fn send_off<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        if self.varying.is_some() {
            return self.send_off_varying(at, watch);
        }
        self.set_off(at, watch);
    }

    /// The same, with the present delay.
    #[inline(always)]
    fn set_off<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let backlog = self.backlog();
        let Some(through) = self.line.get_mut(self.under_way) else { return };
        let (arrived, ready) = match &self.transmission {
            Transmission::Rate(..) | Transmission::Arq(_) => (through.time, through.time),
            Transmission::Opportunities(path) => (path.stamp(through.time), path.began()),
        };
        through.time = at + self.delay;
        watch.on_departure(at, arrived, &through.frame, backlog);
        if self.loss.loses(ready, at) {
            return self.lose(at, watch);
        }
        self.under_way += 1;
    }

    #[cold]
    fn lose<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        if let Some(Inside { frame, .. }) = self.line.remove(self.under_way) {
            watch.on_lost(Lost { at, cause: LossCause::Channel, frame });
        }
    }

    /// The capacity changes, or an opportunity comes.
    #[inline(never)]
    fn pass_change<W: Watch<F>>(&mut self, watch: &mut W) {
        let at = self.change;
        if self.reactive.is_some() {
            return self.pass_reactive_change(at, watch);
        }
        match &mut self.transmission {
            Transmission::Rate(server, path) => {
                let segment = path.segment(at);
                self.change = segment.until;
                if at == Time::ZERO && segment.rate == server.rate() {
                    return watch.on_capacity(at, segment.rate);
                }
                self.change_rate(at, segment.rate, watch);
            }
            Transmission::Opportunities(_) => self.pass_opportunity(at, watch),
            Transmission::Arq(_) => self.pass_slot(at, watch),
        }
    }
}
