//! Simulated runs of scenarios, and the results of runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use varicap_experiment::pcapng::SnapLen;
use varicap_experiment::results::{Recorded, RunResult, flows_table, groups_table, links_table, summarise};
use varicap_experiment::{Network, Scenario};
use varicap_net::LoadReactiveControl;
use varicap_net::queue::QueuePolicy;
use varicap_sim::{
    Around, ControlFactory, DeciderFactory, Options, PacketRecording, PolicyFactory, QueueFactory, Recording,
    RunError as SimError, SeriesRecording, run_many,
};
use varicap_tcp::congestion::{CongestionControl, Decide};
use varicap_tcp::{Congestion, TcpConfig};

use crate::budget::PyBudget;
use crate::control::{PythonControl, Raised, Unmade, attached, name_of, start};
use crate::decider::PythonDecider;
use crate::endpoint;
use crate::errors::{LimitError, MissingControlError, RunError, ScenarioError};
use crate::interrupt::{Shared, run as run_interruptibly};
use crate::kept::{Kept, packed, unpacked};
use crate::policy::PythonPolicy;
use crate::queue::PythonQueue;
use crate::records;
use crate::scenario::{PyScenario, policy_of};
use crate::tables::columns;

/// Python callables that make controls, by name.
pub type Makers = HashMap<String, Py<PyAny>>;

/// The results of one or more runs of a scenario.
#[pyclass(name = "Results", module = "varicap._core")]
pub struct PyResults {
    scenario: Arc<Scenario>,
    networks: Arc<[Network]>,
    runs: Vec<RunResult>,
    recorded: Vec<Recorded>,
}

impl PyResults {
    /// The results and records of `runs` of a scenario.
    pub fn new(scenario: &PyScenario, runs: Vec<RunResult>, recorded: Vec<Recorded>) -> PyResults {
        let (networks, scenario) = (scenario.networks.clone(), scenario.scenario.clone());
        PyResults { scenario, networks, runs, recorded }
    }
}

#[pymethods]
impl PyResults {
    #[getter]
    fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Moves the runs of `more` into these results, in the order of replications.
    fn extend(&mut self, more: &mut PyResults) {
        self.runs.append(&mut more.runs);
        self.runs.sort_by_key(|run| run.replication);
        self.recorded.append(&mut more.recorded);
        self.recorded.sort_by_key(|one| (one.replication, one.network));
    }

    /// Each run as bytes with its number, of which [`results`] makes results again.
    fn packed<'py>(&self, py: Python<'py>) -> PyResult<Vec<(u64, Bound<'py, PyBytes>)>> {
        (self.runs.iter())
            .map(|run| {
                let recorded = self.recorded.iter().filter(|one| one.replication == run.replication);
                Ok((run.replication, PyBytes::new(py, &packed(run, &recorded.collect::<Vec<_>>())?)))
            })
            .collect()
    }

    fn summary(&self, py: Python<'_>) -> String {
        py.detach(|| summarise(&self.runs, self.scenario.to_json(), &self.networks).to_string())
    }

    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        columns(py, flows_table(&self.runs))
    }

    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        columns(py, groups_table(&self.runs))
    }

    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        columns(py, links_table(&self.runs))
    }

    fn flow_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        records::flow_series(py, &self.recorded)
    }

    fn link_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        records::link_series(py, &self.recorded, &self.networks)
    }

    fn packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        records::packets(py, &self.recorded, &self.networks)
    }

    fn captures(&self) -> Vec<String> {
        records::captures(&self.recorded, &self.networks)
    }

    fn write_capture(&self, py: Python<'_>, place: usize, file: Py<PyAny>, snaplen: u32) -> PyResult<()> {
        let snap = SnapLen::new(snaplen);
        py.detach(|| records::write_capture_into(file, place, &self.recorded, &self.networks, snap))?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<results of {} runs>", self.runs.len())
    }
}

