//! A log of what happened to every packet, kept on request: in columns, bounded, and enough to write a capture.

use serde::{Deserialize, Serialize};
use varicap_net::LossCause;
use varicap_tcp::{Flags, MAX_SACK_BLOCKS, Segment};
use varicap_units::Time;

use crate::results::columns::{Column, Data, Kind, Table};

/// The events of a packet at a link, in the order of [`PacketEvent`]'s codes.
pub const EVENTS: [&str; 8] =
    ["arrival", "departure", "delivery", "mark", "overflow", "aqm", "channel", "policed"];

/// An event of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// The packet was offered to the link.
    Arrival,
    /// The packet left the server.
    Departure,
    /// The packet reached the far end of the link.
    Delivery,
    /// A queue marked the packet (ECN).
    Mark,
    /// The packet was lost.
    Lost(LossCause),
}

impl PacketEvent {
    const ALL: [PacketEvent; EVENTS.len()] = [
        PacketEvent::Arrival,
        PacketEvent::Departure,
        PacketEvent::Delivery,
        PacketEvent::Mark,
        PacketEvent::Lost(LossCause::Overflow),
        PacketEvent::Lost(LossCause::Aqm),
        PacketEvent::Lost(LossCause::Channel),
        PacketEvent::Lost(LossCause::Policed),
    ];

    /// The index of this event in [`EVENTS`].
    pub const fn code(self) -> u8 {
        match self {
            PacketEvent::Arrival => 0,
            PacketEvent::Departure => 1,
            PacketEvent::Delivery => 2,
            PacketEvent::Mark => 3,
            PacketEvent::Lost(LossCause::Overflow) => 4,
            PacketEvent::Lost(LossCause::Aqm) => 5,
            PacketEvent::Lost(LossCause::Channel) => 6,
            PacketEvent::Lost(LossCause::Policed) => 7,
        }
    }
}

/// The connection to which a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketOwner {
    /// Index of the flow group in the scenario.
    pub group: u16,
    /// Number of the flow; transfers that come and go reuse numbers.
    pub flow: u32,
    /// Which of the successive connections that had this number.
    pub generation: u16,
    /// Whether the packet travels from the receiver to the sender.
    pub is_reverse: bool,
}

/// One event of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// When the event happened.
    pub at: Time,
    /// Index of the link in the scenario.
    pub link: u16,
    /// The event.
    pub event: PacketEvent,
    /// The connection to which the packet belongs.
    pub owner: PacketOwner,
    /// The packet; for a datagram only the sizes are meaningful.
    pub segment: Segment,
}

/// A log of packet events in columns, with a maximum number of events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PacketLog {
    limit: usize,
    is_truncated: bool,
    at: Vec<u64>,
    link: Vec<u16>,
    event: Vec<u8>,
    group: Vec<u16>,
    flow: Vec<u32>,
    generation: Vec<u16>,
    is_reverse: Vec<bool>,
    seq: Vec<u64>,
    ack: Vec<u64>,
    len: Vec<u32>,
    wire_size: Vec<u16>,
    window: Vec<u32>,
    flags: Vec<u16>,
    sent_at: Vec<u64>,
    echo: Vec<u64>,
    sack_count: Vec<u8>,
    /// The SACK blocks of all events, and the counters of the AccECN option behind those of one that has it, concatenated.
    sack: Vec<(u32, u32)>,
}

impl PacketLog {
    /// Memory of an event in a log that grows, and in the table that is made of it, roughly [B].
    pub const BYTES_PER_EVENT: u64 = 240;

