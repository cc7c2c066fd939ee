//! Transports that are not ours: what a small one of them measures, and how a run ends with one that breaks its contract.

use std::sync::Arc;

use varicap_engine::{Datagram, Endpoint, Offer, Report, Stage};
use varicap_experiment::Scenario;
use varicap_experiment::results::RunResult;
use varicap_net::Codepoint;
use varicap_sim::{EndpointStart, Options, RunError, run_many};
use varicap_units::{Bytes, Span, Time};

/// Go-back-N with a fixed window: a datagram is its number in 8 bytes, and data; an acknowledgement the next number.
const WINDOW: u64 = 20;
const DATA: usize = 1000;
const HEADER: usize = 8;
const TIMEOUT: Span = Span::from_millis(500);

/// Where an endpoint leaves its contract.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    NeverAnswers,
    Floods,
    GoesBack,
    Panics,
    Oversized,
    TakesBack,
}

struct Sender {
    offered: u64,
    ended: bool,
    next: u64,
    acked: u64,
    timer: Time,
    fault: Fault,
    marks: u64,
}

impl Sender {
    fn last(&self) -> u64 {
        self.offered.div_ceil(DATA as u64)
    }
}

impl Endpoint for Sender {
    fn push(&mut self, now: Time, datagram: &Datagram) {
        self.marks += u64::from(datagram.ecn == Codepoint::Ce);
        let number = u64::from_le_bytes(datagram.bytes[..HEADER].try_into().unwrap());
        if number > self.acked {
            self.acked = number;
            self.next = self.next.max(number);
            self.timer = if self.acked < self.next { now + TIMEOUT } else { Time::NEVER };
        }
    }

    fn poll(&mut self, now: Time) -> Option<Datagram> {
        match self.fault {
            Fault::NeverAnswers => return None,
            Fault::Panics if now > Time::ZERO + Span::from_millis(300) => panic!("no more numbers"),
            _ => {}
        }
        if now >= self.timer {
            self.next = self.acked;
            self.timer = Time::NEVER;
        }
        let floods = self.fault == Fault::Floods && now > Time::ZERO;
        if !floods && (self.next == self.last() || self.next >= self.acked + WINDOW) {
            return None;
        }
        let data = match self.fault {
            Fault::Oversized => DATA * 2,
            _ => DATA.min((self.offered - (self.next * DATA as u64).min(self.offered)) as usize),
        };
        let mut bytes = self.next.to_le_bytes().to_vec();
        bytes.resize(HEADER + data, 0);
        self.next += 1;
        if self.timer.is_never() {
            self.timer = now + TIMEOUT;
        }
        Some(Datagram { bytes: bytes.into(), ecn: Codepoint::Ect0 })
    }

    fn poll_at(&self) -> Time {
        if self.fault == Fault::GoesBack { Time::ZERO } else { self.timer }
    }

    fn offer(&mut self, _: Time, offer: Offer) {
        match offer {
            Offer::Write(Bytes::MAX) => self.offered = u64::MAX / 2,
            Offer::Write(bytes) => self.offered += bytes.as_u64(),
            Offer::Withdraw => self.offered = self.offered.min(self.next * DATA as u64),
            Offer::End => self.ended = true,
        }
    }

    fn delivered(&self) -> u64 {
        0
    }

    fn report(&self) -> Report {
        let is_over = self.ended && self.acked == self.last();
        Report { stage: if is_over { Stage::Over } else { Stage::Running }, ..Report::default() }
    }
}

struct Receiver {
    next: u64,
    delivered: u64,
    owes: Option<Codepoint>,
    fault: Fault,
}

impl Endpoint for Receiver {
    fn push(&mut self, _: Time, datagram: &Datagram) {
        let number = u64::from_le_bytes(datagram.bytes[..HEADER].try_into().unwrap());
        if number == self.next {
            self.next += 1;
            self.delivered += (datagram.bytes.len() - HEADER) as u64;
        }
        if self.fault == Fault::TakesBack && self.next == 5 {
            self.delivered = 0;
        }
        self.owes = Some(datagram.ecn);
    }

    fn poll(&mut self, _: Time) -> Option<Datagram> {
        let ecn = self.owes.take()?;
        (self.fault != Fault::NeverAnswers).then(|| Datagram { bytes: self.next.to_le_bytes().into(), ecn })
    }

    fn poll_at(&self) -> Time {
        Time::NEVER
    }

    fn offer(&mut self, _: Time, _: Offer) {}

    fn delivered(&self) -> u64 {
        self.delivered
    }
}

fn ends([sender, receiver]: [Fault; 2]) -> [Box<dyn Endpoint>; 2] {
    let timer = Time::NEVER;
    [
        Box::new(Sender { offered: 0, ended: false, next: 0, acked: 0, timer, fault: sender, marks: 0 }),
        Box::new(Receiver { next: 0, delivered: 0, owes: None, fault: receiver }),
    ]
}

