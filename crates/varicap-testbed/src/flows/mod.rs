//! The flows of a scenario as sockets of the kernel, fed by their applications: one thread, one event queue.

mod datagrams;
mod lockstep;
mod measuring;
mod opening;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender as Postbox};

use varicap_engine::{Admission, Application, Offer, Openings};
use varicap_experiment::measure::{FlowMeter, SenderTotals};
use varicap_experiment::series::SenderState;
use varicap_experiment::{FlowSpec, Network};
use varicap_tcp::{State, Writes};
use varicap_units::{Bytes, Rate, Span, Streams, Time};

use self::datagrams::Datagrams;
use crate::bpf::Ratcp;
use crate::director::Message;
use crate::emulator::Remote;
use crate::error::{Step, TestbedError};
use crate::fidelity::Wakes;
use crate::netns::Namespace;
use crate::plan::{FlowPlan, Plan};
use crate::sockets::{self, Requests, TcpInfo};
use crate::sys::{self, Clock, Interest, Poll, Timer};

/// The interval at which the state of each sender is queried.
const SAMPLE: Span = Span::from_millis(10);
/// The number of connections that are queried at that interval; if there are more, each is queried less often, so that
/// the cost stays low.
const SAMPLED_AT_ONCE: usize = 100;
/// The amount of data written at a time [B]. Linux pushes a segment (PSH) when more than half of the largest window that was
/// advertised to it, at first 65,160 B, has been written since it last did so (`forced_push`), and takes back the push at the end
/// of a write when the next one goes on: of a source without end that writes less at a time, no segment is pushed but where a
/// write ends with a segment. It is a prime so that hardly any does.
const CHUNK: usize = 32_579;
/// The amount of data read at a time [B].
const MOST_AT_ONCE: usize = 1 << 20;
/// The amount of unsent data that all connections may have in the kernel [B], and bounds for each.
const UNSENT_OF_ALL: u64 = 64 << 20;
const LEAST_UNSENT: u64 = 64 << 10;
const MOST_UNSENT: u64 = 8 << 20;
static ZEROS: [u8; LARGEST_DATAGRAM] = [0; LARGEST_DATAGRAM];
/// The most that a datagram may carry [B].
const LARGEST_DATAGRAM: usize = 65_536;

/// An entry of the agenda: everything that falls due at an instant, apart from openings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// Source number `source` sends a datagram.
    Datagram { source: u32 },
    /// The application of a connection is to be polled.
    Feed { slot: u32, generation: u32 },
    /// The senders are to be queried.
    Sample,
}

/// Identifies a connection: a later one in the same slot has another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ConnectionId {
    slot: u32,
    generation: u32,
}

/// The data that an application has offered to a sending socket.
#[derive(Debug, Default)]
struct Outbox {
    /// Bytes that the application has offered; u64::MAX stands for an endless supply.
    offered: u64,
    /// Offered bytes that the kernel has taken.
    written: u64,
    /// Where the writes end with which they were offered.
    writes: Writes,
    /// Nothing more will be offered.
    is_ending: bool,
    /// The socket's sending direction has been closed.
    has_ended: bool,
}

impl Outbox {
    /// Carries out an offer of the application.
    fn take(&mut self, offer: Offer) {
        debug_assert!(!self.has_ended || !matches!(offer, Offer::Write(_)), "{offer:?} after the end");
        match offer {
            Offer::Write(bytes) => {
                self.writes.add(self.offered, bytes, self.written);
                self.offered = self.offered.saturating_add(bytes.as_u64());
            }
            Offer::Withdraw => {
                self.offered = self.written;
                self.writes.cut(self.offered);
            }
            Offer::End => self.is_ending = true,
        }
    }

    /// How much is written at once: what is left of a write of the application, so that segments end where its writes do and
    /// say so (PSH), but no more than `most` [B].
    fn next_write(&self, most: usize) -> usize {
        let end = self.writes.end_after(self.written).unwrap_or(u64::MAX).min(self.offered);
        usize::try_from(end - self.written).unwrap_or(usize::MAX).min(most)
    }

    /// Data that is offered but not written yet [B].
    fn left(&self) -> u64 {
        debug_assert!(self.written <= self.offered, "more was written than offered");
        self.offered - self.written
    }
}

