//! Settings as JSON.

use serde::Serialize;

/// The settings that were read, as JSON: a key without a value counts as absent.
pub fn of(settings: &impl Serialize) -> serde_json::Value {
    let mut json = serde_json::to_value(settings).unwrap_or_default();
    remove_nulls(&mut json);
    json
}

fn remove_nulls(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(entries) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(remove_nulls);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
