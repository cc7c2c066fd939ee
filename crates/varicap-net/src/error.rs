//! Errors in the description of a link.

use varicap_logs::LogError;
use varicap_units::part::Fault;

/// A mistake in the description of a link, or in a trace that it names. Keys are relative to the table of the part that
/// found the mistake; whoever knows where that table lies puts its path in front ([`NetError::within`]).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// A value that makes no sense.
    #[error("`{}` is {}, expected {}", .0.key, .0.found, .0.expected)]
    Value(Fault),
    /// A line of a trace that cannot be read.
    #[error("{file}, line {line}: found `{found}`, expected {expected}")]
    Trace {
        /// The key that names the file; empty if no part does.
        key: String,
        /// The file, as the scenario names it.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The offending text, cut short.
        found: String,
        /// The values that were expected.
        expected: String,
    },
    /// A file that cannot be read at all.
    #[error("{file}: {reason}")]
    File {
        /// The key that names the file; empty if no part does.
        key: String,
        /// The file, as the scenario names it.
        file: String,
        /// Why it cannot be read.
        reason: String,
    },
}

impl From<Fault> for NetError {
    fn from(fault: Fault) -> NetError {
        NetError::Value(fault)
    }
}

impl From<LogError> for NetError {
    fn from(error: LogError) -> NetError {
        let key = String::new();
        match error {
            LogError::Line { file, line, found, expected } => {
                NetError::Trace { key, file, line, found, expected }
            }
            LogError::File { file, reason } | LogError::Absent { file, reason } => {
                NetError::File { key, file, reason }
            }
        }
    }
}

impl NetError {
    /// The same mistake as seen from the table that holds the part under `key`.
    pub fn within(self, key: &str) -> NetError {
        let prefixed =
            |inner: String| if inner.is_empty() { key.to_owned() } else { format!("{key}.{inner}") };
        match self {
            NetError::Value(fault) => NetError::Value(fault.within(key)),
            NetError::Trace { key, file, line, found, expected } => {
                NetError::Trace { key: prefixed(key), file, line, found, expected }
            }
            NetError::File { key, file, reason } => NetError::File { key: prefixed(key), file, reason },
        }
    }

    /// `file` cannot be read for this reason.
    pub(crate) fn file(file: &str, reason: impl Into<String>) -> NetError {
        NetError::File { key: String::new(), file: file.to_owned(), reason: reason.into() }
    }

    /// A line of `file` that cannot be read. Little of it is quoted, since the file may be anything that can be read.
    pub(crate) fn trace(file: &str, line: usize, found: &str, expected: impl Into<String>) -> NetError {
        const LONGEST: usize = 20;
        let cut = found.char_indices().nth(LONGEST).map_or(found.len(), |(at, _)| at);
        let dots = if cut < found.len() { "…" } else { "" };
        let found = format!("{}{dots}", found[..cut].escape_debug());
        NetError::Trace { key: String::new(), file: file.to_owned(), line, found, expected: expected.into() }
    }
}
