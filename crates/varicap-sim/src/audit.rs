//! Checked in debug builds: where the segments of each connection are (each one that was sent has arrived, was lost, or
//! is still inside the network), and that no flow received what did not come through.

use varicap_experiment::measure::{FlowTotals, LinkTotals};
use varicap_units::Bytes;

use crate::connection::Connection;
use crate::packet::Packet;

/// A connection and a direction: what the packet of a segment says of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holder {
    owner: u32,
    generation: u16,
    is_reverse: bool,
}

impl Holder {
    #[inline]
    fn of(packet: &Packet) -> Holder {
        Holder { owner: packet.owner(), generation: packet.generation(), is_reverse: packet.is_reverse() }
    }
}

/// The segments of one connection in one direction.
#[derive(Clone, Copy, Debug)]
struct Counts {
    holder: Holder,
    sent: u64,
    /// By links.
    copied: u64,
    arrived: u64,
    lost: u64,
    inside: u64,
}

/// Follows the segments of each connection from end to end.
#[derive(Debug, Default)]
pub struct Audit {
    /// The counts of each connection that there was, in each direction.
    counts: Vec<Counts>,
    /// Where the counts of the last connection in each slot are, by direction.
    last: Vec<[u32; 2]>,
    /// Where the counts are of whose segment lies in each place of the pool.
    held: Vec<u32>,
}

/// No counts.
const NONE: u32 = u32::MAX;

impl Audit {
    /// The place of the counts of a segment that is sent.
    #[inline]
    fn place(&mut self, holder: Holder) -> u32 {
        let last = grown(&mut self.last, holder.owner as usize, [NONE; 2])[usize::from(holder.is_reverse)];
        match self.counts.get(last as usize) {
            Some(counts) if counts.holder == holder => last,
            _ => self.begin(holder),
        }
    }

    #[cold]
    fn begin(&mut self, holder: Holder) -> u32 {
        let place = self.counts.len() as u32;
        self.counts.push(Counts { holder, sent: 0, copied: 0, arrived: 0, lost: 0, inside: 0 });
        grown(&mut self.last, holder.owner as usize, [NONE; 2])[usize::from(holder.is_reverse)] = place;
        place
    }

    /// The connection in slot `owner` is new: generations wrap, and an earlier one may have had its number.
    pub fn on_open(&mut self, owner: u32, generation: u16) {
        for is_reverse in [false, true] {
            self.begin(Holder { owner, generation, is_reverse });
        }
    }

    /// An endpoint sends the segment of `packet`.
    #[inline]
    pub fn on_sent(&mut self, packet: &Packet) {
        let place = self.place(Holder::of(packet));
        self.hold(packet, place).sent += 1;
    }

    /// A link has made the segment of `packet`, as a copy of one of the same connection.
    pub fn on_copied(&mut self, packet: &Packet, original: &Packet) {
        let place = *grown(&mut self.held, original.segment() as usize, NONE);
        self.hold(packet, place).copied += 1;
    }

    #[inline]
    fn hold(&mut self, packet: &Packet, place: u32) -> &mut Counts {
        let before = std::mem::replace(grown(&mut self.held, packet.segment() as usize, NONE), place);
        assert!(before == NONE, "the place of a segment under way is used for another one: {packet:?}");
        &mut self.counts[place as usize]
    }

    /// The segment of `packet` has come to its endpoint.
    #[inline]
    pub fn on_arrived(&mut self, packet: &Packet) {
        self.release(packet).arrived += 1;
    }

    /// A link has lost the segment of `packet`.
    pub fn on_lost(&mut self, packet: &Packet) {
        self.release(packet).lost += 1;
    }

    #[inline]
    fn release(&mut self, packet: &Packet) -> &mut Counts {
        let place = std::mem::replace(grown(&mut self.held, packet.segment() as usize, NONE), NONE);
        let counts = self.counts.get_mut(place as usize).expect("a packet carries a segment that was sent");
        assert!(
            counts.holder == Holder::of(packet),
            "a packet carries the segment that was sent with it: {packet:?}"
        );
        counts
    }

    /// Asserts that of each connection sent = arrived + lost + inside, and that what left a sender is what it counted.
    pub fn assert_conserved(&mut self, connections: &[Connection]) {
        for &place in self.held.iter().filter(|&&place| place != NONE) {
            self.counts[place as usize].inside += 1;
        }
        for Counts { holder, sent, copied, arrived, lost, inside } in &self.counts {
            assert_eq!(
                sent + copied,
                arrived + lost + inside,
                "connection {}, generation {}: segments that were sent got lost track of",
                holder.owner,
                holder.generation
            );
        }
        for (owner, connection) in (0..).zip(connections) {
            let holder = Holder { owner, generation: connection.generation(), is_reverse: false };
            let (sent, delivered) = (connection.sender.sent(), connection.receiver.delivered());
            assert!(delivered <= sent, "connection {owner}: {delivered} B were delivered, {sent} B sent");
            let counters = connection.sender.counters();
            let counted = counters.sent_packets + counters.empty_packets;
            let place = self.place(holder);
            assert_eq!(
                self.counts[place as usize].sent, counted,
                "connection {owner}: segments that its sender counted"
            );
        }
    }
}

