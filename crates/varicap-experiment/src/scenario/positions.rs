//! Where the values of a JSON text stand in it.

use crate::error::ScenarioError;
use crate::scenario::document::{Extent, Lines, Node, Origin, Value, without_position};

impl Node {
    /// Reads a JSON text that somebody wrote.
    pub fn from_json_file(text: &str) -> Result<Node, ScenarioError> {
        let mut node: Node = serde_json::from_str(text).map_err(|error| {
            let lines = Lines::of(text);
            let start = lines.byte(error.line(), error.column());
            let mut wrong = ScenarioError::at("", format!("valid JSON: {}", without_position(&error)));
            lines.show(&mut wrong, Extent { start, end: start + 1 });
            wrong
        })?;
        mark(&mut node, text);
        Ok(node)
    }
}

/// Records in a tree where its values were written; `text` is the valid JSON that it was read from.
fn mark(node: &mut Node, text: &str) {
    Walk { text: text.as_bytes(), at: 0 }.value(Some(node));
}

/// A walk through a text that is known to be valid JSON.
struct Walk<'a> {
    text: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    /// The next byte that is neither white nor one of these separators.
    fn skip(&mut self, separators: &[u8]) -> u8 {
        while let Some(&byte) = self.text.get(self.at) {
            if !byte.is_ascii_whitespace() && !separators.contains(&byte) {
                return byte;
            }
            self.at += 1;
        }
        b']'
    }

    /// Passes a value, and records its place in `node`; nulls are in no tree.
    fn value(&mut self, mut node: Option<&mut Node>) {
        let opening = self.skip(b"");
        let start = self.at;
        match opening {
            b'{' => self.object(node.as_deref_mut()),
            b'[' => self.array(node.as_deref_mut()),
            b'"' => self.string(),
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
                self.at += self.text[self.at..].iter().position(ends).unwrap_or(self.text.len() - self.at);
            }
        }
        if let Some(node) = node {
            node.origin = Origin::File(Extent { start, end: self.at });
            if node.key == Origin::Unknown {
                node.key = node.origin;
            }
        }
    }

    fn object(&mut self, node: Option<&mut Node>) {
        let mut nothing = Node::default();
        let table = match node.map(|node| &mut node.value) {
            Some(Value::Table(table)) => table,
            _ => match &mut nothing.value {
                Value::Table(table) => table,
                _ => return,
            },
        };
        self.at += 1;
        while self.skip(b",") == b'"' {
            let start = self.at;
            self.string();
            let place = Origin::File(Extent { start, end: self.at });
            let key = String::from_utf8_lossy(&self.text[start..self.at]);
            let key: String = serde_json::from_str(&key).unwrap_or_default();
            self.skip(b":");
            let mut entry = table.get_mut(&key);
            if let Some(entry) = &mut entry {
                entry.key = place;
            }
            self.value(entry);
        }
        self.at = (self.at + 1).min(self.text.len());
    }

    fn array(&mut self, node: Option<&mut Node>) {
        let mut items = match node.map(|node| &mut node.value) {
            Some(Value::List(items)) => items.iter_mut(),
            _ => [].iter_mut(),
        };
        self.at += 1;
        while self.skip(b",") != b']' {
            self.value(items.next());
        }
        self.at = (self.at + 1).min(self.text.len());
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        self.at = self.at.min(self.text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, path: &[&str]) -> (String, String) {
        let node = Node::from_json_file(text).unwrap();
        let node = node.at(path.iter().copied()).unwrap();
        let part = |origin| match origin {
            Origin::File(Extent { start, end }) => text[start..end].to_owned(),
            other => panic!("{other:?}"),
        };
        (part(node.key), part(node.origin))
    }

    #[test]
    fn every_value_knows_where_it_stands() {
        let text = r#"{"a" : {"b\"c":  [1, {"d": null, "e":"x\\"}, -2.5e3 ]},
            "f":true, "g": {}, "h": [] }"#;
        assert_eq!(written(text, &["f"]), ("\"f\"".into(), "true".into()));
        assert_eq!(written(text, &["a", "b\"c", "1", "e"]), ("\"e\"".into(), r#""x\\""#.into()));
        assert_eq!(written(text, &["a", "b\"c", "2"]).1, "-2.5e3");
        assert_eq!(written(text, &["g"]).1, "{}");
        assert_eq!(written(text, &["h"]).1, "[]");
    }
}
