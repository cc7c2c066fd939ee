//! Columns of tables as arrays behind a text: each begins at a multiple of eight bytes, little end first.

use serde_json::{Value as Json, json};
use varicap_experiment::columns::{Column, Data, Table};

/// The arrays of an answer.
#[derive(Debug, Default)]
pub struct Arrays {
    /// The arrays, one after another.
    pub bytes: Vec<u8>,
}

impl Arrays {
    /// Adds the columns of a table whose name `wanted` accepts, and says where they are.
    pub fn table(&mut self, table: Table, wanted: impl Fn(&str) -> bool) -> Vec<Json> {
        let columns = table.columns.into_iter().filter(|(column, _)| wanted(column.name));
        columns.map(|(column, data)| self.column(&column, data)).collect()
    }

    fn column(&mut self, column: &Column, data: Data) -> Json {
        let mut json = match data {
            Data::Label(names) => json!({ "labels": names }),
            Data::Choice(values, names) => {
                let mut array = self.array("u8", values.iter().map(|value| value.to_le_bytes()));
                array["names"] = json!(names);
                array
            }
            Data::SmallCount(values) => self.array("u32", values.iter().map(|value| value.to_le_bytes())),
            Data::Count(values) => self.array("u64", values.iter().map(|value| value.to_le_bytes())),
            Data::Real(values) => self.reals(values.into_iter()),
        };
        json["name"] = json!(column.name);
        json["unit"] = json!(column.unit);
        json
    }

    /// Adds an array of numbers, and says where it is.
    pub fn reals(&mut self, values: impl Iterator<Item = f64>) -> Json {
        self.array("f64", values.map(f64::to_le_bytes))
    }

    fn array<const N: usize>(&mut self, kind: &str, values: impl Iterator<Item = [u8; N]>) -> Json {
        let begin = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(begin, 0);
        values.for_each(|value| self.bytes.extend(value));
        json!({ "type": kind, "at": begin, "length": (self.bytes.len() - begin) / N })
    }
}
