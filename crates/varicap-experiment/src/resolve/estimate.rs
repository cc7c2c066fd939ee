//! What a run will take, before it starts: a rough upper estimate of events, time and memory.
//!
//! Each flow is limited by its window, its application and its losses; each link by its capacity. A link divides what
//! it can carry among what is offered to it, in proportion. Packets times hops are events.

use serde::Serialize;
use varicap_net::capacity::{Capacity, CapacityProcess};
use varicap_net::{CapacityParts, LossParts};
use varicap_tcp::{AckPolicy, TcpConfig};
use varicap_units::{Amount, Bytes, Rate, Span, Streams, Time};

use crate::error::ScenarioError;
use crate::resolve::network::{FlowSpec, LinkSpec, Network, Transport};
use crate::scenario::{App, Scenario};

/// CPU time of an event [s]: a packet at a link or at an endpoint, on a slow machine.
const SECONDS_PER_EVENT: f64 = 40e-9;
/// An exponential function takes that part of an event.
const EVENTS_PER_EXPONENTIAL: f64 = 0.3;
/// CPU time of a change of capacity or of an opportunity [s].
const SECONDS_PER_CHANGE: f64 = 30e-9;
/// Memory of a process that simulates nothing [B].
const BASE: f64 = 60e6;
/// Memory of a connection at rest, with its meters [B].
const PER_FLOW: f64 = 8e3;
/// Memory of a link at rest, with its meters [B].
const PER_LINK: f64 = 64e3;
/// Memory of a packet on its way and in the sender's scoreboard [B].
const PER_PACKET: f64 = 200.0;
/// Memory of a recorded packet event [B].
const PER_PACKET_EVENT: f64 = 80.0;
/// Memory of a sample of all series of a flow or of a link [B].
const PER_SAMPLE: f64 = 80.0;
/// How many changes of a capacity are generated to see how often it changes.
const PROBE: u32 = 10_000;

/// What a run of a scenario will take, roughly and rather too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// Events of one run: packets at links and endpoints, changes of capacity.
    pub events: f64,
    /// CPU time of one run [s].
    pub cpu_s: f64,
    /// Memory of one run [B].
    pub memory_bytes: f64,
    /// Memory of what one run records and keeps to the end [B].
    pub kept_bytes: f64,
}

impl Estimate {
    /// The estimate for one run of `scenario`, which resolved into `networks`.
    pub fn of(scenario: &Scenario, networks: &[Network]) -> Estimate {
        let mut total = Estimate::default();
        for network in networks {
            let one = of_network(scenario, network);
            total.events += one.events;
            total.cpu_s += one.cpu_s;
            total.kept_bytes += one.kept_bytes;
            // Networks of isolated flows may run one beside another.
            total.memory_bytes += one.memory_bytes;
        }
        total
    }

    /// Refuses `runs` runs on `threads` threads that would need more memory or time (on the clock) than allowed.
    pub fn check_limits(
        &self,
        runs: u32,
        threads: usize,
        max_memory: Option<Bytes>,
        max_time: Option<Span>,
    ) -> Result<(), ScenarioError> {
        let threads = threads.max(1) as f64;
        let runs = f64::from(runs.max(1));
        let memory = BASE + self.memory_bytes * threads.min(runs) + self.kept_bytes * runs;
        let seconds = self.cpu_s * runs / threads.min(runs);
        if let Some(most) = max_memory
            && memory > most.as_u64() as f64
        {
            let error = ScenarioError::at("", format!("at most {most} (--max-memory)"));
            return Err(error.found(format!("a need for about {} of memory", round_bytes(memory))));
        }
        if let Some(most) = max_time
            && seconds > most.as_secs_f64()
        {
            let error = ScenarioError::at("", format!("at most {most} (--max-time)"));
            let events =
                if self.events.is_finite() { format!("{:.1e}", self.events) } else { "endless".to_owned() };
            return Err(
                error.found(format!("about {} of work ({events} events a run)", round_seconds(seconds)))
            );
        }
        Ok(())
    }
}

