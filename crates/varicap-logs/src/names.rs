//! The quantity and the unit that the name of a column says.

use crate::columns::Role;
use crate::number::{loss_unit, rate_unit, time_unit};

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meaning {
    pub role: Role,
    /// Factor of its unit, if it has one: to nanoseconds, b/s, bits or shares.
    pub unit: Option<f64>,
}

const RATES: [&str; 20] = [
    "rate",
    "bitrate",
    "throughput",
    "bandwidth",
    "bandwidths",
    "capacity",
    "goodput",
    "download",
    "upload",
    "downlink",
    "uplink",
    "tput",
    "bw",
    "thr",
    "dl",
    "ul",
    "datarate",
    "bits",
    "mbits",
    "kbits",
];
const TIMES: [&str; 18] = [
    "time",
    "dtime",
    "timestamp",
    "timestamps",
    "ts",
    "t",
    "date",
    "datetime",
    "epoch",
    "elapsed",
    "seconds",
    "second",
    "sec",
    "clock",
    "start",
    "relative",
    "milliseconds",
    "ms",
];

/// The meaning of a name; nothing if it is none of ours.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    let name = name.trim().trim_matches(['"', '\'']);
    if let Some(unit) = suffixes(name).into_iter().find_map(rate_unit) {
        return Some(Meaning { role: Role::Rate, unit: Some(unit) });
    }
    let words = words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let time = words.iter().rev().find_map(|word| time_unit(word));
    // The FCC's logs have the rate of a download, and how long it and what came before it took.
    if has(&["fetch", "warmup"]) {
        return None;
    }
    if has(&["rtt", "ping", "pingavg"]) {
        return Some(Meaning { role: Role::Rtt, unit: time });
    }
    if has(&["delay", "latency", "owd"]) {
        return Some(Meaning { role: Role::Delay, unit: time });
    }
    if has(&["loss", "plr", "lost"]) {
        let unit =
            if name.contains('%') { Some(0.01) } else { words.iter().rev().find_map(|word| loss_unit(word)) };
        // A share is what the word alone says.
        let unit = unit.or((words.len() == 1 && words[0] == "loss").then_some(1.0));
        return Some(Meaning { role: Role::Loss, unit });
    }
    if has(&["duration"]) {
        return Some(Meaning { role: Role::Duration, unit: time });
    }
    if has(&RATES) {
        return Some(Meaning { role: Role::Rate, unit: None });
    }
    if has(&["bytes", "octets"]) && !has(&["total", "cumulative", "sum"]) {
        return Some(Meaning { role: Role::Bytes, unit: Some(8.0) });
    }
    has(&TIMES).then_some(Meaning { role: Role::Time, unit: time })
}

/// The words of a name, in small letters: `DL_bitrate`, `DownlinkMbps`, `throughput (kbps)`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let is_new =
            !letter.is_alphanumeric() && letter != '%' || (before.is_lowercase() && letter.is_uppercase());
        if is_new {
            words.push(String::new());
        }
        if letter.is_alphanumeric() || letter == '%' {
            words.last_mut().expect("there is one").extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The name itself and what follows each of its separators, the longest first: where a unit may stand.
fn suffixes(name: &str) -> Vec<&str> {
    let mut found = vec![name];
    let mut before = ' ';
    for (at, letter) in name.char_indices() {
        match letter {
            '_' | ' ' | '-' | '(' | '[' | '.' | ',' => found.push(&name[at + letter.len_utf8()..]),
            _ if before.is_lowercase() && letter.is_uppercase() => found.push(&name[at..]),
            _ => {}
        }
        before = letter;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<(Role, Option<f64>)> {
        meaning(name).map(|meaning| (meaning.role, meaning.unit))
    }

    #[test]
    fn names_of_public_logs_are_understood() {
        for (name, expected) in [
            ("time_s", (Role::Time, Some(1e9))),
            ("Time_ms", (Role::Time, Some(1e6))),
            ("Timestamp", (Role::Time, None)),
            ("time (s)", (Role::Time, Some(1e9))),
            ("_start", (Role::Time, None)),
            ("rate_mbps", (Role::Rate, Some(1e6))),
            ("kbps", (Role::Rate, Some(1e3))),
            ("throughput (kbps)", (Role::Rate, Some(1e3))),
            ("downlink_Mbps", (Role::Rate, Some(1e6))),
            ("DownlinkMbps", (Role::Rate, Some(1e6))),
            ("bits_per_second", (Role::Rate, Some(1.0))),
            ("Throughput [MB/s]", (Role::Rate, Some(8e6))),
            ("bytes_sec", (Role::Rate, Some(8.0))),
            ("time_sec", (Role::Time, Some(1e9))),
            ("dtime", (Role::Time, None)),
            ("elapsed_msec", (Role::Time, Some(1e6))),
            ("DL_bitrate", (Role::Rate, None)),
            ("Throughput", (Role::Rate, None)),
            ("bytes", (Role::Bytes, Some(8.0))),
            ("delay_ms", (Role::Delay, Some(1e6))),
            ("rtt", (Role::Rtt, None)),
            ("latency (us)", (Role::Delay, Some(1e3))),
            ("loss", (Role::Loss, Some(1.0))),
            ("loss_percent", (Role::Loss, Some(0.01))),
        ] {
            assert_eq!(of(name), Some(expected), "{name}");
        }
        let none = ["place", "Speed", "RSRP", "cell", "movingSpeed", "CellID", "State", "steps", "PINGLOSS"];
        for name in none.into_iter().chain(["fetch_time", "warmup_bytes", "warmup_time"]) {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
