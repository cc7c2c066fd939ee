//! The meaning of a table's columns: as the user says, as their names say, or that of a known form.

use crate::columns::{Place, Role, Said};
use crate::instant::{Clock, date, epoch_unit};
use crate::layout::{Layout, Split};
use crate::names::{Meaning, meaning};
use crate::understood::Form;
use crate::{LogError, Quantity, Reading};

/// Longest time from row to row at which numbers without a unit can only be seconds [s].
const LONG_STEP_S: f64 = 60.0;

/// Where the time of a row comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Times {
    /// A column.
    Column { index: usize, clock: Clock },
    /// Rows follow each other after this time [ns].
    Every(i64),
    /// Rows last as long as a column says, one after the other, in this unit [ns].
    Durations { index: usize, unit: f64 },
    /// Norway's HSDPA logs: milliseconds since the recording began, at the end of a row.
    Ends { origin: i64 },
}

/// A plan says how the fields of a row are used.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub times: Times,
    pub value: usize,
    pub role: Role,
    /// Factor of the values to nanoseconds, b/s, bits or shares.
    pub unit: f64,
    /// Whether steps back begin another recording, as the form has it.
    pub has_runs: bool,
    pub form: Form,
}

/// Finds out what the columns are.
pub(crate) struct Planner<'a> {
    pub file: &'a str,
    pub wanted: Quantity,
    pub reading: &'a Reading,
    pub layout: &'a Layout,
}

