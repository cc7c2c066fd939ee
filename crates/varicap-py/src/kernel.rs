//! The kernel engine: the work of a worker process, and its results in the process that requested them.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use varicap_experiment::results::{Recorded, RunResult};
use varicap_testbed::plan::Mode;
use varicap_testbed::probe::probe;
use varicap_testbed::run::{Options, Outcome, check, run};
use varicap_testbed::{TestbedError, guest, netns, sys};
use varicap_units::Time;

use crate::errors::{KernelCannotError, KernelLacksError, RunError};
use crate::interrupt::{Shared, on_this_thread as run_on_this_thread, run as run_interruptibly};
use crate::kept::packed;
use crate::scenario::PyScenario;

/// Turns an error of the kernel engine into a Python exception.
fn raised(error: &TestbedError) -> PyErr {
    let text = error.to_string();
    match error {
        TestbedError::Unsupported { .. } => KernelCannotError::new_err(text),
        TestbedError::Lacks(_) | TestbedError::System { .. } => KernelLacksError::new_err(text),
        TestbedError::Interrupted | TestbedError::Failed(_) => RunError::new_err(text),
    }
}

fn mode_of(text: &str) -> PyResult<Mode> {
    text.parse().map_err(|error| raised(&error))
}

/// Raises an exception if the kernel does not support the scenario.
#[pyfunction]
pub fn kernel_check(scenario: &PyScenario, mode: &str) -> PyResult<()> {
    check(&scenario.networks, mode_of(mode)?).map_err(|error| raised(&error))
}

/// Makes this process a worker of `parent`: it dies with the parent, leaves Ctrl-C to it, and has the rights over
/// namespaces of its own. The process must have a single thread.
#[pyfunction]
pub fn kernel_enter(parent: i32) -> PyResult<()> {
    let lacks = |error: std::io::Error| KernelLacksError::new_err(error.to_string());
    sys::die_with_parent().map_err(lacks)?;
    if sys::parent() != parent {
        return Err(KernelLacksError::new_err("the process that asked for the run is gone"));
    }
    sys::ignore_interrupts();
    netns::become_root().map_err(|error| raised(&error))
}

/// The needs of the kernel engine on this machine: the name of each item, the system's error if it is missing, and what
/// to do then. To be called by a worker, after [`kernel_enter`].
#[pyfunction]
pub fn kernel_probe(py: Python<'_>) -> Vec<(&'static str, Option<String>, &'static str)> {
    let found = py.detach(probe);
    found.into_iter().map(|one| (one.name, one.error, one.remedy)).collect()
}

/// Makes this process, the first of a guest, ready for runs in simulated time.
#[pyfunction]
pub fn kernel_settle() -> PyResult<()> {
    guest::settle().map_err(|error| raised(&error))
}

/// Makes a folder of the guest's memory, in which programs may write.
#[pyfunction]
pub fn kernel_room(place: PathBuf) -> PyResult<()> {
    guest::make_room(&place).map_err(|error| raised(&error))
}

/// Loads a module of the guest's kernel; returns the name of the congestion control that it registers.
#[pyfunction]
pub fn kernel_load(module: PathBuf) -> PyResult<String> {
    guest::load(&module).map_err(|error| raised(&error))
}

/// Ends the guest.
#[pyfunction]
pub fn kernel_power_off() -> PyResult<()> {
    Err(RunError::new_err(format!("cannot end the guest: {}", guest::power_off())))
}

/// Runs one replication, and returns it as bytes, of which [`results`](crate::run::results) makes results.
#[pyfunction]
#[pyo3(signature = (scenario, *, seed, replication, mode, series, packets=false, simulated=false, modules=Vec::new(), progress=None, live=None))]
#[expect(clippy::too_many_arguments, reason = "they are given by name in Python")]
pub fn kernel_run<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
    seed: u64,
    replication: u64,
    mode: &str,
    series: bool,
    packets: bool,
    simulated: bool,
    modules: Vec<(String, String)>,
    progress: Option<Bound<'py, PyAny>>,
    live: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let networks = &scenario.networks;
    let mode = mode_of(mode)?;
    let shared = Shared::observed(live, None);
    let interval = (series || shared.live().is_some()).then_some(scenario.scenario.record.sample);
    let limit = usize::try_from(scenario.scenario.record.packet_limit).unwrap_or(usize::MAX);
    let limit = packets.then_some(limit);
    let whole: f64 = networks.iter().map(|network| network.duration.as_secs_f64()).sum();
    let work = |go_on: &mut (dyn FnMut(f64) -> bool + Send)| {
        let mut outcomes: Vec<Outcome> = Vec::new();
        let mut before = 0.0;
        for (number, network) in networks.iter().enumerate() {
            let live = shared.live().map(|live| live.tap(number, replication, network.duration));
            let options = Options {
                mode,
                is_simulated: simulated,
                modules: &modules,
                series: interval,
                packets: limit,
                live,
            };
            let mut go_on = |now: Time| go_on((before + now.as_secs_f64()) / whole);
            outcomes.push(run(network, seed, replication, options, &mut go_on)?);
            before += network.duration.as_secs_f64();
        }
        Ok(outcomes)
    };
    let done = if simulated {
        run_on_this_thread(py, &shared, progress.as_ref(), work)
    } else {
        run_interruptibly(py, &shared, progress.as_ref(), || work(&mut |share| shared.report(share, 0)))
    }?;
    let outcomes = done.map_err(|error| raised(&error))?;
    let (results, mut recorded): (Vec<RunResult>, Vec<Recorded>) =
        outcomes.into_iter().map(|Outcome { result, recorded }| (result, recorded)).unzip();
    if !series {
        // They were recorded for the live display only.
        recorded.iter_mut().for_each(|one| (one.flows, one.links) = (Vec::new(), Vec::new()));
    }
    recorded.iter_mut().enumerate().for_each(|(place, one)| one.network = place);
    let bytes = packed(&RunResult::join(networks, &results), &recorded.iter().collect::<Vec<_>>())?;
    Ok(PyBytes::new(py, &bytes))
}
