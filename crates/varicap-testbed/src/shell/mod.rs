//! Any program behind an emulated link: its namespace has one route out, and that is the link.
//!
//! ```text
//!   network outside               this process                       namespace inside
//!   services ◄──► relay ◄──► TUN ◄──► links there and back ◄──► TUN ◄──► the command
//! ```
//!
//! In a guest, in simulated time, the network outside is another one: a program of one's own serves at the far end, and
//! nothing is relayed.
//!
//! Nothing is changed outside: no device, no route, no rule. Everything disappears with this process, however it ends.

mod init;
mod meter;
mod relay;

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use varicap_experiment::Network;
use varicap_experiment::fidelity::Fidelity;
use varicap_units::{Span, Streams, Time};

use crate::emulator::{Director, Emulator, Way};
use crate::error::{Step, TestbedError};
use crate::kernel::Kernel;
use crate::net::Net;
use crate::netlink::{Netlink, RouteMetrics, control_name};
use crate::netns::{Namespace, become_owner, sysctl};
use crate::packet::{Packet, ipv4};
use crate::sys::{self, Clock};
use crate::tun::Tun;

use init::Init;
use meter::Meter;
pub use meter::Show;
use relay::Gate;

/// Largest packet [B].
const MTU: u32 = 1500;
/// The address outside of the outermost shell; each shell inside another is four further.
const FIRST_OUTSIDE: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
/// The kernel parameter with the congestion control of sockets that choose none.
const DEFAULT_CONTROL: &str = "net.ipv4.tcp_congestion_control";
/// The maximum depth of nested shells.
const MOST_DEPTH: u32 = 64;

/// A command, and the links behind which it is to run.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The links; its flows only define routes, see [`Shell::between`].
    network: Network,
    /// The seed of the links' random numbers.
    pub seed: u64,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The default congestion control of sockets at both ends; `None` keeps that of the system.
    pub congestion: Option<String>,
    /// Where the live line is shown.
    pub show: Show,
    /// Whether the exit code is 4 if the emulation was not exact.
    pub strict: bool,
    /// The number of shells that this one is nested in, from VARICAP_SHELL.
    pub depth: u32,
    /// In simulated time: what runs at the far end instead of a relay.
    pub far: Option<Far>,
}

/// The far end of a link in simulated time.
#[derive(Clone, Debug)]
pub struct Far {
    /// The program that serves there and its arguments; empty for none.
    pub server: Vec<OsString>,
}

impl Shell {
    /// `command` behind the links of `network`: what it sends goes over links `up`, what it receives over links `down`.
    pub fn between(mut network: Network, up: Vec<usize>, down: Vec<usize>, command: Vec<OsString>) -> Shell {
        network.flows.truncate(1);
        for flow in &mut network.flows {
            (flow.forward, flow.reverse) = (up.clone(), down.clone());
            flow.access_delay = Span::ZERO;
        }
        Shell {
            network,
            seed: 1,
            command,
            congestion: None,
            show: Show::Nowhere,
            strict: false,
            depth: 0,
            far: None,
        }
    }

    /// Runs the command behind the link, which a separate process emulates, and returns its exit code, or 128 plus the
    /// signal that killed it. If the link cannot be made, the reason is printed to stderr and the code is 3.
    pub fn run(&self) -> Result<i32, TestbedError> {
        sys::ignore_interrupts();
        match sys::fork().step("start a process")? {
            Some(child) => sys::wait_for(child).step("wait for the emulator"),
            None => sys::exit_now(match self.run_here() {
                Ok(code) => code,
                Err(error) => {
                    eprintln!("varicap: {error}");
                    LACKING
                }
            }),
        }
    }

