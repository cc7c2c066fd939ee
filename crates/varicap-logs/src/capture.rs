//! Packet captures: what passed in one direction, as a lower bound of the capacity, and round trips of TCP.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_file::pcapng::Block;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::{DataLink, PcapError};

use crate::series::{Rows, Series};
use crate::source::{Bytes, Opened};
use crate::understood::Form;
use crate::{LogError, MOST_ROWS, Quantity, Reading};

/// Time over which packets are counted, if `every` does not say [ns].
const STEP: i64 = 100_000_000;
/// Most directions that are told apart; packets of later ones do not count.
const DIRECTIONS: usize = 4096;
/// Most segments of a connection that wait for an acknowledgement.
const IN_FLIGHT: usize = 100_000;

/// Amounts of data over equal times.
pub(crate) struct Bins<'a> {
    file: &'a str,
    step: i64,
    bits: Vec<f64>,
}

impl<'a> Bins<'a> {
    pub fn new(file: &'a str, reading: &Reading) -> Result<Bins<'a>, LogError> {
        let step =
            reading.every.map_or(STEP, |every| i64::try_from(every.as_nanos()).unwrap_or(i64::MAX)).max(1);
        Ok(Bins { file, step, bits: Vec::new() })
    }

    /// Counts `bits` at an instant [ns].
    pub fn add(&mut self, at: i64, bits: f64) -> Result<(), LogError> {
        let bin = (at.max(0) / self.step) as usize;
        if bin >= MOST_ROWS / 5 {
            let (seconds, step) = (at as f64 / 1e9, self.step as f64 / 1e9);
            let reason = format!(
                "lasts {seconds:.3e} s or more, too much for steps of {step} s: `--every '10 s'` has longer ones"
            );
            return Err(LogError::file(self.file, reason));
        }
        if bin >= self.bits.len() {
            self.bits.resize(bin + 1, 0.0);
        }
        self.bits[bin] += bits;
        Ok(())
    }

    /// The counted bytes as rates from `first` on [ns].
    pub fn series(
        self,
        wanted: Quantity,
        reading: &Reading,
        form: Form,
        first: i64,
    ) -> Result<Series, LogError> {
        let mut rows = Rows::new(self.file, wanted, reading);
        for (bin, bits) in self.bits.iter().enumerate() {
            rows.push(0, first + bin as i64 * self.step, Some(bits * 1e9 / self.step as f64), "")?;
        }
        rows.finish(form, false, Some(first + self.bits.len() as i64 * self.step))
    }
}

/// A packet as far as it matters.
struct Seen {
    /// Since 1970 [ns].
    at: i64,
    /// Length of its IP packet [B].
    bytes: u64,
    from: (IpAddr, u16),
    to: (IpAddr, u16),
    tcp: Option<Tcp>,
}

struct Tcp {
    sequence: u32,
    /// Sequence numbers that it takes.
    length: u32,
    acknowledgement: Option<u32>,
}

/// One direction between two addresses.
struct Direction<'a> {
    bins: Bins<'a>,
    bytes: u64,
    packets: u64,
    /// Instants of acknowledgements and the round trips that they end [ns].
    round_trips: Vec<(i64, i64)>,
    connections: HashMap<(u16, u16), InFlight>,
}

/// Segments that wait for their acknowledgement.
#[derive(Default)]
struct InFlight {
    /// Where each ends, and when it was sent.
    sent: VecDeque<(u32, i64)>,
    highest: Option<u32>,
}

/// Which packets count.
enum Only {
    /// The direction that carries most.
    Busiest,
    All,
    Between([Option<(Option<IpAddr>, Option<u16>)>; 2]),
}

