//! One run, in real time or in that of a guest: a network and a seed in, measured rows and the fidelity of the run out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use varicap_engine::meters_of;
use varicap_experiment::fidelity::Fidelity;
use varicap_experiment::measure::FlowMeasure;
use varicap_experiment::results::{Recorded, RunResult};
use varicap_experiment::rows::LinkRow;
use varicap_experiment::{Network, Transport};
use varicap_tcp::Congestion;
use varicap_units::{Span, Streams, Time};

use crate::addresses;
use crate::bpf::{BpfError, Ratcp};
use crate::director::FlowDirector;
use crate::emulator::Emulator;
use crate::error::{Step, TestbedError};
use crate::flows::{Endpoints, Samples, Surroundings};
use crate::kernel::Kernel;
use crate::lockstep::{self, Lockstep};
use crate::netlink::{Netlink, RouteMetrics};
use crate::netns::{Namespace, set_sysctl};
pub use crate::options::Options;
use crate::plan::{Mode, Plan, largest_packet};
use crate::recording::{Hosts, HostsRecorder, Wire, WireRecorder, stops};
use crate::sys::{self, Clock};
use crate::trace::Trace;
use crate::tun::{Tun, losses};

/// The name of the TUN device in both namespaces.
const DEVICE: &str = "tun0";
/// The limit of a sender's buffer in the kernel [B]. It begins with it: Linux lets a buffer grow with cwnd, but during loss
/// recovery cwnd is halved while everything behind the first hole stays buffered, so that a grown buffer would be full
/// and no new data be sent until recovery ends. Only data in flight can fill it; see [`Endpoints::new`].
const SEND_BUFFER: u64 = 64 << 20;

/// The results of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The measured rows, with the run's fidelity.
    pub result: RunResult,
    /// Time series.
    pub recorded: Recorded,
}

/// Runs replication `replication` of `network` under `seed`. `go_on` is called with the time every so
/// often, and stops the run by returning false. The process must have the rights over namespaces: root's, or those of
/// [`become_root`](crate::netns::become_root).
pub fn run(
    network: &Network,
    seed: u64,
    replication: u64,
    options: Options<'_>,
    go_on: &mut (dyn FnMut(Time) -> bool + Send),
) -> Result<Outcome, TestbedError> {
    let mut kernel = Kernel::running().step("read the kernel's release")?;
    kernel.modules = options.modules.to_vec();
    let mut plan = Plan::new(network, options.mode, &kernel)?;
    let ratcp = load_ratcp(network)?;
    let sides = Sides::new(network, &plan, options.mode)?;
    let streams = Streams::new(seed, replication);
    // Threads and sockets are ready before time zero.
    let clock = if options.is_simulated {
        Clock::starting_with_the_wheel()
    } else {
        Clock::starting_in(Span::from_millis(20 + network.flows.len() as u64))
    };
    let (postbox, messages) = mpsc::channel();
    let (told, rates) = mpsc::channel();
    let director = FlowDirector::new(network, &plan, &streams, ratcp.clone(), messages, told);
    let Sides { senders, receivers, tuns } = sides;
    let mut emulator = Emulator::new(network, &streams, tuns, director, clock)?;
    emulator.net.trace = options.packets.map(|limit| Trace::new(network, limit));
    let around = Surroundings { clock, streams, postbox, remote: emulator.remote(), ratcp, rates };
    let places = Places { senders: &senders, receivers: &receivers, plan: &plan };
    let measure = if options.is_simulated { in_lockstep } else { in_threads };
    let (wire, hosts) = measure(network, emulator, around, places, options, go_on)?;
    let fidelity = Fidelity {
        unintended_drops: wire.fidelity.unintended_drops
            + lost_outside(&senders)?
            + lost_outside(&receivers)?,
        samples: hosts.samples.iter().map(|samples| samples.all).sum(),
        starved_samples: hosts.samples.iter().map(|samples| samples.starved).sum(),
        wakes: hosts.wakes.all,
        late_wakes: hosts.wakes.late,
        warnings: warnings(&hosts.samples),
        kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        notes: std::mem::take(&mut plan.notes),
        ..wire.fidelity.clone()
    };
    Ok(outcome(network, seed, replication, wire, hosts, fidelity))
}

