//! Automatic repeat request: a server that sends in slots, and again what the channel loses.
//!
//! In a slot one link-layer packet (a cell) is sent: the oldest that is due, be it again or for the first time. The
//! window reaches from the oldest cell that is not known to be received, so one cell is stop-and-wait, several are
//! selective repeat. Whether a cell is received is known to the sender `ack_delay` after its slot.
//!
//! Frames come out in order, each when its last cell is received; then their cells have left the buffer. Frames behind
//! the head of which cells have been sent ahead count as waiting until they are the head. Idle slots cost nothing: a
//! frame that finds the link idle takes the next slot. Source: [wireless, §II and III].

use std::collections::VecDeque;

use varicap_units::part::{Checked, Fault, Part, require};
use varicap_units::{Bytes, Rate, Span, Time};

use super::{ArqConfig, Inside, Link, Transmission, share};
use crate::capacity::CapacityParts;
use crate::config::Framing;
use crate::error::NetError;
use crate::frame::{Backlog, Frame, LossCause, Lost, Watch};
use crate::loss::Loss;
use crate::queue::config::QueueConfig;
use crate::queue::{Limit, LineLimit, Queue, QueueDiscipline, Transmitter, TransmitterState};

/// Largest window: cells of the window are looked through in every slot.
const LARGEST_WINDOW: u32 = 4096;

impl Part for ArqConfig {
    fn check(&self) -> Checked {
        if let Some(slot) = self.slot {
            require("slot", slot > Span::ZERO, slot, "a time above zero")?;
        }
        let good = (1..=LARGEST_WINDOW).contains(&self.window);
        require("window", good, self.window, format!("1 (stop-and-wait) to {LARGEST_WINDOW}"))
    }
}

/// A link with ARQ, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArqParts {
    /// Time of a transmission: at least what a link-layer packet takes at the link's capacity, above zero.
    pub slot: Span,
    /// Whether transmissions begin only at multiples of the slot.
    pub aligned: bool,
    /// Cells that may be under way, counted from the oldest that is not known to be received.
    pub window: usize,
    /// From the end of a transmission until the sender knows its fate.
    pub ack_delay: Span,
    /// After so many failed retransmissions a cell is given up.
    pub max_retransmissions: Option<u32>,
}

impl ArqParts {
    /// Checks the ARQ of a link of this capacity and framing, over which full packets have `packet` bytes [B]. Keys of
    /// errors are relative to the link.
    pub fn new(
        config: &ArqConfig,
        capacity: &CapacityParts,
        framing: &Framing,
        packet: Bytes,
    ) -> Result<ArqParts, NetError> {
        let CapacityParts::Constant(rate) = capacity else {
            let expected = "a constant one, such as \"1 Mbit/s\": with `arq` all slots are of one length";
            return Err(Fault::new("capacity", "one that varies", expected).into());
        };
        let expected = "a capacity above 0 and not unlimited: with `arq` a transmission takes a slot";
        require("capacity", *rate > Rate::ZERO && !rate.is_unlimited(), rate, expected)?;
        config.check().map_err(|fault| fault.within("arq"))?;
        let cell = framing.cells.map_or_else(|| framing.framed(packet), |cells| cells.size);
        let slot = config.slot.unwrap_or_else(|| rate.transmission_time(cell));
        require("arq.slot", slot > Span::ZERO, slot, "a time above zero")?;
        let least = rate.transmission_time(cell);
        let expected = format!("at least {least}, the time of a link-layer packet of {cell} at {rate}");
        require("arq.slot", slot >= least, slot, expected)?;
        Ok(ArqParts {
            slot,
            aligned: config.aligned,
            window: config.window as usize,
            ack_delay: config.ack_delay,
            max_retransmissions: config.max_retransmissions,
        })
    }
}

/// The limit of a drop-tail queue. In front of cells it counts cells in bytes of payload, those of the head that are
/// not received included, as [wireless] does: a frame is lost that does not fit with all its cells.
#[derive(Clone, Copy, Debug)]
struct Room {
    limit: Limit,
    counts_in_service: bool,
}

/// How far a frame in service is.
#[derive(Clone, Copy, Debug)]
struct Served {
    /// Cells that were never sent.
    unsent: u64,
    /// Cells that are not received, these included.
    missing: u64,
    is_given_up: bool,
}

/// A cell in the window.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The number of its frame.
    frame: u64,
    tries: u32,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// To be sent, again or for the first time.
    Due,
    /// Sent; whether it is received is known then.
    Sent { known: Time, is_received: bool },
    /// Known to be received, or given up.
    Done,
}

