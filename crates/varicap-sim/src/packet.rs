//! Packets on simulated links: a 16-byte handle of a pooled segment.

use std::fmt;

use varicap_net::{Codepoint, Frame};
use varicap_tcp::Flags;
use varicap_units::Bytes;

use crate::budget::Guard;
use crate::pages;

/// A packet in the network, as two words: it travels in registers, and into and out of rings in two moves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The segment's place in the pool, and the owner above it.
    place: u64,
    /// From the lowest bit: size, group, generation, nodes ahead, flags.
    rest: u64,
}

/// The fields of a packet by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Its segment's place in the pool. A datagram has [`Packet::NO_SEGMENT`], unless packets are recorded.
    pub segment: u32,
    /// The connection, or the datagram source, that it belongs to.
    pub owner: u32,
    /// Generation of the connection: how many others used its slot before (wraps).
    pub generation: u16,
    /// Its flow group, which knows its route.
    pub group: u16,
    /// Size on the wire [B].
    pub size: u16,
    /// Direction, ECN field, reservation, whether it carries data.
    pub flags: u8,
}

const GROUP: u32 = 16;
const GENERATION: u32 = 32;
const AHEAD: u32 = 48;
const FLAGS: u32 = 56;

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {} nodes ahead", self.label(), self.ahead())
    }
}

impl Packet {
    /// The packet that says so, at its endpoint.
    #[inline(always)]
    pub const fn new(label: Label) -> Packet {
        let Label { segment, owner, generation, group, size, flags } = label;
        Packet {
            place: segment as u64 | (owner as u64) << 32,
            rest: size as u64
                | (group as u64) << GROUP
                | (generation as u64) << GENERATION
                | (flags as u64) << FLAGS,
        }
    }

    /// Its fields by name.
    pub const fn label(&self) -> Label {
        Label {
            segment: self.segment(),
            owner: self.owner(),
            generation: self.generation(),
            group: (self.rest >> GROUP) as u16,
            size: self.rest as u16,
            flags: self.flags(),
        }
    }

    /// See [`Label::segment`].
    #[inline(always)]
    pub const fn segment(&self) -> u32 {
        self.place as u32
    }

    /// See [`Label::owner`].
    #[inline(always)]
    pub const fn owner(&self) -> u32 {
        (self.place >> 32) as u32
    }

    /// See [`Label::generation`].
    #[inline(always)]
    pub const fn generation(&self) -> u16 {
        (self.rest >> GENERATION) as u16
    }

    #[inline(always)]
    const fn flags(&self) -> u8 {
        (self.rest >> FLAGS) as u8
    }

    /// Sets some flags.
    #[inline]
    pub fn flag(&mut self, flags: u8) {
        self.rest |= u64::from(flags) << FLAGS;
    }

    /// Gives it the segment in `slot`.
    pub fn carry(&mut self, slot: u32) {
        self.place = self.place >> 32 << 32 | u64::from(slot);
    }

    /// Nodes of its route that are still ahead.
    #[inline(always)]
    pub const fn ahead(&self) -> usize {
        (self.rest >> AHEAD) as u8 as usize
    }

    /// The same packet of the segment in `slot`, of `size` bytes on the wire, with `flags` in addition; this one is of none,
    /// and has no size.
    #[inline(always)]
    pub const fn of_segment(self, slot: u32, size: u16, flags: u8) -> Packet {
        Packet { place: self.place | slot as u64, rest: self.rest | size as u64 | (flags as u64) << FLAGS }
    }

    /// It sets out on a route of `nodes` nodes.
    #[inline(always)]
    pub fn set_out(&mut self, nodes: usize) {
        debug_assert!(self.ahead() == 0 && nodes <= u8::MAX as usize, "{self:?} on a route of {nodes} nodes");
        self.rest |= (nodes as u64) << AHEAD;
    }

    /// It enters the next node of its route.
    #[inline(always)]
    pub fn enter(&mut self) {
        debug_assert!(self.ahead() > 0, "{self:?} is at its endpoint");
        self.rest -= 1 << AHEAD;
    }

    /// A datagram that is not recorded carries no segment.
    pub const NO_SEGMENT: u32 = u32::MAX;
    /// It travels from the receiver to the sender.
    pub const REVERSE: u8 = 1;
    /// ECN-capable transport.
    pub const ECT: u8 = 2;
    /// Congestion experienced.
    pub const CE: u8 = 4;
    /// Conforms to a reservation.
    pub const RESERVED: u8 = 8;
    /// Carries no data of its own.
    pub const CONTROL: u8 = 16;
    /// A datagram: it belongs to no connection.
    pub const DATAGRAM: u8 = 32;
    /// Damaged: its receiver will not take it.
    pub const DAMAGED: u8 = 64;
    /// Its ECN-capable transport said so by ECT(1), not by ECT(0).
    pub const ECT1: u8 = 128;

