//! Logs of capacity, delay and loss as arrays, read as a link reads them.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use varicap_logs::{LogError, Quantity, Reading, is_opportunities};
use varicap_net::{NetError, OpportunityTrace};

fn refused(error: NetError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Instants [s], values [b/s, s or 1], how long the log is [s], which a single row is not, and what was understood (JSON).
type Log<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Option<f64>, String);

/// Reads a log of `wanted`: rate, delay or loss; `file` is its name in errors, `reading` how it is understood (JSON).
/// Nothing if it has no such thing and is `optional`.
#[pyfunction]
pub fn read_log<'py>(
    py: Python<'py>,
    file: &str,
    text: &[u8],
    wanted: &str,
    reading: &str,
    optional: bool,
) -> PyResult<Option<Log<'py>>> {
    let wanted = match wanted {
        "rate" => Quantity::Rate,
        "delay" => Quantity::Delay,
        "loss" => Quantity::Loss,
        other => return Err(PyValueError::new_err(format!("`{other}` is not rate, delay or loss"))),
    };
    let reading: Reading =
        serde_json::from_str(reading).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let series = match py.detach(|| varicap_logs::read(file, text, wanted, &reading)) {
        Err(LogError::Absent { .. }) if optional => return Ok(None),
        read => read.map_err(|error| PyValueError::new_err(error.to_string()))?,
    };
    let at: Vec<f64> = series.at.iter().map(|at| at.as_secs_f64()).collect();
    // A link has whole bits per second.
    let values = match wanted {
        Quantity::Rate => series.values.iter().map(|rate| (rate + 0.5).floor()).collect(),
        Quantity::Delay | Quantity::Loss => series.values,
    };
    let length = series.length.map(|length| length.as_secs_f64());
    let understood = serde_json::to_string(&series.understood)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Some((at.into_pyarray(py), values.into_pyarray(py), length, understood)))
}

/// Whether a log is a list of delivery opportunities, whole numbers on lines of their own.
#[pyfunction]
pub fn are_opportunities(file: &str, text: &[u8]) -> PyResult<bool> {
    is_opportunities(file, text).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Reads instants of delivery opportunities [ms], and what is to be said of them; `file` is the text's name in errors.
#[pyfunction]
pub fn read_opportunities<'py>(
    py: Python<'py>,
    file: &str,
    text: &[u8],
) -> PyResult<(Bound<'py, PyArray1<u64>>, Option<String>)> {
    let trace = py.detach(|| OpportunityTrace::parse(file, text)).map_err(refused)?;
    let said = trace.said();
    Ok((trace.into_millis().into_pyarray(py), said))
}
