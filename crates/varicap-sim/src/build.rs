//! Turns a resolved network into a world, and opens its connections.

use std::sync::Arc;

use varicap_engine::workload::{DatagramSource, ReservedRates};
use varicap_engine::{Feedback, Hop, Nodes, Openings, Pools, start_of};
use varicap_experiment::packets::PacketLog;
use varicap_experiment::{FlowSpec, Network, Transport};
use varicap_units::{Streams, stream_name};

use crate::budget::Guard;
use crate::net::Net;
use crate::observe::Observer;
use crate::openers::Openers;
use crate::options::Options;
use crate::packet::Packet;
use crate::world::{Decisions, Endpoints, FeedbackNode, Policies, Source, World};

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
        let endpoints = Endpoints::new(&flows, options.endpoints.clone());
        if endpoints.is_some() {
            sources.push(Source::Endpoints);
        }
        let nodes = Nodes::new(network, sources.len());
        let place = sources.iter().position(|source| matches!(source, Source::Feedback));
        let feedback =
            feedback.zip(place).map(|(state, place)| FeedbackNode { state, node: nodes.source(place) });
        let mut hops = hops(network, &streams, options);
        if log.is_none() {
            // A log would miss the departures that are reported late.
            hops.iter_mut().for_each(|hop| hop.link.plan_departures());
        }
        let net = Net::new(hops, &flows, nodes, log, guard);
        let (controls, deciders) = (options.controls.clone(), options.deciders.clone());
        let openers = Openers { openings, controls, deciders };
        World::assemble(net, Observer::new(&flows), sources, openers, feedback, endpoints)
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
