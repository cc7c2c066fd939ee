//! The rates that the network advertises to a flow: checked, and resolved to links and a delay.

use varicap_net::{CapacityParts, EstimatorConfig, PolicyConfig};
use varicap_tcp::Congestion;
use varicap_units::part::Part;
use varicap_units::{Rate, Span};

use crate::check::{At, Checked};
use crate::error::{ScenarioError, nearest, one_of};
use crate::resolve::network::{FeedbackSpec, LinkSpec};
use crate::resolve::topology::Routes;
use crate::scenario::{FeedbackConfig, FeedbackDelay, FlowConfig};

/// Checks what needs no links.
pub(crate) fn check(at: &At, feedback: &FeedbackConfig, duration: Span) -> Checked {
    if let (Some(_), Some(_)) = (&feedback.link, &feedback.links) {
        return at.require("links", false, "both", "either `link` or `links`");
    }
    let empty = feedback.links.as_ref().is_some_and(Vec::is_empty);
    at.require("links", !empty, "none", "at least one link")?;
    let interval = feedback.estimator.interval();
    check_estimator(&at.inner("estimator"), &feedback.estimator, duration)?;
    if let FeedbackDelay::After(delay) = feedback.delay {
        let in_time = delay < duration;
        at.require("delay", in_time, delay, format!("less than `duration`, {duration}"))?;
    }
    if let Some(quantum) = feedback.quantum {
        let good = quantum > Rate::ZERO && !quantum.is_unlimited();
        at.require("quantum", good, quantum, "a finite rate above 0")?;
    }
    if let Some(scone) = &feedback.scone {
        at.inner("scone").part(scone.check())?;
        let own = "nothing: advice has levels and a period of its own, `scone`";
        for (key, given) in [("quantum", feedback.quantum.is_some()), ("expires", feedback.expires.is_some())]
        {
            at.require(key, !given, "a value", own)?;
        }
    }
    let Some(expires) = feedback.expires else { return Ok(()) };
    let Some(interval) = interval else {
        let regular = "nothing: rates that are advertised at their changes only never expire";
        let error = ScenarioError::at(at.key("expires"), regular).found(expires);
        return Err(error.hint("give the estimator an interval"));
    };
    at.bounded("expires", expires)?;
    at.require("expires", expires >= interval, expires, format!("at least `interval`, {interval}"))
}

/// Means are advertised at the end of each interval: one that ends after the run advertises nothing.
fn check_estimator(at: &At, estimator: &EstimatorConfig, duration: Span) -> Checked {
    at.part(estimator.check())?;
    let Some(interval) = estimator.interval().filter(|_| estimator.averages()) else { return Ok(()) };
    let shorter = format!("less than `duration`, {duration}");
    at.inner(estimator.name()).require("interval", interval < duration, interval, shorter)
}

/// An application that heeds a rate needs feedback that advertises one.
pub(crate) fn check_heeded(at: &At, flow: &FlowConfig) -> Checked {
    let silent = flow.feedback.is_none() && !by_default(flow);
    let at = at.inner("app").inner(flow.app.name());
    let expected = "false, or `feedback` for the flow, which advertises the rate that is heeded";
    at.require("heed", !silent || !flow.app.heeds(), true, expected)
}

/// Whether a flow that says nothing of feedback has it, since it needs a rate.
fn by_default(flow: &FlowConfig) -> bool {
    let is_told = flow.abr.as_ref().is_some_and(|abr| abr.rate.is_none());
    flow.is_tcp() && (is_told || matches!(flow.tcp.congestion, Congestion::Ratcp(_)))
}

/// The feedback of a flow whose table lies at `path`, if it has any.
pub(crate) fn resolve(
    path: &str,
    flow: &FlowConfig,
    routes: &Routes,
    links: &[LinkSpec],
    duration: Span,
) -> Result<Option<FeedbackSpec>, ScenarioError> {
    let config = match &flow.feedback {
        Some(config) => config.clone(),
        None if by_default(flow) => FeedbackConfig::default(),
        None => return Ok(None),
    };
    let at = At::new(format!("{path}.feedback"));
    let averages = config.estimator.averages();
    let chosen = match (&config.link, &config.links) {
        (Some(name), _) => vec![named(&at.key("link"), name, routes, links, averages)?],
        (None, Some(names)) => {
            let one = |(i, name): (usize, &String)| {
                named(&at.key(&format!("links.{i}")), name, routes, links, averages)
            };
            names.iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?
        }
        (None, None) => {
            let none = || without_link(path, flow, routes, links);
            vec![slowest(routes, links, averages).ok_or_else(none)?]
        }
    };
    let delay = match config.delay {
        FeedbackDelay::After(delay) => delay,
        FeedbackDelay::Path => {
            chosen.iter().map(|link| way_back(flow, routes, links, *link)).max().unwrap_or_default()
        }
    };
    at.require("delay", delay < duration, delay, format!("less than `duration`, {duration}"))?;
    let estimator = with_policy(&at, config.estimator, &chosen, links)?;
    Ok(Some(FeedbackSpec {
        links: chosen,
        share: config.share,
        estimator,
        delay,
        quantum: config.quantum,
        loss: config.loss,
        expires: config.expires,
        scone: config.scone,
        cap: config.cap,
    }))
}

