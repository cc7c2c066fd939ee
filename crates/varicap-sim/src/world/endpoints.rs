//! Connections of transports that are not ours: both ends, the application, and what is measured of them.

use std::sync::Arc;

use varicap_engine::{Application, Breach, Datagram, Endpoint, Host, IP_AND_UDP, Opening, Report, Stage};
use varicap_experiment::measure::SenderTotals;
use varicap_experiment::series::SenderState;
use varicap_experiment::{EndpointSpec, FlowSpec, Transport};
use varicap_tcp::congestion::{CongestionControl, Controller, Start};
use varicap_tcp::{Congestion, TcpConfig};
use varicap_units::{Amount, Bytes, Stream, Time, stream_name};

use super::{World, note_activity};
use crate::net::Net;
use crate::observe::Observer;
use crate::openers::Openers;
use crate::packet::{Label, Packet};

/// What the two ends of a connection are made of.
pub struct EndpointStart<'a> {
    /// The transport.
    pub endpoint: &'a EndpointSpec,
    /// The name of the connection, as the rows of results are called.
    pub connection: &'a str,
    /// The instant at which it opens.
    pub now: Time,
    /// Largest payload of a datagram.
    pub largest: Bytes,
    /// Where its random numbers come from.
    pub seed: [u8; 32],
    /// The congestion control of ours that it asks for.
    pub control: Option<Controller>,
    /// That control's settings.
    pub tcp: &'a TcpConfig,
}

/// Makes the sender and the receiver of a connection, or says why it can't.
pub type EndpointFactory = dyn Fn(EndpointStart<'_>) -> Result<[Box<dyn Endpoint>; 2], String> + Send + Sync;

/// A connection in its slot.
#[derive(Debug)]
struct Pair {
    app: Application,
    group: u16,
    member: Option<u32>,
    meters: [u32; 2],
    generation: u16,
    is_open: bool,
    /// The sender and the receiver.
    ends: [Host; 2],
    report: Report,
    /// The earliest instant at which one of its parts is to be polled.
    due: Time,
}

/// The connections of transports that are not ours, in slots that are reused.
pub struct Endpoints {
    factory: Option<Arc<EndpointFactory>>,
    pairs: Vec<Pair>,
    free: Vec<u32>,
    /// For the keys of transfers that arrive, by flow group.
    arrivals: Vec<Option<Stream>>,
    /// What ended the run.
    pub fault: Option<Breach>,
}

impl Endpoints {
    /// No connection yet; `factory` makes their ends. None where no flow needs them.
    pub fn new(flows: &[FlowSpec], factory: Option<Arc<EndpointFactory>>) -> Option<Box<Endpoints>> {
        let needs = |flow: &FlowSpec| matches!(flow.transport, Transport::Endpoint { .. });
        flows.iter().any(needs).then(|| {
            let arrivals = flows.iter().map(|_| None).collect();
            Box::new(Endpoints { factory, pairs: Vec::new(), free: Vec::new(), arrivals, fault: None })
        })
    }

    /// The instant at which one of them is to be polled next.
    pub fn poll_at(&self) -> Time {
        self.pairs.iter().map(|pair| pair.due).min().unwrap_or(Time::NEVER)
    }

    /// The state of each sender that reports it, and its meter, where that is of one connection.
    pub fn senders(&self) -> impl Iterator<Item = (usize, SenderState)> {
        let open = self.pairs.iter().filter(|pair| pair.is_open && pair.member.is_some());
        open.filter_map(|pair| Some((pair.meters[0] as usize, pair.report.sender?)))
    }

    /// The totals of each connection up to `now`, and its meter.
    pub fn totals(&self, now: Time) -> impl Iterator<Item = (usize, SenderTotals)> {
        self.pairs
            .iter()
            .filter(|pair| pair.is_open)
            .map(move |pair| (pair.meters[0] as usize, pair.totals(now)))
    }

    /// The run is over at `now`: whoever never answered is broken.
    pub fn check_answered(&mut self, now: Time) {
        let ends = self.pairs.iter().filter(|pair| pair.is_open).flat_map(|pair| &pair.ends);
        let broken = ends.map(|end| end.check_answered(now)).find_map(Result::err);
        self.fault = self.fault.take().or(broken);
    }

    /// The two ends of the connection of `opening`, made at `now`.
    fn make(&mut self, now: Time, openers: &Openers, opening: &Opening) -> Result<[Host; 2], Breach> {
        let flow = openers.openings.flow(opening.group);
        let Transport::Endpoint { endpoint, tcp, .. } = &flow.transport else {
            unreachable!("{} has a transport of ours", flow.name)
        };
        let member = opening.member.filter(|_| flow.count > 1);
        let connection = stream_name::connection(&flow.name, member);
        let streams = openers.openings.streams();
        let mut seed = [0; 32];
        let mut draw = |stream: &mut Stream| {
            seed.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&stream.bits().to_le_bytes()));
        };
        match opening.member {
            Some(_) => draw(&mut streams.stream(&stream_name::endpoint(&flow.name, opening.member))),
            None => draw(
                self.arrivals[usize::from(opening.group)]
                    .get_or_insert_with(|| streams.stream(&stream_name::endpoint(&flow.name, None))),
            ),
        }
        let largest = flow.packet.saturating_sub(IP_AND_UDP);
        let control = flow.control().map(|tcp| control_of(openers, flow, opening, tcp, &connection, largest));
        let start = EndpointStart { endpoint, connection: &connection, now, largest, seed, control, tcp };
        let whose = |side: &str| {
            let transport = match endpoint {
                EndpointSpec::Quic(_) => "quic",
                EndpointSpec::Named(name) => name,
            };
            format!("flow `{connection}`: its endpoint `{transport}` ({side})")
        };
        let made = match &self.factory {
            Some(factory) => factory(start),
            None => Err("nobody brought one".to_owned()),
        };
        match made {
            Ok([sender, receiver]) => Ok([
                Host::new(sender, whose("the sender"), flow.packet),
                Host::new(receiver, whose("the receiver"), flow.packet),
            ]),
            Err(why) => Err(Breach { whose: whose("both sides"), what: format!("could not be made: {why}") }),
        }
    }
}

