//! All mistakes of a scenario: what is wrong is mended in the tree, which is then read again, until nothing is wrong.
//!
//! An error that only follows from another, or from how that was mended, is not a mistake of the user's: it is mended,
//! too, but not reported.

use std::collections::HashMap;
use std::fmt;

use varicap_net::capacity::{Files, ReadFile};
use varicap_net::{CapacityConfig, CapacityParts, NetError};

use crate::error::{ScenarioError, is_guess};
use crate::read::{Format, Written, complete_tcp};
use crate::resolve;
use crate::scenario::Scenario;
use crate::scenario::decode::{Mistake, Repair, decode};
use crate::scenario::document::{Node, Origin, Source, Table, Value, join_path, split_path, syntax_errors};
use crate::scenario::schema::{self, Kind};

/// Most mistakes that are reported.
const MOST: usize = 20;
/// Most times that a tree is read again, and most values that are read in all: a large file is not read that often.
const MOST_ROUNDS: usize = 400;
const MOST_WORK: usize = 4_000_000;
/// Most traces that are reported beside other mistakes; then no more files are read.
const MOST_TRACES: usize = MOST + 1;

/// The mistakes of a scenario, in the order of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistakes {
    /// The first ones; at least one, at most 20.
    pub errors: Vec<ScenarioError>,
    /// How many more were found.
    pub more: usize,
    /// Whether the search ended before all were found: a very large file is not read again for each mistake.
    pub is_cut: bool,
}

impl Mistakes {
    fn of(mut errors: Vec<ScenarioError>) -> Mistakes {
        // Options come after the file.
        errors.sort_by_key(|error| (error.line.is_none(), error.line, error.column));
        let more = errors.len().saturating_sub(MOST);
        errors.truncate(MOST);
        Mistakes { errors, more, is_cut: false }
    }

    /// The mistakes as a terminal of so many columns shows them. The first line leaves room for a program's name.
    pub fn show(&self, columns: usize) -> String {
        let mut shown: Vec<String> = self.errors.iter().map(|error| error.show(columns)).collect();
        shown.extend(self.rest());
        shown.join("\n\n")
    }

    fn rest(&self) -> Option<String> {
        match (self.more, self.is_cut) {
            (0, false) => None,
            (0, true) => Some("and perhaps more".to_owned()),
            (more, false) => Some(format!("and {more} more")),
            (more, true) => Some(format!("and at least {more} more")),
        }
    }
}

/// A sentence for each mistake, on a line of its own.
impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentences = self.errors.iter().map(ToString::to_string).chain(self.rest());
        f.write_str(&sentences.collect::<Vec<_>>().join("\n"))
    }
}

impl From<ScenarioError> for Mistakes {
    fn from(error: ScenarioError) -> Mistakes {
        Mistakes { errors: vec![error], more: 0, is_cut: false }
    }
}