    /// Emulates the link and runs the command, in a single-threaded process whose network is the one outside.
    fn run_here(&self) -> Result<i32, TestbedError> {
        sys::die_with_parent().step("die with the parent")?;
        become_owner()?;
        let (outside, inside) = addresses(self.depth)?;
        let far = Arc::new(Namespace::new()?);
        let near = Namespace::new()?;
        let far_tun = Tun::new(&far, "outside", MTU)?;
        let near_tun = Tun::new(&near, "inside", MTU)?;
        let (far_index, near_index) = (far_tun.index, near_tun.index);
        let metrics = self.metrics()?;
        let lay_far = || {
            let mut netlink = Netlink::open()?;
            netlink.add_address(far_index, outside.octets())?;
            netlink.take_all_addresses(far_index, inside.octets(), &metrics)
        };
        let lay_near = || {
            let mut netlink = Netlink::open()?;
            netlink.add_address(near_index, inside.octets())?;
            netlink.add_route(near_index, ([0; 4], 0), None, &metrics)
        };
        far.run(lay_far)?.step("configure the far end of the link")?;
        near.run(lay_near)?.step("configure the near end of the link")?;
        if self.congestion.is_none() {
            let control = near.run(|| sysctl(DEFAULT_CONTROL))?.unwrap_or_else(|_| "unknown".to_owned());
            eprintln!(
                "varicap: congestion control at both ends: {control}, this system's default (--congestion)"
            );
        }
        // Before there are other threads.
        let server = self.far.as_ref().map(|end| end.start(&far)).transpose()?.flatten();
        let init = Init::new(&near, self.command(outside))?;
        let gate = if self.far.is_none() { Some(Gate::new(&far, outside)?) } else { None };
        let border = Border { gate, meter: Meter::new(self.show, &self.network) };
        let code = self.emulate(init, vec![near_tun, far_tun], border);
        if let Some(mut server) = server {
            // It may have ended by itself.
            let _ = server.kill();
            server.wait().step("wait for the server")?;
        }
        code
    }

    /// The metrics of the routes over the link. A route chooses the congestion control of connections; a namespace's
    /// default could only be one that the administrator allows to every user (tcp_allowed_congestion_control).
    fn metrics(&self) -> Result<RouteMetrics, TestbedError> {
        let Some(name) = &self.congestion else { return Ok(RouteMetrics::default()) };
        let controls = Kernel::running().step("read the kernel's congestion controls")?.controls;
        if !controls.contains(name) {
            let known = controls.join(", ");
            return Err(TestbedError::Lacks(format!(
                "no congestion control `{name}`: this kernel has {known}"
            )));
        }
        Ok(RouteMetrics { congestion: control_name(name), ..RouteMetrics::default() })
    }

    /// Runs the command while another thread emulates the link.
    fn emulate(&self, init: Init, tuns: Vec<Tun>, border: Border) -> Result<i32, TestbedError> {
        let relayed = border.gate.as_ref().map(Gate::relayed);
        let streams = Streams::new(self.seed, 0);
        let clock = Clock::starting_in(Span::ZERO);
        let mut emulator = Emulator::new(&self.network, &streams, tuns, border, clock)?;
        let remote = emulator.remote();
        let process = init.process;
        let ferry = move || {
            let is_prioritised = sys::go_first();
            let done = emulator.run_until(Time::NEVER);
            if done.is_err() {
                // Without a link the command would wait indefinitely.
                sys::kill(process);
            }
            emulator.director.meter.clear();
            done.map(|_| fidelity(&emulator, is_prioritised))
        };
        let ferry = thread::Builder::new().name("emulator".to_owned()).spawn(ferry).step("start a thread")?;
        let code = init.run()?;
        remote.stop();
        let fidelity =
            ferry.join().map_err(|_| TestbedError::Failed("the emulator panicked".to_owned()))??;
        Ok(self.sum_up(&fidelity, relayed.and_then(|relayed| relayed.fault()), code))
    }

    /// Prints how exact the emulation was, if that is requested or it was not exact; returns the exit code.
    fn sum_up(&self, fidelity: &Fidelity, relay: Option<String>, code: i32) -> i32 {
        let mut faults = fidelity.faults();
        faults.extend(relay);
        if self.show != Show::Nowhere && !fidelity.lateness.is_empty() {
            let millis = |q| fidelity.lateness.quantile(q).unwrap_or(0) as f64 / 1e6;
            let (packets, half, most) = (fidelity.lateness.count(), millis(0.5), millis(0.99));
            eprintln!(
                "varicap: {packets} packets, half of them at most {half:.3} ms late, 99 % at most {most:.3} ms"
            );
        }
        for fault in &faults {
            eprintln!("varicap: the link was not exact: {fault}");
        }
        if self.strict && !faults.is_empty() && code == 0 { BREACH } else { code }
    }

