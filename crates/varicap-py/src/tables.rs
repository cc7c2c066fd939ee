//! Tables of the engine as columns for Python: name, unit, description, values. Numbers are passed without copying.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyList;
use varicap_experiment::columns::{Data, Table};

/// The columns of `table`.
pub fn columns<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (column, values) in table.columns {
        list.append((column.name, column.unit, column.description, data(py, values)?))?;
    }
    Ok(list)
}

/// The values of a column; choices are indices into a list of names.
pub fn data<'py>(py: Python<'py>, data: Data) -> PyResult<Bound<'py, PyAny>> {
    Ok(match data {
        Data::Label(values) => PyList::new(py, values)?.into_any(),
        Data::Choice(places, names) => {
            (places.into_pyarray(py), names.to_vec()).into_pyobject(py)?.into_any()
        }
        Data::SmallCount(values) => values.into_pyarray(py).into_any(),
        Data::Count(values) => values.into_pyarray(py).into_any(),
        Data::Real(values) => values.into_pyarray(py).into_any(),
    })
}