/// The transmitter of a link with ARQ.
#[derive(Debug)]
pub(super) struct Arq {
    parts: ArqParts,
    rate: Rate,
    framing: Framing,
    loss: Loss,
    room: Option<Room>,
    /// Frames in service, the head first; `head` is its number.
    frames: VecDeque<Served>,
    head: u64,
    /// The window; `oldest` is the number of its first cell.
    cells: VecDeque<Cell>,
    oldest: u64,
    /// The cell that is being sent, and until when.
    on_air: Option<(u64, Time)>,
    /// Cells of frames that wait in a drop-tail queue.
    waiting: u64,
    is_reported: bool,
}

impl Arq {
    pub fn new(parts: &ArqParts, rate: Rate, framing: Framing, loss: Loss) -> Arq {
        Arq {
            parts: parts.clone(),
            rate,
            framing,
            loss,
            room: None,
            frames: VecDeque::new(),
            head: 0,
            cells: VecDeque::new(),
            oldest: 0,
            on_air: None,
            waiting: 0,
            is_reported: false,
        }
    }

    /// Takes over the limit of a drop-tail queue, which counts cells here. Other queues stay as they are.
    pub fn relieve<F: Frame>(&mut self, config: &QueueConfig, queue: Queue<F>, unit: [Bytes; 2]) -> Queue<F> {
        let (QueueConfig::DropTail(drop_tail), [packet, bdp]) = (config, unit) else { return queue };
        let limit = Limit::new(drop_tail.limit, packet, bdp);
        self.room = Some(Room { limit, counts_in_service: drop_tail.counts_in_service });
        Queue::Line(LineLimit::NONE).managed()
    }

    /// The capacity [b/s].
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// When the first frame may come out if the next slot begins or ends at `change`.
    pub fn first_end(&self, change: Time) -> Time {
        // Without a slot that goes on it is one later, unless the head is given up and one behind it is complete.
        let is_soon = self.on_air.is_some() || self.parts.max_retransmissions.is_some();
        if is_soon { change } else { change + self.parts.slot }
    }

    /// Cells of a frame of `size` bytes.
    fn cells_of(&self, size: Bytes) -> u64 {
        let framed = |cell: Bytes| self.framing.framed(size).as_u64() / cell.as_u64().max(1);
        self.framing.cells.map_or(1, |cells| framed(cells.size).max(1))
    }

    /// Whether a frame of `size` may come in beside what waits.
    fn has_room(&self, waiting: Backlog, state: TransmitterState, size: Bytes) -> bool {
        let Some(Room { limit, counts_in_service }) = self.room else { return true };
        let Some(cell) = self.framing.cells else {
            return limit.has_room(waiting, state, counts_in_service, size);
        };
        let mut missing = self.frames.iter().map(|frame| cell.payload * frame.missing);
        let state = missing.next().map_or(TransmitterState::Free, TransmitterState::Busy);
        let ahead = missing.fold(Bytes::ZERO, |sum, bytes| sum + bytes);
        let held = Backlog { frames: waiting.frames, bytes: ahead + cell.payload * self.waiting };
        limit.has_room(held, state, counts_in_service, cell.payload * self.cells_of(size))
    }

    /// A frame of `size` comes in to wait.
    fn wait(&mut self, size: Bytes) {
        self.waiting += self.cells_of(size);
    }

    /// A frame of `size` that waited goes into service, behind those that are.
    fn take(&mut self, size: Bytes) {
        let cells = self.cells_of(size);
        // A queue with a limit of its own may lose what waits: then the count does not matter.
        self.waiting = self.waiting.saturating_sub(cells);
        self.frames.push_back(Served { unsent: cells, missing: cells, is_given_up: false });
    }

    /// The first instant from `at` on at which a transmission may begin.
    fn begin(&self, at: Time) -> Time {
        if !self.parts.aligned || at.is_never() {
            return at;
        }
        let slot = self.parts.slot.as_nanos();
        Time::from_nanos(at.as_nanos().div_ceil(slot).saturating_mul(slot))
    }

    /// Whether nothing is being sent, and a cell more could be.
    fn is_open(&self) -> bool {
        self.on_air.is_none() && self.cells.len() < self.parts.window
    }

    /// Whether it lacks cells to fill its window.
    fn wants_frame(&self) -> bool {
        self.is_open()
            && self.frames.back().is_some_and(|last| last.unsent == 0)
            && !self.cells.iter().any(|cell| cell.fate == Fate::Due)
    }

