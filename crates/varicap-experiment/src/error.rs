//! A mistake in a scenario: where it is, what was found, what was expected.

use std::fmt;
use std::num::NonZeroU32;

/// A mistake in a scenario: where it is, what was found, what was expected.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file, or `--set key=value`; empty if the scenario was never written down.
    pub file: String,
    /// Line in the file, from 1.
    pub line: Option<NonZeroU32>,
    /// Column in the line, from 1, in characters.
    pub column: Option<NonZeroU32>,
    /// Path of the key, such as `topology.dumbbell.forward.delay`; empty for a mistake of the whole file.
    pub key: String,
    /// The offending text.
    pub found: Option<String>,
    /// What was expected instead.
    pub expected: String,
    /// What was probably meant, or how to correct the mistake.
    pub hint: Option<Box<str>>,
}

impl ScenarioError {
    /// An error that says what was expected at `key`.
    pub(crate) fn at(key: impl Into<String>, expected: impl Into<String>) -> ScenarioError {
        ScenarioError { key: key.into(), expected: expected.into(), ..ScenarioError::default() }
    }

    /// Adds to the error what was found instead.
    pub(crate) fn found(mut self, found: impl fmt::Display) -> ScenarioError {
        self.found = Some(found.to_string());
        self
    }

    /// Adds a hint to the error.
    pub(crate) fn hint(mut self, hint: impl Into<Box<str>>) -> ScenarioError {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        if let Some(found) = &self.found {
            write!(f, "found `{found}`, ")?;
        }
        write!(f, "expected {}", self.expected)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

/// The name among `names` that `text` was probably meant to be.
pub(crate) fn nearest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long names may contain more typing errors; short ones must nearly match.
    let length = text.chars().count();
    let most = (length / 3).clamp(1, 3);
    names
        .into_iter()
        .filter(|name| name.len() <= 64 && text.len() <= 64)
        .map(|name| (distance(text, name), name))
        .filter(|(distance, _)| *distance <= most && *distance < length)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal
/// string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (normal(a), normal(b));
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

/// Normalises a word so that `-` equals `_`, and capitals equal small letters.
fn normal(word: &str) -> Vec<char> {
    word.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// Lists names as in `a`, `b` or `c`.
pub(crate) fn one_of<T: AsRef<str>>(names: &[T]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_recognised() {
        let keys = ["delay", "capacity", "queue", "loss", "min_threshold"];
        assert_eq!(nearest("dealy", keys), Some("delay"));
        assert_eq!(nearest("min-threshold", keys), Some("min_threshold"));
        assert_eq!(nearest("bandwidth", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("d", ["a", "b"]), None);
    }

    #[test]
    fn an_error_reads_as_a_sentence() {
        let mut error = ScenarioError::at("flows.a.count", "a whole number").found("x");
        error.file = "lte.toml".to_owned();
        error.line = NonZeroU32::new(3);
        assert_eq!(error.to_string(), "lte.toml:3: flows.a.count: found `x`, expected a whole number");
    }
}
