//! Results of runs: one object for people and programs, and tables of every run.

pub mod columns;
pub mod fidelity;
pub mod histogram;
pub mod interval;
pub mod live;
pub mod measure;
mod notes;
pub mod packets;
pub mod pcapng;
pub mod rows;
pub mod series;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use varicap_units::Span;

use crate::resolve::network::{FlowSpec, Network};
use crate::results::columns::{Column, Kind, Row, Table, Value, columns_to_json};
use crate::results::fidelity::Fidelity;
use crate::results::interval::{Chances, Interval, Range};
use crate::results::measure::FlowMeasure;
use crate::results::notes::{Differ, are_identical, notes};
use crate::results::packets::PacketLog;
use crate::results::rows::{FlowRow, GroupRows, LinkRow};
use crate::results::series::{FlowPoint, FlowSeries, LinkPoint, LinkSeries};

/// Version of the result object and of the tables. It grows when a key or a column changes its name or its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Number of the run among the replications, from zero.
    pub replication: u64,
    /// The scenario's seed.
    pub seed: u64,
    /// Simulated time, including the warm-up.
    pub simulated: Span,
    /// Measured time, without the warm-up.
    pub measured: Span,
    /// Number of events that the engine processed.
    pub events: u64,
    /// A row for each flow.
    pub flows: Vec<FlowRow>,
    /// A row for each group of several flows.
    pub groups: Vec<FlowRow>,
    /// A row for each link; several of one name where the scenario isolates flows.
    pub links: Vec<LinkRow>,
    /// How exactly time was kept, if the run was in real time; simulated time is exact.
    pub fidelity: Option<Fidelity>,
}

/// Everything that was recorded of one network in one replication.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Number of the replication.
    pub replication: u64,
    /// Number of the network, where the scenario isolates flows.
    pub network: usize,
    /// The series of each flow that has one, with the flow's name.
    pub flows: Vec<FlowSeries>,
    /// The series of each link.
    pub links: Vec<LinkSeries>,
    /// The log of what happened to the packets.
    pub packets: Option<PacketLog>,
}

impl RunResult {
    /// Joins the results of the networks of one replication; each link says to which flow it belonged.
    pub fn join(networks: &[Network], runs: &[RunResult]) -> RunResult {
        if let [only] = runs {
            return only.clone();
        }
        let mut joined = RunResult::default();
        for (place, (network, run)) in networks.iter().zip(runs).enumerate() {
            let mut run = run.clone();
            let owner = network.flows.first().map_or("", |flow| &*flow.name);
            run.links.iter_mut().for_each(|row| row.flow = owner.to_owned());
            if place == 0 { joined = run } else { joined.add_world(run) }
        }
        joined
    }

    /// Adds the rows of the flow group `spec`, whose flows measured `members`, after those of all links.
    pub fn add_group(&mut self, spec: &FlowSpec, members: &[FlowMeasure]) {
        let mut rows = GroupRows::new(&spec.name, members);
        // An unlimited link has no capacity in results (NaN); of no capacity there is no share.
        let links = spec.forward.iter().filter_map(|link| self.links.get(*link));
        let limited = links.filter(|link| !link.capacity_bps.is_nan());
        let slowest = limited.min_by(|one, other| one.capacity_bps.total_cmp(&other.capacity_bps));
        let slowest = slowest.filter(|link| link.capacity_bps > 0.0);
        for row in rows.flows.iter_mut().chain(&mut rows.group) {
            row.goodput_of_capacity = slowest.map_or(f64::NAN, |link| share_of_capacity(row, link));
        }
        self.flows.extend(rows.flows);
        self.groups.extend(rows.group);
    }

    /// Adds the result of another network of the same run, where the scenario isolates flows.
    pub fn add_world(&mut self, other: RunResult) {
        self.events += other.events;
        self.flows.extend(other.flows);
        self.groups.extend(other.groups);
        self.links.extend(other.links);
        match (&mut self.fidelity, &other.fidelity) {
            (Some(mine), Some(more)) => mine.merge(more),
            (mine, more) => *mine = more.clone(),
        }
    }
}

