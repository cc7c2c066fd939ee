//! The memory and the time that runs may take, as a Python object.

use std::str::FromStr;
use std::sync::Arc;

use pyo3::prelude::*;
use varicap_experiment::{Estimate, Limits, Plan, ScenarioError as Mistake};
use varicap_sim::{Budget, Exceeded};
use varicap_units::{Bytes, QuantityError, Span};

use crate::errors::{LimitError, ScenarioError, limit_error};
use crate::scenario::PyScenario;

/// The memory and the time that runs may take together.
#[pyclass(frozen, name = "Budget", module = "varicap._core")]
pub struct PyBudget {
    /// The budget, which the runs share.
    pub budget: Arc<Budget>,
}

#[pymethods]
impl PyBudget {
    #[new]
    #[pyo3(signature = (max_memory, max_time, *, time_for_each=false))]
    fn new(max_memory: Option<&str>, max_time: Option<&str>, time_for_each: bool) -> PyResult<PyBudget> {
        let memory = max_memory.map(|text| limit(text, "max-memory")).transpose()?;
        let limits = Limits { memory, time: max_time.map(|text| limit(text, "max-time")).transpose()? };
        let budget = if time_for_each { Budget::for_each(limits) } else { Budget::new(limits) };
        Ok(PyBudget { budget: Arc::new(budget) })
    }

    #[pyo3(signature = (scenario, *, runs, threads, series=0, packets=0, real_time=false))]
    #[expect(clippy::too_many_arguments, reason = "they are given by name in Python")]
    fn check(
        &self,
        py: Python<'_>,
        scenario: &PyScenario,
        runs: u32,
        threads: usize,
        series: u32,
        packets: u32,
        real_time: bool,
    ) -> PyResult<()> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads };
        let plan = Plan { runs, threads, series, packets, is_real_time: real_time };
        py.detach(|| self.check_plan(scenario, &plan)).map_err(|error| limit_error(&error))
    }

    /// Calls `work` within this budget, of which what it calls may ask [`left`].
    fn watch<'py>(&self, work: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.budget.watch(|| work.call0())
    }

    fn check_spent(&self) -> PyResult<()> {
        self.budget.check().map_err(|exceeded| over(&exceeded))
    }
}

impl PyBudget {
    /// Checks whether the runs of a plan fit, by a rough estimate.
    pub fn check_plan(&self, scenario: &PyScenario, plan: &Plan) -> Result<(), Mistake> {
        Estimate::of(&scenario.scenario, &scenario.networks).check_limits(plan, self.budget.limits())
    }
}

/// The exception for a limit that was exceeded.
fn over(exceeded: &Exceeded) -> PyErr {
    LimitError::new_err(exceeded.to_string())
}

/// Reads the quantity of an option.
fn limit<T: FromStr<Err = QuantityError>>(text: &str, option: &str) -> PyResult<T> {
    text.parse().map_err(|error| ScenarioError::new_err(format!("--{option}: {error}")))
}

/// The memory [B] and time [s] that are left to the run of this thread.
#[pyfunction]
pub fn left() -> PyResult<(Option<u64>, Option<f64>)> {
    let Limits { memory, time } = varicap_sim::left().map_err(|exceeded| over(&exceeded))?;
    Ok((memory.map(Bytes::as_u64), time.map(Span::as_secs_f64)))
}

/// Counts the memory that other processes hold for this one [B].
#[pyfunction]
pub fn count_elsewhere(held: u64) {
    varicap_sim::count_elsewhere(held);
}
