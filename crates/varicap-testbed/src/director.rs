//! The emulator's view of a scenario's flows: routes their packets, measures them on the wire, and advertises rates to
//! their senders.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use varicap_engine::{Feedback, meters_of};
use varicap_experiment::measure::{FlowMeter, SenderTotals};
use varicap_experiment::series::ReservedState;
use varicap_experiment::{Network, Transport};
use varicap_net::feedback::KnownRtt;
use varicap_net::{Frame, Policed};
use varicap_units::{Bytes, Rate, Span, Stream, Streams, Time, stream_name};

use crate::addresses;
use crate::bpf::{Listener, Ratcp};
use crate::emulator::{Director, Way};
use crate::net::Net;
use crate::packet::{Packet, ipv4};
use crate::plan::Plan;
use crate::sockets::Capped;

/// A message from the thread of the sockets to the director.
#[derive(Debug)]
pub enum Message {
    /// A connection was opened.
    Opened {
        /// Its number, unique among open connections.
        connection: u32,
        /// Its flow group.
        group: u16,
        /// Its name in the names of its random streams.
        name: String,
        /// Its sender's port.
        port: u16,
        /// Its entry in the kernel's map of advertised rates, if it uses RATCP.
        listener: Option<Listener>,
        /// Its sending socket, if that sends no faster than the network advertises.
        capped: Option<Capped>,
    },
    /// A connection of a group has become active, or is no longer.
    Active {
        /// Its flow group.
        group: u16,
        /// Whether it has more to send.
        is_active: bool,
    },
    /// A connection is over.
    Closed {
        /// Its number.
        connection: u32,
        /// Its flow group.
        group: u16,
    },
}

/// A flow group on the wire.
#[derive(Debug)]
struct Group {
    /// Meter of its first member.
    meter: u32,
    /// Whether each member has a port and a meter of its own.
    is_single: bool,
    is_tcp: bool,
    correction: i32,
    /// The link of the first member's ABR source.
    buffer: Option<usize>,
}

/// The processing jitter of a sender, which delays its answers.
#[derive(Debug)]
struct Jitter {
    longest: Span,
    stream: Stream,
    release: Time,
}

/// Routes, measures and advises the flows of a network as the emulator sees them.
pub struct FlowDirector {
    groups: Vec<Group>,
    /// A meter for each flow, or group of transfers: what it delivered on the wire, and the round trips of its data.
    pub meters: Vec<FlowMeter>,
    tracks: HashMap<u32, Track>,
    jitters: Vec<Option<Jitter>>,
    feedback: Option<Feedback>,
    ratcp: Option<Arc<Ratcp>>,
    /// The connections to which rates are advertised, by their numbers.
    hearers: HashMap<u32, Hearer>,
    messages: Receiver<Message>,
    /// Rates for the applications of connections.
    rates: Sender<(u32, Rate)>,
    streams: Streams,
    heard: Vec<(u32, Rate)>,
}

/// A connection to which rates are advertised.
#[derive(Debug)]
struct Hearer {
    tag: u32,
    /// The link of its ABR source.
    buffer: Option<usize>,
    listener: Option<Listener>,
    capped: Option<Capped>,
}

/// Names a connection by its group and its sender's port.
fn tag_of(group: u16, port: u16) -> u32 {
    u32::from(group) << 16 | u32::from(port)
}

