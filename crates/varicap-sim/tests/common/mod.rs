//! Running scenarios from their text.
#![allow(dead_code)] // each test file uses its own part

use std::io::Cursor;
pub use varicap_experiment::interval::Interval;
use varicap_experiment::results::RunResult;
use varicap_experiment::rows::LinkRow;

use varicap_experiment::{ReadFile, Scenario};
use varicap_sim::{Options, run_many};

/// Runs `seeds` replications of a scenario given as TOML.
pub fn simulate(toml: &str, seeds: u64) -> Vec<RunResult> {
    run(toml, &mut |name| Err(format!("no file {name} in a test")), seeds)
}

/// As [`simulate`], where every file that the scenario names holds `text`.
pub fn simulate_with(toml: &str, text: &str, seeds: u64) -> Vec<RunResult> {
    run(toml, &mut |_| Ok(Box::new(Cursor::new(text.to_owned()))), seeds)
}

fn run(toml: &str, read_file: &mut ReadFile<'_>, seeds: u64) -> Vec<RunResult> {
    let scenario = Scenario::from_toml(toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let networks = scenario.networks(read_file).unwrap_or_else(|error| panic!("{error}"));
    run_many(&networks, scenario.seed, 0..seeds, &Options::default(), 0, &|_| true).unwrap()
}

/// The 95 % interval of a value over the runs.
pub fn interval(runs: &[RunResult], value: impl Fn(&RunResult) -> f64) -> Interval {
    Interval::of(&runs.iter().map(value).collect::<Vec<_>>())
}

/// Asserts that `expected` lies within `share` of the mean or inside the interval.
#[track_caller]
pub fn assert_within(what: &str, found: Interval, expected: f64, share: f64) {
    let error = found.mean / expected - 1.0;
    assert!(error.abs() <= share, "{what}: {found:?} against {expected} ({:+.1} %)", error * 100.0);
}

/// The row of the link of this name.
#[track_caller]
pub fn link<'a>(run: &'a RunResult, name: &str) -> &'a LinkRow {
    run.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("no link {name}"))
}

/// Asserts equality in which a value that was not measured (NaN) equals itself.
#[track_caller]
pub fn assert_same<T: std::fmt::Debug>(one: &T, other: &T) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}