/// Reads a capture.
pub(crate) fn read(
    file: &str,
    opened: Opened<'_>,
    wanted: Quantity,
    reading: &Reading,
) -> Result<Series, LogError> {
    if wanted == Quantity::Loss {
        return Err(LogError::absent(file, "is a capture, which has rates and delays but no losses"));
    }
    let only = Only::parse(file, reading.only.as_deref())?;
    let mut directions: HashMap<(IpAddr, IpAddr), Direction<'_>> = HashMap::new();
    let mut first = None;
    let is_cut = packets(file, opened, |seen| {
        if !only.takes(&seen) {
            // A packet that goes back may acknowledge one that counts.
            if wanted == Quantity::Delay {
                acknowledge(&mut directions, &only, &seen);
            }
            return Ok(());
        }
        let origin = *first.get_or_insert(seen.at);
        let key = only.key(&seen);
        if directions.len() >= DIRECTIONS && !directions.contains_key(&key) {
            return Ok(());
        }
        let direction = directions.entry(key).or_insert_with(|| Direction::new(file, reading));
        direction.bytes += seen.bytes;
        direction.packets += 1;
        if wanted == Quantity::Rate {
            direction.bins.add(seen.at - origin, seen.bytes as f64 * 8.0)?;
        } else {
            direction.send(&seen);
            acknowledge(&mut directions, &only, &seen);
        }
        Ok(())
    })?;
    let others = directions.len().saturating_sub(1);
    let Some((key, direction)) =
        directions.into_iter().max_by_key(|(key, direction)| (direction.bytes, *key))
    else {
        return Err(LogError::file(file, "is a capture without a packet of IP that counts"));
    };
    let (from, to) = key;
    let whose = match only {
        Only::All => "all packets".to_owned(),
        Only::Busiest if others > 0 => format!(
            "{from} > {to}, the busiest of {} directions (`only` chooses another, or `all`)",
            others + 1
        ),
        Only::Busiest => format!("{from} > {to}"),
        Only::Between(_) => reading.only.clone().unwrap_or_default(),
    };
    let cut = if is_cut { ", the last packet is cut" } else { "" };
    let packets = crate::quality::count(direction.packets as usize, "packet");
    let taken = format!("{packets} of {whose}, IP packets with their headers{cut}");
    if wanted == Quantity::Rate {
        let caveat = Some("what passed is a lower bound of the capacity".to_owned());
        let form = Form { name: "capture".into(), taken, caveat, row: "step" };
        return direction.bins.series(wanted, reading, form, first.unwrap_or_default());
    }
    let caveat = Some("half of TCP's round trips, queues included".to_owned());
    let form = Form { name: "capture".into(), taken, caveat, row: "round trip" };
    let mut rows = Rows::new(file, wanted, reading);
    for (at, round_trip) in direction.round_trips {
        rows.push(0, at, Some(round_trip as f64 / 2e9), "")?;
    }
    rows.finish(form, false, None)
}

impl<'a> Direction<'a> {
    fn new(file: &'a str, reading: &Reading) -> Direction<'a> {
        let bins = Bins { file, step: 0, bits: Vec::new() };
        let bins = Bins::new(file, reading).unwrap_or(bins);
        Direction { bins, bytes: 0, packets: 0, round_trips: Vec::new(), connections: HashMap::new() }
    }

    /// Remembers a segment; one that is sent again ends no round trip.  Source: RFC 6298 §3 (Karn's algorithm)
    fn send(&mut self, seen: &Seen) {
        let Some(tcp) = seen.tcp.as_ref().filter(|tcp| tcp.length > 0) else { return };
        if self.connections.len() >= DIRECTIONS && !self.connections.contains_key(&(seen.from.1, seen.to.1)) {
            return;
        }
        let flight = self.connections.entry((seen.from.1, seen.to.1)).or_default();
        let end = tcp.sequence.wrapping_add(tcp.length);
        let is_new = flight.highest.is_none_or(|highest| (end.wrapping_sub(highest) as i32) > 0);
        let is_whole = flight.highest.is_none_or(|highest| (tcp.sequence.wrapping_sub(highest) as i32) >= 0);
        if !is_whole {
            flight.sent.clear();
        }
        if is_new {
            flight.highest = Some(end);
        }
        if is_new && is_whole && flight.sent.len() < IN_FLIGHT {
            flight.sent.push_back((end, seen.at));
        }
    }
}

/// Ends the round trips of what a packet acknowledges.
fn acknowledge(directions: &mut HashMap<(IpAddr, IpAddr), Direction<'_>>, only: &Only, seen: &Seen) {
    let Some(acknowledged) = seen.tcp.as_ref().and_then(|tcp| tcp.acknowledgement) else { return };
    let key = match only {
        Only::Busiest => (seen.to.0, seen.from.0),
        _ => match directions.keys().next() {
            Some(key) => *key,
            None => return,
        },
    };
    let Some(direction) = directions.get_mut(&key) else { return };
    let Some(flight) = direction.connections.get_mut(&(seen.to.1, seen.from.1)) else { return };
    let mut sent = None;
    while let Some((end, at)) = flight.sent.front().copied() {
        if (acknowledged.wrapping_sub(end) as i32) < 0 {
            break;
        }
        sent = Some(at);
        flight.sent.pop_front();
    }
    if let Some(sent) = sent.filter(|_| direction.round_trips.len() < MOST_ROWS / 2) {
        direction.round_trips.push((seen.at, (seen.at - sent).max(0)));
    }
}

impl Only {
    fn parse(file: &str, text: Option<&str>) -> Result<Only, LogError> {
        let Some(text) = text.map(str::trim) else { return Ok(Only::Busiest) };
        if text == "all" {
            return Ok(Only::All);
        }
        let wrong = || {
            let reason =
                format!("`only` is `{text}`, expected `all` or addresses such as `10.0.0.1 > 10.0.0.2:443`");
            LogError::file(file, reason)
        };
        let (from, to) = text.split_once('>').ok_or_else(wrong)?;
        let end = |text: &str| -> Option<Option<(Option<IpAddr>, Option<u16>)>> {
            let text = text.trim();
            if text == "*" {
                return Some(None);
            }
            if let Ok(address) = text.parse::<IpAddr>() {
                return Some(Some((Some(address), None)));
            }
            let (address, port) = text.rsplit_once(':')?;
            let port = port.parse().ok()?;
            let address = address.trim_matches(['[', ']']);
            if address == "*" || address.is_empty() {
                return Some(Some((None, Some(port))));
            }
            Some(Some((Some(address.parse().ok()?), Some(port))))
        };
        Ok(Only::Between([end(from).ok_or_else(wrong)?, end(to).ok_or_else(wrong)?]))
    }

