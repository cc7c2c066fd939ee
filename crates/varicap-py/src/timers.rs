//! Timers by themselves, for [minrate, Table I]: those of the simulator's event list, and the kernel's. Their cost is
//! measured in Python.

use pyo3::prelude::*;
use varicap_sim::Timers;
use varicap_units::Span;

/// Timers of the simulator's event list, one for each connection.
#[pyclass(name = "EventTimers", module = "varicap._core")]
pub struct PyEventTimers(Timers);

#[pymethods]
impl PyEventTimers {
    #[new]
    fn new(count: u32, interval_s: f64) -> PyEventTimers {
        PyEventTimers(Timers::new(count, Span::from_secs_f64(interval_s)))
    }

    fn set_all(&mut self) {
        self.0.set_all();
    }

    fn handle_all(&mut self) {
        self.0.handle_all();
    }

    fn cancel_all(&mut self) {
        self.0.cancel_all();
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use pyo3::prelude::*;
    use varicap_testbed::sys::{Clock, Timer};
    use varicap_units::{Span, Time};

    /// Timers of the kernel (timerfd, by high-resolution timers), one descriptor each.
    #[pyclass(name = "KernelTimers", module = "varicap._core")]
    pub struct PyKernelTimers {
        clock: Clock,
        timers: Vec<Timer>,
    }

    #[pymethods]
    impl PyKernelTimers {
        #[new]
        fn new(count: u32) -> PyResult<PyKernelTimers> {
            let timers = (0..count).map(|_| Timer::new()).collect::<std::io::Result<_>>()?;
            Ok(PyKernelTimers { clock: Clock::starting_in(Span::ZERO), timers })
        }

        /// Sets each of them, to an hour from now.
        fn set_all(&mut self) -> PyResult<()> {
            let later = self.clock.now() + Span::from_secs(3600);
            self.arm_all(later)
        }

        /// Makes each of them expire at once, and reads the expiry.
        fn handle_all(&mut self) -> PyResult<()> {
            for timer in &mut self.timers {
                timer.arm(&self.clock, Time::from_nanos(1))?;
                timer.clear();
            }
            Ok(())
        }

        /// Cancels each of them.
        fn cancel_all(&mut self) -> PyResult<()> {
            self.arm_all(Time::NEVER)
        }
    }

    impl PyKernelTimers {
        fn arm_all(&mut self, at: Time) -> PyResult<()> {
            for timer in &mut self.timers {
                timer.arm(&self.clock, at)?;
            }
            Ok(())
        }
    }
}
#[cfg(target_os = "linux")]
pub use kernel::PyKernelTimers;