impl FlowDirector {
    /// The flows of `network`, which the kernel runs by `plan`.
    pub fn new(
        network: &Network,
        plan: &Plan,
        streams: &Streams,
        ratcp: Option<Arc<Ratcp>>,
        messages: Receiver<Message>,
        rates: Sender<(u32, Rate)>,
    ) -> FlowDirector {
        let (mut groups, mut meters, mut jitters) = (Vec::new(), Vec::new(), Vec::new());
        for (flow, planned) in network.flows.iter().zip(&plan.flows) {
            let (mss, is_tcp) = (flow.payload(), matches!(flow.transport, Transport::Tcp { .. }));
            groups.push(Group {
                meter: meters.len() as u32,
                is_single: !flow.carries_arrivals(),
                is_tcp,
                correction: planned.correction,
                buffer: flow.abr.as_ref().map(|abr| abr.first_link),
            });
            for member in 0..meters_of(flow) {
                let mut meter = FlowMeter::new(mss);
                if flow.reservation.is_some() {
                    meter.reserve();
                }
                meters.push(meter);
                let stream = || streams.stream(&stream_name::jitter(&flow.name, member));
                let has_jitter = flow.jitter > Span::ZERO && is_tcp && !flow.carries_arrivals();
                jitters.push(has_jitter.then(|| Jitter {
                    longest: flow.jitter,
                    stream: stream(),
                    release: Time::ZERO,
                }));
            }
        }
        FlowDirector {
            groups,
            meters,
            tracks: HashMap::new(),
            jitters,
            feedback: Feedback::new(network),
            ratcp,
            hearers: HashMap::new(),
            messages,
            rates,
            streams: *streams,
            heard: Vec::new(),
        }
    }

    /// Ends the warm-up: measuring begins at `now`.
    pub fn begin_measuring(&mut self, now: Time, net: &mut Net) {
        let totals = self.reserved_totals(now, net);
        self.meters.iter_mut().zip(totals).for_each(|(meter, total)| meter.reset(now, total));
    }

    /// The totals of each meter's reservations up to `now`. All other totals of senders are counted at the sockets.
    pub fn reserved_totals(&self, now: Time, net: &mut Net) -> Vec<SenderTotals> {
        let mut totals = vec![SenderTotals::default(); self.meters.len()];
        for (&tag, lost) in &net.marked_losses {
            totals[self.meter_of(tag)].marked_lost_packets += lost;
        }
        for (meter, state) in self.reserved_states(now, net) {
            totals[meter].lost_tokens += state.lost_tokens;
        }
        totals
    }

    /// The state at `now` of each reservation that links mark, with its meter.
    pub fn reserved_states(&self, now: Time, net: &mut Net) -> Vec<(usize, ReservedState)> {
        let policed = net.hops.iter_mut().flat_map(|hop| hop.link.policed(now));
        let state = |policed: Policed| {
            let state = ReservedState { rate: policed.rate, lost_tokens: policed.lost_tokens };
            (self.meter_of(Packet::tag_of_flow(policed.flow)), state)
        };
        policed.map(state).collect()
    }

    /// The meter of the flow that is known by `tag`.
    fn meter_of(&self, tag: u32) -> usize {
        let group = &self.groups[(tag >> 16) as usize];
        group.meter as usize + member_of(group, tag)
    }

    fn group(&self, packet: &Packet) -> &Group {
        &self.groups[usize::from(packet.route / 2)]
    }

    /// The meter of a packet's flow.
    fn meter(&self, packet: &Packet) -> usize {
        self.meter_of(packet.tag)
    }
}

/// The number in its group of the flow that is known by `tag`.
fn member_of(group: &Group, tag: u32) -> usize {
    let port = (tag & 0xffff) as u16;
    if group.is_single { usize::from(port.saturating_sub(addresses::FIRST_PORT)) } else { 0 }
}

impl Director for FlowDirector {
    fn direct(&mut self, now: Time, port: usize, packet: &[u8]) -> Option<Way> {
        let headers = ipv4::parse(packet)?;
        let is_reverse = port == 1;
        let (far, near_port) = if is_reverse {
            (headers.source, headers.destination_port)
        } else {
            (headers.destination, headers.source_port)
        };
        let group = addresses::group_of_receiver(far)?;
        let known = self.groups.get(usize::from(group))?;
        let tag = tag_of(group, near_port);
        if headers.protocol == ipv4::TCP && !is_reverse {
            if headers.is_syn {
                self.tracks.insert(tag, Track::default());
            } else if headers.is_last {
                self.tracks.remove(&tag);
            } else if headers.payload > 0
                && let Some(track) = self.tracks.get_mut(&tag)
            {
                track.on_sent(now, headers.sequence, headers.payload);
            }
        }
        let size = (packet.len() as i32 + known.correction).clamp(1, i32::from(u16::MAX)) as u16;
        Some(Way { route: 2 * group + u16::from(is_reverse), exit: u16::from(!is_reverse), size, tag })
    }