/// Where the sockets of a run are, and how they are set up.
#[derive(Clone, Copy)]
struct Places<'a> {
    senders: &'a Namespace,
    receivers: &'a Namespace,
    plan: &'a Plan,
}

/// In real time: the links and the sockets have a thread each.
fn in_threads(
    network: &Network,
    emulator: Emulator<FlowDirector>,
    around: Surroundings,
    places: Places<'_>,
    options: Options<'_>,
    go_on: &mut (dyn FnMut(Time) -> bool + Send),
) -> Result<(Wire, Hosts), TestbedError> {
    let is_over = AtomicBool::new(false);
    let clock = around.clock;
    std::thread::scope(|scope| {
        let remote = emulator.remote();
        let wire = scope.spawn({
            let is_over = &is_over;
            move || {
                let done = emulate(network, emulator, options);
                is_over.store(done.is_err(), Ordering::Relaxed);
                done
            }
        });
        let hosts = scope.spawn({
            let is_over = &is_over;
            let mut go_on = |now: Time| !is_over.load(Ordering::Relaxed) && go_on(now);
            move || {
                places.senders.enter()?;
                let endpoints = Endpoints::new(network, places.plan, places.receivers, around)?;
                // Linux acknowledges what a program has read: one that reads late would be a part of the path.
                sys::go_next();
                // A segment that is sent before would wait for it, and seem to have taken that long.
                clock.wait_for_zero();
                serve(network, endpoints, options, &mut go_on)
            }
        });
        let hosts = joined(hosts.join());
        if hosts.is_err() {
            remote.stop();
        }
        let wire = joined(wire.join());
        // The thread that failed first has the reason; the other one was only interrupted.
        match (wire, hosts) {
            (Ok(wire), Ok(hosts)) => Ok((wire, hosts)),
            (Err(error), Err(TestbedError::Interrupted)) | (Err(TestbedError::Interrupted), Err(error)) => {
                Err(error)
            }
            (_, Err(error)) | (Err(error), _) => Err(error),
        }
    })
}

fn emulate(
    network: &Network,
    emulator: Emulator<FlowDirector>,
    options: Options<'_>,
) -> Result<Wire, TestbedError> {
    let is_prioritised = sys::go_first();
    let _awake = sys::stay_awake();
    let mut wire = WireRecorder::new(network, emulator, options);
    for stop in stops(network, options.series) {
        if !wire.emulator.run_until(stop)? {
            return Err(TestbedError::Interrupted);
        }
        wire.pause(stop);
    }
    Ok(wire.finish(is_prioritised))
}

fn serve(
    network: &Network,
    endpoints: Endpoints,
    options: Options<'_>,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<Hosts, TestbedError> {
    let mut hosts = HostsRecorder::new(network, endpoints, options);
    for stop in stops(network, options.series) {
        if !hosts.endpoints.run_until(stop, go_on)? {
            return Err(TestbedError::Interrupted);
        }
        hosts.pause(stop);
    }
    Ok(hosts.finish())
}

/// In simulated time: this thread drives both, and stays in the senders' namespace.
fn in_lockstep(
    network: &Network,
    emulator: Emulator<FlowDirector>,
    around: Surroundings,
    places: Places<'_>,
    options: Options<'_>,
    go_on: &mut (dyn FnMut(Time) -> bool + Send),
) -> Result<(Wire, Hosts), TestbedError> {
    let clock = around.clock;
    places.senders.enter()?;
    let endpoints = Endpoints::new(network, places.plan, places.receivers, around)?;
    let mut wire = WireRecorder::new(network, emulator, options);
    let mut hosts = HostsRecorder::new(network, endpoints, options);
    let mut io = lockstep::prepare(&mut wire.emulator, &hosts.endpoints)?;
    clock.wait_for_zero();
    for stop in stops(network, options.series) {
        let (emulator, endpoints) = (&mut wire.emulator, &mut hosts.endpoints);
        let mut both = Lockstep { emulator, endpoints, io: &mut io, clock };
        if !both.run_until(stop, go_on)? {
            return Err(TestbedError::Interrupted);
        }
        wire.pause(stop);
        hosts.pause(stop);
    }
    let hosts = hosts.finish();
    Ok((wire.finish(true), hosts))
}

