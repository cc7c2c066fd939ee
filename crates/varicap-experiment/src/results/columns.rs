//! Result columns: each is defined once, with its unit and its meaning, and read by JSON, Parquet and the docs.

use serde_json::{Value as Json, json};

use crate::results::interval::{Chances, Range};

/// The kind of values that a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Label,
    /// One of a few names.
    Choice,
    /// A whole number.
    Count,
    /// A number; NaN where there is nothing to measure.
    Real,
}

impl Kind {
    /// The name of this kind in metadata.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Label => "label",
            Kind::Choice => "choice",
            Kind::Count => "count",
            Kind::Real => "real",
        }
    }
}

/// A column of a result table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name in tables.
    pub name: &'static str,
    /// The value's path in the JSON object, with dots between keys. Beside a path that ends in `.mean` is the interval.
    pub path: &'static str,
    /// The column's unit; `1` for plain numbers, empty for text.
    pub unit: &'static str,
    /// The kind of values that the column holds.
    pub kind: Kind,
    /// Which values a run can have: this decides the interval of their mean.
    pub range: Range,
    /// The names that a choice can have; else empty.
    pub names: &'static [&'static str],
    /// The meaning of the column, in one sentence.
    pub description: &'static str,
}

impl Column {
    /// A column whose path in JSON is its name.
    pub const fn plain(
        name: &'static str,
        unit: &'static str,
        kind: Kind,
        description: &'static str,
    ) -> Column {
        Column { name, path: name, unit, kind, range: Range::Any, names: &[], description }
    }

    /// A column that holds one of `names`.
    pub const fn choice(
        name: &'static str,
        names: &'static [&'static str],
        description: &'static str,
    ) -> Column {
        Column { name, path: name, unit: "", kind: Kind::Choice, range: Range::Any, names, description }
    }

    /// The column's definition as JSON.
    pub fn to_json(&self) -> Json {
        let mut definition = json!({
            "name": self.name,
            "path": self.path,
            "unit": self.unit,
            "kind": self.kind.name(),
            "description": self.description,
        });
        if matches!(self.kind, Kind::Count | Kind::Real) {
            definition["range"] = json!(self.range.name());
        }
        if let Range::Share(chances) = self.range {
            definition["chances"] = match chances {
                Chances::Each(each) => json!(each),
                Chances::Counted(column) => json!(column),
            };
        }
        if self.kind == Kind::Choice {
            definition["names"] = json!(self.names);
        }
        definition
    }
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Text.
    Label(&'a str),
    /// An index into the column's list of names.
    Choice(u8),
    /// A whole number.
    Count(u64),
    /// A number; NaN where there is nothing to measure.
    Real(f64),
}

impl Value<'_> {
    /// The value as a number; NaN for text and names.
    pub fn as_real(self) -> f64 {
        match self {
            Value::Label(_) | Value::Choice(_) => f64::NAN,
            Value::Count(count) => count as f64,
            Value::Real(real) => real,
        }
    }
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Values of type text.
    Label(Vec<String>),
    /// Indices into a list of names.
    Choice(Vec<u8>, &'static [&'static str]),
    /// Values that are whole numbers.
    Count(Vec<u64>),
    /// Values that are whole numbers, for columns with very many rows.
    SmallCount(Vec<u32>),
    /// Values that are numbers; NaN where there is nothing to measure.
    Real(Vec<f64>),
}

impl Data {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Data::Label(values) => values.len(),
            Data::Choice(values, _) => values.len(),
            Data::Count(values) => values.len(),
            Data::SmallCount(values) => values.len(),
            Data::Real(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table of columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns in order, each with its values.
    pub columns: Vec<(Column, Data)>,
}

impl Table {
    /// A table of `columns` without rows.
    pub fn empty(columns: impl IntoIterator<Item = Column>) -> Table {
        let empty = |column: &Column| match column.kind {
            Kind::Label => Data::Label(Vec::new()),
            Kind::Choice => Data::Choice(Vec::new(), column.names),
            Kind::Count => Data::Count(Vec::new()),
            Kind::Real => Data::Real(Vec::new()),
        };
        let columns = columns.into_iter().map(|column| {
            let data = empty(&column);
            (column, data)
        });
        Table { columns: columns.collect() }
    }

    /// Adds a row: a value for each column.
    pub fn push<'a>(&mut self, row: impl IntoIterator<Item = Value<'a>>) {
        for ((_, data), value) in self.columns.iter_mut().zip(row) {
            match (data, value) {
                (Data::Label(values), Value::Label(text)) => values.push(text.to_owned()),
                (Data::Choice(values, _), Value::Choice(place)) => values.push(place),
                (Data::Count(values), Value::Count(count)) => values.push(count),
                (Data::Real(values), Value::Real(real)) => values.push(real),
                (data, value) => {
                    unreachable!("the macro makes both from one definition: {data:?}, {value:?}")
                }
            }
        }
    }

    /// The number of rows of the table.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, data)| data.len())
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of the column called `name`.
    pub fn get(&self, name: &str) -> Option<&Data> {
        self.columns.iter().find(|(column, _)| column.name == name).map(|(_, data)| data)
    }
}

