//! Runs: a network, a seed and a replication in, measured rows out; many of them over all cores.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use varicap_engine::meters_of;
use varicap_experiment::live::Live;
use varicap_experiment::packets::PacketLog;
use varicap_experiment::results::{Recorded, RunResult};
use varicap_experiment::rows::LinkRow;
use varicap_experiment::{Network, changes_per_second};
use varicap_units::{Span, Streams, Time};

use crate::budget::{Budget, Exceeded, Guard};
use crate::build::{ControlFactory, PolicyFactory, QueueFactory};
use crate::plausible;
use crate::record::{Recording, Sampler};
use crate::world::World;

/// The extensions that a run may use, and what it records in addition to its rows.
#[derive(Clone, Default)]
pub struct Options {
    /// Makes congestion controls that are not built in.
    pub controls: Option<Arc<ControlFactory>>,
    /// Makes controllers of load-reactive links that are not built in.
    pub policies: Option<Arc<PolicyFactory>>,
    /// Makes queues that are not built in.
    pub queues: Option<Arc<QueueFactory>>,
    /// What to record in addition to the rows.
    pub record: Option<Recording>,
    /// An observer of the running simulation, which is shown samples at the interval of `record`'s series.
    pub live: Option<Arc<Live>>,
    /// The memory and the time that runs may take.
    pub budget: Option<Arc<Budget>>,
}

/// The reasons for which a run may end without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The caller stopped it.
    #[error("the run was interrupted")]
    Interrupted,
    /// It took more memory or time than it may.
    #[error("stopped at {:.9} s of simulated time: {exceeded}", at.as_secs_f64())]
    OverBudget {
        /// The limit.
        exceeded: Exceeded,
        /// Simulated time that it had reached.
        at: Time,
    },
    /// A broken invariant of the simulator, or a congestion control that failed.
    #[error("the run failed: {0}")]
    Failed(String),
}

