//! Turns a resolved network into a world.

use std::collections::VecDeque;
use std::sync::Arc;

use varicap_engine::workload::{Arrivals, DatagramSource, OnOffFeed, ReservedRates};
use varicap_engine::{Feedback, Hop, NodeId, Pools, meters_of, routes};
use varicap_experiment::scenario::App;
use varicap_experiment::{FlowSpec, Network, ReservationSpec, Transport};
use varicap_net::LoadReactiveControl;
use varicap_tcp::congestion::{CongestionControl, Controller};
use varicap_tcp::{Congestion, Receiver, Reservation, Sender, TcpConfig};
use varicap_units::{Bytes, Span, Streams, Time, stream_name};

use crate::connection::{Connection, Feed, Jitter};
use crate::net::Net;
use crate::observe::{Observer, Traffic};
use crate::packet::Packet;
use crate::run::Options;
use crate::scheduler::Scheduler;
use crate::world::{Opening, Source, World};

/// Makes a congestion control for a connection that says `congestion = { custom = "name" }`.
pub type ControlFactory = dyn Fn(&str, &TcpConfig) -> Option<Box<dyn CongestionControl>> + Send + Sync;

/// Makes the controller of a load-reactive link that says `control = { custom = "name" }`, from that name and the link's.
pub type PolicyFactory = dyn Fn(&str, &str) -> Option<Box<dyn LoadReactiveControl>> + Send + Sync;

/// Opens the connections of every flow group.
pub struct Openers {
    flows: Arc<[FlowSpec]>,
    /// Meter of each group's first member.
    meters: Box<[u32]>,
    /// Which group relays what each one delivers.
    relays: Box<[Option<u16>]>,
    pub(crate) streams: Streams,
    controls: Option<Arc<ControlFactory>>,
}

impl Openers {
    /// Connection number `member` of a group, opened at `now`.
    pub fn open_member(&self, now: Time, group: u16, member: u32) -> Connection {
        let flow = &self.flows[group as usize];
        let mut connection = self.connection(now, group, self.meters[group as usize] + member);
        connection.stop = flow.stop;
        if flow.jitter > Span::ZERO {
            connection.delay_answers(Jitter::new(
                flow.jitter,
                self.streams.stream(&stream_name::jitter(&flow.name, member)),
            ));
        }
        match self.app(group) {
            App::Greedy => connection.sender.write(Bytes::MAX),
            App::Transfer(transfer) => Openers::offer(&mut connection, transfer.size),
            App::OnOff(on_off) => {
                let chunk = self.mss(group);
                let stream = self.streams.stream(&stream_name::app(&flow.name, member));
                let feed = OnOffFeed::new(*on_off, chunk, now, stream);
                connection.feed_with(Feed::OnOff(Box::new(feed)));
            }
            // Each arrival opens a connection of its own; a relay is fed by another flow.
            App::Arrivals(_) | App::Relay(_) => {}
        }
        connection
    }

    /// The connection that relays what `source` delivers, opened at `now`.
    pub fn open_relay(&self, now: Time, source: &Connection) -> Option<Connection> {
        let group = self.relays[usize::from(source.group)]?;
        let mut connection = if self.flows[usize::from(group)].carries_arrivals() {
            let mut connection = self.connection(now, group, self.meters[usize::from(group)]);
            connection.is_single = false;
            connection
        } else {
            self.open_member(now, group, source.meter - self.meters[usize::from(source.group)])
        };
        connection.size = source.size;
        connection.opened = source.opened;
        Some(connection)
    }

    /// The meter of the first member of a group.
    pub fn first_meter(&self, group: u16) -> u32 {
        self.meters[usize::from(group)]
    }

    /// What the random streams of a connection are named after.
    pub fn name(&self, connection: &Connection) -> String {
        let group = usize::from(connection.group);
        let flow = &self.flows[group];
        let member = (!flow.carries_arrivals()).then(|| connection.meter - self.meters[group]);
        stream_name::connection(&flow.name, member)
    }

    /// A connection of a group that carries one transfer of `size`, opened at `now`.
    pub fn open_transfer(&self, now: Time, group: u16, size: Bytes) -> Connection {
        let mut connection = self.connection(now, group, self.meters[group as usize]);
        connection.is_single = false;
        Openers::offer(&mut connection, size);
        connection
    }

    fn offer(connection: &mut Connection, size: Bytes) {
        connection.size = Some(size);
        connection.sender.write(size);
        connection.sender.close();
    }

    fn connection(&self, now: Time, group: u16, meter: u32) -> Connection {
        let Transport::Tcp { tcp, .. } = &self.flows[group as usize].transport else {
            unreachable!("a datagram flow opens no connection")
        };
        let custom = match (&tcp.congestion, &self.controls) {
            (Congestion::Custom(name), Some(factory)) => factory(name, tcp),
            _ => None,
        };
        let sender = match custom {
            Some(control) => Sender::with_control(tcp, now, Controller::Boxed(control)),
            None => Sender::new(tcp, now),
        };
        let mut connection = Connection::new(sender, Receiver::new(tcp, now), group, meter, now);
        if let Some(reservation) = &self.flows[usize::from(group)].reservation {
            self.reserve(now, group, &mut connection, reservation);
        }
        connection.is_relayed = self.relays[usize::from(group)].is_some();
        if let Some(abr) = &self.flows[usize::from(group)].abr {
            let member = meter - self.meters[usize::from(group)];
            connection.buffer = Some(abr.link(member) as NodeId);
        }
        connection
    }

