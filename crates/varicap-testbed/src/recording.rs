//! Measurements of a run, at the links and at the sockets: the same in real and in simulated time.

use varicap_engine::meters_of;
use varicap_experiment::Network;
use varicap_experiment::fidelity::Fidelity;
use varicap_experiment::live::Tap;
use varicap_experiment::measure::{FlowMeasure, FlowMeter, LinkMeasure, SenderTotals};
use varicap_experiment::packets::PacketLog;
use varicap_experiment::series::{FlowSeries, LinkSeries, intervals};
use varicap_units::{Span, Time};

use crate::director::FlowDirector;
use crate::emulator::Emulator;
use crate::fidelity::Wakes;
use crate::flows::{Endpoints, Samples};
use crate::options::Options;
use crate::trace::Trace;

/// The largest flow group that has a series for each flow; larger groups have a single result row as well.
const MOST_SERIES_OF_A_GROUP: u32 = 64;

/// The measurements of the emulator.
pub(crate) struct Wire {
    pub(crate) links: Vec<LinkMeasure>,
    pub(crate) flows: Vec<FlowMeasure>,
    pub(crate) link_series: Vec<LinkSeries>,
    pub(crate) flow_series: Vec<FlowSeries>,
    pub(crate) packets: Option<PacketLog>,
    pub(crate) fidelity: Fidelity,
    pub(crate) events: u64,
}

/// The measurements at the sockets.
pub(crate) struct Hosts {
    pub(crate) flows: Vec<FlowMeasure>,
    pub(crate) series: Vec<FlowSeries>,
    pub(crate) samples: Vec<Samples>,
    pub(crate) wakes: Wakes,
}

/// Names of the meters of `network` that have a series.
fn series_of(network: &Network, interval: Option<Span>) -> Vec<(usize, FlowSeries)> {
    let Some(interval) = interval else { return Vec::new() };
    let points = intervals(network.duration, interval);
    let mut series = Vec::new();
    let mut meter = 0;
    for flow in &network.flows {
        let members = meters_of(flow);
        for member in 0..members {
            let name = if members == 1 { flow.name.to_string() } else { format!("{}.{member}", flow.name) };
            if members <= MOST_SERIES_OF_A_GROUP {
                series.push((meter, FlowSeries::new(&name, points)));
            }
            meter += 1;
        }
    }
    series
}

/// The instants at which a run pauses, in order: the ends of the intervals of a series, and the end of the warm-up.
pub(crate) fn stops(network: &Network, interval: Option<Span>) -> Vec<Time> {
    let mut stops = vec![Time::ZERO + network.warmup, Time::ZERO + network.duration];
    if let Some(interval) = interval {
        let count = intervals(network.duration, interval) as u64;
        stops.extend((1..=count).map(|number| Time::ZERO + interval.saturating_mul(number)));
    }
    stops.sort();
    stops.dedup();
    stops
}

fn is_sample(at: Time, interval: Option<Span>) -> bool {
    interval
        .is_some_and(|interval| at > Time::ZERO && at.as_nanos().is_multiple_of(interval.as_nanos().max(1)))
}

fn finish(meters: Vec<FlowMeter>, end: Time, senders: Vec<SenderTotals>) -> Vec<FlowMeasure> {
    meters.into_iter().zip(senders).map(|(meter, sender)| meter.finish(end, sender)).collect()
}

/// When a run pauses, and what it records then.
struct Schedule<'a> {
    warm: Time,
    end: Time,
    interval: Option<Span>,
    tap: Option<Tap<'a>>,
}

impl<'a> Schedule<'a> {
    fn new(network: &Network, options: Options<'a>) -> Schedule<'a> {
        Schedule {
            warm: Time::ZERO + network.warmup,
            end: Time::ZERO + network.duration,
            interval: options.series,
            tap: options.live,
        }
    }
}

/// The emulator, and what is recorded of it.
pub(crate) struct WireRecorder<'a> {
    pub(crate) emulator: Emulator<FlowDirector>,
    schedule: Schedule<'a>,
    flows: Vec<(usize, FlowSeries)>,
    links: Vec<LinkSeries>,
}

