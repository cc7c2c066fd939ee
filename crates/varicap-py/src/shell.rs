//! A command behind an emulated link.

use std::ffi::OsString;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use varicap_experiment::scenario::Topology;
use varicap_testbed::shell::{Far, Shell, Show};

use crate::errors::ScenarioError;
use crate::scenario::PyScenario;

/// Runs `command` behind the links of a dumbbell or a chain, at the end of the receivers or, with `at_left`, of the
/// senders; returns its exit code. `show` says where the live line goes: nowhere, line or title. In a guest, in simulated
/// time, `server` runs at the other end.
#[pyfunction]
#[pyo3(signature = (scenario, command, *, seed, at_left=false, congestion=None, show="nowhere", strict=false, depth=0, simulated=false, server=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "they are given by name in Python")]
pub fn shell(
    py: Python<'_>,
    scenario: &PyScenario,
    command: Vec<OsString>,
    seed: u64,
    at_left: bool,
    congestion: Option<String>,
    show: &str,
    strict: bool,
    depth: u32,
    simulated: bool,
    server: Vec<OsString>,
) -> PyResult<i32> {
    if matches!(scenario.scenario.topology, Topology::Graph(_)) {
        let wrong = "topology: found `graph`, expected `dumbbell` or `chain`: a shell has one link, or one chain of links";
        return Err(ScenarioError::new_err(wrong));
    }
    let Some(network) = scenario.networks.first().filter(|_| !command.is_empty()) else {
        return Err(ScenarioError::new_err("a shell needs a command"));
    };
    // The links to the right come first; as many to the left follow.
    let half = network.links.len() / 2;
    let (forward, reverse) = ((0..half).collect(), (half..2 * half).collect());
    let (up, down) = if at_left { (forward, reverse) } else { (reverse, forward) };
    let show = match show {
        "line" => Show::Line,
        "title" => Show::Title,
        _ => Show::Nowhere,
    };
    let mut shell = Shell::between(network.clone(), up, down, command);
    (shell.seed, shell.congestion, shell.show) = (seed, congestion, show);
    (shell.strict, shell.depth) = (strict, depth);
    shell.far = simulated.then_some(Far { server });
    py.detach(|| shell.run()).map_err(|error| PyOSError::new_err(error.to_string()))
}
