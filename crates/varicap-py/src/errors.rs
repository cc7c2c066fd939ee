//! Errors of scenarios and runs as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    varicap._core,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be read or makes no sense."
);
create_exception!(
    varicap._core,
    MissingControlError,
    ScenarioError,
    "A congestion control that the simulator does not have; the kernel may have it."
);
create_exception!(
    varicap._core,
    RunError,
    PyRuntimeError,
    "A run failed: a fault of the engine, never of the scenario."
);

create_exception!(
    varicap._core,
    KernelCannotError,
    PyValueError,
    "A setting of a scenario that the kernel does not support."
);
create_exception!(
    varicap._core,
    KernelLacksError,
    PyRuntimeError,
    "Something that the kernel engine needs and this machine lacks or refuses."
);

/// Adds the exceptions to the module; their attributes are None unless an instance sets them.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let scenario_error = py.get_type::<ScenarioError>();
    for attribute in ["file", "line", "column", "key", "found", "expected", "hint"] {
        scenario_error.setattr(attribute, py.None())?;
    }
    module.add("ScenarioError", scenario_error)?;
    module.add("MissingControlError", py.get_type::<MissingControlError>())?;
    module.add("KernelCannotError", py.get_type::<KernelCannotError>())?;
    module.add("KernelLacksError", py.get_type::<KernelLacksError>())?;
    module.add("RunError", py.get_type::<RunError>())
}

/// The exception for an error in a scenario, with its details as attributes.
pub fn scenario_error(error: &varicap_experiment::ScenarioError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    Python::attach(|py| {
        let value = raised.value(py);
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let set = || -> PyResult<()> {
            value.setattr("file", text(&error.file))?;
            value.setattr("line", error.line)?;
            value.setattr("column", error.column)?;
            value.setattr("key", text(&error.key))?;
            value.setattr("found", error.found.as_deref())?;
            value.setattr("expected", text(&error.expected))?;
            value.setattr("hint", error.hint.as_deref())
        };
        match set() {
            Ok(()) => raised,
            Err(fault) => fault,
        }
    })
}
