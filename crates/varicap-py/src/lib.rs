//! The Python module `varicap._core`: conversions between Python and the engine, nothing else.
//!
//! No run holds the interpreter's lock. `python/varicap/_core.pyi` has the types.

mod budget;
mod channel;
mod control;
mod decider;
mod endpoint;
mod episodes;
mod errors;
mod feedback;
mod interrupt;
mod kept;
#[cfg(target_os = "linux")]
mod kernel;
mod points;
mod policy;
mod quantity;
mod queue;
mod records;
mod run;
mod scenario;
#[cfg(target_os = "linux")]
mod shell;
mod tables;
mod tcp;
mod timers;
mod trace;

use pyo3::prelude::*;

/// varicap's engine.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::budget::{PyBudget, count_elsewhere, left};
    #[pymodule_export]
    use super::channel::PyChannel;
    #[pymodule_export]
    use super::control::{PyAckSample, PyCongestionEvent};
    #[pymodule_export]
    use super::endpoint::PyEndpointStart;
    #[pymodule_export]
    use super::episodes::PyEpisodes;
    #[pymodule_export]
    use super::feedback::PyEstimator;
    #[pymodule_export]
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::kernel::{
        kernel_check, kernel_enter, kernel_load, kernel_power_off, kernel_probe, kernel_room, kernel_run,
        kernel_settle,
    };
    #[pymodule_export]
    use super::points::PyTemplate;
    #[pymodule_export]
    use super::policy::PyQueueSample;
    #[pymodule_export]
    use super::quantity::quantity;
    #[pymodule_export]
    use super::queue::PyPacket;
    #[pymodule_export]
    use super::run::{PyResults, results, run};
    #[pymodule_export]
    use super::scenario::PyScenario;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::shell::shell;
    #[pymodule_export]
    use super::tcp::{PyReceiver, PySegment, PySender, stacks, tcp_settings};
    #[pymodule_export]
    use super::timers::PyEventTimers;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::timers::PyKernelTimers;
    #[pymodule_export]
    use super::trace::{are_opportunities, read_log, read_opportunities};

    /// The JSON Schema of scenario files.
    #[pyfunction]
    fn schema() -> String {
        format!("{:#}", varicap_experiment::schema())
    }

    /// JSON: the columns of each result table with unit and meaning.
    #[pyfunction]
    fn columns() -> String {
        varicap_experiment::results::columns_json().to_string()
    }

    /// The quantities that describe an interval to a policy: name, unit and meaning of each number.
    #[pyfunction]
    fn observed() -> Vec<super::episodes::Described> {
        super::episodes::described(&varicap_tcp::congestion::OBSERVED)
    }

    /// RATCP's program in C, which a kernel for simulated time has built in.
    #[pyfunction]
    fn ratcp_program() -> &'static str {
        include_str!("../../varicap-testbed/bpf/ratcp.bpf.c")
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("HAS_QUIC", cfg!(feature = "quic"))?;
        module.add("MAX_SCENARIO_BYTES", varicap_experiment::MAX_FILE)?;
        super::errors::add_to(module)
    }
}
