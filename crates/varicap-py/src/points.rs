//! Runs of one scenario at many points: its text is parsed once, and the runs of many points are one call.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyList;
use varicap_experiment::results::{RunResult, RunTables};
use varicap_experiment::{Format, KeptFiles, Mistakes, Parsed, Plan, Written};
use varicap_sim::{Options, run_many};

use crate::budget::PyBudget;
use crate::control::Raised;
use crate::errors::{RunError, scenario_errors};
use crate::interrupt::{Shared, run as run_interruptibly};
use crate::run::{Makers, check_supplied, extensions, raised_by};
use crate::scenario::PyScenario;
use crate::tables::columns;

/// Values by their dotted path.
type Settings = Vec<(String, String)>;
/// Each trace: its name in the scenario and its path.
type Traces = Vec<(String, PathBuf)>;
/// The columns of each table, the traces that were read, and the time that the simulations took [s].
type Ran<'py> = (Vec<Bound<'py, PyList>>, Traces, f64);

/// The text of a scenario that is read at many points; the text itself is parsed once.
#[pyclass(frozen, name = "Template", module = "varicap._core")]
pub struct PyTemplate {
    text: String,
    file: String,
    base_dir: String,
    option: String,
    parsed: Parsed,
    /// The files that points name, once they have been read.
    kept: Arc<KeptFiles>,
}

impl PyTemplate {
    fn written<'a>(&'a self, settings: &'a [(String, String)]) -> Written<'a> {
        Written { text: &self.text, format: Format::Value, file: &self.file, settings, option: &self.option }
    }

    fn resolved(&self, settings: &[(String, String)]) -> Result<PyScenario, Mistakes> {
        let written = self.written(settings);
        PyScenario::resolved(&written, written.read_parsed(&self.parsed), &self.base_dir, self.kept.clone())
    }
}

#[pymethods]
impl PyTemplate {
    #[new]
    #[pyo3(signature = (text, name, base_dir, *, option="--set"))]
    fn new(text: String, name: String, base_dir: String, option: &str) -> PyResult<PyTemplate> {
        let written = Written { text: &text, format: Format::Value, file: &name, settings: &[], option };
        let parsed = written.parse().map_err(|error| scenario_errors(&error.into()))?;
        Ok(PyTemplate { text, file: name, base_dir, option: option.to_owned(), parsed, kept: Arc::default() })
    }

    fn at(&self, py: Python<'_>, settings: Settings) -> PyResult<PyScenario> {
        py.detach(|| self.resolved(&settings)).map_err(|mistakes| scenario_errors(&mistakes))
    }

    #[pyo3(signature = (points, *, budget, at_a_time))]
    fn fitting(
        &self,
        py: Python<'_>,
        points: Vec<Settings>,
        budget: &Bound<'_, PyBudget>,
        at_a_time: u32,
    ) -> PyResult<(usize, Traces, Vec<usize>)> {
        let shared = Shared::default();
        let budget = budget.get();
        let plan = Plan::new(at_a_time, at_a_time as usize);
        let fits = |settings: &Settings| {
            if shared.is_stopped() {
                return None; // who stopped it raises something else
            }
            let scenario = self.resolved(settings).ok()?;
            budget.check_plan(&scenario, &plan).ok()?;
            Some(Fit { traces: scenario.trace_files(), draws_nothing: scenario.draws_nothing() })
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        run_interruptibly(py, &shared, None, || leading(&points, cores.min(at_a_time as usize), &fits))
    }

    #[pyo3(signature = (spans, *, seed, budget, policies, controls=None, queues=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are given by name in Python")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        spans: Vec<(i64, Settings, u64, u64)>,
        seed: u64,
        budget: &Bound<'py, PyBudget>,
        policies: Py<PyAny>,
        controls: Option<Makers>,
        queues: Option<Makers>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Ran<'py>> {
        let shared = Shared::default();
        let (controls, queues) = (controls.map(Arc::new), queues.map(Arc::new));
        let budget = budget.get().budget.clone();
        let mut piece = Piece::default();
        let total: u64 = spans.iter().map(|(.., count)| count).sum();
        run_interruptibly(py, &shared, progress.as_ref(), || {
            let mut done = 0;
            for (point, settings, first, count) in &spans {
                if shared.is_stopped() {
                    return Err(RunError::new_err("the runs were interrupted"));
                }
                let scenario = self.resolved(settings).map_err(|mistakes| scenario_errors(&mistakes))?;
                let raised = Raised::default();
                let makers = budget.watch(|| supplied(&scenario, &policies));
                let makers = makers.map_err(|error| at_point(error, *point))?;
                check_supplied(&scenario, controls.as_deref(), queues.as_deref(), makers.as_ref())?;
                let options = Options {
                    budget: Some(budget.clone()),
                    ..extensions(controls.clone(), queues.clone(), makers, &raised)
                };
                let report = |share: f64| {
                    let runs = done as f64 + share * *count as f64;
                    shared.report(runs / total as f64, runs as usize) && !raised.is_some()
                };
                let begin = clock();
                let runs = run_many(&scenario.networks, seed, *first..first + count, &options, 1, &report);
                piece.busy += begin.elapsed();
                if let Some(error) = raised.take() {
                    return Err(at_point(error, *point));
                }
                piece.add(*point, &runs.map_err(|error| at_point(raised_by(&error), *point))?);
                scenario.trace_files().into_iter().for_each(|trace| note(&mut piece.traces, trace));
                done += count;
            }
            Ok(())
        })??;
        piece.into_python(py)
    }
}

