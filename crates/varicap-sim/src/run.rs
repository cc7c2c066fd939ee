//! Runs: a network, a seed and a replication in, measured rows out; many of them over all cores.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use varicap_engine::Breach;
use varicap_experiment::Network;
use varicap_experiment::results::RunResult;
use varicap_units::{Span, Time};

use crate::budget::{Exceeded, Guard};
use crate::course::{Course, GoOn, pace_of};
use crate::options::Options;

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
    /// An endpoint that the run was given broke its contract.
    #[error("{0}")]
    Endpoint(#[from] Breach),
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
    let guard = options.budget.as_ref().map(Guard::new);
    let tap = options.live.as_ref().map(|live| live.tap(number, replication, network.duration));
    let begin = || Course::new(network, seed, replication, options, pace, guard.clone(), tap);
    let begun = watched(guard.as_ref(), begin);
    let mut course = begun.map_err(|exceeded| RunError::OverBudget { exceeded, at: Time::ZERO })?;
    within(guard.as_ref(), &mut course, go_on)?;
    let (result, mut recorded) = course.finish(network);
    if let Some(recording) = &options.record {
        recorded.network = number;
        (recording.take)(recorded);
    }
    Ok(result)
}

/// Does `work` within the budget of `guard`, if there is one.
fn watched<T>(guard: Option<&Guard>, work: impl FnOnce() -> T) -> Result<T, Exceeded> {
    match guard {
        Some(guard) => guard.watch(work),
        None => Ok(work()),
    }
}

/// Lets `course` run to its end while `go_on` and `guard` allow it.
fn within(guard: Option<&Guard>, course: &mut Course<'_>, go_on: GoOn<'_>) -> Result<(), RunError> {
    let mut ended = RunError::Interrupted;
    let mut ask = |at: Time| match guard.map_or(Ok(()), |guard| guard.check(0)) {
        Ok(()) => go_on(at),
        Err(exceeded) => {
            ended = RunError::OverBudget { exceeded, at };
            false
        }
    };
    // After an error the world is dropped as it is.
    match watched(guard, || course.run_to_end(&mut ask)) {
        Ok(reached) => match (course.take_fault(reached), reached) {
            (Some(breach), _) => Err(breach.into()),
            (None, true) => Ok(()),
            (None, false) => Err(ended),
        },
        Err(exceeded) => Err(RunError::OverBudget { exceeded, at: course.reached() }),
    }
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
    let alone = |&(replication, index): &(u64, usize)| {
        // Short runs ask nobody.
        if stopped.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
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
            Ok(run) => {
                if let Some(finished) = &options.finished {
                    finished(index, run);
                }
                let _ = go_on(Time::ZERO + network.duration);
            }
            Err(error) => {
                // It stops the others, which are interrupted.
                if !stopped.swap(true, Ordering::Relaxed) {
                    let _ = failure.set(error.clone());
                }
            }
        }
        result
    };
    let one = |task: &(u64, usize)| {
        let Some(around) = &options.around else { return alone(task) };
        let mut result = Err(RunError::Interrupted);
        around(&mut || result = alone(task));
        result
    };
    let results: Result<Vec<RunResult>, _> = if jobs == 1 || tasks.len() == 1 {
        tasks.iter().map(one).collect()
    } else {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
        let pool = pool.map_err(|error| RunError::Failed(error.to_string()))?;
        pool.install(|| tasks.par_iter().map(one).collect())
    };
    let results = results.map_err(|error| failure.into_inner().unwrap_or(error))?;
    if let [_] = networks {
        return Ok(results);
    }
    Ok(results.chunks(networks.len().max(1)).map(|runs| RunResult::join(networks, runs)).collect())
}
