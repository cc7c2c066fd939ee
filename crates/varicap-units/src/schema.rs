//! The published schema of quantities and choices: transforms that types name in `#[schemars(transform = …)]`,
//! and the schemas of quantities.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::parse::{AMOUNT, BUCKET_DEPTH, BYTES, CADENCE, FREQUENCY, PROBABILITY, RATE, SPAN, STRETCH};
use crate::{Amount, BucketDepth, Bytes, Cadence, Frequency, Probability, Rate, Span, Stretch};

/// A transform by which a variant may also be given by its name alone.
pub fn names(schema: &mut Schema) {
    let Some(variants) = schema.get("oneOf").and_then(|v| v.as_array()) else { return };
    let names: Vec<_> = variants
        .iter()
        .filter_map(|variant| variant.get("properties")?.as_object()?.keys().next().cloned())
        .collect();
    let described = schema.clone();
    let description = schema.get("description").cloned();
    *schema = json_schema!({ "anyOf": [{ "type": "string", "enum": names }, described] });
    if let Some(description) = description {
        schema.insert("description".to_owned(), description);
    }
}

/// A transform: a value may also be written as a text alone.
pub fn text(schema: &mut Schema) {
    shorthand(schema, json_schema!({ "type": "string" }));
}

/// A transform: a value may also be written as a text or a number alone.
pub fn text_or_number(schema: &mut Schema) {
    shorthand(schema, json_schema!({ "type": ["string", "number"] }));
}

/// A transform after [`names`]: a value may also be written as true or false alone.
pub fn truth(schema: &mut Schema) {
    let Some(options) = schema.get_mut("anyOf").and_then(|options| options.as_array_mut()) else { return };
    options.insert(0, json_schema!({ "type": "boolean" }).into());
}

fn shorthand(schema: &mut Schema, short: Schema) {
    let described = schema.clone();
    let description = schema.get("description").cloned();
    *schema = json_schema!({ "anyOf": [short, described] });
    if let Some(description) = description {
        schema.insert("description".to_owned(), description);
    }
}

macro_rules! quantity {
    ($type:ty, $name:literal, $expected:expr, $example:literal) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $expected, "examples": [$example] })
            }
            fn inline_schema() -> bool {
                false
            }
        }
    };
}

quantity!(Span, "Span", SPAN, "50 ms");
quantity!(Rate, "Rate", RATE, "0.8 Mbit/s");
quantity!(Bytes, "Bytes", BYTES, "64 kB");
quantity!(Amount, "Amount", AMOUNT, "10 packets");
quantity!(Stretch, "Stretch", STRETCH, "7 samples");
quantity!(Cadence, "Cadence", CADENCE, "10 ms");
quantity!(BucketDepth, "BucketDepth", BUCKET_DEPTH, "50 ms");
quantity!(Frequency, "Frequency", FREQUENCY, "2 /s");

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": PROBABILITY,
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string", "examples": ["1 %"] }]
        })
    }
}
