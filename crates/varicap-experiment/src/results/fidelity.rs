//! How exactly a run in real time kept time. This is measured in every run, never assumed.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use varicap_units::Span;

use crate::results::histogram::Histogram;

/// A packet that is released more than this after its ideal time counts as late.
pub const LATE: Span = Span::from_millis(1);
/// Maximum share of late packets in a valid run.
const MOST_LATE: f64 = 0.01;
/// Maximum lateness of a packet in a valid run.
const LATEST: Span = Span::from_millis(50);
/// Maximum share of samples at which a greedy sender had nothing to send, in a valid run.
const MOST_STARVED: f64 = 0.01;
/// Maximum share of late wake-ups of the programs in a valid run. Where half of them were late, mean RTTs were a tenth longer.
const MOST_LATE_WAKES: f64 = 0.1;

/// How exactly the emulator kept time, and what else may have distorted the result of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// How much later than its ideal time each packet left the emulator [ns].
    pub lateness: Histogram,
    /// Packets that left more than [`LATE`] after their ideal time.
    pub late_packets: u64,
    /// How often the machine woke the emulator more than 5 ms late.
    pub stalls: u64,
    /// Packets that were lost outside the links.
    pub unintended_drops: u64,
    /// Samples of greedy senders.
    pub samples: u64,
    /// Samples of greedy senders that found everything sent and room for more: the application was too slow.
    pub starved_samples: u64,
    /// How often the programs were to be woken at a certain instant: those that write to the sockets and read from them.
    #[serde(default)]
    pub wakes: u64,
    /// How often they were woken more than [`LATE`] after it. Linux acknowledges when a program has read what arrived.
    #[serde(default)]
    pub late_wakes: u64,
    /// Whether the emulator had priority over all ordinary threads (SCHED_FIFO).
    pub is_prioritised: bool,
    /// The kernel's release.
    pub kernel: String,
    /// Warnings for a reader of the result: what limited a sender other than the network.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Notes on where the kernel's behaviour differs from the scenario.
    pub notes: Vec<String>,
}

impl Fidelity {
    /// The reasons why the run is invalid; empty if it is valid.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let packets = self.lateness.count();
        if self.unintended_drops > 0 {
            faults.push(format!("{} packets were lost outside the links", self.unintended_drops));
        }
        if self.late_packets as f64 > MOST_LATE * packets as f64 {
            let share = 100.0 * self.late_packets as f64 / packets as f64;
            faults.push(format!("{share:.1} % of the packets were more than {LATE} late (at most 1 %)"));
        }
        let latest = self.lateness.maximum().map_or(Span::ZERO, Span::from_nanos);
        if latest > LATEST {
            faults.push(format!("a packet was {:.1} ms late (at most {LATEST})", latest.as_millis_f64()));
        }
        if self.starved_samples as f64 > MOST_STARVED * self.samples as f64 {
            faults.push(format!(
                "{} of {} times a sender had nothing to send because the machine was late",
                self.starved_samples, self.samples
            ));
        }
        if self.late_wakes as f64 > MOST_LATE_WAKES * self.wakes as f64 {
            let share = 100.0 * self.late_wakes as f64 / self.wakes as f64;
            faults.push(format!(
                "receivers read, and acknowledge, more than {LATE} late {share:.0} % of the time (at most 10 %)"
            ));
        }
        faults
    }

    /// Adds the measurements of another run.
    pub fn merge(&mut self, other: &Fidelity) {
        self.lateness.merge(&other.lateness);
        self.late_packets += other.late_packets;
        self.stalls += other.stalls;
        self.unintended_drops += other.unintended_drops;
        self.samples += other.samples;
        self.starved_samples += other.starved_samples;
        self.wakes += other.wakes;
        self.late_wakes += other.late_wakes;
        self.is_prioritised &= other.is_prioritised;
        for (own, others) in [(&mut self.notes, &other.notes), (&mut self.warnings, &other.warnings)] {
            for text in others {
                if !own.contains(text) {
                    own.push(text.clone());
                }
            }
        }
    }

    /// The fidelity as it appears in a summary. Validity is decided run by run; `faults` are those of all runs.
    pub fn to_json(&self, faults: &[String]) -> Json {
        let millis = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e6);
        json!({
            "valid": faults.is_empty(),
            "faults": faults,
            "notes": self.notes,
            "warnings": self.warnings,
            "packets": self.lateness.count(),
            "lateness_ms": {
                "p50": millis(self.lateness.quantile(0.5)),
                "p99": millis(self.lateness.quantile(0.99)),
                "max": millis(self.lateness.maximum()),
            },
            "late_packets": self.late_packets,
            "stalls": self.stalls,
            "unintended_drops": self.unintended_drops,
            "starved_samples": self.starved_samples,
            "wakes": self.wakes,
            "late_wakes": self.late_wakes,
            "prioritised": self.is_prioritised,
            "kernel": self.kernel,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 packets, of which `late` were 2 ms late, and the latest `latest_ms`.
    fn kept(late: u64, latest_ms: u64) -> Fidelity {
        let mut fidelity = Fidelity { late_packets: late, ..Fidelity::default() };
        (0..1000 - late).for_each(|_| fidelity.lateness.record(30_000));
        (0..late).for_each(|_| fidelity.lateness.record(2_000_000));
        fidelity.lateness.record(latest_ms * 1_000_000);
        fidelity
    }

    #[test]
    fn a_run_is_valid_while_few_packets_are_late_and_none_is_lost_outside_the_links() {
        assert_eq!(kept(10, 49).faults(), Vec::<String>::new());
        assert!(kept(11, 2).faults()[0].contains("more than 1 ms late"));
        assert!(kept(0, 60).faults()[0].starts_with("a packet was 60.0 ms late"));
        let lost = Fidelity { unintended_drops: 1, ..kept(0, 0) };
        assert_eq!(lost.faults(), ["1 packets were lost outside the links"]);
        let starved = Fidelity { samples: 100, starved_samples: 2, ..kept(0, 0) };
        assert_eq!(starved.faults().len(), 1);
        let woken = |late_wakes| Fidelity { wakes: 100, late_wakes, ..kept(0, 0) };
        assert_eq!(woken(10).faults(), Vec::<String>::new());
        assert!(
            woken(11).faults()[0].starts_with("receivers read, and acknowledge, more than 1 ms late 11 %")
        );
    }

    #[test]
    fn runs_are_taken_together() {
        let mut both = Fidelity { notes: vec!["a".into()], is_prioritised: true, ..kept(1, 1) };
        both.merge(&Fidelity { warnings: vec!["slow".into()], is_prioritised: true, ..Fidelity::default() });
        assert_eq!(both.to_json(&[])["warnings"][0], "slow");
        both.merge(&Fidelity { notes: vec!["a".into(), "b".into()], is_prioritised: false, ..kept(2, 3) });
        assert_eq!((both.late_packets, both.lateness.count(), both.is_prioritised), (3, 2002, false));
        assert_eq!(both.notes, ["a", "b"]);
        assert_eq!(both.to_json(&[])["valid"], true);
    }
}
