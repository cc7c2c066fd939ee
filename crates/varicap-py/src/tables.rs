//! Tables of the engine as columns for Python: name, unit, description, values. Numbers go over without a copy.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyList;
use varicap_experiment::columns::{Data, Table};

/// The columns of `table`.
pub fn columns<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (column, data) in table.columns {
        let values = match data {
            Data::Label(values) => PyList::new(py, values)?.into_any(),
            Data::Choice(places, names) => {
                (places.into_pyarray(py), names.to_vec()).into_pyobject(py)?.into_any()
            }
            Data::SmallCount(values) => values.into_pyarray(py).into_any(),
            Data::Count(values) => values.into_pyarray(py).into_any(),
            Data::Real(values) => values.into_pyarray(py).into_any(),
        };
        list.append((column.name, column.unit, column.description, values))?;
    }
    Ok(list)
}
