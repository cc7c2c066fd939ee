//! Long work beside a responsive interpreter: it runs on a thread of its own, while this one waits without the
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

/// How often Ctrl-C is looked for and progress is reported, at most.
const INTERVAL: Duration = Duration::from_millis(50);

/// What the work tells, and what it is told.
#[derive(Default)]
pub struct Shared {
    /// Share of the work that is done, in parts of [`Shared::WHOLE`].
    share: AtomicU64,
    /// Runs that are done.
    runs: AtomicUsize,
    /// Whether the work shall stop.
    stop: AtomicBool,
    /// Who watches the runs, and what hears of them in JSON.
    watch: Option<(Arc<Live>, Py<PyAny>)>,
}

impl Shared {
    const WHOLE: f64 = 1e9;

    /// With somebody who watches; the runs tell with what [`Shared::live`] gives.
    pub fn watched(hears: Option<Py<PyAny>>) -> Shared {
        Shared { watch: hears.map(|hears| (Arc::default(), hears)), ..Shared::default() }
    }

    /// Where runs tell how they stand, if somebody watches.
    pub fn live(&self) -> Option<&Arc<Live>> {
        self.watch.as_ref().map(|(live, _)| live)
    }

    /// `share` of the work [0..1] and `runs` are done; false if the work shall stop.
    pub fn tell(&self, share: f64, runs: usize) -> bool {
        self.share.store((share * Shared::WHOLE) as u64, Ordering::Relaxed);
        self.runs.store(runs, Ordering::Relaxed);
        !self.is_stopped()
    }

    /// Asks the work to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the work shall stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn report(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if let Some((live, hears)) = &self.watch {
            let samples = live.take();
            if !samples.is_empty() {
                let text = serde_json::to_string(&samples).expect("samples are plain numbers");
                hears.call1(py, (text,))?;
            }
        }
        let Some(progress) = progress else { return Ok(()) };
        let share = self.share.load(Ordering::Relaxed) as f64 / Shared::WHOLE;
        progress.call1((share, self.runs.load(Ordering::Relaxed))).map(drop)
    }
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
                    shared.report(py, progress)?;
                    return outcome.map_err(|panic| RunError::new_err(text_of(&*panic)));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunError::new_err("the run ended without a result"));
                }
                Err(RecvTimeoutError::Timeout) if interruption.is_err() => {}
                Err(RecvTimeoutError::Timeout) => {
                    interruption = py.check_signals();
                    if interruption.is_ok() {
                        interruption = shared.report(py, progress);
                    }
                    if interruption.is_err() {
                        shared.stop();
                    }
                }
            }
        }
    })
}

/// What a panic said.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
