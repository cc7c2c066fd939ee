//! The cost of a run, before it starts: a rough upper estimate of events, time and memory.
//!
//! Each flow is limited by its window, its application and its losses; each link by its capacity. A link divides what
//! it can carry among what is offered to it, in proportion. Packets times hops are events.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use varicap_net::capacity::{Capacity, CapacityProcess, Timeline};
use varicap_net::delay::Delay;
use varicap_net::{CapacityParts, DelayParts, DelayProcess, LinkParts, LossParts, Traced};
use varicap_tcp::{AckPolicy, TcpConfig};
use varicap_units::{Amount, Bytes, Rate, Span, Streams, Time};

use crate::error::ScenarioError;
use crate::resolve::network::{FlowSpec, LinkSpec, Network, Transport};
use crate::results::packets::PacketLog;
use crate::scenario::{App, Scenario};

/// CPU time of an event [s]: a packet at a link or at an endpoint. The release build took 46 ns on the processor at hand
/// (`varicap run examples/fixed.toml --seeds 1 -j 1 --no-plot --set duration="'20000 s'"`), up to 90 ns while others used
/// its cores as well, and 110 ns with the reservations of reserved.toml.
const SECONDS_PER_EVENT: f64 = 100e-9;
/// CPU time of a packet of QUIC, most of which its cryptography takes [s].
const SECONDS_PER_ENDPOINT_PACKET: f64 = 55e-6;
/// An exponential function takes that part of an event.
const EVENTS_PER_EXPONENTIAL: f64 = 0.3;
/// CPU time of a change of capacity or delay, or of an opportunity [s].
const SECONDS_PER_CHANGE: f64 = 30e-9;
/// Memory of a connection at rest, with its meters [B].
const PER_FLOW: f64 = 8e3;
/// Memory of a link at rest, with its meters [B].
const PER_LINK: f64 = 64e3;
/// Memory of a packet on its way and in the sender's scoreboard [B].
const PER_PACKET: f64 = 200.0;
/// Memory of a sample of all series of a flow or of a link, and of its copy in a table [B].
const PER_SAMPLE: f64 = 200.0;
/// The same of a quantity that a congestion control shows [B].
const PER_SHOWN: f64 = 16.0;
/// How many changes of a capacity are generated to see how often it changes.
const PROBE: u32 = 10_000;
/// The same, where little depends on it.
const SHORT_PROBE: u32 = 1_000;

/// The cost of a run of a scenario, roughly and rather too much.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// Events of one run: packets at links and endpoints, changes of capacity.
    pub events: f64,
    /// CPU time of one run [s].
    pub cpu_s: f64,
    /// Memory of one run [B].
    pub memory_bytes: f64,
    /// Memory of the time series of one run that records them [B].
    pub series_bytes: f64,
    /// Memory of the packet events of one run that records them [B].
    pub packets_bytes: f64,
    /// Memory of the traces, which all runs share [B].
    pub traces_bytes: f64,
    /// Simulated time of one run [s].
    pub simulated_s: f64,
    /// The first flow that nothing limits, neither a link nor its window, its losses or its application.
    #[serde(skip)]
    pub unlimited: Option<Arc<str>>,
}

/// The most that runs may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory; none for any amount.
    pub memory: Option<Bytes>,
    /// Time on the clock; none for any.
    pub time: Option<Span>,
}

/// Runs that are to be carried out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many there are.
    pub runs: u32,
    /// How many go on at a time.
    pub threads: usize,
    /// How many of them record time series.
    pub series: u32,
    /// How many of them record packet events.
    pub packets: u32,
    /// Whether simulated time passes as on the clock.
    pub is_real_time: bool,
}

impl Plan {
    /// `runs` runs that record nothing, `threads` at a time.
    pub fn new(runs: u32, threads: usize) -> Plan {
        Plan { runs, threads, series: 0, packets: 0, is_real_time: false }
    }
}

impl Estimate {
    /// The estimate for one run of `scenario`, which resolved into `networks`.
    pub fn of(scenario: &Scenario, networks: &[Network]) -> Estimate {
        let mut total = Estimate::default();
        for network in networks {
            let one = of_network(scenario, network);
            total.events += one.events;
            total.cpu_s += one.cpu_s;
            total.series_bytes += one.series_bytes;
            total.packets_bytes += one.packets_bytes;
            total.simulated_s += one.simulated_s;
            total.unlimited = total.unlimited.or(one.unlimited);
            // Networks of isolated flows may run one beside another.
            total.memory_bytes += one.memory_bytes;
        }
        total.traces_bytes = traces_bytes(networks);
        total
    }

