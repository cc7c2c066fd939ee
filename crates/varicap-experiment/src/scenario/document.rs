//! A file as a tree of values that remember where they were written.
//!
//! Settings and defaults are merged on this tree, before it becomes a [`Scenario`](crate::Scenario), so that every
//! error and every explanation can name the line.

use std::fmt;
use std::num::NonZeroU32;

use indexmap::IndexMap;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
pub(crate) use varicap_units::part::join as join_path;

use crate::error::ScenarioError;

/// Size of the largest file that is read [B].
pub const MAX_FILE: usize = 10_000_000;
/// Maximum nesting depth of tables and lists.
pub const MAX_DEPTH: usize = 32;

/// The place where a value was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The value was not read from a text.
    #[default]
    Unknown,
    /// In the file, at this byte offset.
    File(usize),
    /// In this one of the `--set` arguments.
    Set(usize),
}

/// A value together with the place where it was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub value: Value,
    pub origin: Origin,
    /// Where the value's key was written, if it has one.
    pub key: Origin,
}

/// A value that a file can hold.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// What TOML allows but scenarios do not, such as dates.
    Other(String),
    List(Vec<Node>),
    Table(Table),
}

pub(crate) type Table = IndexMap<String, Node>;

impl Default for Value {
    fn default() -> Value {
        Value::Table(Table::new())
    }
}

impl Node {
    pub fn new(value: Value, origin: Origin) -> Node {
        Node { value, origin, key: origin }
    }

    pub fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The entry `key` of a table, or the item with that number of a list.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(table) => table.get(key),
            Value::List(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.value {
            Value::Table(table) => table.get_mut(key),
            Value::List(items) => items.get_mut(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The value at a path of keys.
    pub fn at<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&Node> {
        path.into_iter().try_fold(self, |node, key| node.get(key))
    }

    /// Reads a TOML text.
    pub fn from_toml(text: &str) -> Result<Node, ScenarioError> {
        let table = DeTable::parse(text).map_err(|error| syntax(text, &error))?;
        let origin = Origin::File(table.span().start);
        Ok(Node { value: Value::Table(of_table(table.into_inner(), 0)?), origin, key: origin })
    }

    /// Reads a JSON text; positions of values are not kept.
    pub fn from_json(text: &str) -> Result<Node, ScenarioError> {
        serde_json::from_str(text).map_err(|error| ScenarioError {
            line: counted(error.line()),
            column: counted(error.column()),
            expected: format!("valid JSON: {error}"),
            ..ScenarioError::default()
        })
    }

    /// Reads the right-hand side of `--set key=value`: as TOML if it parses, else as plain text.
    pub fn from_setting(text: &str, origin: Origin) -> Node {
        let parsed = DeValue::parse(text).ok().and_then(|value| of_value(value, 0).ok());
        match parsed {
            Some(Node { value: Value::Other(_), .. }) | None => {
                Node::new(Value::Text(text.to_owned()), origin)
            }
            Some(mut node) => {
                node.mark(origin);
                node
            }
        }
    }

    /// Records for the whole tree where it was written.
    fn mark(&mut self, origin: Origin) {
        (self.origin, self.key) = (origin, origin);
        match &mut self.value {
            Value::Table(table) => table.values_mut().for_each(|node| node.mark(origin)),
            Value::List(items) => items.iter_mut().for_each(|node| node.mark(origin)),
            _ => {}
        }
    }
}

/// Shows the value as in an error message: short, on one line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 60;
        let text = match self {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => format!("{value:?}"),
            Value::Text(text) => format!("{:?}", text.chars().take(LONGEST + 1).collect::<String>()),
            Value::Other(text) => text.clone(),
            Value::List(_) => "[…]".to_owned(),
            Value::Table(table) if table.is_empty() => "{}".to_owned(),
            Value::Table(_) => "{…}".to_owned(),
        };
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

fn of_table(table: DeTable<'_>, depth: usize) -> Result<Table, ScenarioError> {
    table
        .into_iter()
        .map(|(key, value)| {
            let mut node = of_value(value, depth)?;
            node.key = Origin::File(key.span().start);
            Ok((key.into_inner().into_owned(), node))
        })
        .collect()
}

fn of_value(value: Spanned<DeValue<'_>>, depth: usize) -> Result<Node, ScenarioError> {
    let origin = Origin::File(value.span().start);
    if depth > MAX_DEPTH {
        return Err(ScenarioError::at("", format!("tables and lists nested at most {MAX_DEPTH} deep")));
    }
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(date) => Value::Other(date.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => Value::Integer(value),
            Err(_) => Value::Other(number.to_string()),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(value) => Value::Float(value),
            Err(_) => Value::Other(number.as_str().to_owned()),
        },
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| of_value(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Table(of_table(table, depth + 1)?),
    };
    Ok(Node { value, origin, key: origin })
}

fn syntax(text: &str, error: &toml::de::Error) -> ScenarioError {
    let (line, column) = Lines::of(text).position(error.span().map_or(0, |span| span.start));
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    ScenarioError { line, column, expected: format!("valid TOML: {message}"), ..ScenarioError::default() }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Integer(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(i64::try_from(value).map_or_else(|_| Value::Other(value.to_string()), Value::Integer))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }
            fn visit_str<E>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Value::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
                let mut table = Table::new();
                while let Some((key, value)) = entries.next_entry::<String, Node>()? {
                    if table.contains_key(&key) {
                        return Err(de::Error::custom(format_args!("the key `{key}` twice")));
                    }
                    // JSON's null is a key that was not given.
                    if !matches!(value.value, Value::Null) {
                        table.insert(key, value);
                    }
                }
                Ok(Value::Table(table))
            }
        }
        deserializer.deserialize_any(Reader).map(|value| Node::new(value, Origin::Unknown))
    }
}