    fn entry(&self, packet: &Packet) -> Option<usize> {
        let group = self.group(packet);
        let first = group.buffer.filter(|_| !packet.is_reverse())?;
        Some(first + member_of(group, packet.tag))
    }

    fn release_at(&mut self, now: Time, packet: &Packet) -> Time {
        if !packet.is_reverse() {
            return now;
        }
        let meter = self.meter(packet);
        let Some(jitter) = self.jitters.get_mut(meter).and_then(Option::as_mut) else { return now };
        // Answers that arrive while one is held back leave together with it.
        if jitter.release <= now {
            jitter.release = now + jitter.stream.uniform_span(jitter.longest);
        }
        jitter.release
    }

    fn on_release(&mut self, now: Time, packet: &Packet, bytes: &[u8]) {
        let Some(headers) = ipv4::parse(bytes) else { return };
        let meter = self.meter(packet);
        let Some(meter) = self.meters.get_mut(meter) else { return };
        let size = Bytes::new(u64::from(packet.size));
        if !packet.is_reverse() {
            if packet.is_reserved() {
                meter.on_marked(size);
            }
            if !self.groups[usize::from(packet.route / 2)].is_tcp {
                meter.on_data(size, size);
            } else if headers.payload > 0 {
                meter.on_data(size, Bytes::ZERO);
            }
        } else if let (Some(acknowledged), Some(track)) =
            (headers.acknowledged, self.tracks.get_mut(&packet.tag))
            && let Some(rtt) = track.on_acknowledged(now, acknowledged)
        {
            meter.on_rtt(rtt);
        }
    }

    fn poll_at(&self, net: &Net) -> Time {
        self.feedback.as_ref().map_or(Time::NEVER, |feedback| feedback.poll_at(net))
    }

    fn poll(&mut self, now: Time, net: &mut Net) {
        let Some(feedback) = &mut self.feedback else { return };
        let (hearers, tracks, heard) = (&self.hearers, &self.tracks, &mut self.heard);
        let rtt = |connection: u32| tracks.get(&hearers.get(&connection)?.tag)?.known_rtt();
        feedback.poll(now, net, &rtt, &mut |connection, rate| heard.push((connection, rate)));
        for (connection, rate) in self.heard.drain(..) {
            let Some(hearer) = self.hearers.get_mut(&connection) else { continue };
            if let Some(buffer) = hearer.buffer {
                net.set_rate(now, buffer, rate);
            }
            if let (Some(ratcp), Some(listener)) = (&self.ratcp, &mut hearer.listener) {
                // A socket that has been closed no longer needs the rate.
                let _ = ratcp.advertise(listener, rate);
            }
            if let Some(capped) = &hearer.capped {
                let _ = capped.cap(rate);
            }
            let _ = self.rates.send((connection, rate));
        }
    }