    /// The flags of a packet whose segment has these.
    #[inline]
    pub const fn flags_of(segment: Flags) -> u8 {
        const SHIFT: u32 = 3;
        const { assert!(Flags::ECT.0 == (Packet::ECT as u16) << SHIFT) };
        const { assert!(Flags::RESERVED.0 == (Packet::RESERVED as u16) << SHIFT) };
        const { assert!(Flags::ECT1.0 == (Packet::ECT1 as u16) << SHIFT) };
        (segment.0 >> SHIFT) as u8 & (Packet::ECT | Packet::ECT1 | Packet::RESERVED)
    }

    /// The flags of a packet with this ECN field.
    pub const fn flags_of_codepoint(ecn: Codepoint) -> u8 {
        match ecn {
            Codepoint::NotEct => 0,
            Codepoint::Ect0 => Packet::ECT,
            Codepoint::Ect1 => Packet::ECT | Packet::ECT1,
            Codepoint::Ce => Packet::ECT | Packet::CE,
        }
    }

    /// A datagram of a source whose meter is `owner`.
    pub fn datagram(owner: u32, group: u16, size: Bytes) -> Packet {
        debug_assert!(size.as_u64() <= u64::from(u16::MAX), "a datagram of {size}");
        let size = size.as_u64() as u16; // the scenario limits datagrams to 65,535 bytes
        let flags = Packet::DATAGRAM;
        Packet::new(Label { segment: Packet::NO_SEGMENT, owner, generation: 0, group, size, flags })
    }

    /// Whether it is a datagram.
    #[inline]
    pub fn is_datagram(&self) -> bool {
        self.flags() & Packet::DATAGRAM != 0
    }

    /// Whether it is a datagram, or damaged: what ends otherwise than at its connection.
    #[inline]
    pub fn is_apart(&self) -> bool {
        self.flags() & (Packet::DATAGRAM | Packet::DAMAGED) != 0
    }

    /// Whether a link has damaged it.
    #[inline]
    pub fn is_damaged(&self) -> bool {
        self.flags() & Packet::DAMAGED != 0
    }

    /// Whether it travels from the receiver to the sender.
    #[inline]
    pub fn is_reverse(&self) -> bool {
        self.flags() & Packet::REVERSE != 0
    }

    /// Whether it conforms to a reservation, or carries no data of its own.
    #[inline]
    pub fn is_special(&self) -> bool {
        self.flags() & (Packet::RESERVED | Packet::CONTROL) != 0
    }

    /// Whether a queue has marked it (CE).
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.flags() & Packet::CE != 0
    }
}

/// The owner of the packets with a number of [`Frame::flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowOwner {
    /// The connection in a slot.
    Connection(u32),
    /// The stream of datagrams of a meter.
    Datagrams(u32),
}

impl FlowOwner {
    /// The flow number of packets to the receiver; that of packets to the sender is greater by one.
    fn flow(self) -> u32 {
        // A stream of datagrams and a connection may have the same number.
        match self {
            FlowOwner::Connection(slot) => slot << 2,
            FlowOwner::Datagrams(meter) => meter << 2 | 2,
        }
    }

    /// The owner of the packets with flow number `flow`.
    pub fn of(flow: u32) -> FlowOwner {
        if flow & 2 == 0 { FlowOwner::Connection(flow >> 2) } else { FlowOwner::Datagrams(flow >> 2) }
    }
}

impl Frame for Packet {
    #[inline]
    fn wire_size(&self) -> Bytes {
        Bytes::new(self.rest & 0xffff)
    }

    #[inline]
    fn mark_ce(&mut self) -> bool {
        let capable = self.flags() & Packet::ECT != 0;
        if capable {
            self.flag(Packet::CE);
        }
        capable
    }

    #[inline]
    fn codepoint(&self) -> Codepoint {
        match self.flags() & (Packet::ECT | Packet::ECT1 | Packet::CE) {
            0 => Codepoint::NotEct,
            Packet::ECT => Codepoint::Ect0,
            flags if flags & Packet::CE == 0 => Codepoint::Ect1,
            _ => Codepoint::Ce,
        }
    }

    #[inline]
    fn is_control(&self) -> bool {
        self.flags() & Packet::CONTROL != 0
    }

    #[inline]
    fn is_reserved(&self) -> bool {
        self.flags() & Packet::RESERVED != 0
    }

    fn set_reserved(&mut self, reserved: bool) {
        self.rest &= !(u64::from(Packet::RESERVED) << FLAGS);
        if reserved {
            self.flag(Packet::RESERVED);
        }
    }

