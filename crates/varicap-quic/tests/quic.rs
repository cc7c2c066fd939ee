//! QUIC over simulated links: what arithmetic and RFCs say of it, and that the same run gives the same bytes.

use std::sync::{Arc, Mutex};

use varicap_engine::{Datagram, Endpoint, Offer, Report};
use varicap_experiment::results::RunResult;
use varicap_experiment::{EndpointSpec, Scenario};
use varicap_net::Codepoint;
use varicap_sim::{EndpointStart, Options, run_many};
use varicap_units::Time;

/// All bytes that left either end, and the marks that came to either.
#[derive(Default)]
struct Wire {
    hash: u64,
    marks: [u64; 2],
    capable: u64,
}

/// Listens at an end.
struct Tapped {
    end: Box<dyn Endpoint>,
    side: usize,
    wire: Arc<Mutex<Wire>>,
}

impl Endpoint for Tapped {
    fn push(&mut self, now: Time, datagram: &Datagram) {
        self.wire.lock().unwrap().marks[self.side] += u64::from(datagram.ecn == Codepoint::Ce);
        self.end.push(now, datagram);
    }

    fn poll(&mut self, now: Time) -> Option<Datagram> {
        let datagram = self.end.poll(now)?;
        let mut wire = self.wire.lock().unwrap();
        let words = [now.as_nanos(), datagram.bytes.len() as u64];
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).chain(datagram.bytes.iter().copied());
        // FNV-1a
        wire.hash =
            bytes.fold(wire.hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        wire.capable += u64::from(datagram.ecn.is_capable());
        Some(datagram)
    }

    fn poll_at(&self) -> Time {
        self.end.poll_at()
    }

    fn offer(&mut self, now: Time, offer: Offer) {
        self.end.offer(now, offer);
    }

    fn delivered(&self) -> u64 {
        self.end.delivered()
    }

    fn report(&self) -> Report {
        self.end.report()
    }

    fn fault(&mut self) -> Option<String> {
        self.end.fault()
    }
}

fn run(toml: &str) -> (RunResult, Wire) {
    let scenario = Scenario::from_toml(toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let networks = scenario.networks(&mut |name| Err(format!("no file {name} in a test"))).unwrap();
    let wire = Arc::new(Mutex::new(Wire::default()));
    let tap = wire.clone();
    let made = move |start: EndpointStart<'_>| {
        let EndpointSpec::Quic(config) = start.endpoint else { return Err("QUIC alone".to_owned()) };
        let ends = varicap_quic::pair(config, start.control, start.now, start.seed)?;
        let mut side = 0;
        Ok(ends.map(|end| {
            side += 1;
            Box::new(Tapped { end, side: side - 1, wire: tap.clone() }) as Box<dyn Endpoint>
        }))
    };
    let options = Options { endpoints: Some(Arc::new(made)), ..Options::default() };
    let mut runs = run_many(&networks, scenario.seed, 0..1, &options, 1, &|_| true).unwrap();
    drop(options);
    (runs.remove(0), Arc::into_inner(wire).unwrap().into_inner().unwrap())
}

/// A path of so many Mb/s and 2 x `delay` ms, with `more` of its link and of the flow `q`.
fn path(rate: f64, delay: u32, link: &str, flow: &str) -> String {
    format!(
        "duration = '20 s'\nwarmup = '5 s'\n[topology.dumbbell.forward]\ncapacity = '{rate} Mb/s'\ndelay = '{delay} ms'\n{link}\n\
         [flows.q]\n{flow}\n"
    )
}

const BUFFER: &str = "queue = { drop-tail = { limit = '200 packets' } }";

#[test]
fn on_a_path_without_loss_goodput_is_the_capacity_less_headers() {
    // Of a packet of 1500 B 28 B are IP and UDP, and 1 + 8 + 16 flags, identifier and tag; its number and the header of the
    // frame vary from 4 to 13 B. A buffer of more than the window leaves no loss.
    for (congestion, rate) in [("cubic", 8.0), ("reno", 8.0), ("bbr", 8.0), ("cubic", 20.0)] {
        let link = "queue = { drop-tail = { limit = '20000 packets' } }";
        let flow = format!(
            "quic = {{ congestion = '{congestion}', receive_window = '300 kB', stream_receive_window = '300 kB' }}"
        );
        let (run, _) = run(&path(rate, 20, link, &flow));
        let flow = &run.flows[0];
        let expected = rate * 1e6 * (1500.0 - 28.0 - 25.0 - 8.5) / 1500.0;
        let error = flow.goodput_bps / expected - 1.0;
        assert!(
            error.abs() < 0.01,
            "{congestion} at {rate} Mb/s: {} b/s, {:+.2} %",
            flow.goodput_bps,
            error * 100.0
        );
        assert_eq!(flow.retransmitted_packets, 0, "{congestion}");
        assert!(flow.rtt_mean_ms >= 40.0 && flow.cwnd_mean_packets > 10.0);
    }
}

#[test]
fn the_same_run_gives_the_same_bytes_with_any_control() {
    for congestion in ["cubic", "reno", "bbr", "varicap"] {
        let toml = path(5.0, 20, BUFFER, &format!("quic = {{ congestion = '{congestion}' }}"));
        let toml = toml.replace("20 s", "6 s");
        let ((first, one), (second, other)) = (run(&toml), run(&toml));
        assert_eq!(one.hash, other.hash, "{congestion}");
        assert_eq!(format!("{first:?}"), format!("{second:?}"), "{congestion}");
        let (_, third) = run(&toml.replace("duration", "seed = 2\nduration"));
        assert_ne!(one.hash, third.hash, "{congestion}: keys are those of the seed");
    }
}

