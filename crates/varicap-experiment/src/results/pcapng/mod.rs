//! Captures that Wireshark opens: what arrived at each link, as IPv4 packets with real headers.
//!
//! There is one interface per link; times are in nanoseconds from the start of the run. The payload is zeros, so that
//! every checksum holds; the file has as much of a packet as its snap length says. The fate of a lost packet is a comment on its record.
//! Lengths are those of the real headers; they equal the simulated sizes if these count 40 bytes and the options.
//! Source: draft-ietf-opsawg-pcapng (blocks), RFC 791, RFC 9293, RFC 7323, RFC 2018, RFC 768 (headers).

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use varicap_net::LossCause;
use varicap_tcp::{EcnMode, Flags, TcpConfig};
use varicap_units::{Span, Time};

use crate::results::packets::{PacketEvent, PacketLog, PacketOwner, PacketRecord};

mod headers;

pub use headers::CapturedFlow;
use headers::PacketBytes;

impl CapturedFlow {
    /// The headers of a TCP connection.
    pub fn of(tcp: &TcpConfig) -> CapturedFlow {
        CapturedFlow::Tcp {
            mss: u16::try_from(tcp.mss.as_u64()).unwrap_or(u16::MAX),
            timestamps: tcp.timestamps,
            sack: tcp.recovery.is_selective(),
            window_scale: tcp.window_scale(),
            ecn: tcp.ecn_in_force() == EcnMode::Classic,
        }
    }
}

/// How many bytes of each packet a capture has at most [B], as tcpdump's `-s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapLen(u32);

impl SnapLen {
    /// Whole packets.
    pub const WHOLE: SnapLen = SnapLen(u32::MAX);

    /// The first `bytes` of each packet [B]; zero stands for whole packets.
    pub const fn new(bytes: u32) -> SnapLen {
        if bytes == 0 { SnapLen::WHOLE } else { SnapLen(bytes) }
    }

    /// As an interface says it, where zero is no limit. Source: draft-ietf-opsawg-pcapng §4.2.
    fn field(self) -> u32 {
        if self == SnapLen::WHOLE { 0 } else { self.0 }
    }
}

/// Writes a capture packet by packet.
#[derive(Debug)]
pub struct Capture<W> {
    out: W,
    groups: Vec<CapturedFlow>,
    snap: SnapLen,
    packet: PacketBytes,
    block: Block,
}

impl<W: Write> Capture<W> {
    /// Begins a capture with one interface per link; `groups` are the flow groups of the scenario.
    pub fn new(
        mut out: W,
        links: &[&str],
        groups: &[CapturedFlow],
        snap: SnapLen,
        comment: Option<&str>,
    ) -> io::Result<Capture<W>> {
        let mut block = Block::default();
        block.begin(SECTION_HEADER);
        block.u32(BYTE_ORDER_MAGIC);
        block.u16(1); // version 1.0
        block.u16(0);
        block.bytes(&u64::MAX.to_le_bytes()); // length of the section: not specified
        block.option(OPTION_COMMENT, comment.map(str::as_bytes));
        block.option(SECTION_APPLICATION, Some(concat!("varicap ", env!("CARGO_PKG_VERSION")).as_bytes()));
        block.write_to(&mut out)?;
        for name in links {
            block.begin(INTERFACE_DESCRIPTION);
            block.u16(LINKTYPE_RAW);
            block.u16(0);
            block.u32(snap.field());
            block.option(INTERFACE_NAME, Some(name.as_bytes()));
            block.option(INTERFACE_RESOLUTION, Some(&[9])); // 10^-9 s
            block.write_to(&mut out)?;
        }
        Ok(Capture { out, groups: groups.to_vec(), snap, packet: PacketBytes::default(), block })
    }

    /// Adds a packet that arrived at a link; `comment` says what happened to it.
    pub fn packet(&mut self, record: &PacketRecord, comment: Option<&str>) -> io::Result<()> {
        let owner = record.owner;
        let Some(&group) = self.groups.get(usize::from(owner.group)) else {
            return Err(io::Error::other(format!("a packet of unknown flow group {}", owner.group)));
        };
        let length = self.packet.fill(group, owner, &record.segment)?;
        let captured = length.min(self.snap.0 as usize);
        let headers = self.packet.headers();
        let headers = &headers[..headers.len().min(captured)];
        let nanos = record.at.as_nanos();
        self.block.begin(ENHANCED_PACKET);
        self.block.u32(u32::from(record.link));
        self.block.u32((nanos >> 32) as u32);
        self.block.u32(nanos as u32);
        self.block.u32(captured as u32);
        self.block.u32(length as u32);
        self.block.bytes(headers);
        self.block.zeros(captured - headers.len());
        self.block.pad();
        self.block.option(OPTION_COMMENT, comment.map(str::as_bytes));
        self.block.write_to(&mut self.out)
    }