    /// The columns of the log.
    pub const COLUMNS: &'static [Column] = &[
        Column::plain("time_ns", "ns", Kind::Count, "When it happened, from the start of the run."),
        Column::choice("event", &EVENTS, "What happened; overflow, aqm and channel are losses."),
        Column::plain("link", "1", Kind::Count, "Index of the link in the scenario."),
        Column::plain("group", "1", Kind::Count, "Index of the flow group in the scenario."),
        Column::plain("flow", "1", Kind::Count, "Number of the flow; transfers use numbers again."),
        Column::plain("generation", "1", Kind::Count, "Which of the connections that had this number."),
        Column::choice("direction", &DIRECTIONS, "From the sender (data) or from the receiver (ack)."),
        Column::plain("seq_bytes", "B", Kind::Count, "First payload byte, from zero."),
        Column::plain("ack_bytes", "B", Kind::Count, "Next byte expected from the other side, from zero."),
        Column::plain("payload_bytes", "B", Kind::Count, "Payload."),
        Column::plain("wire_bytes", "B", Kind::Count, "Size on the wire, headers included."),
        Column::plain("window_bytes", "B", Kind::Count, "Advertised window."),
        Column::plain("flags", "1", Kind::Count, FLAGS),
        Column::plain("sent_at_ns", "ns", Kind::Count, "When the packet was sent."),
        Column::plain("sack_blocks", "1", Kind::Count, "SACK blocks that it carries."),
    ];

    /// An empty log of at most `limit` events.
    pub fn new(limit: usize) -> PacketLog {
        PacketLog { limit, ..PacketLog::default() }
    }

    /// Adds an event, unless the log is full.
    pub fn push(&mut self, record: &PacketRecord) {
        if self.at.len() == self.limit {
            self.is_truncated = true;
            return;
        }
        let PacketRecord { at, link, event, owner, segment } = record;
        self.at.push(at.as_nanos());
        self.link.push(*link);
        self.event.push(event.code());
        self.group.push(owner.group);
        self.flow.push(owner.flow);
        self.generation.push(owner.generation);
        self.is_reverse.push(owner.is_reverse);
        self.seq.push(segment.seq);
        self.ack.push(segment.ack);
        self.len.push(segment.len);
        self.wire_size.push(segment.wire_size);
        self.window.push(segment.window);
        self.flags.push(segment.flags.0);
        self.sent_at.push(segment.sent_at.as_nanos());
        self.echo.push(segment.echo.as_nanos());
        let blocks = &segment.sack[..usize::from(segment.sack_count).min(MAX_SACK_BLOCKS)];
        self.sack_count.push(blocks.len() as u8);
        self.sack.extend_from_slice(blocks);
        self.sack.extend(segment.ecn_bytes().map(|bytes| (bytes.capable, bytes.marked)));
    }

    /// The number of events in the log.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether the log has no events.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Whether events were left out because the log was full.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// The events of the log in order.
    pub fn records(&self) -> impl Iterator<Item = PacketRecord> + '_ {
        let mut next_block = 0;
        (0..self.len()).map(move |i| {
            let count = usize::from(self.sack_count[i]);
            let mut sack = [(0, 0); MAX_SACK_BLOCKS];
            sack[..count].copy_from_slice(&self.sack[next_block..next_block + count]);
            next_block += count;
            let flags = Flags(self.flags[i]);
            if flags.has(Flags::COUNTED) {
                sack[MAX_SACK_BLOCKS - 1] = self.sack[next_block];
                next_block += 1;
            }
            PacketRecord {
                at: Time::from_nanos(self.at[i]),
                link: self.link[i],
                event: PacketEvent::ALL[usize::from(self.event[i])],
                owner: PacketOwner {
                    group: self.group[i],
                    flow: self.flow[i],
                    generation: self.generation[i],
                    is_reverse: self.is_reverse[i],
                },
                segment: Segment {
                    seq: self.seq[i],
                    ack: self.ack[i],
                    sent_at: Time::from_nanos(self.sent_at[i]),
                    echo: Time::from_nanos(self.echo[i]),
                    window: self.window[i],
                    len: self.len[i],
                    sack,
                    sack_count: self.sack_count[i],
                    flags,
                    wire_size: self.wire_size[i],
                },
            }
        })
    }

    /// The log as a table; large columns are moved, not copied.
    pub fn into_table(self) -> Table {
        let small = |values: Vec<u16>| Data::SmallCount(values.into_iter().map(u32::from).collect());
        let tiny = |values: Vec<u8>| Data::SmallCount(values.into_iter().map(u32::from).collect());
        let data = [
            Data::Count(self.at),
            Data::Choice(self.event, &EVENTS),
            small(self.link),
            small(self.group),
            Data::SmallCount(self.flow),
            small(self.generation),
            Data::Choice(self.is_reverse.into_iter().map(u8::from).collect(), &DIRECTIONS),
            Data::Count(self.seq),
            Data::Count(self.ack),
            Data::SmallCount(self.len),
            small(self.wire_size),
            Data::SmallCount(self.window),
            small(self.flags),
            Data::Count(self.sent_at),
            tiny(self.sack_count),
        ];
        Table { columns: PacketLog::COLUMNS.iter().copied().zip(data).collect() }
    }
}

