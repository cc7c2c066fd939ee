//! Turns a resolved network into a world, and opens its connections.

use std::sync::Arc;

use varicap_engine::workload::{DatagramSource, ReservedRates};
use varicap_engine::{Feedback, Hop, Nodes, Opening, Openings, Pools, start_of};
use varicap_experiment::packets::PacketLog;
use varicap_experiment::{FlowSpec, Network, ReservationSpec, Transport};
use varicap_net::LoadReactiveControl;
use varicap_net::queue::QueuePolicy;
use varicap_tcp::congestion::{CongestionControl, Controller, Decide};
use varicap_tcp::{Congestion, Receiver, Reservation, Sender, TcpConfig};
use varicap_units::{Streams, Time, stream_name};

use crate::budget::Guard;
use crate::connection::{Connection, Jitter};
use crate::net::Net;
use crate::observe::Observer;
use crate::packet::Packet;
use crate::run::Options;
use crate::world::{Decisions, FeedbackNode, Policies, Source, World};

/// Makes a congestion control for a connection that says `congestion = { custom = "name" }`, from that name and the name of
/// the flow.
pub type ControlFactory = dyn Fn(&str, &str, &TcpConfig) -> Option<Box<dyn CongestionControl>> + Send + Sync;

/// Makes who decides for a connection that says `congestion = { policy = … }`, from the file or the name of the policy and
/// the name of the connection.
pub type DeciderFactory = dyn Fn(&str, &str) -> Option<Box<dyn Decide>> + Send + Sync;

/// Makes the controller of a load-reactive link that says `control = { custom = "name" }`, from that name and the
/// link's.
pub type PolicyFactory = dyn Fn(&str, &str) -> Option<Box<dyn LoadReactiveControl>> + Send + Sync;

/// Makes the queue of a link that says `queue = { custom = "name" }`, from that name and the link's.
pub type QueueFactory = dyn Fn(&str, &str) -> Option<Box<dyn QueuePolicy>> + Send + Sync;

/// Makes the connections that are to be opened.
pub struct Openers {
    /// Decides which connections open, and when.
    pub openings: Openings,
    controls: Option<Arc<ControlFactory>>,
    deciders: Option<Arc<DeciderFactory>>,
}

impl Openers {
    /// The connection of `opening`, which opens at `now`.
    pub fn open(&self, now: Time, opening: &Opening) -> Connection {
        let flow = self.openings.flow(opening.group);
        let Transport::Tcp { tcp, .. } = &flow.transport else {
            unreachable!("a datagram flow opens no connection")
        };
        let custom = match (&tcp.congestion, &self.controls) {
            (Congestion::Custom(name), Some(factory)) => {
                // As the rows of results are called.
                let member = opening.member.filter(|_| flow.count > 1);
                factory(name, &stream_name::connection(&flow.name, member), tcp)
            }
            _ => None,
        };
        let mut sender = match custom {
            Some(control) => Sender::with_control(tcp, now, Controller::Boxed(control)),
            None => Sender::new(tcp, now),
        };
        if let Congestion::Policy(policy) = &tcp.congestion
            && let (Some(source), Some(factory)) = (policy.source(), &self.deciders)
            && let Some(decider) = factory(source, &stream_name::connection(&flow.name, opening.member))
        {
            sender.set_decider(decider);
        }
        if sender.control().wants().random {
            let connection = stream_name::connection(&flow.name, opening.member);
            let stream = self.openings.streams().stream(&stream_name::control(&connection));
            sender = sender.drawing_from(stream);
        }
        if flow.feedback.as_ref().is_some_and(|feedback| feedback.cap) {
            sender = sender.capped();
        }
        let member = opening.member.unwrap_or(0);
        if let Some(reservation) = &flow.reservation {
            self.reserve(now, flow, member, &mut sender, reservation);
        }
        let app = self.openings.application(now, opening);
        let meters = self.openings.meters(opening.group, opening.member);
        let mut receiver = Receiver::new(tcp, now);
        if sender.control().wants().each_mark {
            receiver.echo_each_mark();
        }
        let mut connection = Connection::new(sender, receiver, app, opening, meters);
        connection.is_relayed = self.openings.is_relayed(opening.group);
        connection.buffer = flow.abr.as_ref().map(|abr| abr.link(member) as u32);
        if opening.member.is_some() {
            let stream = || self.openings.streams().stream(&stream_name::jitter(&flow.name, member));
            connection.delay_answers(Jitter::new(flow.jitter, stream));
        }
        connection
    }