    /// Refuses runs that would need more memory or time than `limits` allow.
    pub fn check_limits(&self, plan: &Plan, limits: &Limits) -> Result<(), ScenarioError> {
        let runs = f64::from(plan.runs.max(1));
        let at_a_time = runs.min(plan.threads.max(1) as f64);
        let recorded = kept(plan.series, self.series_bytes) + kept(plan.packets, self.packets_bytes);
        let memory = self.traces_bytes + self.memory_bytes * at_a_time + recorded;
        let simulated = self.cpu_s * runs / at_a_time;
        let seconds = if plan.is_real_time { self.simulated_s * runs } else { simulated };
        if let Some(most) = limits.memory
            && memory > most.as_u64() as f64
        {
            let error = ScenarioError::at("", format!("at most {most} (--max-memory)"));
            return Err(error.found(format!("a need for about {} of memory", round_bytes(memory))));
        }
        if let Some(most) = limits.time
            && seconds > most.as_secs_f64()
        {
            let error = ScenarioError::at("", format!("at most {most} (--max-time)"));
            let about = round_seconds(seconds);
            if plan.is_real_time {
                return Err(error.found(format!("{about} in real time")));
            }
            if let Some(flow) = &self.unlimited {
                return Err(error
                    .found(format!("endless work: nothing limits what the flow `{flow}` sends"))
                    .hint("a capacity of a link on its way would, or `tcp.max_window`, or its application"));
            }
            return Err(error.found(format!("about {about} of work ({:.1e} events a run)", self.events)));
        }
        Ok(())
    }
}

/// Memory of what `runs` runs record, of which each takes `bytes`; endless amounts that no run records are nothing.
fn kept(runs: u32, bytes: f64) -> f64 {
    if runs == 0 { 0.0 } else { f64::from(runs) * bytes }
}

/// Memory of the traces and steps of all networks, each counted once however many links share it [B].
fn traces_bytes(networks: &[Network]) -> f64 {
    let links = networks.iter().flat_map(|network| &network.links).map(|link| &link.parts);
    let of_link = |parts: &LinkParts| {
        [
            trace_of(&parts.capacity),
            trains_of(&parts.capacity),
            delays_of(&parts.delay),
            losses_of(&parts.loss),
        ]
    };
    let traces: BTreeMap<usize, f64> = links.flat_map(of_link).flatten().collect();
    traces.values().sum()
}

/// Where the trace or the steps of a capacity lie in memory, and how much they take [B].
fn trace_of(parts: &CapacityParts) -> Option<(usize, f64)> {
    match parts {
        CapacityParts::Opportunities(parts) => {
            let bytes = parts.trace.len() * size_of::<u64>();
            Some((Arc::as_ptr(&parts.trace).addr(), bytes as f64))
        }
        CapacityParts::Trace(Traced { timeline, .. }) | CapacityParts::Steps(timeline) => {
            Some(in_memory(timeline))
        }
        CapacityParts::LoadReactive(reactive) => trace_of(&reactive.residual),
        CapacityParts::Interrupted(parts) => trace_of(&parts.capacity),
        _ => None,
    }
}

/// The same of the trains of light opportunities.
fn trains_of(parts: &CapacityParts) -> Option<(usize, f64)> {
    let CapacityParts::Opportunities(parts) = parts else { return None };
    let light = parts.light.as_ref()?;
    Some((Arc::as_ptr(&light.trains).addr(), (light.trains.len() * size_of::<u64>()) as f64))
}

/// The same of a delay.
fn delays_of(parts: &DelayParts) -> Option<(usize, f64)> {
    match parts {
        DelayParts::Trace(Traced { timeline, .. }) | DelayParts::Steps(timeline) => Some(in_memory(timeline)),
        DelayParts::HandedOver(parts) => delays_of(parts.delay()),
        _ => None,
    }
}

/// The same of a loss.
fn losses_of(parts: &LossParts) -> Option<(usize, f64)> {
    match parts {
        LossParts::Trace(Traced { timeline, .. }) => Some(in_memory(timeline)),
        LossParts::Bursts(bursts) => losses_of(bursts.loss()),
        _ => None,
    }
}

fn in_memory<V: Copy>(timeline: &Arc<Timeline<V>>) -> (usize, f64) {
    let bytes = timeline.pieces().count() * (size_of::<Span>() + size_of::<V>());
    (Arc::as_ptr(timeline).addr(), bytes as f64)
}