/// The control of ours that drives a transport which is not.
fn control_of(
    openers: &Openers,
    flow: &FlowSpec,
    opening: &Opening,
    tcp: &TcpConfig,
    connection: &str,
    largest: Bytes,
) -> Controller {
    let custom = match (&tcp.congestion, &openers.controls) {
        (Congestion::Custom(name), Some(factory)) => factory(name, connection, tcp),
        _ => None,
    };
    let mut control = match custom {
        Some(control) => Controller::Boxed(control),
        None => {
            let bytes = |amount: Amount| amount.bytes(largest, Bytes::ZERO);
            let start = Start {
                mss: largest,
                packet: flow.packet,
                initial_window: bytes(tcp.initial_window),
                initial_ssthresh: bytes(tcp.initial_ssthresh),
                counting: tcp.counting,
                rounding: tcp.rounding,
            };
            Controller::new(&tcp.congestion, &start)
        }
    };
    if control.wants().random {
        let name = stream_name::control(&stream_name::connection(&flow.name, opening.member));
        control.on_stream(openers.openings.streams().stream(&name));
    }
    control
}

impl Pair {
    fn totals(&self, now: Time) -> SenderTotals {
        let mut totals = SenderTotals {
            sent_packets: self.ends[0].sent(),
            retransmitted_packets: self.report.lost_packets,
            timeouts: self.report.timeouts,
            fast_retransmits: self.report.congestion_events,
            gave_up: (self.report.stage == Stage::GaveUp).into(),
            ..SenderTotals::default()
        };
        totals.watch(&self.app.watched(now));
        totals
    }

