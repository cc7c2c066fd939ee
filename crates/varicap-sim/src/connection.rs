//! One TCP connection of the world: both endpoints, its application, and its processing jitter.

use std::num::NonZeroU64;

use varicap_engine::{Application, NodeId, Offer, Opening};
use varicap_net::feedback::KnownRtt;
use varicap_tcp::{Place, Receiver, Segment, Sender};
use varicap_units::{Span, Stream, Time};

use crate::packet::{Label, Packet};
use crate::prefetch;

/// Where packets of one direction of a connection set out, and what they have in common.
#[derive(Clone, Copy, Debug)]
pub struct Outset {
    /// The first node on their way.
    pub node: NodeId,
    /// Such a packet, without a segment.
    pub packet: Packet,
}

/// Delays the sender's answer to acknowledgements at random, to avoid phase effects.
#[derive(Debug)]
pub struct Jitter {
    /// More than nothing [ns].
    longest: NonZeroU64,
    stream: Stream,
}

impl Jitter {
    /// Delays that are uniformly distributed from zero to `longest`; none if that is nothing.
    pub fn new(longest: Span, stream: impl FnOnce() -> Stream) -> Option<Jitter> {
        Some(Jitter { longest: NonZeroU64::new(longest.as_nanos())?, stream: stream() })
    }
}

/// The time at which a sender may answer an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Immediately.
    AtOnce,
    /// At the given instant.
    At(Time),
    /// Together with an earlier answer that is still held back.
    Held,
}

/// With this, a generation is none of a packet: theirs have 16 bits.
const CLOSED: u32 = 1 << 16;
/// With this, a closed slot is not free yet.
const LINGERS: u32 = 1 << 17;

/// A connection in its slot.
///
/// Where there are many, each of its cache lines that a packet reads is waited for: what data reads lies together in the
/// middle, after the application's own, and what acknowledgements read is that and the sender's first lines.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    /// Its application.
    pub app: Application,
    /// The generation of its packets; [`CLOSED`] in addition once its transfer is over, and [`LINGERS`] as long as its slot is
    /// in use nevertheless.
    awaited: u32,
    /// Index of its flow group.
    pub group: u16,
    /// Whether its policy counts its intervals in acknowledgements or round trips.
    pub asks: bool,
    /// Whether another connection relays what it delivers.
    pub is_relayed: bool,
    /// The instant at which the sender may answer the acknowledgements that have arrived; NEVER if no answer is held
    /// back.
    pub release: Time,
    /// Its number in the group; none if it carries a transfer that has arrived, or relays such a transfer.
    pub member: Option<u32>,
    /// Index of its meter.
    pub meter: u32,
    /// Index of the meter that counts its round trips.
    pub rtt_meter: u32,
    /// Where its data and its acknowledgements set out, once it has a slot.
    first_nodes: [NodeId; 2],
    bare_packets: [Packet; 2],
    /// The receiving half.
    pub receiver: Receiver,
    /// Slot of the connection that relays what it delivers, once there is one.
    pub relay: Option<u32>,
    /// The link of its ABR source, which its data passes first.
    pub buffer: Option<u32>,
    jitter: Option<Jitter>,
    /// The sending half.
    pub sender: Sender,
}

impl Connection {
    /// The connection of `opening`, which counts on `meter`, and its round trips on `rtt_meter`.
    pub fn new(
        sender: Sender,
        receiver: Receiver,
        app: Application,
        opening: &Opening,
        [meter, rtt_meter]: [u32; 2],
    ) -> Connection {
        Connection {
            asks: sender.counts_intervals(),
            sender,
            receiver,
            app,
            group: opening.group,
            member: opening.member,
            meter,
            rtt_meter,
            awaited: 0,
            is_relayed: false,
            relay: None,
            release: Time::NEVER,
            buffer: None,
            first_nodes: [NodeId::numbered(0); 2],
            bare_packets: [Packet::new(Label::default()); 2],
            jitter: None,
        }
    }

    /// Sets the processing jitter that delays its sender's answers.
    pub fn delay_answers(&mut self, jitter: Option<Jitter>) {
        self.jitter = jitter;
    }

    /// The number of connections that used the slot before it (wraps).
    pub fn generation(&self) -> u16 {
        self.awaited as u16
    }

    /// So many connections used the slot before it (wraps).
    pub fn set_generation(&mut self, generation: u16) {
        debug_assert!(self.is_open(), "the slot of generation {generation} is not in use");
        self.awaited = generation.into();
    }

