//! A trace and where in it a run begins: what traces of rates, delays and losses have in common.

use std::io::BufRead;
use std::sync::Arc;

use varicap_logs::{Quantity, Reading, Series};
use varicap_units::{Rate, Stream};

use crate::error::NetError;
use crate::file::Files;
use crate::offset::TraceOffset;
use crate::timeline::{Steps, Timeline};

/// A trace, and where in it a run begins.
#[derive(Clone, Debug)]
pub struct Traced<V = Rate> {
    /// Its values.
    pub timeline: Arc<Timeline<V>>,
    /// Where a run begins.
    pub offset: TraceOffset,
    /// Faults of its file and their treatment, where a reader of results should know.
    pub said: Option<Arc<str>>,
}

impl<V: Copy + Send + Sync + 'static> Traced<V> {
    /// The quantity that is `wanted` from `file`, as `reading` says, each value as `value_of` makes it; an `offset`
    /// later than its end is refused.
    pub(crate) fn read(
        file: &str,
        (wanted, reading): (Quantity, &Reading),
        (offset, repeat): (TraceOffset, bool),
        files: &mut Files<'_>,
        value_of: impl Fn(f64) -> V,
    ) -> Result<Traced<V>, NetError> {
        let whole = files.read(file, format!("{wanted:?} {reading:?} {repeat}"), |bytes| {
            let series = varicap_logs::read(file, bytes, wanted, reading)?;
            let understood = &series.understood;
            let said = understood.is_remarkable().then(|| format!("{file}: {}", understood.sentence).into());
            let timeline = Arc::new(timeline(series, repeat, value_of));
            Ok(Traced { timeline, offset: TraceOffset::default(), said })
        })?;
        offset.check_within(whole.timeline.length())?;
        Ok(Traced { offset, ..Traced::clone(&whole) })
    }

    /// The path of one run; `stream` draws where a random one begins.
    pub(crate) fn path(&self, stream: Stream) -> Steps<V> {
        Steps::begun(self.timeline.clone(), self.offset.draw(self.timeline.length(), stream))
    }

    /// Whether each run sees the same again and again.
    pub(crate) fn repeats_itself(&self) -> bool {
        self.offset != TraceOffset::Random && self.timeline.length().is_some()
    }
}

/// A series as values that hold.
fn timeline<V: Copy>(series: Series, repeat: bool, value_of: impl Fn(f64) -> V) -> Timeline<V> {
    let values = series.values.into_iter().map(value_of).collect();
    Timeline::new(series.at, values, series.length, repeat)
}

/// Reads values from the bytes of a log; the last one holds indefinitely if the trace does not repeat.
pub(crate) fn read_values<V: Copy>(
    file: &str,
    bytes: impl BufRead,
    wanted: Quantity,
    repeat: bool,
    value_of: impl Fn(f64) -> V,
) -> Result<Timeline<V>, NetError> {
    let series = varicap_logs::read(file, bytes, wanted, &Reading::default())?;
    Ok(timeline(series, repeat, value_of))
}

/// The table of a trace in a scenario: the keys that those of rates, delays and losses have in common, beside keys of
/// its own; and whether one like it draws random numbers.
macro_rules! traced_config {
    ($(#[$doc:meta])* $Name:ident { $($(#[$own_doc:meta])* $own:ident: $Own:ty,)* }, draws: $draws:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $Name {
            /// The file, relative to the scenario's folder. What it is, is found by its content: a table of any
            /// separator, JSON of iperf3 and others, a capture; gzip or not.
            pub file: String,
            /// After its last row, which holds as long as the one before it, the trace begins again; otherwise its last
            /// value stays. Default: true.
            #[serde(default = "yes")]
            pub repeat: bool,
            /// Where in the trace a run begins: a time, or `random`. Default: 0 s.
            #[serde(default)]
            pub offset: TraceOffset,
            /// Its columns, such as `time=0:s,rate=2:Mbit/s`: `time`, `duration`, `rate`, `bytes`, `packets`,
            /// `delay`, `rtt` or `loss`, each with the number of a column, from 0, or its name, and a unit. Default: by
            /// their names and what they hold.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub columns: Option<varicap_logs::Columns>,
            /// Time from row to row where no column has one; of a capture, over which packets are counted. Default: as
            /// the file has it; 100 ms for captures.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub every: Option<varicap_units::Span>,
            /// Of a file with several directions, series or units: which one. Of a capture: `all`, or addresses, `10.0.0.1 >
            /// 10.0.0.2:443`. Default: a capture's busiest direction.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub only: Option<String>,
            /// The value where rows, or values, are missing: the one before (`hold`), or a rate of zero (`outage`); or
            /// `refuse`. Default: hold.
            #[serde(default)]
            pub gaps: varicap_logs::Gaps,
            /// Which of several rows of one instant counts: `last`, `first`, their `mean`; or `refuse`. Default: last.
            #[serde(default)]
            pub duplicates: varicap_logs::Duplicates,
            /// The treatment of rows that are earlier than the one before: `refuse`, `sort`, `drop`, or `append` as
            /// another recording. Default: refuse.
            #[serde(default)]
            pub backward: varicap_logs::Backward,
            /// The treatment of rows that cannot be read: `refuse`, or `skip`, as missing. Default: refuse.
            #[serde(default)]
            pub unreadable: varicap_logs::Unreadable,
            /// How long the last row lasts. Default: as long as the one before it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub last: Option<varicap_units::Span>,
            /// Time over which values become their means. Default: none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub resample: Option<varicap_units::Span>,
            /// Whether a log with gaps, duplicates, missing or absurd values is refused. Default: false.
            #[serde(default)]
            pub strict: bool,
            $(
                $(#[$own_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $own: Option<$Own>,
            )*
        }

        impl $Name {
            /// A scenario's table that names the file alone.
            pub fn named(file: &str) -> $Name {
                $Name {
                    file: file.to_owned(),
                    repeat: yes(),
                    offset: TraceOffset::default(),
                    columns: None,
                    every: None,
                    only: None,
                    gaps: Default::default(),
                    duplicates: Default::default(),
                    backward: Default::default(),
                    unreadable: Default::default(),
                    last: None,
                    resample: None,
                    strict: false,
                    $($own: None,)*
                }
            }

            /// How its file is understood.
            #[allow(clippy::needless_update)] // of a table with all keys
            fn reading(&self) -> varicap_logs::Reading {
                varicap_logs::Reading {
                    columns: self.columns.clone(),
                    every: self.every,
                    only: self.only.clone(),
                    gaps: self.gaps,
                    duplicates: self.duplicates,
                    backward: self.backward,
                    unreadable: self.unreadable,
                    last: self.last,
                    resample: self.resample,
                    strict: self.strict,
                    $($own: self.$own,)*
                    ..varicap_logs::Reading::default()
                }
            }
        }

        impl Part for $Name {
            fn check(&self) -> Checked {
                for (key, time) in [("every", self.every), ("last", self.last), ("resample", self.resample)] {
                    if time == Some(varicap_units::Span::ZERO) {
                        return Err(varicap_units::part::Fault::new(key, "0 s", "longer than 0 s"));
                    }
                }
                self.offset.check(self.repeat)
            }

            fn draws(&self) -> bool {
                let draws: fn(&Self) -> bool = $draws;
                draws(self)
            }
        }
    };
}
pub(crate) use traced_config;
