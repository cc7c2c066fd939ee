//! The state of runs in progress, for observers. Observing does not change what happens, and costs a run a few numbers
//! whenever an observer asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use varicap_units::Span;

use crate::results::series::{FlowPoint, FlowSeries, LinkPoint, LinkSeries};

/// Maximum number of flows that a sample reports: as many as a terminal has room for.
const MOST_FLOWS: usize = 16;
/// Maximum number of links that a sample reports.
const MOST_LINKS: usize = 8;

/// The last interval of the time series of a run.
#[derive(Clone, Debug, Serialize)]
pub struct LiveSample {
    /// Number of the replication.
    pub replication: u64,
    /// Number of the network; several if flows run in isolation.
    pub network: usize,
    /// Simulated duration of the whole run [s].
    pub duration_s: f64,
    /// The last point of each flow, with the flow's name; empty if this sample is of links only.
    pub flows: Vec<(String, FlowPoint)>,
    /// The last point of each link, with the link's name; empty if this sample is of flows only.
    pub links: Vec<(String, LinkPoint)>,
}

/// Collects reports from runs in progress. A run reports if it was asked since its last report.
#[derive(Debug, Default)]
pub struct Live {
    asked: AtomicU64,
    samples: Mutex<Vec<LiveSample>>,
}

impl Live {
    /// The reports since the last call; asks all runs for another.
    pub fn take(&self) -> Vec<LiveSample> {
        let samples = std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner));
        self.asked.fetch_add(1, Ordering::Relaxed);
        samples
    }

    /// A tap through which one run of a network reports.
    pub fn tap(&self, network: usize, replication: u64, duration: Span) -> Tap<'_> {
        Tap { live: self, network, replication, duration, answered: 0 }
    }
}

/// The handle through which a run reports to [`Live`].
#[derive(Clone, Copy, Debug)]
pub struct Tap<'a> {
    live: &'a Live,
    network: usize,
    replication: u64,
    duration: Span,
    answered: u64,
}

impl Tap<'_> {
    /// Reports the last points of these series, whose interval has just ended, if that was asked for.
    pub fn report<'s>(
        &mut self,
        flows: impl Iterator<Item = &'s FlowSeries>,
        links: impl Iterator<Item = &'s LinkSeries>,
    ) {
        let asked = self.live.asked.load(Ordering::Relaxed);
        if asked == self.answered {
            return;
        }
        self.answered = asked;
        let flows = flows.filter_map(|series| Some((series.name.clone(), series.points.last()?.clone())));
        let links = links.filter_map(|series| Some((series.name.clone(), series.points.last()?.clone())));
        let sample = LiveSample {
            replication: self.replication,
            network: self.network,
            duration_s: self.duration.as_secs_f64(),
            flows: flows.take(MOST_FLOWS).collect(),
            links: links.take(MOST_LINKS).collect(),
        };
        self.live.samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_tells_once_each_time_it_is_asked() {
        let live = Live::default();
        let mut tap = live.tap(1, 7, Span::from_secs(3));
        let mut report = || tap.report(std::iter::empty(), std::iter::empty());
        report();
        assert!(live.take().is_empty());
        report();
        report();
        let samples = live.take();
        assert_eq!(samples.len(), 1);
        assert_eq!((samples[0].network, samples[0].replication, samples[0].duration_s), (1, 7, 3.0));
        report();
        assert_eq!(live.take().len(), 1);
        assert!(live.take().is_empty());
    }
}