    /// Whether the slot is in use.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.awaited < CLOSED
    }

    /// Its transfer is over: the slot is free, unless the receiver still waits for the acknowledgement of its FIN. A host that
    /// gave up answers that with a reset.
    pub fn close(&mut self) {
        self.awaited |= CLOSED;
        if self.receiver.is_closing() && !self.sender.gave_up() {
            self.awaited |= LINGERS;
        }
    }

    /// Whether its transfer is over, and the slot is in use nevertheless.
    pub fn lingers(&self) -> bool {
        self.awaited & LINGERS != 0
    }

    /// Whether it lingers for such a packet: it is its own.
    pub fn lingers_for(&self, packet: &Packet) -> bool {
        self.lingers() && self.generation() == packet.generation()
    }

    /// The receiver waits for nothing any more: the slot is free.
    pub fn end_lingering(&mut self) {
        debug_assert!(self.lingers(), "the slot of generation {} is free", self.generation());
        self.awaited &= !LINGERS;
    }

    /// Whether a packet is its own, and not a straggler of a connection that had its slot before.
    #[inline]
    pub fn awaits(&self, packet: &Packet) -> bool {
        self.awaited == u32::from(packet.generation())
    }

    /// The label of its packets without a segment, if it has the slot `owner`; `direction` is 0 or [`Packet::REVERSE`].
    pub fn label(&self, owner: u32, direction: u8) -> Label {
        let (group, generation) = (self.group, self.generation());
        Label { owner, generation, group, flags: direction, ..Label::default() }
    }

    /// Sets where its data and its acknowledgements set out.
    pub fn set_outsets(&mut self, data: Outset, acks: Outset) {
        self.first_nodes = [data.node, acks.node];
        self.bare_packets = [data.packet, acks.packet];
    }

    /// The packet of one of its segments, in `slot`, and the first node on its way; `direction` is 0 or
    /// [`Packet::REVERSE`].
    #[inline(always)]
    pub fn packet(&self, slot: u32, segment: &Segment, direction: u8) -> (NodeId, Packet) {
        let is_reverse = direction == Packet::REVERSE;
        debug_assert!(!is_reverse || segment.len == 0, "a receiver sends data: {segment:?}");
        let control = if is_reverse || segment.len == 0 { Packet::CONTROL } else { 0 };
        let flags = control | Packet::flags_of(segment.flags);
        let way = usize::from(is_reverse);
        (self.first_nodes[way], self.bare_packets[way].of_segment(slot, segment.wire_size, flags))
    }

    /// Begins to load what an acknowledgement needs, if the packet to come `is_reverse`, or else what data does.
    #[inline]
    pub fn prefetch(&self, is_reverse: bool) {
        let first = self.app.first_read();
        if is_reverse {
            prefetch::load_place(Place::between(first, self.receiver.last_of_due()));
            prefetch::load_place(Place::between(&self.jitter, self.sender.last_read()));
        } else {
            prefetch::load_place(Place::between(first, self.receiver.last_read()));
        }
    }

    /// The same of what is no part of it.
    #[inline]
    pub fn prefetch_aside(&self, is_reverse: bool) {
        if is_reverse {
            prefetch::load_place(self.sender.aside());
        } else {
            self.receiver.aside().for_each(prefetch::load_place);
        }
    }

    /// Decides when the sender may answer an acknowledgement that arrived at `now`.
    #[inline]
    pub fn hold_back(&mut self, now: Time) -> Answer {
        let Some(jitter) = &mut self.jitter else { return Answer::AtOnce };
        if !self.release.is_never() {
            return Answer::Held;
        }
        self.release = now + jitter.stream.uniform_span(Span::from_nanos(jitter.longest.get()));
        Answer::At(self.release)
    }

    /// Whether the sender may send at `now`: nothing holds its answer back, or a timer has run out.
    pub fn may_send(&self, now: Time) -> bool {
        self.release.is_never() || self.release <= now || self.sender.poll_at() <= now
    }

    /// Whether it is woken at `now` for its sender alone: neither its application nor its receiver is due, and no answer is
    /// held back.
    #[inline]
    pub fn wakes_sender(&self, now: Time) -> bool {
        self.is_open() && self.release.is_never() && self.app.poll_at() > now && !self.receiver.is_due(now)
    }

    /// The round trips that its sender has measured.
    pub fn known_rtt(&self) -> Option<KnownRtt> {
        Some(KnownRtt { base: self.sender.min_rtt()?, smoothed: self.sender.smoothed_rtt()? })
    }

    /// Whether the end of what it delivers is passed on to its relay by its FIN: a transfer ends by its size.
    pub fn passes_end(&self) -> bool {
        self.receiver.has_ended() && !self.app.is_transfer()
    }

    /// Whether it is the only connection that counts on its meter.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.member.is_some()
    }

    /// Whether its transfer is over: all sent and acknowledged, and the connection closed where FINs close it, or given up.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.app.is_transfer() && self.is_open() && (self.sender.is_over() || self.sender.gave_up())
    }

    /// Passes what the application offers by `now` to the sender. Returns whether that is anything, and whether it is the end:
    /// then the sender is to be closed once what was written has left, as far as it may, since a FIN rides on the last segment
    /// only if that has not.
    #[inline]
    pub fn feed(&mut self, now: Time) -> (bool, bool) {
        let (mut is_any, mut ends) = (false, false);
        while let Some(offer) = self.app.poll(now) {
            match offer {
                Offer::Write(bytes) => self.sender.write(bytes),
                Offer::Withdraw => self.sender.withdraw(),
                Offer::End => ends = true,
            }
            is_any = true;
        }
        (is_any, ends)
    }

    /// An instant after `now` by which to wake it: when one of its parts is to be polled, or before, if it is its sender.
    #[inline]
    pub fn wake_by(&self, now: Time) -> Time {
        self.sender.wake_by(now).min(self.receiver.poll_at()).min(self.app.poll_at())
    }

    /// The instant at which one of its parts is to be polled, apart from an answer that is held back.
    #[inline]
    pub fn poll_at(&self) -> Time {
        self.sender.poll_at().min(self.receiver.poll_at()).min(self.app.poll_at())
    }
}

#[cfg(test)]
mod tests {
    use varicap_experiment::measure::FlowMeter;

    use super::*;

    #[test]
    fn a_connection_and_its_meter_take_25_cache_lines() {
        let bytes = size_of::<Connection>() + size_of::<FlowMeter>();
        assert!(bytes <= 25 * 64, "{bytes} B, of which there may be 100,000");
    }
}