/// The number of things that a source begins by itself, whether or not a link has room for them: arrivals, datagrams, periods of activity.
fn starts(flow: &FlowSpec, duration: f64) -> f64 {
    match &flow.transport {
        Transport::Tcp { app, .. } | Transport::Endpoint { app, .. } => match app {
            App::Arrivals(arrivals) => arrivals.rate.as_hz() * duration,
            _ => f64::from(flow.count) * (1.0 + app.actions(flow.payload().as_u64() as f64, duration)),
        },
        Transport::Datagrams(datagrams) => {
            let bits = datagrams.size.as_u64() as f64 * 8.0;
            f64::from(flow.count) * datagrams.rate.fastest().as_bps() as f64 / bits * duration
        }
    }
}

/// Rates that are advertised by an interval, which may be short: one event for each, and one for each connection that
/// hears it.
fn updates(network: &Network, flow: &FlowSpec, duration: f64) -> f64 {
    let Some(estimator) = flow.feedback.as_ref().map(|feedback| &feedback.estimator) else { return 0.0 };
    let Some(interval) = estimator.interval() else { return 0.0 };
    let exponentials = estimator.exponentials(network.base_rtt(flow));
    let each = 1.0 + exponentials * EVENTS_PER_EXPONENTIAL;
    duration / interval.as_secs_f64() * f64::from(flow.count + 1) * each
}

/// Expiries of the timers of a flow's reservation: an event for each.
fn expiries(flow: &FlowSpec, duration: f64) -> f64 {
    let reservation = flow.reservation.as_ref();
    let interval = reservation.and_then(|reservation| reservation.terms.interval(flow.packet));
    interval.map_or(0.0, |interval| duration / interval.as_secs_f64() * f64::from(flow.count))
}

fn round_bytes(bytes: f64) -> String {
    match bytes {
        bytes if !bytes.is_finite() => "endless amounts".to_owned(),
        bytes if bytes < 1e9 => format!("{:.0} MB", bytes / 1e6),
        bytes => format!("{:.1} GB", bytes / 1e9),
    }
}

fn round_seconds(seconds: f64) -> String {
    match seconds {
        seconds if !seconds.is_finite() => "endless hours".to_owned(),
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} h", seconds / 3600.0),
    }
}

fn of_network(scenario: &Scenario, network: &Network) -> Estimate {
    let duration = network.duration.as_secs_f64();
    let links = &network.links;
    let mut packets: Vec<f64> = network.flows.iter().map(|flow| offered(network, flow)).collect();
    share(network, duration, &mut packets);
    let mut estimate = Estimate::default();
    let (mut flows, mut crossings, mut shown) = (0.0, 0.0, 0.0);
    for (flow, &carried) in network.flows.iter().zip(&packets) {
        // Packets that a link has no room for are sent all the same.
        let packets = carried.max(at_once(flow, duration));
        let acks = packets / f64::from(packets_per_ack(flow)).max(1.0);
        let answers = if matches!(flow.transport, Transport::Datagrams(_)) { 0.0 } else { acks };
        estimate.events += packets * (flow.forward.len() + usize::from(flow.abr.is_some()) + 1) as f64
            + answers * (flow.reverse.len() + 1) as f64;
        if packets.is_infinite() {
            estimate.unlimited.get_or_insert_with(|| flow.name.clone());
        }
        crossings += packets * (flow.forward.len() + usize::from(flow.abr.is_some())) as f64
            + answers * flow.reverse.len() as f64;
        estimate.memory_bytes += in_flight(flow, links, carried, duration) * PER_PACKET;
        flows += f64::from(flow.count);
        if let Transport::Tcp { tcp, .. } = &flow.transport {
            shown += f64::from(flow.count) * tcp.congestion.shown() as f64;
        }
        estimate.events +=
            starts(flow, duration) + updates(network, flow, duration) + expiries(flow, duration);
        if let Transport::Endpoint { .. } = flow.transport {
            estimate.cpu_s += packets * SECONDS_PER_ENDPOINT_PACKET;
        }
        if let Some(App::Arrivals(arrivals)) = flow.app() {
            estimate.memory_bytes += f64::from(arrivals.at_most) * PER_FLOW;
        }
    }
    estimate.memory_bytes += flows * PER_FLOW + links.len() as f64 * PER_LINK;
    let moves =
        |link: &LinkSpec| changes_of(link, network.duration, PROBE) + slots_and_fades(link) * duration;
    let changes: f64 = links.iter().map(moves).sum();
    estimate.cpu_s += estimate.events * SECONDS_PER_EVENT + changes * SECONDS_PER_CHANGE;
    estimate.events += changes;
    let record = &scenario.record;
    let samples = duration / record.sample.as_secs_f64();
    estimate.series_bytes = samples * (PER_SAMPLE * (flows + links.len() as f64) + PER_SHOWN * shown);
    // A packet that passes a link gives an arrival, a departure and a delivery.
    let recorded = (crossings * 3.0).min(record.packet_limit as f64);
    estimate.packets_bytes = recorded * PacketLog::BYTES_PER_EVENT as f64;
    estimate.simulated_s = duration;
    estimate
}