const DIRECTIONS: [&str; 2] = ["data", "ack"];

const FLAGS: &str = "Sum of 1 SYN, 2 ACK, 4 ECE, 8 CWR, 16 ECN-capable, 32 congestion experienced, 64 reserved, 128 resent, 256 AE, 512 with an AccECN option, 1024 of ECT(1), 2048 with ECT(1) first in that option, 4096 PSH, 8192 FIN.";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = PacketRecord> {
        let segment = (
            any::<[u64; 4]>(),
            any::<(u32, u32, u16, u16)>(),
            prop::collection::vec(any::<(u32, u32)>(), 0..=4),
        );
        let segment =
            segment.prop_map(|([seq, ack, sent_at, echo], (window, len, flags, wire_size), blocks)| {
                let mut sack = [(0, 0); MAX_SACK_BLOCKS];
                sack[..blocks.len()].copy_from_slice(&blocks);
                // A header has no room for four blocks beside that option.
                let is_full = blocks.len() == MAX_SACK_BLOCKS;
                let flags = if is_full { flags & !Flags::COUNTED.0 } else { flags };
                if Flags(flags).has(Flags::COUNTED) {
                    sack[MAX_SACK_BLOCKS - 1] = (seq as u32, ack as u32);
                }
                Segment {
                    seq,
                    ack,
                    sent_at: Time::from_nanos(sent_at),
                    echo: Time::from_nanos(echo),
                    window,
                    len,
                    sack,
                    sack_count: blocks.len() as u8,
                    flags: Flags(flags),
                    wire_size,
                }
            });
        let owner = any::<(u16, u32, u16, bool)>().prop_map(|(group, flow, generation, is_reverse)| {
            PacketOwner { group, flow, generation, is_reverse }
        });
        (any::<(u64, u16)>(), 0..EVENTS.len(), owner, segment).prop_map(
            |((at, link), event, owner, segment)| PacketRecord {
                at: Time::from_nanos(at),
                link,
                event: PacketEvent::ALL[event],
                owner,
                segment,
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_logged_is_read_back(records in prop::collection::vec(record(), 0..20)) {
            let mut log = PacketLog::new(100);
            records.iter().for_each(|record| log.push(record));
            prop_assert_eq!(log.records().collect::<Vec<_>>(), records);
        }

        #[test]
        fn a_full_log_keeps_the_first_events_and_says_so(records in prop::collection::vec(record(), 0..20)) {
            let mut log = PacketLog::new(10);
            records.iter().for_each(|record| log.push(record));
            prop_assert_eq!(log.len(), records.len().min(10));
            prop_assert_eq!(log.is_truncated(), records.len() > 10);
        }
    }

    #[test]
    fn codes_are_places_in_the_list_of_events() {
        for (place, event) in PacketEvent::ALL.iter().enumerate() {
            assert_eq!(usize::from(event.code()), place);
        }
    }

    #[test]
    fn every_column_has_a_value_for_each_event() {
        let segment = Segment { seq: 7, wire_size: 1500, ..Segment::default() };
        let owner = PacketOwner { group: 0, flow: 3, generation: 0, is_reverse: true };
        let mut log = PacketLog::new(1);
        log.push(&PacketRecord {
            at: Time::from_nanos(9),
            link: 1,
            event: PacketEvent::Mark,
            owner,
            segment,
        });
        let table = log.into_table();
        assert_eq!(table.columns.len(), PacketLog::COLUMNS.len());
        assert!(table.columns.iter().all(|(_, data)| data.len() == 1));
        assert_eq!(table.get("direction"), Some(&Data::Choice(vec![1], &DIRECTIONS)));
        assert_eq!(table.get("event"), Some(&Data::Choice(vec![3], &EVENTS)));
        assert_eq!(table.get("seq_bytes"), Some(&Data::Count(vec![7])));
        assert_eq!(table.get("wire_bytes"), Some(&Data::SmallCount(vec![1500])));
    }
}
