//! Decoding of a file's tree into typed values, with the path and the place of every error.

use std::fmt::Display;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use varicap_units::{choice, units_of};

use crate::error::{ScenarioError, in_another_table, meant, one_of};
use crate::scenario::document::{Node, Origin, Table, Value, join_path};
use crate::scenario::schema;

/// Reads `T` from a tree.
pub(crate) fn decode<T: DeserializeOwned>(node: &Node) -> Result<T, Fault> {
    T::deserialize(Reader(node))
}

/// An error while it propagates upwards: every table that it passes adds its key.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    /// Keys of the path to the error, innermost first.
    keys: Vec<String>,
    origin: Option<Origin>,
    found: Option<String>,
    is_negative: bool,
    what: What,
}

#[derive(Debug)]
enum What {
    Wrong(String),
    Missing(&'static str),
    UnknownKey(String, &'static [&'static str]),
    UnknownName(String, &'static [&'static str]),
}

impl Fault {
    fn new(what: What) -> Fault {
        Fault(Box::new(Inner { keys: Vec::new(), origin: None, found: None, is_negative: false, what }))
    }

    /// Records `node` as the place of the error, unless an inner value was recorded before.
    fn at(mut self, node: &Node) -> Fault {
        if self.0.origin.is_none() {
            self.0.origin = Some(node.origin);
            match (&self.0.what, &node.value) {
                (What::Missing(_), Value::Text(name)) => self.0.keys.push(name.clone()),
                (What::Missing(_), _) => {}
                (_, value) => {
                    self.0.found = Some(value.to_string());
                    self.0.is_negative = value.is_negative();
                }
            }
        }
        self
    }

    /// Records that the error lies in the key itself, not in its value.
    fn at_key(mut self, key: &str, origin: Origin) -> Fault {
        if self.0.origin.is_none() {
            self.0.origin = Some(origin);
            self.0.found = Some(key.to_owned());
            if let What::UnknownKey(..) = self.0.what {
                self.0.keys.push(key.to_owned());
            }
        }
        self
    }

    fn within(mut self, key: &str) -> Fault {
        self.0.keys.push(key.to_owned());
        self
    }

    /// The error as a user sees it.
    pub fn into_mistake(self) -> Mistake {
        let Inner { mut keys, origin, found, is_negative, what } = *self.0;
        if let What::Missing(field) = what {
            keys.insert(0, field.to_owned());
        }
        keys.reverse();
        let path: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut repair = Repair::Replace;
        let (expected, hint) = match what {
            // serde knows that this is a choice; the format also knows the alternatives.
            What::Wrong(expected) if expected == choice::EXPECTED || expected == "enum" => {
                (schema::expected_at(&keys), example(&path))
            }
            What::Wrong(expected) if is_negative => (expected, Some("it is negative".to_owned())),
            What::Wrong(expected)
                if found.as_deref().is_some_and(has_a_unit) && units_of(&expected).is_some() =>
            {
                let units = units_of(&expected).map(|units| format!("its unit is {units}"));
                (expected, units)
            }
            What::Wrong(expected) if is_form(&expected) => (expected, example(&path)),
            What::Wrong(expected) => (expected, None),
            What::Missing(_) => {
                repair = Repair::Add;
                let hint = "it is missing and has no default".to_owned();
                (schema::expected_at(&keys), Some(hint))
            }
            What::UnknownKey(key, known) => {
                let (name, mut hint) = meant(&key, known).unzip();
                repair = Repair::Rename(name.flatten().map(str::to_owned));
                let around = &path[..path.len().saturating_sub(1)];
                if let Some(inner) = in_another_table(&key, around).filter(|_| hint.is_none()) {
                    hint = Some(format!("did you mean `{inner}`?"));
                }
                (format!("the key {}", one_of(known)), hint)
            }
            What::UnknownName(name, known) => {
                let meant = meant(&name, known).map(|(_, hint)| hint);
                (
                    one_of(known),
                    meant.or_else(|| {
                        example(&path).filter(|_| is_quantity(&name)).map(|text| with(&text, &name))
                    }),
                )
            }
        };
        let mut error = ScenarioError::at(join_path(&keys), expected);
        error.found = found.map(String::into_boxed_str);
        error.hint = hint.map(String::into_boxed_str);
        Mistake { error, origin: origin.unwrap_or_default(), repair }
    }
}

/// An error in a tree, and what to do with the tree to find the next one.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub error: ScenarioError,
    pub origin: Origin,
    pub repair: Repair,
}

/// The repair that makes a tree readable beyond a mistake.
#[derive(Debug)]
pub(crate) enum Repair {
    /// Another value at the key, or none: this one cannot be read.
    Replace,
    /// The same for a value that can be read but makes no sense.
    Withdraw,
    /// A value for a key that is missing.
    Add,
    /// The key under this name, or without it.
    Rename(Option<String>),
}

/// Whether several values are expected, and not one.
fn is_form(expected: &str) -> bool {
    ["a table", "a list in brackets"].contains(&expected)
        || ["a table `{", "exactly one of", "`"].iter().any(|start| expected.starts_with(start))
}

