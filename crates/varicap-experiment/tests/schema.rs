//! The published schema is the one that the types give.

use std::path::Path;

/// To publish it again: `VARICAP_PUBLISH=1 cargo test -p varicap-experiment --test all schema`.
#[test]
fn published_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/scenario.schema.json");
    let schema = format!("{:#}\n", varicap_experiment::schema_of_types());
    if std::env::var_os("VARICAP_PUBLISH").is_some() {
        std::fs::write(&path, &schema).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == schema, "schema/scenario.schema.json is not what the types give: run `make schema`");
}
