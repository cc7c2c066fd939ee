//! Many episodes side by side, stepped on threads.

use std::sync::Arc;

use rayon::prelude::*;
use varicap_experiment::Network;
use varicap_units::{Streams, stream_name};

use super::{Episode, Report, Shape, Task};

/// A command to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The agents act.
    Step,
    /// Its next episode begins.
    Begin,
    /// Nothing: what it reported last stays.
    Leave,
}

/// The outcome of a step of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on.
    Running,
    /// The run is over.
    Truncated,
    /// There is nothing to decide any more.
    Terminated,
}

/// One episode after the other, all of the same seed.
pub struct Place {
    seed: u64,
    /// The number of the next episode.
    next: u64,
    episode: Option<Episode>,
}

/// One of several places on its way through a call.
struct Step<'a> {
    place: &'a mut Place,
    command: Command,
    actions: &'a [f32],
    report: Report<'a>,
    outcome: &'a mut Outcome,
}

/// Places with episodes of the same task.
pub struct Episodes {
    task: Task,
    shape: Shape,
    networks: Arc<[Network]>,
    places: Vec<Place>,
    /// Threads for the places; none: they are stepped on the caller's.
    threads: Option<rayon::ThreadPool>,
}

impl Episodes {
    /// `count` places for episodes of `task`, each in one of `networks`, that is drawn at its beginning; on `threads`
    /// threads, of which there is one for each core if it is 0. An error says what is wrong with a network.
    pub fn new(task: Task, networks: Vec<Network>, count: usize, threads: usize) -> Result<Episodes, String> {
        let mut shape: Option<Shape> = None;
        for network in &networks {
            let found = task.shape(network)?;
            if shape.get_or_insert_with(|| found.clone()) != &found {
                return Err("the scenarios differ in whom or how often they ask".to_owned());
            }
        }
        let shape = shape.ok_or("an environment needs a scenario")?;
        let places = (0..count).map(|place| Place { seed: place as u64, next: 0, episode: None }).collect();
        let threads = if threads == 1 || count == 1 {
            None
        } else {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Some(pool.map_err(|error| error.to_string())?)
        };
        Ok(Episodes { task, shape, networks: networks.into(), places, threads })
    }

    /// The task of the environment.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The sizes of all places.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many places there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// The episodes of place number `place` are those of `seed` from now on, beginning with the first.
    pub fn seed(&mut self, place: usize, seed: u64) {
        self.places[place] = Place { seed, next: 0, episode: None };
    }

    /// Which of the networks the episode of place number `place` is in.
    pub fn network(&self, place: usize) -> Option<usize> {
        let place = &self.places[place];
        let replication = place.next.checked_sub(1)?;
        Some(draw(self.networks.len(), Streams::new(place.seed, replication)))
    }

    /// Ends all episodes.
    pub fn clear(&mut self) {
        self.places.iter_mut().for_each(|place| place.episode = None);
    }

    /// Does what `commands` say, a command for each place, and writes what came of it; an error is that of the first place
    /// that has one.
    ///
    /// # Panics
    /// If an array has another size than places and shape say.
    pub fn go_on(
        &mut self,
        commands: &[Command],
        actions: &[f32],
        report: Report<'_>,
        outcomes: &mut [Outcome],
    ) -> Result<(), String> {
        let Shape { agents, observed, actions: acting, sampled, .. } = &self.shape;
        let (count, agents) = (self.places.len(), agents.len());
        assert_eq!(
            (commands.len(), outcomes.len()),
            (count, count),
            "a command and an outcome for each place"
        );
        assert_eq!(actions.len(), count * agents * acting, "an action for each agent");
        assert_eq!(report.samples.len(), count * agents * sampled, "a sample for each agent");
        assert_eq!(report.observations.len(), count * agents * observed, "an observation for each agent");
        assert_eq!(report.rewards.len(), count * agents, "a reward for each agent");
        if actions.iter().any(|action| action.is_nan()) {
            return Err("an action is not a number".to_owned());
        }
        let reports = (report.samples.chunks_exact_mut(agents * sampled))
            .zip(report.observations.chunks_exact_mut(agents * observed))
            .zip(report.rewards.chunks_exact_mut(agents));
        let places = self.places.iter_mut().zip(commands).zip(actions.chunks_exact(agents * acting));
        let mut turns: Vec<Step<'_>> = (places.zip(reports).zip(outcomes))
            .map(|((((place, &command), actions), ((samples, observations), rewards)), outcome)| {
                let report = Report { samples, observations, rewards };
                Step { place, command, actions, report, outcome }
            })
            .collect();
        let (task, shape, networks) = (&self.task, &self.shape, &*self.networks);
        let one = |turn: &mut Step<'_>| turn.run(task, shape, networks);
        match &self.threads {
            None => turns.iter_mut().try_for_each(one),
            Some(pool) => pool.install(|| turns.par_iter_mut().map(one).reduce(|| Ok(()), Result::and)),
        }
    }
}

impl Step<'_> {
    fn run(&mut self, task: &Task, shape: &Shape, networks: &[Network]) -> Result<(), String> {
        match self.command {
            Command::Leave => {}
            Command::Begin => {
                let streams = Streams::new(self.place.seed, self.place.next);
                let network = &networks[draw(networks.len(), streams)];
                self.place.next += 1;
                self.place.episode = None;
                let begun = Episode::begin(task, shape, network, streams, &mut self.report)?;
                self.place.episode = Some(begun);
                *self.outcome = Outcome::Running;
            }
            Command::Step => {
                let episode = self.place.episode.as_mut();
                let episode = episode.ok_or("a step before the beginning of an episode, or after its end")?;
                *self.outcome = episode.step(self.actions, &mut self.report);
                if *self.outcome != Outcome::Running {
                    self.place.episode = None;
                }
            }
        }
        Ok(())
    }
}

/// Which of `networks` an episode with `streams` is in.
fn draw(networks: usize, streams: Streams) -> usize {
    if networks == 1 {
        return 0;
    }
    streams.stream(&stream_name::episode()).below(networks as u64) as usize
}
