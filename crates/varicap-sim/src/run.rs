//! Runs: a network, a seed and a replication in, measured rows out; many of them over all cores.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use varicap_engine::meters_of;
use varicap_experiment::Network;
use varicap_experiment::live::Live;
use varicap_experiment::packets::PacketLog;
use varicap_experiment::results::{Recorded, RunResult};
use varicap_experiment::rows::{GroupRows, LinkRow};
use varicap_units::{Span, Streams, Time};

use crate::build::{ControlFactory, PolicyFactory, QueueFactory};
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
}

/// The reasons for which a run may end without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The caller stopped it.
    #[error("the run was interrupted")]
    Interrupted,
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
    run_number(0, network, seed, replication, options, go_on)
}

/// Runs network number `number` of a scenario.
fn run_number(
    number: usize,
    network: &Network,
    seed: u64,
    replication: u64,
    options: &Options,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<RunResult, RunError> {
    let recording = options.record.as_ref();
    let packets = recording.map(|recording| recording.packets).filter(|packets| replication < packets.below);
    let log = packets.map(|packets| PacketLog::new(packets.limit));
    let mut world = World::new(network, Streams::new(seed, replication), log, options);
    let tap = options.live.as_ref().map(|live| live.tap(number, replication, network.duration));
    let is_kept = recording.is_some_and(|recording| replication < recording.series.below);
    let mut sampler = recording
        .filter(|_| is_kept || tap.is_some())
        .map(|recording| Sampler::new(network, recording.series.interval, tap, is_kept));
    let end = Time::ZERO + network.duration;
    let warm = Time::ZERO + network.warmup;
    if network.warmup > Span::ZERO {
        ran(run_sampled(&mut world, warm, &mut sampler, go_on))?;
    }
    world.begin_measuring(warm);
    ran(run_sampled(&mut world, end, &mut sampler, go_on))?;
    if let Some(recording) = recording {
        let kept = sampler.filter(|_| is_kept);
        let (flows, links) = kept.map(Sampler::finish).unwrap_or_default();
        (recording.take)(Recorded { replication, network: number, flows, links, packets: world.take_log() });
    }
    Ok(rows(world, network, seed, replication, end))
}

/// Runs until `end`, pausing at the end of each interval of the time series.
fn run_sampled(
    world: &mut World,
    end: Time,
    sampler: &mut Option<Sampler<'_>>,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> bool {
    if let Some(sampler) = sampler {
        while sampler.next() <= end {
            if !world.run_until(sampler.next(), go_on) {
                return false;
            }
            sampler.sample(world);
        }
    }
    world.run_until(end, go_on)
}

fn ran(to_the_end: bool) -> Result<(), RunError> {
    if to_the_end { Ok(()) } else { Err(RunError::Interrupted) }
}

fn rows(world: World, network: &Network, seed: u64, replication: u64, end: Time) -> RunResult {
    let measured = world.finish(end);
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
        result.add_group(GroupRows::new(&spec.name, &members));
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
        let result = run_number(index, &networks[index], seed, replication, options, &mut go_on);
        go_on(Time::ZERO + networks[index].duration);
        result
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|error| RunError::Failed(error.to_string()))?;
    let results: Vec<RunResult> = pool.install(|| tasks.par_iter().map(one).collect::<Result<_, _>>())?;
    Ok(results.chunks(networks.len().max(1)).map(|runs| RunResult::join(networks, runs)).collect())
}
