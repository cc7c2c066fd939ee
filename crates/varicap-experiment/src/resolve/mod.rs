//! From a scenario to a network: links and flows as the engines take them, in bytes, with routes.

pub(crate) mod estimate;
pub(crate) mod explain;
pub(crate) mod facts;
pub(crate) mod network;
pub(crate) mod parts;
pub(crate) mod topology;
pub(crate) mod validate;

use std::sync::Arc;

use varicap_net::capacity::{Files, ReadFile};
use varicap_net::{CapacityParts, DelayParts, LinkParts, LossParts, NetError, QueueConfig};
use varicap_tcp::{LARGEST_WINDOW, TcpConfig};
use varicap_units::part::Part;
use varicap_units::{Amount, Bytes, Rate, Span, Time};

use crate::check::At;
use crate::error::ScenarioError;
use crate::resolve::network::{EndpointSpec, FlowSpec, LinkSpec, Network, Transport, round_trip};
use crate::resolve::parts::{abr, arq, feedback, policy, queue, relay, reservation};
use crate::resolve::topology::{Placed, Routes};
use crate::scenario::document::{counted, join_path};
use crate::scenario::{FlowConfig, LinkConfig, Scenario};

pub(crate) use validate::check;

/// A full packet where no flow says what it is: Ethernet's [B].
const PACKET: Bytes = Bytes::new(1500);
/// Longest jitter that is chosen without being asked for.
const LONGEST_JITTER: Span = Span::from_millis(10);

impl Scenario {
    /// The network that this scenario describes; traces that it names are read through `read_file`.
    pub fn resolve(&self, read_file: &mut ReadFile<'_>) -> Result<Network, ScenarioError> {
        self.resolve_from(&mut Files::of(read_file))
    }

    fn resolve_from(&self, files: &mut Files<'_>) -> Result<Network, ScenarioError> {
        self.resolve_all(files).map_err(|error| self.source.locate(error))
    }

    /// One network for each flow group, which has it to itself, if this scenario isolates flows; else the one
    /// network. Links keep their names, so that every flow faces the same channel.
    pub fn networks(&self, read_file: &mut ReadFile<'_>) -> Result<Vec<Network>, ScenarioError> {
        self.networks_from(&mut Files::of(read_file))
    }

    /// As `networks`, of files of which some may have been read already.
    pub fn networks_from(&self, files: &mut Files<'_>) -> Result<Vec<Network>, ScenarioError> {
        if !self.isolate {
            return Ok(vec![self.resolve_from(files)?]);
        }
        let alone = |(name, flow): (&String, &FlowConfig)| {
            let mut scenario = self.clone();
            scenario.flows = [(name.clone(), flow.clone())].into_iter().collect();
            scenario.resolve_from(files)
        };
        self.flows.iter().map(alone).collect()
    }

    fn resolve_all(&self, files: &mut Files<'_>) -> Result<Network, ScenarioError> {
        let layout = self.layout()?;
        let delays = layout.links.iter().map(|link| resolve_delay(link, files));
        let delays = delays.collect::<Result<Vec<DelayParts>, _>>()?;
        let groups: Vec<Group<'_>> = (self.flows.iter())
            .map(|(name, flow)| {
                let path = join_path(&["flows", name]);
                let routes = layout.routes(self, &path, flow)?;
                Ok(Group {
                    name,
                    path,
                    packet: flow.packet(),
                    rtt: base_rtt(&delays, flow, &routes),
                    flow,
                    routes,
                })
            })
            .collect::<Result<_, ScenarioError>>()?;
        let mut links = Vec::with_capacity(layout.links.len());
        for (index, (link, delay)) in layout.links.iter().zip(&delays).enumerate() {
            links.push(resolve_link(index, link, delay, &groups, files)?);
        }
        let flows = groups.iter().map(|group| resolve_flow(self, group, &groups, &links, files));
        let mut flows = flows.collect::<Result<Vec<FlowSpec>, _>>()?;
        for (group, flow) in groups.iter().zip(&mut flows) {
            flow.abr = abr::resolve(&group.path, group.flow, flow, &mut links)?;
        }
        reservation::check_capacities(&flows, &links)?;
        let configs: Vec<&FlowConfig> = groups.iter().map(|group| group.flow).collect();
        reservation::police(&configs, &flows, &mut links);
        Ok(Network { flows, links, duration: self.duration, warmup: self.warmup })
    }
}

