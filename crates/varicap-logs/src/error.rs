//! Why a log was not read.

use std::fmt;

/// Why a log was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// A line that cannot be read.
    Line {
        /// The file, as it was named.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The offending text.
        found: String,
        /// The expected text, and an option that would help.
        expected: String,
    },
    /// A file that has other things, but not what was wanted, or does not say where.
    Absent {
        /// The file, as it was named.
        file: String,
        /// The contents of the file, and an option that would help.
        reason: String,
    },
    /// The file as a whole.
    File {
        /// The file, as it was named.
        file: String,
        /// Why, and which option would help.
        reason: String,
    },
}

impl LogError {
    pub(crate) fn file(file: &str, reason: impl Into<String>) -> LogError {
        LogError::File { file: file.to_owned(), reason: reason.into() }
    }

    pub(crate) fn absent(file: &str, reason: impl Into<String>) -> LogError {
        LogError::Absent { file: file.to_owned(), reason: reason.into() }
    }

    pub(crate) fn line(file: &str, line: usize, found: &str, expected: impl Into<String>) -> LogError {
        LogError::Line { file: file.to_owned(), line, found: quoted(found), expected: expected.into() }
    }
}

/// A few characters of a text, spelled out: the file may be anything that can be read.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 20;
    let cut = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    let dots = if cut < text.len() { "…" } else { "" };
    format!("{}{dots}", text[..cut].escape_debug())
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Line { file, line, found, expected } => {
                write!(f, "{file}, line {line}: found `{found}`, expected {expected}")
            }
            LogError::File { file, reason } | LogError::Absent { file, reason } => {
                write!(f, "{file}: {reason}")
            }
        }
    }
}

impl std::error::Error for LogError {}
