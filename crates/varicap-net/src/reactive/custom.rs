//! A controller that comes from outside.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, OnKernel, Part, require};

use super::control::{LoadReactiveControl, QueueSample, ReactivePart, Setting};

/// The name of a controller that comes from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CustomControl(pub String);

/// In a schema it is a text like any other.
#[cfg(feature = "schema")]
impl varicap_units::JsonSchema for CustomControl {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

impl Part for CustomControl {
    fn check(&self) -> Checked {
        require("", !self.0.is_empty(), "an empty name", "the name of a policy")
    }

    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("only the simulator calls policies in Python")
    }

    fn draws(&self) -> bool {
        true
    }
}

impl ReactivePart for CustomControl {
    type Control = Custom;

    fn control(&self) -> Custom {
        Custom(None)
    }

    fn policy(&self) -> Option<&str> {
        Some(&self.0)
    }
}

/// A controller from outside; the capacity stays as it is until there is one.
#[derive(Debug)]
pub struct Custom(pub Option<Box<dyn LoadReactiveControl>>);

impl LoadReactiveControl for Custom {
    fn on_sample(&mut self, sample: &QueueSample) -> Setting {
        match &mut self.0 {
            Some(control) => control.on_sample(sample),
            None => Setting::of(sample.capacity),
        }
    }
}
