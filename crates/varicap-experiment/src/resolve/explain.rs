//! Every value of a scenario: what it is, where it was given, or what is taken instead.

use serde::Serialize;
use serde_json::Value;
use varicap_net::QueueConfig;
use varicap_units::{Amount, Rate, Time, TokenBucket};

use crate::error::ScenarioError;
use crate::resolve::network::{FlowSpec, LinkSpec, Network, ReservationSpec, Transport};
use crate::scenario::Scenario;
use crate::scenario::document::{Node, Origin, join_path};
use crate::scenario::schema::{self, Kind};

/// One value of a scenario, or one that follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// Path of its key; what follows from the scenario begins with `resolved`.
    pub key: String,
    /// The value as a file would hold it, or what happens without one.
    pub value: String,
    /// Whether it was given, in the file or by `--set`; otherwise it is a default, or follows from others.
    pub given: bool,
    /// Where it was given: `lte.toml:12` or `--set …`; or whose default it is: `stack linux`.
    pub place: Option<String>,
    /// Its meaning.
    pub text: String,
}

/// Every value of `scenario`, in the order of the format, and what its `networks` make of it.
pub fn explain(scenario: &Scenario, networks: &[Network]) -> Vec<Explained> {
    let json = scenario.to_json();
    let mut walk = Walk { scenario, path: Vec::new(), lines: Vec::new() };
    walk.value(Some(&json));
    let mut lines = walk.lines;
    for network in networks {
        let prefix = match &network.flows[..] {
            [flow] if networks.len() > 1 => join_path(&["resolved", &flow.name]),
            _ => "resolved".to_owned(),
        };
        resolved(scenario, network, &prefix, &mut lines);
    }
    lines
}

/// The transports that a flow may have instead of TCP.
const OTHERS: [&str; 3] = ["datagrams", "quic", "endpoint"];

struct Walk<'a> {
    scenario: &'a Scenario,
    path: Vec<String>,
    lines: Vec<Explained>,
}

impl Walk<'_> {
    fn within(&mut self, key: &str, json: Option<&Value>) {
        self.path.push(key.to_owned());
        self.value(json);
        self.path.pop();
    }

    fn value(&mut self, json: Option<&Value>) {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        // Every flow shows its own.
        if path == ["tcp"] {
            return;
        }
        match (schema::kind(&path), json) {
            (_, None) => self.line(None),
            (Kind::Table(keys), Some(table)) => {
                let unused = |key: &str| match key {
                    "tcp" => OTHERS.iter().any(|other| table.get(other).is_some()),
                    "app" => table.get("datagrams").is_some(),
                    _ => OTHERS.contains(&key) && table.get(key).is_none(),
                };
                for key in keys.iter().filter(|key| !unused(key)) {
                    self.within(key, table.get(key));
                }
            }
            (Kind::Named, Some(Value::Object(table))) => {
                table.iter().for_each(|(key, value)| self.within(key, Some(value)));
            }
            (Kind::List, Some(Value::Array(items))) if items.iter().any(Value::is_object) => {
                items.iter().enumerate().for_each(|(i, item)| self.within(&i.to_string(), Some(item)));
            }
            (Kind::Choice(_), Some(Value::Object(choice))) => match choice.iter().next() {
                // The topology's kind and the parameters of other choices have lines of their own.
                Some((name, Value::Object(parameters))) => {
                    self.line(Some(&Value::String(name.clone())));
                    self.within(name, Some(&Value::Object(parameters.clone())));
                }
                _ => self.line(json),
            },
            (_, Some(value)) => self.line(Some(value)),
        }
    }

    fn line(&mut self, json: Option<&Value>) {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let text = schema::description(&path).unwrap_or_default().replace('\n', " ");
        let written = self.scenario.source.root.at(path.iter().copied());
        let value = match json {
            Some(value) => plain(value),
            None => {
                text.split_once("Default: ").map_or("none", |(_, rest)| rest.trim_end_matches('.')).to_owned()
            }
        };
        let place = written.and_then(|node| self.place(node));
        self.lines.push(Explained {
            key: join_path(&self.path),
            value,
            given: written.is_some_and(|node| node.origin.is_written()),
            place,
            text,
        });
    }

    fn place(&self, node: &Node) -> Option<String> {
        match node.origin {
            Origin::Default => return None,
            Origin::Stack(stack) => return Some(format!("stack {stack}")),
            _ => {}
        }
        let mut at = ScenarioError::default();
        self.scenario.source.place(&mut at, node.origin);
        match at.line {
            Some(line) => Some(format!("{}:{line}", at.file)),
            None => Some(at.file).filter(|file| !file.is_empty()),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(choice) if choice.len() == 1 => {
            choice.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect()
        }
        other => other.to_string(),
    }
}