/// The estimator, which takes the rate of a policy that it does not say from the queues of its links.
fn with_policy(
    at: &At,
    estimator: EstimatorConfig,
    chosen: &[usize],
    links: &[LinkSpec],
) -> Result<EstimatorConfig, ScenarioError> {
    let EstimatorConfig::Policy(PolicyConfig { rate: None }) = estimator else { return Ok(estimator) };
    let rate = chosen.iter().filter_map(|link| links[*link].parts.queue.policy()).min();
    if rate.is_none() {
        let expected = "a rate, or a link with a policer or shaper as its queue";
        return Err(ScenarioError::at(at.key("estimator.policy"), expected).found("policy"));
    }
    Ok(EstimatorConfig::Policy(PolicyConfig { rate }))
}

/// No link to the receiver has a rate to advertise: at the key by which the flow asked for one.
fn without_link(path: &str, flow: &FlowConfig, routes: &Routes, links: &[LinkSpec]) -> ScenarioError {
    let (key, found) = match (&flow.feedback, &flow.abr) {
        (Some(_), _) => ("feedback.link", "none"),
        (None, Some(_)) => ("abr", "abr"),
        (None, None) => ("tcp.congestion", flow.tcp.congestion.name()),
    };
    let error =
        ScenarioError::at(format!("{path}.{key}"), "a link with a finite rate on the way to the receiver");
    let serves = |link: &usize| matches!(links[*link].parts.capacity, CapacityParts::Opportunities(_));
    let hint = if routes.forward.iter().any(serves) {
        "delivery opportunities have no rate at each instant, only a mean: \
         write `feedback = { estimator = \"instantaneous\" }` for the flow"
    } else {
        "a rate needs a link that has one"
    };
    error.found(found).hint(hint)
}

/// From the server of `link` with the packets to the receiver, and back with the acknowledgements, in the mean.
fn way_back(flow: &FlowConfig, routes: &Routes, links: &[LinkSpec], link: usize) -> Span {
    let rest = routes.forward.iter().skip_while(|on_route| **on_route != link);
    let delays = rest.chain(&routes.reverse).map(|link| links[*link].parts.delay.mean());
    delays.fold(flow.access_delay, Span::saturating_add)
}

/// A link has a rate at each instant if it is never unlimited and serves no opportunities, which have a mean only.
fn has_rate(link: &LinkSpec, averages: bool) -> bool {
    let finite = match &link.parts.capacity {
        CapacityParts::Opportunities(_) => averages,
        CapacityParts::Steps(timeline) => !timeline.pieces().any(|(_, rate)| rate.is_unlimited()),
        _ => true,
    };
    finite && !link.mean_capacity.is_unlimited()
}

fn slowest(routes: &Routes, links: &[LinkSpec], averages: bool) -> Option<usize> {
    let steady = |link: &LinkSpec| matches!(link.parts.capacity, CapacityParts::Constant(_));
    let with_rate = routes.forward.iter().copied().filter(|link| has_rate(&links[*link], averages));
    with_rate.min_by_key(|link| (steady(&links[*link]), links[*link].mean_capacity))
}

fn named(
    path: &str,
    name: &str,
    routes: &Routes,
    links: &[LinkSpec],
    averages: bool,
) -> Result<usize, ScenarioError> {
    let wrong = |expected: String| ScenarioError::at(path, expected).found(name);
    let on_route: Vec<&str> = routes.forward.iter().map(|link| &*links[*link].name).collect();
    let Some(&link) = routes.forward.iter().find(|link| &*links[**link].name == name) else {
        let known = links.iter().any(|link| &*link.name == name);
        let error = wrong(one_of(&on_route));
        return Err(match nearest(name, on_route.iter().copied()) {
            _ if known => error.hint("the links from the sender to the receiver"),
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        });
    };
    if !has_rate(&links[link], averages) {
        let error = wrong("a link with a finite rate at each instant".to_owned());
        let opportunities = matches!(links[link].parts.capacity, CapacityParts::Opportunities(_));
        return Err(if opportunities {
            error.hint("delivery opportunities have a mean: estimator = \"instantaneous\"")
        } else {
            error
        });
    }
    Ok(link)
}
