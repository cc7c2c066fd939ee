//! Reading scenarios: text, settings from the command line, shared TCP defaults, typed values, checks.

use std::path::Path;
use std::sync::Arc;

use crate::error::{ScenarioError, meant, one_of};
use crate::resolve;
use crate::scenario::Scenario;
use crate::scenario::decode::{Mistake, decode};
use crate::scenario::document::{Lines, MAX_FILE, Node, Origin, Source, Table, Value, join_path, split_path};
use crate::scenario::json;
use crate::scenario::name::{LONGEST_NAME, in_name};
use crate::scenario::schema;
use crate::scenario::stack;

/// The text of a scenario, and the settings of the command line.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// The text.
    pub text: &'a str,
    /// Its notation.
    pub format: Format,
    /// The name of its file.
    pub file: &'a str,
    /// Values by their dotted path, in the notation of a file; later ones win.
    pub settings: &'a [(String, String)],
    /// The option of the command line that gives the settings.
    pub option: &'a str,
}

/// A notation of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON of the same shape that somebody wrote.
    Json,
    /// JSON that stands for the value of a program; errors do not name its lines, which nobody has seen.
    Value,
}

impl Scenario {
    /// Reads a scenario from a TOML text; `overrides` are the `--set key=value` of the command line; later ones win.
    pub fn from_toml(
        text: &str,
        file_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Scenario, ScenarioError> {
        Written { text, format: Format::Toml, file: file_name, settings: overrides, option: "--set" }.read()
    }

    /// Reads a scenario from the JSON value of a program; `overrides` are as for [`Scenario::from_toml`].
    pub fn from_json(
        text: &str,
        file_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Scenario, ScenarioError> {
        Written { text, format: Format::Value, file: file_name, settings: overrides, option: "--set" }.read()
    }

    /// The whole scenario as TOML, every default written out.
    pub fn to_toml(&self) -> String {
        // The JSON has only tables, lists, texts and numbers and no nulls, so TOML can represent all of it.
        toml::to_string(&self.to_json()).unwrap_or_default()
    }

    /// The whole scenario as JSON, every default written out.
    pub fn to_json(&self) -> serde_json::Value {
        let mut json = json::of(self);
        for (name, flow) in &self.flows {
            if flow.datagrams.is_some()
                && let Some(flow) = json["flows"][name].as_object_mut()
            {
                flow.retain(|key, _| key != "tcp" && key != "app");
            }
        }
        json
    }
}

/// The tree of a text without settings, from which scenarios with many settings are read without parsing it again.
#[derive(Clone, Debug)]
pub struct Parsed(Source);

impl Written<'_> {
    /// The scenario; an error is the first mistake. [`Written::mistakes`] finds the others.
    pub fn read(&self) -> Result<Scenario, ScenarioError> {
        self.read_tree(self.source()?)
    }

    /// Reads the text alone, for [`Written::read_parsed`].
    pub fn parse(&self) -> Result<Parsed, ScenarioError> {
        self.source().map(Parsed)
    }

    /// The same as [`Written::read`], if `parsed` is what [`Written::parse`] makes of the same text.
    pub fn read_parsed(&self, parsed: &Parsed) -> Result<Scenario, ScenarioError> {
        let mut source = parsed.0.clone();
        source.settings = self.settings.to_vec();
        self.read_tree(source)
    }

    /// The scenario of a tree to which the settings are yet to be applied.
    fn read_tree(&self, mut source: Source) -> Result<Scenario, ScenarioError> {
        for index in 0..self.settings.len() {
            self.apply(&mut source, index)?;
        }
        complete_tcp(&mut source.root);
        let scenario = self.scenario(source).map_err(|(source, mut mistake)| {
            source.place(&mut mistake.error, mistake.origin);
            mistake.error
        })?;
        resolve::check(&scenario)?;
        Ok(scenario)
    }

    /// The tree of the text, without the settings.
    pub(crate) fn source(&self) -> Result<Source, ScenarioError> {
        let in_file = |error: ScenarioError| ScenarioError { file: self.file.to_owned(), ..error };
        if self.text.len() > MAX_FILE {
            let size = format!("{} bytes", self.text.len());
            return Err(in_file(ScenarioError::at("", format!("at most {MAX_FILE} bytes")).found(size)));
        }
        let parsed = match self.format {
            Format::Toml => Node::from_toml(self.text),
            Format::Json => Node::from_json_file(self.text),
            Format::Value => Node::from_json(self.text),
        };
        Ok(Source {
            file: self.file.to_owned(),
            lines: Lines::of(self.text),
            settings: self.settings.to_vec(),
            option: self.option.to_owned(),
            root: parsed.map_err(in_file)?,
        })
    }

    /// Puts a setting into the tree.
    pub(crate) fn apply(&self, source: &mut Source, index: usize) -> Result<(), ScenarioError> {
        let (path, value) = &self.settings[index];
        let node = Node::from_setting(path, value, index);
        let origin = node.key;
        set(&mut source.root, path, node).map_err(|mut error| {
            source.place(&mut error, origin);
            error
        })
    }

    /// The scenario that a tree describes, not checked.
    #[expect(clippy::result_large_err, reason = "the tree is handed back, to be mended")]
    pub(crate) fn scenario(&self, source: Source) -> Result<Scenario, (Source, Mistake)> {
        let mut scenario: Scenario = match decode(&source.root) {
            Ok(scenario) => scenario,
            Err(fault) => return Err((source, fault.into_mistake())),
        };
        if scenario.name.is_empty() {
            scenario.name = name_of(self.file);
        }
        scenario.source = Arc::new(source);
        Ok(scenario)
    }
}

/// The name of a scenario that has none: its file's name, without characters that a name may not contain.
fn name_of(file: &str) -> String {
    // A pipe of a shell's has a number rather than a name.
    let is_pipe = ["/dev", "/proc"].iter().any(|folder| Path::new(file).starts_with(folder));
    if is_pipe {
        return "scenario".to_owned();
    }
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let plain: String = stem.chars().filter(|c| in_name(*c)).take(LONGEST_NAME / 4).collect();
    let plain = plain.trim_matches(['.', ' ']);
    if plain.is_empty() { "scenario".to_owned() } else { plain.to_owned() }
}

/// Puts `value` at `path`, creating the tables along the path.
fn set(root: &mut Node, path: &str, value: Node) -> Result<(), ScenarioError> {
    let keys = split_path(path);
    if keys.iter().any(String::is_empty) {
        return Err(ScenarioError::at(path, "a key such as `flows.a.tcp.mss`"));
    }
    let mut node = root;
    for (depth, key) in keys.iter().enumerate() {
        let before: Vec<&str> = keys[..depth].iter().map(String::as_str).collect();
        node = enter(node, &before, key, value.origin)?;
    }
    (node.value, node.origin, node.key) = (value.value, value.origin, value.key);
    Ok(())
}

/// The entry `key` of `node`, which lies at `path`; it is created if it is absent and the format has it.
fn enter<'a>(
    node: &'a mut Node,
    path: &[&str],
    key: &str,
    origin: Origin,
) -> Result<&'a mut Node, ScenarioError> {
    let here = || join_path(&[path, &[key]].concat());
    match schema::kind(path) {
        schema::Kind::Unknown => {}
        schema::Kind::Choice(names) if names.iter().any(|name| name == key) => {
            let stays =
                matches!(&node.value, Value::Table(table) if table.len() == 1 && table.contains_key(key));
            if !stays {
                let parameters = Node::new(Value::default(), origin);
                node.value = Value::Table(Table::from_iter([(key.to_owned(), parameters)]));
            }
        }
        schema::Kind::Choice(names) => return Err(unknown(here(), key, &names)),
        schema::Kind::Table(names) if !names.iter().any(|name| name == key) => {
            return Err(unknown(here(), key, &names));
        }
        schema::Kind::Table(_) => {}
        // Otherwise a misspelt name of a flow would add another flow.
        schema::Kind::Named if node.get(key).is_none() => {
            let names: Vec<String> =
                node.table().into_iter().flat_map(|table| table.keys()).cloned().collect();
            return Err(unknown(here(), key, &names));
        }
        schema::Kind::Named => {}
        schema::Kind::List => {
            let length = match &node.value {
                Value::List(items) => items.len(),
                _ => 0,
            };
            if !key.parse().is_ok_and(|index: usize| index < length) {
                let expected = format!("the number of an item, of which there are {length}");
                return Err(ScenarioError::at(here(), expected).found(key));
            }
        }
        schema::Kind::Value => {
            return Err(ScenarioError::at(join_path(path), "a value, which has no keys").found(here()));
        }
    }
    if node.get(key).is_none() {
        match &mut node.value {
            Value::Table(table) => {
                table.insert(key.to_owned(), Node::new(Value::default(), origin));
            }
            _ => return Err(ScenarioError::at(join_path(path), "a table").found(&node.value)),
        }
    }
    match node.get_mut(key) {
        Some(entry) => Ok(entry),
        None => Err(ScenarioError::at(here(), "a key")),
    }
}

