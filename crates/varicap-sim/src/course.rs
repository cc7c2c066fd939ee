//! One run on its way through simulated time, which may pause anywhere: pausing changes no result.

use varicap_engine::{Breach, meters_of};
use varicap_experiment::live::Tap;
use varicap_experiment::packets::PacketLog;
use varicap_experiment::results::{Recorded, RunResult};
use varicap_experiment::rows::LinkRow;
use varicap_experiment::series::{FlowSeries, LinkSeries};
use varicap_experiment::{Network, changes_per_second};
use varicap_units::{Span, Streams, Time};

use crate::budget::Guard;
use crate::options::Options;
use crate::plausible;
use crate::record::Sampler;
use crate::world::World;

/// The callback that decides at a pause whether a run goes on.
pub(crate) type GoOn<'a> = &'a mut dyn FnMut(Time) -> bool;

/// A run on its way: whoever holds it decides how far it goes at a time.
pub struct Course<'a> {
    world: World,
    sampler: Option<Sampler<'a>>,
    /// Whether the series are results, rather than only shown to an observer.
    is_kept: bool,
    seed: u64,
    replication: u64,
    /// Simulated time between two pauses at most.
    pace: Span,
    now: Time,
    /// When measuring begins.
    warm: Time,
    is_measuring: bool,
    end: Time,
}

impl<'a> Course<'a> {
    /// Replication `replication` of `network` under `seed`, at time zero; it has no budget and no observer.
    pub fn begin(network: &Network, seed: u64, replication: u64, options: &Options) -> Course<'a> {
        Course::new(network, seed, replication, options, pace_of(network), None, None)
    }

    /// The same with pauses at least every `pace`, watched by `guard` and shown through `tap`.
    pub(crate) fn new(
        network: &Network,
        seed: u64,
        replication: u64,
        options: &Options,
        pace: Span,
        guard: Option<Guard>,
        tap: Option<Tap<'a>>,
    ) -> Course<'a> {
        let recording = options.record.as_ref();
        let packets =
            recording.map(|recording| recording.packets).filter(|packets| replication < packets.below);
        let log = packets.map(|packets| PacketLog::new(packets.limit));
        let is_kept = recording.is_some_and(|recording| replication < recording.series.below);
        let sampler = recording
            .filter(|_| is_kept || tap.is_some())
            .map(|recording| Sampler::new(network, recording.series.interval, tap, is_kept));
        let streams = Streams::new(seed, replication);
        let streams = if network.draws_nothing() { streams.silent() } else { streams };
        Course {
            world: World::new(network, streams, log, guard, options),
            sampler,
            is_kept,
            seed,
            replication,
            pace,
            now: Time::ZERO,
            warm: Time::ZERO + network.warmup,
            is_measuring: false,
            end: Time::ZERO + network.duration,
        }
    }

    /// Simulated time up to which it has run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The time series of the flows so far; empty where none is recorded.
    pub fn flows(&self) -> impl Iterator<Item = &FlowSeries> {
        self.sampler.iter().flat_map(Sampler::flows)
    }

    /// The time series of the links so far; empty where none is recorded.
    pub fn links(&self) -> &[LinkSeries] {
        self.sampler.as_ref().map_or(&[], Sampler::links)
    }

    /// Runs until `until`, or to the end of the run if that is earlier. `go_on` is called with the simulated time every
    /// so often, and stops the run by returning false; returns whether it came that far.
    pub fn run_until(&mut self, until: Time, go_on: GoOn<'_>) -> bool {
        let until = until.min(self.end);
        debug_assert!(self.now <= until, "time does not run backwards");
        if !self.is_measuring {
            if self.now < self.warm && !self.advance(self.warm.min(until), go_on) {
                return false;
            }
            if self.now < self.warm {
                return true;
            }
            self.world.begin_measuring(self.warm);
            self.is_measuring = true;
        }
        self.advance(until, go_on)
    }

    /// Runs to the end.
    pub(crate) fn run_to_end(&mut self, go_on: GoOn<'_>) -> bool {
        self.run_until(self.end, go_on)
    }

    /// What an endpoint did that ended the run, or ends it now that it `is_over`.
    pub(crate) fn take_fault(&mut self, is_over: bool) -> Option<Breach> {
        self.world.take_fault(is_over.then_some(self.end))
    }

    /// Simulated time of the last event, even if an event was broken off.
    pub(crate) fn reached(&mut self) -> Time {
        self.world.reached().unwrap_or(Time::ZERO)
    }

    /// Runs to `end`, pausing at the end of each interval of the time series.
    fn advance(&mut self, end: Time, go_on: GoOn<'_>) -> bool {
        const POINTS_BETWEEN_QUESTIONS: usize = 1 << 16;
        let mut points = 0;
        while let Some(at) = self.sampler.as_ref().map(Sampler::next).filter(|&at| at <= end) {
            if !self.advance_plainly(at, go_on) {
                return false;
            }
            if let Some(sampler) = &mut self.sampler {
                sampler.sample(&mut self.world);
                points += sampler.width();
            }
            if points >= POINTS_BETWEEN_QUESTIONS {
                points = 0;
                if !go_on(at) {
                    return false;
                }
            }
        }
        self.advance_plainly(end, go_on)
    }

    /// Runs to `end` without samples.
    fn advance_plainly(&mut self, end: Time, go_on: GoOn<'_>) -> bool {
        while end.since(self.now) > self.pace {
            self.now += self.pace;
            if !self.world.run_until(self.now, go_on) || !go_on(self.now) {
                return false;
            }
        }
        self.now = end;
        self.world.run_until(end, go_on)
    }

    /// The result of `network`, of which this is a run that has come to its end, and what was recorded in addition.
    pub fn finish(mut self, network: &Network) -> (RunResult, Recorded) {
        assert_eq!(self.now, self.end, "a run has a result when it has come to its end");
        let kept = self.sampler.take().filter(|_| self.is_kept);
        let (flows, links) = kept.map(Sampler::finish).unwrap_or_default();
        let packets = self.world.take_log();
        let recorded =
            Recorded { replication: self.replication, flows, links, packets, ..Recorded::default() };
        (rows(self.world, network, self.seed, self.replication, self.end), recorded)
    }
}

