//! When connections open: members of flow groups at their starts, transfers as they arrive, relays with the first data
//! that they are given. Also assigns each connection its meter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use varicap_app::{App, Start, TransferArrivals};
use varicap_experiment::FlowSpec;
use varicap_experiment::rows::MOST_ROWS_OF_A_GROUP;
use varicap_units::{Bytes, Streams, Time, stream_name};

use crate::application::Application;

/// A connection that is to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Its flow group.
    pub group: u16,
    /// Its number in the group; none if it carries a transfer that has arrived, or relays such a transfer.
    pub member: Option<u32>,
    /// The size of its transfer, if that was decided before it was opened.
    pub size: Option<Bytes>,
    /// The instant at which it opens; for a relay, at which the first connection of its chain did.
    pub opened: Time,
}

/// The outcome of a start or an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A connection opens.
    Connection(Opening),
    /// A transfer is turned away: too many of its group are under way.
    TurnedAway {
        /// Its flow group.
        group: u16,
    },
}

/// The cause of an opening, in the order in which those at the same instant are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A transfer of a group arrives.
    Arrival { group: u16 },
    /// A member of a group starts.
    Start { group: u16, member: u32 },
}

/// A flow group, as far as its openings are concerned.
#[derive(Debug)]
struct Group {
    first_meter: u32,
    arrivals: Option<Box<TransferArrivals>>,
    /// The group that relays what this one delivers.
    relay: Option<u16>,
}

/// Says which connections of a network to open and when, and makes their applications.
///
/// Poll it until `None`, then again at [`Openings::poll_at`].
#[derive(Debug)]
pub struct Openings {
    flows: Arc<[FlowSpec]>,
    groups: Box<[Group]>,
    agenda: BinaryHeap<Reverse<(Time, Due)>>,
    streams: Streams,
}

impl Openings {
    /// All connections of `flows`, none of which is open yet.
    pub fn new(flows: Arc<[FlowSpec]>, streams: Streams) -> Openings {
        let mut agenda = Vec::new();
        let mut first_meter = 0;
        let mut groups = Vec::with_capacity(flows.len());
        for (flow, group) in flows.iter().zip(0u16..) {
            let mut arrivals = None;
            match flow.app() {
                Some(App::Arrivals(app)) => {
                    let source = TransferArrivals::new(app, &flow.name, flow.start, flow.stop, &streams);
                    agenda.push(Reverse((source.poll_at(), Due::Arrival { group })));
                    arrivals = Some(Box::new(source));
                }
                Some(App::Relay(_)) | None => {}
                Some(_) => {
                    agenda.extend((0..flow.count).map(|member| {
                        Reverse((start_of(flow, member, &streams), Due::Start { group, member }))
                    }))
                }
            }
            groups.push(Group { first_meter, arrivals, relay: None });
            first_meter += meters_of(flow);
        }
        for (flow, group) in flows.iter().zip(0u16..) {
            if let Some(relay) = flow.relay {
                groups[relay.of].relay = Some(group);
            }
        }
        Openings { flows, groups: groups.into(), agenda: agenda.into(), streams }
    }

    /// The instant of the next start or arrival.
    pub fn poll_at(&self) -> Time {
        self.agenda.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// The next start or arrival that is due by `now`; its instant is that of [`Openings::poll_at`] before the call.
    pub fn poll(&mut self, now: Time) -> Option<Admission> {
        let &Reverse((at, due)) = self.agenda.peek()?;
        if at > now || at.is_never() {
            return None;
        }
        self.agenda.pop();
        match due {
            Due::Start { group, member } => {
                let opening = Opening { group, member: Some(member), size: None, opened: at };
                Some(Admission::Connection(opening))
            }
            Due::Arrival { group } => {
                let arrivals = self.groups[usize::from(group)].arrivals.as_mut()?;
                let size = arrivals.arrive(at);
                self.agenda.push(Reverse((arrivals.poll_at(), due)));
                Some(match size {
                    Some(_) => Admission::Connection(Opening { group, member: None, size, opened: at }),
                    None => Admission::TurnedAway { group },
                })
            }
        }
    }

    /// The connection that relays what a connection of `group` with the application `app` delivers; `None` if it is not
    /// relayed.
    pub fn relay_of(&self, group: u16, member: Option<u32>, app: &Application) -> Option<Opening> {
        let group = self.groups[usize::from(group)].relay?;
        debug_assert_eq!(member.is_none(), self.flows[usize::from(group)].carries_arrivals());
        Some(Opening { group, member, size: app.size(), opened: app.opened() })
    }

    /// Whether what a group delivers is relayed by another one.
    pub fn is_relayed(&self, group: u16) -> bool {
        self.groups[usize::from(group)].relay.is_some()
    }

    /// The application of a connection that opens at `now`.
    pub fn application(&self, now: Time, opening: &Opening) -> Application {
        let flow = &self.flows[usize::from(opening.group)];
        let Some(app) = flow.app() else { unreachable!("a datagram flow opens no connection") };
        let member = opening.member.unwrap_or(0);
        let stream = || self.streams.stream(&stream_name::app(&flow.name, member));
        let start = Start { at: now, mss: flow.payload(), size: opening.size, stream: &stream };
        // A transfer that has arrived is never cut short.
        let stop = if opening.member.is_some() { flow.stop } else { Time::NEVER };
        Application::new(app, &start, opening.opened, stop)
    }

    /// A connection of `group` is over.
    pub fn on_close(&mut self, group: u16) {
        if let Some(arrivals) = &mut self.groups[usize::from(group)].arrivals {
            arrivals.on_over();
        }
    }

    /// All flow groups, by their numbers.
    pub fn flows(&self) -> &[FlowSpec] {
        &self.flows
    }

    /// The flow group number `group`.
    pub fn flow(&self, group: u16) -> &FlowSpec {
        &self.flows[usize::from(group)]
    }

    /// The random streams of the run.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// The meter of a connection.
    pub fn meter(&self, group: u16, member: Option<u32>) -> u32 {
        self.groups[usize::from(group)].first_meter + member.unwrap_or(0)
    }

    /// The meter of a connection, and the one that counts its round trips: a group that has one row for all of its flows
    /// needs no more than one record of these.
    pub fn meters(&self, group: u16, member: Option<u32>) -> [u32; 2] {
        let has_one_row = self.flow(group).count as usize > MOST_ROWS_OF_A_GROUP;
        let of_rtts = member.filter(|_| !has_one_row);
        [self.meter(group, member), self.meter(group, of_rtts)]
    }

    /// The name of a connection in the names of its random streams.
    pub fn name(&self, group: u16, member: Option<u32>) -> String {
        stream_name::connection(&self.flows[usize::from(group)].name, member)
    }
}

/// The instant at which a member of a flow group starts.
pub fn start_of(flow: &FlowSpec, member: u32, streams: &Streams) -> Time {
    let mut stream = streams.stream(&stream_name::start(&flow.name, member));
    stream.start_within(flow.start, flow.start_spread)
}

/// The number of meters of a flow group: one for each member, or one for all transfers that arrive.
pub fn meters_of(flow: &FlowSpec) -> u32 {
    if flow.carries_arrivals() { 1 } else { flow.count }
}