    fn takes(&self, seen: &Seen) -> bool {
        let Only::Between(ends) = self else { return true };
        [seen.from, seen.to].iter().zip(ends).all(|((address, port), end)| {
            end.as_ref().is_none_or(|(a, p)| a.is_none_or(|a| a == *address) && p.is_none_or(|p| p == *port))
        })
    }

    /// The direction under which a packet is counted.
    fn key(&self, seen: &Seen) -> (IpAddr, IpAddr) {
        match self {
            Only::Busiest => (seen.from.0, seen.to.0),
            _ => (IpAddr::from([0, 0, 0, 0]), IpAddr::from([0, 0, 0, 0])),
        }
    }
}

/// Hands over the packets of a capture; whether the last one is cut.
fn packets(
    file: &str,
    opened: Opened<'_>,
    mut take: impl FnMut(Seen) -> Result<(), LogError>,
) -> Result<bool, LogError> {
    let is_next_generation = opened.look_bytes().starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    let failed =
        |error: PcapError| LogError::file(file, format!("is a capture that cannot be read: {error}"));
    let bytes = opened.into_bytes();
    if is_next_generation {
        return next_generation(file, bytes, take);
    }
    let mut reader = pcap_file::pcap::PcapReader::new(bytes).map_err(failed)?;
    let link = reader.header().datalink;
    require(file, link)?;
    let mut any = false;
    loop {
        match reader.next_packet() {
            None => return Ok(false),
            Some(Ok(packet)) => {
                any = true;
                if let Some(seen) = seen(link, packet.timestamp, packet.orig_len, &packet.data) {
                    take(seen)?;
                }
            }
            Some(Err(_)) if any => return Ok(true),
            Some(Err(error)) => return Err(failed(error)),
        }
    }
}

fn next_generation(
    file: &str,
    bytes: Bytes<'_>,
    mut take: impl FnMut(Seen) -> Result<(), LogError>,
) -> Result<bool, LogError> {
    let failed =
        |error: PcapError| LogError::file(file, format!("is a capture that cannot be read: {error}"));
    let mut reader = pcap_file::pcapng::PcapNgReader::new(bytes).map_err(failed)?;
    // The link and the nanoseconds of a unit of time, of each interface.
    let mut interfaces: Vec<(DataLink, f64)> = Vec::new();
    let mut any = false;
    loop {
        let block = match reader.next_block() {
            None => return Ok(false),
            Some(Ok(block)) => block,
            Some(Err(_)) if any => return Ok(true),
            Some(Err(error)) => return Err(failed(error)),
        };
        match block {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(interface) => {
                let resolution = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
                    _ => None,
                });
                interfaces.push((interface.linktype, nanos(resolution)));
            }
            Block::EnhancedPacket(packet) => {
                any = true;
                let Some((link, unit)) = interfaces.get(packet.interface_id as usize).copied() else {
                    continue;
                };
                require(file, link)?;
                let at = Duration::from_nanos((packet.timestamp.as_nanos() as f64 * unit).round() as u64);
                let at = if unit == 1.0 { packet.timestamp } else { at };
                if let Some(seen) = seen(link, at, packet.original_len, &packet.data) {
                    take(seen)?;
                }
            }
            _ => {}
        }
    }
}

