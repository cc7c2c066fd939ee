//! Capacity traces as arrays, read as a link reads them.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use varicap_net::capacity::read_rates as read;
use varicap_net::{NetError, OpportunityTrace, read_losses as read_loss};

fn refused(error: NetError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Instants of rates [s], the rates [b/s] and how long the trace is [s]; a single row has no length.
type Rates<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Option<f64>);

/// Reads a CSV text of rates; `file` is its name in errors.
#[pyfunction]
pub fn read_rates<'py>(py: Python<'py>, file: &str, text: &[u8]) -> PyResult<Rates<'py>> {
    let timeline = py.detach(|| read(file, text, true)).map_err(refused)?;
    let (at, rates): (Vec<f64>, Vec<f64>) =
        timeline.pieces().map(|(at, rate)| (at.as_secs_f64(), rate.as_bps() as f64)).unzip();
    let length = timeline.length().map(|length| length.as_secs_f64());
    Ok((at.into_pyarray(py), rates.into_pyarray(py), length))
}

/// Reads a CSV text of loss probabilities, as [`read_rates`] does one of rates: instants [s], probabilities, length [s].
#[pyfunction]
pub fn read_losses<'py>(py: Python<'py>, file: &str, text: &[u8]) -> PyResult<Rates<'py>> {
    let timeline = py.detach(|| read_loss(file, text, true)).map_err(refused)?;
    let (at, losses): (Vec<f64>, Vec<f64>) =
        timeline.pieces().map(|(at, loss)| (at.as_secs_f64(), loss.get())).unzip();
    let length = timeline.length().map(|length| length.as_secs_f64());
    Ok((at.into_pyarray(py), losses.into_pyarray(py), length))
}

/// Reads instants of delivery opportunities [ms]; `file` is the text's name in errors.
#[pyfunction]
pub fn read_opportunities<'py>(
    py: Python<'py>,
    file: &str,
    text: &[u8],
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let trace = py.detach(|| OpportunityTrace::parse(file, text)).map_err(refused)?;
    Ok(trace.into_millis().into_pyarray(py))
}
