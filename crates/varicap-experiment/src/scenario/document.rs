//! A file as a tree of values that remember where they were written.
//!
//! Settings and defaults are merged on this tree, before it becomes a [`Scenario`](crate::Scenario), so that every
//! error and every explanation can name the line.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use varicap_tcp::Stack;
pub(crate) use varicap_units::part::join as join_path;

use crate::error::{Excerpt, ScenarioError};

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
    /// In the file.
    File(Extent),
    /// In this one of the settings of the command line, as `key=value`.
    Set(usize, Extent),
    /// Nowhere: a habit of the connection's stack.
    Stack(Stack),
    /// Nowhere: what holds if nothing is written.
    Default,
}

impl Origin {
    /// Whether somebody wrote the value.
    pub fn is_written(self) -> bool {
        !matches!(self, Origin::Stack(_) | Origin::Default)
    }
}

/// The bytes of a text from `start` to `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub start: usize,
    pub end: usize,
}

impl From<std::ops::Range<usize>> for Extent {
    fn from(range: std::ops::Range<usize>) -> Extent {
        Extent { start: range.start, end: range.end }
    }
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
    /// A value that TOML allows but scenarios do not, such as a date.
    Other(String),
    List(Vec<Node>),
    Table(Table),
}

/// A table, which its copies share until one of them changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(Arc<IndexMap<String, Node>>);

impl Table {
    pub fn new() -> Table {
        Table::default()
    }
}

impl Deref for Table {
    type Target = IndexMap<String, Node>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Table {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl FromIterator<(String, Node)> for Table {
    fn from_iter<I: IntoIterator<Item = (String, Node)>>(entries: I) -> Table {
        Table(Arc::new(entries.into_iter().collect()))
    }
}

impl IntoIterator for Table {
    type Item = (String, Node);
    type IntoIter = indexmap::map::IntoIter<String, Node>;

    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}

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
        let table = DeTable::parse(text).map_err(|error| syntax(&Lines::of(text), &error))?;
        let origin = Origin::File(Extent::default());
        Ok(Node { value: Value::Table(of_table(table.into_inner(), 0)?), origin, key: origin })
    }

    /// Reads a JSON text that stands for a value, such as one from a program: nobody has seen its lines.
    pub fn from_json(text: &str) -> Result<Node, ScenarioError> {
        serde_json::from_str(text).map_err(|error| {
            let mut wrong = ScenarioError::at("", format!("valid JSON: {error}"));
            (wrong.line, wrong.column) = (counted(error.line()), counted(error.column()));
            wrong
        })
    }

    /// Reads the right-hand side of the setting with this index, `key=value`: as TOML if it parses, else as plain text.
    pub fn from_setting(key: &str, text: &str, index: usize) -> Node {
        let before = key.len() + 1;
        let whole = Origin::Set(index, Extent { start: before, end: before + text.len() });
        let parsed = DeValue::parse(text).ok().and_then(|value| of_value(value, 0).ok());
        let mut node = match parsed {
            Some(Node { value: Value::Other(_), .. }) | None => {
                Node::new(Value::Text(text.to_owned()), whole)
            }
            Some(mut node) => {
                node.move_to(index, before);
                node
            }
        };
        node.key = Origin::Set(index, Extent { start: 0, end: key.len() });
        node
    }

    /// Records for the whole tree that it comes from `origin`.
    pub fn mark(&mut self, origin: Origin) {
        (self.origin, self.key) = (origin, origin);
        match &mut self.value {
            Value::Table(table) => table.values_mut().for_each(|node| node.mark(origin)),
            Value::List(items) => items.iter_mut().for_each(|node| node.mark(origin)),
            _ => {}
        }
    }

    /// Records for the whole tree that it was written `before` bytes into a setting.
    fn move_to(&mut self, index: usize, before: usize) {
        for origin in [&mut self.origin, &mut self.key] {
            if let Origin::File(Extent { start, end }) = *origin {
                *origin = Origin::Set(index, Extent { start: before + start, end: before + end });
            }
        }
        match &mut self.value {
            Value::Table(table) => table.values_mut().for_each(|node| node.move_to(index, before)),
            Value::List(items) => items.iter_mut().for_each(|node| node.move_to(index, before)),
            _ => {}
        }
    }
}

impl Value {
    /// Whether this is a number below zero, with or without a unit.
    pub fn is_negative(&self) -> bool {
        match self {
            Value::Integer(value) => *value < 0,
            Value::Float(value) => *value < 0.0,
            Value::Text(text) | Value::Other(text) => text
                .trim_start()
                .strip_prefix('-')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())),
            _ => false,
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
            node.key = Origin::File(key.span().into());
            Ok((key.into_inner().into_owned(), node))
        })
        .collect()
}