/// A row of a result table: a struct whose fields are its columns.
pub trait Row {
    /// The columns of the row, in the order of [`Row::values`].
    const COLUMNS: &'static [Column];
    /// The values of the row, one for each column.
    fn values(&self) -> Vec<Value<'_>>;
}

/// The table whose rows are `rows`.
pub fn table_of<'a, R: Row + 'a>(rows: impl IntoIterator<Item = &'a R>) -> Table {
    let mut table = Table::empty(R::COLUMNS.iter().copied());
    rows.into_iter().for_each(|row| table.push(row.values()));
    table
}

/// The definitions of `columns` as JSON.
pub fn columns_to_json(columns: &[Column]) -> Json {
    columns.iter().map(Column::to_json).collect()
}

/// Defines a row: `kind field ("json.path", "unit") "meaning";` for each column, and for a choice
/// `choice field of NAMES ("json.path", "") "meaning";`. A `share`, an `amount` and a `quantile` are numbers with that
/// [`Range`], a `real` is any number.
macro_rules! row {
    ($(#[$doc:meta])* $row:ident {
        $($kind:ident $field:ident $(of $names:ident)? ($path:literal, $unit:literal) $text:literal;)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $row {
            $(#[doc = concat!($text, " \\[", $unit, "\\]")] pub $field: $crate::results::columns::row!(@type $kind),)+
        }

        impl $crate::results::columns::Row for $row {
            const COLUMNS: &'static [$crate::results::columns::Column] = &[$($crate::results::columns::Column {
                name: stringify!($field),
                path: $path,
                unit: $unit,
                kind: $crate::results::columns::row!(@kind $kind),
                range: $crate::results::columns::row!(@range $kind),
                names: $crate::results::columns::row!(@names $($names)?),
                description: $text,
            }),+];

            fn values(&self) -> Vec<$crate::results::columns::Value<'_>> {
                vec![$($crate::results::columns::row!(@value $kind, self.$field)),+]
            }
        }
    };
    (@type label) => { String };
    (@type choice) => { u8 };
    (@type count) => { u64 };
    (@type $number:ident) => { f64 };
    (@kind label) => { $crate::results::columns::Kind::Label };
    (@kind choice) => { $crate::results::columns::Kind::Choice };
    (@kind count) => { $crate::results::columns::Kind::Count };
    (@kind $number:ident) => { $crate::results::columns::Kind::Real };
    (@range count) => { $crate::results::interval::Range::Count };
    (@range share) => { $crate::results::interval::Range::Share($crate::results::interval::Chances::MANY) };
    (@range share_of_runs) => {
        $crate::results::interval::Range::Share($crate::results::interval::Chances::Each(1))
    };
    (@range share_of_transfers) => {
        $crate::results::interval::Range::Share($crate::results::interval::Chances::Counted("offered_transfers"))
    };
    (@range amount) => { $crate::results::interval::Range::Amount };
    (@range quantile) => { $crate::results::interval::Range::Quantile };
    (@range $other:ident) => { $crate::results::interval::Range::Any };
    (@names) => { &[] };
    (@names $names:ident) => { &$names };
    (@value label, $value:expr) => { $crate::results::columns::Value::Label(&$value) };
    (@value choice, $value:expr) => { $crate::results::columns::Value::Choice($value) };
    (@value count, $value:expr) => { $crate::results::columns::Value::Count($value) };
    (@value $number:ident, $value:expr) => { $crate::results::columns::Value::Real($value) };
}
pub(crate) use row;

#[cfg(test)]
mod tests {
    use super::*;

    const MOODS: [&str; 2] = ["calm", "busy"];

    row! {
        /// A row of the tests.
        Tested {
            label name ("name", "") "Its name.";
            choice mood of MOODS ("mood", "") "Its mood.";
            count drops ("drops", "1") "Its drops.";
            amount delay_ms ("delay_ms.mean", "ms") "Its delay.";
        }
    }

    #[test]
    fn a_table_holds_each_field_under_its_name() {
        let rows = [
            Tested { name: "a".into(), mood: 0, drops: 1, delay_ms: 0.5 },
            Tested { name: "b".into(), mood: 1, drops: 2, delay_ms: 1.5 },
        ];
        let table = table_of(&rows);
        assert_eq!(table.len(), 2);
        assert_eq!(table.get("name"), Some(&Data::Label(vec!["a".into(), "b".into()])));
        assert_eq!(table.get("mood"), Some(&Data::Choice(vec![0, 1], &MOODS)));
        assert_eq!(table.get("drops"), Some(&Data::Count(vec![1, 2])));
        assert_eq!(table.get("delay_ms"), Some(&Data::Real(vec![0.5, 1.5])));
    }

    #[test]
    fn definitions_carry_unit_and_meaning() {
        let column = columns_to_json(Tested::COLUMNS)[3].clone();
        let expected = [
            ("name", "delay_ms"),
            ("path", "delay_ms.mean"),
            ("unit", "ms"),
            ("kind", "real"),
            ("range", "amount"),
            ("description", "Its delay."),
        ];
        for (key, value) in expected {
            assert_eq!(column[key], value, "{key}");
        }
        assert_eq!(columns_to_json(Tested::COLUMNS)[1]["names"], json!(MOODS));
    }
}