fn unknown(path: String, key: &str, names: &[String]) -> ScenarioError {
    let error = ScenarioError::at(path, format!("the key {}", one_of(names))).found(key);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match meant(key, &names) {
        Some((_, hint)) => error.hint(hint),
        None => error,
    }
}

/// Completes every `tcp` table: with the scenario's, then with the habits of its stack.
pub(crate) fn complete_tcp(root: &mut Node) {
    share_tcp(root);
    // Values are read in this order: a mistake in the shared table is met there, and not in a flow that inherits it.
    if let Value::Table(table) = &mut root.value
        && let (Some(shared), Some(flows)) = (table.get_index_of("tcp"), table.get_index_of("flows"))
        && flows < shared
    {
        table.move_index(shared, flows);
    }
    stack::complete(root);
}

/// Gives every flow those keys of the scenario's `tcp` table that its own `tcp` table lacks.
fn share_tcp(root: &mut Node) {
    let Some(shared) = root.get("tcp").cloned() else { return };
    let Value::Table(defaults) = &shared.value else { return };
    let Some(Value::Table(flows)) = root.get_mut("flows").map(|node| &mut node.value) else { return };
    let lacks = |flow: &Node| {
        let Some(flow) = flow.table().filter(|flow| !flow.contains_key("datagrams")) else { return false };
        let tcp = flow.get("tcp").map(Node::table);
        tcp.is_none_or(|tcp| tcp.is_some_and(|tcp| defaults.keys().any(|key| !tcp.contains_key(key))))
    };
    for flow in flows.values_mut().filter(|flow| lacks(flow)) {
        let Value::Table(flow) = &mut flow.value else { continue };
        let tcp = flow
            .entry("tcp".to_owned())
            .or_insert_with(|| Node { value: Value::default(), ..shared.clone() });
        let Value::Table(tcp) = &mut tcp.value else { continue };
        for (key, value) in defaults.iter() {
            tcp.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}
