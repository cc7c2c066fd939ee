//! Queues of links: what a scenario says of them beside its other parts. A queue checks itself.

use indexmap::IndexMap;
use varicap_net::{CbqClass, QueueConfig};
use varicap_units::Bytes;
use varicap_units::part::Part;

use crate::check::{At, Checked};
use crate::error::{ScenarioError, nearest, one_of};
use crate::resolve::topology::Placed;
use crate::scenario::FlowConfig;

/// Checks a queue whose table lies at `at`, in a scenario with these flows.
pub(crate) fn check(at: &At, queue: &QueueConfig, flows: &IndexMap<String, FlowConfig>) -> Checked {
    at.part(queue.check())?;
    queue.flows().into_iter().try_for_each(|(key, name)| check_flow_name(&at.key(&key), name, flows))
}

/// Each flow that passes a link with classes has one there.
pub(crate) fn check_class_of(link: &Placed<'_>, flow: &str) -> Checked {
    let Some(QueueConfig::Cbq(cbq)) = &link.config.queue else { return Ok(()) };
    let has =
        |class: &CbqClass| class.flows.as_ref().is_none_or(|flows| flows.iter().any(|name| name == flow));
    if cbq.classes.values().any(has) {
        return Ok(());
    }
    let expected = format!("a class for the flow `{flow}`, whose packets pass here, or one without `flows`");
    Err(ScenarioError::at(format!("{}.queue.cbq.classes", link.path), expected).found("none"))
}

/// Checks that `name`, which stands at `path`, is one of the flows.
fn check_flow_name(path: &str, name: &str, flows: &IndexMap<String, FlowConfig>) -> Checked {
    if flows.contains_key(name) {
        return Ok(());
    }
    let names: Vec<&str> = flows.keys().map(String::as_str).collect();
    let error = ScenarioError::at(path, format!("a flow: {}", one_of(&names))).found(name);
    Err(match nearest(name, names) {
        Some(flow) => error.hint(format!("did you mean `{flow}`?")),
        None => error,
    })
}

/// A queue must hold a packet, and its parts must fit into it, as soon as it is known how much a packet and a BDP are.
pub(crate) fn check_limits(link: &Placed<'_>, queue: &QueueConfig, packet: Bytes, bdp: Bytes) -> Checked {
    let checked = At::new(format!("{}.queue", link.path)).part(queue.fits(packet, bdp));
    let is_default = link.config.queue.is_none();
    checked.map_err(|error| {
        if is_default { error.hint("that is the default: say how long the queue is") } else { error }
    })
}