/// Runs replication `replication` of `network` under `seed`. `go_on` is called with the simulated time every so often,
/// and stops the run by returning false.
pub fn run(
    network: &Network,
    seed: u64,
    replication: u64,
    options: &Options,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<RunResult, RunError> {
    run_number(0, network, pace_of(network), seed, replication, options, go_on)
}

/// How much of simulated time passes between two pauses at most: capacities that change, and slots that pass, are
/// processed without an event.
fn pace_of(network: &Network) -> Span {
    const CHANGES_BETWEEN_QUESTIONS: f64 = 1e6;
    let changes: f64 = network.links.iter().map(|link| changes_per_second(link, network.duration)).sum();
    // As a cast: beyond the range it saturates.
    Span::from_nanos((CHANGES_BETWEEN_QUESTIONS / changes * 1e9).max(1.0) as u64)
}

/// Runs network number `number` of a scenario, with pauses at least every `pace`.
fn run_number(
    number: usize,
    network: &Network,
    pace: Span,
    seed: u64,
    replication: u64,
    options: &Options,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<RunResult, RunError> {
    let recording = options.record.as_ref();
    let packets = recording.map(|recording| recording.packets).filter(|packets| replication < packets.below);
    let log = packets.map(|packets| PacketLog::new(packets.limit));
    let guard = options.budget.as_ref().map(Guard::new);
    let mut world = World::new(network, Streams::new(seed, replication), log, guard.clone(), options);
    let tap = options.live.as_ref().map(|live| live.tap(number, replication, network.duration));
    let is_kept = recording.is_some_and(|recording| replication < recording.series.below);
    let mut sampler = recording
        .filter(|_| is_kept || tap.is_some())
        .map(|recording| Sampler::new(network, recording.series.interval, tap, is_kept));
    let end = Time::ZERO + network.duration;
    within(guard.as_ref(), &mut world, go_on, &mut |world, go_on| {
        let mut course = Course { world, pace, sampler: &mut sampler, go_on };
        let warm = Time::ZERO + network.warmup;
        if network.warmup > Span::ZERO && !course.run(Time::ZERO, warm) {
            return false;
        }
        course.world.begin_measuring(warm);
        course.run(warm, end)
    })?;
    if let Some(recording) = recording {
        let kept = sampler.filter(|_| is_kept);
        let (flows, links) = kept.map(Sampler::finish).unwrap_or_default();
        (recording.take)(Recorded { replication, network: number, flows, links, packets: world.take_log() });
    }
    Ok(rows(world, network, seed, replication, end))
}

/// What asks at a pause whether a run goes on.
type GoOn<'a> = &'a mut dyn FnMut(Time) -> bool;

/// Lets `run` run `world` while `go_on` and `guard` allow it.
fn within(
    guard: Option<&Guard>,
    world: &mut World,
    go_on: GoOn<'_>,
    run: &mut dyn FnMut(&mut World, GoOn<'_>) -> bool,
) -> Result<(), RunError> {
    let mut ended = RunError::Interrupted;
    let mut ask = |at: Time| match guard.map_or(Ok(()), |guard| guard.check(0)) {
        Ok(()) => go_on(at),
        Err(exceeded) => {
            ended = RunError::OverBudget { exceeded, at };
            false
        }
    };
    // After an error the world is dropped as it is.
    match catch_unwind(AssertUnwindSafe(|| run(world, &mut ask))) {
        Ok(true) => Ok(()),
        Ok(false) => Err(ended),
        Err(payload) => match payload.downcast::<Exceeded>() {
            Ok(exceeded) => {
                let at = world.reached().unwrap_or(Time::ZERO);
                Err(RunError::OverBudget { exceeded: *exceeded, at })
            }
            Err(panic) => resume_unwind(panic),
        },
    }
}

/// A world on its way through simulated time.
struct Course<'a, 'network> {
    world: &'a mut World,
    /// Simulated time between two pauses at most.
    pace: Span,
    sampler: &'a mut Option<Sampler<'network>>,
    go_on: GoOn<'a>,
}

impl Course<'_, '_> {
    /// Runs from `begin` to `end`, pausing at the end of each interval of the time series; returns whether it came to
    /// the end.
    fn run(&mut self, begin: Time, end: Time) -> bool {
        const POINTS_BETWEEN_QUESTIONS: usize = 1 << 16;
        let (mut now, mut points) = (begin, 0);
        while let Some(at) = self.sampler.as_ref().map(Sampler::next).filter(|&at| at <= end) {
            if !self.run_plainly(now, at) {
                return false;
            }
            now = at;
            if let Some(sampler) = self.sampler {
                sampler.sample(self.world);
                points += sampler.width();
            }
            if points >= POINTS_BETWEEN_QUESTIONS {
                points = 0;
                if !(self.go_on)(now) {
                    return false;
                }
            }
        }
        self.run_plainly(now, end)
    }

    /// Runs from `begin` to `end` without samples.
    fn run_plainly(&mut self, begin: Time, end: Time) -> bool {
        let mut now = begin;
        while end.since(now) > self.pace {
            now += self.pace;
            if !self.world.run_until(now, self.go_on) || !(self.go_on)(now) {
                return false;
            }
        }
        self.world.run_until(end, self.go_on)
    }
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

/// Runs the replications `replications` of every network, `jobs` at a time (0: one for each core), and joins the
/// results of each replication's networks: several networks are one scenario whose flows run in isolation.
///
/// `progress` is called with the share of the work that is done every so often, and interrupts all runs by returning
/// false.
pub fn run_many(
    networks: &[Network],
    seed: u64,
    replications: Range<u64>,
    options: &Options,
    jobs: usize,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<Vec<RunResult>, RunError> {
    let tasks: Vec<(u64, usize)> = replications
        .clone()
        .flat_map(|replication| (0..networks.len()).map(move |n| (replication, n)))
        .collect();
    let total: f64 =
        networks.iter().map(|n| n.duration.as_secs_f64()).sum::<f64>() * replications.count() as f64;
    let done_ns = AtomicU64::new(0);
    let stopped = AtomicBool::new(false);
    let failure = OnceLock::new();
    let paces: Vec<Span> = networks.iter().map(pace_of).collect();
    let one = |&(replication, index): &(u64, usize)| {
        let mut reported = Time::ZERO;
        let mut go_on = |now: Time| {
            done_ns.fetch_add(now.since(reported).as_nanos(), Ordering::Relaxed);
            reported = now;
            let share = done_ns.load(Ordering::Relaxed) as f64 / 1e9 / total;
            if stopped.load(Ordering::Relaxed) || !progress(share.min(1.0)) {
                stopped.store(true, Ordering::Relaxed);
                return false;
            }
            true
        };
        let (network, pace) = (&networks[index], paces[index]);
        let result = run_number(index, network, pace, seed, replication, options, &mut go_on);
        match &result {
            Ok(_) => drop(go_on(Time::ZERO + network.duration)),
            Err(error) => {
                // It stops the others, which are interrupted.
                if !stopped.swap(true, Ordering::Relaxed) {
                    let _ = failure.set(error.clone());
                }
            }
        }
        result
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|error| RunError::Failed(error.to_string()))?;
    let results: Result<Vec<RunResult>, _> = pool.install(|| tasks.par_iter().map(one).collect());
    let results = results.map_err(|error| failure.into_inner().unwrap_or(error))?;
    Ok(results.chunks(networks.len().max(1)).map(|runs| RunResult::join(networks, runs)).collect())
}
