//! Links with their meters, private wires, and the routes of packets over both.

use std::collections::VecDeque;

use varicap_experiment::measure::{LinkMeasure, LinkMeter};
use varicap_experiment::{FlowSpec, LinkSpec};
use varicap_net::{Backlog, Frame, Link};
use varicap_units::{Rate, Span, Streams, Time, Work};

use crate::nodes::{NodeId, Nodes};

/// A link and what measures it.
#[derive(Debug)]
pub struct Hop<F> {
    /// The link.
    pub link: Link<F>,
    /// Its meter.
    pub meter: LinkMeter,
}

impl<F: Frame> Hop<F> {
    /// The idle link of `spec`, with random numbers from `streams`.
    pub fn new(spec: &LinkSpec, streams: &Streams) -> Hop<F> {
        Hop { link: Link::new(&spec.parts, &spec.name, streams), meter: LinkMeter::of(&spec.parts.capacity) }
    }

    /// The measurements up to `end`, to which the link has been brought, when the run is over.
    pub fn finish(self, end: Time) -> LinkMeasure {
        #[cfg(debug_assertions)]
        self.assert_conserved(end);
        self.meter.finish(end)
    }

    /// Asserts that link and meter agree on every frame since the beginning: arrived = carried + dropped + waiting +
    /// in service. What the channel loses has been carried before.
    #[cfg(debug_assertions)]
    pub fn assert_conserved(&self, now: Time) {
        let totals = self.meter.clone().totals(now);
        let dropped = totals.overflowed_frames + totals.aqm_dropped_frames + totals.policed_frames;
        let inside = u64::from(self.link.backlog().frames) + u64::from(self.link.in_service().is_some());
        assert_eq!(
            totals.arrived_frames,
            totals.carried_frames + dropped + inside,
            "frames of a link: {totals:?}"
        );
    }
}

/// The links of a running network, by their numbers, as feedback observes them.
pub trait Links {
    /// Brings a link up to `now`.
    fn advance_link(&mut self, now: Time, link: usize);
    /// The capacity that a link offers now; its mean, if it has opportunities.
    fn rate(&self, link: usize) -> Rate;
    /// The work that a link's opportunities so far could have carried; `None` if it has a rate at each instant.
    fn opportunities(&self, link: usize) -> Option<Work>;
    /// The backlog of a link.
    fn backlog(&self, link: usize) -> Backlog;
    /// The instant at which a link's capacity changes next.
    fn changes_at(&self, link: usize) -> Time;
}

/// A private delay line of a flow group.
#[derive(Debug)]
pub struct Wire<F> {
    delay: Span,
    in_flight: VecDeque<(Time, F)>,
}

impl<F> Wire<F> {
    /// An empty wire that delays frames by `delay`.
    pub fn new(delay: Span) -> Wire<F> {
        Wire { delay, in_flight: VecDeque::new() }
    }

    /// A frame enters the wire.
    pub fn push(&mut self, now: Time, frame: F) {
        let due = now + self.delay;
        debug_assert!(self.in_flight.back().is_none_or(|(last, _)| *last <= due), "time goes back at a wire");
        self.in_flight.push_back((due, frame));
    }

    /// The next frame that has come out of the wire by `now`.
    pub fn poll(&mut self, now: Time) -> Option<F> {
        if self.poll_at() > now {
            return None;
        }
        self.in_flight.pop_front().map(|(_, frame)| frame)
    }

    /// The instant at which the next frame comes out of the wire.
    pub fn poll_at(&self) -> Time {
        self.in_flight.front().map_or(Time::NEVER, |(due, _)| *due)
    }
}