impl Written<'_> {
    /// All mistakes of the scenario; `first` is the one that stopped it from being read or resolved.
    pub fn mistakes(&self, first: ScenarioError, read_file: &mut ReadFile<'_>) -> Mistakes {
        let files = &mut Files::of(read_file);
        let mut source = match self.source() {
            Ok(source) => source,
            Err(error) if self.format == Format::Toml && error.line.is_some() => {
                let (errors, more) = syntax_errors(self.text, MOST);
                let in_file = |error| ScenarioError { file: self.file.to_owned(), ..error };
                let errors: Vec<_> = errors.into_iter().map(in_file).collect();
                return if errors.is_empty() {
                    first.into()
                } else {
                    Mistakes { errors, more, is_cut: false }
                };
            }
            Err(_) => return first.into(),
        };
        let mut search = Search::default();
        for index in 0..self.settings.len() {
            let before = source.root.clone();
            if let Err(error) = self.apply(&mut source, index) {
                search.errors.push(error);
                // Not half a setting.
                source.root = before;
            }
        }
        complete_tcp(&mut source.root);
        let traces = Traces::of(&source);
        let rounds = (MOST_WORK / values(&source.root).max(1)).clamp(2, MOST_ROUNDS);
        let mut is_cut = true;
        for _ in 0..rounds {
            let next = self.next(source, &mut search, files);
            let Some((mistake, tree)) = next else {
                is_cut = false;
                break;
            };
            source = tree;
            if !search.take(mistake, &mut source) {
                // Nothing is left that could be mended.
                is_cut = false;
                break;
            }
        }
        if !search.is_resolving {
            let wrong = traces.mistakes(files);
            // The other files have not been read.
            is_cut |= wrong.len() == MOST_TRACES;
            search.errors.extend(wrong);
        }
        // A mistake that cannot be found again is reported as it was.
        if search.errors.is_empty() {
            return first.into();
        }
        Mistakes { is_cut, ..Mistakes::of(search.errors) }
    }

    /// The next mistake in a tree.
    fn next(&self, source: Source, search: &mut Search, files: &mut Files<'_>) -> Option<(Mistake, Source)> {
        let scenario = match self.scenario(source) {
            Ok(scenario) => scenario,
            Err((source, mut mistake)) => {
                source.place(&mut mistake.error, mistake.origin);
                return Some((mistake, source));
            }
        };
        if search.is_without_ground() {
            return None;
        }
        let error = resolve::check(&scenario).err().or_else(|| {
            // The value that was put in the place of a mistake may not fit what a trace has.
            search.is_resolving |= search.errors.is_empty();
            if search.is_resolving { scenario.networks_from(files).err() } else { None }
        })?;
        let Scenario { source, .. } = scenario;
        let source = std::sync::Arc::unwrap_or_clone(source);
        Some((Mistake { error, origin: Origin::Unknown, repair: Repair::Withdraw }, source))
    }
}

/// The mistakes so far, and what was mended.
#[derive(Debug, Default)]
struct Search {
    errors: Vec<ScenarioError>,
    /// Paths of what was wrong, and of what was put in its place.
    mended: Vec<Vec<String>>,
    /// How many values were tried at a path.
    tried: HashMap<Vec<String>, usize>,
    /// Paths of keys whose names were guessed: nobody wrote that their values belong there.
    guessed: Vec<Vec<String>>,
    /// Whether nothing was wrong before the scenario was resolved.
    is_resolving: bool,
}

impl Search {
    /// Reports a mistake unless it follows from another, and mends it; whether that was possible.
    fn take(&mut self, mistake: Mistake, source: &mut Source) -> bool {
        let Mistake { error, repair, .. } = mistake;
        let path = split_path(&error.key);
        let is_new =
            !self.guessed.contains(&path) && !self.follows(&error, &path, matches!(repair, Repair::Withdraw));
        if is_new {
            self.errors.push(error);
        }
        match repair {
            Repair::Rename(name) => {
                if let (Some(name), Some((key, around))) = (&name, path.split_last()) {
                    let guess = [around, std::slice::from_ref(name)].concat();
                    if is_guess(key, name) && at(&mut source.root, &guess).is_none() {
                        self.guessed.push(guess);
                    }
                }
                rename(&mut source.root, &path, name)
            }
            Repair::Add | Repair::Replace | Repair::Withdraw => {
                let is_done = self.mend(&mut source.root, &path);
                self.mended.push(path);
                is_done
            }
        }
    }

    /// Whether an error follows from another, or from how that was mended; a value that makes no sense may compare
    /// itself with one that was.
    fn follows(&self, error: &ScenarioError, path: &[String], is_comparison: bool) -> bool {
        let is_reported = self.errors.iter().any(|other| {
            (&other.file, other.line, other.column, &other.expected)
                == (&error.file, error.line, error.column, &error.expected)
                && (other.line.is_some() || other.key == error.key || is_same_setting(other, error))
        });
        is_reported
            || self.mended.iter().any(|mended| {
                mended.starts_with(path)
                    || path.starts_with(mended)
                    || is_comparison
                        && (compares(error, path, mended)
                            || is_led_through(path, mended)
                            || is_in_pipes(error, path, mended))
            })
    }

    /// Whether what all else refers to is missing or invented.
    fn is_without_ground(&self) -> bool {
        self.mended.iter().any(|path| path.len() == 1 && ["topology", "flows"].contains(&path[0].as_str()))
    }

