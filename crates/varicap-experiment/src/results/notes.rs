//! Notes for a reader before relying on an interval over runs: whether they differ, and what all of them share.

use varicap_net::{LossParts, QueueConfig};
use varicap_tcp::LARGEST_WINDOW;
use varicap_units::Span;

use crate::resolve::network::{FlowSpec, LinkSpec, Network, Transport};
use crate::results::columns::{Kind, Row, Value};
use crate::results::rows::FlowRow;
use crate::results::{RunResult, are_one};

/// Goodputs within this share of each other hardly differ.
const HARDLY: f64 = 1e-4;

/// The differences between the runs of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differ {
    /// In no number: they are one run, repeated, or happen to be the same.
    No,
    /// In something, but their goodputs are within [`HARDLY`] of each other.
    Hardly,
    /// In their goodputs.
    Yes,
}

impl Differ {
    /// The differences between the runs in the row at `place`; nothing for a single run.
    pub fn of(runs: &[&[FlowRow]], place: usize) -> Option<Differ> {
        let (first, rest) = runs.split_first()?;
        let first = &first[place];
        if rest.is_empty() {
            return None;
        }
        if rest.iter().all(|rows| are_identical(first, &rows[place])) {
            return Some(Differ::No);
        }
        let goodputs = runs.iter().map(|rows| rows[place].goodput_bps);
        let (least, most) =
            goodputs.fold((f64::INFINITY, 0.0_f64), |(a, b), goodput| (a.min(goodput), b.max(goodput)));
        Some(if most - least <= HARDLY * most { Differ::Hardly } else { Differ::Yes })
    }

    /// How results name it.
    pub fn name(self) -> &'static str {
        match self {
            Differ::No => "no",
            Differ::Hardly => "hardly",
            Differ::Yes => "yes",
        }
    }
}

/// Whether two runs measured the same, to the last bit.
pub(super) fn are_identical<R: Row>(one: &R, other: &R) -> bool {
    let same = |(one, other): (&Value<'_>, &Value<'_>)| one.as_real().to_bits() == other.as_real().to_bits();
    let (one, other) = (one.values(), other.values());
    let pairs = R::COLUMNS.iter().zip(one.iter().zip(&other));
    pairs.filter(|(column, _)| column.kind != Kind::Label).all(|(_, pair)| same(pair))
}

/// Beyond this share of unfinished transfers, completion times need a note: what is under way as measuring ends is not
/// made up for by what was as it began.
const FEW: f64 = 0.01;

/// Sentences on the runs of a scenario whose networks these are, several if it isolates flows.
pub fn notes(runs: &[RunResult], networks: &[Network]) -> Vec<String> {
    let mut notes = missing_transfers(runs);
    notes.extend(repetitions(runs, networks));
    notes.extend(given_up(runs));
    if runs.iter().all(|run| run.fidelity.is_none()) {
        notes.extend(phases(runs, networks));
    }
    notes.extend(windows(networks));
    notes.extend(logs(networks));
    notes
}

