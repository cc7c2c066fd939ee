//! Why the kernel engine cannot do what it is asked.

use std::io;

/// Why a run in real time did not start, or did not end.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The kernel cannot do what the scenario says.
    #[error("{key} = {value}: {why}")]
    Unsupported {
        /// The scenario's key.
        key: String,
        /// Its value.
        value: String,
        /// Why not, and what to do.
        why: String,
    },
    /// The machine lacks something, or refused it.
    #[error("cannot {step}: {error}")]
    System {
        /// What was tried.
        step: String,
        /// What the system said.
        error: io::Error,
    },
    /// The machine lacks what the scenario needs.
    #[error("{0}")]
    Lacks(String),
    /// The caller stopped it.
    #[error("the run was interrupted")]
    Interrupted,
    /// A broken invariant.
    #[error("the run failed: {0}")]
    Failed(String),
}

/// Says what was tried when the system refused it.
pub trait Step<T> {
    /// The error of the step `step`.
    fn step(self, step: &str) -> Result<T, TestbedError>;
}

impl<T> Step<T> for io::Result<T> {
    fn step(self, step: &str) -> Result<T, TestbedError> {
        self.map_err(|error| TestbedError::System { step: step.to_owned(), error })
    }
}
