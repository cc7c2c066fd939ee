//! Quantities with their unit, as files write them, for Python.

use std::fmt::Display;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use varicap_units::{Bytes, Frequency, Probability, Rate, Span};

/// `text` as a number of seconds, b/s, bytes, 1/s, or a share; an unlimited rate or size is infinite.
#[pyfunction]
pub fn quantity(kind: &str, text: &str) -> PyResult<f64> {
    match kind {
        "time" => text.parse().map(|span: Span| span.as_secs_f64()).map_err(refused),
        "rate" => text.parse().map(|rate: Rate| finite(rate.as_bps(), rate.is_unlimited())).map_err(refused),
        "size" => text.parse().map(|size: Bytes| finite(size.as_u64(), size == Bytes::MAX)).map_err(refused),
        "frequency" => text.parse().map(|frequency: Frequency| frequency.as_hz()).map_err(refused),
        "probability" => text.parse().map(|share: Probability| share.get()).map_err(refused),
        other => Err(PyValueError::new_err(format!("no kind of quantity is called `{other}`"))),
    }
}

fn finite(number: u64, is_unlimited: bool) -> f64 {
    if is_unlimited { f64::INFINITY } else { number as f64 }
}

fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
