//! Which parts of a scenario the kernel runs as written, which only approximately, and which not at all.
//!
//! Each part answers for itself ([`Part::on_kernel`]); here are the rules that need the running kernel or span parts.

mod classic;
mod rules;
mod sending;
mod timer;

use varicap_experiment::{EndpointSpec, FlowSpec, Network, Transport};
use varicap_tcp::{
    AckPolicy, AfterLostSyn, AfterTimeout, Congestion, EcnMode, Nagle, Recovery, RttSamples, TcpConfig, Timer,
};
use varicap_units::part::{OnKernel, Part};
use varicap_units::{Amount, Bytes};

use crate::error::TestbedError;
use crate::kernel::Kernel;
use crate::netlink::RouteMetrics;
use classic::classic;

/// TCP and IP header without options [B].
const HEADER: u64 = 40;
/// The timestamps option with its padding [B].
const TIMESTAMPS: u64 = 12;
/// UDP and IP header [B].
const UDP_HEADER: u64 = 28;
/// Linux takes no smaller MSS (TCP_MIN_MSS) [B].
const LEAST_MSS: u64 = 88;
/// The maximum number of connections that are open from the beginning.
const MOST_CONNECTIONS: u64 = 2000;

/// How closely the kernel's TCP is configured to follow the standards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As close as the kernel can be brought to the standards that the simulator follows.
    #[default]
    Classic,
    /// The kernel's own behaviour, with the scenario's segments, options and windows.
    Stock,
}

/// A flow group as the kernel runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// The metrics of the sender's route to the receiver.
    pub to_receiver: RouteMetrics,
    /// The metrics of the receiver's route to the sender.
    pub to_sender: RouteMetrics,
    /// Whether the connection asks for selective acknowledgements.
    pub sack: bool,
    /// Whether it asks for timestamps.
    pub timestamps: bool,
    /// Name of the congestion control; none for datagrams, and for RATCP, which is chosen otherwise.
    pub congestion: Option<String>,
    /// Whether TCP itself spaces out the segments.
    pub paces: bool,
    /// Whether short segments leave at once.
    pub no_delay: bool,
    /// Largest window that the receiver advertises [B].
    pub window_clamp: Option<u32>,
    /// The difference between the size that links count for a packet and its real size [B].
    pub correction: i32,
    /// Largest packet [B].
    pub mtu: u32,
}

/// A network as the kernel runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One for each flow group.
    pub flows: Vec<FlowPlan>,
    /// Kernel parameters of both namespaces; the flag says that a kernel without the parameter will do.
    pub sysctls: Vec<(&'static str, String, bool)>,
    /// Where the run follows the scenario only approximately, or differs because of the kernel.
    pub notes: Vec<String>,
}

impl std::str::FromStr for Mode {
    type Err = TestbedError;

    fn from_str(text: &str) -> Result<Mode, TestbedError> {
        match text {
            "classic" => Ok(Mode::Classic),
            "stock" => Ok(Mode::Stock),
            _ => Err(unsupported("kernel", text, "it is `classic` or `stock`")),
        }
    }
}

impl Plan {
    /// How this kernel runs `network`, or why it cannot.
    pub fn new(network: &Network, mode: Mode, kernel: &Kernel) -> Result<Plan, TestbedError> {
        let connections: u64 = network.flows.iter().map(|flow| u64::from(flow.count)).sum();
        if connections > MOST_CONNECTIONS {
            let why = format!("in real time at most {MOST_CONNECTIONS} connections at once");
            return Err(unsupported("flows", format!("{connections} connections"), why));
        }
        check_links(network)?;
        let mut notes = Notes::default();
        let flows = network.flows.iter().map(|flow| plan_flow(flow, mode, kernel, &mut notes));
        let flows = flows.collect::<Result<Vec<_>, _>>()?;
        let tcps: Vec<(&FlowSpec, &TcpConfig)> = (network.flows.iter())
            .filter_map(|flow| match &flow.transport {
                Transport::Tcp { tcp, .. } => Some((flow, tcp)),
                Transport::Datagrams(_) | Transport::Endpoint { .. } => None,
            })
            .collect();
        let mut sysctls = match mode {
            Mode::Classic => classic(&tcps, &mut notes)?,
            // The kernel's own values are left as they are, but for a timer whose parameters are the kernel's own.
            Mode::Stock if tcps.iter().all(|(_, tcp)| matches!(tcp.timer, Timer::Linux(_))) => {
                timer::parameters(&tcps, &mut notes)
            }
            Mode::Stock => Vec::new(),
        };
        sysctls.extend(sending::parameters(&tcps)?);
        if !tcps.is_empty() {
            notes.add(match mode {
                Mode::Classic => "kernel: proportional rate reduction instead of an inflated window, limited transmit, ssthresh from cwnd instead of the data in flight, RTO of SRTT plus at least the minimum",
                Mode::Stock => "kernel = stock: loss recovery, timers and windows as this kernel has them",
            });
        }
        Ok(Plan { flows, sysctls, notes: notes.0 })
    }
}