/// The flaws of the logs that links name, and what was done about them.
fn logs(networks: &[Network]) -> Vec<String> {
    let mut notes = Vec::new();
    for link in networks.iter().flat_map(|network| &network.links) {
        let parts = &link.parts;
        for said in [parts.capacity.said(), parts.delay.said(), parts.loss.said()].into_iter().flatten() {
            let note = format!("{}: {said}", link.name);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Flows whose paths hold more than TCP can have in flight.
fn windows(networks: &[Network]) -> Vec<String> {
    let mut notes = Vec::new();
    for (network, flow) in
        networks.iter().flat_map(|network| network.flows.iter().map(move |flow| (network, flow)))
    {
        let Some(allowed) = network.largest_window_rate(flow) else { continue };
        let note = format!(
            "{}: TCP's largest window, {} B (RFC 7323 §2.3), is less than the path holds: it allows a connection {allowed}",
            flow.name,
            LARGEST_WINDOW.as_u64(),
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Flow groups with transfers that were refused or did not end, of which completion times say nothing.
fn missing_transfers(runs: &[RunResult]) -> Vec<String> {
    let rows = || runs.iter().flat_map(|run| &run.flows);
    let mut groups: Vec<&str> = Vec::new();
    for row in rows().filter(|row| row.offered_transfers > 0) {
        if !groups.contains(&row.group.as_str()) {
            groups.push(&row.group);
        }
    }
    let sum = |group: &str, count: fn(&FlowRow) -> u64| {
        rows().filter(|row| row.group == group).map(count).sum::<u64>()
    };
    let sentence = |group: &str| {
        let offered = sum(group, |row| row.offered_transfers);
        let refused = sum(group, |row| row.refused_transfers);
        let unfinished = sum(group, |row| row.unfinished_transfers);
        if refused == 0 && unfinished as f64 <= FEW * offered as f64 {
            return None;
        }
        let carried = sum(group, |row| row.carried_transfers);
        let mut many = if runs.len() > 1 { format!(" of {} runs", runs.len()) } else { String::new() };
        if carried > 0 {
            many += &format!(" ({carried} of them under way as measuring began)");
        }
        let load = if refused > 0 {
            "; offer less, or raise `at_most`, and see how many do not end"
        } else if sum(group, |row| row.gave_up) >= unfinished {
            ""
        } else {
            "; if a longer `duration` leaves as large a share unfinished, the path is overloaded"
        };
        let ended = offered - refused - unfinished;
        Some(format!(
            "{group}: {refused} of {offered} transfers{many} were refused and {unfinished} unfinished: completion \
             times are of the {ended} that ended{load}"
        ))
    };
    groups.into_iter().filter_map(sentence).collect()
}

/// The properties that runs have in common and that another run of the real path would not.
fn repetitions(runs: &[RunResult], networks: &[Network]) -> Vec<String> {
    let (mut notes, count) = (Vec::new(), runs.len());
    let rows: Vec<&[FlowRow]> = runs.iter().map(|run| run.flows.as_slice()).collect();
    let flows = rows.first().map_or(0, |rows| rows.len());
    let differ = |how: Differ| {
        let places = (0..flows).filter(|&place| Differ::of(&rows, place) == Some(how));
        listed(places.map(|place| rows[0][place].name.as_str()))
    };
    if let Some(names) = differ(Differ::No) {
        let why = if are_one(runs, networks) {
            "for nothing random reaches them; try `start_spread`"
        } else {
            "though they need not be: they say nothing of others; try longer ones, or `start_spread`"
        };
        notes.push(format!("{names}: the {count} runs are identical, {why}"));
    }
    if let Some(names) = differ(Differ::Hardly) {
        notes.push(format!(
            "{names}: the goodputs of the {count} runs are within 0.01 % of each other: more runs say no more"
        ));
    }
    let traced = networks.iter().flat_map(|network| &network.links);
    let traced = traced.filter(|LinkSpec { parts, .. }| {
        parts.capacity.repeats_itself() || parts.delay.repeats_itself() || parts.loss.repeats_itself()
    });
    if let Some(names) = listed(traced.map(|link| &*link.name)).filter(|_| count > 1) {
        notes
            .push(format!("{names}: all runs meet the same stretch of the trace; try `offset = \"random\"`"));
    }
    notes
}

/// Flows of which connections gave up: what they still had to send counts for nothing.
fn given_up(runs: &[RunResult]) -> Vec<String> {
    let rows = || runs.iter().flat_map(|run| &run.flows).filter(|row| row.gave_up > 0);
    let mut names: Vec<&str> = Vec::new();
    for row in rows() {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let note = |name: &str| {
        let count: u64 = rows().filter(|row| row.name == name).map(|row| row.gave_up).sum();
        let (what, whose) = if count == 1 { ("connection", "its") } else { ("connections", "their") };
        format!(
            "{name}: {count} {what} gave up before the end, as nothing was answered for too long (`retries2` and \
             `syn_retries` of `timer.linux`); no more of {whose} data was sent"
        )
    };
    names.into_iter().map(note).collect()
}

/// Flows whose losses are decided by ties: alone in a drop-tail queue that overflows, where no other loss is random.
fn phases(runs: &[RunResult], networks: &[Network]) -> Option<String> {
    let alone = networks.iter().flat_map(|network| network.flows.iter().map(move |flow| (network, flow)));
    let names = listed(
        alone.filter(|(network, flow)| is_in_phase(runs, network, flow)).map(|(_, flow)| &*flow.name),
    )?;
    Some(format!(
        "{names}: without `jitter`, ties decide what a drop-tail queue loses; try `jitter = \"1 ms\"`"
    ))
}

fn is_in_phase(runs: &[RunResult], network: &Network, flow: &FlowSpec) -> bool {
    let is_tcp = matches!(flow.transport, Transport::Tcp { .. });
    if !is_tcp || flow.carries_arrivals() || flow.jitter > Span::ZERO {
        return false;
    }
    let mut route = flow.forward.iter().chain(&flow.reverse).map(|link| &network.links[*link].parts);
    if route.any(|parts| !matches!(parts.loss, LossParts::None)) {
        return false;
    }
    let overflows = |link: &&usize| {
        let spec = &network.links[**link];
        let users = network.flows.iter().filter(|other| other.forward.contains(link));
        let is_alone = users.map(|other| u64::from(other.count)).sum::<u64>() == 1;
        let rows = runs.iter().flat_map(|run| &run.links);
        let mut rows =
            rows.filter(|row| *row.name == *spec.name && (row.flow.is_empty() || *row.flow == *flow.name));
        is_alone
            && matches!(spec.parts.queue, QueueConfig::DropTail(_))
            && rows.any(|row| row.overflowed_packets > 0)
    };
    flow.forward.iter().any(|link| overflows(&link))
}

/// Names in order, each once; nothing if there are none.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    (!seen.is_empty()).then(|| seen.join(", "))
}
