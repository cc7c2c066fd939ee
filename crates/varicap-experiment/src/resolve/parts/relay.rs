//! Flows that send what others deliver: checked, and resolved to who relays whom.

use varicap_units::Span;

use crate::check::{At, Checked};
use crate::error::{ScenarioError, nearest, one_of};
use crate::resolve::network::RelaySpec;
use crate::resolve::topology::Layout;
use crate::scenario::document::join_path;
use crate::scenario::{App, FlowConfig, Scenario};

/// The flow that `flow` relays.
fn source_of(flow: &FlowConfig) -> Option<&str> {
    match &flow.app {
        App::Relay(relay) if flow.is_tcp() => Some(&relay.of),
        _ => None,
    }
}

/// Checks the relay called `name`.
pub(crate) fn check(scenario: &Scenario, layout: &Layout<'_>, name: &str, flow: &FlowConfig) -> Checked {
    let Some(of) = source_of(flow) else { return Ok(()) };
    let path = join_path(&["flows", name]);
    let at = At::new(format!("{path}.app.relay"));
    let others: Vec<&str> =
        scenario.flows.keys().map(String::as_str).filter(|other| *other != name).collect();
    let Some((source_name, source)) = scenario.flows.get_key_value(of).filter(|_| of != name) else {
        let error = ScenarioError::at(at.key("of"), one_of(&others)).found(of);
        return Err(match nearest(of, others.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        });
    };
    at.require("of", source.datagrams.is_none(), of, "a TCP flow: datagrams are not relayed")?;
    at.require("of", source.is_tcp(), of, "a TCP flow")?;
    at.require("of", !scenario.isolate, of, "no relay where flows are isolated from each other")?;
    let relays = scenario.flows.values().filter(|other| source_of(other) == Some(of)).count();
    at.require("of", relays == 1, of, "a flow that no other one relays")?;
    at.require("of", original(scenario, of).is_some(), of, "a flow that does not come from this one")?;
    let (ends, begins) = (
        layout.routes(scenario, &join_path(&["flows", source_name]), source)?.forward,
        layout.routes(scenario, &path, flow)?.forward,
    );
    let end = ends.last().map(|link| layout.links[*link].to);
    let begin = begins.first().map(|link| layout.links[*link].from);
    let found = begin.map_or("", |node| layout.nodes[node].as_str());
    let meets = end.map_or("", |node| layout.nodes[node].as_str());
    let at_flow = At::new(path);
    at_flow.require("from", end == begin, found, format!("`{meets}`, where `{of}` ends"))?;
    let transfers = relays_transfers(scenario, of);
    let count = if transfers { 1 } else { source.count };
    at_flow.require("count", flow.count == count, flow.count, format!("{count}, one for each of `{of}`"))?;
    let unscheduled = flow.start == Span::ZERO && flow.start_spread == Span::ZERO && flow.stop.is_none();
    let when = "no `start`, `start_spread` or `stop`: a relay begins and ends with its data";
    at_flow.require("start", unscheduled, flow.start, when)
}

/// The flow at the beginning of the relays that end with the one called `name`; `None` if they go in a circle.
fn original<'a>(scenario: &'a Scenario, name: &str) -> Option<&'a FlowConfig> {
    let mut flow = scenario.flows.get(name)?;
    for _ in 0..scenario.flows.len() {
        match source_of(flow) {
            Some(of) => flow = scenario.flows.get(of)?,
            None => return Some(flow),
        }
    }
    None
}

fn relays_transfers(scenario: &Scenario, name: &str) -> bool {
    original(scenario, name).is_some_and(|flow| matches!(flow.app, App::Arrivals(_)))
}

/// Whom `flow` relays, if anyone.
pub(crate) fn resolve(scenario: &Scenario, flow: &FlowConfig) -> Option<RelaySpec> {
    let of = source_of(flow)?;
    let transfers = relays_transfers(scenario, of);
    Some(RelaySpec { of: scenario.flows.get_index_of(of)?, transfers })
}