/// Refuses what only the simulator does at links: capacities shared by a pool, and policies and queues in Python.
fn check_links(network: &Network) -> Result<(), TestbedError> {
    for link in &network.links {
        if let OnKernel::Refused(why) = link.parts.queue.on_kernel() {
            return Err(unsupported(&format!("{}.queue", link.name), link.parts.queue.name(), why));
        }
        let Some(fault) = link.parts.capacity.refused_by_kernel() else { continue };
        let key = format!("{}.capacity.{}", link.name, fault.key);
        return Err(unsupported(&key, &fault.found, &fault.expected));
    }
    Ok(())
}

/// The notes of a plan, without duplicates.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Asks the part called `name` at `key` how the kernel runs it; returns the kernel's name of it, if it has one.
    fn ask(&mut self, key: &str, name: &str, part: &dyn Part) -> Result<Option<String>, TestbedError> {
        match part.on_kernel() {
            OnKernel::AsWritten => Ok(None),
            OnKernel::Named(name) => Ok(Some(name)),
            OnKernel::Nearly(note) => {
                self.add(note);
                Ok(None)
            }
            OnKernel::Refused(why) => Err(unsupported(key, name, why)),
        }
    }
}

fn unsupported(key: &str, value: impl ToString, why: impl Into<String>) -> TestbedError {
    TestbedError::Unsupported { key: key.to_owned(), value: value.to_string(), why: why.into() }
}