/// A flow of this transport with `more` over 10 Mb/s and 2 x 20 ms.
fn run(more: &str, faults: [Fault; 2]) -> Result<RunResult, RunError> {
    let toml = format!(
        "duration = '5 s'\n[topology.dumbbell.forward]\ncapacity = '10 Mb/s'\ndelay = '20 ms'\n\
         queue = {{ drop-tail = {{ limit = '100 packets' }} }}\n[flows.a]\nendpoint = {{ name = 'mine' }}\n{more}\n"
    );
    let scenario = Scenario::from_toml(&toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let networks = scenario.networks(&mut |name| Err(format!("no file {name} in a test"))).unwrap();
    let made = move |_: EndpointStart<'_>| Ok(ends(faults));
    let options = Options { endpoints: Some(Arc::new(made)), ..Options::default() };
    run_many(&networks, 1, 0..1, &options, 1, &|_| true).map(|mut runs| runs.remove(0))
}

const SOUND: [Fault; 2] = [Fault::None; 2];

#[test]
fn a_fixed_window_fills_the_path_as_far_as_it_goes() {
    let run = run("", SOUND).unwrap();
    let flow = &run.flows[0];
    // 20 datagrams of 1000 B for each round trip of 40 ms and the times of a packet each way.
    let round = 0.04 + 1036.0 * 8.0 / 10e6;
    let expected = (WINDOW * 8000) as f64 / round;
    assert!((flow.goodput_bps / expected - 1.0).abs() < 0.02, "{} b/s, not {expected}", flow.goodput_bps);
    assert_eq!(flow.retransmitted_packets, 0);
    assert!(flow.sent_packets >= flow.delivered_packets && flow.delivered_packets > 2400);
    let (wire, payload) = (flow.throughput_bps, flow.goodput_bps);
    assert!((wire / payload - 1036.0 / 1000.0).abs() < 1e-6, "{wire} on the wire, {payload} of data");
}

#[test]
fn transfers_complete_and_others_arrive() {
    let run = run("app = { arrivals = { rate = '20 /s', size = { fixed = '30 kB' } } }", SOUND).unwrap();
    let flow = &run.flows[0];
    assert!(flow.transfers > 60, "{} transfers", flow.transfers);
    // 30 datagrams in two rounds of 40 ms less what is waited for last; later ones may queue behind others.
    assert!(flow.fct_p50_ms > 60.0 && flow.fct_p50_ms < 90.0, "{} ms", flow.fct_p50_ms);
    assert_eq!(flow.offered_transfers, flow.transfers + flow.unfinished_transfers);
}

#[test]
fn a_stopped_flow_sends_no_more() {
    let run = run("stop = '1 s'", SOUND).unwrap();
    assert!(run.flows[0].goodput_bps < 0.3 * 20.0 * 8000.0 / 0.04);
}

#[test]
fn the_same_run_gives_the_same_rows() {
    let rows = || format!("{:?}", run("", SOUND).unwrap());
    assert_eq!(rows(), rows());
}

#[test]
fn an_endpoint_that_breaks_its_contract_ends_the_run_by_name() {
    let both = |fault| [fault, Fault::None];
    for (faults, expected) in [
        (both(Fault::NeverAnswers), "(the sender) never sent anything, from 0"),
        ([Fault::None, Fault::NeverAnswers], "(the receiver) never sent anything"),
        (both(Fault::Floods), "(the sender) sent 65536 datagrams at"),
        (both(Fault::GoesBack), "(the sender) asks at"),
        (both(Fault::Panics), "(the sender) panicked at 0.3"),
        (both(Fault::Oversized), "(the sender) sent a datagram of 2008 B; at most 1472 B"),
        ([Fault::None, Fault::TakesBack], "(the receiver) takes back what it delivered: 0 B after 4000 B"),
    ] {
        let error = run("", faults).expect_err(expected).to_string();
        let expected = format!("flow `a`: its endpoint `mine` {expected}");
        assert!(error.starts_with(&expected), "{error:?} instead of {expected:?}");
    }
}

#[test]
fn a_run_without_the_endpoint_that_it_needs_says_so() {
    let toml = "duration = '1 s'\ntopology.dumbbell.forward = {}\n[flows.a]\nquic = {}\n";
    let scenario = Scenario::from_toml(toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let networks = scenario.networks(&mut |name| Err(format!("no file {name} in a test"))).unwrap();
    let error = run_many(&networks, 1, 0..1, &Options::default(), 1, &|_| true).unwrap_err().to_string();
    assert_eq!(error, "flow `a`: its endpoint `quic` (both sides) could not be made: nobody brought one");
}

#[test]
fn keys_that_only_tcp_has_are_refused() {
    let refused = |flow: &str| {
        let toml = format!("duration = '1 s'\ntopology.dumbbell.forward = {{}}\n[flows.a]\n{flow}\n");
        Scenario::from_toml(&toml, "test.toml", &[]).unwrap_err().to_string()
    };
    for (flow, key) in [
        ("quic = { congestion = 'varicap' }\ntcp.congestion = 'bbr'", "flows.a.tcp.congestion"),
        ("quic = {}\ndatagrams = { rate = '1 Mb/s' }", "flows.a"),
        ("quic = {}\njitter = '1 ms'", "flows.a.jitter"),
        ("quic = {}\nfeedback = {}", "flows.a.feedback"),
        ("quic = { mtu = '1000 B' }", "flows.a.quic.mtu"),
        ("quic = { packet_threshold = 1 }", "flows.a.quic.packet_threshold"),
        ("endpoint = { name = '' }", "flows.a.endpoint.name"),
    ] {
        let error = refused(flow);
        assert!(error.contains(&format!(" {key}: found")), "{error}");
    }
}