/// Prints what left both ends, for the test below, which compares processes.
#[test]
fn fingerprint() {
    let fingerprints = ["cubic", "bbr"].map(|congestion| {
        let toml = path(5.0, 20, BUFFER, &format!("quic = {{ congestion = '{congestion}' }}"))
            .replace("20 s", "6 s");
        run(&toml).1.hash
    });
    println!("fingerprint {fingerprints:?}");
}

#[test]
fn separate_processes_give_the_same_bytes() {
    let program = std::env::current_exe().unwrap();
    let fingerprint = || {
        let mut command = std::process::Command::new(&program);
        let output =
            command.args(["--exact", "fingerprint", "--nocapture", "--test-threads", "1"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().find(|line| line.contains("fingerprint [")).expect("it is printed").to_owned()
    };
    assert_eq!(fingerprint(), fingerprint());
}

#[test]
fn reno_follows_the_square_root_of_loss() {
    // Mathis et al. 1997: a window of sqrt(3 / (2 p)) packets where each second one is acknowledged in vain; RFC 9002's Reno
    // opens by a packet each round trip, so that of acknowledging each: sqrt(3 / 2) times sqrt(1 / p).
    for loss in [0.001, 0.004] {
        let toml = path(100.0, 25, &format!("loss = {loss}\n{BUFFER}"), "quic = { congestion = 'reno' }");
        let toml = toml.replace("20 s", "120 s");
        let (run, _) = run(&toml);
        let expected = (1.5f64 / loss).sqrt() * 1438.5 * 8.0 / 0.05;
        let error = run.flows[0].goodput_bps / expected - 1.0;
        assert!(
            error.abs() < 0.15,
            "at {loss}: {} b/s against {expected} ({:+.1} %)",
            run.flows[0].goodput_bps,
            error * 100.0
        );
    }
}

#[test]
fn marks_are_echoed_and_answered() {
    let link = "queue = { codel = { ecn = true } }";
    for (ecn, expect) in [(true, true), (false, false)] {
        let flow = format!("quic = {{ congestion = 'reno', ecn = {ecn} }}");
        let (run, wire) = run(&path(5.0, 20, link, &flow));
        let (flow, down) = (&run.flows[0], &run.links[0]);
        assert_eq!(wire.capable > 0, expect);
        assert_eq!(wire.marks[1] > 0, expect, "{} marks came", wire.marks[1]);
        if expect {
            assert_eq!(flow.retransmitted_packets, 0, "marks take the place of losses");
            assert!(flow.fast_retransmits > 3, "{} reductions", flow.fast_retransmits);
        } else {
            assert!(flow.retransmitted_packets > 3);
        }
        assert!(down.utilisation > 0.8, "{}", down.utilisation);
    }
}

#[test]
fn transfers_complete_each_on_a_connection_of_its_own() {
    let app = "quic = {}\napp = { arrivals = { rate = '4 /s', size = { fixed = '30 kB' } } }";
    let (run, _) = run(&path(10.0, 20, BUFFER, app));
    let flow = &run.flows[0];
    assert!(flow.transfers > 30 && flow.unfinished_transfers <= 2, "{} transfers", flow.transfers);
    // A round trip for the handshake, then 10 packets, then the rest: between two and a half and four round trips.
    assert!(flow.fct_p50_ms > 100.0 && flow.fct_p50_ms < 160.0, "{} ms", flow.fct_p50_ms);
}

#[test]
fn a_control_of_ours_drives_quinn() {
    let loss = "loss = 0.004\nqueue = { drop-tail = { limit = '200 packets' } }";
    let flow = |congestion: &str, tcp: &str| {
        let toml = path(100.0, 25, loss, &format!("quic = {{ congestion = '{congestion}' }}\n{tcp}"));
        run(&toml.replace("20 s", "60 s")).0.flows.remove(0)
    };
    for control in ["reno", "cubic"] {
        let (theirs, ours) = (flow(control, ""), flow("varicap", &format!("tcp.congestion = '{control}'")));
        let ratio = ours.goodput_bps / theirs.goodput_bps;
        // One channel, which decides by each packet that passes it.
        assert!((0.85..1.15).contains(&ratio), "our {control} in quinn has {ratio} of quinn's");
    }
}

#[test]
fn a_control_that_quinn_cannot_serve_is_refused() {
    let toml = path(5.0, 20, BUFFER, "quic = { congestion = 'varicap' }\ntcp.congestion = 'bbr'");
    let found = std::panic::catch_unwind(|| run(&toml).0);
    assert!(found.is_err(), "BBR needs samples of the delivery rate");
}

#[test]
fn a_connection_that_nothing_reaches_gives_up() {
    let link = "queue = { drop-tail = { limit = '20 packets' } }\nloss = { bernoulli = 1.0 }";
    let flow = "quic = { idle_timeout = '3 s' }\napp = { transfer = { size = '30 kB' } }";
    let (run, _) = run(&path(5.0, 20, link, flow).replace("warmup = '5 s'\n", ""));
    assert_eq!((run.flows[0].gave_up, run.flows[0].transfers, run.flows[0].unfinished_transfers), (1, 0, 1));
}
