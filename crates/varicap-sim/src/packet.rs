//! What travels over the simulated links: a 16-byte handle of a pooled segment.

use varicap_net::Frame;
use varicap_units::Bytes;

/// A packet in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its segment's place in the pool; [`Packet::NO_SEGMENT`] for a datagram.
    pub segment: u32,
    /// The connection, or the datagram source, that it belongs to.
    pub owner: u32,
    /// Which of the connections that used this slot one after the other (wraps).
    pub generation: u16,
    /// Its flow group, which knows its route.
    pub group: u16,
    /// Size on the wire [B].
    pub size: u16,
    /// Next link of its route.
    pub hop: u8,
    /// Direction, ECN, reservation.
    pub flags: u8,
}

impl Packet {
    /// A datagram carries no segment.
    pub const NO_SEGMENT: u32 = u32::MAX;
    /// It travels from the receiver to the sender.
    pub const REVERSE: u8 = 1;
    /// ECN-capable transport.
    pub const ECT: u8 = 2;
    /// Congestion experienced.
    pub const CE: u8 = 4;
    /// Conforms to a reservation.
    pub const RESERVED: u8 = 8;

    /// A datagram of a source whose meter is `owner`.
    pub fn datagram(owner: u32, group: u16, size: Bytes) -> Packet {
        let size = size.as_u64() as u16; // the scenario limits datagrams to 65,535 bytes
        Packet { segment: Packet::NO_SEGMENT, owner, generation: 0, group, size, hop: 0, flags: 0 }
    }

    /// Whether it travels from the receiver to the sender.
    #[inline]
    pub fn is_reverse(&self) -> bool {
        self.flags & Packet::REVERSE != 0
    }
}

impl Frame for Packet {
    #[inline]
    fn wire_size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    #[inline]
    fn mark_ce(&mut self) -> bool {
        let capable = self.flags & Packet::ECT != 0;
        if capable {
            self.flags |= Packet::CE;
        }
        capable
    }

    #[inline]
    fn is_reserved(&self) -> bool {
        self.flags & Packet::RESERVED != 0
    }
}

/// Values that come and go, in slots that are used again: nothing is allocated in the steady state.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Pool<T> {
    /// An empty pool.
    pub fn new() -> Pool<T> {
        Pool { slots: Vec::new(), free: Vec::new() }
    }

    /// Stores a value; the slot used last is used first, while it is still in the cache.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = value;
                slot
            }
            None => {
                self.slots.push(value);
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// The value in `slot`.
    pub fn get(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }

    /// Takes the value out of `slot`, which must hold one.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.slots[slot as usize]
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
    fn the_pool_uses_slots_again() {
        let mut pool = Pool::new();
        let (a, b) = (pool.insert(1), pool.insert(2));
        assert_eq!(pool.remove(a), 1);
        assert_eq!(pool.insert(3), a);
        assert_eq!((*pool.get(b), *pool.get(a)), (2, 3));
    }
}