    /// Takes what is wrong at `path` out of the tree, or puts something else in its place.
    fn mend(&mut self, root: &mut Node, path: &[String]) -> bool {
        let Some((key, around)) = path.split_last() else { return false };
        let is_there = at(root, path).is_some();
        let tried = self.tried.entry(path.to_vec()).or_default();
        let is_first = *tried == 0 && is_there;
        if let Some(Node { value: Value::Table(table), .. }) = at(root, around) {
            if is_first {
                *tried = 1;
                match stand_in(path) {
                    Some(value) => table.insert(key.clone(), Node { value, ..Node::default() }),
                    None => table.shift_remove(key),
                };
                return true;
            }
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            if let Some(value) = substitutes(&keys).into_iter().nth(tried.saturating_sub(1)) {
                *tried = (*tried).max(1) + 1;
                table.insert(key.clone(), Node { value, ..Node::default() });
                return true;
            }
        }
        // An item of a list, or nothing fits: without the table or the list around it.
        !around.is_empty() && self.mend(root, around)
    }
}

/// Whether both lie in the same part of an option of the command line, which several flows may inherit.
fn is_same_setting(one: &ScenarioError, other: &ScenarioError) -> bool {
    one.excerpt.is_some() && one.excerpt == other.excerpt
}

/// The capacities of a tree that name files, which are read whatever else is wrong.
struct Traces {
    /// Each with its path.
    capacities: Vec<(Vec<String>, Node)>,
    /// The text that they were written in; not the tree.
    source: Source,
}

impl Traces {
    fn of(source: &Source) -> Traces {
        let mut capacities = Vec::new();
        if let Some(topology) = source.root.get("topology") {
            add_capacities(topology, &mut vec!["topology".to_owned()], &mut capacities);
        }
        let Source { file, lines, settings, option, .. } = source;
        let (file, lines, settings) = (file.clone(), lines.clone(), settings.clone());
        Traces {
            capacities,
            source: Source { file, lines, settings, option: option.clone(), root: Node::default() },
        }
    }

    /// The mistakes in the files, at most [`MOST_TRACES`] of them: that they cannot be read, or what is in them.
    fn mistakes(&self, files: &mut Files<'_>) -> Vec<ScenarioError> {
        let capacities = self.capacities.iter();
        capacities.filter_map(|(path, node)| self.mistake(path, node, files)).take(MOST_TRACES).collect()
    }

    fn mistake(&self, path: &[String], node: &Node, files: &mut Files<'_>) -> Option<ScenarioError> {
        let config: CapacityConfig = decode(node).ok()?;
        let wrong = CapacityParts::read(&config, files).err()?;
        let (NetError::Trace { key, .. } | NetError::File { key, .. }) = &wrong else { return None };
        let inner = split_path(key);
        let origin = node.at(inner.iter().map(String::as_str)).map_or(node.origin, |found| found.origin);
        let mut error = resolve::of_part(&join_path(path), wrong);
        if error.file.is_empty() {
            self.source.place(&mut error, origin);
        }
        Some(error)
    }
}

/// Adds those below `node`, which lies at `path`.
fn add_capacities(node: &Node, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, Node)>) {
    let mut add = |key: &str, inner: &Node| {
        path.push(key.to_owned());
        if key == "capacity" {
            found.push((path.clone(), inner.clone()));
        } else {
            add_capacities(inner, path, found);
        }
        path.pop();
    };
    match &node.value {
        Value::Table(table) => table.iter().for_each(|(key, inner)| add(key, inner)),
        Value::List(items) => {
            items.iter().enumerate().for_each(|(index, inner)| add(&index.to_string(), inner));
        }
        _ => {}
    }
}

/// Gives the key at `path` another name, or removes it; false if it is not there.
fn rename(root: &mut Node, path: &[String], name: Option<String>) -> bool {
    let Some((key, around)) = path.split_last() else { return false };
    let Some(Node { value: Value::Table(table), .. }) = at(root, around) else { return false };
    let Some(node) = table.shift_remove(key) else { return false };
    if let Some(name) = name {
        table.entry(name).or_insert(node);
    }
    true
}