/// The share of the capacity of `link` that brought the goodput of `row` in the measured time. What the link had sent
/// before, or a gap had held back, may come in order in that time: it had no part of this capacity.
fn share_of_capacity(row: &FlowRow, link: &LinkRow) -> f64 {
    // Traffic that passes by a load-reactive link is in what came through alone.
    let sent = link.utilisation.max(link.throughput_bps / link.capacity_bps);
    (row.goodput_bps / link.capacity_bps).min(sent).min(1.0)
}

/// The object that `varicap run --json` prints: means over the runs, each with its 95 % confidence interval.
///
/// An object with a `mean` has the interval beside it as `lo` and `hi`; `ci95` holds the intervals of all numbers by
/// their path. A single run has no interval: both ends are null. If some runs lack a value, the mean is that of the
/// others. Simulated runs for which nothing is drawn are one run, and `exact`: both ends are the mean.
/// A flow's `runs_differ` says whether its runs do (`yes`, `hardly`, `no`; null for a single run), and `notes`
/// what a reader should know before relying on an interval.
pub fn summarise(runs: &[RunResult], scenario: Json, networks: &[Network]) -> Json {
    let exact = are_one(runs, networks);
    let rows = |of: fn(&RunResult) -> &[FlowRow]| {
        let rows: Vec<&[FlowRow]> = runs.iter().map(of).collect();
        let mut objects = summaries(&rows, exact);
        for (place, object) in objects.iter_mut().enumerate() {
            object["runs_differ"] = json!(Differ::of(&rows, place).map(Differ::name));
        }
        objects
    };
    let links: Vec<&[LinkRow]> = runs.iter().map(|run| run.links.as_slice()).collect();
    let first = runs.first();
    json!({
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario,
        "engine": engine(runs),
        "runs": runs.len(),
        "exact": exact,
        "simulated_s": first.map(|run| run.simulated.as_secs_f64()),
        "measured_s": first.map(|run| run.measured.as_secs_f64()),
        "events": runs.iter().map(|run| run.events).sum::<u64>(),
        "flows": rows(|run| &run.flows),
        "groups": rows(|run| &run.groups),
        "links": summaries(&links, exact),
        "notes": notes(runs, networks),
        "fidelity": fidelity(runs),
    })
}

/// The engine that ran them.
pub fn engine(runs: &[RunResult]) -> &'static str {
    if runs.iter().any(|run| run.fidelity.is_some()) { "kernel" } else { "sim" }
}

/// How exactly time was kept in all runs; if one run is invalid, the whole is invalid.
fn fidelity(runs: &[RunResult]) -> Json {
    let mut kept = runs.iter().filter_map(|run| Some((run.replication, run.fidelity.as_ref()?)));
    let Some((_, first)) = kept.clone().next() else { return json!({ "valid": true }) };
    let sentence =
        |number: u64, fault: String| if runs.len() > 1 { format!("run {number}: {fault}") } else { fault };
    let faults: Vec<String> = kept
        .clone()
        .flat_map(|(number, fidelity)| {
            fidelity.faults().into_iter().map(move |fault| sentence(number, fault))
        })
        .collect();
    let mut together = first.clone();
    kept.next();
    kept.for_each(|(_, fidelity)| together.merge(fidelity));
    together.to_json(&faults)
}

/// Whether all runs are one: none draws a random number, and none is in real time.
fn are_one(runs: &[RunResult], networks: &[Network]) -> bool {
    let drawn = engine(runs) == "kernel" || !networks.iter().all(Network::draws_nothing);
    !drawn && runs.iter().skip(1).all(|run| repeats(&runs[0], run))
}

/// Whether one run measured the same as another, to the last bit.
fn repeats(one: &RunResult, other: &RunResult) -> bool {
    fn same<R: Row>(one: &[R], other: &[R]) -> bool {
        one.iter().zip(other).all(|(one, other)| are_identical(one, other))
    }
    same(&one.flows, &other.flows) && same(&one.groups, &other.groups) && same(&one.links, &other.links)
}

/// One object for each row, summarised over the runs, which have the same rows; `exact` if the runs are one.
fn summaries<R: Row>(runs: &[&[R]], exact: bool) -> Vec<Json> {
    let count = runs.first().map_or(0, |rows| rows.len());
    assert!(runs.iter().all(|rows| rows.len() == count), "runs of one scenario differ in their rows");
    (0..count)
        .map(|place| summary(&runs.iter().map(|rows| &rows[place]).collect::<Vec<_>>(), exact))
        .collect()
}