    /// Gives a sender that begins at `now` its reservation, with the rate that is reserved then.
    fn reserve(
        &self,
        now: Time,
        flow: &FlowSpec,
        member: u32,
        sender: &mut Sender,
        reservation: &ReservationSpec,
    ) {
        let rate = reservation.rate_at(now);
        if reservation.marked_at.is_some() {
            return sender.set_reserved_rate(now, rate);
        }
        let stream = self.openings.streams().stream(&stream_name::delay(&flow.name, member));
        let terms = Reservation { rate, ..reservation.terms.clone() };
        sender.reserve(now, &terms, stream);
    }
}

impl World {
    /// The world of `network` with the random numbers of `streams`; packet events go into `log`, if there is one, and
    /// `guard` watches what it takes.
    pub(crate) fn new(
        network: &Network,
        streams: Streams,
        log: Option<PacketLog>,
        guard: Option<Guard>,
        options: &Options,
    ) -> World {
        World::deciding(network, streams, log, guard, options, None)
    }

    /// The same with an environment that decides.
    pub(crate) fn deciding(
        network: &Network,
        streams: Streams,
        log: Option<PacketLog>,
        guard: Option<Guard>,
        options: &Options,
        decisions: Option<Decisions>,
    ) -> World {
        let flows: Arc<[FlowSpec]> = network.flows.clone().into();
        let openings = Openings::new(flows.clone(), streams);
        let mut sources = Vec::new();
        for (flow, group) in flows.iter().zip(0..) {
            add_sources(group, flow, &openings, &mut sources);
        }
        sources.push(Source::Openings);
        sources.extend(Pools::new(network).map(Source::Pools));
        sources.extend(Policies::new(&flows, decisions).map(Source::Policies));
        let feedback = Feedback::new(network);
        if feedback.is_some() {
            // After the openings: rates advertised at time zero take them into account.
            sources.push(Source::Feedback);
        }
        let nodes = Nodes::new(network, sources.len());
        let feedback = feedback.map(|state| FeedbackNode { state, node: nodes.source(sources.len() - 1) });
        let mut hops = hops(network, &streams, options);
        if log.is_none() {
            // A log would miss the departures that are reported late.
            hops.iter_mut().for_each(|hop| hop.link.hasten());
        }
        let net = Net::new(hops, &flows, nodes, log, guard);
        let (controls, deciders) = (options.controls.clone(), options.deciders.clone());
        let openers = Openers { openings, controls, deciders };
        World::assemble(net, Observer::new(&flows), sources, openers, feedback)
    }
}

/// The idle links of `network`, with their controllers.
fn hops(network: &Network, streams: &Streams, options: &Options) -> Vec<Hop<Packet>> {
    let mut hops: Vec<Hop<Packet>> = network.links.iter().map(|spec| Hop::new(spec, streams)).collect();
    for (spec, hop) in network.links.iter().zip(&mut hops) {
        if let (Some(name), Some(policies)) = (spec.parts.policy(), &options.policies)
            && let Some(policy) = policies(name, &spec.name)
        {
            hop.link.set_control(policy);
        }
        if let Some(queues) = &options.queues {
            hop.link.supply_queue(&mut |name| queues(name, &spec.name));
        }
    }
    hops
}

/// Adds the sources of a flow group: its streams of datagrams, and the changes of its reservation.
fn add_sources(group: u16, flow: &FlowSpec, openings: &Openings, sources: &mut Vec<Source>) {
    let streams = openings.streams();
    if let Transport::Datagrams(config) = &flow.transport {
        sources.extend((0..flow.count).map(|member| {
            let stream = streams.stream(&stream_name::gaps(&flow.name, member));
            let marking = flow.reservation.as_ref().filter(|reservation| reservation.marked_at.is_none());
            let mut source = DatagramSource::new(config, start_of(flow, member, streams), flow.stop, stream);
            source.bucket = marking.map(|reservation| Box::new(reservation.bucket(config.size)));
            Source::Datagrams { group, meter: openings.meter(group, Some(member)), source: Box::new(source) }
        }));
    }
    if let Some(changes) = flow.reservation.as_ref().and_then(ReservedRates::new) {
        sources.push(Source::Reservation { group, changes });
    }
}