    /// Lets everything happen that is due at `now`: the application writes, both ends send, and what came in order is
    /// delivered. Returns whether a transfer is over.
    fn advance(
        &mut self,
        now: Time,
        slot: u32,
        net: &mut Net,
        observer: &mut Observer,
    ) -> Result<bool, Breach> {
        loop {
            while let Some(offer) = self.app.poll(now) {
                self.ends[0].offer(now, offer)?;
            }
            for (end, direction) in self.ends.iter_mut().zip([0, Packet::REVERSE]) {
                while let Some(datagram) = end.poll(now)? {
                    let Datagram { bytes, ecn } = &datagram;
                    let size = (bytes.len() as u64 + IP_AND_UDP.as_u64()) as u16; // Host has seen to that
                    let (owner, generation) = (observer.len() as u32 + slot, self.generation);
                    let flags = Packet::DATAGRAM | direction | Packet::flags_of_codepoint(*ecn);
                    let label =
                        Label { owner, generation, group: self.group, size, flags, ..Label::default() };
                    net.send_bytes(now, Packet::new(label), end.sent(), datagram);
                }
            }
            let meter = observer.meter(self.meters[0] as usize);
            let total = self.ends[1].delivered()?;
            let fresh = total.checked_sub(self.app.delivered());
            let Some(fresh) = fresh else {
                let before = self.app.delivered();
                return Err(
                    self.ends[1].breach(format!("takes back what it delivered: {total} B after {before} B"))
                );
            };
            if fresh > 0 {
                meter.on_in_order(Bytes::new(fresh));
                if let Some(transfer) = self.app.on_delivered(now, fresh) {
                    meter.on_transfer(transfer.size, transfer.took);
                }
            }
            let before = std::mem::replace(&mut self.report, self.ends[0].report()?);
            if self.report.rtt_samples > before.rtt_samples
                && let Some(rtt) = self.report.latest_rtt
            {
                observer.meter(self.meters[1] as usize).on_rtt(rtt);
            }
            if let Some(sender) = self.report.sender.filter(|_| self.member.is_some()) {
                observer.meter(self.meters[0] as usize).on_cwnd(now, sender.cwnd);
            }
            if self.app.poll_at() > now {
                break;
            }
        }
        self.due = self.app.poll_at().min(self.ends[0].poll_at()).min(self.ends[1].poll_at());
        Ok(self.app.is_transfer() && self.report.stage != Stage::Running)
    }
}

impl World {
    /// Opens a connection of a transport that is not ours, and lets it begin.
    pub(super) fn open_endpoints(&mut self, now: Time, opening: &Opening) {
        let Some(endpoints) = &mut self.endpoints else { return };
        let ends = match endpoints.make(now, &self.openers, opening) {
            Ok(ends) => ends,
            Err(breach) => return self.fail(breach),
        };
        let openings = &self.openers.openings;
        let mut pair = Pair {
            app: openings.application(now, opening),
            group: opening.group,
            member: opening.member,
            meters: openings.meters(opening.group, opening.member),
            generation: 0,
            is_open: true,
            ends,
            report: Report::default(),
            due: now,
        };
        if pair.app.is_transfer() {
            self.observer.meter(pair.meters[0] as usize).on_transfer_begun();
        }
        note_activity(&mut self.feedback, &mut self.net, now, pair.group, pair.app.is_active());
        let slot = match endpoints.free.pop() {
            Some(slot) => {
                let place = &mut endpoints.pairs[slot as usize];
                pair.generation = place.generation.wrapping_add(1);
                *place = pair;
                slot
            }
            None => {
                endpoints.pairs.push(pair);
                (endpoints.pairs.len() - 1) as u32
            }
        };
        self.advance_endpoints(now, slot);
        self.wake_endpoints();
    }

