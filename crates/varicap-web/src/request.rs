//! The requests to the laboratory.

use serde::Deserialize;

/// A request, with what it does under `do`.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Information about it: its version, and which controls, queues and so on it has (the schema of scenarios).
    About {},
    /// Keeps a file that scenarios may name.
    File {
        /// Its name, as in a scenario.
        name: String,
        /// Its content, if that is a text.
        #[serde(default)]
        text: String,
        /// Its content, if that is none, such as a capture.
        #[serde(default)]
        bytes: Vec<u8>,
    },
    /// Reads a scenario, which the requests that follow are about.
    Read {
        /// The scenario as a file.
        text: String,
        /// The name of the file, which errors mention; `.json` at its end says that it is not TOML.
        #[serde(default)]
        name: String,
        /// Values by dotted path, as from the command line; later ones win.
        #[serde(default)]
        settings: Vec<(String, String)>,
    },
    /// Every value of the scenario, and where it was given.
    Explain {},
    /// Runs a replication; results gather until another scenario is read.
    Run {
        /// Number of the replication, from zero.
        #[serde(default)]
        replication: u64,
        /// Whether to answer with the time series.
        #[serde(default)]
        series: bool,
        /// Whether to answer with what happened to each packet.
        #[serde(default)]
        packets: bool,
        /// Names of the columns of packets to answer with; all if empty.
        #[serde(default)]
        columns: Vec<String>,
    },
    /// The summary of all replications that ran, in the order of their numbers.
    Summary {},
    /// Begins a run that goes on step by step, of a scenario without isolated flows.
    Begin {
        /// Number of the replication, from zero.
        #[serde(default)]
        replication: u64,
    },
    /// Lets the run go on.
    Step {
        /// Simulated time to which it goes [s].
        until_s: f64,
        /// Windows from now on [packets] of controls called `{ custom = "hand" }`.
        hand: Option<f64>,
    },
}
