//! Finished runs as bytes, which are kept while others go on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use varicap_experiment::Network;
use varicap_experiment::results::{Recorded, RunResult};
use varicap_sim::Finished;

use crate::errors::RunError;

/// How many looks, of which there are twenty a second, lie between two hand-overs.
const LOOKS: u32 = 20;

/// The result of each network of a run, with the network's number.
type Ended = Vec<(usize, RunResult)>;

/// Hands the runs that have ended to a Python callable, about once a second.
pub struct Kept {
    networks: Arc<[Network]>,
    ended: Arc<Mutex<Ended>>,
    recorded: Arc<Mutex<Vec<Recorded>>>,
    heard: Py<PyAny>,
    looks: AtomicU32,
}

impl Kept {
    /// Calls `heard` with a list of numbers and bytes; what runs recorded is looked up in `recorded`.
    pub fn new(networks: Arc<[Network]>, recorded: Arc<Mutex<Vec<Recorded>>>, heard: Py<PyAny>) -> Kept {
        Kept { networks, ended: Arc::default(), recorded, heard, looks: AtomicU32::new(0) }
    }

    /// The callback for runs that have ended.
    pub fn ear(&self) -> Arc<Finished> {
        let ended = self.ended.clone();
        Arc::new(move |network, run: &RunResult| locked(&ended).push((network, run.clone())))
    }

    /// Hands over at every [`LOOKS`]th call.
    pub fn hand_over_if_due(&self, py: Python<'_>) -> PyResult<()> {
        if (self.looks.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(LOOKS) {
            self.hand_over(py)?;
        }
        Ok(())
    }

    /// Hands over the runs that have ended in all of their networks since the last time.
    pub fn hand_over(&self, py: Python<'_>) -> PyResult<()> {
        let whole = py.detach(|| self.take());
        if whole.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(whole.len());
        for run in whole {
            let recorded = locked(&self.recorded);
            let of_run = recorded.iter().filter(|one| one.replication == run.replication);
            bytes.push((run.replication, PyBytes::new(py, &packed(&run, &of_run.collect::<Vec<_>>())?)));
        }
        self.heard.call1(py, (bytes,)).map(drop)
    }

    /// Takes the runs that are whole, and leaves those of which networks are still under way.
    fn take(&self) -> Vec<RunResult> {
        let mut ended = locked(&self.ended);
        ended.sort_by_key(|(network, run)| (run.replication, *network));
        let (mut whole, mut left) = (Vec::new(), Vec::new());
        for run in ended.chunk_by(|one, next| one.1.replication == next.1.replication) {
            if run.len() == self.networks.len() {
                let results: Vec<RunResult> = run.iter().map(|(_, result)| result.clone()).collect();
                whole.push(RunResult::join(&self.networks, &results));
            } else {
                left.extend_from_slice(run);
            }
        }
        *ended = left;
        whole
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run as bytes, with what it recorded in each of its networks.
pub fn packed(run: &RunResult, recorded: &[&Recorded]) -> PyResult<Vec<u8>> {
    rmp_serde::to_vec(&(run, recorded)).map_err(|error| RunError::new_err(error.to_string()))
}

/// The run that [`packed`] made bytes of, and what it recorded.
pub fn unpacked(bytes: &[u8]) -> PyResult<(RunResult, Vec<Recorded>)> {
    rmp_serde::from_slice(bytes).map_err(|error| RunError::new_err(error.to_string()))
}
