//! Long work with a responsive interpreter: it runs on a thread of its own, while this one waits without the
//! interpreter's lock, listens for Ctrl-C and reports progress.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use varicap_experiment::live::Live;

use crate::errors::RunError;
use crate::kept::Kept;

/// The interval at which Ctrl-C is looked for and progress is reported.
const INTERVAL: Duration = Duration::from_millis(50);

/// The state shared by the working thread and the waiting one: progress in one direction, a request to stop in the
/// other.
#[derive(Default)]
pub struct Shared {
    /// Share of the work that is done, in units of 1 / [`Shared::WHOLE`].
    share: AtomicU64,
    /// Number of runs that are done.
    runs: AtomicUsize,
    /// Whether the work was asked to stop.
    stop: AtomicBool,
    /// The source of live samples, and the Python callable that receives them as JSON.
    observer: Option<(Arc<Live>, Py<PyAny>)>,
    /// The keeper of finished runs while others go on.
    kept: Option<Kept>,
}

impl Shared {
    const WHOLE: f64 = 1e9;

    /// Passes live samples to the callable `observer`, if there is one, and finished runs to whoever keeps them; runs
    /// report samples to [`Shared::live`].
    pub fn observed(observer: Option<Py<PyAny>>, kept: Option<Kept>) -> Shared {
        Shared { observer: observer.map(|observer| (Arc::default(), observer)), kept, ..Shared::default() }
    }

    /// The keeper of finished runs, if there is one.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// Where runs report live samples, if there is an observer.
    pub fn live(&self) -> Option<&Arc<Live>> {
        self.observer.as_ref().map(|(live, _)| live)
    }

    /// Reports that `share` of the work [0..1] and `runs` runs are done; returns whether to go on.
    pub fn report(&self, share: f64, runs: usize) -> bool {
        self.share.store((share * Shared::WHOLE) as u64, Ordering::Relaxed);
        self.runs.store(runs, Ordering::Relaxed);
        !self.is_stopped()
    }

    /// Asks the work to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the work was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn pass_on(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if let Some((live, observer)) = &self.observer {
            let samples = live.take();
            if !samples.is_empty() {
                let text = serde_json::to_string(&samples).expect("samples are plain numbers");
                observer.call1(py, (text,))?;
            }
        }
        if let Some(kept) = &self.kept {
            kept.hand_over_if_due(py)?;
        }
        let Some(progress) = progress else { return Ok(()) };
        let share = self.share.load(Ordering::Relaxed) as f64 / Shared::WHOLE;
        progress.call1((share, self.runs.load(Ordering::Relaxed))).map(drop)
    }
}

/// Runs `work` on this thread, which a guest's only one is, and reports its progress between its steps. `work` is given a
/// function that takes the share that is done and says whether to go on; an exception of `progress` stops it and is raised.
#[cfg(target_os = "linux")]
pub fn on_this_thread<T>(
    py: Python<'_>,
    shared: &Shared,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut (dyn FnMut(f64) -> bool + Send)) -> T,
) -> PyResult<T> {
    /// How often progress is reported: each report is a message to the host.
    const REPORTS: f64 = 200.0;
    let progress = progress.map(|progress| progress.clone().unbind());
    let (mut next, mut interruption) = (0.0, Ok(()));
    let done = work(&mut |share| {
        if share < next {
            return true;
        }
        next = share + 1.0 / REPORTS;
        shared.report(share, 0);
        interruption = Python::attach(|py| shared.pass_on(py, progress.as_ref().map(|one| one.bind(py))));
        interruption.is_ok()
    });
    interruption?;
    shared.pass_on(py, None)?;
    Ok(done)
}

/// Runs `work` on another thread. Ctrl-C, or an exception of `progress`, stops it and is raised; so is its panic.
pub fn run<T: Send>(
    py: Python<'_>,
    shared: &Shared,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The receiver waits until something arrives, so it is there.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        });
        let mut interruption = Ok(());
        loop {
            // By unique reference: a receiver may be sent to the detached closure, but not shared with it.
            let waiting = &mut receiver;
            match py.detach(move || waiting.recv_timeout(INTERVAL)) {
                Ok(outcome) => {
                    interruption?;
                    shared.pass_on(py, progress)?;
                    return outcome.map_err(|panic| RunError::new_err(text_of(&*panic)));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunError::new_err("the run ended without a result"));
                }
                Err(RecvTimeoutError::Timeout) if interruption.is_err() => {}
                Err(RecvTimeoutError::Timeout) => {
                    interruption = py.check_signals();
                    if interruption.is_ok() {
                        interruption = shared.pass_on(py, progress);
                    }
                    if interruption.is_err() {
                        shared.stop();
                    }
                }
            }
        }
    })
}

/// The message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
