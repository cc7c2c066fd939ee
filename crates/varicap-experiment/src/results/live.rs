//! How runs stand while they go on, for whoever watches. Watching changes nothing of what happens, and costs a run a
//! few numbers whenever somebody looks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use varicap_units::Span;

use crate::results::series::{FlowPoint, FlowSeries, LinkPoint, LinkSeries};

/// Flows and links that a sample tells of: as many as a terminal has room for.
const MOST_FLOWS: usize = 16;
const MOST_LINKS: usize = 8;

/// The last interval of the time series of a run.
#[derive(Clone, Debug, Serialize)]
pub struct LiveSample {
    /// Number of the replication.
    pub replication: u64,
    /// Number of the network; several if flows run in isolation.
    pub network: usize,
    /// How long the run lasts [s].
    pub duration_s: f64,
    /// Each flow by its name; none if this sample is of links only.
    pub flows: Vec<(String, FlowPoint)>,
    /// Each link by its name; none if this sample is of flows only.
    pub links: Vec<(String, LinkPoint)>,
}

/// Where runs tell how they stand, whenever they were asked since they last did.
#[derive(Debug, Default)]
pub struct Live {
    asked: AtomicU64,
    samples: Mutex<Vec<LiveSample>>,
}

impl Live {
    /// What was told since the last call; asks all runs again.
    pub fn take(&self) -> Vec<LiveSample> {
        let samples = std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner));
        self.asked.fetch_add(1, Ordering::Relaxed);
        samples
    }

    /// What a run of a network tells with.
    pub fn tap(&self, network: usize, replication: u64, duration: Span) -> Tap<'_> {
        Tap { live: self, network, replication, duration, answered: 0 }
    }
}

/// What a run tells with.
#[derive(Clone, Copy, Debug)]
pub struct Tap<'a> {
    live: &'a Live,
    network: usize,
    replication: u64,
    duration: Span,
    answered: u64,
}

impl Tap<'_> {
    /// An interval of these series has ended.
    pub fn tell<'s>(
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
        let mut tell = || tap.tell(std::iter::empty(), std::iter::empty());
        tell();
        assert!(live.take().is_empty());
        tell();
        tell();
        let samples = live.take();
        assert_eq!(samples.len(), 1);
        assert_eq!((samples[0].network, samples[0].replication, samples[0].duration_s), (1, 7, 3.0));
        tell();
        assert_eq!(live.take().len(), 1);
        assert!(live.take().is_empty());
    }
}