fn at<'a>(root: &'a mut Node, path: &[String]) -> Option<&'a mut Node> {
    path.iter().try_fold(root, |node, key| node.get_mut(key))
}

/// The substitute for a wrong value whose absence would be a mistake of its own: queues, feedback and advice need a link
/// that has a rate and a delay.
fn stand_in(path: &[String]) -> Option<Value> {
    let text = match (path.first()?.as_str(), path.last()?.as_str()) {
        ("topology", "capacity") => "10 Mb/s",
        ("topology", "delay") => "100 ms",
        _ => return None,
    };
    Some(Value::Text(text.to_owned()))
}

/// Values that may make sense at a path where none was given that does.
fn substitutes(path: &[&str]) -> Vec<Value> {
    let table = |name: &str| Value::Table(Table::from_iter([(name.to_owned(), Node::default())]));
    match schema::kind(path) {
        Kind::Table(_) => vec![Value::default()],
        Kind::Named => vec![Value::default(), table("x")],
        Kind::Choice(names) => {
            let plain = names.iter().map(|name| Value::Text(name.clone()));
            plain.chain(names.iter().map(|name| table(name))).collect()
        }
        Kind::List => vec![Value::List(Vec::new())],
        Kind::Value | Kind::Unknown => {
            let texts = ["1000 h", "1 Mb/s", "1 kB", "1 /s", "x"].map(|text| Value::Text(text.to_owned()));
            let others = [Value::Integer(1), Value::Float(0.5), Value::Bool(true)];
            texts.into_iter().chain(others).collect()
        }
    }
}

/// How many values a tree has.
fn values(node: &Node) -> usize {
    1 + match &node.value {
        Value::Table(table) => table.values().map(values).sum(),
        Value::List(items) => items.iter().map(values).sum(),
        _ => 0,
    }
}

/// Whether an error at `path` quotes the key at `other`: one of the format, in a table around that of the error, or
/// within it.
fn compares(error: &ScenarioError, path: &[String], other: &[String]) -> bool {
    let (Some((key, around)), Some((name, table))) = (path.split_last(), other.split_last()) else {
        return false;
    };
    // No value compares itself with the same key of another table.
    let is_near = key != name && (path.starts_with(table) || table.starts_with(around));
    let keys: Vec<&str> = table.iter().map(String::as_str).collect();
    let is_of_format = || matches!(schema::kind(&keys), Kind::Table(names) if names.contains(name));
    let quoted = format!("`{name}`");
    is_near
        && is_of_format()
        && (error.expected.contains(&quoted)
            || error.hint.as_deref().is_some_and(|hint| hint.contains(&quoted)))
}

/// Whether an error at `path` is about an amount in bandwidth-delay products, and what was mended is a factor of one: the
/// capacity of its own link, or any delay, each of which may be a part of its round trip; of a window either.
fn is_in_pipes(error: &ScenarioError, path: &[String], mended: &[String]) -> bool {
    let is_amount = error.found.as_deref().is_some_and(|found| found.contains("bdp"));
    let factor = mended.iter().position(|key| key == "capacity" || key == "delay");
    let is_of_link = |path: &[String]| path.first().is_some_and(|key| key == "topology");
    let concerns =
        |place: usize| mended[place] == "delay" || !is_of_link(path) || path.starts_with(&mended[..place]);
    is_amount && is_of_link(mended) && factor.is_some_and(concerns)
}

/// Whether the key at `path` says which links a flow takes, and the one at `other` which nodes a link joins.
fn is_led_through(path: &[String], other: &[String]) -> bool {
    let of_route = |key: &String| ["from", "to", "via", "via_back"].contains(&key.as_str());
    let keys: Vec<&str> = other.iter().map(String::as_str).collect();
    let of_links = || {
        let is_end = keys.last().is_some_and(|key| ["name", "from", "to"].contains(key));
        is_end || matches!(schema::kind(&keys), Kind::Table(_) | Kind::Named | Kind::List)
    };
    path.first().is_some_and(|key| key == "flows")
        && path.get(2).is_none_or(of_route)
        && keys.first() == Some(&"topology")
        && of_links()
}
