//! A run that goes on step by step, steered by hand.

use std::sync::Arc;

use varicap_experiment::results::{Recorded, RunResult};
use varicap_experiment::{Network, Scenario};
use varicap_sim::{Course, Options, PacketRecording, Recording, SeriesRecording};
use varicap_units::{Span, Time};

use crate::hand::Hand;

/// A run on its way.
pub struct Stepped {
    course: Course<'static>,
    hand: Hand,
    end: Time,
}

impl Stepped {
    /// Replication `replication` of `network`, at time zero.
    pub fn begin(scenario: &Scenario, network: &Network, replication: u64) -> Stepped {
        let hand = Hand::default();
        let options = Options {
            record: Some(recording(scenario, true, false)),
            controls: Some(hand.factory()),
            ..Options::default()
        };
        let course = Course::begin(network, scenario.seed, replication, &options);
        Stepped { course, hand, end: Time::ZERO + network.duration }
    }

    /// Goes on to `until_s`, with windows of `hand` packets from now on.
    pub fn step(&mut self, until_s: f64, hand: Option<f64>) {
        if let Some(window) = hand {
            self.hand.set(window);
        }
        // As a cast: what is negative or NaN is zero.
        let until = Time::ZERO + Span::from_nanos((until_s * 1e9) as u64);
        let until = until.min(self.end).max(self.course.now());
        self.course.run_until(until, &mut |_| true);
    }

    /// Whether it has come to its end.
    pub fn is_over(&self) -> bool {
        self.course.now() == self.end
    }

    /// The run.
    pub fn course(&self) -> &Course<'static> {
        &self.course
    }

    /// Its result, and what was recorded.
    pub fn finish(self, network: &Network) -> (RunResult, Recorded) {
        self.course.finish(network)
    }
}

/// The records to take of a run, as the scenario says.
pub fn recording(scenario: &Scenario, series: bool, packets: bool) -> Recording {
    let record = &scenario.record;
    let of = |wanted: bool| if wanted { u64::MAX } else { 0 };
    Recording {
        series: SeriesRecording { interval: record.sample, below: of(series) },
        packets: PacketRecording {
            limit: usize::try_from(record.packet_limit).unwrap_or(usize::MAX),
            below: of(packets),
        },
        take: Arc::new(|_| ()),
    }
}
