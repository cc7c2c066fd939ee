//! A learned policy in Python that decides for a connection.

use std::fmt;

use numpy::PyArray1;
use pyo3::prelude::*;
use varicap_tcp::congestion::{Decide, MOST_ACTIONS};

use crate::control::{Raised, name_of, noted};
use crate::errors::ScenarioError;

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
    /// Calls `make` with the connection's name; errors name the `file` that the policy is of.
    pub fn new(
        py: Python<'_>,
        make: &Py<PyAny>,
        file: Option<&str>,
        connection: &str,
        raised: &Raised,
    ) -> PyResult<PythonDecider> {
        let named = file.map_or_else(|| format!("({})", name_of(make.bind(py))), |file| format!("`{file}`"));
        let whose = format!("the policy {named} of flow `{connection}`");
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
        let decided: PyResult<()> = Python::attach(|py| {
            let answer = self.object.bind(py).call1((PyArray1::from_slice(py, observation),));
            let answer = answer.map_err(|error| noted(py, error, &self.whose))?;
            read(&answer, action, &self.whose)
        });
        if let Err(error) = decided {
            self.raised.keep(error);
        }
    }
}

/// Reads the answer of the policy `whose`.
fn read(answer: &Bound<'_, PyAny>, action: &mut [f32], whose: &str) -> PyResult<()> {
    let numbers: Vec<f64> = match answer.extract::<f64>() {
        Ok(number) => vec![number],
        Err(_) => answer.extract()?,
    };
    if numbers.len() != action.len() || numbers.iter().any(|number| !number.is_finite()) {
        let expected = action.len();
        let some = &numbers[..numbers.len().min(MOST_ACTIONS + 1)];
        let text = format!("{whose} gave {some:?} as an action, expected {expected} from -1 to 1");
        return Err(ScenarioError::new_err(text));
    }
    for (place, number) in action.iter_mut().zip(numbers) {
        *place = number as f32;
    }
    Ok(())
}
