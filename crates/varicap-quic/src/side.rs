//! One side of a QUIC connection as an endpoint: the client sends what its application offers, on one stream; the server
//! reads it.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionEvent, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint as Quinn, EndpointConfig, Event,
    IdleTimeout, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt, WriteError,
};
use ring::{hkdf, hmac};
use varicap_engine::{Datagram, Endpoint, Offer, Report, Stage};
use varicap_experiment::scenario::QuicConfig;
use varicap_experiment::series::SenderState;
use varicap_net::Codepoint;
use varicap_units::{Bytes, Stream, Time};

use crate::control::{Factory, Shared};
use crate::tls::Tls;
use crate::{clock, random};

const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 49_152);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 443);
/// Bytes of connection identifiers, as quinn's own [B].
const CONNECTION_ID: usize = 8;
/// What is written ahead of what has left [B]: little, so that little is left when the application stops.
const AHEAD: u64 = 64 << 10;
/// The least overhead of a packet with data: flags, identifier, number, type and number of the stream, tag [B].
const LEAST_OVERHEAD: u64 = 28;
/// The same at the most.
const MOST_OVERHEAD: u64 = 48;

/// The two sides of a connection that opens at `now`: the client, which sends, and the server. All that they draw comes from
/// `seed`; `control` drives the client where `config` asks for one of ours.
pub fn pair(
    config: &QuicConfig,
    control: Option<varicap_tcp::congestion::Controller>,
    now: Time,
    seed: [u8; 32],
) -> Result<[Box<dyn Endpoint>; 2], String> {
    let tls = Tls::new(&mut random::stream(&seed, "certificate"))?;
    let shared = Shared::default();
    let factory = Factory::new(config, control, random::stream(&seed, "bbr"), shared.clone())?;
    let mut transport = transport_of(config)?;
    transport.congestion_controller_factory(Arc::new(factory));
    let mut client = Side::new(config, random::stream(&seed, "client"), None, shared);
    client.connect(now, &tls, transport)?;
    let mut stream = random::stream(&seed, "token");
    let token = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&random::bytes::<32>(&mut stream));
    let mut server = ServerConfig::new(tls.server, Arc::new(token));
    server.transport_config(Arc::new(transport_of(config)?));
    let server = Side::new(config, random::stream(&seed, "server"), Some(server), Shared::default());
    Ok([Box::new(client), Box::new(server)])
}

/// The settings of one side.
fn transport_of(config: &QuicConfig) -> Result<TransportConfig, String> {
    let number = |bytes: Bytes| VarInt::from_u64(bytes.as_u64()).map_err(|error| error.to_string());
    let mut transport = TransportConfig::default();
    transport.enable_segmentation_offload(false);
    transport.mtu_discovery_config(None);
    transport.initial_mtu(payload(config));
    transport.initial_rtt(clock::duration(config.initial_rtt));
    transport.packet_threshold(config.packet_threshold);
    if let Some(window) = config.stream_receive_window {
        transport.stream_receive_window(number(window)?);
    }
    if let Some(window) = config.receive_window {
        transport.receive_window(number(window)?);
    }
    if let Some(window) = config.send_window {
        transport.send_window(window.as_u64());
    }
    let idle = clock::duration(config.idle_timeout);
    let idle = (idle > Duration::ZERO).then(|| IdleTimeout::try_from(idle));
    transport.max_idle_timeout(idle.transpose().map_err(|error| error.to_string())?);
    if let Some(asked) = config.ack_frequency {
        let mut frequency = AckFrequencyConfig::default();
        frequency.ack_eliciting_threshold(
            VarInt::from_u64(asked.ack_eliciting_threshold).map_err(|e| e.to_string())?,
        );
        frequency.max_ack_delay(asked.max_ack_delay.map(clock::duration));
        transport.ack_frequency_config(Some(frequency));
    }
    Ok(transport)
}

/// Largest payload of a datagram.
fn payload(config: &QuicConfig) -> u16 {
    // The check of a scenario keeps it within 16 bits.
    (config.mtu.as_u64() - varicap_engine::IP_AND_UDP.as_u64()) as u16
}

/// Identifiers of connections from the seed.
struct Identifiers(Stream);