/// A TCP connection: both of its sockets, and its application.
#[derive(Debug)]
struct Connection {
    generation: u32,
    group: u16,
    /// Its number in the group; none if it carries a transfer that has arrived, or relays such a transfer.
    member: Option<u32>,
    meter: u32,
    sender: OwnedFd,
    receiver: Option<OwnedFd>,
    port: u16,
    app: Application,
    outbox: Outbox,
    /// The connection that relays what it delivers, once there is one.
    relay: Option<ConnectionId>,
    waits_for_room: bool,
    state: State,
    fast_retransmits: u64,
    /// The kernel has given up (ETIMEDOUT): a socket says so once.
    gave_up: bool,
    last: SenderTotals,
}

/// Samples of the senders of a flow, as far as they always have more to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// All of them.
    pub all: u64,
    /// Those at which everything had been sent though there was room for more: the application had been too slow.
    pub starved: u64,
    /// Those at which everything had been sent and what was in flight filled the buffer.
    pub full: u64,
    /// Those of senders without SACK that were in loss recovery.
    pub slow_recovery: u64,
}

/// The meters at the sockets.
#[derive(Debug)]
pub struct Endpoints {
    /// A meter for each flow, or group of transfers: data delivered to applications, and samples of senders.
    pub meters: Vec<FlowMeter>,
    /// The latest state of each flow's sender, by meter.
    pub standing: Vec<Option<SenderState>>,
    /// Samples of greedy senders, by meter.
    pub samples: Vec<Samples>,
    /// How punctually the senders are sampled.
    pub wakes: Wakes,
    /// The maximum amount of unsent data in the kernel for each connection [B].
    unsent: i32,
    over: Vec<SenderTotals>,
    flows: Vec<FlowSpec>,
    plans: Vec<FlowPlan>,
    openings: Openings,
    clock: Clock,
    poll: Poll,
    timer: Timer,
    agenda: BinaryHeap<Reverse<(Time, Due)>>,
    /// The sides, senders and receivers, whose sockets have done something since [`Endpoints::take_stirred`].
    stirred: [bool; 2],
    /// By group: the sockets that wait for connections, or receive datagrams.
    listeners: Vec<Option<OwnedFd>>,
    datagrams: Vec<Datagrams>,
    connections: Vec<Option<Connection>>,
    /// The slot of each connection, by its group and its sender's port.
    ports: HashMap<(u16, u16), u32>,
    generations: u32,
    requests: Requests,
    ratcp: Option<Arc<Ratcp>>,
    postbox: Postbox<Message>,
    remote: Remote,
    rates: Receiver<(u32, Rate)>,
}

/// The sides.
const SENDERS: usize = 0;
const RECEIVERS: usize = 1;

const TIMER: u64 = u64::MAX;
/// The token of the TUN of the senders' side; that of the receivers' is one less.
const TUN: u64 = u64::MAX - 1;

/// The side of the TUN that a token stands for, if it stands for one.
fn tun_of(token: u64) -> Option<usize> {
    usize::try_from(TUN.checked_sub(token)?).ok().filter(|port| *port <= RECEIVERS)
}
/// The bits of a token that hold its kind.
const SENDER: u64 = 0;
const RECEIVER: u64 = 1;
const LISTENER: u64 = 2;
const DATAGRAMS: u64 = 3;

fn token(kind: u64, slot: u32, generation: u32) -> u64 {
    kind | u64::from(slot) << 2 | u64::from(generation) << 34
}

/// The surroundings of the endpoints: clock, random streams, and the emulator that they report to.
pub struct Surroundings {
    /// The clock, which defines time zero.
    pub clock: Clock,
    /// The random streams of the run.
    pub streams: Streams,
    /// The channel from which the emulator's director reads.
    pub postbox: Postbox<Message>,
    /// Rings the emulator's bell.
    pub remote: Remote,
    /// RATCP in the kernel, if a flow uses it.
    pub ratcp: Option<Arc<Ratcp>>,
    /// The rates that the network advertises to connections, by their numbers.
    pub rates: Receiver<(u32, Rate)>,
}