    /// Lets what is due at `now` happen at the connection in `slot`.
    fn advance_endpoints(&mut self, now: Time, slot: u32) {
        let Some(endpoints) = &mut self.endpoints else { return };
        let pair = &mut endpoints.pairs[slot as usize];
        let was_active = pair.app.is_active();
        let outcome = pair.advance(now, slot, &mut self.net, &mut self.observer);
        let (group, is_active) = (pair.group, pair.app.is_active());
        if is_active != was_active {
            note_activity(&mut self.feedback, &mut self.net, now, group, is_active);
        }
        match outcome {
            Ok(false) => {}
            Ok(true) => self.close_endpoints(now, slot),
            Err(breach) => self.fail(breach),
        }
    }

    /// A transfer is over, or was given up: its slot is free. What is still under way is nobody's.
    fn close_endpoints(&mut self, now: Time, slot: u32) {
        let Some(endpoints) = &mut self.endpoints else { return };
        let pair = &mut endpoints.pairs[slot as usize];
        pair.is_open = false;
        pair.due = Time::NEVER;
        endpoints.free.push(slot);
        let meter = pair.meters[0] as usize;
        self.observer.add_totals(meter, &pair.totals(now));
        let meter = self.observer.meter(meter);
        if pair.member.is_some() {
            meter.on_close(now);
        }
        if !pair.app.is_delivered() {
            meter.on_transfer_given_up();
        }
        if pair.app.is_active() {
            note_activity(&mut self.feedback, &mut self.net, now, pair.group, false);
        }
        self.openers.openings.on_close(pair.group);
    }

    /// Polls the connections that are due at `now`.
    #[cold]
    pub(super) fn poll_endpoints(&mut self, now: Time) {
        let count = self.endpoints.as_ref().map_or(0, |endpoints| endpoints.pairs.len());
        for slot in 0..count {
            if self.endpoints.as_ref().is_some_and(|endpoints| endpoints.pairs[slot].due <= now) {
                self.advance_endpoints(now, slot as u32);
            }
        }
        self.wake_endpoints();
    }

    /// A datagram is at its end of a connection of a transport that is not ours.
    pub(super) fn arrive_at_endpoint(&mut self, now: Time, packet: &Packet, datagram: &Datagram) {
        let slot = packet.owner() - self.observer.len() as u32;
        let Some(endpoints) = &mut self.endpoints else { return };
        let pair = &mut endpoints.pairs[slot as usize];
        if !pair.is_open || pair.generation != packet.generation() {
            return; // a straggler
        }
        let end = usize::from(!packet.is_reverse());
        if let Err(breach) = pair.ends[end].push(now, datagram) {
            return self.fail(breach);
        }
        if !packet.is_reverse() {
            let size = varicap_net::Frame::wire_size(packet);
            self.observer.meter(pair.meters[0] as usize).on_data(size, Bytes::ZERO);
        }
        self.advance_endpoints(now, slot);
        self.wake_endpoints();
    }

    /// The node of all endpoints is woken when the first of them is due.
    fn wake_endpoints(&mut self) {
        if let (Some(node), Some(endpoints)) = (self.endpoints_node, &self.endpoints) {
            self.net.queue.wake(node, endpoints.poll_at());
        }
    }

    /// An endpoint broke its contract: the run ends with that as soon as this event is over.
    #[cold]
    fn fail(&mut self, breach: Breach) {
        if let Some(endpoints) = &mut self.endpoints {
            endpoints.fault.get_or_insert(breach);
            endpoints.pairs.iter_mut().for_each(|pair| pair.due = Time::NEVER);
        }
        self.events.ask_next();
    }

    /// Takes what an endpoint did that ended the run; at its end, whether one never answered.
    pub(crate) fn take_fault(&mut self, end: Option<Time>) -> Option<Breach> {
        let endpoints = self.endpoints.as_mut()?;
        if let Some(end) = end {
            endpoints.check_answered(end);
        }
        endpoints.fault.take()
    }

    /// Whether an endpoint has ended the run.
    pub(super) fn has_failed(&self) -> bool {
        self.endpoints.as_ref().is_some_and(|endpoints| endpoints.fault.is_some())
    }
}
