//! Queues of links: whether what a scenario says of them makes sense.

use indexmap::IndexMap;
use varicap_net::{CbqClass, CbqConfig, DrrConfig, QueueConfig, RedConfig};
use varicap_units::{Amount, Bytes};

use crate::check::{At, Checked};
use crate::error::{ScenarioError, nearest, one_of};
use crate::resolve::topology::Placed;
use crate::scenario::FlowConfig;
use crate::scenario::document::join_path;

/// Least and greatest weight of a flow.
const LEAST_WEIGHT: f64 = 0.01;
const MOST_WEIGHT: f64 = 1000.0;
/// Most classes of a link.
const MOST_CLASSES: usize = 100;
/// How far above 1 the sum of shares may be: decimals in a file are not exact.
const SHARE_TOLERANCE: f64 = 1e-9;
/// Least quantum: a large packet must not take many rounds [B].
const LEAST_QUANTUM: Bytes = Bytes::new(100);

/// Amounts in BDP need a capacity that is finite.
pub(crate) fn check_no_bdp(at: &At, queue: &QueueConfig) -> Checked {
    let at = at.inner(queue.name());
    let mut amounts = vec![("limit", queue.limit())];
    match queue {
        QueueConfig::Red(red) => {
            amounts.extend([("min_threshold", red.min_threshold), ("max_threshold", red.max_threshold)])
        }
        QueueConfig::Ered(ered) => amounts.extend([
            ("min_threshold", ered.min_threshold),
            ("max_threshold", ered.max_threshold),
            ("reserve", ered.reserve),
        ]),
        QueueConfig::Drr(DrrConfig { flow_limit, quantum, .. }) => {
            amounts.push(("quantum", *quantum));
            amounts.extend(flow_limit.map(|limit| ("flow_limit", limit)));
        }
        QueueConfig::Cbq(cbq) => {
            return cbq.classes.iter().try_for_each(|(name, class)| {
                check_no_bdp(&class_at(&at, name).inner("queue"), &class.queue)
            });
        }
        QueueConfig::Sfq(sfq) => amounts.extend(sfq.flow_limit.map(|limit| ("flow_limit", limit))),
        QueueConfig::DropTail(_) | QueueConfig::CoDel(_) | QueueConfig::AccelBrake(_) => {}
    }
    for (key, amount) in amounts {
        let bdp = matches!(amount, Amount::Bdp(_));
        let why = "an amount in packets or bytes: at unlimited capacity there is no bdp";
        at.require(key, !bdp, amount, why)?;
    }
    Ok(())
}

/// Checks a queue whose table lies at `at`, in a scenario with these flows.
pub(crate) fn check(at: &At, queue: &QueueConfig, flows: &IndexMap<String, FlowConfig>) -> Checked {
    match queue {
        QueueConfig::DropTail(queue) => at.inner("drop-tail").amount("limit", queue.limit),
        QueueConfig::CoDel(queue) => {
            let at = at.inner("codel");
            at.amount("limit", queue.limit)?;
            at.positive("target", queue.target)?;
            at.positive("interval", queue.interval)?;
            let shorter = format!("at most the interval, {}", queue.interval);
            at.require("target", queue.target <= queue.interval, queue.target, shorter)
        }
        QueueConfig::AccelBrake(queue) => {
            let at = at.inner("accel-brake");
            at.amount("limit", queue.limit)?;
            at.require("eta", queue.eta > 0.0 && queue.eta <= 1.0, queue.eta, "above 0, and at most 1")?;
            at.bounded("target", queue.target)?;
            at.positive("delta", queue.delta)?;
            at.positive("window", queue.window)
        }
        QueueConfig::Drr(drr) => {
            let at = at.inner("drr");
            at.amount("quantum", drr.quantum)?;
            let least = Amount::Bytes(LEAST_QUANTUM);
            let good = match drr.quantum {
                Amount::Bytes(quantum) => quantum >= LEAST_QUANTUM,
                quantum => quantum != Amount::Unlimited,
            };
            at.require("quantum", good, drr.quantum, format!("a finite amount of at least {least}"))?;
            check_sharing(&at, drr.limit, drr.flow_limit, &drr.weights, flows)
        }
        QueueConfig::Cbq(cbq) => check_classes(&at.inner("cbq"), cbq, flows),
        QueueConfig::Sfq(sfq) => {
            check_sharing(&at.inner("sfq"), sfq.limit, sfq.flow_limit, &sfq.weights, flows)
        }
        QueueConfig::Red(red) => check_red(&at.inner("red"), red),
        QueueConfig::Ered(ered) => {
            let at = at.inner("ered");
            check_red(&at, &ered.red())?;
            let good = ered.reserve != Amount::Unlimited;
            at.require("reserve", good, ered.reserve, "an amount below `limit`")
        }
    }
}