/// The private wires of all flow groups, and the nodes on the route of each group: from its senders, then back to them.
pub fn routes<F>(flows: &[FlowSpec], nodes: &Nodes) -> (Vec<Wire<F>>, Vec<Box<[NodeId]>>) {
    let mut wires = Vec::new();
    let mut routes = Vec::with_capacity(2 * flows.len());
    for flow in flows {
        let mut forward: Vec<NodeId> = flow.forward.iter().map(|&link| nodes.link(link)).collect();
        let mut reverse: Vec<NodeId> = flow.reverse.iter().map(|&link| nodes.link(link)).collect();
        if flow.access_delay > Span::ZERO {
            // Both wires are on the sender's side; one serves the whole group, since equal delays keep the order.
            forward.insert(0, nodes.wire(wires.len()));
            wires.push(Wire::new(flow.access_delay));
            reverse.push(nodes.wire(wires.len()));
            wires.push(Wire::new(flow.access_delay));
        }
        if let Some(abr) = &flow.abr {
            // Each connection enters a link of its own; the first one stands for all.
            forward.insert(0, nodes.link(abr.link(0)));
        }
        routes.extend([forward.into(), reverse.into()]);
    }
    (wires, routes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use varicap_net::{
        CapacityParts, DropTailConfig, Framing, LinkParts, LossParts, Lost, QueueConfig, Service, Watch,
    };
    use varicap_units::{Amount, Bytes};

    /// A frame with a number, of so many bytes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Numbered(usize, u64);

    impl Frame for Numbered {
        fn wire_size(&self) -> Bytes {
            Bytes::new(self.1)
        }
        fn mark_ce(&mut self) -> bool {
            false
        }
    }

    /// Measures, and writes losses down.
    struct Metered<'a>(&'a mut LinkMeter, &'a mut Vec<(Time, Numbered)>);

    impl Watch<Numbered> for Metered<'_> {
        fn on_arrival(&mut self, at: Time, frame: &Numbered, backlog: Backlog) {
            self.0.on_arrival(at, frame.wire_size(), backlog);
        }
        fn on_lost(&mut self, Lost { at, cause, frame }: Lost<Numbered>) {
            self.0.on_lost(at, frame.wire_size(), cause);
            self.1.push((at, frame));
        }
        fn on_departure(&mut self, at: Time, arrived: Time, frame: &Numbered, backlog: Backlog) {
            self.0.on_departure(at, arrived, frame.wire_size(), backlog);
        }
        fn on_capacity(&mut self, at: Time, rate: Rate) {
            self.0.on_capacity(at, rate);
        }
        fn on_offered(&mut self) {
            self.0.on_offered();
        }
        fn on_planned(&mut self, wait: Span, size: Bytes) {
            self.0.on_planned(wait, size);
        }
        fn on_waiting(&mut self, backlog: Backlog) -> Backlog {
            self.0.on_waiting(backlog)
        }
        fn on_passed(&mut self, at: Time, arrived: Time, frame: &Numbered) {
            self.0.on_passed(at - arrived, frame.wire_size());
        }
        fn on_reported(&mut self, ahead: varicap_net::Ahead) {
            self.0.on_reported(ahead);
        }
    }

    /// An act upon a link some time after the last one.
    #[derive(Clone, Debug)]
    enum Act {
        Push(u64),
        Look,
        Reset,
    }

    /// All that can be seen of a link that is driven as the world drives it: deliveries, losses, looks, and measurements.
    fn driven(spec: &LinkSpec, acts: &[(u64, Act)], is_hastened: bool) -> Vec<String> {
        let mut hop = Hop::new(spec, &Streams::new(1, 0));
        if is_hastened {
            hop.link.plan_departures();
        }
        let (mut seen, mut lost, mut now, mut wake) = (Vec::new(), Vec::new(), Time::ZERO, Time::NEVER);
        for (number, (pause, act)) in acts.iter().enumerate() {
            now += Span::from_nanos(*pause);
            while wake <= now {
                let frame = hop.link.poll(wake, &mut Metered(&mut hop.meter, &mut lost));
                seen.push(format!("{wake:?} {frame:?}"));
                wake = hop.link.poll_at();
            }
            let mut watch = Metered(&mut hop.meter, &mut lost);
            if let Act::Push(size) = act {
                let is_first = hop.link.is_quiet();
                hop.link.push(now, Numbered(number, *size), &mut watch);
                wake = if is_first { wake.min(hop.link.poll_at()) } else { wake };
                continue;
            }
            hop.link.advance(now, &mut watch);
            let link = &hop.link;
            let inside = (link.backlog(), link.in_service(), link.begun(), link.inside(), link.changes_at());
            seen.push(format!("{inside:?} {:?} {:?}", hop.meter.waiting(), hop.meter.totals(now)));
            if let Act::Reset = act {
                hop.meter.reset(now, hop.link.begun());
            }
        }
        hop.link.advance(now, &mut Metered(&mut hop.meter, &mut lost));
        seen.push(format!("{lost:?} {:?}", hop.finish(now)));
        seen
    }

    fn act() -> impl Strategy<Value = (u64, Act)> {
        let act = prop_oneof![
            12 => prop_oneof![Just(1500), 1u64..3000].prop_map(Act::Push),
            2 => Just(Act::Look),
            1 => Just(Act::Reset),
        ];
        (prop_oneof![Just(0), Just(100_000), 0u64..400_000, 0u64..10_000_000], act)
    }

    fn limit() -> impl Strategy<Value = Amount> {
        prop_oneof![
            Just(Amount::Unlimited),
            (1u64..9).prop_map(Amount::Packets),
            (1u64..9000).prop_map(|bytes| Amount::Bytes(Bytes::new(bytes))),
        ]
    }

    proptest! {
        /// Whether departures are planned or processed one by one cannot be told from the results.
        #[test]
        fn planned_departures_are_those_of_a_link_that_waits_for_each(
            (rate, delay) in (
                prop_oneof![Just(u64::MAX), Just(120_000_000), 1_000u64..1_000_000_000],
                prop_oneof![Just(0u64), 0u64..20_000_000],
            ),
            (limit, counts_in_service, overhead) in (limit(), any::<bool>(), 0u64..40),
            acts in prop::collection::vec(act(), 1..300),
        ) {
            let spec = LinkSpec {
                name: "a".into(),
                mean_capacity: Rate::from_bps(rate),
                draws: false,
                parts: LinkParts {
                    capacity: CapacityParts::Constant(Rate::from_bps(rate)),
                    service: Service::Fluid,
                    queue: QueueConfig::DropTail(DropTailConfig { limit, counts_in_service, ..Default::default() }),
                    loss: LossParts::None,
                    arq: None,
                    netem: Default::default(),
                    delay: Span::from_nanos(delay).into(),
                    reorders: false,
                    framing: Framing { overhead: Bytes::new(overhead), cells: None, in_queue: false },
                    packet: Bytes::new(1500),
                    bdp: Bytes::new(1500),
                    groups: [].into(),
                    policing: Vec::new(),
                },
            };
            prop_assert_eq!(driven(&spec, &acts, true), driven(&spec, &acts, false));
        }
    }
}
