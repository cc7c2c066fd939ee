//! What a run records besides its rows: time series and packet events. Recording changes nothing of what happens.

use std::sync::Arc;

use varicap_engine::meters_of;
use varicap_experiment::Network;
use varicap_experiment::live::Tap;
use varicap_experiment::results::Recorded;
use varicap_experiment::series::{FlowSeries, LinkSeries, SenderState, intervals};
use varicap_units::{Span, Time};

use crate::world::World;

/// Flow groups with more flows than this have no series: their rows are one as well.
const MOST_SERIES_OF_A_GROUP: u32 = 64;

/// What to record of which replications, and where it goes.
#[derive(Clone)]
pub struct Recording {
    /// Interval of the time series, and the number below which replications have them.
    pub series: (Span, u64),
    /// Most packet events that are kept of a run, and the number below which replications have them.
    pub packets: (usize, u64),
    /// Takes what was recorded of a network in a replication, on the thread that ran it.
    pub take: Arc<dyn Fn(Recorded) + Send + Sync>,
}

/// Takes samples of a world while it runs.
pub(crate) struct Sampler<'a> {
    interval: Span,
    next: Time,
    /// Each flow's meter and series.
    flows: Vec<(usize, FlowSeries)>,
    links: Vec<LinkSeries>,
    /// Tells whoever watches.
    tap: Option<Tap<'a>>,
    /// Whether the series are wanted afterwards, too.
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
                    flows.push((meter, FlowSeries::new(&name, points)));
                }
                meter += 1;
            }
        }
        let links = network.links.iter().map(|spec| LinkSeries::new(&spec.name, points)).collect();
        Sampler { interval, next: Time::ZERO + interval, flows, links, tap, is_kept }
    }

    /// When the next interval ends.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Ends an interval, up to which the world has run.
    pub fn sample(&mut self, world: &mut World) {
        let now = self.next;
        self.next += self.interval;
        let mut senders: Vec<Option<SenderState>> = vec![None; world.net.observer.flows.len()];
        for connection in world.connections.iter().filter(|connection| connection.is_open) {
            senders[connection.meter as usize] = Some(SenderState::of(&connection.sender));
        }
        let reserved = world.reserved_states(now);
        for (meter, series) in &mut self.flows {
            // Of transfers that come and go, the window of one says nothing of the group.
            let sender = senders[*meter].filter(|_| world.net.observer.is_single(*meter));
            series.sample(now, &mut world.net.observer.flows[*meter], sender, reserved[*meter]);
        }
        for (series, hop) in self.links.iter_mut().zip(&mut world.net.hops) {
            series.sample(now, &mut hop.meter);
        }
        if let Some(tap) = &mut self.tap {
            tap.tell(self.flows.iter().map(|(_, series)| series), self.links.iter());
        }
        if !self.is_kept {
            self.flows.iter_mut().for_each(|(_, series)| series.points.clear());
            self.links.iter_mut().for_each(|series| series.points.clear());
        }
    }

    /// The series.
    pub fn finish(self) -> (Vec<FlowSeries>, Vec<LinkSeries>) {
        (self.flows.into_iter().map(|(_, series)| series).collect(), self.links)
    }
}
