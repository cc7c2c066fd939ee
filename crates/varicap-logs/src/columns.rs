//! Columns as the user describes them: `time=0:s,rate=2:Mbit/s`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::number::{data_unit, loss_unit, rate_unit, time_unit};

/// The quantity that a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// When a row begins.
    Time,
    /// How long a row lasts.
    Duration,
    /// A rate.
    Rate,
    /// Data of a row, from its time to that of the next one.
    Bytes,
    /// An instant of a packet of 1500 bytes.
    Packets,
    /// One-way delay.
    Delay,
    /// Round-trip time: a delay of half of it.
    Rtt,
    /// Share of packets that are lost.
    Loss,
}

impl Role {
    const ALL: [(Role, &'static str); 8] = [
        (Role::Time, "time"),
        (Role::Duration, "duration"),
        (Role::Rate, "rate"),
        (Role::Bytes, "bytes"),
        (Role::Packets, "packets"),
        (Role::Delay, "delay"),
        (Role::Rtt, "rtt"),
        (Role::Loss, "loss"),
    ];

    pub fn name(self) -> &'static str {
        Role::ALL.iter().find(|(role, _)| *role == self).map_or("", |(_, name)| *name)
    }

    /// The factor of a unit to nanoseconds, b/s, bits or shares.
    pub fn unit(self, text: &str) -> Option<f64> {
        match self {
            Role::Time | Role::Duration | Role::Packets | Role::Delay | Role::Rtt => time_unit(text),
            Role::Rate => rate_unit(text),
            Role::Bytes => data_unit(text),
            Role::Loss => loss_unit(text),
        }
    }
}

/// Which column: by its number, from 0, or its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Number(usize),
    Name(String),
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub role: Role,
    pub place: Place,
    pub unit: Option<String>,
}

/// Columns of a table: `time=0:s,rate=2:Mbit/s`. A column is named by its number, from 0, or its name; a unit may be
/// left out where the name has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    pub(crate) said: Vec<Said>,
    text: String,
}

impl Columns {
    pub(crate) fn of(&self, role: Role) -> Option<&Said> {
        self.said.iter().find(|said| said.role == role)
    }
}

/// An example of `columns`, for messages.
const EXPECTED: &str = "columns such as `time=0:s,rate=2:Mbit/s`: time, duration, rate, bytes, packets, delay, rtt or \
                        loss, each with the number of a column, from 0, or its name, and a unit";

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Columns, String> {
        let mut said: Vec<Said> = Vec::new();
        for part in parts(text) {
            let wrong = || format!("`{}` is not one of {EXPECTED}", part.trim());
            let (role, rest) = part.split_once('=').ok_or_else(wrong)?;
            let (role, _) = *Role::ALL.iter().find(|(_, name)| *name == role.trim()).ok_or_else(wrong)?;
            // A name may have a colon of its own: what follows the last one is a unit if it is one.
            let (place, unit) = match rest.rsplit_once(':') {
                Some((place, unit)) if role.unit(unit).is_some() => (place, Some(unit.trim().to_owned())),
                Some((place, unit)) if place.trim().parse::<usize>().is_ok() => {
                    return Err(format!(
                        "`{}` is not a unit of a {}, such as {}",
                        unit.trim(),
                        role.name(),
                        example(role)
                    ));
                }
                _ => (rest, None),
            };
            let place = place.trim();
            if place.is_empty() {
                return Err(wrong());
            }
            if said.iter().any(|before| before.role == role) {
                return Err(format!("`{}` is given twice", role.name()));
            }
            let place = place.parse().map(Place::Number).unwrap_or_else(|_| Place::Name(place.to_owned()));
            said.push(Said { role, place, unit });
        }
        if said.is_empty() {
            return Err(format!("`{text}` is not one of {EXPECTED}"));
        }
        Ok(Columns { said, text: text.to_owned() })
    }
}

/// A unit of a role, as an example.
fn example(role: Role) -> &'static str {
    match role {
        Role::Rate => "`Mbit/s`, `kb/s`, `B/s`",
        Role::Bytes => "`B`, `kB`, `kbit`",
        Role::Loss => "`%`, `1`",
        _ => "`s`, `ms`, `us`",
    }
}

/// The parts of a text between commas that are followed by a role: names may have commas.
fn parts(text: &str) -> Vec<&str> {
    let begins = |at: usize| {
        let rest = text[at..].trim_start();
        Role::ALL
            .iter()
            .any(|(_, name)| rest.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('=')))
    };
    let mut found = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(',') {
        if begins(at + 1) {
            found.push(&text[from..at]);
            from = at + 1;
        }
    }
    found.push(&text[from..]);
    found
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Columns, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::invalid_value(de::Unexpected::Str(&text), &EXPECTED))
    }
}

impl Serialize for Columns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Columns {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Columns".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": EXPECTED,
            "examples": ["time=0:s,rate=2:Mbit/s"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_numbers_or_names_with_units() {
        let columns: Columns = "time=0:s, rate=DL, Mb/s:kbit/s,rtt=ping".parse().unwrap();
        assert_eq!(
            columns.said,
            [
                Said { role: Role::Time, place: Place::Number(0), unit: Some("s".into()) },
                Said { role: Role::Rate, place: Place::Name("DL, Mb/s".into()), unit: Some("kbit/s".into()) },
                Said { role: Role::Rtt, place: Place::Name("ping".into()), unit: None },
            ]
        );
    }

    #[test]
    fn what_is_no_column_is_refused_with_what_is() {
        for (text, part) in [
            ("time", "`time` is not one of"),
            ("speed=2:s", "`speed=2:s` is not one of"),
            ("time=", "is not one of"),
            ("rate=2:fast", "`fast` is not a unit of a rate, such as `Mbit/s`"),
            ("time=0:s,time=1:s", "`time` is given twice"),
            ("", "is not one of"),
        ] {
            let error = text.parse::<Columns>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