    /// A sender that begins at `now` keeps its reservation as it is then.
    fn reserve(&self, now: Time, group: u16, connection: &mut Connection, reservation: &ReservationSpec) {
        let rate = reservation.rate_at(now);
        if reservation.marked_at.is_some() {
            return connection.sender.set_reserved_rate(now, rate);
        }
        let flow = &self.flows[usize::from(group)];
        let member = connection.meter - self.meters[usize::from(group)];
        let stream = self.streams.stream(&stream_name::delay(&flow.name, member));
        let terms = Reservation { rate, ..reservation.terms.clone() };
        connection.sender.reserve(now, &terms, stream);
    }

    fn app(&self, group: u16) -> &App {
        match &self.flows[group as usize].transport {
            Transport::Tcp { app, .. } => app,
            Transport::Datagrams(_) => unreachable!("a datagram flow has no application"),
        }
    }

    fn mss(&self, group: u16) -> Bytes {
        match &self.flows[group as usize].transport {
            Transport::Tcp { tcp, .. } => tcp.mss,
            Transport::Datagrams(datagrams) => datagrams.size,
        }
    }
}

impl World {
    /// The world of replication `replication` of `network` under `seed`.
    pub fn new(network: &Network, streams: Streams, observer: Observer, options: &Options) -> World {
        let mut hops: Vec<Hop<Packet>> = network.links.iter().map(|spec| Hop::new(spec, &streams)).collect();
        for (spec, hop) in network.links.iter().zip(&mut hops) {
            if let (Some(name), Some(policies)) = (spec.parts.policy(), &options.policies)
                && let Some(policy) = policies(name, &spec.name)
            {
                hop.link.set_control(policy);
            }
        }
        let flows: Arc<[FlowSpec]> = network.flows.clone().into();
        let (wires, routes) = routes(&flows, hops.len());
        let mut meters = Vec::with_capacity(flows.len());
        let mut sources = Vec::new();
        let mut openings = Vec::new();
        let mut meter = 0;
        for (group, flow) in flows.iter().enumerate() {
            meters.push(meter);
            meter += meters_of(flow);
            add_sources(group as u16, flow, meters[group], &streams, &mut sources, &mut openings);
            if let Some(changes) = flow.reservation.as_ref().and_then(ReservedRates::new) {
                sources.push(Source::Reservation { group: group as u16, changes });
            }
        }
        openings.sort();
        sources.push(Source::Openings(VecDeque::from(openings)));
        if let Some(pools) = Pools::new(network) {
            sources.push(Source::Pools(pools));
        }
        let feedback = Feedback::new(network);
        if feedback.is_some() {
            // After the openings: what is told at time zero knows of them.
            sources.push(Source::Feedback);
        }
        let mut relays = vec![None; flows.len()];
        for (group, flow) in flows.iter().enumerate() {
            if let Some(relay) = flow.relay {
                relays[relay.of] = Some(group as u16);
            }
        }
        let first_source = hops.len() + wires.len();
        let first_connection = first_source + sources.len();
        let scheduler = Scheduler::new(first_connection);
        let mut world = World {
            net: Net { hops, wires, routes, traffic: Traffic::new(), scheduler, observer },
            sources,
            connections: Vec::new(),
            free: Vec::new(),
            openers: Openers {
                flows,
                meters: meters.into(),
                relays: relays.into(),
                streams,
                controls: options.controls.clone(),
            },
            feedback,
            heard: Vec::new(),
            first_source,
            first_connection,
            events: 0,
        };
        for (index, source) in world.sources.iter().enumerate() {
            world.net.scheduler.wake((first_source + index) as NodeId, source.poll_at());
        }
        world
    }
}

fn add_sources(
    group: u16,
    flow: &FlowSpec,
    meter: u32,
    streams: &Streams,
    sources: &mut Vec<Source>,
    openings: &mut Vec<Opening>,
) {
    let start_of = |member: u32| {
        let mut stream = streams.stream(&stream_name::start(&flow.name, member));
        stream.start_within(flow.start, flow.start_spread)
    };
    match &flow.transport {
        Transport::Tcp { app: App::Arrivals(app), .. } => {
            let arrivals = Arrivals::new(app, &flow.name, flow.start, flow.stop, streams);
            sources.push(Source::Transfers { group, arrivals: Box::new(arrivals) });
        }
        Transport::Tcp { app: App::Relay(_), .. } => {}
        Transport::Tcp { .. } => {
            openings.extend((0..flow.count).map(|member| Opening { at: start_of(member), group, member }));
        }
        Transport::Datagrams(config) => sources.extend((0..flow.count).map(|member| {
            let stream = streams.stream(&stream_name::gaps(&flow.name, member));
            let marking = flow.reservation.as_ref().filter(|reservation| reservation.marked_at.is_none());
            let mut source = DatagramSource::new(config, start_of(member), flow.stop, stream);
            source.bucket = marking.map(|reservation| Box::new(reservation.bucket(config.size)));
            Source::Datagrams { group, meter: meter + member, source: Box::new(source) }
        })),
    }
}