impl ConnectionIdGenerator for Identifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&random::bytes::<CONNECTION_ID>(&mut self.0))
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// One side of a connection.
struct Side {
    quinn: Quinn,
    connection: Option<(ConnectionHandle, Connection)>,
    random: Option<Stream>,
    mtu: u16,
    ecn: bool,
    /// Datagrams that belong to no connection.
    outbox: VecDeque<Datagram>,
    due: Time,
    shared: Shared,
    stream: Option<StreamId>,
    /// Data that the application has offered, and that is not written yet [B]; without end for a greedy one.
    unwritten: u64,
    written: u64,
    /// Estimate from below of the data that has left [B].
    left: u64,
    ends: bool,
    is_finished: bool,
    is_connected: bool,
    stage: Stage,
    delivered: u64,
    fault: Option<String>,
}

impl Side {
    fn new(config: &QuicConfig, mut random: Stream, server: Option<ServerConfig>, shared: Shared) -> Side {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &random::bytes::<32>(&mut random));
        let mut endpoint = EndpointConfig::new(Arc::new(key));
        endpoint.rng_seed(Some(random::bytes(&mut random)));
        let identifiers = random::bytes::<32>(&mut random);
        endpoint.cid_generator(move || Box::new(Identifiers(random::stream(&identifiers, "identifiers"))));
        // At the most what UDP holds, which is more than any packet here has.
        let largest = payload(config).min(65_527);
        let _ = endpoint.max_udp_payload_size(largest);
        Side {
            quinn: Quinn::new(Arc::new(endpoint), server.map(Arc::new), false, None),
            connection: None,
            random: Some(random),
            mtu: largest,
            ecn: config.ecn,
            outbox: VecDeque::new(),
            due: Time::NEVER,
            shared,
            stream: None,
            unwritten: 0,
            written: 0,
            left: 0,
            ends: false,
            is_finished: false,
            is_connected: false,
            stage: Stage::Running,
            delivered: 0,
            fault: None,
        }
    }

    fn connect(&mut self, now: Time, tls: &Tls, transport: TransportConfig) -> Result<(), String> {
        let mut config = ClientConfig::new(tls.client.clone());
        config.transport_config(Arc::new(transport));
        let first = random::bytes::<CONNECTION_ID>(self.random.as_mut().ok_or("no random numbers")?);
        config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first)));
        let (quinn, random) = (&mut self.quinn, &mut self.random);
        let begin = || quinn.connect(clock::instant(now), config, SERVER, "varicap");
        let connection = random::drawing_from(random, begin).map_err(|error| error.to_string())?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Does `work`, in which whatever asks for random bytes is given this side's.
    fn drawing<T>(&mut self, work: impl FnOnce(&mut Side) -> T) -> T {
        let mut random = self.random.take();
        let done = random::drawing_from(&mut random, || work(self));
        self.random = random;
        done
    }

    fn take_in(&mut self, now: Time, datagram: &Datagram) {
        let (remote, mut buffer) = (if self.is_server() { CLIENT } else { SERVER }, Vec::new());
        let ecn = EcnCodepoint::from_bits(datagram.ecn as u8);
        let bytes = datagram.bytes[..].into();
        let now = clock::instant(now);
        match self.quinn.handle(now, remote, None, ecn, bytes, &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => self.hear(handle, event),
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.quinn.accept(incoming, now, &mut buffer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => self.fault = Some(error.cause.to_string()),
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                buffer.truncate(transmit.size);
                self.outbox.push_back(Datagram { bytes: buffer.into(), ecn: Codepoint::NotEct });
            }
            None => {}
        }
    }

    fn is_server(&self) -> bool {
        self.connection.as_ref().is_none_or(|(_, connection)| connection.side().is_server())
    }

    fn hear(&mut self, handle: ConnectionHandle, event: ConnectionEvent) {
        if let Some((own, connection)) = &mut self.connection
            && *own == handle
        {
            connection.handle_event(event);
        }
    }

    /// Lets timers that are due run out, and hears what happened.
    fn go_on(&mut self, now: Time) {
        let Some((handle, connection)) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|due| clock::time(due) <= now) {
            connection.handle_timeout(clock::instant(now));
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.quinn.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::ConnectionLost { .. } => self.stage = Stage::GaveUp,
                Event::Stream(StreamEvent::Finished { .. }) => self.stage = Stage::Over,
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.stream = connection.streams().accept(Dir::Uni);
                }
                _ => {}
            }
        }
        if self.is_server() {
            self.read();
        }
    }

    /// Reads all that has come in order.
    fn read(&mut self) {
        let (Some((_, connection)), Some(id)) = (&mut self.connection, self.stream) else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.delivered += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }

    /// Writes as much as may leave soon.
    fn write(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        if self.is_finished || !self.is_connected || (self.unwritten == 0 && !self.ends) {
            return;
        }
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(id) = self.stream else { return };
        let stats = connection.stats().path;
        let again = stats.lost_bytes.saturating_sub(MOST_OVERHEAD * stats.lost_packets);
        let target = self.left.saturating_sub(again) + AHEAD;
        while self.unwritten > 0 && self.written < target {
            let size = self.unwritten.min(AHEAD) as usize;
            match connection.send_stream(id).write_chunks(&mut [ZEROS.slice(..size)]) {
                Ok(written) => {
                    self.written += written.bytes as u64;
                    if self.unwritten != u64::MAX {
                        self.unwritten -= written.bytes as u64;
                    }
                    if written.bytes == 0 {
                        break;
                    }
                }
                Err(WriteError::Blocked) => break,
                Err(error) => {
                    self.fault = Some(error.to_string());
                    return;
                }
            }
        }
        if self.unwritten == 0 && self.ends {
            self.is_finished = connection.send_stream(id).finish().is_ok();
        }
    }

    fn transmit(&mut self, now: Time) -> Option<Datagram> {
        let mut buffer = Vec::with_capacity(self.mtu.into());
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(clock::instant(now), 1, &mut buffer)?;
        self.left += (transmit.size as u64).saturating_sub(LEAST_OVERHEAD);
        let ecn = match transmit.ecn {
            Some(EcnCodepoint::Ect0) if self.ecn => Codepoint::Ect0,
            Some(EcnCodepoint::Ect1) if self.ecn => Codepoint::Ect1,
            Some(EcnCodepoint::Ce) if self.ecn => Codepoint::Ce,
            _ => Codepoint::NotEct,
        };
        Some(Datagram { bytes: buffer.into(), ecn })
    }
}