impl<'a> WireRecorder<'a> {
    pub(crate) fn new(
        network: &Network,
        emulator: Emulator<FlowDirector>,
        options: Options<'a>,
    ) -> WireRecorder<'a> {
        let links = match options.series {
            Some(interval) => {
                let points = intervals(network.duration, interval);
                network.links.iter().map(|spec| LinkSeries::new(&spec.name, points)).collect()
            }
            None => Vec::new(),
        };
        let flows = series_of(network, options.series);
        WireRecorder { emulator, schedule: Schedule::new(network, options), flows, links }
    }

    /// Records what is due at `stop`, which the emulator has reached.
    pub(crate) fn pause(&mut self, stop: Time) {
        let Emulator { director, net, lateness, .. } = &mut self.emulator;
        if is_sample(stop, self.schedule.interval) {
            let reserved = director.reserved_states(stop, net);
            for (meter, series) in &mut self.flows {
                let state = reserved.iter().find(|(of, _)| of == meter).map(|(_, state)| *state);
                series.sample(stop, &mut director.meters[*meter], None, state);
            }
            for (series, hop) in self.links.iter_mut().zip(&mut net.hops) {
                let delay = hop.link.delay(stop);
                series.sample(stop, &mut hop.meter, delay);
            }
            if let Some(tap) = &mut self.schedule.tap {
                tap.report(std::iter::empty(), self.links.iter());
            }
        }
        if stop == self.schedule.warm {
            net.begin_measuring(stop);
            director.begin_measuring(stop, net);
            lateness.clear();
        }
    }

    /// The measurements up to the end, which the emulator has reached.
    pub(crate) fn finish(self, is_prioritised: bool) -> Wire {
        let WireRecorder { mut emulator, schedule, flows, links } = self;
        let end = schedule.end;
        let lateness = emulator.lateness;
        let fidelity = Fidelity {
            late_packets: lateness.late_packets,
            stalls: lateness.stalls,
            unintended_drops: emulator.refused_packets,
            is_prioritised,
            lateness: lateness.packets,
            ..Fidelity::default()
        };
        let reserved = emulator.director.reserved_totals(end, &mut emulator.net);
        Wire {
            packets: emulator.net.trace.take().map(Trace::into_log),
            links: emulator.net.hops.into_iter().map(|hop| hop.finish(end)).collect(),
            flows: finish(emulator.director.meters, end, reserved),
            link_series: links,
            flow_series: flows.into_iter().map(|(_, series)| series).collect(),
            events: fidelity.lateness.count(),
            fidelity,
        }
    }
}

/// The sockets, and what is recorded of them.
pub(crate) struct HostsRecorder<'a> {
    pub(crate) endpoints: Endpoints,
    schedule: Schedule<'a>,
    series: Vec<(usize, FlowSeries)>,
}

impl<'a> HostsRecorder<'a> {
    pub(crate) fn new(network: &Network, endpoints: Endpoints, options: Options<'a>) -> HostsRecorder<'a> {
        let series = series_of(network, options.series);
        HostsRecorder { endpoints, schedule: Schedule::new(network, options), series }
    }

    /// Records what is due at `stop`, which the sockets have reached.
    pub(crate) fn pause(&mut self, stop: Time) {
        let endpoints = &mut self.endpoints;
        if is_sample(stop, self.schedule.interval) {
            for (meter, series) in &mut self.series {
                series.sample(stop, &mut endpoints.meters[*meter], endpoints.standing[*meter], None);
            }
            if let Some(tap) = &mut self.schedule.tap {
                tap.report(self.series.iter().map(|(_, series)| series), std::iter::empty());
            }
        }
        if stop == self.schedule.warm {
            endpoints.begin_measuring(stop);
        }
    }

    /// The measurements up to the end, which the sockets have reached; connections are reset.
    pub(crate) fn finish(mut self) -> Hosts {
        let end = self.schedule.end;
        let totals = self.endpoints.sender_totals(end);
        self.endpoints.abort();
        let Endpoints { samples, wakes, meters, .. } = self.endpoints;
        Hosts {
            flows: finish(meters, end, totals),
            series: self.series.into_iter().map(|(_, series)| series).collect(),
            samples,
            wakes,
        }
    }
}
