//! Measurements of a world, read from its senders, meters and reservations: samples of time series, and totals.

#[cfg(debug_assertions)]
use varicap_engine::meters_of;
use varicap_experiment::measure::{FlowMeasure, LinkMeasure, SenderTotals};
use varicap_experiment::series::{LinkSeries, ReservedState, SenderState};
use varicap_net::Policed;
use varicap_tcp::congestion::CongestionControl as _;
use varicap_units::{Time, Work};

use super::{Source, World};
use crate::packet::FlowOwner;
use crate::record::MeteredSeries;

/// The measurements of a world whose run is over.
pub struct Measured {
    /// Events handled in the whole run.
    pub events: u64,
    /// The measurements of each link.
    pub links: Vec<LinkMeasure>,
    /// The measurements of each flow, or group of transfers.
    pub flows: Vec<FlowMeasure>,
}

/// The state of a reservation that a link marks, and the meter that it counts on.
struct PolicedMeter {
    meter: usize,
    state: ReservedState,
}

impl World {
    /// Ends the warm-up: measuring begins at `now`.
    pub fn begin_measuring(&mut self, now: Time) {
        let senders = self.sender_totals(now);
        self.net.begin_measuring(now);
        self.observer.begin_measuring(now, senders);
    }

    /// Adds a sample to each time series at `now`, up to which the world has run.
    pub(crate) fn sample(&mut self, now: Time, flows: &mut [MeteredSeries], links: &mut [LinkSeries]) {
        let mut senders: Vec<Option<SenderState>> = vec![None; self.observer.len()];
        for connection in self.connections.iter().filter(|connection| connection.is_open()) {
            senders[connection.meter as usize] = Some(SenderState::of(&connection.sender));
        }
        for (meter, state) in self.endpoints.iter().flat_map(|endpoints| endpoints.senders()) {
            senders[meter] = Some(state);
        }
        let reserved = self.reserved_states(now);
        for MeteredSeries { meter, series } in &mut *flows {
            // Where transfers come and go, the window of one of them says nothing about the group.
            let sender = senders[*meter].filter(|_| self.observer.is_single(*meter));
            series.sample(now, self.observer.meter(*meter), sender, reserved[*meter]);
        }
        self.show_controls(flows);
        for (series, hop) in links.iter_mut().zip(self.net.hops()) {
            let delay = hop.link.delay(now);
            series.sample(now, &mut hop.meter, delay);
        }
    }

    /// Adds what congestion controls show to the series of their flows, which are in the order of their meters.
    fn show_controls(&self, flows: &mut [MeteredSeries]) {
        for connection in self.connections.iter().filter(|connection| connection.is_open()) {
            let (meter, control) = (connection.meter as usize, connection.sender.control());
            if control.shown().is_empty() || !self.observer.is_single(meter) {
                continue;
            }
            if let Ok(place) = flows.binary_search_by_key(&meter, |flow| flow.meter) {
                flows[place].series.show(control);
            }
        }
    }

    /// Ends the run at `end`, and returns its measurements.
    pub fn finish(mut self, end: Time) -> Measured {
        #[cfg(debug_assertions)]
        {
            self.net.audit().assert_conserved(&self.connections);
            self.assert_received(end);
        }
        let events = self.events.total();
        self.net.drop_traffic(); // makes room for the totals, as the connections do for the measurements
        let totals = self.sender_totals(end);
        self.connections = Vec::new();
        let flows = self.observer.into_meters().zip(totals).map(|(meter, sender)| meter.finish(end, sender));
        Measured { events, flows: flows.collect(), links: self.net.finish(end).collect() }
    }

    /// Asserts that what flows received by `now` came through their last links.
    #[cfg(debug_assertions)]
    fn assert_received(&mut self, now: Time) {
        let mut flows = Vec::new();
        for (group, flow) in (0..).zip(self.openers.openings.flows()) {
            let first = self.openers.openings.meter(group, None) as usize;
            for meter in first..first + meters_of(flow) as usize {
                flows.push((flow.forward.last().copied(), self.observer.meter(meter).totals(now)));
            }
        }
        let links: Vec<_> = self.net.hops().map(|hop| hop.meter.totals(now)).collect();
        crate::audit::assert_received(&flows, &links);
    }

    /// The totals of the senders of each meter up to `now`.
    fn sender_totals(&mut self, now: Time) -> Vec<SenderTotals> {
        let mut totals = self.observer.sender_totals(now, &self.connections, self.net.marked_losses());
        for (meter, total) in self.endpoints.iter().flat_map(|endpoints| endpoints.totals(now)) {
            totals[meter] = totals[meter].plus(&total);
        }
        for source in &self.sources {
            if let Source::Datagrams { meter, source, .. } = source {
                let total = &mut totals[*meter as usize];
                total.sent_packets += source.sent;
                total.watch(&source.watched());
                total.lost_tokens += source.bucket.as_ref().map_or(Work::ZERO, |bucket| bucket.lost(now));
                total.marked_lost_packets += self.net.marked_losses().of_datagrams(*meter);
            }
        }
        for policed in self.policed(now) {
            totals[policed.meter].lost_tokens += policed.state.lost_tokens;
        }
        totals
    }

    /// The state at `now` of each reservation that links mark.
    fn policed(&mut self, now: Time) -> Vec<PolicedMeter> {
        let (connections, openings) = (&self.connections, &self.openers.openings);
        let states = self.net.policed(now).map(|Policed { flow, group, rate, lost_tokens }| {
            let meter = match FlowOwner::of(flow) {
                FlowOwner::Datagrams(meter) => meter,
                // A connection that is over has left its slot to others: its tokens count for the first of its group.
                FlowOwner::Connection(slot) => match connections.get(slot as usize) {
                    Some(connection) if connection.group == group => connection.meter,
                    _ => openings.meter(group, None),
                },
            };
            PolicedMeter { meter: meter as usize, state: ReservedState { rate, lost_tokens } }
        });
        states.collect()
    }

    /// The state of each meter's reservation at `now`.
    fn reserved_states(&mut self, now: Time) -> Vec<Option<ReservedState>> {
        let mut states = vec![None; self.observer.len()];
        for connection in self.connections.iter().filter(|connection| connection.is_open()) {
            let sender = &connection.sender;
            if let Some((rate, lost_tokens)) = sender.reserved_rate().zip(sender.lost_tokens(now)) {
                states[connection.meter as usize] = Some(ReservedState { rate, lost_tokens });
            }
        }
        for source in &self.sources {
            if let Source::Datagrams { meter, source, .. } = source
                && let Some(bucket) = &source.bucket
            {
                let state = ReservedState { rate: bucket.rate(), lost_tokens: bucket.lost(now) };
                states[*meter as usize] = Some(state);
            }
        }
        for policed in self.policed(now) {
            states[policed.meter] = Some(policed.state);
        }
        states
    }
}
