//! The memory and the time that runs may take together, watched while they run: an estimate may err, a limit may not.
//!
//! A run looks at its budget where it pauses anyway, every so many events. A single event may send or lose millions of
//! packets, though, and a policy may think for as long as it likes; so some places off the fast path look, too: where the
//! pool of segments and the log of packets grow, where a ring is about to double, where packets are lost, and where a
//! policy has acted. From there a run ends by unwinding, so that no packet pays for a test.
//!
//! While a run goes on, its budget is that of the thread: what it calls may ask, wherever it is.

#![expect(
    clippy::disallowed_methods,
    reason = "a limit of time is one of the clock; no result depends on it"
)]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use varicap_experiment::Limits;
use varicap_units::{Bytes, Span, room};

/// The limits of runs that share a process, and the state in which they began.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    /// Whether the time is that of each run, rather than of all of them.
    is_for_each: bool,
    begun: Instant,
    /// Memory of the process at the beginning; none where the system does not say.
    before: Option<u64>,
    /// When the system was last asked, since the beginning [ns], and by how much the process had grown then.
    looked: AtomicU64,
    grown: AtomicU64,
}

/// Memory of other processes that work for this one [B]: those in which policies of strangers decide.
static ELSEWHERE: AtomicU64 = AtomicU64::new(0);

/// From now on other processes that work for this one have `bytes` of memory together.
pub fn count_elsewhere(bytes: u64) {
    ELSEWHERE.store(bytes, Ordering::Relaxed);
}

/// Time between two questions to the system, of which each takes as long as a short run [ns].
const BETWEEN_LOOKS: u64 = 1_000_000;

/// The limit that a run exceeded, and what it had reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// More memory.
    #[error("expected at most {most} of memory (--max-memory), found {} MB", reached.as_u64() / 1_000_000)]
    Memory {
        /// The limit.
        most: Bytes,
        /// By how much the process had grown.
        reached: Bytes,
    },
    /// More time.
    #[error("expected at most {most} (--max-time), found {:.1} s on the clock", reached.as_secs_f64())]
    Time {
        /// The limit.
        most: Span,
        /// Time since the beginning.
        reached: Span,
    },
}

impl Budget {
    /// A budget that begins now, for all runs together.
    pub fn new(limits: Limits) -> Budget {
        Budget {
            limits,
            is_for_each: false,
            begun: Instant::now(),
            before: resident(),
            looked: AtomicU64::new(0),
            grown: AtomicU64::new(0),
        }
    }

    /// A budget that begins now: memory for all runs together, time for each of them.
    pub fn for_each(limits: Limits) -> Budget {
        Budget { is_for_each: true, ..Budget::new(limits) }
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks what has been taken since the budget began.
    pub fn check(&self) -> Result<(), Exceeded> {
        self.check_since(self.begun, 0)
    }

    /// Lets `work` ask on this thread, by [`left`], what is left.
    pub fn watch<T>(self: &Arc<Budget>, work: impl FnOnce() -> T) -> T {
        Guard::new(self).shown(work)
    }

    /// Checks what has been taken, of time since `begun`; `counted` bytes are known to be in use, whatever the system
    /// says.
    fn check_since(&self, begun: Instant, counted: u64) -> Result<(), Exceeded> {
        let Limits { memory, time } = self.limits;
        if let Some(most) = time {
            let reached = Span::from_nanos(nanos_since(begun));
            if reached > most {
                return Err(Exceeded::Time { most, reached });
            }
        }
        if let Some(most) = memory {
            let reached = Bytes::new(self.grown().max(counted));
            if reached > most {
                return Err(Exceeded::Memory { most, reached });
            }
        }
        Ok(())
    }

    /// By how much the process has grown, as the system said a moment ago at the earliest [B].
    fn grown(&self) -> u64 {
        let now = nanos_since(self.begun);
        let looked = self.looked.load(Ordering::Relaxed);
        if looked == 0 || now.saturating_sub(looked) >= BETWEEN_LOOKS {
            return self.look(now);
        }
        self.grown.load(Ordering::Relaxed)
    }

    /// Asks the system by how much the process has grown, `now` after the beginning [ns].
    fn look(&self, now: u64) -> u64 {
        let grown = self.before.and_then(|before| Some(resident()?.saturating_sub(before))).unwrap_or(0);
        self.grown.store(grown, Ordering::Relaxed);
        self.looked.store(now, Ordering::Relaxed);
        grown
    }
}

fn nanos_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

thread_local! {
    /// The guard of the run that goes on in this thread.
    static CURRENT: RefCell<Option<Guard>> = const { RefCell::new(None) };
}

/// The limits that are left to the run of this thread, or the one that it has exceeded; all of them where no run goes on.
pub fn left() -> Result<Limits, Exceeded> {
    CURRENT.with_borrow(|guard| guard.as_ref().map_or(Ok(Limits { memory: None, time: None }), Guard::left))
}

/// Ends the run of this thread by unwinding if it has exceeded a limit.
#[cold]
pub(crate) fn enforce_budget() {
    CURRENT.with_borrow(|guard| {
        if let Some(guard) = guard {
            guard.enforce(0);
        }
    });
}

/// Ends the run of this thread by unwinding if `bytes` more would exceed its limit.
fn enforce_room(bytes: u64) {
    CURRENT.with_borrow(|guard| {
        if let Some(guard) = guard {
            guard.enforce_on(bytes);
        }
    });
}

/// Watches the budget of one run.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    budget: Arc<Budget>,
    begun: Instant,
}