/// The properties of a point that fits.
struct Fit {
    traces: Traces,
    draws_nothing: bool,
}

/// How many of `points` fit, up to the first that does not, the traces that those use, in their order, and which of them
/// draw nothing.
fn leading(
    points: &[Settings],
    threads: usize,
    fits: &(dyn Fn(&Settings) -> Option<Fit> + Sync),
) -> (usize, Traces, Vec<usize>) {
    let (next, end) = (AtomicUsize::new(0), AtomicUsize::new(points.len()));
    let look = || {
        let mut found = Vec::new();
        loop {
            // Points before the end so far are all looked at, by one thread or another.
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= end.load(Ordering::Relaxed) {
                return found;
            }
            match fits(&points[place]) {
                Some(fit) => found.push((place, fit)),
                None => {
                    end.fetch_min(place, Ordering::Relaxed);
                }
            }
        }
    };
    let threads = threads.clamp(1, points.len().max(1));
    let mut found = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(look)).collect();
        let mut found = look();
        found.extend(
            others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))),
        );
        found
    });
    let end = end.into_inner();
    found.retain(|(place, _)| *place < end);
    found.sort_by_key(|(place, _)| *place);
    let silent = found.iter().filter(|(_, fit)| fit.draws_nothing).map(|(place, _)| *place).collect();
    let mut traces = Vec::new();
    found.into_iter().flat_map(|(_, fit)| fit.traces).for_each(|trace| note(&mut traces, trace));
    (end, traces, silent)
}

/// Adds a trace unless it is there.
fn note(traces: &mut Traces, trace: (String, PathBuf)) {
    if !traces.iter().any(|(name, _)| *name == trace.0) {
        traces.push(trace);
    }
}

/// The policies of a scenario, which `policies` reads from the files that it names.
fn supplied(scenario: &PyScenario, policies: &Py<PyAny>) -> PyResult<Option<Makers>> {
    if scenario.policy_files().is_empty() {
        return Ok(None);
    }
    Python::attach(|py| policies.call1(py, (scenario.clone(),))?.extract(py).map(Some))
}

/// Says in an exception which point it is about.
fn at_point(error: PyErr, point: i64) -> PyErr {
    let said = Python::attach(|py| error.value(py).setattr("point", point));
    said.err().unwrap_or(error)
}

/// Time on the clock of this thread.
#[expect(clippy::disallowed_methods, reason = "how long runs took: no result depends on it")]
fn clock() -> Instant {
    Instant::now()
}

/// The results of runs of several points.
#[derive(Default)]
struct Piece {
    tables: RunTables,
    /// The point of each row of the three tables.
    points: [Vec<i64>; 3],
    traces: Traces,
    /// Time that the simulations took.
    busy: Duration,
}

impl Piece {
    fn add(&mut self, point: i64, runs: &[RunResult]) {
        runs.iter().for_each(|run| self.tables.push(run));
        let RunTables { flows, groups, links } = &self.tables;
        for (points, table) in self.points.iter_mut().zip([flows, groups, links]) {
            points.resize(table.len(), point);
        }
    }

    /// The columns of flows, groups and links, with the point first; the traces that were read; and the time [s].
    fn into_python(self, py: Python<'_>) -> PyResult<Ran<'_>> {
        let RunTables { flows, groups, links } = self.tables;
        let tables = self.points.into_iter().zip([flows, groups, links]).map(|(points, table)| {
            let list = columns(py, table)?;
            list.insert(0, ("point", "1", "Number of the point, from zero.", points.into_pyarray(py)))?;
            Ok(list)
        });
        Ok((tables.collect::<PyResult<_>>()?, self.traces, self.busy.as_secs_f64()))
    }
}