/// A flow group on its way to be resolved.
struct Group<'a> {
    name: &'a str,
    path: String,
    flow: &'a FlowConfig,
    routes: Routes,
    packet: Bytes,
    rtt: Span,
}

/// Round trip without queueing and transmission, in the mean.
fn base_rtt(delays: &[DelayParts], flow: &FlowConfig, routes: &Routes) -> Span {
    let links = routes.forward.iter().chain(&routes.reverse);
    round_trip(flow.access_delay, links.map(|link| delays[*link].mean()))
}

/// The delay of a link. A reverse link without one has the `delay` of the forward link, where its mistakes are found first.
fn resolve_delay(link: &Placed<'_>, files: &mut Files<'_>) -> Result<DelayParts, ScenarioError> {
    let delay = DelayParts::read(&link.delay, files);
    let delay = delay.map_err(|error| of_link(link, error.within("delay")))?;
    Ok(match &link.handover {
        Some(handover) => handover.move_delay(delay),
        None => delay,
    })
}

fn resolve_link(
    index: usize,
    link: &Placed<'_>,
    delay: &DelayParts,
    groups: &[Group<'_>],
    files: &mut Files<'_>,
) -> Result<LinkSpec, ScenarioError> {
    let config = &link.config;
    let capacity = CapacityParts::read(&config.capacity, files);
    let capacity = capacity.map_err(|error| of_link(link, error.within("capacity")))?;
    let loss = LossParts::read(&config.loss, files);
    let loss = loss.map_err(|error| of_link(link, error.within("loss")))?;
    let (capacity, loss) = match &link.handover {
        Some(handover) => (handover.interrupt(capacity), handover.burst(loss)),
        None => (capacity, loss),
    };
    let mean_capacity = capacity.mean_rate();
    // Data is what fills a queue: acknowledgements count only where nothing else passes.
    let carries = |route: &[usize]| route.contains(&index);
    let mut passing: Vec<&Group<'_>> = groups.iter().filter(|group| carries(&group.routes.forward)).collect();
    if passing.is_empty() {
        passing = groups.iter().filter(|group| carries(&group.routes.reverse)).collect();
    }
    let packet = passing.iter().map(|group| group.packet).max().unwrap_or(PACKET);
    let rtt = passing.iter().map(|group| group.rtt).max().unwrap_or(delay.mean().saturating_mul(2));
    let bdp = if mean_capacity.is_unlimited() { Bytes::ZERO } else { Amount::bdp(mean_capacity, rtt) };
    let queue = link.queue();
    queue::check_limits(link, &queue, packet, bdp)?;
    let arq = arq::resolve(config, &capacity, &queue, [packet, bdp]);
    let arq = arq.map_err(|error| of_link(link, error))?;
    Ok(LinkSpec {
        draws: draws(link, &queue),
        name: Arc::from(link.name.as_str()),
        parts: LinkParts {
            capacity,
            service: config.service,
            queue,
            loss,
            arq,
            netem: config.netem,
            delay: delay.clone(),
            reorders: config.reorder,
            framing: config.framing,
            packet,
            bdp,
            groups: groups.iter().map(|group| Arc::from(group.name)).collect(),
            policing: Vec::new(), // where flows say so
        },
        mean_capacity,
    })
}

/// Whether a run draws random numbers for a link with this queue.
fn draws(link: &Placed<'_>, queue: &QueueConfig) -> bool {
    let LinkConfig { capacity, loss, netem, .. } = &*link.config;
    let parts: [&dyn Part; 5] = [capacity, loss, netem, &link.delay, queue];
    parts.iter().any(|part| part.draws()) || link.handover.as_ref().is_some_and(Part::draws)
}

/// An error of a link, as a mistake in the scenario.
fn of_link(link: &Placed<'_>, error: NetError) -> ScenarioError {
    of_part(&link.path, error)
}

/// The same of a part that lies at `path`.
pub(crate) fn of_part(path: &str, error: NetError) -> ScenarioError {
    let at = At::new(path);
    match error {
        NetError::Value(fault) => at.fault(fault),
        NetError::Trace { key, file, line, found, expected } => {
            let error = ScenarioError::at(at.key(&key), expected).found(found);
            ScenarioError { file, line: counted(line), ..error }
        }
        NetError::File { key, file, reason } => {
            ScenarioError::at(at.key(&key), "a file that can be read").found(file).hint(reason)
        }
    }
}

fn resolve_flow(
    scenario: &Scenario,
    group: &Group<'_>,
    groups: &[Group<'_>],
    links: &[LinkSpec],
    files: &mut Files<'_>,
) -> Result<FlowSpec, ScenarioError> {
    let flow = group.flow;
    policy::check_file(&group.path, flow, files)?;
    let endpoint = match (&flow.quic, &flow.endpoint) {
        (Some(quic), _) => Some(EndpointSpec::Quic(quic.clone())),
        (None, endpoint) => endpoint.as_ref().map(|endpoint| EndpointSpec::Named(endpoint.name.clone())),
    };
    let transport = match (flow.datagrams, endpoint) {
        (Some(datagrams), _) => Transport::Datagrams(datagrams),
        (None, Some(endpoint)) => {
            Transport::Endpoint { endpoint, tcp: resolve_tcp(group, links)?, app: flow.app.clone() }
        }
        (None, None) => Transport::Tcp { tcp: resolve_tcp(group, links)?, app: flow.app.clone() },
    };
    Ok(FlowSpec {
        name: Arc::from(group.name),
        count: flow.count,
        forward: group.routes.forward.clone(),
        reverse: group.routes.reverse.clone(),
        access_delay: flow.access_delay,
        transport,
        start: Time::ZERO + flow.start,
        start_spread: flow.start_spread,
        stop: flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
        jitter: match flow.jitter {
            Some(jitter) => jitter,
            None if flow.is_tcp() || flow.datagrams.is_some() => jitter(group, groups, links),
            None => Span::ZERO, // what it answers when is its own
        },
        packet: group.packet,
        feedback: feedback::resolve(&group.path, flow, &group.routes, links, scenario.duration)?,
        reservation: reservation::resolve(&group.path, flow, &group.routes, links)?,
        abr: None, // its links come after all others
        relay: relay::resolve(scenario, flow),
    })
}

/// Slowest link of a route by its mean capacity, if any is finite.
fn slowest(route: &[usize], links: &[LinkSpec]) -> Option<Rate> {
    route.iter().map(|link| links[*link].mean_capacity).filter(|rate| !rate.is_unlimited()).min()
}

/// The connection with its windows in bytes.
fn resolve_tcp(group: &Group<'_>, links: &[LinkSpec]) -> Result<TcpConfig, ScenarioError> {
    let mut tcp = group.flow.tcp.clone();
    let bdp = slowest(&group.routes.forward, links).map(|rate| Amount::bdp(rate, group.rtt));
    let windows = [
        ("initial_window", &mut tcp.initial_window),
        ("initial_ssthresh", &mut tcp.initial_ssthresh),
        ("max_window", &mut tcp.max_window),
        ("receive_window", &mut tcp.receive_window),
    ];
    for (key, window) in windows {
        let Amount::Bdp(_) = *window else { continue };
        let Some(bdp) = bdp else {
            let why = "an amount in packets or bytes: at unlimited capacity there is no bdp";
            return Err(ScenarioError::at(format!("{}.tcp.{key}", group.path), why).found(*window));
        };
        let bytes = window.bytes(group.packet, bdp);
        if key == "receive_window" && bytes > LARGEST_WINDOW {
            let path = format!("{}.tcp.{key}", group.path);
            let found = format!("{window} = {} B", bytes.as_u64());
            return Err(ScenarioError::at(path, TcpConfig::largest_window()).found(found));
        }
        *window = Amount::Bytes(bytes);
    }
    Ok(tcp)
}

/// Where flows share a queue that leaves nothing to chance: the time of a packet on the slowest link, so that the order in
/// which packets of several flows arrive is not fixed for good (phase effects).
fn jitter(group: &Group<'_>, groups: &[Group<'_>], links: &[LinkSpec]) -> Span {
    let shared = group.routes.forward.iter().any(|link| {
        let users = groups.iter().filter(|other| other.routes.forward.contains(link));
        let users: u64 = users.map(|other| u64::from(other.flow.count)).sum();
        let spec = &links[*link];
        users > 1 && spec.parts.queue.is_regular() && !spec.mean_capacity.is_unlimited()
    });
    match slowest(&group.routes.forward, links) {
        Some(rate) if shared => rate.transmission_time(group.packet).min(LONGEST_JITTER),
        _ => Span::ZERO,
    }
}