fn of_value(value: Spanned<DeValue<'_>>, depth: usize) -> Result<Node, ScenarioError> {
    let origin = Origin::File(value.span().into());
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

/// The errors of the syntax of a TOML text, at most `most`, and how many more there are. What else is wrong in the line
/// of an error usually follows from it, and is left out.
pub(crate) fn syntax_errors(text: &str, most: usize) -> (Vec<ScenarioError>, usize) {
    let lines = Lines::of(text);
    let (_, mut errors) = DeTable::parse_recoverable(text);
    let start = |error: &toml::de::Error| error.span().unwrap_or_default().start;
    errors.sort_by_key(start);
    errors.dedup_by_key(|error| lines.number(start(error)));
    let more = errors.len().saturating_sub(most);
    (errors.iter().take(most).map(|error| syntax(&lines, error)).collect(), more)
}

fn syntax(lines: &Lines, error: &toml::de::Error) -> ScenarioError {
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    let mut wrong = ScenarioError::at("", format!("valid TOML: {message}"));
    lines.show(&mut wrong, error.span().unwrap_or_default().into());
    wrong
}

/// The message of serde_json without its position, which is said elsewhere.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
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

/// A text, and the positions at which its lines begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    text: Arc<str>,
    starts: Arc<[usize]>,
}

impl Lines {
    pub fn of(text: &str) -> Lines {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text: text.into(), starts }
    }

    /// Puts into `error` where an extent begins, and the line that it begins in.
    pub fn show(&self, error: &mut ScenarioError, extent: Extent) {
        let line = self.number(extent.start);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        let written = self.text.get(start..end).unwrap_or("");
        let before = self.text.get(start..extent.start.min(self.text.len())).unwrap_or("");
        (error.line, error.column) = (counted(line), counted(before.chars().count() + 1));
        // A key that is missing from the whole file is missing nowhere in particular.
        if extent == Extent::default() {
            return;
        }
        let end = extent.end.max(extent.start);
        error.excerpt = Some(Box::new(Excerpt::of(written, extent.start - start, end - start)));
    }

    /// The line that a byte is in, from 1.
    fn number(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).max(1)
    }

    /// The byte at a line and a column, both from 1, where columns count bytes.
    pub(crate) fn byte(&self, line: usize, column: usize) -> usize {
        self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0) + column.saturating_sub(1)
    }
}

/// The text that a scenario was read from; it knows whether a value was written, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub file: String,
    pub lines: Lines,
    pub settings: Vec<(String, String)>,
    /// The option of the command line that gave the settings.
    pub option: String,
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
        self.root.at(path.iter().copied()).is_some_and(|node| node.origin.is_written())
    }

    /// Adds to an error the place of its key, or of the nearest table around the key.
    pub fn locate(&self, mut error: ScenarioError) -> ScenarioError {
        if error.line.is_some() || !error.file.is_empty() {
            return error;
        }
        let mut node = &self.root;
        let mut origin = Origin::Unknown;
        let mut is_whole = true;
        for key in split_path(&error.key) {
            let Some(next) = node.get(&key) else {
                is_whole = false;
                break;
            };
            node = next;
            // A value that nobody wrote is best looked for where somebody wrote the table around it.
            if next.key.is_written() {
                origin = next.key;
            }
        }
        // A value shows what is wrong; a table is better known by its name.
        if is_whole && node.origin.is_written() && !matches!(node.value, Value::Table(_)) {
            origin = node.origin;
        }
        self.place(&mut error, origin);
        if let (true, Origin::Stack(stack)) = (is_whole, node.origin) {
            blame(&mut error, stack);
        }
        error
    }

    /// Records in `error` where `origin` is.
    pub fn place(&self, error: &mut ScenarioError, origin: Origin) {
        error.file.clone_from(&self.file);
        match origin {
            Origin::Unknown | Origin::Default => {}
            Origin::Stack(stack) => blame(error, stack),
            Origin::File(extent) => self.lines.show(error, extent),
            Origin::Set(index, extent) => {
                if let Some((key, value)) = self.settings.get(index) {
                    error.file = format!("{} {key}={value}", self.option);
                    let before = self.option.len() + 1;
                    let excerpt = Excerpt::of(&error.file, before + extent.start, before + extent.end);
                    error.excerpt = Some(Box::new(excerpt));
                }
            }
        }
    }
}

/// Adds to an error that nobody wrote the value, and who chose it.
fn blame(error: &mut ScenarioError, stack: Stack) {
    let from = format!("it comes from stack {stack}; a value of your own overrides it");
    let hint = error.hint.take().map_or(from.clone(), |hint| format!("{hint}; {from}"));
    error.hint = Some(hint.into());
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
