//! Episodes: runs that pause at the end of each interval, for an environment to decide. Sources of decisions are
//! programs that learn: what they see, what they may move and what they are rewarded with is a [`Task`].
//!
//! ```text
//!  network, seed ──► world ──► interval ends ──► samples, observations, rewards
//!                      ▲                                      │
//!                      └────────────── actions ◄──────────────┘
//! ```
//!
//! A decision falls on the very node that polls a policy in an ordinary run, so that the same actions give the same run.

mod advice;
mod flows;
mod link;
mod many;

use varicap_experiment::{FlowSpec, Network, Transport};
use varicap_tcp::congestion::Quantity;
use varicap_units::{Streams, Time};

use crate::options::Options;
use crate::world::{Decisions, World};

pub use advice::AdviceTask;
pub use flows::FlowTask;
pub use link::LinkTask;
pub use many::{Command, Episodes, Outcome};

/// The decisions of an environment.
#[derive(Clone, Debug)]
pub enum Task {
    /// The windows or rates of all flows whose policy has neither file nor name.
    Flows(FlowTask),
    /// The capacity of a load-reactive link.
    Link(LinkTask),
    /// The advice to a flow group about its rate.
    Advice(AdviceTask),
}

/// The sizes of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The names of those for whom actions decide: connections, or one link.
    pub agents: Vec<String>,
    /// How many numbers an observation of one of them has.
    pub observed: usize,
    /// How many numbers an action of one of them has.
    pub actions: usize,
    /// How many numbers a sample of one of them has.
    pub sampled: usize,
    /// When decisions fall.
    pub decisions: Decisions,
}

impl Task {
    /// The sizes of the task in `network`; an error says why there is none.
    pub fn shape(&self, network: &Network) -> Result<Shape, String> {
        let foreign = |flow: &&FlowSpec| matches!(flow.transport, Transport::Endpoint { .. });
        if let Some(flow) = network.flows.iter().find(foreign) {
            return Err(format!(
                "flow `{}` has a transport that environments have no place for: TCP and datagrams",
                flow.name
            ));
        }
        match self {
            Task::Flows(task) => task.shape(network),
            Task::Link(task) => task.shape(network),
            Task::Advice(task) => task.shape(network),
        }
    }

    /// The quantities of a sample.
    pub fn sampled(&self) -> &'static [Quantity] {
        match self {
            Task::Flows(_) => &flows::SAMPLED,
            Task::Link(_) => &link::SAMPLED,
            Task::Advice(_) => &advice::SAMPLED,
        }
    }

    /// The quantities of an observation; of the last interval, where it describes several.
    pub fn observed(&self) -> &'static [Quantity] {
        match self {
            Task::Flows(_) => &varicap_tcp::congestion::OBSERVED,
            Task::Link(_) => &link::OBSERVED,
            Task::Advice(_) => &advice::OBSERVED,
        }
    }

    /// The state of the task in a world of `network`, which it prepares.
    fn driver(&self, network: &Network, world: &mut World) -> Driver {
        match self {
            Task::Flows(task) => Driver::Flows(task.driver(network)),
            Task::Link(task) => Driver::Link(task.driver(network, world)),
            Task::Advice(task) => Driver::Advice(Box::new(task.driver(network))),
        }
    }
}

/// The report of an interval, for all agents one after the other.
pub struct Report<'a> {
    /// The samples, in the units of [`Task::sampled`].
    pub samples: &'a mut [f64],
    /// The same as the agents observe it.
    pub observations: &'a mut [f32],
    /// The rewards of the interval.
    pub rewards: &'a mut [f64],
}

/// The state of a task in an episode.
enum Driver {
    Flows(flows::FlowDriver),
    Link(link::LinkDriver),
    Advice(Box<advice::AdviceDriver>),
}

impl Driver {
    /// The interval ends at `now`.
    fn report(&mut self, now: Time, world: &mut World, report: &mut Report<'_>) {
        match self {
            Driver::Flows(driver) => driver.report(now, world, report),
            Driver::Link(driver) => driver.report(now, world, report),
            Driver::Advice(driver) => driver.report(now, world, report),
        }
    }

    /// The agents act at `now`.
    fn act(&mut self, now: Time, world: &mut World, actions: &[f32]) {
        match self {
            Driver::Flows(driver) => driver.act(now, world, actions),
            Driver::Link(driver) => driver.act(now, world, actions),
            Driver::Advice(driver) => driver.act(now, world, actions),
        }
    }

    /// How far the agents have come.
    fn phase(&self) -> Phase {
        match self {
            Driver::Flows(driver) => driver.phase(),
            Driver::Link(_) | Driver::Advice(_) => Phase::Acting,
        }
    }
}

/// How far the agents of an episode have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// None of them has anything to decide yet.
    Waiting,
    /// At least one of them decides.
    Acting,
    /// None of them will have anything to decide any more.
    Over,
}

/// A run that pauses at each decision.
struct Episode {
    world: World,
    driver: Driver,
    /// The instant at which the next action counts.
    now: Time,
    end: Time,
}

impl Episode {
    /// A run of `network` up to the first decision: the agents of `task` observe the time until then in `report`.
    fn begin(
        task: &Task,
        shape: &Shape,
        network: &Network,
        streams: Streams,
        report: &mut Report<'_>,
    ) -> Result<Episode, String> {
        let mut world =
            World::deciding(network, streams, None, None, &Options::default(), Some(shape.decisions));
        let driver = task.driver(network, &mut world);
        let end = Time::ZERO + network.duration;
        let mut episode = Episode { world, driver, now: Time::ZERO, end };
        let mut outcome = episode.go_on(report);
        while outcome == Outcome::Running && episode.driver.phase() == Phase::Waiting {
            episode.world.pass_decision(episode.now);
            outcome = episode.go_on(report);
        }
        report.rewards.fill(0.0);
        if outcome == Outcome::Running { Ok(episode) } else { Err(no_decision(network)) }
    }

    /// The agents act, and the run goes on to the next decision or to its end, which `report` describes.
    fn step(&mut self, actions: &[f32], report: &mut Report<'_>) -> Outcome {
        self.driver.act(self.now, &mut self.world, actions);
        self.world.pass_decision(self.now);
        self.go_on(report)
    }

    fn go_on(&mut self, report: &mut Report<'_>) -> Outcome {
        let decision = self.world.run_to_decision(self.end).filter(|now| *now < self.end);
        self.now = decision.unwrap_or(self.end);
        self.driver.report(self.now, &mut self.world, report);
        match decision {
            _ if self.driver.phase() == Phase::Over => Outcome::Terminated,
            Some(_) => Outcome::Running,
            None => Outcome::Truncated,
        }
    }
}

fn no_decision(network: &Network) -> String {
    format!("the run is over after {} s, before there is anything to decide", network.duration.as_secs_f64())
}

/// `part` over `whole`; zero over nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