impl Planner<'_> {
    /// How rows become instants and values.
    pub fn plan(&self) -> Result<Plan, LogError> {
        if self.layout.sample.is_empty() {
            let header = match self.wanted {
                Quantity::Rate => "time_s,rate_mbps",
                Quantity::Delay => "time_s,delay_ms",
                Quantity::Loss => "time_s,loss",
            };
            let reason = format!("has no rows, expected a header such as `{header}` and at least one row");
            return Err(LogError::file(self.file, reason));
        }
        if self.reading.columns.is_none() {
            if let Some(plan) = self.known()? {
                return Ok(plan);
            }
            if self.layout.names.is_empty() {
                return self.nameless();
            }
        }
        let (value, role, unit, beside) = self.value()?;
        let times = self.times(value)?;
        let unit_text = said_unit(role, unit);
        let taken = format!("{}{}{beside}", self.layout.column(value), unit_text);
        let form = Form { name: "table".into(), taken, caveat: None, row: "row" };
        Ok(Plan { times, value, role, unit, has_runs: false, form })
    }

    /// Roles that give what is wanted.
    fn roles(&self) -> &'static [Role] {
        match self.wanted {
            Quantity::Rate => &[Role::Rate, Role::Bytes, Role::Packets],
            Quantity::Delay => &[Role::Delay, Role::Rtt],
            Quantity::Loss => &[Role::Loss],
        }
    }

    fn refused(&self, reason: impl std::fmt::Display) -> LogError {
        LogError::absent(self.file, format!("{reason}; its columns are {}", self.layout.columns()))
    }

    /// The column of the values, its role and unit, and what is to be said beside.
    fn value(&self) -> Result<(usize, Role, f64, String), LogError> {
        let said = self.reading.columns.as_ref();
        let said = said.and_then(|said| self.roles().iter().find_map(|role| said.of(*role)));
        if let Some(said) = said {
            let index = self.index(said)?;
            let unit = self.unit(said, index)?;
            return Ok((index, said.role, unit, String::new()));
        }
        let named: Vec<(usize, Meaning)> = (0..self.layout.width())
            .filter_map(|column| Some((column, meaning(self.layout.name(column)?)?)))
            .map(|(column, meaning)| (column, self.with_units_row(column, meaning)))
            .collect();
        let of = |role: Role| {
            named.iter().filter(move |(_, meaning)| meaning.role == role).copied().collect::<Vec<_>>()
        };
        for role in self.roles() {
            let all = of(*role);
            let with_unit: Vec<_> =
                all.iter().copied().filter(|(_, meaning)| meaning.unit.is_some()).collect();
            let candidates = if with_unit.is_empty() { all } else { with_unit };
            let Some((column, meaning)) = candidates.first().copied() else { continue };
            let beside = match candidates.len() {
                1 => String::new(),
                _ if self.agree(&candidates) => {
                    format!(", with which {} agrees", self.layout.column(candidates[1].0))
                }
                _ => return Err(self.several(*role, &candidates)),
            };
            let Some(unit) = meaning.unit else {
                let options = if *role == Role::Rate { "Mbit/s" } else { "ms" };
                let role = role.name();
                return Err(self.refused(format!(
                    "the unit of {} is not known: say it, as `--columns {role}={column}:{options}` does",
                    self.layout.column(column)
                )));
            };
            return Ok((column, *role, unit, beside));
        }
        let example = match self.wanted {
            Quantity::Rate => "rate=1:Mbit/s",
            Quantity::Delay => "delay=1:ms",
            Quantity::Loss => "loss=1:%",
        };
        Err(self.refused(format!(
            "no column is known for a {}: `--columns time=0:s,{example}` says which",
            self.wanted.noun()
        )))
    }

    /// The unit that a row of units below the header gives a name that has none.
    fn with_units_row(&self, column: usize, meaning: Meaning) -> Meaning {
        let unit = self
            .layout
            .sample
            .first()
            .and_then(|row| row.get(column))
            .and_then(|field| meaning.role.unit(field));
        Meaning { unit: meaning.unit.or(unit), ..meaning }
    }

    /// Whether columns have the same values, each in its unit.
    fn agree(&self, candidates: &[(usize, Meaning)]) -> bool {
        let of = |row: &Vec<String>, (column, meaning): &(usize, Meaning)| {
            Some(self.layout.decimals.number(row.get(*column)?)? * meaning.unit?)
        };
        let rows = self.layout.sample.iter().filter(|row| of(row, &candidates[0]).is_some());
        rows.clone().count() > 0
            && rows.into_iter().all(|row| {
                let first = of(row, &candidates[0]).unwrap_or_default();
                candidates.iter().all(|each| {
                    of(row, each).is_some_and(|value| (value - first).abs() <= 1e-3 * first.abs())
                })
            })
    }

    fn several(&self, role: Role, candidates: &[(usize, Meaning)]) -> LogError {
        let names: Vec<String> =
            candidates.iter().take(4).map(|(column, _)| self.layout.column(*column)).collect();
        let unit = if candidates[0].1.unit.is_some() {
            ""
        } else if role == Role::Rate {
            ":Mbit/s"
        } else {
            ":ms"
        };
        let options: Vec<String> = candidates
            .iter()
            .take(2)
            .map(|(column, _)| format!("`--columns {}={column}{unit}`", role.name()))
            .collect();
        LogError::absent(
            self.file,
            format!(
                "has several columns for a {}, {}: say which, as {}",
                self.wanted.noun(),
                names.join(", "),
                options.join(" or ")
            ),
        )
    }

    /// The column that the user means.
    fn index(&self, said: &Said) -> Result<usize, LogError> {
        let found = match &said.place {
            Place::Number(index) => Some(*index).filter(|index| *index < self.layout.width()),
            Place::Name(name) => {
                let exact = self.layout.names.iter().position(|each| each == name);
                exact.or_else(|| self.layout.names.iter().position(|each| each.eq_ignore_ascii_case(name)))
            }
        };
        let place = match &said.place {
            Place::Number(index) => index.to_string(),
            Place::Name(name) => format!("`{name}`"),
        };
        found.ok_or_else(|| self.refused(format!("there is no column {place}, which `columns` names")))
    }

    /// The unit that the user says, or the name of the column.
    fn unit(&self, said: &Said, index: usize) -> Result<f64, LogError> {
        let given = said.unit.as_ref().and_then(|unit| said.role.unit(unit));
        let named = || {
            let meaning = meaning(self.layout.name(index)?)?;
            self.with_units_row(index, meaning).unit.filter(|_| meaning.role == said.role)
        };
        given.or_else(named).ok_or_else(|| {
            let (role, unit) = (
                said.role.name(),
                match said.role {
                    Role::Rate => "Mbit/s",
                    Role::Bytes => "B",
                    Role::Loss => "%",
                    _ => "ms",
                },
            );
            self.refused(format!(
                "{} has no unit: `{role}={index}:{unit}` in `columns` gives it one",
                self.layout.column(index)
            ))
        })
    }

    /// Where times come from.
    fn times(&self, value: usize) -> Result<Times, LogError> {
        let said = |role: Role| self.reading.columns.as_ref().and_then(|said| said.of(role));
        if let Some(said) = said(Role::Packets).filter(|_| self.wanted == Quantity::Rate) {
            let index = self.index(said)?;
            return Ok(Times::Column { index, clock: Clock::Number(self.unit(said, index)?) });
        }
        if let Some(said) = said(Role::Time) {
            let index = self.index(said)?;
            let given = said.unit.as_ref().and_then(|unit| Role::Time.unit(unit));
            let clock = match given {
                Some(unit) => Clock::Number(unit),
                None => self.clock(index, None)?,
            };
            return Ok(Times::Column { index, clock });
        }
        if let Some(every) = self.reading.every {
            return Ok(Times::Every(i64::try_from(every.as_nanos()).unwrap_or(i64::MAX)));
        }
        if let Some(said) = said(Role::Duration) {
            let index = self.index(said)?;
            return Ok(Times::Durations { index, unit: self.unit(said, index)? });
        }
        let named: Vec<(usize, Meaning)> = (0..self.layout.width())
            .filter(|column| *column != value)
            .filter_map(|column| Some((column, meaning(self.layout.name(column)?)?)))
            .collect();
        let times = named.iter().filter(|(_, meaning)| meaning.role == Role::Time);
        // Of several, one that rises with each row; a unit in the name is certain.
        let best = times.max_by_key(|(column, meaning)| {
            (self.rises(*column), meaning.unit.is_some(), std::cmp::Reverse(*column))
        });
        if let Some((column, meaning)) = best {
            return Ok(Times::Column { index: *column, clock: self.clock(*column, meaning.unit)? });
        }
        let durations = named.iter().find_map(|(column, meaning)| {
            Some((*column, meaning.unit.filter(|_| meaning.role == Role::Duration)?))
        });
        if let Some((index, unit)) = durations {
            return Ok(Times::Durations { index, unit });
        }
        Err(self.refused(
            "no column is known for a time: `--columns time=0:s` says which, `--every '1 s'` that rows follow each other \
             after that time",
        ))
    }

    /// How often the values of a column rise, stay or fall in the sample: 2 if all rise, 1 if none falls.
    fn rises(&self, column: usize) -> u8 {
        let Ok(clock) = self.clock(column, Some(1e9)) else { return 0 };
        let values: Vec<i64> = self
            .layout
            .values(column)
            .filter_map(|field| clock.read(field, self.layout.decimals.comma))
            .collect();
        let falls = values.windows(2).any(|pair| pair[1] < pair[0]);
        let rises = values.first() < values.last() || values.len() == 1;
        match (values.is_empty() || falls, rises) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) if values.windows(2).all(|pair| pair[1] > pair[0]) => 3,
            (false, true) => 2,
        }
    }

    /// How the times of a column are written; `unit` is what its name says [ns].
    fn clock(&self, column: usize, unit: Option<f64>) -> Result<Clock, LogError> {
        let number = |field: &str| self.layout.decimals.number(field);
        let fields: Vec<&str> = self.layout.values(column).collect();
        let first = fields.iter().find(|field| number(field).is_some() || date(field).is_some());
        let Some(first) = first else {
            let found = fields.first().copied().unwrap_or("");
            return Err(LogError::line(
                self.file,
                self.layout.header + 1,
                found,
                format!(
                    "a time in {}: a number, or a date such as 2020-02-14 09:38:22",
                    self.layout.column(column)
                ),
            ));
        };
        let Some(value) = number(first).filter(|_| !(first.len() == 14 && date(first).is_some())) else {
            return Ok(Clock::Date);
        };
        if let Some(unit) = unit.or_else(|| epoch_unit(value)) {
            return Ok(Clock::Number(unit));
        }
        let values: Vec<f64> = fields.iter().filter_map(|field| number(field)).collect();
        let mut steps: Vec<f64> =
            values.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0).collect();
        steps.sort_by(f64::total_cmp);
        if steps.get(steps.len() / 2).is_some_and(|step| *step > LONG_STEP_S) {
            return Err(self.refused(format!(
                "{} may be seconds or milliseconds: say which, as `--columns time={column}:ms` or `--columns time={column}:s`",
                self.layout.column(column)
            )));
        }
        Ok(Clock::Number(1e9))
    }

    /// Logs whose header is known by name.
    fn known(&self) -> Result<Option<Plan>, LogError> {
        let place = |name: &str| self.layout.names.iter().position(|each| each.eq_ignore_ascii_case(name));
        if let (Some(down), Some(up), Some(_)) =
            (place("DL_bitrate"), place("UL_bitrate"), place("Timestamp"))
        {
            let (value, role, unit) = match self.wanted {
                Quantity::Rate => (down, Role::Rate, 1e3),
                Quantity::Delay => (place("PINGAVG").unwrap_or(down), Role::Rtt, 1e6),
                Quantity::Loss => (place("PINGLOSS").unwrap_or(down), Role::Loss, 0.01),
            };
            let beside = match self.wanted {
                Quantity::Rate => format!(" (kb/s; {} is not read)", self.layout.column(up)),
                _ => String::new(),
            };
            let taken = format!("{}{beside}", self.layout.column(value));
            return self.of_form("Irish 4G/5G", value, role, unit, taken).map(Some);
        }
        if self.wanted != Quantity::Rate {
            return Ok(None);
        }
        if let (Some(run), Some(second), Some(rate)) =
            (place("run_num"), place("seq_num"), place("Throughput"))
        {
            let taken = format!(
                "{} (Mb/s), a recording for each {}",
                self.layout.column(rate),
                self.layout.column(run)
            );
            let form = Form { name: "Lumos5G".into(), taken, caveat: None, row: "row" };
            let times = Times::Column { index: second, clock: Clock::Number(1e9) };
            return Ok(Some(Plan { times, value: rate, role: Role::Rate, unit: 1e6, has_runs: true, form }));
        }
        if let (Some(_), Some(down), Some(up)) = (place("Server ID"), place("Download"), place("Upload")) {
            let taken = format!("{} (b/s; {} is not read)", self.layout.column(down), self.layout.column(up));
            return self.of_form("speedtest", down, Role::Rate, 1.0, taken).map(Some);
        }
        Ok(None)
    }

    fn of_form(
        &self,
        name: &str,
        value: usize,
        role: Role,
        unit: f64,
        taken: String,
    ) -> Result<Plan, LogError> {
        let times = self.times(value)?;
        let form = Form { name: name.into(), taken, caveat: None, row: "row" };
        Ok(Plan { times, value, role, unit, has_runs: false, form })
    }

    /// A table without names.
    fn nameless(&self) -> Result<Plan, LogError> {
        let numbers = |column: usize| -> Option<Vec<f64>> {
            self.layout.values(column).map(|field| self.layout.decimals.number(field)).collect()
        };
        let is_spaced = !matches!(self.layout.split, Split::At(b',' | b';' | b'|'));
        let found = match (self.wanted, self.layout.width()) {
            (Quantity::Rate, 2) if is_spaced => {
                numbers(0).zip(numbers(1)).and_then(|(times, values)| pensieve(&times, &values))
            }
            (Quantity::Rate, 6) if is_spaced && numbers(4).is_some() && numbers(5).is_some() => {
                numbers(0).zip(numbers(1)).and_then(|(since, passed)| norway(&since, &passed))
            }
            (Quantity::Delay, 1) => leoreplayer(&self.layout.sample),
            _ => None,
        };
        found.ok_or_else(|| self.nameless_error())
    }

    fn nameless_error(&self) -> LogError {
        let width = self.layout.width();
        if width == 1 {
            let example = match self.wanted {
                Quantity::Rate => "rate=0:Mbit/s",
                Quantity::Delay => "delay=0:ms",
                Quantity::Loss => "loss=0:%",
            };
            let packets = match self.wanted {
                Quantity::Rate => {
                    "`--columns packets=0:ms` for times of packets (a link has such a file as `opportunities`), "
                }
                _ => "",
            };
            let noun = self.wanted.noun();
            return self.refused(format!(
                "one column may be anything: say what it is, {packets}`--columns {example} --every '1 s'` for a {noun} of \
                 each second"
            ));
        }
        let time =
            (0..width).max_by_key(|column| (self.rises(*column), std::cmp::Reverse(*column))).unwrap_or(0);
        let is_date = self.layout.values(time).next().is_some_and(|field| date(field).is_some());
        let unit = if is_date { "" } else { ":s" };
        let is_number = |column: &usize| {
            self.layout
                .values(*column)
                .next()
                .is_some_and(|field| self.layout.decimals.number(field).is_some())
        };
        let value =
            (0..width).filter(|column| *column != time).find(is_number).unwrap_or(usize::from(time == 0));
        let example = match self.wanted {
            Quantity::Rate => format!("rate={value}:kbit/s"),
            Quantity::Delay => format!("delay={value}:ms"),
            Quantity::Loss => format!("loss={value}:%"),
        };
        self.refused(format!(
            "has no header: say what its columns are, as `--columns time={time}{unit},{example}` does"
        ))
    }
}

