//! ABR sources of flows: checked, and resolved to a link for each connection.

use std::sync::Arc;

use varicap_net::{AbrConfig, CapacityParts, DropTailConfig, Framing, LinkParts, LossParts, QueueConfig};
use varicap_units::{Amount, Bytes, Rate, Span};

use crate::check::{At, Checked};
use crate::error::ScenarioError;
use crate::resolve::network::{AbrSpec, FlowSpec, LinkSpec};
use crate::scenario::{App, FlowConfig};

/// Most connections of a flow with an ABR source: each has a link of its own.
const MOST_SOURCES: u32 = 1000;

/// How the name of a source's link ends, and no other.
pub(crate) const ENDING: &str = ".abr";

/// Checks what needs no links.
pub(crate) fn check(at: &At, flow: &FlowConfig) -> Checked {
    let Some(abr) = &flow.abr else { return Ok(()) };
    if let App::Arrivals(_) = flow.app {
        return Err(of_transfers(&at.key("abr")));
    }
    at.require(
        "abr",
        flow.count <= MOST_SOURCES,
        flow.count,
        format!("at most {MOST_SOURCES} flows with it"),
    )?;
    let at = at.inner("abr");
    for (key, rate) in [("minimum", Some(abr.minimum)), ("peak", Some(abr.peak)), ("initial", abr.initial)] {
        rate.map_or(Ok(()), |rate| at.rate(key, rate))?;
    }
    if let Some(rate) = abr.rate {
        let good = rate > Rate::ZERO && !rate.is_unlimited();
        at.require("rate", good, rate, "a finite rate above 0")?;
        at.rate("rate", rate)?;
        let alone = AbrConfig { rate: None, service: abr.service, ..AbrConfig::default() };
        let changed = AbrConfig { rate: None, ..abr.clone() };
        at.require(
            "rate",
            alone == changed,
            rate,
            "a constant rate, or bounds of the rate that is advertised",
        )?;
        let silent = flow.feedback.is_none();
        return at.require("rate", silent, rate, "a constant rate, or `feedback` that advertises one");
    }
    at.require("peak", abr.peak > Rate::ZERO, abr.peak, "above 0")?;
    at.require("minimum", abr.minimum <= abr.peak, abr.minimum, format!("at most `peak`, {}", abr.peak))?;
    if let Some(initial) = abr.initial {
        let range = format!("from {} (`minimum`) to {} (`peak`)", abr.minimum, abr.peak);
        at.require("initial", (abr.minimum..=abr.peak).contains(&initial), initial, range)?;
    }
    at.require("increase", abr.increase > Rate::ZERO, abr.increase, "above 0")?;
    let regular = flow.feedback.as_ref().is_some_and(|feedback| feedback.estimator.interval().is_some());
    if !regular && !abr.increase.is_unlimited() {
        let expected =
            "nothing: rates that are advertised at their changes only leave no time to rise in steps";
        let error = ScenarioError::at(at.key("increase"), expected).found(abr.increase);
        return Err(error.hint("give the estimator of `feedback` an interval"));
    }
    Ok(())
}

/// Transfers come and go, and would each need a source of their own.
fn of_transfers(path: &str) -> ScenarioError {
    let expected = "nothing: transfers that come and go have no lasting source";
    ScenarioError::at(path, expected)
        .found("a table")
        .hint("let one greedy flow stand for what a proxy sends")
}

/// The source of a flow whose table lies at `path`; its links come after those of the topology.
pub(crate) fn resolve(
    path: &str,
    config: &FlowConfig,
    flow: &FlowSpec,
    links: &mut Vec<LinkSpec>,
) -> Result<Option<AbrSpec>, ScenarioError> {
    let Some(abr) = &config.abr else { return Ok(None) };
    if flow.carries_arrivals() {
        return Err(of_transfers(&format!("{path}.abr")));
    }
    let first_link = links.len();
    for member in 0..flow.count {
        let name = match flow.count {
            1 => format!("{}{ENDING}", flow.name),
            _ => format!("{}.{member}{ENDING}", flow.name),
        };
        links.push(buffer(name, abr, flow.packet));
    }
    Ok(Some(AbrSpec { config: abr.clone(), first_link }))
}

/// The segmentation buffer of one connection.
fn buffer(name: String, abr: &AbrConfig, packet: Bytes) -> LinkSpec {
    let unlimited = DropTailConfig { limit: Amount::Unlimited, ..DropTailConfig::default() };
    LinkSpec {
        name: Arc::from(name),
        parts: LinkParts {
            capacity: CapacityParts::Held(abr.first_rate()),
            service: abr.service,
            queue: QueueConfig::DropTail(unlimited),
            loss: LossParts::None,
            arq: None,
            netem: Default::default(),
            delay: Span::ZERO.into(),
            reorders: false,
            framing: Framing::default(),
            packet,
            bdp: Bytes::ZERO,
            groups: Arc::default(),
            policing: Vec::new(),
        },
        mean_capacity: abr.first_rate(),
        draws: false,
    }
}