/// Simulates replications `first` to `first + count - 1`; 0 threads stand for one per core.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, seed, first, count, threads=0, series_below=0, packets_below=0, progress=None, controls=None, queues=None, policies=None, endpoints=None, live=None, budget=None, finished=None
))]
#[expect(clippy::too_many_arguments, reason = "they are given by name in Python")]
pub fn run(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: u64,
    first: u64,
    count: u64,
    threads: usize,
    series_below: u64,
    packets_below: u64,
    progress: Option<Bound<'_, PyAny>>,
    controls: Option<HashMap<String, Py<PyAny>>>,
    queues: Option<HashMap<String, Py<PyAny>>>,
    policies: Option<HashMap<String, Py<PyAny>>>,
    endpoints: Option<Makers>,
    live: Option<Py<PyAny>>,
    budget: Option<&Bound<'_, PyBudget>>,
    finished: Option<Py<PyAny>>,
) -> PyResult<PyResults> {
    check_supplied(scenario, controls.as_ref(), queues.as_ref(), policies.as_ref())?;
    endpoint::check(scenario, endpoints.as_ref())?;
    let raised = Raised::default();
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let record = &scenario.scenario.record;
    let kept = finished.map(|heard| Kept::new(scenario.networks.clone(), recorded.clone(), heard));
    let shared = Shared::observed(live, kept);
    let options = Options {
        live: shared.live().cloned(),
        endpoints: Some(endpoint::factory(endpoints.unwrap_or_default(), raised.clone())),
        record: Some(Recording {
            series: SeriesRecording { interval: record.sample, below: series_below },
            packets: PacketRecording {
                limit: usize::try_from(record.packet_limit).unwrap_or(usize::MAX),
                below: packets_below,
            },
            take: keeper(&recorded),
        }),
        budget: budget.map(|budget| budget.get().budget.clone()),
        finished: shared.kept().map(Kept::ear),
        ..extensions(controls.map(Arc::new), queues.map(Arc::new), policies, &raised)
    };
    let runs = run_interruptibly(py, &shared, progress.as_ref(), || {
        let report = |share: f64| shared.report(share, (share * count as f64) as usize) && !raised.is_some();
        run_many(&scenario.networks, seed, first..first + count, &options, threads, &report)
    });
    let handed_over = match shared.kept() {
        Some(kept) if !matches!(runs, Ok(Ok(_))) => kept.hand_over(py),
        _ => Ok(()),
    };
    // The error that ended the runs comes before that which ended their keeping.
    if let Some(error) = raised.take() {
        return Err(error);
    }
    let runs = runs?.map_err(|error: SimError| raised_by(&error))?;
    handed_over?;
    debug_assert_eq!(runs.len() as u64, count, "each replication has one result");
    let mut recorded = std::mem::take(&mut *recorded.lock().unwrap_or_else(PoisonError::into_inner));
    // Runs finish in any order.
    recorded.sort_by_key(|one: &Recorded| (one.replication, one.network));
    Ok(PyResults::new(scenario, runs, recorded))
}

/// The options of runs whose extensions are these callables, by name; without any they need nothing of the interpreter.
pub fn extensions(
    controls: Option<Arc<Makers>>,
    queues: Option<Arc<Makers>>,
    policies: Option<Makers>,
    raised: &Raised,
) -> Options {
    let is_used = controls.is_some() || queues.is_some() || policies.is_some();
    Options {
        deciders: Some(decider_factory(policies.unwrap_or_default(), controls.clone(), raised.clone())),
        policies: controls.clone().map(|makers| link_policies(makers, raised.clone())),
        controls: controls.map(|makers| factory(makers, raised.clone())),
        queues: queues.map(|makers| queue_factory(makers, raised.clone())),
        endpoints: Some(endpoint::factory(Makers::new(), raised.clone())),
        around: is_used.then(|| Arc::new(attached) as Arc<Around>),
        ..Options::default()
    }
}