/// Limits and weights of fair queueing.
fn check_sharing(
    at: &At,
    limit: Amount,
    flow_limit: Option<Amount>,
    weights: &IndexMap<String, f64>,
    flows: &IndexMap<String, FlowConfig>,
) -> Checked {
    at.amount("limit", limit)?;
    flow_limit.map_or(Ok(()), |limit| at.amount("flow_limit", limit))?;
    for (name, weight) in weights {
        let path = at.key(&join_path(&["weights", name]));
        check_flow_name(&path, name, flows)?;
        if !(LEAST_WEIGHT..=MOST_WEIGHT).contains(weight) {
            let expected = format!("a weight from {LEAST_WEIGHT} to {MOST_WEIGHT}");
            return Err(ScenarioError::at(path, expected).found(weight));
        }
    }
    Ok(())
}

/// The table of a class of the queue at `at`.
fn class_at(at: &At, name: &str) -> At {
    At::new(at.key(&join_path(&["classes", name])))
}

fn check_classes(at: &At, cbq: &CbqConfig, flows: &IndexMap<String, FlowConfig>) -> Checked {
    let count = cbq.classes.len();
    at.require(
        "classes",
        (1..=MOST_CLASSES).contains(&count),
        count,
        format!("1 to {MOST_CLASSES} classes"),
    )?;
    let total: f64 = cbq.classes.values().map(|class| class.share.get()).sum();
    let whole = "shares that sum to at most 1";
    at.require("classes", total <= 1.0 + SHARE_TOLERANCE, format!("shares of {total}"), whole)?;
    let mut owner: IndexMap<&str, &str> = IndexMap::new();
    let mut rest: Option<&str> = None;
    for (name, class) in &cbq.classes {
        let at = class_at(at, name);
        at.require("share", class.share.get() > 0.0, class.share, "above 0")?;
        for (place, flow) in class.flows.iter().flatten().enumerate() {
            let path = at.key(&format!("flows.{place}"));
            check_flow_name(&path, flow, flows)?;
            if let Some(other) = owner.insert(flow, name) {
                return Err(
                    ScenarioError::at(path, "a flow of one class").found(format!("{flow} of `{other}`"))
                );
            }
        }
        if class.flows.is_none()
            && let Some(other) = rest.replace(name)
        {
            let expected = format!("a list: `{other}` has all flows that no class names");
            return Err(ScenarioError::at(at.key("flows"), expected).found("none"));
        }
        let inner = !matches!(class.queue, QueueConfig::Cbq(_) | QueueConfig::AccelBrake(_));
        at.require("queue", inner, class.queue.name(), "any queue but `cbq` and `accel-brake`")?;
        check(&at.inner("queue"), &class.queue, flows)?;
    }
    Ok(())
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

/// Whether `name`, which stands at `path`, is one of the flows.
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

fn check_red(at: &At, red: &RedConfig) -> Checked {
    at.amount("limit", red.limit)?;
    at.amount("min_threshold", red.min_threshold)?;
    at.amount("max_threshold", red.max_threshold)?;
    let ordered = match (red.min_threshold, red.max_threshold) {
        (Amount::Packets(least), Amount::Packets(most)) => least < most,
        (Amount::Bytes(least), Amount::Bytes(most)) => least < most,
        (Amount::Bdp(least), Amount::Bdp(most)) => least < most,
        (least, _) => least != Amount::Unlimited,
    };
    let below = format!("less than `max_threshold`, {}", red.max_threshold);
    at.require("min_threshold", ordered, red.min_threshold, below)?;
    at.require("weight", red.weight > 0.0 && red.weight <= 1.0, red.weight, "above 0, and at most 1")?;
    let probability = red.max_probability;
    at.require("max_probability", probability.get() > 0.0, probability, "above 0")?;
    at.size("mean_packet", red.mean_packet)
}

/// A queue must hold a packet, and its parts must fit into it, as soon as it is known how much a packet and a BDP are.
pub(crate) fn check_limits(link: &Placed<'_>, queue: &QueueConfig, packet: Bytes, bdp: Bytes) -> Checked {
    check_limits_at(format!("{}.queue", link.path), link.config.queue.is_none(), queue, packet, bdp)
}

/// As check_limits, for a queue that lies at `path` or is there by default.
fn check_limits_at(
    path: String,
    is_default: bool,
    queue: &QueueConfig,
    packet: Bytes,
    bdp: Bytes,
) -> Checked {
    let at = At::new(format!("{path}.{}", queue.name()));
    let in_bytes = |amount: Amount| amount.bytes(packet, bdp);
    let told = |amount: Amount| match amount {
        Amount::Bytes(_) | Amount::Unlimited => amount.to_string(),
        _ => format!("{amount} = {}", in_bytes(amount)),
    };
    if let QueueConfig::Cbq(cbq) = queue {
        return cbq.classes.iter().try_for_each(|(name, class)| {
            check_limits_at(class_at(&at, name).key("queue"), is_default, &class.queue, packet, bdp)
        });
    }
    let limit = queue.limit();
    if in_bytes(limit) < packet {
        let expected = format!("room for at least one packet of {packet}");
        let found = if let Amount::Bdp(_) = limit { told(limit) } else { limit.to_string() };
        let error = ScenarioError::at(at.key("limit"), expected).found(found);
        return Err(if is_default {
            error.hint("that is the default: say how long the queue is")
        } else {
            error
        });
    }
    let flow_limit = match queue {
        QueueConfig::Drr(drr) => drr.flow_limit,
        QueueConfig::Sfq(sfq) => sfq.flow_limit,
        _ => None,
    };
    if let Some(limit) = flow_limit {
        let expected = format!("room for at least one packet of {packet}");
        at.require("flow_limit", in_bytes(limit) >= packet, told(limit), expected)?;
    }
    let QueueConfig::Ered(ered) = queue else { return Ok(()) };
    let (most, reserve) = (in_bytes(ered.max_threshold), in_bytes(ered.reserve));
    let below = format!("at most `limit`, {}", told(limit));
    at.require("max_threshold", most <= in_bytes(limit), told(ered.max_threshold), below)?;
    let ordered = in_bytes(ered.min_threshold) < most;
    let below = format!("less than `max_threshold`, {}", told(ered.max_threshold));
    at.require("min_threshold", ordered, told(ered.min_threshold), below)?;
    let room = in_bytes(limit).saturating_sub(reserve) >= packet;
    let below = format!("less than `limit`, {}, by a packet of {packet} or more", told(limit));
    at.require("reserve", room, told(ered.reserve), below)
}

/// Whether nothing at the queue is left to chance: then the order in which packets of several flows arrive may be fixed for
/// ever.
pub(crate) fn is_regular(queue: &QueueConfig) -> bool {
    match queue {
        QueueConfig::DropTail(_) | QueueConfig::AccelBrake(_) | QueueConfig::Drr(_) | QueueConfig::Sfq(_) => {
            true
        }
        QueueConfig::Red(_) | QueueConfig::Ered(_) | QueueConfig::CoDel(_) => false,
        QueueConfig::Cbq(cbq) => cbq.classes.values().any(|class| is_regular(&class.queue)),
    }
}
