//! The Python module `varicap._core`: conversions between Python and the engine, nothing else.
//!
//! No run holds the interpreter's lock. Wall-clock time appears only where progress is reported.

use pyo3::prelude::*;

/// varicap's engine. See `_core.pyi` for the types.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