impl Endpoints {
    /// Makes the sockets of `network` that exist before it starts. This thread must be in the senders' namespace. Each
    /// socket takes only so much unsent data that this thread may be late; the rest of its buffer is for data in flight.
    pub fn new(
        network: &Network,
        plan: &Plan,
        receivers: &Namespace,
        around: Surroundings,
    ) -> Result<Endpoints, TestbedError> {
        let Surroundings { clock, streams, postbox, remote, ratcp, rates } = around;
        let connections: u64 = network.flows.iter().map(|flow| u64::from(flow.count)).sum();
        let unsent = (UNSENT_OF_ALL / connections.max(1)).clamp(LEAST_UNSENT, MOST_UNSENT) as i32;
        let (poll, timer) = (Poll::new().step("make an event queue")?, Timer::new().step("make a timer")?);
        poll.add(&timer, TIMER, Interest::Read).step("wait for a timer")?;
        let mut endpoints = Endpoints {
            meters: Vec::new(),
            standing: Vec::new(),
            samples: Vec::new(),
            wakes: Wakes::default(),
            unsent,
            over: Vec::new(),
            flows: network.flows.clone(),
            plans: plan.flows.clone(),
            openings: Openings::new(network.flows.clone().into(), streams),
            clock,
            poll,
            timer,
            agenda: BinaryHeap::new(),
            stirred: [false; 2],
            listeners: Vec::new(),
            datagrams: Vec::new(),
            connections: Vec::new(),
            ports: HashMap::new(),
            generations: 0,
            requests: Requests::default(),
            ratcp,
            postbox,
            remote,
            rates,
        };
        for (group, flow) in network.flows.iter().enumerate() {
            endpoints.add_group(group as u16, flow, receivers)?;
        }
        endpoints.agenda.push(Reverse((Time::ZERO + SAMPLE, Due::Sample)));
        Ok(endpoints)
    }

    /// Runs until `end`. `go_on` is called every so often, and stops the run by returning false.
    pub fn run_until(
        &mut self,
        end: Time,
        go_on: &mut dyn FnMut(Time) -> bool,
    ) -> Result<bool, TestbedError> {
        /// The interval at which the caller is asked even if nothing happens [ms].
        const LONGEST_WAIT: i32 = 50;
        let clock = self.clock;
        loop {
            let now = clock.now().min(end);
            self.begin(now)?;
            if now >= end {
                return Ok(true);
            }
            if !go_on(now) {
                return Ok(false);
            }
            let due = self.due().min(end);
            self.timer.arm(&clock, due).step("arm a timer")?;
            self.poll.wait(LONGEST_WAIT).step("wait for sockets")?;
            if self.handle(&|| clock.now())? {
                self.timer.clear();
            }
        }
    }

    /// Handles what is due by `now`, apart from the events of sockets.
    pub(crate) fn begin(&mut self, now: Time) -> Result<(), TestbedError> {
        self.tell_applications();
        self.run_agenda(now)
    }

    /// The instant at which there is something to do next, apart from the events of sockets.
    pub(crate) fn due(&self) -> Time {
        self.next_due().min(self.openings.poll_at())
    }

    /// Handles the events of the last wait, each at the time that `now` says. Returns whether the timer was among them.
    pub(crate) fn handle(&mut self, now: &impl Fn() -> Time) -> Result<bool, TestbedError> {
        let (mut index, mut has_expired) = (0, false);
        while let Some(ready) = self.poll.ready(index) {
            index += 1;
            if ready.token == TIMER {
                has_expired = true;
                continue;
            }
            if let Some(port) = tun_of(ready.token) {
                self.stirred[port] = true;
                continue;
            }
            let (slot, generation) = ((ready.token >> 2) as u32, (ready.token >> 34) as u32);
            match ready.token & 3 {
                LISTENER => self.accept(slot as u16)?,
                DATAGRAMS => self.receive_datagrams(slot as u16, now()),
                kind if !self.is_there(slot, generation) => debug_assert!(kind < LISTENER),
                SENDER => self.on_sender(slot, ready.readable, now)?,
                _ => {
                    self.stirred[RECEIVERS] = true;
                    self.on_receiver(slot, now())?;
                }
            }
        }
        Ok(has_expired)
    }

