//! Reading scenarios: text, settings from the command line, shared TCP defaults, typed values, checks.

use std::path::Path;
use std::sync::Arc;

use crate::error::{ScenarioError, nearest, one_of};
use crate::resolve;
use crate::scenario::Scenario;
use crate::scenario::decode::decode;
use crate::scenario::document::{Lines, MAX_FILE, Node, Origin, Source, Table, Value, join_path, split_path};
use crate::scenario::name::{LONGEST_NAME, in_name};
use crate::scenario::schema;

impl Scenario {
    /// Reads a scenario from a TOML text; `overrides` are the `--set key=value` of the command line; later ones win.
    pub fn from_toml(
        text: &str,
        file_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Scenario, ScenarioError> {
        read(text, file_name, overrides, Node::from_toml)
    }

    /// Reads a scenario from a JSON text of the same shape; `overrides` are as for [`Scenario::from_toml`].
    pub fn from_json(
        text: &str,
        file_name: &str,
        overrides: &[(String, String)],
    ) -> Result<Scenario, ScenarioError> {
        read(text, file_name, overrides, Node::from_json)
    }

    /// The whole scenario as TOML, every default written out.
    pub fn to_toml(&self) -> String {
        // The JSON has only tables, lists, texts and numbers and no nulls, so TOML can represent all of it.
        toml::to_string(&self.to_json()).unwrap_or_default()
    }

    /// The whole scenario as JSON, every default written out.
    pub fn to_json(&self) -> serde_json::Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        without_nulls(&mut json);
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

/// Removes keys whose value is null: a key without a value counts as absent.
fn without_nulls(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(entries) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(without_nulls);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

fn read(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
    parse: fn(&str) -> Result<Node, ScenarioError>,
) -> Result<Scenario, ScenarioError> {
    let mut source = Source { file: file_name.to_owned(), settings: overrides.to_vec(), ..Source::default() };
    let in_file = |error: ScenarioError| ScenarioError { file: file_name.to_owned(), ..error };
    if text.len() > MAX_FILE {
        let size = format!("{} bytes", text.len());
        return Err(in_file(ScenarioError::at("", format!("at most {MAX_FILE} bytes")).found(size)));
    }
    source.lines = Lines::of(text);
    source.root = parse(text).map_err(in_file)?;
    for (index, (path, value)) in overrides.iter().enumerate() {
        let origin = Origin::Set(index);
        set(&mut source.root, path, Node::from_setting(value, origin)).map_err(|mut error| {
            source.place(&mut error, origin);
            error
        })?;
    }
    share_tcp(&mut source.root);
    let mut scenario: Scenario = decode(&source.root).map_err(|fault| {
        let (origin, mut error) = fault.into_error(schema::expected_at);
        source.place(&mut error, origin);
        error
    })?;
    if scenario.name.is_empty() {
        scenario.name = name_of(file_name);
    }
    scenario.source = Arc::new(source);
    resolve::check(&scenario)?;
    Ok(scenario)
}

/// The name of a scenario that has none: its file's name, without characters that a name may not contain.
fn name_of(file: &str) -> String {
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
            let names: Vec<String> = node.table().into_iter().flat_map(Table::keys).cloned().collect();
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
    match nearest(key, names.iter().map(String::as_str)) {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => error,
    }
}

/// Gives every flow those keys of the scenario's `tcp` table that its own `tcp` table lacks.
fn share_tcp(root: &mut Node) {
    let Some(shared) = root.get("tcp").cloned() else { return };
    let Value::Table(defaults) = &shared.value else { return };
    let Some(Value::Table(flows)) = root.get_mut("flows").map(|node| &mut node.value) else { return };
    for flow in flows.values_mut() {
        let Value::Table(flow) = &mut flow.value else { continue };
        if flow.contains_key("datagrams") {
            continue;
        }
        let tcp = flow
            .entry("tcp".to_owned())
            .or_insert_with(|| Node { value: Value::default(), ..shared.clone() });
        let Value::Table(tcp) = &mut tcp.value else { continue };
        for (key, value) in defaults {
            tcp.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}