/// One row, summarised over the runs.
fn summary<R: Row>(runs: &[&R], exact: bool) -> Json {
    let values: Vec<Vec<Value<'_>>> = runs.iter().map(|row| row.values()).collect();
    let (mut object, mut intervals) = (Map::new(), Map::new());
    for (place, column) in R::COLUMNS.iter().enumerate() {
        if let Value::Label(text) = values[0][place] {
            let same = values.iter().all(|row| row[place] == values[0][place]);
            assert!(same, "runs of one scenario differ in their `{}`", column.name);
            // An empty label is left out, such as the flow of a shared link.
            if !text.is_empty() {
                object.insert(column.path.to_owned(), text.into());
            }
            continue;
        }
        let numbers_at = |place: usize| values.iter().map(|row| row[place].as_real()).collect::<Vec<f64>>();
        let range = match column.range {
            _ if exact => Range::Any,
            Range::Share(Chances::Counted(by)) => {
                let place = R::COLUMNS.iter().position(|column| column.name == by);
                let each = place.map_or(1.0, |place| Interval::of(&numbers_at(place)).mean);
                Range::Share(Chances::Each(each as u32))
            }
            range => range,
        };
        let Interval { mean, lo, hi } = Interval::within(&numbers_at(place), range);
        insert(&mut object, column.path, mean);
        if let Some(parent) = column.path.strip_suffix(".mean") {
            insert(&mut object, &format!("{parent}.lo"), lo);
            insert(&mut object, &format!("{parent}.hi"), hi);
        }
        intervals.insert(column.path.to_owned(), json!([lo, hi]));
    }
    object.insert("ci95".to_owned(), intervals.into());
    object.into()
}

/// Puts a number at a path of at most two keys; anything that is not a number becomes null.
fn insert(object: &mut Map<String, Json>, path: &str, number: f64) {
    match path.split_once('.') {
        None => object.insert(path.to_owned(), json!(number)),
        Some((parent, key)) => {
            let inner = object.entry(parent).or_insert_with(|| Json::Object(Map::new()));
            inner.as_object_mut().and_then(|inner| inner.insert(key.to_owned(), json!(number)))
        }
    };
}

/// The tables of runs: one row per run and flow, and one per run and link.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTables {
    /// One row per run and flow.
    pub flows: Table,
    /// One row per run and group of several flows.
    pub groups: Table,
    /// One row per run and link.
    pub links: Table,
}

/// The number of the run, the first column of every table.
const REPLICATION: Column =
    Column::plain("replication", "1", Kind::Count, "Number of the run among the replications, from zero.");

/// The seed of the run, a column of every table.
const SEED: Column = Column::plain(
    "seed",
    "1",
    Kind::Count,
    "Seed of the scenario; with the replication it determines every random number.",
);

impl Default for RunTables {
    fn default() -> RunTables {
        RunTables {
            flows: numbered::<FlowRow>(),
            groups: numbered::<FlowRow>(),
            links: numbered::<LinkRow>(),
        }
    }
}

impl RunTables {
    /// Adds every row of a run.
    pub fn push(&mut self, run: &RunResult) {
        push(&mut self.flows, run, &run.flows);
        push(&mut self.groups, run, &run.groups);
        push(&mut self.links, run, &run.links);
    }
}

/// The table of all rows of flows.
pub fn flows_table(runs: &[RunResult]) -> Table {
    table_of_runs(runs, |run| &run.flows)
}

/// The table of all rows of groups of several flows.
pub fn groups_table(runs: &[RunResult]) -> Table {
    table_of_runs(runs, |run| &run.groups)
}

/// The table of all rows of links.
pub fn links_table(runs: &[RunResult]) -> Table {
    table_of_runs(runs, |run| &run.links)
}

fn table_of_runs<R: Row>(runs: &[RunResult], rows: fn(&RunResult) -> &Vec<R>) -> Table {
    let mut table = numbered::<R>();
    runs.iter().for_each(|run| push(&mut table, run, rows(run)));
    table
}

/// A table of rows that begin with the number of their run and its seed.
fn numbered<R: Row>() -> Table {
    Table::empty([REPLICATION, SEED].into_iter().chain(R::COLUMNS.iter().copied()))
}

