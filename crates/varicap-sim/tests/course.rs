//! A run that pauses has the results of one that does not.

use std::sync::{Arc, Mutex};

use varicap_experiment::results::{Recorded, RunResult};
use varicap_experiment::{Network, Scenario};
use varicap_sim::{Course, Options, PacketRecording, Recording, SeriesRecording, run};
use varicap_units::{Span, Time};

const SCENARIO: &str = "duration = '3 s'\nwarmup = '700 ms'\n[topology.dumbbell.forward]
capacity = { markov = { rates = ['4 Mbit/s', '1 Mbit/s'], mean_holding = ['200 ms', '300 ms'] } }
delay = '20 ms'\nqueue = { drop-tail = { limit = '9 packets' } }\nloss = { bernoulli = 0.01 }
[flows.a]\ntcp = { congestion = 'reno' }\n[flows.b]\nstart = '1 s'\ntcp = { congestion = 'cubic' }\n";

fn network() -> Network {
    let scenario = Scenario::from_toml(SCENARIO, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    scenario.networks(&mut |name| Err(format!("no file {name} in a test"))).unwrap().remove(0)
}

fn options(take: Arc<dyn Fn(Recorded) + Send + Sync>) -> Options {
    let recording = Recording {
        series: SeriesRecording { interval: Span::from_millis(30), below: u64::MAX },
        packets: PacketRecording { limit: usize::MAX, below: u64::MAX },
        take,
    };
    Options { record: Some(recording), ..Options::default() }
}

fn without_a_pause(network: &Network) -> (RunResult, Recorded) {
    let taken = Arc::new(Mutex::new(Recorded::default()));
    let keep = taken.clone();
    let options = options(Arc::new(move |recorded| *keep.lock().unwrap() = recorded));
    let result = run(network, 7, 2, &options, &mut |_| true).unwrap();
    (result, std::mem::take(&mut taken.lock().unwrap()))
}

fn with_pauses(network: &Network, every: Span) -> (RunResult, Recorded) {
    let mut course = Course::begin(network, 7, 2, &options(Arc::new(|_| ())));
    let end = Time::ZERO + network.duration;
    while course.now() < end {
        let until = course.now() + every;
        assert!(course.run_until(until, &mut |_| true));
        let ended = course.flows().next().map_or(0, |flow| flow.points.len());
        let whole = course.now().since(Time::ZERO).as_nanos() / Span::from_millis(30).as_nanos();
        assert_eq!(ended as u64, whole, "the series has each interval that has ended");
    }
    course.finish(network)
}

/// The events of packets: links that are brought up to date at a pause report earlier, with the same instants.
fn sorted(recorded: &Recorded) -> Vec<String> {
    let mut events: Vec<String> =
        recorded.packets.iter().flat_map(|log| log.records()).map(|one| format!("{one:?}")).collect();
    events.sort();
    events
}

#[test]
fn pauses_anywhere_change_nothing() {
    let network = network();
    let (result, recorded) = without_a_pause(&network);
    assert!(result.flows.len() == 2 && recorded.packets.as_ref().is_some_and(|log| log.len() > 1000));
    for every in
        [Span::from_nanos(1_234_567), Span::from_millis(30), Span::from_millis(700), Span::from_secs(9)]
    {
        let (paused, more) = with_pauses(&network, every);
        // NaN differs from itself, its text does not.
        assert_eq!(format!("{paused:?}"), format!("{result:?}"), "every {every}");
        assert_eq!(format!("{:?}", more.flows), format!("{:?}", recorded.flows));
        assert_eq!(sorted(&more), sorted(&recorded));
    }
}

/// Senders whose answers are held back at random, on links that plan their departures: most answers come next after what
/// they answer, and then are no wake of their own.
#[test]
fn pauses_change_nothing_between_what_arrives_and_its_answer() {
    let scenario = "duration = '2 s'\n[topology.dumbbell.forward]\ncapacity = '10 Mbit/s'\ndelay = '5 ms'\n[flows.a]\n\
        count = 3\njitter = '700 us'\ntcp.ack = 'every'\n[flows.b]\napp = { transfer = { size = '400 kB' } }\njitter = '1 ms'\n";
    let scenario = Scenario::from_toml(scenario, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let network = scenario.networks(&mut |name| Err(format!("no file {name} in a test"))).unwrap().remove(0);
    let whole = run(&network, 3, 0, &Options::default(), &mut |_| true).unwrap();
    assert!(whole.events > 4_000 && whole.links[0].dropped_packets > 0);
    for every in [Span::from_nanos(98_765), Span::from_millis(3)] {
        let mut course = Course::begin(&network, 3, 0, &Options::default());
        while course.now() < Time::ZERO + network.duration {
            let until = course.now() + every;
            assert!(course.run_until(until, &mut |_| true));
        }
        assert_eq!(format!("{:?}", course.finish(&network).0), format!("{whole:?}"), "every {every}");
    }
}

#[test]
#[should_panic(expected = "has come to its end")]
fn half_a_run_has_no_result() {
    let network = network();
    let mut course = Course::begin(&network, 7, 2, &Options::default());
    course.run_until(Time::ZERO + Span::from_secs(1), &mut |_| true);
    course.finish(&network);
}
