//! What a reader should know before relying on an interval over runs: whether they differ, and what all of them share.

use varicap_net::{LossParts, QueueConfig};
use varicap_units::Span;

use crate::resolve::network::{FlowSpec, LinkSpec, Network, Transport};
use crate::results::RunResult;
use crate::results::columns::{Kind, Row, Value};
use crate::results::rows::FlowRow;

/// Goodputs within this share of each other hardly differ.
const HARDLY: f64 = 1e-4;

/// Whether the runs of a flow differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differ {
    /// In no number: they are one run, repeated.
    No,
    /// In something, but their goodputs are within [`HARDLY`] of each other.
    Hardly,
    /// In their goodputs.
    Yes,
}

impl Differ {
    /// Whether the runs differ in the row at `place`; nothing for a single run.
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

/// Sentences on the runs of a scenario whose networks these are, several if it isolates flows.
pub fn notes(runs: &[RunResult], networks: &[Network]) -> Vec<String> {
    let mut notes = repetitions(runs, networks);
    if runs.iter().all(|run| run.fidelity.is_none()) {
        notes.extend(phases(runs, networks));
    }
    notes
}

/// What runs have in common that another run of the real path would not.
fn repetitions(runs: &[RunResult], networks: &[Network]) -> Vec<String> {
    let (mut notes, count) = (Vec::new(), runs.len());
    let rows: Vec<&[FlowRow]> = runs.iter().map(|run| run.flows.as_slice()).collect();
    let flows = rows.first().map_or(0, |rows| rows.len());
    let differ = |how: Differ| {
        let places = (0..flows).filter(|&place| Differ::of(&rows, place) == Some(how));
        listed(places.map(|place| rows[0][place].name.as_str()))
    };
    let identical = differ(Differ::No);
    if let Some(names) = &identical {
        notes.push(format!(
            "{names}: the {count} runs are identical, for nothing random reaches them; try `start_spread`"
        ));
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