/// Nanoseconds in the unit that `if_tsresol` says: a power of ten, or of two; microseconds without it.
fn nanos(resolution: Option<u8>) -> f64 {
    match resolution {
        None => 1e3,
        Some(power) if power & 0x80 != 0 => 1e9 / 2f64.powi(i32::from(power & 0x7f)),
        Some(9) => 1.0,
        Some(power) => 10f64.powi(9 - i32::from(power)),
    }
}

fn require(file: &str, link: DataLink) -> Result<(), LogError> {
    if link_header(link, &[0; 64]).is_some() {
        return Ok(());
    }
    Err(LogError::file(
        file,
        format!("is a capture of links of the kind {link:?}, expected Ethernet, Linux cooked or raw IP"),
    ))
}

/// How long the header of a link is, and what follows it; nothing for a link that is not known.
fn link_header(link: DataLink, data: &[u8]) -> Option<(usize, Option<EtherType>)> {
    let ether_type =
        |at: usize| data.get(at..at + 2).map(|two| EtherType(u16::from_be_bytes([two[0], two[1]])));
    match link {
        DataLink::ETHERNET => Some((14, ether_type(12))),
        DataLink::LINUX_SLL => Some((16, ether_type(14))),
        DataLink::LINUX_SLL2 => Some((20, ether_type(0))),
        DataLink::NULL | DataLink::LOOP => Some((4, None)),
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => Some((0, None)),
        DataLink::Unknown(12 | 14) => Some((0, None)),
        _ => None,
    }
}

/// The fields of an IP packet that matter; nothing for other packets.
fn seen(link: DataLink, at: Duration, length: u32, data: &[u8]) -> Option<Seen> {
    let (header, ether_type) = link_header(link, data)?;
    let rest = data.get(header..)?;
    let packet = match ether_type {
        Some(ether_type) => LaxSlicedPacket::from_ether_type(ether_type, rest),
        None => LaxSlicedPacket::from_ip(rest).ok()?,
    };
    let on_wire = u64::from(length).saturating_sub(header as u64);
    let (from, to, bytes) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let total = u64::from(header.total_len());
            (IpAddr::from(header.source()), IpAddr::from(header.destination()), total)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let total = u64::from(header.payload_length());
            (
                IpAddr::from(header.source()),
                IpAddr::from(header.destination()),
                if total == 0 { 0 } else { total + 40 },
            )
        }
        LaxNetSlice::Arp(_) => return None,
    };
    // Offloaded segments have no length in their header.
    let bytes = if bytes == 0 { on_wire } else { bytes };
    let (ports, tcp) = match packet.transport.as_ref() {
        Some(TransportSlice::Tcp(tcp)) => {
            let headers = (tcp.slice().as_ptr() as usize).saturating_sub(rest.as_ptr() as usize) as u64;
            let data = bytes.saturating_sub(headers + u64::from(tcp.data_offset()) * 4) as u32;
            let flags = u32::from(tcp.syn()) + u32::from(tcp.fin());
            let acknowledgement = tcp.ack().then(|| tcp.acknowledgment_number());
            let tcp_seen = Tcp { sequence: tcp.sequence_number(), length: data + flags, acknowledgement };
            ([tcp.source_port(), tcp.destination_port()], Some(tcp_seen))
        }
        Some(TransportSlice::Udp(udp)) => ([udp.source_port(), udp.destination_port()], None),
        _ => ([0, 0], None),
    };
    let at = i64::try_from(at.as_nanos()).ok()?;
    Some(Seen { at, bytes, from: (from, ports[0]), to: (to, ports[1]), tcp })
}
