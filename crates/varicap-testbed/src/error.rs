//! Errors of the kernel engine.

use std::io;

/// An error that kept a run in real time from starting or from finishing.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The kernel does not support a setting of the scenario.
    #[error("{key} = {value}: {why}")]
    Unsupported {
        /// The scenario's key.
        key: String,
        /// Its value.
        value: String,
        /// The reason, and what to do about it.
        why: String,
    },
    /// A step of the setup failed.
    #[error("cannot {step}: {error}")]
    System {
        /// The step that was tried.
        step: String,
        /// The error of the system.
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

/// Adds the step that was tried to an error of the system.
pub trait Step<T> {
    /// Turns the error into that of the step `step`.
    fn step(self, step: &str) -> Result<T, TestbedError>;
}

impl<T> Step<T> for io::Result<T> {
    fn step(self, step: &str) -> Result<T, TestbedError> {
        self.map_err(|error| TestbedError::System { step: step.to_owned(), error })
    }
}