    /// Ends the capture.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes what arrived at each link of `log`, with the fate of lost packets as comments. A packet that the link's queue
/// marks is shown as it leaves the queue, with "congestion experienced".
pub fn write_capture<W: Write>(
    out: W,
    log: &PacketLog,
    links: &[&str],
    groups: &[CapturedFlow],
    snap: SnapLen,
) -> io::Result<W> {
    let cut = format!("The log was full: only its first {} events are here.", log.len());
    let mut capture = Capture::new(out, links, groups, snap, log.is_truncated().then_some(cut.as_str()))?;
    let mut fates = fates(log);
    let echoes = echoes(log);
    for mut record in log.records().filter(|record| record.event == PacketEvent::Arrival) {
        let fate = fates.get_mut(&identity(&record));
        let Fate { marks, losses } = fate.map(Fate::next).unwrap_or_default();
        let mut comments = Vec::new();
        if !record.owner.is_reverse {
            record.segment.echo = echoed(&echoes, &record);
        }
        for at in marks {
            record.segment.flags = record.segment.flags.with(Flags::CE);
            comments.push(format!("marked by the queue at {at:?}"));
        }
        for (at, cause) in losses {
            comments.push(match cause {
                LossCause::Overflow => "dropped: the queue was full".to_owned(),
                LossCause::Aqm => format!("dropped by active queue management at {at:?}"),
                LossCause::Policed => "dropped: it did not conform to its reservation or rate".to_owned(),
                LossCause::Channel => format!("lost on the channel at {at:?}"),
            });
        }
        capture.packet(&record, (!comments.is_empty()).then(|| comments.join("; ")).as_deref())?;
    }
    capture.finish()
}

/// Of each connection, by its packets with data: when an acknowledgement came, and TS.Recent since then.
type Echoes = HashMap<PacketOwner, Vec<(Time, Time)>>;

/// TS.Recent of a sender (RFC 7323 §4.3), which the simulated one need not know: the newest timestamp that has come back.
/// An acknowledgement has come when its last link delivers it; an access delay behind that is not in the log.
fn echoes(log: &PacketLog) -> Echoes {
    let answers =
        || log.records().filter(|record| record.owner.is_reverse && record.event == PacketEvent::Delivery);
    // Behind the last link of its way a packet has been under way for longest.
    let mut longest: HashMap<PacketOwner, (Span, u16)> = HashMap::new();
    for record in answers() {
        let way = (record.at.since(record.segment.sent_at), record.link);
        let last = longest.entry(record.owner).or_insert(way);
        *last = way.max(*last);
    }
    let mut found = Echoes::new();
    for record in answers().filter(|record| longest[&record.owner].1 == record.link) {
        let came = found.entry(PacketOwner { is_reverse: false, ..record.owner }).or_default();
        let recent = came.last().map_or(Time::ZERO, |&(_, recent)| recent);
        came.push((record.at, recent.max(record.segment.sent_at)));
    }
    found
}

/// The TSecr of a packet with data: the newest timestamp that had come when it left.
fn echoed(echoes: &Echoes, record: &PacketRecord) -> Time {
    let came = echoes.get(&record.owner).map_or(&[][..], Vec::as_slice);
    let before = came.partition_point(|&(at, _)| at <= record.segment.sent_at);
    before.checked_sub(1).map_or(Time::ZERO, |place| came[place].1)
}

/// The identity of a packet at a link: two that agree in this are identical.
type Identity = (u16, PacketOwner, [u64; 3], u32);

fn identity(record: &PacketRecord) -> Identity {
    let PacketRecord { link, owner, segment, .. } = record;
    (*link, *owner, [segment.seq, segment.ack, segment.sent_at.as_nanos()], segment.len)
}

/// The fates of packets of one identity at a link, in order of time.
#[derive(Debug, Default)]
struct Fate {
    marks: VecDeque<Time>,
    losses: VecDeque<(Time, LossCause)>,
}

impl Fate {
    /// The fate of the next of these packets.
    fn next(&mut self) -> Fate {
        let (mark, loss) = (self.marks.pop_front(), self.losses.pop_front());
        Fate { marks: mark.into_iter().collect(), losses: loss.into_iter().collect() }
    }
}

/// The fate of each packet that was marked or lost.
fn fates(log: &PacketLog) -> HashMap<Identity, Fate> {
    let mut fates: HashMap<Identity, Fate> = HashMap::new();
    for record in log.records() {
        match record.event {
            PacketEvent::Mark => fates.entry(identity(&record)).or_default().marks.push_back(record.at),
            PacketEvent::Lost(cause) => {
                fates.entry(identity(&record)).or_default().losses.push_back((record.at, cause));
            }
            PacketEvent::Arrival | PacketEvent::Departure | PacketEvent::Delivery => {}
        }
    }
    fates
}

/// A block of the file: its type, its length at both ends, and the words between.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    has_options: bool,
}

impl Block {
    fn begin(&mut self, kind: u32) {
        self.bytes.clear();
        self.has_options = false;
        self.u32(kind);
        self.u32(0); // the length, known at the end
    }

    fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: Option<&[u8]>) {
        let Some(value) = value else { return };
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.has_options = true;
        self.u16(code);
        self.u16(value.len() as u16);
        self.bytes(value);
        self.pad();
    }

    fn write_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.has_options {
            self.u32(0); // opt_endofopt
        }
        let length = (self.bytes.len() + 4) as u32;
        self.u32(length);
        self.bytes[4..8].copy_from_slice(&length.to_le_bytes());
        out.write_all(&self.bytes)
    }
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Packets begin with an IP header.
const LINKTYPE_RAW: u16 = 101;
const OPTION_COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_RESOLUTION: u16 = 9;