/// Checks, before any run, that the kernel supports everything that `networks` ask for.
pub fn check(networks: &[Network], mode: Mode) -> Result<(), TestbedError> {
    let kernel = Kernel::running().step("read the kernel's release")?;
    networks.iter().try_for_each(|network| Plan::new(network, mode, &kernel).map(drop))
}

/// The result of a thread; a panic of the thread is resumed.
fn joined<T>(done: std::thread::Result<T>) -> T {
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Loads RATCP into the kernel if a flow uses it.
fn load_ratcp(network: &Network) -> Result<Option<Arc<Ratcp>>, TestbedError> {
    let has_it = |transport: &Transport| matches!(transport, Transport::Tcp { tcp, .. } if matches!(tcp.congestion, Congestion::Ratcp(_)));
    if !network.flows.iter().any(|flow| has_it(&flow.transport)) {
        return Ok(None);
    }
    let loaded =
        Ratcp::load().map_err(|error: BpfError| TestbedError::Lacks(format!("ratcp in the kernel: {error}")));
    loaded.map(|ratcp| Some(Arc::new(ratcp)))
}

/// The two namespaces and their devices.
struct Sides {
    senders: Namespace,
    receivers: Namespace,
    tuns: Vec<Tun>,
}

impl Sides {
    fn new(network: &Network, plan: &Plan, mode: Mode) -> Result<Sides, TestbedError> {
        let (senders, receivers) = (Namespace::new()?, Namespace::new()?);
        let mtu = largest_packet(plan);
        let tuns = vec![Tun::new(&senders, DEVICE, mtu)?, Tun::new(&receivers, DEVICE, mtu)?];
        let groups = || (0..network.flows.len() as u16).zip(&plan.flows);
        let here = groups()
            .map(|(group, flow)| (addresses::sender(group), addresses::receiver(group), flow.to_receiver));
        let there = groups()
            .map(|(group, flow)| (addresses::receiver(group), addresses::sender(group), flow.to_sender));
        let (here, there): (Vec<Neighbour>, Vec<Neighbour>) = (here.collect(), there.collect());
        senders.run(|| configure(plan, mode, tuns[0].index, &here))??;
        receivers.run(|| configure(plan, mode, tuns[1].index, &there))??;
        Ok(Sides { senders, receivers, tuns })
    }
}

/// A local address, the address of the other side, and the metrics of the route to it.
type Neighbour = ([u8; 4], [u8; 4], RouteMetrics);

/// Sets the parameters, addresses and routes of the namespace that this thread is in.
fn configure(plan: &Plan, mode: Mode, device: u32, neighbours: &[Neighbour]) -> Result<(), TestbedError> {
    /// Room for what may be under way on any path that the machine can emulate [B].
    const BUFFER: &str = "4096 67108864 67108864";
    let set = |name: &str, value: &str, may_lack: bool| match set_sysctl(name, value) {
        Err(error) if may_lack && error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.step(&format!("set {name} to {value}")),
    };
    // Runs must not influence each other through cached metrics, and transfers must not run out of ports.
    set("net.ipv4.tcp_no_metrics_save", "1", false)?;
    set("net.ipv4.tcp_tw_reuse", "1", false)?;
    set("net.ipv4.tcp_wmem", &format!("4096 {SEND_BUFFER} {SEND_BUFFER}"), false)?;
    // Each connection requests the options of its flow; receivers accept any of them.
    set("net.ipv4.tcp_sack", "1", false)?;
    set("net.ipv4.tcp_timestamps", "1", false)?;
    if mode == Mode::Classic {
        set("net.ipv4.tcp_rmem", BUFFER, false)?;
    }
    for (name, value, may_lack) in &plan.sysctls {
        set(name, value, *may_lack)?;
    }
    let mut netlink = Netlink::open().step("open a netlink socket")?;
    for (own, other, metrics) in neighbours {
        netlink.add_address(device, *own).step("add an address")?;
        netlink.add_route(device, (*other, 32), Some(*own), metrics).step("add a route")?;
    }
    Ok(())
}

/// Warnings for a reader of the result about senders, with samples for each, that something other than the network
/// limited.
fn warnings(senders: &[Samples]) -> Vec<String> {
    /// The share of full buffers from which it is reported.
    const MOST_FULL: f64 = 0.01;
    let mut warnings = Vec::new();
    if senders.iter().any(|samples| 2 * samples.slow_recovery > samples.all) {
        warnings.push(
            "a sender without SACK spent most of its time in loss recovery: Linux resends one lost packet per round \
             trip and restarts its timer each time (RFC 6582's slow-but-steady variant), so that a burst of losses \
             holds up delivery until the last one is repaired; the simulator's timer expires instead. `recovery = \
             \"sack\"` with --kernel stock repairs many losses per round trip"
                .to_owned(),
        );
    }
    if senders.iter().any(|samples| samples.full as f64 > MOST_FULL * samples.all as f64) {
        let limit = SEND_BUFFER >> 20;
        warnings.push(format!(
            "a sender had to wait because its buffer in the kernel ({limit} MiB) was full of data in flight"
        ));
    }
    warnings
}

/// The number of packets that a namespace itself lost, which is never intended.
fn lost_outside(namespace: &Namespace) -> Result<u64, TestbedError> {
    let lost = namespace.run(|| Ok(losses(DEVICE)? + dropped_by_tcp()?))?;
    lost.step("read the counters of a namespace")
}

/// The number of packets that TCP in this thread's namespace dropped for lack of buffer space.
fn dropped_by_tcp() -> std::io::Result<u64> {
    const COUNTERS: [&str; 6] =
        ["TCPBacklogDrop", "PFMemallocDrop", "ListenDrops", "TCPRcvQDrop", "RcvPruned", "OfoPruned"];
    let table = std::fs::read_to_string("/proc/thread-self/net/netstat")?;
    let mut lines = table.lines();
    let mut dropped = 0;
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let pairs = names.split_whitespace().zip(values.split_whitespace());
        let known = pairs.filter(|(name, _)| COUNTERS.contains(name));
        dropped += known.filter_map(|(_, value)| value.parse::<u64>().ok()).sum::<u64>();
    }
    Ok(dropped)
}