    /// The instant at which the first entry of the agenda is due.
    fn next_due(&self) -> Time {
        self.agenda.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Opens the connections that are due by `at`, each as of its own time.
    fn open_due(&mut self, by: Time) -> Result<(), TestbedError> {
        loop {
            let at = self.openings.poll_at();
            match self.openings.poll(by) {
                Some(Admission::Connection(opening)) => {
                    self.open(at, &opening)?;
                }
                Some(Admission::TurnedAway { group }) => {
                    self.meters[self.openings.meter(group, None) as usize].on_transfer_refused();
                }
                None => return Ok(()),
            }
        }
    }

    /// Handles what is due by `now`, in order of time.
    fn run_agenda(&mut self, now: Time) -> Result<(), TestbedError> {
        loop {
            self.open_due(self.next_due().min(now))?;
            let Some(&Reverse((at, due))) = self.agenda.peek() else { break };
            if at > now || at.is_never() {
                break;
            }
            self.agenda.pop();
            match due {
                Due::Datagram { source } => self.send_datagram(at, source),
                Due::Feed { slot, generation } => {
                    if self.is_there(slot, generation) {
                        self.feed(at, slot)?;
                    }
                }
                Due::Sample => {
                    let often = self.connections.len().div_ceil(SAMPLED_AT_ONCE).max(1) as u64;
                    // A late sample does not delay the next one.
                    let next = (at + SAMPLE.saturating_mul(often)).max(now);
                    self.agenda.push(Reverse((next, Due::Sample)));
                    self.wakes.on_wake(at, now);
                    self.sample(now);
                }
            }
        }
        Ok(())
    }

    /// Tells applications the rates that have been advertised, not later than this thread looks after whoever calls.
    fn tell_applications(&mut self) {
        while let Ok((slot, rate)) = self.rates.try_recv() {
            if let Some(Some(connection)) = self.connections.get_mut(slot as usize) {
                connection.app.hear(rate);
            }
        }
    }

    /// Whether the connection of this generation is still in its slot.
    fn is_there(&self, slot: u32, generation: u32) -> bool {
        let place = self.connections.get(slot as usize).and_then(Option::as_ref);
        place.is_some_and(|connection| connection.generation == generation & 0x3fff_ffff)
    }

    fn report(&self, message: Message) {
        // Without the emulator the run is over anyway.
        let _ = self.postbox.send(message);
        self.remote.ring();
    }

    /// Polls the application of a connection, and writes the data that it offers by `now`.
    fn feed(&mut self, now: Time, slot: u32) -> Result<(), TestbedError> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        let was_active = connection.app.is_active();
        while let Some(offer) = connection.app.poll(now) {
            connection.outbox.take(offer);
        }
        let (is_active, next) = (connection.app.is_active(), connection.app.poll_at());
        let (group, generation) = (connection.group, connection.generation);
        if is_active != was_active {
            self.report(Message::Active { group, is_active });
        }
        if !next.is_never() {
            self.agenda.push(Reverse((next, Due::Feed { slot, generation })));
        }
        self.write(slot)
    }

    /// Writes the offered data to the socket, as far as there is room.
    fn write(&mut self, slot: u32) -> Result<(), TestbedError> {
        /// The maximum amount of data written in a row, so that no connection keeps the others waiting [B].
        const MOST_IN_A_ROW: usize = 8 * CHUNK;
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        self.stirred[SENDERS] = true;
        let (mut is_full, mut in_a_row) = (false, 0);
        while !is_full && in_a_row < MOST_IN_A_ROW && connection.outbox.left() > 0 {
            let length = connection.outbox.next_write(CHUNK);
            match sys::send(&connection.sender, &ZEROS[..length]) {
                Ok(count) => {
                    connection.outbox.written += count as u64;
                    in_a_row += count;
                    is_full = count < length;
                }
                Err(error) if sys::is_again(&error) => is_full = true,
                // Not connected yet, or gone.
                Err(error) => {
                    is_full = true;
                    connection.gave_up |= sys::is_timed_out(&error);
                }
            }
        }
        let wants_room = connection.outbox.left() > 0;
        if !wants_room && connection.outbox.is_ending && !connection.outbox.has_ended {
            connection.outbox.has_ended = sys::end_sending(&connection.sender).is_ok();
        }
        if wants_room != connection.waits_for_room {
            connection.waits_for_room = wants_room;
            let interest = if wants_room { Interest::ReadWrite } else { Interest::Read };
            let place = token(SENDER, slot, connection.generation);
            self.poll.change(&connection.sender, place, interest).step("wait for a socket")?;
        }
        Ok(())
    }

    fn accept(&mut self, group: u16) -> Result<(), TestbedError> {
        let Some(Some(listener)) = self.listeners.get(usize::from(group)) else { return Ok(()) };
        while let Ok((fd, port)) = sys::accept(listener) {
            let Some(&slot) = self.ports.get(&(group, port)) else { continue };
            let Some(connection) = &mut self.connections[slot as usize] else { continue };
            let place = token(RECEIVER, slot, connection.generation);
            self.poll.add(&fd, place, Interest::Read).step("wait for a socket")?;
            connection.receiver = Some(fd);
        }
        Ok(())
    }

