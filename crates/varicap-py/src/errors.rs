//! Errors of scenarios and runs as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use varicap_experiment::Mistakes;

/// The attributes by which an exception describes the first mistake.
const ATTRIBUTES: [&str; 7] = ["file", "line", "column", "key", "found", "expected", "hint"];
/// Columns of the terminal for which mistakes are shown.
const COLUMNS: usize = 80;

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
    LimitError,
    ScenarioError,
    "A run that would take, or has taken, more memory or time than it may."
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
    for attribute in ATTRIBUTES.into_iter().chain(["shown"]) {
        scenario_error.setattr(attribute, py.None())?;
    }
    // Text that they quote of a file is not to steer the terminal that a traceback is printed on.
    let text = py.import("varicap._printable")?.getattr("text_of")?;
    let engine =
        [py.get_type::<RunError>(), py.get_type::<KernelCannotError>(), py.get_type::<KernelLacksError>()];
    for error in engine.iter().chain([&scenario_error]) {
        error.setattr("__str__", &text)?;
    }
    scenario_error.setattr("errors", PyTuple::empty(py))?;
    scenario_error.setattr("more", 0)?;
    scenario_error.setattr("at_least", false)?;
    module.add("ScenarioError", scenario_error)?;
    module.add("MissingControlError", py.get_type::<MissingControlError>())?;
    let limit_error = py.get_type::<LimitError>();
    limit_error.setattr("point", py.None())?;
    module.add("LimitError", limit_error)?;
    module.add("KernelCannotError", py.get_type::<KernelCannotError>())?;
    module.add("KernelLacksError", py.get_type::<KernelLacksError>())?;
    module.add("RunError", py.get_type::<RunError>())
}

/// The exception for the mistakes in a scenario: its attributes are those of the first, `errors` has all of them.
pub fn scenario_errors(mistakes: &Mistakes) -> PyErr {
    with_details(ScenarioError::new_err(mistakes.to_string()), mistakes)
}

/// The exception for a run that would exceed a limit, with its details as attributes.
pub fn limit_error(error: &varicap_experiment::ScenarioError) -> PyErr {
    with_details(LimitError::new_err(error.to_string()), &error.clone().into())
}

fn with_details(raised: PyErr, mistakes: &Mistakes) -> PyErr {
    Python::attach(|py| match describe(py, raised.value(py), mistakes) {
        Ok(()) => raised,
        Err(fault) => fault,
    })
}

fn describe(py: Python<'_>, value: &Bound<'_, PyAny>, mistakes: &Mistakes) -> PyResult<()> {
    let described: PyResult<Vec<_>> = mistakes.errors.iter().map(|error| details(py, error)).collect();
    let described = described?;
    if let Some(first) = described.first() {
        for attribute in ATTRIBUTES {
            value.setattr(attribute, first.get_item(attribute)?)?;
        }
    }
    value.setattr("errors", PyList::new(py, described)?)?;
    value.setattr("more", mistakes.more)?;
    value.setattr("at_least", mistakes.is_cut)?;
    value.setattr("shown", mistakes.show(COLUMNS))
}

/// The attributes of a mistake, and the line that it is in.
fn details<'py>(py: Python<'py>, error: &varicap_experiment::ScenarioError) -> PyResult<Bound<'py, PyDict>> {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let found = PyDict::new(py);
    found.set_item("file", text(&error.file))?;
    found.set_item("line", error.line)?;
    found.set_item("column", error.column)?;
    found.set_item("key", text(&error.key))?;
    found.set_item("found", error.found.as_deref())?;
    found.set_item("expected", text(&error.expected))?;
    found.set_item("hint", error.hint.as_deref())?;
    let excerpt = error.excerpt.as_deref();
    found.set_item("excerpt", excerpt.map(|excerpt| excerpt.text.as_str()))?;
    found.set_item("excerpt_start", excerpt.map(|excerpt| excerpt.start))?;
    found.set_item("excerpt_length", excerpt.map(|excerpt| excerpt.length))?;
    Ok(found)
}
