//! What may be wrong with the description of a link.

/// A mistake in the description of a link, or in a trace that it names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// A value that makes no sense.
    #[error("`{key}` is {found}, expected {expected}")]
    Value {
        /// The key below the link's table, such as `capacity.markov.jumps[1]`.
        key: String,
        /// The offending value.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A line of a trace that cannot be read.
    #[error("{file}, line {line}: found `{found}`, expected {expected}")]
    Trace {
        /// The file, as the scenario names it.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The offending text, cut short.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A file that cannot be read at all.
    #[error("{file}: {reason}")]
    File {
        /// The file, as the scenario names it.
        file: String,
        /// Why not.
        reason: String,
    },
}

impl NetError {
    /// `key` holds `found` where `expected` was expected.
    pub(crate) fn value(
        key: impl Into<String>,
        found: impl ToString,
        expected: impl Into<String>,
    ) -> NetError {
        NetError::Value { key: key.into(), found: found.to_string(), expected: expected.into() }
    }

    /// The same mistake in a capacity that lies at `key`.
    pub(crate) fn below(self, key: &str) -> NetError {
        match self {
            NetError::Value { key: inner, found, expected } => {
                let inner = inner.strip_prefix("capacity").unwrap_or(&inner);
                NetError::Value { key: format!("{key}{inner}"), found, expected }
            }
            other => other,
        }
    }

    /// A line of `file` that cannot be read; what was found is cut to a length that fits a message.
    pub(crate) fn trace(file: &str, line: usize, found: &str, expected: impl Into<String>) -> NetError {
        const LONGEST: usize = 60;
        let cut = found.char_indices().nth(LONGEST).map_or(found.len(), |(at, _)| at);
        let dots = if cut < found.len() { "…" } else { "" };
        let found = format!("{}{dots}", found[..cut].escape_debug());
        NetError::Trace { file: file.to_owned(), line, found, expected: expected.into() }
    }
}