/// A line or column number; `None` if it is zero or too large.
pub(crate) fn counted(number: usize) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(number).ok()?)
}

/// The positions at which the lines of a text begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    text: String,
    starts: Vec<usize>,
}

impl Lines {
    pub fn of(text: &str) -> Lines {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text: text.to_owned(), starts }
    }

    /// Line and column of a byte offset, both from 1; columns count characters.
    pub fn position(&self, byte: usize) -> (Option<NonZeroU32>, Option<NonZeroU32>) {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..byte.min(self.text.len())).unwrap_or("");
        (counted(line), counted(before.chars().count() + 1))
    }
}

/// The text that a scenario was read from; it knows whether a value was written, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub file: String,
    pub lines: Lines,
    pub settings: Vec<(String, String)>,
    pub root: Node,
}

/// All sources are equal: where a scenario was written does not change its meaning.
impl PartialEq for Source {
    fn eq(&self, _: &Source) -> bool {
        true
    }
}

impl Source {
    /// Whether a value was written at `path`.
    pub fn given(&self, path: &[&str]) -> bool {
        self.root.at(path.iter().copied()).is_some()
    }

    /// Adds to an error the place of its key, or of the nearest table around the key.
    pub fn locate(&self, mut error: ScenarioError) -> ScenarioError {
        if error.line.is_some() || !error.file.is_empty() {
            return error;
        }
        let mut node = &self.root;
        let mut origin = Origin::Unknown;
        for key in split_path(&error.key) {
            let Some(next) = node.get(&key) else { break };
            (node, origin) = (next, next.key);
        }
        self.place(&mut error, origin);
        error
    }

    /// Records in `error` where `origin` is.
    pub fn place(&self, error: &mut ScenarioError, origin: Origin) {
        error.file.clone_from(&self.file);
        match origin {
            Origin::Unknown => {}
            Origin::File(byte) => {
                (error.line, error.column) = self.lines.position(byte);
            }
            Origin::Set(index) => {
                if let Some((key, value)) = self.settings.get(index) {
                    error.file = format!("--set {key}={value}");
                }
            }
        }
    }
}

/// Splits a dotted path into its keys; a key in double quotes may contain dots.
pub(crate) fn split_path(path: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => keys.push(String::new()),
            _ => keys.last_mut().into_iter().for_each(|key| key.push(c)),
        }
    }
    keys
}
