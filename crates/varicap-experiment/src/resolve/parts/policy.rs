//! The file of a learned policy. Whoever runs the scenario reads it; here it need only be there.

use varicap_tcp::Congestion;

use crate::error::ScenarioError;
use crate::resolve::Files;
use crate::scenario::FlowConfig;

/// Checks that the file of the policy that the flow at `path` has, if any, can be opened.
pub(crate) fn check_file(path: &str, flow: &FlowConfig, files: &mut Files<'_>) -> Result<(), ScenarioError> {
    let Congestion::Policy(policy) = &flow.tcp.congestion else { return Ok(()) };
    let Some(file) = &policy.file else { return Ok(()) };
    let key = format!("{path}.tcp.congestion.policy.file");
    files
        .open(file)
        .map(drop)
        .map_err(|reason| ScenarioError::at(key, "a file that can be read").found(file).hint(reason))
}