    /// Whether the head is through at last.
    fn head_is_through(&self) -> bool {
        self.frames.front().is_some_and(|head| head.missing == 0 || head.is_given_up)
    }

    /// The cell that was being sent until `at` is received, or not.
    fn hear(&mut self, at: Time) {
        let Some((number, _)) = self.on_air.take_if(|(_, end)| *end <= at) else { return };
        let Some(cell) = number.checked_sub(self.oldest).and_then(|place| self.cells.get(place as usize))
        else {
            return;
        };
        if let Fate::Sent { is_received: true, .. } = cell.fate
            && let Some(place) = cell.frame.checked_sub(self.head)
            && let Some(frame) = self.frames.get_mut(place as usize)
        {
            frame.missing -= 1;
        }
    }

    /// The bytes that are received at `now` of the frames in service, of these sizes; of the cell on air what is sent so far.
    pub fn begun(&self, now: Time, sizes: impl Iterator<Item = Bytes>) -> Bytes {
        let slot = u128::from(self.parts.slot.as_nanos());
        let on_air = self.on_air.and_then(|(number, end)| {
            let cell = self.cells.get(number.checked_sub(self.oldest)? as usize)?;
            let is_received = matches!(cell.fate, Fate::Sent { is_received: true, .. });
            is_received.then(|| (cell.frame, slot - u128::from(end.since(now).as_nanos()).min(slot)))
        });
        let parts = (self.head..).zip(&self.frames).zip(sizes).map(|((number, frame), size)| {
            let cells = self.cells_of(size);
            let sent = on_air.filter(|(of, _)| *of == number).map_or(0, |(_, sent)| sent);
            share(size, u128::from(cells - frame.missing) * slot + sent, u128::from(cells) * slot)
        });
        parts.fold(Bytes::ZERO, |sum, part| sum + part)
    }

    /// The sender learns what it knows at `at`: what is received leaves the window, what is not is due again or given up.
    fn learn(&mut self, at: Time) {
        for place in 0..self.cells.len() {
            let cell = &mut self.cells[place];
            let Fate::Sent { known, is_received } = cell.fate else { continue };
            if known > at {
                continue;
            }
            let is_last_try = self.parts.max_retransmissions.is_some_and(|most| cell.tries > most);
            cell.fate = if is_received { Fate::Done } else { Fate::Due };
            if !is_received && is_last_try {
                let frame = cell.frame;
                self.give_up(frame);
            }
        }
        while self.cells.front().is_some_and(|cell| cell.fate == Fate::Done) {
            self.cells.pop_front();
            self.oldest += 1;
        }
    }

    /// Nothing more of this frame is sent.
    fn give_up(&mut self, number: u64) {
        self.cells.iter_mut().filter(|cell| cell.frame == number).for_each(|cell| cell.fate = Fate::Done);
        let place = number.checked_sub(self.head).map(|place| place as usize);
        if let Some(frame) = place.and_then(|place| self.frames.get_mut(place)) {
            *frame = Served { unsent: 0, is_given_up: true, ..*frame };
        }
    }

    /// Begins to send what is due at `at`, if anything may be sent then; whether it is sent again.
    fn transmit(&mut self, at: Time) -> Option<bool> {
        if self.on_air.is_some() || self.begin(at) != at {
            return None;
        }
        let due = self.cells.iter().position(|cell| cell.fate == Fate::Due);
        let place = due.or_else(|| self.admit())?;
        let end = at + self.parts.slot;
        let fate = Fate::Sent { known: end + self.parts.ack_delay, is_received: !self.loss.loses(at, end) };
        let cell = &mut self.cells[place];
        cell.fate = fate;
        cell.tries += 1;
        self.on_air = Some((self.oldest + place as u64, end));
        Some(cell.tries > 1)
    }

    /// The next cell comes into the window, if it has one for it; its place.
    fn admit(&mut self) -> Option<usize> {
        if self.cells.len() >= self.parts.window {
            return None;
        }
        let place = self.frames.iter().position(|frame| frame.unsent > 0)?;
        self.frames[place].unsent -= 1;
        self.cells.push_back(Cell { frame: self.head + place as u64, tries: 0, fate: Fate::Due });
        Some(self.cells.len() - 1)
    }

    /// When a slot ends, or what the sender learns lets it send.
    fn next(&self) -> Time {
        if let Some((_, end)) = self.on_air {
            return end;
        }
        let known = self.cells.iter().filter_map(|cell| match cell.fate {
            Fate::Sent { known, .. } => Some(known),
            Fate::Due | Fate::Done => None,
        });
        known.min().map_or(Time::NEVER, |known| self.begin(known))
    }
}