/// The unit of values in words.
fn said_unit(role: Role, unit: f64) -> String {
    let rates = [
        (1.0, "b/s"),
        (1e3, "kb/s"),
        (1e6, "Mb/s"),
        (1e9, "Gb/s"),
        (8.0, "B/s"),
        (8e3, "kB/s"),
        (8e6, "MB/s"),
    ];
    match role {
        Role::Rate => rates
            .iter()
            .find(|(factor, _)| *factor == unit)
            .map_or(String::new(), |(_, name)| format!(" ({name})")),
        Role::Bytes => " (data of each row)".to_owned(),
        Role::Rtt => " (round trips, of which half is a delay)".to_owned(),
        _ => String::new(),
    }
}

/// Pensieve's two columns, seconds and Mb/s, or Oboe's, milliseconds and kb/s; nothing if neither makes sense.
fn pensieve(times: &[f64], values: &[f64]) -> Option<Plan> {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    if times.windows(2).any(|pair| pair[1] < pair[0]) {
        return None;
    }
    let step = median(times.windows(2).map(|pair| pair[1] - pair[0]).collect()).unwrap_or(1.0);
    let value = median(values.iter().copied().filter(|value| *value > 0.0).collect()).unwrap_or(1.0);
    let (name, time, unit, taken) = match (step, value) {
        (step, value) if step <= 20.0 && value <= 10_000.0 => {
            ("Pensieve", epoch_unit(times[0]).unwrap_or(1e9), 1e6, "Mb/s in column 1")
        }
        (step, value) if (20.0..=60_000.0).contains(&step) && value >= 50.0 => {
            ("Oboe", 1e6, 1e3, "ms in column 0, kb/s in column 1")
        }
        _ => return None,
    };
    let form = Form { name: name.into(), taken: taken.into(), caveat: None, row: "row" };
    let times = Times::Column { index: 0, clock: Clock::Number(time) };
    Some(Plan { times, value: 1, role: Role::Rate, unit, has_runs: false, form })
}