/// Packets that the flows of a group would send, each by itself on its route.
fn offered(network: &Network, flow: &FlowSpec) -> f64 {
    let duration = network.duration.as_secs_f64();
    let links = &network.links;
    let packet = flow.packet.as_u64() as f64;
    let count = f64::from(flow.count);
    let slowest = flow.forward.iter().map(|link| rate_of(&links[*link])).fold(f64::INFINITY, f64::min);
    let by_capacity = slowest / 8.0 / packet * duration;
    let by_flow = match &flow.transport {
        Transport::Datagrams(datagrams) => datagrams.rate.fastest().as_bps() as f64 / 8.0 / packet * duration,
        Transport::Tcp { tcp, app } => by_window(network, flow, tcp)
            .min(app.packets(tcp.mss.as_u64() as f64, duration) * RETRANSMISSIONS),
        Transport::Endpoint { app, .. } => {
            app.packets(flow.payload().as_u64() as f64, duration) * RETRANSMISSIONS
        }
    };
    by_capacity.min(by_flow * count)
}

/// How much more than its data a TCP flow may send.
const RETRANSMISSIONS: f64 = 2.0;

/// The rate that window and losses allow one connection.
fn by_window(network: &Network, flow: &FlowSpec, tcp: &TcpConfig) -> f64 {
    let loss: f64 = flow.forward.iter().map(|link| network.links[*link].parts.loss.mean()).sum();
    // Reno keeps sqrt(3/(2p)) packets in flight; CUBIC more, up to several times that.
    let by_loss = if loss > 0.0 { 8.0 / libm::sqrt(loss) } else { f64::INFINITY };
    let window =
        in_packets(tcp.max_window, tcp).min(in_packets(tcp.receive_window, tcp)).min(by_loss).max(1.0);
    window * network.duration.as_secs_f64() / network.base_rtt(flow).as_secs_f64()
}

/// Where more is offered to a link than it can carry, each flow gets its share.
fn share(network: &Network, duration: f64, packets: &mut [f64]) {
    let fraction: Vec<f64> = (network.links.iter().enumerate())
        .map(|(index, link)| {
            let users = network.flows.iter().zip(packets.iter());
            let users = users.filter(|(flow, _)| flow.forward.contains(&index));
            let bits: f64 = users.map(|(flow, packets)| packets * 8.0 * flow.packet.as_u64() as f64).sum();
            if bits > 0.0 { (rate_of(link) * duration / bits).min(1.0) } else { 1.0 }
        })
        .collect();
    for (flow, packets) in network.flows.iter().zip(packets) {
        *packets *= flow.forward.iter().map(|link| fraction[*link]).fold(1.0, f64::min);
    }
}

/// Packets of a group that its senders may send at once, when they begin.
fn at_once(flow: &FlowSpec, duration: f64) -> f64 {
    let Transport::Tcp { tcp, app } = &flow.transport else { return 0.0 };
    let mss = tcp.mss.as_u64() as f64;
    let begun = match app {
        App::Arrivals(arrivals) => f64::from(arrivals.at_most),
        _ => f64::from(flow.count),
    };
    let by_window = in_packets(tcp.initial_window, tcp).min(most_in_flight(tcp)) * begun;
    by_window.min(app.packets(mss, duration) * f64::from(flow.count))
}

/// Packets that the windows of a connection allow to be on their way.
fn most_in_flight(tcp: &TcpConfig) -> f64 {
    let offered = tcp.offered_window().as_u64() as f64 / tcp.mss.as_u64() as f64;
    in_packets(tcp.max_window, tcp).min(offered)
}

/// A window in packets.
fn in_packets(window: Amount, tcp: &TcpConfig) -> f64 {
    match window {
        Amount::Unlimited => f64::INFINITY,
        limit => limit.bytes(tcp.mss, Bytes::ZERO).as_u64() as f64 / tcp.mss.as_u64() as f64,
    }
}

