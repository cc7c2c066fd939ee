//! Sockets of flow groups, and the connections that they open.

use std::cmp::Reverse;

use varicap_engine::workload::DatagramSource;
use varicap_engine::{Opening, meters_of, start_of};
use varicap_experiment::measure::{FlowMeter, SenderTotals};
use varicap_experiment::scenario::DatagramRate;
use varicap_experiment::{FlowSpec, Transport};
use varicap_tcp::{Congestion, State};
use varicap_units::{Time, stream_name};

use super::datagrams::Datagrams;
use super::{Connection, ConnectionId, DATAGRAMS, Due, Endpoints, LISTENER, Outbox, SENDER, Samples, token};
use crate::director::Message;
use crate::error::{Step, TestbedError};
use crate::netns::Namespace;
use crate::sockets::{self, Capped, UNSENT};
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
        debug_assert_eq!(first, self.openings.meter(group, None), "meters stand in the order of the groups");
        let mss = flow.payload();
        for _ in 0..meters_of(flow) {
            self.meters.push(FlowMeter::new(mss));
            self.standing.push(None);
            self.samples.push(Samples::default());
            self.over.push(SenderTotals::default());
        }
        if let Transport::Datagrams(config) = &flow.transport {
            let socket = receivers.run(|| sockets::receive_datagrams(group))?;
            let socket = socket.step("make a socket for datagrams")?;
            // Of a constant rate nobody wants to hear: its socket is never read.
            if let DatagramRate::RealTime(_) = config.rate {
                let place = token(DATAGRAMS, u32::from(group), 0);
                self.poll.add(&socket, place, Interest::Read).step("wait for datagrams")?;
            }
            self.listeners.push(Some(socket));
            return self.add_datagrams(group, first, flow);
        }
        let listener = receivers.run(|| sockets::listen(group, plan))?.step("make a listening socket")?;
        let wait = self.poll.add(&listener, token(LISTENER, u32::from(group), 0), Interest::Read);
        wait.step("wait for connections")?;
        self.listeners.push(Some(listener));
        Ok(())
    }

    fn add_datagrams(&mut self, group: u16, first: u32, flow: &FlowSpec) -> Result<(), TestbedError> {
        let Transport::Datagrams(config) = &flow.transport else { return Ok(()) };
        for member in 0..flow.count {
            let streams = self.openings.streams();
            let start = start_of(flow, member, streams);
            let gaps = streams.stream(&stream_name::gaps(&flow.name, member));
            let source = DatagramSource::new(config, start, flow.stop, gaps);
            let fd = sockets::send_datagrams(group, member).step("make a socket for datagrams")?;
            let due = Due::Datagram { source: self.datagrams.len() as u32 };
            self.agenda.push(Reverse((source.poll_at(), due)));
            self.datagrams.push(Datagrams { fd, meter: first + member, source });
        }
        Ok(())
    }

    /// Opens the connection of `opening` at `now`.
    pub(super) fn open(&mut self, now: Time, opening: &Opening) -> Result<ConnectionId, TestbedError> {
        let Opening { group, member, .. } = *opening;
        let flow = &self.flows[usize::from(group)];
        let plan = &self.plans[usize::from(group)];
        let Transport::Tcp { tcp, .. } = &flow.transport else {
            return Err(TestbedError::Failed("a datagram flow opens no connection".to_owned()));
        };
        let app = self.openings.application(now, opening);
        let fd = sockets::open(group, member, plan, if app.may_withdraw() { UNSENT } else { self.unsent })
            .step("make a TCP socket")?;
        let mut listener = None;
        if let (Congestion::Ratcp(config), Some(ratcp)) = (&tcp.congestion, &self.ratcp) {
            let initial = u16::try_from(plan.to_receiver.initcwnd).unwrap_or(u16::MAX);
            let restart = tcp.restart_after_idle.then_some(initial);
            let adopted = ratcp.adopt(&fd, config, flow.packet, restart);
            listener = Some(adopted.map_err(|error| TestbedError::Failed(error.to_string()))?);
        }
        let capped = match &flow.feedback {
            Some(feedback) if feedback.cap => {
                let capped = Capped::new(&fd, tcp.mss, flow.packet, plan);
                Some(capped.step("share a TCP socket")?)
            }
            _ => None,
        };
        let port = sockets::connect(&fd, group, plan, &mut self.requests).step("connect a TCP socket")?;
        let ConnectionId { slot, generation } = self.next_place();
        self.poll.add(&fd, token(SENDER, slot, generation), Interest::ReadWrite).step("wait for a socket")?;
        self.ports.insert((group, port), slot);
        let (is_active, meter) = (app.is_active(), self.openings.meter(group, member));
        if app.is_transfer() {
            self.meters[meter as usize].on_transfer_begun();
        }
        self.connections[slot as usize] = Some(Connection {
            generation,
            group,
            member,
            meter,
            sender: fd,
            receiver: None,
            port,
            app,
            outbox: Outbox::default(),
            relay: None,
            waits_for_room: true,
            state: State::Connecting,
            fast_retransmits: 0,
            gave_up: false,
            last: SenderTotals::default(),
        });
        let name = self.openings.name(group, member);
        self.report(Message::Opened { connection: slot, group, name, port, listener, capped });
        if is_active {
            self.report(Message::Active { group, is_active });
        }
        self.feed(now, slot)?;
        Ok(ConnectionId { slot, generation })
    }

    /// A free slot, and the generation of its next connection.
    fn next_place(&mut self) -> ConnectionId {
        let slot = match self.connections.iter().position(Option::is_none) {
            Some(slot) => slot,
            None => {
                self.connections.push(None);
                self.connections.len() - 1
            }
        };
        self.generations = (self.generations + 1) & 0x3fff_ffff;
        ConnectionId { slot: slot as u32, generation: self.generations }
    }
}
