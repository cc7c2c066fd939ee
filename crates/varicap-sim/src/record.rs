//! Records of a run in addition to its rows: time series and packet events. Recording does not affect the run.

use varicap_engine::meters_of;
use varicap_experiment::Network;
use varicap_experiment::live::Tap;
use varicap_experiment::series::{FlowSeries, LinkSeries, intervals};
use varicap_units::{Span, Time};

use crate::world::World;

/// The largest flow group that has a series for each flow; larger groups have a single result row as well.
const MOST_SERIES_OF_A_GROUP: u32 = 64;

/// The time series of a flow, or of a group of transfers.
pub(crate) struct MeteredSeries {
    /// Index of its meter.
    pub meter: usize,
    /// The time series.
    pub series: FlowSeries,
}

/// Takes samples of a world while it runs.
pub(crate) struct Sampler<'a> {
    interval: Span,
    next: Time,
    flows: Vec<MeteredSeries>,
    links: Vec<LinkSeries>,
    /// Passes the samples on to an observer of the running simulation.
    tap: Option<Tap<'a>>,
    /// Whether the series are kept for the end of the run, rather than only shown to an observer.
    is_kept: bool,
}

impl<'a> Sampler<'a> {
    /// A sampler of the world of `network`; `interval` is positive.
    pub fn new(network: &Network, interval: Span, tap: Option<Tap<'a>>, is_kept: bool) -> Sampler<'a> {
        assert!(interval > Span::ZERO, "a time series needs an interval");
        let points = if is_kept { intervals(network.duration, interval) } else { 1 };
        let mut flows = Vec::new();
        let mut meter = 0;
        for spec in &network.flows {
            let members = meters_of(spec);
            for member in 0..members {
                let name =
                    if members == 1 { spec.name.to_string() } else { format!("{}.{member}", spec.name) };
                if members <= MOST_SERIES_OF_A_GROUP {
                    flows.push(MeteredSeries { meter, series: FlowSeries::new(&name, points) });
                }
                meter += 1;
            }
        }
        let links = network.links.iter().map(|spec| LinkSeries::new(&spec.name, points)).collect();
        Sampler { interval, next: Time::ZERO + interval, flows, links, tap, is_kept }
    }

    /// The instant at which the current interval ends.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The time series of the flows so far.
    pub fn flows(&self) -> impl Iterator<Item = &FlowSeries> {
        self.flows.iter().map(|flow| &flow.series)
    }

    /// The time series of the links so far.
    pub fn links(&self) -> &[LinkSeries] {
        &self.links
    }

    /// How many points a sample has.
    pub fn width(&self) -> usize {
        self.flows.len() + self.links.len()
    }

    /// Samples the world at the end of an interval, up to which it has run.
    pub fn sample(&mut self, world: &mut World) {
        let now = self.next;
        self.next += self.interval;
        world.sample(now, &mut self.flows, &mut self.links);
        if let Some(tap) = &mut self.tap {
            tap.report(self.flows.iter().map(|flow| &flow.series), self.links.iter());
        }
        if !self.is_kept {
            self.flows.iter_mut().for_each(|flow| flow.series.points.clear());
            self.links.iter_mut().for_each(|series| series.points.clear());
        }
    }

    /// The time series.
    pub fn finish(self) -> (Vec<FlowSeries>, Vec<LinkSeries>) {
        (self.flows.into_iter().map(|flow| flow.series).collect(), self.links)
    }
}
