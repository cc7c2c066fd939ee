//! Environments: many episodes side by side, whose numbers are read from and written into NumPy arrays.

use std::sync::{Mutex, PoisonError};

use numpy::{PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use varicap_sim::{AdviceTask, Command, Episodes, FlowTask, LinkTask, Outcome, Report, Task};
use varicap_tcp::congestion::Quantity;
use varicap_units::Rate;

use crate::scenario::PyScenario;

/// A quantity as name, unit and meaning.
pub type Described = (&'static str, &'static str, &'static str);

/// Episodes of one task, a place for each that is under way.
#[pyclass(frozen, name = "Episodes", module = "varicap._core")]
pub struct PyEpisodes {
    episodes: Mutex<Episodes>,
}

impl PyEpisodes {
    fn with<T>(&self, ask: impl FnOnce(&mut Episodes) -> T) -> T {
        ask(&mut self.episodes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The task called `kind` about `name`.
fn task(kind: &str, name: &str, weights: [f64; 3], step_bps: f64) -> PyResult<Task> {
    if !weights.iter().all(|weight| weight.is_finite()) || !(0.0..=1e15).contains(&step_bps) {
        return Err(PyValueError::new_err("weights are finite numbers, and a step is a rate from 0 on"));
    }
    let [first, second, third] = weights;
    let name = name.to_owned();
    match kind {
        "flows" => Ok(Task::Flows(FlowTask { throughput: first, delay: second, loss: third })),
        "link" => {
            let step = Rate::from_bps((step_bps + 0.5) as u64);
            Ok(Task::Link(LinkTask { link: name, step, per_mbps: first, per_kb: second, per_lost: third }))
        }
        "advice" => {
            Ok(Task::Advice(AdviceTask { flow: name, throughput: first, delay: second, loss: third }))
        }
        _ => Err(PyValueError::new_err(format!("there is no task `{kind}`"))),
    }
}

/// Quantities in the form that Python takes.
pub fn described(quantities: &[Quantity]) -> Vec<Described> {
    quantities.iter().map(|one| (one.name, one.unit, one.description)).collect()
}

#[pymethods]
impl PyEpisodes {
    #[new]
    #[pyo3(signature = (scenarios, kind, name, *, weights, step_bps=0.0, count=1, threads=0))]
    fn new(
        scenarios: Vec<PyRef<'_, PyScenario>>,
        kind: &str,
        name: &str,
        weights: [f64; 3],
        step_bps: f64,
        count: usize,
        threads: usize,
    ) -> PyResult<PyEpisodes> {
        let mut networks = Vec::with_capacity(scenarios.len());
        for scenario in &scenarios {
            let [network] = &scenario.networks[..] else {
                return Err(PyValueError::new_err("flows that are isolated have no environment in common"));
            };
            networks.push(network.clone());
        }
        let episodes = Episodes::new(task(kind, name, weights, step_bps)?, networks, count, threads);
        Ok(PyEpisodes { episodes: Mutex::new(episodes.map_err(PyValueError::new_err)?) })
    }

    #[getter]
    fn agents(&self) -> Vec<String> {
        self.with(|episodes| episodes.shape().agents.clone())
    }

    #[getter]
    fn count(&self) -> usize {
        self.with(|episodes| episodes.count())
    }

    /// How many numbers an observation, an action and a sample of an agent have.
    #[getter]
    fn sizes(&self) -> (usize, usize, usize) {
        self.with(|episodes| {
            let shape = episodes.shape();
            (shape.observed, shape.actions, shape.sampled)
        })
    }

    #[getter]
    fn sampled(&self) -> Vec<Described> {
        self.with(|episodes| described(episodes.task().sampled()))
    }

    #[getter]
    fn observed(&self) -> Vec<Described> {
        self.with(|episodes| described(episodes.task().observed()))
    }

    fn seed(&self, place: usize, seed: u64) {
        self.with(|episodes| episodes.seed(place, seed));
    }

    fn scenario(&self, place: usize) -> Option<usize> {
        self.with(|episodes| episodes.network(place))
    }

    fn clear(&self, py: Python<'_>) {
        py.detach(|| self.with(Episodes::clear));
    }

    #[expect(clippy::too_many_arguments, reason = "they are the arrays of a call, one after the other")]
    fn go_on(
        &self,
        py: Python<'_>,
        commands: PyReadonlyArrayDyn<'_, u8>,
        actions: PyReadonlyArrayDyn<'_, f32>,
        mut samples: PyReadwriteArrayDyn<'_, f64>,
        mut observations: PyReadwriteArrayDyn<'_, f32>,
        mut rewards: PyReadwriteArrayDyn<'_, f64>,
        mut outcomes: PyReadwriteArrayDyn<'_, u8>,
    ) -> PyResult<()> {
        let said: Vec<Command> = commands.as_slice()?.iter().map(|command| command_of(*command)).collect();
        let actions = actions.as_slice()?;
        let report = Report {
            samples: samples.as_slice_mut()?,
            observations: observations.as_slice_mut()?,
            rewards: rewards.as_slice_mut()?,
        };
        let outcomes = outcomes.as_slice_mut()?;
        let mut came = vec![Outcome::Running; said.len()];
        py.detach(|| self.with(|episodes| episodes.go_on(&said, actions, report, &mut came)))
            .map_err(PyValueError::new_err)?;
        for (place, outcome) in outcomes.iter_mut().zip(came) {
            *place = outcome as u8;
        }
        Ok(())
    }
}

/// 0: step, 1: begin, else leave.
fn command_of(number: u8) -> Command {
    match number {
        0 => Command::Step,
        1 => Command::Begin,
        _ => Command::Leave,
    }
}