    fn damage(&mut self) {
        self.flag(Packet::DAMAGED);
    }

    fn flow(&self) -> u32 {
        let owner = if self.is_datagram() {
            FlowOwner::Datagrams(self.owner())
        } else {
            FlowOwner::Connection(self.owner())
        };
        owner.flow() | u32::from(self.is_reverse())
    }

    #[inline(always)]
    fn group(&self) -> u16 {
        (self.rest >> GROUP) as u16
    }
}

/// Values in slots that are reused, so that nothing is allocated in the steady state.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<T>,
    /// The free slot that is used next, apart from the others: most often it was freed just before. [`Pool::NONE`] if it is
    /// yet to be found.
    next: u32,
    /// The other free slots.
    free: Vec<u32>,
    /// Watches how far the pool grows.
    guard: Option<Guard>,
}

impl<T: Default> Pool<T> {
    /// New slots after which the guard is asked.
    const SLOTS_BETWEEN_QUESTIONS: usize = 1 << 14;
    /// No slot.
    const NONE: u32 = u32::MAX;

    /// An empty pool that grows as far as `guard` allows.
    pub fn new(guard: Option<Guard>) -> Pool<T> {
        Pool { slots: Vec::new(), next: Self::NONE, free: Vec::new(), guard }
    }

    /// A free slot, in which the next value may be written in place; it stays free until [`Pool::take`]. The slot that
    /// was freed last comes first, while it is still in the cache.
    #[inline]
    pub fn vacant(&mut self) -> (u32, &mut T) {
        if self.next == Self::NONE {
            self.next = match self.free.pop() {
                Some(slot) => slot,
                None => self.grow(),
            };
        }
        (self.next, &mut self.slots[self.next as usize])
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let slot = self.slots.len() as u32;
        if self.slots.len().is_multiple_of(Self::SLOTS_BETWEEN_QUESTIONS)
            && let Some(guard) = &self.guard
        {
            guard.enforce((self.slots.len() * (size_of::<T>() + size_of::<u32>())) as u64);
        }
        pages::reserve(&mut self.slots, 1);
        self.slots.push(T::default());
        slot
    }

    /// Takes the slot that [`Pool::vacant`] returned last.
    #[inline]
    pub fn take(&mut self) {
        debug_assert!(self.next != Self::NONE, "only a vacant slot is taken");
        self.next = Self::NONE;
    }

    /// The value in `slot`.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }

    /// The value in `slot`.
    pub fn get(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }

    /// The number of slots, in use or free.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The number of slots in use.
    #[cfg(debug_assertions)]
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len() - usize::from(self.next != Self::NONE)
    }

    /// Frees `slot`, whose value is no longer needed.
    #[inline]
    pub fn free(&mut self, slot: u32) {
        debug_assert!(self.free.len() < self.slots.len(), "more slots become free than were taken");
        if self.next != Self::NONE {
            self.free.push(self.next);
        }
        self.next = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_16_bytes() {
        assert_eq!(size_of::<Packet>(), 16);
    }

    #[test]
    fn a_packet_says_what_it_was_told_wherever_it_is() {
        let (segment, owner, size) = (0x1234_5678, 0x9abc_def0, 0xffff);
        let label = Label { segment, owner, generation: 0x8001, group: 0x4002, size, flags: Packet::REVERSE };
        let mut packet = Packet::new(label);
        packet.set_out(255);
        packet.enter();
        assert_eq!((packet.label(), packet.ahead()), (label, 254));
        packet.flag(Packet::ECT);
        assert!(packet.mark_ce() && packet.is_marked() && packet.is_reverse());
        packet.set_reserved(true);
        packet.set_reserved(false);
        packet.carry(7);
        let flags = Packet::REVERSE | Packet::ECT | Packet::CE;
        assert_eq!((packet.label(), packet.ahead()), (Label { segment: 7, flags, ..label }, 254));
    }

    #[test]
    fn the_pool_uses_slots_again() {
        let mut pool = Pool::new(None);
        let insert = |pool: &mut Pool<u32>, value| {
            let (slot, place) = pool.vacant();
            *place = value;
            pool.take();
            slot
        };
        let (a, b) = (insert(&mut pool, 1), insert(&mut pool, 2));
        assert_eq!(*pool.get(a), 1);
        pool.free(a);
        assert_eq!(insert(&mut pool, 3), a);
        assert_eq!((*pool.get(b), *pool.get(a)), (2, 3));
    }

    #[test]
    fn a_vacant_slot_stays_free_until_it_is_taken() {
        let mut pool: Pool<u32> = Pool::new(None);
        let first = pool.vacant().0;
        assert_eq!(pool.vacant().0, first);
        pool.take();
        assert_ne!(pool.vacant().0, first);
    }
}
