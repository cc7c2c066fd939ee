//! A learned policy in Python that decides for a connection.

use std::fmt;

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use varicap_tcp::congestion::Decide;

use crate::control::{Raised, name_of, noted};

/// A Python callable from an observation, an array of float32, to an action: a number, or as many as the policy moves.
pub struct PythonDecider {
    object: Py<PyAny>,
    /// The name of its class, and its connection, for errors.
    whose: String,
    raised: Raised,
}

impl fmt::Debug for PythonDecider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PythonDecider")
    }
}

impl PythonDecider {
    /// Calls `make` with the connection's name.
    pub fn new(
        py: Python<'_>,
        make: &Py<PyAny>,
        connection: &str,
        raised: &Raised,
    ) -> PyResult<PythonDecider> {
        let whose = format!("the policy ({}) of flow `{connection}`", name_of(make.bind(py)));
        let made = make.call1(py, (connection,));
        let object = made.map_err(|error| noted(py, error, &format!("making {whose}")))?;
        Ok(PythonDecider { object, whose, raised: raised.clone() })
    }
}

impl Decide for PythonDecider {
    fn decide(&mut self, observation: &[f32], action: &mut [f32]) {
        if self.raised.is_some() {
            return;
        }
        let decided = Python::attach(|py| {
            let answer = self.object.bind(py).call1((PyArray1::from_slice(py, observation),));
            answer.and_then(|answer| read(&answer, action)).map_err(|error| noted(py, error, &self.whose))
        });
        if let Err(error) = decided {
            self.raised.keep(error);
        }
    }
}

/// Reads the answer of a policy.
fn read(answer: &Bound<'_, PyAny>, action: &mut [f32]) -> PyResult<()> {
    let numbers: Vec<f64> = match answer.extract::<f64>() {
        Ok(number) => vec![number],
        Err(_) => answer.extract()?,
    };
    if numbers.len() != action.len() || numbers.iter().any(|number| !number.is_finite()) {
        let expected = action.len();
        let text = format!("a policy gave {numbers:?} as an action, expected {expected} from -1 to 1");
        return Err(PyValueError::new_err(text));
    }
    for (place, number) in action.iter_mut().zip(numbers) {
        *place = number as f32;
    }
    Ok(())
}
