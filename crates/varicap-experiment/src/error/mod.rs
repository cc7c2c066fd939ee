//! A mistake in a scenario: where it is, what was found, what was expected.

mod excerpt;
mod words;

use std::fmt;
use std::num::NonZeroU32;

pub use excerpt::Excerpt;
pub(crate) use words::{in_another_table, is_guess, meant, nearest};

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
    pub found: Option<Box<str>>,
    /// The values that were expected instead.
    pub expected: String,
    /// The value that was probably meant, or how to correct the mistake.
    pub hint: Option<Box<str>>,
    /// The line or the option as it was written, and the part of it that is wrong.
    pub excerpt: Option<Box<Excerpt>>,
}

impl ScenarioError {
    /// An error that says what was expected at `key`.
    pub(crate) fn at(key: impl Into<String>, expected: impl Into<String>) -> ScenarioError {
        ScenarioError { key: key.into(), expected: expected.into(), ..ScenarioError::default() }
    }

    /// Adds to the error what was found instead.
    pub(crate) fn found(mut self, found: impl fmt::Display) -> ScenarioError {
        self.found = Some(found.to_string().into());
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
    fn an_error_reads_as_a_sentence() {
        let mut error = ScenarioError::at("flows.a.count", "a whole number").found("x");
        error.file = "lte.toml".to_owned();
        error.line = NonZeroU32::new(3);
        assert_eq!(error.to_string(), "lte.toml:3: flows.a.count: found `x`, expected a whole number");
    }
}