    fn command(&self, outside: Ipv4Addr) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command.env("VARICAP_GATEWAY", outside.to_string());
        command.env("VARICAP_SHELL", (self.depth + 1).to_string());
        // As in Mahimahi, in nested shells these are the address outside all of them.
        if self.depth == 0 {
            command.env("VARICAP_OUTSIDE", outside.to_string());
        }
        if std::env::var_os("MAHIMAHI_BASE").is_none() {
            command.env("MAHIMAHI_BASE", outside.to_string());
        }
        command
    }
}

impl Far {
    /// Starts the server in its namespace, and waits until it has nothing to do: until it listens. What it prints goes to
    /// stderr.
    fn start(&self, far: &Namespace) -> Result<Option<Child>, TestbedError> {
        /// No time passes while it computes.
        const AT_REST: Duration = Duration::from_secs(1);
        let Some((program, arguments)) = self.server.split_first() else { return Ok(None) };
        let shown = program.display();
        let mut command = Command::new(program);
        let output = std::io::stderr().as_fd().try_clone_to_owned().step("share stderr")?;
        command.args(arguments).stdin(Stdio::null()).stdout(output);
        sys::start_as_usual(&mut command);
        far.move_in(&mut command)?;
        let mut server = command.spawn().step(&format!("start the server {shown}"))?;
        thread::sleep(AT_REST);
        match server.try_wait().step("look at the server")? {
            None => Ok(Some(server)),
            Some(status) => Err(TestbedError::Lacks(format!("the server {shown} has ended ({status})"))),
        }
    }
}

/// The exit code if the machine lacks something that the emulation needs.
const LACKING: i32 = 3;
/// The exit code of a strict shell whose emulation was not exact.
const BREACH: i32 = 4;

fn fidelity(emulator: &Emulator<Border>, is_prioritised: bool) -> Fidelity {
    Fidelity {
        lateness: emulator.lateness.packets.clone(),
        late_packets: emulator.lateness.late_packets,
        stalls: emulator.lateness.stalls,
        unintended_drops: emulator.refused_packets,
        is_prioritised,
        ..Fidelity::default()
    }
}

/// The addresses of the far end and the near end in a shell at depth `depth`.
fn addresses(depth: u32) -> Result<(Ipv4Addr, Ipv4Addr), TestbedError> {
    if depth >= MOST_DEPTH {
        return Err(TestbedError::Failed(format!("{depth} shells inside each other (VARICAP_SHELL)")));
    }
    let outside = u32::from(FIRST_OUTSIDE) + 4 * depth;
    Ok((Ipv4Addr::from(outside), Ipv4Addr::from(outside + 1)))
}

/// Routes packets from one end to the other, and opens connections outside before packets reach the far end.
struct Border {
    /// None in simulated time.
    gate: Option<Gate>,
    meter: Meter,
}

/// The TUN of the far end.
const FAR: u16 = 1;

impl Director for Border {
    fn direct(&mut self, _: Time, port: usize, packet: &[u8]) -> Option<Way> {
        // Route 0 leads from the command to the network outside, route 1 back. A conversation is identified by its
        // ports.
        let tag = ipv4::parse(packet)
            .map_or(0, |headers| u32::from(headers.source_port) << 16 | u32::from(headers.destination_port));
        let way = Way { route: port as u16, exit: 1 - port as u16, size: packet.len() as u16, tag };
        (packet.first()? >> 4 == 4).then_some(way)
    }

    fn on_release(&mut self, _: Time, packet: &Packet, bytes: &[u8]) {
        self.meter.on_packet(packet);
        if 1 - packet.route == FAR
            && let Some(gate) = &self.gate
            && let Some(headers) = ipv4::parse(bytes)
        {
            gate.on_packet(&headers);
        }
    }

    fn poll_at(&self, _: &Net) -> Time {
        self.meter.due
    }

    fn poll(&mut self, now: Time, net: &mut Net) {
        self.meter.show(now, net);
    }
}