/// The values that follow from the scenario: bandwidth-delay products, queues, windows in bytes, jitter, routes.
fn resolved(scenario: &Scenario, network: &Network, prefix: &str, lines: &mut Vec<Explained>) {
    let mut line = |path: [&str; 3], value: String, text: &str| {
        let key = format!("{prefix}.{}", join_path(&path));
        lines.push(Explained { key, value, given: false, place: None, text: text.to_owned() });
    };
    for (index, link) in network.links.iter().enumerate() {
        let parts = &link.parts;
        let mut line = |key: &str, value: String, text: &str| line(["links", &link.name, key], value, text);
        line("mean_capacity", link.mean_capacity.to_string(), "Long-run mean of the capacity.");
        line("packet", parts.packet.to_string(), "Wire size of a full packet.");
        if !link.mean_capacity.is_unlimited() {
            let text = "Mean capacity times the largest base RTT of the flows over the link.";
            line("bdp", parts.bdp.to_string(), text);
        }
        if let Some(arq) = &parts.arq {
            line("slot", arq.slot.to_string(), "Time of a transmission, of one link-layer packet.");
        }
        line("queue", parts.queue.describe(parts.packet, parts.bdp), "The queue and its limit.");
        if let Some(admission) = admission(network, index) {
            line("admission", admission, ADMISSION);
        }
    }
    for flow in &network.flows {
        let mut line = |key: &str, value: String, text: &str| line(["flows", &flow.name, key], value, text);
        let rtt = network.base_rtt(flow);
        line(
            "base_rtt",
            rtt.to_string(),
            "Round trip without queueing and transmission, where delays vary in the mean.",
        );
        line("packet", flow.packet.to_string(), "Wire size of a full packet.");
        line("jitter", flow.jitter.to_string(), "Largest processing delay of an acknowledgement.");
        let route = |links: &[usize]| {
            links.iter().map(|link| &*network.links[*link].name).collect::<Vec<_>>().join(", ")
        };
        let sources = flow.abr.as_ref().map(|abr| abr.link(0));
        let forward: Vec<usize> = sources.into_iter().chain(flow.forward.iter().copied()).collect();
        line("route", route(&forward), "Links to the receiver.");
        line("route_back", route(&flow.reverse), "Links back to the sender.");
        if let Some(feedback) = &flow.feedback {
            line("feedback", route(&feedback.links), "Links that advertise a rate to the sender.");
            line("feedback_delay", feedback.delay.to_string(), "How long a rate takes to the sender.");
            if let Some(scone) = &feedback.scone {
                let levels = format!(
                    "{} to {}, {} levels",
                    scone.rate(0),
                    scone.rate(scone.highest()),
                    scone.highest() + 1
                );
                line("advice", levels, "What throughput advice can say.");
            }
        }
        if let Some(ReservationSpec { terms, .. }) = &flow.reservation {
            let depth = TokenBucket::new(Time::ZERO, terms.rate, terms.bucket).depth();
            line("reservation", format!("{}, {depth}", terms.rate), "Reserved at first, and its bucket.");
            if let Some(interval) = terms.interval(flow.packet) {
                line(
                    "timer",
                    interval.to_string(),
                    "Time between expiries of the reservation's timer, at first.",
                );
            }
        }
        for (key, window) in windows(scenario, flow) {
            line(key, window.to_string(), "The window in bytes.");
        }
    }
}

/// The note on the peak rates over an ERED queue. Source: [minrate, §II-B].
const ADMISSION: &str = "Whether an ERED queue of B bytes with a maximum threshold T keeps marked packets from loss: the peak rates of the \
                         reservations must sum to less than B / T times the capacity.";

/// The peak rates of the reservations over a link with an ERED queue, if all have one, beside what it admits.
fn admission(network: &Network, link: usize) -> Option<String> {
    let LinkSpec { parts, mean_capacity, .. } = &network.links[link];
    let QueueConfig::Ered(ered) = &parts.queue else { return None };
    let reserved = network.flows.iter().filter(|flow| flow.forward.contains(&link));
    let reserved = reserved.filter_map(|flow| Some((flow.count, flow.reservation.as_ref()?.terms.peak)));
    let peaks: Vec<(u32, Rate)> = reserved.collect();
    if peaks.is_empty() || mean_capacity.is_unlimited() || peaks.iter().any(|(_, peak)| peak.is_unlimited()) {
        return None;
    }
    let sum: u64 = peaks.iter().map(|(count, peak)| u64::from(*count).saturating_mul(peak.as_bps())).sum();
    let in_bytes = |amount: Amount| amount.bytes(parts.packet, parts.bdp).as_u64() as f64;
    let most = mean_capacity.as_bps() as f64 * in_bytes(ered.limit) / in_bytes(ered.max_threshold);
    let (sum, most) = (Rate::from_bps(sum), Rate::from_bps(most as u64));
    Some(if sum < most {
        format!("peak rates of {sum}, below {most}: no marked packet is lost")
    } else {
        format!("warning: peak rates of {sum}, not below {most}: marked packets may be lost")
    })
}

/// The windows that the scenario gives in BDP.
fn windows(scenario: &Scenario, flow: &FlowSpec) -> Vec<(&'static str, Amount)> {
    let (Some(given), Transport::Tcp { tcp, .. }) = (scenario.flows.get(&*flow.name), &flow.transport) else {
        return Vec::new();
    };
    let windows = [
        ("initial_window", given.tcp.initial_window, tcp.initial_window),
        ("initial_ssthresh", given.tcp.initial_ssthresh, tcp.initial_ssthresh),
        ("max_window", given.tcp.max_window, tcp.max_window),
        ("receive_window", given.tcp.receive_window, tcp.receive_window),
    ];
    let changed = windows.into_iter().filter(|(_, given, resolved)| given != resolved);
    changed.map(|(key, _, resolved)| (key, resolved)).collect()
}