fn push<R: Row>(table: &mut Table, run: &RunResult, rows: &[R]) {
    let numbers = [Value::Count(run.replication), Value::Count(run.seed)];
    rows.iter().for_each(|row| table.push(numbers.into_iter().chain(row.values())));
}

/// The columns of every result table, with units and meanings, as JSON.
pub fn columns_json() -> Json {
    let numbered = |columns: &[Column]| columns_to_json(&[&[REPLICATION, SEED], columns].concat());
    json!({
        "schema_version": SCHEMA_VERSION,
        "flows": numbered(FlowRow::COLUMNS),
        "groups": numbered(FlowRow::COLUMNS),
        "links": numbered(LinkRow::COLUMNS),
        "flow_series": columns_to_json(FlowPoint::COLUMNS),
        "link_series": columns_to_json(LinkPoint::COLUMNS),
        "packets": columns_to_json(PacketLog::COLUMNS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::columns::Data;

    fn run(replication: u64, timeouts: u64, goodput_bps: f64, rtt_mean_ms: f64) -> RunResult {
        let flow = FlowRow {
            name: "a".into(),
            group: "a".into(),
            timeouts,
            goodput_bps,
            rtt_mean_ms,
            ..FlowRow::default()
        };
        let link = LinkRow { name: "down".into(), flow: "a".into(), ..LinkRow::default() };
        RunResult {
            replication,
            seed: 7,
            simulated: Span::from_secs(60),
            measured: Span::from_secs(50),
            events: 10,
            flows: vec![flow],
            links: vec![link, LinkRow { name: "up".into(), ..LinkRow::default() }],
            ..RunResult::default()
        }
    }

    #[test]
    fn counters_are_means_with_an_interval_beside_them() {
        let object = summarise(&[run(0, 1, 1e6, 10.0), run(1, 3, 3e6, 20.0)], json!({ "name": "x" }), &[]);
        let flow = &object["flows"][0];
        assert_eq!(flow["timeouts"], 2.0);
        // Half-width t(0.975, 1) x s / sqrt(2) = 12.7062 x 1, and no less than nothing.
        let ends =
            [&flow["ci95"]["timeouts"][0], &flow["ci95"]["timeouts"][1]].map(|end| end.as_f64().unwrap());
        assert!(ends[0] == 0.0 && (ends[1] - (2.0 + 12.7062)).abs() < 1e-4);
        assert_eq!(flow["goodput_bps"]["mean"], 2e6);
        assert_eq!(flow["goodput_bps"]["lo"], flow["ci95"]["goodput_bps.mean"][0]);
        assert_eq!(flow["rtt_ms"]["mean"], 15.0);
        assert_eq!((&object["runs"], &object["events"]), (&json!(2), &json!(20)));
        assert_eq!((&object["simulated_s"], &object["measured_s"]), (&json!(60.0), &json!(50.0)));
    }

    #[test]
    fn runs_are_exact_where_nothing_is_drawn_and_not_where_they_agree_by_luck() {
        let agree = [run(0, 0, 1e6, 1.0), run(1, 0, 1e6, 1.0)];
        let networks = |loss: &str| {
            let text = format!(
                "duration = \"1 s\"\n[topology.dumbbell.forward]\ncapacity = \"1 Mbit/s\"\ndelay = \"50 ms\"\nloss = \"{loss}\"\n[flows.a]\n"
            );
            let scenario: crate::Scenario = toml::from_str(&text).unwrap();
            scenario.networks(&mut |_| Err(String::new())).unwrap()
        };
        let summary = |loss| summarise(&agree, Json::Null, &networks(loss));
        let timeouts = |summary: &Json| summary["flows"][0]["ci95"]["timeouts"].clone();
        let fixed = summary("0 %");
        assert_eq!((&fixed["exact"], timeouts(&fixed)), (&json!(true), json!([0.0, 0.0])));
        let lucky = summary("0.002 %");
        let ends = timeouts(&lucky);
        assert!(lucky["exact"] == false && ends[0] == 0.0 && ends[1].as_f64().unwrap() > 1.0, "{ends}");
        let why = |summary: &Json| summary["notes"][0].as_str().unwrap().to_owned();
        assert!(why(&fixed).contains("nothing random"), "{}", why(&fixed));
        assert!(why(&lucky).contains("though they need not be"), "{}", why(&lucky));
    }

    #[test]
    fn transfers_of_which_none_is_missing_bound_their_share_by_their_number() {
        let mut runs = [run(0, 0, 1e6, 1.0), run(1, 0, 2e6, 1.0)];
        for (run, offered) in runs.iter_mut().zip([30, 50]) {
            run.flows[0].offered_transfers = offered;
            run.flows[0].late = 0.0;
        }
        let flow = summarise(&runs, Json::Null, &[])["flows"][0].clone();
        let end = |share: &str| flow[share]["hi"].as_f64().unwrap();
        // As of a Poisson law: none of 80 transfers; of two runs without late frames a third may have nothing but these.
        assert!((end("missing_transfers") * 80.0 + libm::log(0.025)).abs() < 0.03, "{flow}");
        assert_eq!(end("late"), 1.0);
    }

    #[test]
    fn one_run_has_values_and_no_interval() {
        let object = summarise(&[run(0, 4, 1e6, 10.0)], Json::Null, &[]);
        let flow = &object["flows"][0];
        assert_eq!(flow["timeouts"], 4.0);
        assert_eq!(flow["ci95"]["timeouts"], json!([null, null]));
        assert!(flow["goodput_bps"]["lo"].is_null() && flow["goodput_bps"].get("hi").is_some());
    }

    #[test]
    fn what_no_run_measured_is_null() {
        let object = summarise(&[run(0, 0, 1e6, f64::NAN), run(1, 0, 1e6, f64::NAN)], Json::Null, &[]);
        assert!(object["flows"][0]["rtt_ms"]["mean"].is_null());
    }

    #[test]
    fn a_link_names_its_flow_only_where_flows_are_isolated() {
        let object = summarise(&[run(0, 0, 1e6, 1.0)], Json::Null, &[]);
        assert_eq!(object["links"][0]["flow"], "a");
        assert!(object["links"][1].get("flow").is_none());
    }

    #[test]
    fn every_number_of_a_row_has_its_interval() {
        let object = summarise(&[run(0, 0, 1e6, 1.0)], Json::Null, &[]);
        let numbers = LinkRow::COLUMNS.iter().filter(|column| column.kind != Kind::Label).count();
        assert_eq!(object["links"][0]["ci95"].as_object().unwrap().len(), numbers);
        assert_eq!(object["links"][0]["dropped_by"]["overflow"], 0.0);
    }

    #[test]
    fn tables_hold_a_row_for_each_run_and_part() {
        let runs = [run(0, 1, 1e6, 1.0), run(1, 3, 2e6, 2.0)];
        let mut tables = RunTables::default();
        runs.iter().for_each(|run| tables.push(run));
        assert_eq!(tables.links.get("replication"), Some(&Data::Count(vec![0, 0, 1, 1])));
        assert_eq!(tables.flows.get("timeouts"), Some(&Data::Count(vec![1, 3])));
        assert_eq!(tables.flows.get("seed"), Some(&Data::Count(vec![7, 7])));
        assert!(tables.groups.is_empty());
        let lengths: Vec<usize> = tables.links.columns.iter().map(|(_, data)| data.len()).collect();
        assert!(lengths.iter().all(|&length| length == 4), "{lengths:?}");
        let alone =
            RunTables { flows: flows_table(&runs), groups: groups_table(&runs), links: links_table(&runs) };
        assert_eq!(alone, tables);
    }

    #[test]
    fn isolated_worlds_join_into_one_run() {
        let mut together = run(0, 1, 1e6, 1.0);
        together.add_world(run(0, 2, 1e6, 1.0));
        assert_eq!((together.events, together.flows.len(), together.links.len()), (20, 2, 4));
    }

    #[test]
    fn the_columns_of_the_definition_are_those_of_the_tables() {
        let mut tables = RunTables::default();
        tables.push(&run(0, 0, 1.0, 1.0));
        let definition = columns_json();
        for (name, table) in [("flows", &tables.flows), ("links", &tables.links)] {
            let defined: Vec<&str> = definition[name]
                .as_array()
                .unwrap()
                .iter()
                .map(|column| column["name"].as_str().unwrap())
                .collect();
            let found: Vec<&str> = table.columns.iter().map(|(column, _)| column.name).collect();
            assert_eq!(defined, found);
        }
    }
}