impl<F: Frame> Link<F> {
    /// The end of a push on a link with ARQ.
    pub(super) fn push_slotted<W: Watch<F>>(&mut self, now: Time, frame: F, watch: &mut W) {
        let (state, waiting, size) = (self.state(), self.backlog(), frame.wire_size());
        let (Transmission::Arq(arq), Queue::Managed(queue)) = (&mut self.transmission, &mut self.queue)
        else {
            return;
        };
        if !arq.has_room(waiting, state, size) {
            return watch.on_lost(Lost { at: now, cause: LossCause::Overflow, frame });
        }
        arq.wait(size);
        let rate = arq.rate;
        queue.enqueue(now, frame, Transmitter { state, rate }, watch);
        if self.in_service.is_none() {
            self.wake_slotted(now, watch);
        }
        let Transmission::Arq(arq) = &self.transmission else { return };
        if arq.is_open() {
            self.change = self.change.min(arq.begin(now));
        }
        if self.change <= now {
            self.pass_slot(now, watch);
        }
    }

    /// A slot ends, one begins, or both.
    pub(super) fn pass_slot<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let Transmission::Arq(arq) = &mut self.transmission else { return };
        if !std::mem::replace(&mut arq.is_reported, true) {
            watch.on_capacity(at, arq.rate);
        }
        arq.hear(at);
        self.release(at, watch);
        if let Transmission::Arq(arq) = &mut self.transmission {
            arq.learn(at);
        }
        self.release(at, watch);
        if self.in_service.is_none() {
            self.wake_slotted(at, watch);
        }
        self.send_ahead(at, watch);
        let (Transmission::Arq(arq), Queue::Managed(queue)) = (&mut self.transmission, &self.queue) else {
            return;
        };
        if let Some(is_again) = arq.transmit(at) {
            watch.on_transmission(at, is_again);
        }
        debug_assert!(arq.cells.len() <= arq.parts.window, "more cells than the window has room for");
        debug_assert!(arq.next() > at, "a slot that was due at {:?} is left at {at:?}", arq.next());
        self.change = arq.next();
        if self.in_service.is_none() {
            // A queue that makes its frames wait is asked again when it gives one.
            self.change = self.change.min(arq.begin(queue.ready_at()));
        }
    }

    /// Frames that are through leave, in order.
    fn release<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        while let Transmission::Arq(arq) = &mut self.transmission
            && arq.head_is_through()
        {
            let is_given_up = arq.frames.pop_front().is_some_and(|head| head.is_given_up);
            arq.head += 1;
            let next = if self.waiting.frames > 0 {
                let size = self.line.get(self.under_way + 1).map(|ahead| ahead.frame.wire_size());
                self.waiting.frames -= 1;
                self.waiting.bytes -= size.unwrap_or_default();
                size
            } else {
                self.take_frame(at, watch)
            };
            if is_given_up {
                self.lose_head(at, watch)
            } else {
                self.send_off(at, watch)
            }
            self.in_service = next;
        }
    }

    /// The head leaves, and is lost.
    fn lose_head<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        let backlog = self.backlog();
        if let Some(head) = self.line.get(self.under_way) {
            watch.on_departure(at, head.time, &head.frame, backlog);
        }
        self.lose(at, watch);
    }

    /// Takes frames behind the head into service, as long as the window has room for their cells and nothing is due.
    fn send_ahead<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        while let Transmission::Arq(arq) = &self.transmission
            && arq.wants_frame()
            && let Some(size) = self.take_frame(at, watch)
        {
            self.waiting.frames += 1;
            self.waiting.bytes += size;
        }
    }

    /// The idle server asks the queue for a frame.
    fn wake_slotted<W: Watch<F>>(&mut self, at: Time, watch: &mut W) {
        self.in_service = self.take_frame(at, watch);
        watch.on_backlog(at, self.backlog());
    }

    /// The next frame of the queue goes into service; its size.
    fn take_frame<W: Watch<F>>(&mut self, at: Time, watch: &mut W) -> Option<Bytes> {
        let next = self.dequeue(at, watch)?;
        let size = next.frame.wire_size();
        self.line.push_back(Inside { time: next.arrived, frame: next.frame });
        if let Transmission::Arq(arq) = &mut self.transmission {
            arq.take(size);
        }
        Some(size)
    }
}