fn outcome(
    network: &Network,
    seed: u64,
    replication: u64,
    wire: Wire,
    hosts: Hosts,
    fidelity: Fidelity,
) -> Outcome {
    let mut measures = hosts.flows.into_iter().zip(wire.flows).map(|(mut host, wire)| {
        host.merge(&wire);
        host
    });
    let links = network.links.iter().zip(&wire.links);
    let mut result = RunResult {
        replication,
        seed,
        simulated: network.duration,
        measured: network.duration.saturating_sub(network.warmup),
        events: wire.events,
        links: links.map(|(spec, measure)| LinkRow::new(&spec.name, "", measure)).collect(),
        fidelity: Some(fidelity),
        ..RunResult::default()
    };
    for spec in &network.flows {
        let members: Vec<FlowMeasure> = measures.by_ref().take(meters_of(spec) as usize).collect();
        result.add_group(spec, &members);
    }
    let mut flows = hosts.series;
    for (host, wire) in flows.iter_mut().zip(&wire.flow_series) {
        host.points.iter_mut().zip(&wire.points).for_each(|(host, wire)| {
            host.throughput_bps = wire.throughput_bps;
            host.compliant_bps = wire.compliant_bps;
            host.reserved_bps = wire.reserved_bps;
            host.lost_tokens_bytes = wire.lost_tokens_bytes;
        });
    }
    let (links, packets) = (wire.link_series, wire.packets);
    let recorded = Recorded { replication, flows, links, packets, ..Recorded::default() };
    Outcome { result, recorded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_reported_by_its_own_samples() {
        let idle = Samples { all: 1000, ..Samples::default() };
        assert!(warnings(&[idle, idle]).is_empty());
        // One of three spent all of its time in recovery, which is a third of all samples.
        let slow = Samples { slow_recovery: 1000, ..idle };
        assert_eq!(warnings(&[idle, slow, idle]).len(), 1);
        assert!(warnings(&[Samples { slow_recovery: 500, ..idle }]).is_empty());
        // A full buffer in 2 % of the samples of one sender of a hundred.
        let mut many = vec![idle; 100];
        many[7].full = 20;
        assert_eq!(warnings(&many).len(), 1);
        assert!(warnings(&[Samples { full: 10, ..idle }]).is_empty());
    }
}