/// What a source begins by itself, whether or not a link has room for it: arrivals, datagrams.
fn starts(flow: &FlowSpec, duration: f64) -> f64 {
    match &flow.transport {
        Transport::Tcp { app: App::Arrivals(arrivals), .. } => arrivals.rate.as_hz() * duration,
        Transport::Tcp { .. } => f64::from(flow.count),
        Transport::Datagrams(datagrams) => {
            let bits = datagrams.size.as_u64() as f64 * 8.0;
            f64::from(flow.count) * datagrams.rate.as_bps() as f64 / bits * duration
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
    let mut flows = 0.0;
    for (flow, packets) in network.flows.iter().zip(&packets) {
        let acks = packets / f64::from(packets_per_ack(flow)).max(1.0);
        let answers = if matches!(flow.transport, Transport::Tcp { .. }) { acks } else { 0.0 };
        estimate.events += packets * (flow.forward.len() + usize::from(flow.abr.is_some()) + 1) as f64
            + answers * (flow.reverse.len() + 1) as f64;
        estimate.memory_bytes += in_flight(flow, links, *packets) * PER_PACKET;
        flows += f64::from(flow.count);
        estimate.events +=
            starts(flow, duration) + updates(network, flow, duration) + expiries(flow, duration);
        if let Transport::Tcp { app: App::Arrivals(arrivals), .. } = &flow.transport {
            estimate.memory_bytes += f64::from(arrivals.at_most) * PER_FLOW;
        }
    }
    estimate.memory_bytes += flows * PER_FLOW + links.len() as f64 * PER_LINK;
    let moves =
        |link: &LinkSpec| changes(&link.parts.capacity, network.duration) + slots_and_fades(link) * duration;
    let changes: f64 = links.iter().map(moves).sum();
    estimate.cpu_s = estimate.events * SECONDS_PER_EVENT + changes * SECONDS_PER_CHANGE;
    estimate.events += changes;
    let record = &scenario.record;
    if record.series {
        let samples = duration / record.sample.as_secs_f64();
        estimate.kept_bytes += samples * PER_SAMPLE * (flows + links.len() as f64);
    }
    if record.packets {
        // A packet that passes a link gives an arrival, a departure and a delivery.
        let recorded = (estimate.events * 3.0).min(record.packet_limit as f64);
        estimate.kept_bytes += recorded * PER_PACKET_EVENT;
    }
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
        Transport::Datagrams(datagrams) => datagrams.rate.as_bps() as f64 / 8.0 / packet * duration,
        Transport::Tcp { tcp, app } => by_window(network, flow, tcp)
            .min(app.packets(tcp.mss.as_u64() as f64, duration) * RETRANSMISSIONS),
    };
    by_capacity.min(by_flow * count)
}

/// How much more than its data a TCP flow may send.
const RETRANSMISSIONS: f64 = 2.0;

/// What window and losses allow one connection.
fn by_window(network: &Network, flow: &FlowSpec, tcp: &TcpConfig) -> f64 {
    let loss: f64 = flow.forward.iter().map(|link| network.links[*link].parts.loss.mean()).sum();
    let mss = tcp.mss.as_u64() as f64;
    let amount = |amount: Amount| match amount {
        Amount::Unlimited => f64::INFINITY,
        other => other.bytes(tcp.mss, Bytes::ZERO).as_u64() as f64 / mss,
    };
    // Reno keeps sqrt(3/(2p)) packets in flight; CUBIC more, up to several times that.
    let by_loss = if loss > 0.0 { 8.0 / libm::sqrt(loss) } else { f64::INFINITY };
    let window = amount(tcp.max_window).min(amount(tcp.receive_window)).min(by_loss).max(1.0);
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

/// Packets of a group that may be on their way at once.
fn in_flight(flow: &FlowSpec, links: &[LinkSpec], packets: f64) -> f64 {
    let held = |link: &LinkSpec| {
        let room = link.parts.queue.room(link.parts.packet, link.parts.bdp);
        let pipe = rate_of(link) / 8.0 * link.parts.delay.as_secs_f64();
        let queue = if room == Bytes::MAX { f64::INFINITY } else { room.as_u64() as f64 };
        (queue + if pipe.is_nan() { 0.0 } else { pipe }) / flow.packet.as_u64() as f64
    };
    let path: f64 = flow.forward.iter().map(|link| held(&links[*link])).sum();
    let window = match &flow.transport {
        Transport::Tcp { tcp, .. } => match tcp.max_window {
            Amount::Unlimited => f64::INFINITY,
            limit => limit.bytes(tcp.mss, Bytes::ZERO).as_u64() as f64 / tcp.mss.as_u64() as f64,
        },
        Transport::Datagrams(_) => f64::INFINITY,
    };
    packets.min(path).min(window * f64::from(flow.count))
}

fn packets_per_ack(flow: &FlowSpec) -> u32 {
    match &flow.transport {
        Transport::Tcp { tcp, .. } => match tcp.ack {
            AckPolicy::Every => 1,
            AckPolicy::Delayed(delayed) => delayed.segments,
        },
        Transport::Datagrams(_) => 1,
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
    let fades = match &link.parts.loss {
        LossParts::Channel(channel) => channel.work(),
        _ => 0.0,
    };
    fades + link.parts.arq.as_ref().map_or(0.0, |arq| 1.0 / arq.slot.as_secs_f64())
}

/// How often a capacity changes in `duration`, from the beginning of one of its paths.
fn changes(parts: &CapacityParts, duration: Span) -> f64 {
    if let CapacityParts::Opportunities(opportunities) = parts {
        let period = opportunities.trace.period().as_secs_f64().max(1e-3);
        let rounds = if opportunities.repeat { (duration.as_secs_f64() / period).max(1.0) } else { 1.0 };
        return opportunities.trace.len() as f64 * rounds;
    }
    if let CapacityParts::LoadReactive(reactive) = parts {
        let samples = duration.as_secs_f64() / reactive.config.interval.as_secs_f64();
        return samples + changes(&reactive.residual, duration);
    }
    let mut path = Capacity::new(parts, Streams::new(0, 0).stream("estimate"));
    let mut now = Time::ZERO;
    for seen in 0..PROBE {
        let until = path.segment(now).until;
        if until.since(Time::ZERO) >= duration {
            return f64::from(seen);
        }
        now = until;
    }
    f64::from(PROBE) * duration.as_secs_f64() / now.as_secs_f64()
}