impl Guard {
    /// The guard of a run that begins now.
    pub fn new(budget: &Arc<Budget>) -> Guard {
        let begun = if budget.is_for_each { Instant::now() } else { budget.begun };
        Guard { budget: budget.clone(), begun }
    }

    /// Checks the budget; `counted` bytes are known to be in use, whatever the system says.
    pub fn check(&self, counted: u64) -> Result<(), Exceeded> {
        self.budget.check_since(self.begun, counted)
    }

    /// Does `work`, which may look at this guard by [`left`], and ends where it unwinds with an [`Exceeded`].
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> Result<T, Exceeded> {
        let ended = self.shown(|| catch_unwind(AssertUnwindSafe(|| room::kept(enforce_room, work))));
        ended.map_err(|payload| match payload.downcast::<Exceeded>() {
            Ok(exceeded) => *exceeded,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// Does `work`, which may look at this guard by [`left`].
    fn shown<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Before(Option<Guard>);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _before = Before(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// The rest of the budget.
    fn left(&self) -> Result<Limits, Exceeded> {
        self.check(0)?;
        let Limits { memory, time } = *self.budget.limits();
        let spent = nanos_since(self.begun);
        Ok(Limits {
            memory: memory.map(|most| most.saturating_sub(Bytes::new(self.budget.grown()))),
            time: time.map(|most| Span::from_nanos(most.as_nanos().saturating_sub(spent))),
        })
    }

    /// Checks whether `bytes` more fit, and ends the run by unwinding with an [`Exceeded`] if they do not.
    #[cold]
    fn enforce_on(&self, bytes: u64) {
        let now = nanos_since(self.budget.begun);
        self.enforce(self.budget.look(now).saturating_add(bytes));
    }

    /// Checks the budget in the middle of an event, and ends the run by unwinding with an [`Exceeded`].
    #[cold]
    pub fn enforce(&self, counted: u64) {
        if let Err(exceeded) = self.check(counted) {
            resume_unwind(Box::new(exceeded));
        }
    }
}

/// Memory that this process and those that work for it use [B]; none where the system does not say.
fn resident() -> Option<u64> {
    Some(resident_here()? + ELSEWHERE.load(Ordering::Relaxed))
}

#[cfg(target_os = "linux")]
fn resident_here() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(not(target_os = "linux"))]
fn resident_here() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    /// Memory is that of the process, in which the tests are threads: one that measures it goes alone.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn guard(memory: Option<u64>, time: Option<Span>) -> Guard {
        Guard::new(&Arc::new(Budget::new(Limits { memory: memory.map(Bytes::new), time })))
    }

    #[test]
    fn no_limit_is_never_exceeded() {
        assert_eq!(guard(None, None).check(u64::MAX), Ok(()));
    }

    #[test]
    fn what_is_counted_holds_even_where_the_system_is_silent() {
        let _alone = alone();
        let guard = guard(Some(1_000_000_000), None);
        assert_eq!(guard.check(0), Ok(()));
        let (most, reached) = (Bytes::new(1_000_000_000), Bytes::new(2_000_000_000));
        assert_eq!(guard.check(2_000_000_000), Err(Exceeded::Memory { most, reached }));
    }

    #[test]
    fn time_begins_with_the_budget_or_with_each_run() {
        let limits = Limits { memory: None, time: Some(Span::from_millis(40)) };
        let (all, each) = (Arc::new(Budget::new(limits)), Arc::new(Budget::for_each(limits)));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(matches!(Guard::new(&all).check(0), Err(Exceeded::Time { .. })));
        assert_eq!(Guard::new(&each).check(0), Ok(()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_that_is_written_counts() {
        let _alone = alone();
        let guard = guard(Some(50_000_000), None);
        assert_eq!(guard.check(0), Ok(()));
        let block = std::hint::black_box(vec![1_u8; 100_000_000]);
        let Err(Exceeded::Memory { reached, .. }) = guard.check(0) else { panic!("100 MB go unnoticed") };
        assert!(reached >= Bytes::new(50_000_000) && reached < Bytes::new(400_000_000), "{reached}");
        drop(block);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_is_asked_once_in_a_while() {
        let budget = Budget::new(Limits { memory: Some(Bytes::new(1)), time: None });
        let asked = || {
            let _ = budget.check();
            budget.looked.load(Ordering::Relaxed)
        };
        let mut looks: Vec<u64> = (0..1000).map(|_| asked()).collect();
        looks.dedup();
        let most = nanos_since(budget.begun) / BETWEEN_LOOKS + 1;
        assert!(looks.len() as u64 <= most, "asked {} times, {most} at most", looks.len());
        std::thread::sleep(std::time::Duration::from_nanos(2 * BETWEEN_LOOKS));
        assert!(asked() > looks[0]);
    }

    #[test]
    #[should_panic]
    fn in_the_middle_of_an_event_the_run_unwinds() {
        guard(Some(1), None).enforce(2);
    }
}