/// Asserts that a flow received no more data than its packets held, and that the last links of all flows let through
/// what was received: `flows` has the last link of each and its totals, `links` the totals of the links.
pub fn assert_received(flows: &[(Option<usize>, FlowTotals)], links: &[LinkTotals]) {
    let mut received = vec![Bytes::ZERO; links.len()];
    for (number, (last, totals)) in flows.iter().enumerate() {
        let FlowTotals { in_order, delivered, .. } = *totals;
        assert!(in_order <= delivered, "flow {number}: {in_order} of data in {delivered} of packets");
        if let Some(last) = *last {
            received[last] += delivered;
        }
    }
    for (number, (received, link)) in received.into_iter().zip(links).enumerate() {
        let through = link.delivered();
        assert!(received <= through, "link {number}: {received} were received, {through} came through");
    }
}

/// Entry `index` of a list, which grows as far as needed.
#[inline]
fn grown<T: Clone>(list: &mut Vec<T>, index: usize, empty: T) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, empty);
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Label;

    fn packet(segment: u32, owner: u32) -> Packet {
        Packet::new(Label { segment, owner, generation: 1, group: 0, size: 40, flags: 0 })
    }

    #[test]
    fn what_is_under_way_is_inside() {
        let mut audit = Audit::default();
        for segment in 0..3 {
            audit.on_sent(&packet(segment, 7));
        }
        audit.on_arrived(&packet(0, 7));
        audit.on_lost(&packet(2, 7));
        audit.assert_conserved(&[]);
    }

    #[test]
    #[should_panic(expected = "got lost track of")]
    fn a_segment_that_leaves_the_books_is_noticed() {
        let mut audit = Audit::default();
        audit.on_sent(&packet(0, 7));
        audit.held.clear();
        audit.assert_conserved(&[]);
    }

    #[test]
    #[should_panic(expected = "used for another one")]
    fn two_segments_in_one_place_are_noticed() {
        let mut audit = Audit::default();
        audit.on_sent(&packet(0, 7));
        audit.on_sent(&packet(0, 8));
    }

    #[test]
    #[should_panic(expected = "that was sent")]
    fn a_segment_that_arrives_twice_is_noticed() {
        let mut audit = Audit::default();
        audit.on_sent(&packet(0, 7));
        audit.on_arrived(&packet(0, 7));
        audit.on_arrived(&packet(0, 7));
    }

    #[test]
    fn a_packet_of_an_earlier_connection_is_not_the_next_ones() {
        let mut audit = Audit::default();
        audit.on_sent(&packet(0, 7));
        audit.on_open(7, 1);
        audit.on_sent(&packet(1, 7));
        audit.on_arrived(&packet(0, 7));
        audit.on_lost(&packet(1, 7));
        let found: Vec<_> =
            audit.counts.iter().map(|counts| (counts.sent, counts.arrived, counts.lost)).collect();
        assert_eq!(found, [(1, 1, 0), (1, 0, 1), (0, 0, 0)]);
    }

    fn totals(in_order: u64, delivered: u64) -> FlowTotals {
        FlowTotals {
            in_order: Bytes::new(in_order),
            delivered: Bytes::new(delivered),
            ..FlowTotals::default()
        }
    }

    fn through(carried: u64) -> LinkTotals {
        LinkTotals { carried: Bytes::new(carried), channel_lost: Bytes::new(100), ..LinkTotals::default() }
    }

    #[test]
    fn what_came_through_may_be_received() {
        assert_received(
            &[(Some(0), totals(900, 1000)), (Some(0), totals(0, 500)), (None, totals(7, 7))],
            &[through(1600)],
        );
    }

    #[test]
    #[should_panic(expected = "1500 B were received, 1499 B came through")]
    fn nobody_receives_more_than_came_through() {
        assert_received(&[(Some(0), totals(900, 1000)), (Some(0), totals(0, 500))], &[through(1599)]);
    }

    #[test]
    #[should_panic(expected = "of data in")]
    fn no_packet_holds_more_data_than_it_has_bytes() {
        assert_received(&[(None, totals(1001, 1000))], &[]);
    }

    #[test]
    #[should_panic(expected = "sent with it")]
    fn a_packet_with_a_segment_of_another_connection_is_noticed() {
        let mut audit = Audit::default();
        audit.on_sent(&packet(0, 7));
        audit.on_arrived(&packet(0, 8));
    }
}