/// How much of simulated time passes between two pauses at most: capacities that change, and slots that pass, are
/// processed without an event.
pub(crate) fn pace_of(network: &Network) -> Span {
    const CHANGES_BETWEEN_QUESTIONS: f64 = 1e6;
    let changes: f64 = network.links.iter().map(|link| changes_per_second(link, network.duration)).sum();
    // As a cast: beyond the range it saturates.
    Span::from_nanos((CHANGES_BETWEEN_QUESTIONS / changes * 1e9).max(1.0) as u64)
}

fn rows(world: World, network: &Network, seed: u64, replication: u64, end: Time) -> RunResult {
    let measured = world.finish(end);
    for (spec, measure) in network.links.iter().zip(&measured.links) {
        plausible::assert_possible(&spec.name, measure);
    }
    let links = network.links.iter().zip(&measured.links);
    let links = links.map(|(spec, measure)| LinkRow::new(&spec.name, "", measure)).collect();
    let mut measures = measured.flows.into_iter();
    let mut result = RunResult {
        replication,
        seed,
        simulated: network.duration,
        measured: network.duration.saturating_sub(network.warmup),
        events: measured.events,
        links,
        ..RunResult::default()
    };
    for spec in &network.flows {
        let members: Vec<_> = measures.by_ref().take(meters_of(spec) as usize).collect();
        result.add_group(spec, &members);
    }
    result
}

#[cfg(test)]
mod tests {
    use varicap_experiment::Scenario;

    use super::*;

    /// A run, of which every connection is also woken at each `interval`, if there is one.
    fn run(network: &Network, interval: Option<Span>) -> RunResult {
        let mut course = Course::begin(network, 1, 0, &Options::default());
        while let Some(interval) = interval.filter(|&interval| course.end.since(course.now) > interval) {
            let until = course.now + interval;
            assert!(course.run_until(until, &mut |_| true));
            course.world.wake_all(until);
        }
        assert!(course.run_to_end(&mut |_| true));
        let (result, _) = course.finish(network);
        RunResult { events: 0, ..result }
    }

    /// Three flows over either of two `rates`, each for `holding` on average, with as much `delay` each way and `loss`; each flow
    /// has `more`.
    fn network([high, low]: [&str; 2], holding: &str, delay: &str, loss: f64, more: &str) -> Network {
        let toml = format!(
            r#"
            duration = "20 s"
            [topology.dumbbell.forward]
            capacity = {{ markov = {{ rates = ["{high}", "{low}"], mean_holding = ["{holding}", "{holding}"] }} }}
            delay = "{delay}"
            loss = {loss:?}
            queue = {{ drop-tail = {{ limit = "10 packets" }} }}
            [topology.dumbbell.reverse]
            delay = "{delay}"
            [flows.a]
            count = 3
            {more}
            "#
        );
        let scenario = Scenario::from_toml(&toml, "scenario", &[]).unwrap();
        scenario.resolve(&mut |_| Err("no files".into())).unwrap()
    }

    #[test]
    fn a_connection_that_is_woken_in_vain_does_nothing_else_than_before() {
        const ADVICE: &str =
            r#"feedback = { cap = true, scone = { period = "268 ms", update = "80 ms", spread = "40 ms" } }"#;
        const PAUSES: &str = r#"app = { on-off = { on = "300 ms", off = "400 ms", rate = "3 Mbit/s" } }"#;
        let (fast, slow) = (["4 Mbit/s", "1 Mbit/s"], ["400 kbit/s", "60 kbit/s"]);
        for (rates, holding, delay, loss) in
            [(fast, "2 s", "10 ms", 0.0), (slow, "60 ms", "10 ms", 0.3), (fast, "2 s", "150 ms", 0.001)]
        {
            for more in [
                ADVICE,
                PAUSES,
                "feedback = { cap = true }",
                r#"tcp.congestion = "bbr""#,
                r#"tcp = { stack = "rfc", timer = "ticks" }"#,
                &format!("tcp.stack = \"rfc\"\n{ADVICE}"),
                &format!("tcp.stack = \"rfc\"\n{PAUSES}"),
            ] {
                for jitter in ["0 ms", "1 ms"] {
                    let network =
                        network(rates, holding, delay, loss, &format!("jitter = \"{jitter}\"\n{more}"));
                    let calm = format!("{:?}", run(&network, None));
                    for interval in [Span::from_micros(700), Span::from_millis(13)] {
                        let woken = format!("{:?}", run(&network, Some(interval)));
                        assert_eq!(woken, calm, "{holding}, {delay}, {loss}, {jitter}, {more}");
                    }
                }
            }
        }
    }
}