/// Whether a name looks like a number with or without a unit.
fn is_quantity(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

/// Whether a text is a number with letters behind it, as a quantity in an unknown unit is.
fn has_a_unit(found: &str) -> bool {
    let text = found.trim_matches('"').trim();
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && text.ends_with(|c: char| c.is_ascii_alphabetic())
}

/// An example with this quantity in place of its own.
fn with(example: &str, quantity: &str) -> String {
    match example.split('"').collect::<Vec<_>>().as_slice() {
        [before, _, after] => format!("{before}\"{quantity}\"{after}"),
        _ => example.to_owned(),
    }
}

/// How what is expected at `path` may be written, as a hint.
fn example(path: &[&str]) -> Option<String> {
    schema::example(path).map(|example| format!("such as {example}"))
}

/// Translates Rust's names of types into words for users.
fn in_words(expected: &str) -> String {
    match expected {
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number, not negative".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a sequence" => "a list in brackets".to_owned(),
        "unit" => "an empty table `{}`".to_owned(),
        "newtype variant" => "a table `{ name = … }` with its parameters".to_owned(),
        other if other == "a map" || other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Fault {
        Fault::new(What::Wrong(message.to_string()))
    }
    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        Fault::new(What::Wrong(in_words(&expected.to_string())))
    }
    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        Fault::new(What::Wrong(in_words(&expected.to_string())))
    }
    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Fault {
        Fault::new(What::UnknownName(variant.to_owned(), known))
    }
    fn unknown_field(field: &str, known: &'static [&'static str]) -> Fault {
        Fault::new(What::UnknownKey(field.to_owned(), known))
    }
    fn missing_field(field: &'static str) -> Fault {
        Fault::new(What::Missing(field))
    }
}

struct Reader<'a>(&'a Node);

impl<'a> Reader<'a> {
    fn wrong<T>(&self, expected: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::new(What::Wrong(expected.into())).at(self.0))
    }

    fn visit_table<'de, V: Visitor<'de>>(self, table: &'a Table, visitor: V) -> Result<V::Value, Fault> {
        let mut entries = Entries { entries: table.iter(), current: None };
        let value = visitor.visit_map(&mut entries).map_err(|fault| fault.at(self.0))?;
        // Structs and maps read every entry; only a choice stops after its name.
        match entries.entries.next() {
            Some((key, node)) => {
                let first = table.first().map_or("", |(key, _)| key.as_str());
                let what = What::Wrong(format!("one choice only: `{first}` is given already"));
                Err(Fault::new(what).at_key(key, node.key))
            }
            None => Ok(value),
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let done = match &self.0.value {
            Value::Table(table) => return self.visit_table(table, visitor),
            Value::List(items) => return visit_list(self.0, items, visitor),
            Value::Float(value) if !value.is_finite() => return self.wrong("a finite number"),
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Integer(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_str(text),
            Value::Other(text) => Err(de::Error::invalid_type(Unexpected::Other(text), &visitor)),
        };
        done.map_err(|fault: Fault| fault.at(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Table(table) if table.is_empty() => visitor.visit_unit(),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        // serde would also accept a list of the fields in their order, but such a file would be unreadable.
        match &self.0.value {
            Value::Table(table) => self.visit_table(table, visitor),
            _ => self.wrong("a table"),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Text(name) => {
                visitor.visit_enum(name.as_str().into_deserializer()).map_err(|fault: Fault| fault.at(self.0))
            }
            Value::Table(table) => match table.first() {
                Some((key, node)) if table.len() == 1 => {
                    visitor.visit_enum(Variant { key, node }).map_err(|fault| fault.at(self.0))
                }
                _ => self.wrong(format!("exactly one of {}", one_of(variants))),
            },
            _ => self.wrong(one_of(variants)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

fn visit_list<'de, V: Visitor<'de>>(node: &Node, items: &[Node], visitor: V) -> Result<V::Value, Fault> {
    visitor.visit_seq(Items { items: items.iter().enumerate() }).map_err(|fault| fault.at(node))
}

struct Items<'a> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some((index, node)) = self.items.next() else { return Ok(None) };
        seed.deserialize(Reader(node)).map(Some).map_err(|fault| fault.at(node).within(&index.to_string()))
    }
}

struct Entries<'a> {
    entries: indexmap::map::Iter<'a, String, Node>,
    current: Option<(&'a String, &'a Node)>,
}

impl<'de> MapAccess<'de> for &mut Entries<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.current = self.entries.next();
        let Some((key, node)) = self.current else { return Ok(None) };
        let name: StrDeserializer<'_, Fault> = key.as_str().into_deserializer();
        seed.deserialize(name).map(Some).map_err(|fault| fault.at_key(key, node.key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some((key, node)) = self.current else {
            return Err(de::Error::custom("a value after its key"));
        };
        seed.deserialize(Reader(node)).map_err(|fault| fault.at(node).within(key))
    }
}

/// `{ name = … }` read as a variant of an enum.
struct Variant<'a> {
    key: &'a str,
    node: &'a Node,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Fault;
    type Variant = Self;
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        let name: StrDeserializer<'_, Fault> = self.key.into_deserializer();
        let value = seed.deserialize(name).map_err(|fault| fault.at_key(self.key, self.node.key))?;
        Ok((value, self))
    }
}

impl Variant<'_> {
    fn inside<T>(&self, result: Result<T, Fault>) -> Result<T, Fault> {
        result.map_err(|fault| fault.at(self.node).within(self.key))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Fault;
    fn unit_variant(self) -> Result<(), Fault> {
        self.inside(de::Deserialize::deserialize(Reader(self.node)))
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        self.inside(seed.deserialize(Reader(self.node)))
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.inside(Reader(self.node).deserialize_any(visitor))
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.inside(Reader(self.node).deserialize_any(visitor))
    }
}