    fn on_sender(&mut self, slot: u32, readable: bool, now: &impl Fn() -> Time) -> Result<(), TestbedError> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        // The receiver sends nothing: a readable sender means the end of the connection.
        let read = if readable { sys::discard(&connection.sender, CHUNK) } else { Ok(1) };
        connection.gave_up |= read.as_ref().is_err_and(sys::is_timed_out);
        if connection.gave_up || connection.outbox.has_ended && matches!(read, Ok(0)) {
            self.close(slot, now());
            return Ok(());
        }
        if readable && TcpInfo::of(&connection.sender).is_ok_and(|info| info.is_closed()) {
            let flow = &self.flows[usize::from(connection.group)].name;
            return Err(TestbedError::Failed(format!("a connection of `{flow}` broke off")));
        }
        self.write(slot)
    }

    /// Reads what has arrived at the receiver of a connection.
    fn on_receiver(&mut self, slot: u32, now: Time) -> Result<(), TestbedError> {
        let Some(connection) = &self.connections[slot as usize] else { return Ok(()) };
        let Some(receiver) = &connection.receiver else { return Ok(()) };
        let read = sys::discard(receiver, MOST_AT_ONCE);
        self.on_discarded(slot, now, read)
    }

    /// Notes what came of reading at the receiver of a connection.
    fn on_discarded(
        &mut self,
        slot: u32,
        now: Time,
        read: std::io::Result<usize>,
    ) -> Result<(), TestbedError> {
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        let Some(receiver) = &connection.receiver else { return Ok(()) };
        let is_over = match &read {
            Ok(count) => *count == 0,
            // The data that arrived is out of order: there is nothing to read yet.
            Err(error) => !sys::is_again(error),
        };
        let count = match read {
            _ if is_over && connection.outbox.has_ended => {
                self.stirred[RECEIVERS] = true;
                connection.receiver = None;
                let passes_end = self.openings.is_relayed(connection.group) && !connection.app.is_transfer();
                return if passes_end { self.relay(now, slot, 0) } else { Ok(()) };
            }
            Ok(count) => count as u64,
            Err(_) => return Ok(()),
        };
        sockets::clamp_window(receiver, &self.plans[usize::from(connection.group)]).step("limit a window")?;
        let due_before = connection.app.poll_at();
        let transfer = connection.app.on_delivered(now, count);
        let due = connection.app.poll_at();
        if due != due_before && !due.is_never() {
            let generation = connection.generation;
            self.agenda.push(Reverse((due, Due::Feed { slot, generation })));
        }
        let group = connection.group;
        let meter = &mut self.meters[connection.meter as usize];
        meter.on_in_order(Bytes::new(count));
        if let Some(transfer) = transfer {
            meter.on_transfer(transfer.size, transfer.took);
        }
        if self.openings.is_relayed(group) && count > 0 {
            self.relay(now, slot, count)?;
        }
        Ok(())
    }

    /// Passes `count` bytes that a connection has just delivered to the connection that relays them.
    fn relay(&mut self, now: Time, slot: u32, count: u64) -> Result<(), TestbedError> {
        let Some(source) = &self.connections[slot as usize] else { return Ok(()) };
        // A flow that ends otherwise than by its size, such as one that is stopped, ends by its FIN.
        let is_last = source.app.is_delivered() || source.receiver.is_none();
        let relay = match source.relay {
            Some(known) => known,
            None if count == 0 => return Ok(()),
            None => {
                let opening = self.openings.relay_of(source.group, source.member, &source.app);
                let Some(opening) = opening else { return Ok(()) };
                let relay = self.open(now, &opening)?;
                if let Some(source) = &mut self.connections[slot as usize] {
                    source.relay = Some(relay);
                }
                relay
            }
        };
        if self.is_there(relay.slot, relay.generation)
            && let Some(connection) = &mut self.connections[relay.slot as usize]
        {
            connection.app.relay(now, Bytes::new(count), is_last);
            self.feed(now, relay.slot)?;
        }
        Ok(())
    }

    /// Closes the sockets of a transfer that is over.
    fn close(&mut self, slot: u32, now: Time) {
        self.take_info(slot, now);
        let Some(connection) = self.connections[slot as usize].take() else { return };
        self.stirred = [true; 2];
        let meter = connection.meter as usize;
        self.over[meter] = self.over[meter].plus(&connection.last);
        self.over[meter].watch(&connection.app.watched(now));
        if connection.member.is_some() {
            self.meters[meter].on_close(now);
            self.standing[meter] = None;
        }
        self.ports.remove(&(connection.group, connection.port));
        let group = connection.group;
        self.report(Message::Closed { connection: slot, group });
        if connection.app.is_active() {
            self.report(Message::Active { group, is_active: false });
        }
        self.openings.on_close(group);
    }

    /// Resets every connection that has not ended.
    pub fn abort(&mut self) {
        self.connections.clear();
    }
}