    fn on_ring(&mut self, now: Time, net: &mut Net) {
        let mut is_news = false;
        while let Ok(message) = self.messages.try_recv() {
            is_news = true;
            let Some(feedback) = &mut self.feedback else { continue };
            match message {
                Message::Opened { connection, group, name, port, listener, capped } => {
                    let tag = tag_of(group, port);
                    let known = &self.groups[usize::from(group)];
                    let member = usize::from(port.saturating_sub(addresses::FIRST_PORT));
                    let buffer = known.buffer.map(|first| first + member);
                    self.hearers.insert(connection, Hearer { tag, buffer, listener, capped });
                    feedback.on_open(now, group, connection, &name, &self.streams);
                }
                Message::Active { group, is_active } => feedback.on_activity(group, is_active),
                Message::Closed { connection, group } => {
                    feedback.on_close(group, connection);
                    let gone = self.hearers.remove(&connection);
                    if let (Some(ratcp), Some(listener)) = (&self.ratcp, gone.and_then(|gone| gone.listener))
                    {
                        let _ = ratcp.dismiss(listener);
                    }
                }
            }
        }
        if is_news {
            net.advance(now);
            self.poll(now, net);
        }
    }
}

/// The data of one connection that is on the wire, from which round trips are measured.
#[derive(Debug, Default)]
struct Track {
    flight: VecDeque<Sent>,
    /// The end of the highest segment sent.
    end: u32,
    base: Option<Span>,
    smoothed: Span,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u32,
    at: Time,
    again: bool,
}

/// Whether sequence number `a` lies before `b`.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Track {
    fn on_sent(&mut self, now: Time, sequence: u32, payload: u16) {
        let end = sequence.wrapping_add(u32::from(payload));
        if self.flight.is_empty() || before(self.end, end) {
            self.end = end;
            self.flight.push_back(Sent { end, at: now, again: false });
        } else {
            let overlaps = |sent: &&mut Sent| before(sequence, sent.end) && !before(end, sent.end);
            self.flight.iter_mut().filter(overlaps).for_each(|sent| sent.again = true);
        }
    }

    /// A sample of the round-trip time, unless the acknowledgement covers data that was sent again (Karn): that of the
    /// first segment that it covers, as hosts and the simulator take it, with the time for which a receiver delayed the
    /// acknowledgement. What the network knows of the path is without: the round trip of the last one.
    fn on_acknowledged(&mut self, now: Time, acknowledged: u32) -> Option<Span> {
        let (mut first, mut latest) = (None, None);
        let mut again = false;
        while let Some(sent) = self.flight.front().filter(|sent| !before(acknowledged, sent.end)) {
            again |= sent.again;
            first = first.or(Some(sent.at));
            latest = Some(sent.at);
            self.flight.pop_front();
        }
        let rtt = latest.filter(|_| !again).map(|at| now.since(at))?;
        self.smoothed = match self.base {
            None => rtt,
            Some(_) => Span::from_nanos((7 * self.smoothed.as_nanos() + rtt.as_nanos()) / 8),
        };
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        first.map(|at| now.since(at))
    }

    fn known_rtt(&self) -> Option<KnownRtt> {
        Some(KnownRtt { base: self.base?, smoothed: self.smoothed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    #[test]
    fn a_sample_is_of_the_first_segment_that_an_acknowledgement_covers_and_the_path_is_known_by_the_last() {
        let mut track = Track::default();
        track.on_sent(ms(0), 1000, 500);
        track.on_sent(ms(10), 1500, 500);
        assert_eq!(track.on_acknowledged(ms(100), 1000), None);
        assert_eq!(track.on_acknowledged(ms(110), 2000), Some(Span::from_millis(110)));
        assert_eq!(track.known_rtt().unwrap().base, Span::from_millis(100));
    }

    #[test]
    fn data_that_was_sent_again_gives_no_round_trip() {
        let mut track = Track::default();
        track.on_sent(ms(0), 0, 500);
        track.on_sent(ms(1), 500, 500);
        track.on_sent(ms(200), 0, 500);
        assert_eq!(track.on_acknowledged(ms(300), 1000), None);
        track.on_sent(ms(300), 1000, 500);
        assert_eq!(track.on_acknowledged(ms(400), 1500), Some(Span::from_millis(100)));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut track = Track::default();
        track.on_sent(ms(0), u32::MAX - 99, 500);
        assert_eq!(track.on_acknowledged(ms(7), 400), Some(Span::from_millis(7)));
    }
}