/// Checks that everything that the scenario leaves to Python was given.
pub fn check_supplied(
    scenario: &PyScenario,
    controls: Option<&Makers>,
    queues: Option<&Makers>,
    policies: Option<&Makers>,
) -> PyResult<()> {
    check_controls(scenario, controls)?;
    check_queues(scenario, queues)?;
    check_policies(scenario, controls, policies)
}

/// The exception for a run without a result.
pub fn raised_by(error: &SimError) -> PyErr {
    match error {
        SimError::OverBudget { .. } => LimitError::new_err(error.to_string()),
        SimError::Interrupted | SimError::Endpoint(_) | SimError::Failed(_) => {
            RunError::new_err(error.to_string())
        }
    }
}

/// Appends what each run recorded to `recorded`.
fn keeper(recorded: &Arc<Mutex<Vec<Recorded>>>) -> Arc<dyn Fn(Recorded) + Send + Sync> {
    let recorded = recorded.clone();
    Arc::new(move |one| recorded.lock().unwrap_or_else(PoisonError::into_inner).push(one))
}

/// Makes congestion controls with the Python callables of these names.
fn factory(classes: Arc<Makers>, raised: Raised) -> Arc<ControlFactory> {
    Arc::new(move |name: &str, flow: &str, config: &TcpConfig| {
        let class = classes.get(name)?;
        let made = Python::attach(|py| {
            let whose = format!("the control `{name}` ({}) of flow `{flow}`", name_of(class.bind(py)));
            PythonControl::new(py, class, whose, &start(config), &raised)
        });
        match made {
            Ok(control) => Some(Box::new(control) as Box<dyn CongestionControl>),
            Err(error) => {
                raised.keep(error);
                Some(Box::new(Unmade(config.mss)))
            }
        }
    })
}

/// Makes policies of load-reactive links with the Python callables of these names.
fn link_policies(makers: Arc<Makers>, raised: Raised) -> Arc<PolicyFactory> {
    Arc::new(move |name: &str, link: &str| {
        let make = makers.get(name)?;
        match Python::attach(|py| PythonPolicy::new(py, name, make, link, &raised)) {
            Ok(policy) => Some(Box::new(policy) as Box<dyn LoadReactiveControl>),
            Err(error) => {
                raised.keep(error);
                None
            }
        }
    })
}

/// Makes deciders with Python callables: `files` by the names of their files, others by their own names.
pub fn decider_factory(files: Makers, named: Option<Arc<Makers>>, raised: Raised) -> Arc<DeciderFactory> {
    Arc::new(move |source: &str, connection: &str| {
        let file = files.get(source);
        let make = file.or_else(|| named.as_ref()?.get(source))?;
        let file = file.map(|_| source);
        match Python::attach(|py| PythonDecider::new(py, make, file, connection, &raised)) {
            Ok(decider) => Some(Box::new(decider) as Box<dyn Decide>),
            Err(error) => {
                raised.keep(error);
                None
            }
        }
    })
}

/// Makes queues with the Python callables of these names.
fn queue_factory(makers: Arc<Makers>, raised: Raised) -> Arc<QueueFactory> {
    Arc::new(move |name: &str, link: &str| {
        let make = makers.get(name)?;
        let queue = Python::attach(|py| PythonQueue::new(py, name, make, link, &raised));
        Some(Box::new(queue) as Box<dyn QueuePolicy>)
    })
}

/// Checks that every queue in Python that the scenario names was given.
fn check_queues(scenario: &PyScenario, queues: Option<&Makers>) -> PyResult<()> {
    let missing = |name: &&str| !queues.is_some_and(|queues| queues.contains_key(*name));
    for link in scenario.networks.iter().flat_map(|network| &network.links) {
        if let Some(name) = link.parts.queue.supplied().into_iter().find(missing) {
            let says = format!("{}.queue: no queue called `{name}` was given", link.name);
            return Err(ScenarioError::new_err(format!(
                "{says}; bring it with --plugin FILE.py, in Python with queues=…"
            )));
        }
    }
    Ok(())
}

