//! The JSON Schema of scenarios, and lookups in it along a path of keys.

use std::sync::OnceLock;

use serde_json::Value;

/// The JSON Schema of a scenario file (draft 2020-12), as it is published; a test compares it with the types.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let published = include_str!("../../../../schema/scenario.schema.json");
    SCHEMA.get_or_init(|| serde_json::from_str(published).expect("make schema writes JSON"))
}

/// The schema that the types give, which `make schema` publishes.
#[cfg(feature = "schema")]
pub fn schema_of_types() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<crate::scenario::Scenario>().to_value()
}

/// The values that the format allows at a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A table with these keys.
    Table(Vec<String>),
    /// A table whose keys are names chosen by the user.
    Named,
    /// One of these names, with its parameters in a table.
    Choice(Vec<String>),
    /// A list.
    List,
    /// A text, a number, or true or false.
    Value,
    /// A path that the format does not have.
    Unknown,
}

/// The values that the format allows at `path`.
pub(crate) fn kind(path: &[&str]) -> Kind {
    let Some(node) = find(path) else { return Kind::Unknown };
    let parts = alternatives(node);
    let choices: Vec<String> = parts.iter().filter_map(|part| choice_name(part)).collect();
    if !choices.is_empty() {
        return Kind::Choice(choices);
    }
    for part in parts {
        if let Some(keys) = part.get("properties").and_then(Value::as_object) {
            return Kind::Table(keys.keys().cloned().collect());
        }
        if part.get("additionalProperties").is_some_and(Value::is_object) {
            return Kind::Named;
        }
        if part.get("items").is_some() {
            return Kind::List;
        }
    }
    Kind::Value
}

/// The values that are expected at `path`, in words for an error message.
pub(crate) fn expected_at(path: &[String]) -> String {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match kind(&path) {
        Kind::Table(_) | Kind::Named => "a table".to_owned(),
        Kind::Choice(names) => format!("{}, with parameters in a table", crate::error::one_of(&names)),
        Kind::List => "a list in brackets".to_owned(),
        Kind::Value | Kind::Unknown => quantity(&path).unwrap_or_else(|| scalar(&path)).to_owned(),
    }
}

/// How a value at `path` may be written in TOML, with its required keys only; None if nothing short would do.
pub(crate) fn example(path: &[&str]) -> Option<String> {
    let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
    example_at(&path, 3)
}

fn example_at(path: &[String], depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    let below = |key: &str| example_at(&[path, &[key.to_owned()]].concat(), depth);
    match kind(&keys) {
        Kind::Choice(names) => {
            let of = |name: &String| Some(format!("{{ {name} = {} }}", below(name)?));
            names.iter().find_map(of)
        }
        Kind::Table(_) => {
            let required =
                alternatives(find(&keys)?).into_iter().find_map(|part| part.get("required")?.as_array());
            let of = |name: &str| Some(format!("{name} = {}", alone(&below(name)?)));
            let entries: Option<Vec<String>> = required?.iter().filter_map(Value::as_str).map(of).collect();
            Some(format!("{{ {} }}", entries?.join(", ")))
        }
        Kind::List => {
            let item = below("0")?;
            Some(format!("[{item}]"))
        }
        Kind::Named | Kind::Unknown => None,
        Kind::Value => {
            let text = quantity(&keys).unwrap_or_else(|| scalar(&keys));
            let quoted = text.split_once("such as ").map(|(_, examples)| examples.split([',', ' ']));
            let quantity = text.split('"').nth(1).map(|text| format!("\"{text}\""));
            match text {
                "a whole number" => Some("1".to_owned()),
                "a number" => Some("0.5".to_owned()),
                "true or false" => Some("true".to_owned()),
                _ => quantity.or_else(|| quoted?.next().map(str::to_owned)),
            }
        }
    }
}

/// A value as it may be written where a constant needs no table.
fn alone(example: &str) -> &str {
    let constant = example.strip_prefix("{ constant = ").and_then(|rest| rest.strip_suffix(" }"));
    constant.unwrap_or(example)
}

/// The reference's description of the key at `path`.
pub(crate) fn description(path: &[&str]) -> Option<&'static str> {
    find(path)?.get("description")?.as_str()
}

/// The kind of quantity that is expected at `path`: the description of its type.
fn quantity(path: &[&str]) -> Option<&'static str> {
    let node = find(path)?;
    let refers = |node: &&Value| node.get("$ref").is_some();
    let part = Some(node).filter(refers).or_else(|| node.get("anyOf")?.as_array()?.iter().find(refers))?;
    target(part).get("description")?.as_str()
}

/// The kind of plain value that is expected at `path`.
fn scalar(path: &[&str]) -> &'static str {
    match find(path).and_then(|node| node.get("type")).and_then(Value::as_str) {
        Some("string") => "a text in quotes",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        _ => "a value",
    }
}

/// The schema at `path`, including its own description.
fn find(path: &[&str]) -> Option<&'static Value> {
    path.iter().try_fold(schema(), |node, key| child(node, key))
}

fn child(node: &'static Value, key: &str) -> Option<&'static Value> {
    alternatives(node).into_iter().find_map(|part| {
        let property = part.get("properties").and_then(|properties| properties.get(key));
        let named = || part.get("additionalProperties").filter(|inner| inner.is_object());
        let item = || part.get("items").filter(|_| key.parse::<usize>().is_ok());
        property.or_else(named).or_else(item)
    })
}

/// `node` with its references followed and its alternatives spread out.
fn alternatives(node: &'static Value) -> Vec<&'static Value> {
    let node = target(node);
    let inner = ["anyOf", "oneOf"].into_iter().filter_map(|word| node.get(word)?.as_array());
    let inner: Vec<_> = inner.flatten().flat_map(alternatives).collect();
    if inner.is_empty() { vec![node] } else { inner }
}

fn target(node: &'static Value) -> &'static Value {
    let name = node.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    name.and_then(|name| schema().get("$defs")?.get(name)).unwrap_or(node)
}

/// The name of `{ name = … }`, if the schema describes one choice among several.
fn choice_name(part: &Value) -> Option<String> {
    let required = part.get("required")?.as_array()?;
    let properties = part.get("properties")?.as_object()?;
    match (required.as_slice(), properties.len()) {
        // A struct with one required key looks similar but also has optional keys; a variant has nothing else.
        ([Value::String(name)], 1) if part.get("title").is_none() && is_variant(part) => Some(name.clone()),
        _ => None,
    }
}

fn is_variant(part: &Value) -> bool {
    let defs = schema().get("$defs").and_then(Value::as_object);
    !defs.is_some_and(|defs| defs.values().any(|def| std::ptr::eq(def, part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_what_is_required() {
        let of = |path: &str| example(&path.split('.').collect::<Vec<_>>());
        assert_eq!(of("flows.a.app.arrivals.size").as_deref(), Some("{ fixed = \"64 kB\" }"));
        assert_eq!(of("flows.a.app.transfer").as_deref(), Some("{ size = \"64 kB\" }"));
        assert_eq!(of("flows.a.count").as_deref(), Some("1"));
        assert_eq!(of("flows.a.nonsense"), None);
        for form in
            ["topology.dumbbell.forward.capacity", "topology.dumbbell.forward.loss", "flows.a.datagrams"]
        {
            let example = of(form).unwrap();
            assert!(toml::from_str::<toml::Table>(&format!("x = {example}")).is_ok(), "{example}");
        }
    }
}