/// The payload: zeros.
static ZEROS: bytes::Bytes = bytes::Bytes::from_static(&[0; AHEAD as usize]);

impl Endpoint for Side {
    fn push(&mut self, now: Time, datagram: &Datagram) {
        self.drawing(|side| side.take_in(now, datagram));
    }

    fn poll(&mut self, now: Time) -> Option<Datagram> {
        self.drawing(|side| {
            side.go_on(now);
            if !side.is_server() {
                side.write();
            }
            let datagram = side.outbox.pop_front().or_else(|| side.transmit(now));
            if datagram.is_none() {
                let due = side.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
                side.due = due.map_or(Time::NEVER, clock::time);
            }
            datagram
        })
    }

    fn poll_at(&self) -> Time {
        self.due
    }

    fn offer(&mut self, _: Time, offer: Offer) {
        match offer {
            Offer::Write(Bytes::MAX) => self.unwritten = u64::MAX,
            Offer::Write(bytes) => self.unwritten = self.unwritten.saturating_add(bytes.as_u64()),
            Offer::Withdraw => self.unwritten = 0,
            Offer::End => self.ends = true,
        }
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn report(&self) -> Report {
        let Some((_, connection)) = &self.connection else { return Report::default() };
        let (stats, seen) = (connection.stats().path, self.shared.seen());
        let state = match (self.is_connected, seen.recovery) {
            (false, _) => varicap_tcp::State::Connecting,
            (true, None) => varicap_tcp::State::Open,
            (true, Some(_)) => varicap_tcp::State::Recovery,
        };
        Report {
            sender: Some(SenderState {
                cwnd: Bytes::new(stats.cwnd),
                ssthresh: seen.ssthresh.filter(|&ssthresh| ssthresh < 1 << 62).map(Bytes::new),
                in_flight: Bytes::new(seen.in_flight),
                srtt: seen.latest_rtt.map(|_| clock::span(stats.rtt)),
                rto: None, // quinn does not tell its PTO
                state,
            }),
            latest_rtt: seen.latest_rtt,
            rtt_samples: seen.rtt_samples,
            lost_packets: stats.lost_packets,
            congestion_events: seen.congestion_events,
            timeouts: seen.persistent_congestions,
            stage: self.stage,
        }
    }

    fn fault(&mut self) -> Option<String> {
        self.fault.take()
    }
}