/// Checks that every policy has someone who decides.
fn check_policies(
    scenario: &PyScenario,
    controls: Option<&Makers>,
    policies: Option<&Makers>,
) -> PyResult<()> {
    let is_given = |name: &str| {
        controls.is_some_and(|controls| controls.contains_key(name))
            || policies.is_some_and(|policies| policies.contains_key(name))
    };
    for flow in scenario.networks.iter().flat_map(|network| &network.flows) {
        let Some(policy) = policy_of(flow) else { continue };
        let key = format!("flows.{}.tcp.congestion.policy", flow.name);
        let says = match policy.source() {
            None => format!("{key}: it has no `file`; an environment acts in its place, and a run needs one"),
            Some(name) if !is_given(name) => {
                format!(
                    "{key}: nobody brought a policy called `{name}`; bring it with --plugin FILE.py, in Python with controls=…"
                )
            }
            Some(_) => continue,
        };
        return Err(MissingControlError::new_err(says));
    }
    Ok(())
}

/// Checks that every control in Python that the scenario names was given.
fn check_controls(scenario: &PyScenario, controls: Option<&HashMap<String, Py<PyAny>>>) -> PyResult<()> {
    let missing = |name: &str| !controls.is_some_and(|controls| controls.contains_key(name));
    for link in scenario.networks.iter().flat_map(|network| &network.links) {
        if let Some(name) = link.parts.policy().filter(|name| missing(name)) {
            let says = format!("{}: nobody brought a policy called `{name}`", link.name);
            return Err(ScenarioError::new_err(format!(
                "{says}; bring it with --plugin FILE.py, in Python with controls=…"
            )));
        }
    }
    for flow in scenario.networks.iter().flat_map(|network| &network.flows) {
        let Some(TcpConfig { congestion, .. }) = flow.control() else { continue };
        if let Congestion::Module(file) = congestion {
            return Err(MissingControlError::new_err(format!(
                "flows.{}.tcp.congestion: `{file}` is a module of Linux, which the kernel engine runs in simulated \
                 time: --engine kernel --module {file} (in Python modules=[{file:?}])",
                flow.name
            )));
        }
        if let Congestion::Custom(name) = congestion
            && missing(name)
        {
            let says =
                format!("flows.{}.tcp.congestion: nobody brought a control called `{name}`", flow.name);
            let own = if Congestion::NAMES.contains(&name.as_str()) {
                format!(", or write congestion = \"{name}\" for the simulator's own")
            } else {
                String::new()
            };
            return Err(MissingControlError::new_err(format!(
                "{says}; bring it with --plugin FILE.py, in Python with controls=…{own}"
            )));
        }
    }
    Ok(())
}

/// The results of runs of a scenario, from the bytes of each.
#[pyfunction]
pub fn results(scenario: &PyScenario, runs: Vec<Vec<u8>>) -> PyResult<PyResults> {
    let mut results = Vec::with_capacity(runs.len());
    let mut recorded = Vec::new();
    for bytes in &runs {
        let (result, more) = unpacked(bytes)?;
        let is_recorded_of_it = more.iter().all(|one| one.network < scenario.networks.len());
        let names = |run: &RunResult| run.links.iter().map(|link| link.name.clone()).collect::<Vec<_>>();
        if !is_recorded_of_it || results.first().is_some_and(|first| names(first) != names(&result)) {
            return Err(RunError::new_err("the bytes of a run are of another scenario"));
        }
        results.push(result);
        // A run without series and packets recorded nothing.
        recorded.extend(more.into_iter().filter(|one| !one.links.is_empty() || one.packets.is_some()));
    }
    Ok(PyResults::new(scenario, results, recorded))
}