/// Packets of a group that may be on their way at once, of which links carry `packets` in the course of the run.
fn in_flight(flow: &FlowSpec, links: &[LinkSpec], packets: f64, duration: f64) -> f64 {
    let held = |link: &LinkSpec| {
        let room = link.parts.queue.room(link.parts.packet, link.parts.bdp);
        let pipe = rate_of(link) / 8.0 * link.parts.delay.mean().as_secs_f64();
        let queue = if room == Bytes::MAX { f64::INFINITY } else { room.as_u64() as f64 };
        (queue + if pipe.is_nan() { 0.0 } else { pipe }) / flow.packet.as_u64() as f64
    };
    // A window grows with what gets through; an ABR source holds what its rate does not let go.
    let begun = packets + at_once(flow, duration);
    let path: f64 = flow.forward.iter().map(|link| held(&links[*link])).sum();
    let path = if flow.abr.is_some() { f64::INFINITY } else { path };
    let windows = match &flow.transport {
        Transport::Tcp { tcp, .. } => most_in_flight(tcp) * f64::from(flow.count),
        Transport::Datagrams(_) | Transport::Endpoint { .. } => f64::INFINITY,
    };
    begun.min(path).min(windows)
}

fn packets_per_ack(flow: &FlowSpec) -> u32 {
    match &flow.transport {
        Transport::Tcp { tcp, .. } => match tcp.ack {
            AckPolicy::Every => 1,
            AckPolicy::Delayed(delayed) => delayed.segments,
        },
        Transport::Datagrams(_) => 1,
        Transport::Endpoint { .. } => 2, // RFC 9000 §13.2.2
    }
}

fn rate_of(link: &LinkSpec) -> f64 {
    match link.mean_capacity {
        rate if rate == Rate::UNLIMITED => f64::INFINITY,
        rate => rate.as_bps() as f64,
    }
}

/// How much work a second of a link's channel and of its slots is, in changes [1/s].
fn slots_and_fades(link: &LinkSpec) -> f64 {
    link.parts.loss.work() + link.parts.arq.as_ref().map_or(0.0, |arq| 1.0 / arq.slot.as_secs_f64())
}

/// Changes of a link's capacity and delay, slots and fades, in each second of a run [1/s].
pub fn changes_per_second(link: &LinkSpec, duration: Span) -> f64 {
    if duration == Span::ZERO {
        return 0.0;
    }
    changes_of(link, duration, SHORT_PROBE) / duration.as_secs_f64() + slots_and_fades(link)
}

/// How often the capacity and the delay of a link change in `duration`.
fn changes_of(link: &LinkSpec, duration: Span, probe: u32) -> f64 {
    let of_capacity = changes(&link.parts.capacity, duration, probe);
    if link.parts.delay.is_per_frame() {
        return of_capacity; // nothing happens but where a packet leaves
    }
    let mut delay = Delay::new(&link.parts.delay, &link.name, &Streams::new(0, 0));
    of_capacity + counted(duration, probe, |now| delay.segment(now).until)
}

/// How often a capacity changes in `duration`, from the first `probe` changes of one of its paths.
fn changes(parts: &CapacityParts, duration: Span, probe: u32) -> f64 {
    if let CapacityParts::Opportunities(opportunities) = parts {
        let period = opportunities.trace.period().as_secs_f64().max(1e-3);
        let rounds = if opportunities.repeat { (duration.as_secs_f64() / period).max(1.0) } else { 1.0 };
        return opportunities.trace.len() as f64 * rounds;
    }
    if let CapacityParts::LoadReactive(reactive) = parts {
        let samples = duration.as_secs_f64() / reactive.config.interval.as_secs_f64();
        return samples + changes(&reactive.residual, duration, probe);
    }
    let mut path = Capacity::new(parts, Streams::new(0, 0).stream("estimate"));
    counted(duration, probe, |now| path.segment(now).until)
}

/// How many segments end in `duration`, from the first `probe` of them; `until` says when that of an instant ends.
fn counted(duration: Span, probe: u32, mut until: impl FnMut(Time) -> Time) -> f64 {
    let mut now = Time::ZERO;
    for seen in 0..probe {
        let until = until(now);
        if until.since(Time::ZERO) >= duration {
            return f64::from(seen);
        }
        now = until;
    }
    f64::from(probe) * duration.as_secs_f64() / now.as_secs_f64()
}