/// LeoReplayer's delays: whole milliseconds, a line for every 10 ms.
fn leoreplayer(sample: &[Vec<String>]) -> Option<Plan> {
    let is_whole = |field: &String| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    if !sample.first().is_some_and(|row| row.iter().all(is_whole)) {
        return None;
    }
    let form =
        Form { name: "LeoReplayer".into(), taken: "ms for every 10 ms".into(), caveat: None, row: "line" };
    let times = Times::Every(10_000_000);
    Some(Plan { times, value: 0, role: Role::Delay, unit: 1e6, has_runs: false, form })
}

/// Norway's HSDPA logs: seconds since 1970, milliseconds since the beginning, two coordinates, bytes, and the
/// milliseconds in which they came.
fn norway(since: &[f64], passed: &[f64]) -> Option<Plan> {
    epoch_unit(*since.first()?).filter(|unit| *unit == 1e9)?;
    let origin = (since.first()? * 1e9) as i64 - (passed.first()? * 1e6) as i64;
    let taken = "bytes in column 4 over the milliseconds in column 5".to_owned();
    let form = Form { name: "HSDPA".into(), taken, caveat: None, row: "row" };
    Some(Plan {
        times: Times::Ends { origin },
        value: 4,
        role: Role::Bytes,
        unit: 8.0,
        has_runs: false,
        form,
    })
}
