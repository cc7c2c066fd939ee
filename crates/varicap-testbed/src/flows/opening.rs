//! Sockets of flow groups, and the connections that they open.

use std::cmp::Reverse;

use varicap_engine::meters_of;
use varicap_engine::workload::{Arrivals, DatagramSource, OnOffFeed};
use varicap_experiment::measure::{FlowMeter, SenderTotals};
use varicap_experiment::scenario::App;
use varicap_experiment::{FlowSpec, Transport};
use varicap_tcp::{Congestion, State};
use varicap_units::{Bytes, Time, stream_name};

use super::{Connection, Datagrams, Due, Endpoints, LISTENER, SENDER, token};
use crate::director::Message;
use crate::error::{Step, TestbedError};
use crate::netns::Namespace;
use crate::sockets;
use crate::sys::Interest;

impl Endpoints {
    pub(super) fn add_group(
        &mut self,
        group: u16,
        flow: &FlowSpec,
        receivers: &Namespace,
    ) -> Result<(), TestbedError> {
        let first = self.meters.len() as u32;
        let plan = &self.plans[usize::from(group)];
        self.first_meters.push(first);
        self.arrivals.push(None);
        let mss = match &flow.transport {
            Transport::Tcp { tcp, .. } => tcp.mss,
            Transport::Datagrams(datagrams) => datagrams.size,
        };
        for _ in 0..meters_of(flow) {
            self.meters.push(FlowMeter::new(mss));
            self.standing.push(None);
            self.over.push(SenderTotals::default());
        }
        let start_of = |member: u32| {
            let mut stream = self.streams.stream(&stream_name::start(&flow.name, member));
            stream.start_within(flow.start, flow.start_spread)
        };
        let Transport::Tcp { app, .. } = &flow.transport else {
            self.listeners.push(None);
            let unread = receivers.run(|| sockets::receive_datagrams(group))?;
            self._unread.push(unread.step("make a socket for datagrams")?);
            return self.add_datagrams(group, first, flow);
        };
        let listener = receivers.run(|| sockets::listen(group, plan))?.step("make a listening socket")?;
        let wait = self.poll.add(&listener, token(LISTENER, u32::from(group), 0), Interest::Read);
        wait.step("wait for connections")?;
        self.listeners.push(Some(listener));
        match app {
            App::Arrivals(app) => {
                let arrivals = Arrivals::new(app, &flow.name, flow.start, flow.stop, &self.streams);
                self.agenda.push(Reverse((arrivals.poll_at(), Due::Arrival { group })));
                self.arrivals[usize::from(group)] = Some(arrivals);
            }
            App::Relay(_) => {}
            _ => {
                let openings =
                    (0..flow.count).map(|member| Reverse((start_of(member), Due::Opening { group, member })));
                self.agenda.extend(openings);
            }
        }
        Ok(())
    }

    fn add_datagrams(&mut self, group: u16, first: u32, flow: &FlowSpec) -> Result<(), TestbedError> {
        let Transport::Datagrams(config) = &flow.transport else { return Ok(()) };
        for member in 0..flow.count {
            let mut start = self.streams.stream(&stream_name::start(&flow.name, member));
            let start = start.start_within(flow.start, flow.start_spread);
            let gaps = self.streams.stream(&stream_name::gaps(&flow.name, member));
            let source = DatagramSource::new(config, start, flow.stop, gaps);
            let fd = sockets::send_datagrams(group, member).step("make a socket for datagrams")?;
            let due = Due::Datagram { source: self.datagrams.len() as u32 };
            self.agenda.push(Reverse((source.poll_at(), due)));
            self.datagrams.push(Datagrams { fd, meter: first + member, source });
        }
        Ok(())
    }

    /// Opens a connection of a group: of its member, or of a transfer; returns its slot.
    pub(super) fn open(
        &mut self,
        now: Time,
        group: u16,
        member: Option<u32>,
        size: Option<Bytes>,
    ) -> Result<u32, TestbedError> {
        let flow = &self.flows[usize::from(group)];
        let plan = &self.plans[usize::from(group)];
        let Transport::Tcp { tcp, app } = &flow.transport else {
            return Err(TestbedError::Failed("a datagram flow opens no connection".to_owned()));
        };
        let takes_back = matches!(app, App::OnOff(_)) || (member.is_some() && !flow.stop.is_never());
        let fd = sockets::open(group, member, plan, takes_back).step("make a TCP socket")?;
        let mut listener = None;
        if let (Congestion::Ratcp(config), Some(ratcp)) = (&tcp.congestion, &self.ratcp) {
            let adopted = ratcp.adopt(&fd, config, flow.packet);
            listener = Some(adopted.map_err(|error| TestbedError::Failed(error.to_string()))?);
        }
        let port = sockets::connect(&fd, group, plan, &mut self.requests).step("connect a TCP socket")?;
        let slot = match self.connections.iter().position(Option::is_none) {
            Some(slot) => slot as u32,
            None => {
                self.connections.push(None);
                (self.connections.len() - 1) as u32
            }
        };
        self.generations = (self.generations + 1) & 0x3fff_ffff;
        let generation = self.generations;
        let feed = match (app, member) {
            (App::OnOff(config), Some(member)) => {
                let stream = self.streams.stream(&stream_name::app(&flow.name, member));
                Some(Box::new(OnOffFeed::new(*config, tcp.mss, now, stream)))
            }
            _ => None,
        };
        let size = match app {
            App::Transfer(transfer) => Some(transfer.size),
            _ => size,
        };
        let offered = match app {
            App::Greedy => u64::MAX,
            App::Relay(_) => 0,
            _ => size.map_or(0, Bytes::as_u64),
        };
        let name = stream_name::connection(&flow.name, member);
        self.poll.add(&fd, token(SENDER, slot, generation), Interest::ReadWrite).step("wait for a socket")?;
        self.ports.insert((group, port), slot);
        let is_active = feed.is_none();
        self.connections[slot as usize] = Some(Connection {
            generation,
            group,
            meter: self.first_meters[usize::from(group)] + member.unwrap_or(0),
            sender: fd,
            receiver: None,
            port,
            is_single: member.is_some(),
            size,
            opened: now,
            offered,
            written: 0,
            is_ending: matches!(app, App::Transfer(_) | App::Arrivals(_)),
            has_ended: false,
            delivered: 0,
            is_delivered: false,
            is_active,
            feed,
            stop: if member.is_some() { flow.stop } else { Time::NEVER },
            relay: None,
            waits_for_room: true,
            state: State::Connecting,
            fast_retransmits: 0,
            last: SenderTotals::default(),
        });
        self.tell(Message::Opened { connection: slot, group, name, port, listener });
        if is_active {
            self.tell(Message::Active { group, is_active });
        }
        self.work_feed(now, slot)?;
        Ok(slot)
    }
}