/// Refuses reservations that need tokens at the sender: the kernel's sockets have none, so only links can mark.
fn check_reservation(flow: &FlowSpec) -> Result<(), TestbedError> {
    let Some(reservation) = &flow.reservation else { return Ok(()) };
    let key = |part: &str| format!("flows.{}.reservation.{part}", flow.name);
    let by_sender = "the kernel's sender sees no tokens: simulator only";
    let terms = &reservation.terms;
    let given = [
        ("timed", terms.timed.is_some()),
        ("delayed", terms.delayed.is_some()),
        ("safeguard", terms.safeguard),
    ];
    if let Some((part, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(unsupported(&key(part), "a value", by_sender));
    }
    if reservation.marked_at.is_none() {
        let why =
            "the kernel's sender marks nothing: name the link that does, such as the first one of the path";
        return Err(unsupported(&key("marked_at"), "source", why));
    }
    Ok(())
}

fn plan_flow(
    flow: &FlowSpec,
    mode: Mode,
    kernel: &Kernel,
    notes: &mut Notes,
) -> Result<FlowPlan, TestbedError> {
    check_reservation(flow)?;
    let tcp = match &flow.transport {
        Transport::Tcp { tcp, .. } => tcp,
        Transport::Endpoint { endpoint, .. } => {
            let key = match endpoint {
                EndpointSpec::Quic(_) => "quic",
                EndpointSpec::Named(_) => "endpoint",
            };
            let why = "TCP or datagrams: other transports are in the simulator alone";
            return Err(unsupported(&format!("flows.{}.{key}", flow.name), "a table", why));
        }
        Transport::Datagrams(datagrams) => {
            let size = datagrams.size.as_u64();
            if size <= UDP_HEADER {
                let key = format!("flows.{}.datagrams.size", flow.name);
                return Err(unsupported(&key, datagrams.size, "IP and UDP headers alone take 28 B"));
            }
            return Ok(FlowPlan {
                to_receiver: RouteMetrics::default(),
                to_sender: RouteMetrics::default(),
                sack: true,
                timestamps: true,
                congestion: None,
                paces: false,
                no_delay: true,
                window_clamp: None,
                correction: 0,
                mtu: size as u32,
            });
        }
    };
    let key = |key: &str| format!("flows.{}.tcp.{key}", flow.name);
    check_recovery(tcp, &key, mode, kernel, notes)?;
    timer::check(tcp, &key, notes)?;
    check_details(tcp, &key, notes)?;
    rules::check(tcp, &key, mode, notes)?;
    sending::check(tcp, notes);
    let options = if tcp.timestamps { TIMESTAMPS } else { 0 };
    let mss = tcp.mss.as_u64();
    let mtu = mss + HEADER + options;
    if mss < LEAST_MSS {
        return Err(unsupported(&key("mss"), tcp.mss, format!("Linux sends no less than {LEAST_MSS} B")));
    }
    let correction = flow.packet.as_u64() as i64 - mtu as i64;
    if correction != 0 {
        let name = &flow.name;
        notes.add(format!(
            "{name}: links count {correction:+} B for each packet, as its headers are in the scenario"
        ));
    }
    if let EcnMode::Accurate(_) = tcp.ecn {
        let why = "Linux 6.18 counts no marks for its peer (it refuses `net.ipv4.tcp_ecn` = 3): write true for RFC 3168's ECN";
        return Err(unsupported(&key("ecn"), "accurate", why));
    }
    let packets = |window: Amount| {
        let bytes = window.bytes(tcp.mss, Bytes::ZERO).as_u64();
        if window == Amount::Unlimited { 0 } else { u32::try_from((bytes / mss).max(1)).unwrap_or(u32::MAX) }
    };
    let advmss = (mss + options) as u32;
    let quickack = u32::from(tcp.ack == AckPolicy::Every);
    if tcp.initial_ssthresh != Amount::Unlimited {
        let why = "Linux begins with an unlimited threshold: leave it out";
        return Err(unsupported(&key("initial_ssthresh"), tcp.initial_ssthresh, why));
    }
    if flow.feedback.as_ref().is_some_and(|feedback| feedback.cap) {
        notes.add("feedback.cap: a Linux socket with a maximum rate also paces by its own one, 1.2 windows per round trip");
    }
    if tcp.max_window != Amount::Unlimited {
        notes.add("max_window: Linux has no such limit; the receiver's window stands in for it");
    }
    Ok(FlowPlan {
        to_receiver: RouteMetrics {
            advmss,
            initcwnd: packets(tcp.initial_window),
            rto_min_ms: timer::least_rto(tcp).as_nanos().div_ceil(1_000_000) as u32,
            ecn: tcp.ecn_in_force() == EcnMode::Classic,
            ..RouteMetrics::default()
        },
        to_sender: RouteMetrics {
            advmss,
            quickack,
            ecn: tcp.ecn_in_force() == EcnMode::Classic,
            ..RouteMetrics::default()
        },
        sack: tcp.recovery.is_selective(),
        timestamps: tcp.timestamps,
        congestion: congestion(tcp, &key, kernel, notes)?,
        paces: sending::paces(tcp),
        no_delay: tcp.nagle == Nagle::Off,
        window_clamp: window_clamp(tcp),
        correction: correction as i32,
        mtu: mtu as u32,
    })
}

/// The receiver's window, which also stands in for a limit of the sender's [B].
fn window_clamp(tcp: &TcpConfig) -> Option<u32> {
    let windows = [tcp.receive_window, tcp.max_window].into_iter();
    let limited = windows.filter(|window| *window != Amount::Unlimited);
    limited.map(|window| u32::try_from(window.bytes(tcp.mss, Bytes::ZERO).as_u64()).unwrap_or(u32::MAX)).min()
}

/// The kernel's name of the congestion control; `None` for one that the engine loads itself and sets socket by socket.
fn congestion(
    tcp: &TcpConfig,
    key: &impl Fn(&str) -> String,
    kernel: &Kernel,
    notes: &mut Notes,
) -> Result<Option<String>, TestbedError> {
    if let Congestion::Module(file) = &tcp.congestion {
        let known = kernel.modules.iter().find(|(known, _)| known == file);
        let why = "a module of Linux is loaded in simulated time only (--clock simulated, in Python clock=\"simulated\"), \
                   if its file is given: --module FILE (in Python modules=[…])";
        return known
            .map(|(_, name)| Some(name.clone()))
            .ok_or_else(|| unsupported(&key("congestion.module"), file, why));
    }
    let Some(name) = notes.ask(&key("congestion"), tcp.congestion.name(), &tcp.congestion)? else {
        return Ok(None);
    };
    if kernel.controls.contains(&name) {
        return Ok(Some(name));
    }
    let why = format!("this kernel has {}", kernel.controls.join(", "));
    Err(unsupported(&key("congestion"), name, why))
}

fn check_recovery(
    tcp: &TcpConfig,
    key: &impl Fn(&str) -> String,
    mode: Mode,
    kernel: &Kernel,
    notes: &mut Notes,
) -> Result<(), TestbedError> {
    let name = tcp.recovery.name();
    notes.ask(&key("recovery"), name, &tcp.recovery)?;
    if matches!(tcp.recovery, Recovery::Rack(_)) && mode == Mode::Classic {
        let why = "in classic mode no kernel detects losses by time: run with `--kernel stock` (in Python \
                   kernel=\"stock\"), which leaves recovery to the kernel";
        return Err(unsupported(&key("recovery"), name, why));
    }
    if tcp.recovery.is_selective() && mode == Mode::Classic && kernel.lacks_rfc6675() {
        let why = "this kernel detects losses by time (RACK), not as RFC 6675 does: say `newreno`, or run with \
                   `--kernel stock` (in Python kernel=\"stock\"), which leaves recovery to the kernel";
        return Err(unsupported(&key("recovery"), name, why));
    }
    Ok(())
}

fn check_details(
    tcp: &TcpConfig,
    key: &impl Fn(&str) -> String,
    notes: &mut Notes,
) -> Result<(), TestbedError> {
    notes.ask(&key("ack"), tcp.ack.name(), &tcp.ack)?;
    if let Some(burst) = tcp.max_burst {
        return Err(unsupported(&key("max_burst"), burst, "Linux does not limit bursts"));
    }
    let oddities = [
        (!tcp.handshake, "handshake: Linux always has one: data begins a round trip later"),
        (
            tcp.handshake && !tcp.handshake_ack,
            "handshake_ack: Linux always ends the handshake with a segment of its own",
        ),
        (
            tcp.handshake && tcp.after_lost_syn != AfterLostSyn::Linux,
            "after_lost_syn: Linux starts with the whole initial window unless the SYN was lost twice",
        ),
        (!tcp.fin, "fin: Linux ends each connection with one in each direction"),
        (!tcp.limited_transmit, "limited_transmit: Linux always has it"),
        (
            tcp.rtt_samples == RttSamples::OnePerWindow,
            "rtt_samples: Linux takes one from every acknowledgement",
        ),
        (tcp.after_timeout == AfterTimeout::FirstHole, "after_timeout: Linux resends from the hole on"),
        (tcp.repeat_fast_retransmit, "repeat_fast_retransmit: Linux does not"),
        (!tcp.window_inflation, "window_inflation: Linux sends as packets leave the network"),
    ];
    oddities.into_iter().filter(|(is_odd, _)| *is_odd).for_each(|(_, note)| notes.add(note));
    Ok(())
}

/// The largest packet of a plan [B], which a TUN must carry.
pub fn largest_packet(plan: &Plan) -> u32 {
    plan.flows.iter().map(|flow| flow.mtu).max().unwrap_or(1500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_experiment::Scenario;

    pub(super) fn plan_of(tcp: &str, mode: Mode) -> Result<Plan, TestbedError> {
        let kernel =
            Kernel { release: (6, 18), controls: vec!["reno".into(), "bbr".into()], modules: Vec::new() };
        plan_for(&format!("a.tcp = {{ {tcp} }}"), mode, &kernel)
    }

    /// How `kernel` runs these flows, each of which is a line of their table.
    pub(super) fn plan_for(flows: &str, mode: Mode, kernel: &Kernel) -> Result<Plan, TestbedError> {
        let toml = format!(
            r#"
            duration = "1 s"
            [topology.dumbbell.forward]
            capacity = "1 Mbit/s"
            delay = "100 ms"
            [flows]
            {flows}
            "#
        );
        let network = Scenario::from_toml(&toml, "test", &[]).unwrap().resolve(&mut |_| unreachable!());
        Plan::new(&network.unwrap(), mode, kernel)
    }

    pub(super) fn refusal_of_flows(flows: &str) -> Option<String> {
        let link = "[topology.dumbbell.forward]\ncapacity = \"1 Mbit/s\"\ndelay = \"100 ms\"\n";
        let toml = format!("duration = \"1 s\"\n{link}{flows}\n");
        let network = Scenario::from_toml(&toml, "test", &[]).unwrap().resolve(&mut |_| unreachable!());
        let kernel = Kernel { release: (6, 18), controls: vec!["reno".into()], modules: Vec::new() };
        Plan::new(&network.unwrap(), Mode::Stock, &kernel).err().map(|error| error.to_string())
    }

    #[test]
    fn a_queue_in_python_is_refused_wherever_it_stands() {
        let refusal = |queue: &str| {
            let toml =
                format!("duration = \"1 s\"\n[topology.dumbbell.forward]\nqueue = {queue}\n[flows.a]\n");
            let network = Scenario::from_toml(&toml, "test", &[]).unwrap().resolve(&mut |_| unreachable!());
            let kernel = Kernel { release: (6, 18), controls: vec!["reno".into()], modules: Vec::new() };
            Plan::new(&network.unwrap(), Mode::Stock, &kernel).err().map(|error| error.to_string())
        };
        let custom = "{ custom = \"mine\" }";
        let why = "only the simulator calls queues in Python";
        assert_eq!(refusal(custom), Some(format!("forward.queue = custom: {why}")));
        let inside =
            refusal(&format!("{{ cbq = {{ classes = {{ all = {{ share = 1, queue = {custom} }} }} }} }}"));
        assert_eq!(inside, Some(format!("forward.queue = cbq: {why}")));
        assert_eq!(refusal("\"pie\""), None);
    }

    #[test]
    fn a_load_reactive_link_samples_itself_or_is_refused() {
        let message = |more: &str| {
            let toml = format!(
                "duration = \"1 s\"\n[topology.dumbbell.forward]\nqueue = \"red\"\ndelay = \"9 ms\"\n\
                 capacity = {{ load-reactive = {{ minimum = \"0 b/s\"{more} }} }}\n[flows.a]\n"
            );
            let network = Scenario::from_toml(&toml, "test", &[]).unwrap().resolve(&mut |_| unreachable!());
            let kernel = Kernel { release: (6, 18), controls: vec!["reno".into()], modules: Vec::new() };
            let plan = Plan::new(&network.unwrap(), Mode::Stock, &kernel);
            plan.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(!message("").contains("load-reactive"));
        assert!(message(", pool = \"p\"").contains("forward.capacity.load-reactive.pool"));
        assert!(message(", control = { custom = \"mine\" }").contains("only the simulator"));
    }

    #[test]
    fn a_reservation_is_marked_at_a_link_or_refused() {
        let refusal = |reservation: &str| {
            let toml = format!(
                "duration = \"1 s\"\n[topology.dumbbell.forward]\ncapacity = \"9 Mbit/s\"\ndelay = \"9 ms\"\n\
                 [flows.a]\nreservation = {{ rate = \"1 Mbit/s\"{reservation} }}\n"
            );
            let network = Scenario::from_toml(&toml, "test", &[]).unwrap().resolve(&mut |_| unreachable!());
            let kernel = Kernel { release: (6, 18), controls: vec!["reno".into()], modules: Vec::new() };
            Plan::new(&network.unwrap(), Mode::Stock, &kernel).err().map(|error| error.to_string())
        };
        assert!(refusal("").unwrap().starts_with("flows.a.reservation.marked_at = source: "));
        assert!(refusal(", timed = {}").unwrap().contains("reservation.timed"));
        assert!(refusal(", delayed = {}").unwrap().contains("reservation.delayed"));
        assert_eq!(refusal(", marked_at = \"forward\""), None);
        assert!(
            plan_of("congestion = \"rate-adaptive-window\"", Mode::Stock)
                .unwrap_err()
                .to_string()
                .contains("reserved part")
        );
    }

    fn refusal(tcp: &str) -> String {
        plan_of(tcp, Mode::Classic).unwrap_err().to_string()
    }

    #[test]
    fn what_the_kernel_cannot_do_is_refused_with_key_value_and_reason() {
        assert!(refusal("recovery = \"old-tahoe\"").starts_with("flows.a.tcp.recovery = old-tahoe: "));
        assert!(refusal("recovery = \"sack\"").contains("`--kernel stock`"));
        assert!(
            refusal("recovery = \"newreno\", timer = \"ticks\"").starts_with("flows.a.tcp.timer = ticks: ")
        );
        assert!(
            refusal("recovery = \"newreno\", congestion = \"cubic\"").contains("this kernel has reno, bbr")
        );
        assert!(refusal("recovery = \"newreno\", mss = \"50 B\"").contains("flows.a.tcp.mss"));
        let ecn = refusal("recovery = \"newreno\", ecn = \"accurate\"");
        assert!(ecn.starts_with("flows.a.tcp.ecn = accurate: Linux 6.18 "), "{ecn}");
        assert!(refusal("recovery = \"newreno\", congestion = { custom = \"mine\" }").contains("mine"));
    }

    #[test]
    fn a_module_is_the_control_that_it_has_registered() {
        let plan = |modules: &[(&str, &str)]| {
            let modules =
                modules.iter().map(|(file, name)| ((*file).to_owned(), (*name).to_owned())).collect();
            let kernel = Kernel { release: (6, 12), controls: vec!["reno".into()], modules };
            plan_for("a.tcp.congestion = { module = \"my_cc.c\" }", Mode::Stock, &kernel)
        };
        let loaded = plan(&[("other.c", "other"), ("my_cc.c", "mine")]).unwrap();
        assert_eq!(loaded.flows[0].congestion.as_deref(), Some("mine"));
        let refusal = plan(&[("other.c", "other")]).unwrap_err().to_string();
        assert!(refusal.starts_with("flows.a.tcp.congestion.module = my_cc.c: "), "{refusal}");
        assert!(refusal.contains("--module FILE"), "{refusal}");
    }

    #[test]
    fn segments_on_the_wire_are_those_of_the_scenario() {
        let tcp = "stack = \"rfc\", recovery = \"newreno\", mss = \"500 B\", timestamps = true, ack = \"every\", initial_window = \"3 packets\"";
        let plan = plan_of(tcp, Mode::Classic).unwrap();
        let flow = &plan.flows[0];
        assert_eq!((flow.mtu, flow.correction, flow.timestamps), (552, 0, true));
        assert_eq!((flow.to_receiver.initcwnd, flow.to_receiver.rto_min_ms), (3, 1000));
        assert_eq!((flow.to_sender.advmss, flow.to_sender.quickack), (512, 1));
        assert!(!flow.sack && flow.window_clamp.is_none());
        let bare = plan_of(
            "stack = \"rfc\", recovery = \"newreno\", mss = \"500 B\", header = \"0 B\"",
            Mode::Classic,
        )
        .unwrap();
        assert_eq!((bare.flows[0].mtu, bare.flows[0].correction), (540, -40));
    }

    #[test]
    fn habits_of_a_stack_that_linux_lacks_are_refused_and_its_own_are_not() {
        let notes = |tcp: &str| plan_of(tcp, Mode::Stock).unwrap().notes;
        // All that Linux does is as written: there is nothing to note about a habit.
        assert_eq!(
            notes("stack = \"linux\""),
            ["kernel = stock: loss recovery, timers and windows as this kernel has them"]
        );
        assert!(notes("stack = \"rfc\"").iter().any(|note| note.starts_with("ack: Linux")));
        let plan = plan_of("stack = \"linux\"", Mode::Stock).unwrap();
        assert_eq!((plan.flows[0].to_receiver.rto_min_ms, plan.flows[0].timestamps), (200, true));
        let refusal = |tcp: &str| plan_of(tcp, Mode::Stock).unwrap_err().to_string();
        assert!(refusal("stack = \"ns-2\"").starts_with("flows.a.tcp.recovery = tahoe: "));
        let ticks = refusal("stack = \"bsd-reno\", recovery = \"newreno\"");
        assert!(ticks.starts_with("flows.a.tcp.timer = ticks: "), "{ticks}");
        let growth = "stack = \"ns-2\", recovery = \"newreno\", timer = \"rfc6298\"";
        assert!(refusal(growth).starts_with("flows.a.tcp.congestion = reno: "), "{}", refusal(growth));
    }

    #[test]
    fn stock_takes_selective_acknowledgements_and_leaves_the_parameters_alone() {
        let tcp = "stack = \"rfc\", recovery = \"sack\", congestion = { custom = \"bbr\" }";
        let plan = plan_of(tcp, Mode::Stock).unwrap();
        assert!(plan.flows[0].sack && plan.sysctls.is_empty());
        assert_eq!(plan.flows[0].congestion.as_deref(), Some("bbr"));
    }
}
