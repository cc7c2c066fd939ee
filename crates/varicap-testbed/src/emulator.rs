//! The emulator: carries packets from TUN devices over the links of a network, and releases each at its ideal time.
//!
//! Links, wires and feedback are handled in order of their ideal times, however late the machine wakes us, so that
//! lateness never accumulates inside the network. A receiver's answer is stamped with the ideal time of the packet that
//! it answers, since it is sent while that packet is written. A sender's packet arrives when it is read, never earlier:
//! its kernel must not base its window on a round trip shorter than the path.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use varicap_experiment::Network;
use varicap_units::{Streams, Time};

use crate::error::{Step, TestbedError};
use crate::fidelity::Lateness;
use crate::net::Net;
use crate::packet::{Packet, ipv4};
use crate::sys::{Bell, Clock, Interest, Poll, Timer};
use crate::tun::Tun;

/// Decides which route each packet takes, and observes packets at both ends of it.
pub trait Director {
    /// The route of a packet that came out of TUN number `port`; `None` if it does not belong to the emulation.
    fn direct(&mut self, now: Time, port: usize, packet: &[u8]) -> Option<Way>;
    /// The link that a packet enters instead of the first node of its route, if there is one.
    fn entry(&self, _packet: &Packet) -> Option<usize> {
        None
    }
    /// The instant at which a packet that came out of the network may be written to its TUN: `now`, or later for a host
    /// with processing jitter.
    fn release_at(&mut self, now: Time, _packet: &Packet) -> Time {
        now
    }
    /// Notes that a packet is written to its TUN.
    fn on_release(&mut self, _now: Time, _packet: &Packet, _bytes: &[u8]) {}
    /// The instant at which the director is to be polled next.
    fn poll_at(&self, _net: &Net) -> Time {
        Time::NEVER
    }
    /// Handles what is due by `_now`.
    fn poll(&mut self, _now: Time, _net: &mut Net) {}
    /// Handles messages from other threads, one of which has rung the bell.
    fn on_ring(&mut self, _now: Time, _net: &mut Net) {}
}

/// The route of a packet, and its attributes on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The number of the route: flow group `n` of the network has route 2 n from its sender, and route 2 n + 1 back.
    pub route: u16,
    /// The TUN that it leaves by.
    pub exit: u16,
    /// Size that links see [B].
    pub size: u16,
    /// The number by which the director identifies its flow.
    pub tag: u32,
}

/// Stops an emulator, or makes it look for messages, from another thread.
#[derive(Clone, Debug)]
pub struct Remote {
    bell: Arc<Bell>,
    stopped: Arc<AtomicBool>,
}

impl Remote {
    /// Stops the emulator.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.bell.ring();
    }

    /// Makes the emulator's director look for messages.
    pub fn ring(&self) {
        self.bell.ring();
    }
}

/// A packet that came out of the network and waits at its host: until when, a number that keeps ties in order, and its
/// destination.
type Held = Reverse<(Time, u64, u16, Packet)>;

/// Drives the links of a network with the packets of TUN devices.
pub struct Emulator<D> {
    /// The links.
    pub net: Net,
    /// Decides the routes of packets.
    pub director: D,
    /// How late packets were released.
    pub lateness: Lateness,
    /// Packets that a namespace refused, which is never intended.
    pub refused_packets: u64,
    tuns: Vec<Tun>,
    /// The exit of each route, as the director last gave it.
    exits: Vec<u16>,
    held: BinaryHeap<Held>,
    held_so_far: u64,
    clock: Clock,
    timer: Timer,
    poll: Poll,
    remote: Remote,
    has_rung: bool,
    /// In simulated time [`crate::lockstep`] writes and reads: the packets that it is to write, each with its TUN.
    outbox: Option<Vec<(usize, Packet)>>,
}

/// The number of times that the emulator releases packets that have become due before it reads again.
const MOST_ROUNDS: usize = 4;
const BELL: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

impl<D: Director> Emulator<D> {
    /// An emulator of the idle links of `network` between `tuns`; `clock` defines time zero.
    pub fn new(
        network: &Network,
        streams: &Streams,
        tuns: Vec<Tun>,
        director: D,
        clock: Clock,
    ) -> Result<Emulator<D>, TestbedError> {
        let make = || -> io::Result<(Timer, Poll, Bell)> {
            let (timer, poll, bell) = (Timer::new()?, Poll::new()?, Bell::new()?);
            poll.add(&bell, BELL, Interest::Read)?;
            poll.add(&timer, TIMER, Interest::Read)?;
            for (port, tun) in tuns.iter().enumerate() {
                poll.add(tun, port as u64, Interest::Read)?;
            }
            Ok((timer, poll, bell))
        };
        let (timer, poll, bell) = make().step("make an event queue")?;
        let largest = tuns.iter().map(|tun| tun.mtu).max().unwrap_or(0);
        Ok(Emulator {
            net: Net::new(network, streams, largest),
            director,
            lateness: Lateness::default(),
            refused_packets: 0,
            tuns,
            exits: vec![0; 2 * network.flows.len()],
            held: BinaryHeap::new(),
            held_so_far: 0,
            clock,
            timer,
            poll,
            remote: Remote { bell: Arc::new(bell), stopped: Arc::default() },
            has_rung: false,
            outbox: None,
        })
    }

    /// A handle by which another thread stops it or rings its bell.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Emulates until `end`, or until it is stopped; returns whether it reached `end`.
    pub fn run_until(&mut self, end: Time) -> Result<bool, TestbedError> {
        loop {
            let mut now = self.clock.now().min(end);
            // Writing packets takes time, during which others become due.
            for _ in 0..MOST_ROUNDS {
                self.catch_up(now)?;
                now = self.clock.now().min(end);
                if self.due() > now {
                    break;
                }
            }
            self.catch_up(now)?;
            if now >= end {
                self.net.advance(end);
                return Ok(true);
            }
            if std::mem::take(&mut self.has_rung) {
                self.director.on_ring(now, &mut self.net);
            }
            for port in 0..self.tuns.len() {
                self.read_port(now, port)?;
            }
            let due = self.due().min(end);
            if due > now {
                self.wait(due).step("wait for packets")?;
                self.lateness.on_wake(due, self.clock.now());
            }
            if self.remote.stopped.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
    }

    fn wait(&mut self, due: Time) -> io::Result<()> {
        self.timer.arm(&self.clock, due)?;
        self.poll.wait(-1)?;
        let mut index = 0;
        while let Some(ready) = self.poll.ready(index) {
            index += 1;
            match ready.token {
                BELL => {
                    self.remote.bell.clear();
                    self.has_rung = true;
                }
                TIMER => self.timer.clear(),
                _ => {}
            }
        }
        Ok(())
    }

    /// The instant at which there is something to do next.
    pub(crate) fn due(&self) -> Time {
        let held = self.held.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        self.net.first_due().0.min(held).min(self.director.poll_at(&self.net))
    }

    /// Handles what was due up to `now`, in order of time: at the same instant first feedback, then links, then hosts.
    fn catch_up(&mut self, now: Time) -> Result<(), TestbedError> {
        while self.step(now)?.is_some() {}
        Ok(())
    }

    /// Handles the first thing that was due by `now`, and returns when it was; `None` if nothing was.
    pub(crate) fn step(&mut self, now: Time) -> Result<Option<Time>, TestbedError> {
        let advertised = self.director.poll_at(&self.net);
        let (out, node) = self.net.first_due();
        let held = self.held.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        let at = advertised.min(out).min(held);
        if at > now || at.is_never() {
            return Ok(None);
        }
        if advertised == at {
            self.director.poll(at, &mut self.net);
        } else if out == at {
            // A frame delayed by a change of capacity comes out at a later poll.
            while let Some(packet) = self.net.poll(at, node) {
                self.forward(at, packet)?;
            }
        } else if let Some(Reverse((.., exit, packet))) = self.held.pop() {
            self.release(at, exit, packet)?;
        }
        Ok(Some(at))
    }

    /// Passes a packet that came out of a node, or into the network, on to the next node or its host.
    fn forward(&mut self, now: Time, packet: Packet) -> Result<(), TestbedError> {
        if let Some(node) = self.net.next_node(&packet) {
            self.net.enter(now, node, packet);
            return Ok(());
        }
        let exit = self.exits[usize::from(packet.route)];
        let at = self.director.release_at(now, &packet);
        if at <= now {
            return self.release(now, exit, packet);
        }
        self.held_so_far += 1;
        self.held.push(Reverse((at, self.held_so_far, exit, packet)));
        Ok(())
    }

    /// Writes a packet to its namespace, and reads the receiver's answer.
    fn release(&mut self, due: Time, exit: u16, packet: Packet) -> Result<(), TestbedError> {
        if packet.is_marked() {
            ipv4::mark_ce(self.net.pool.get_mut(packet.slot));
        }
        if packet.is_damaged() {
            ipv4::damage(self.net.pool.get_mut(packet.slot));
        }
        let bytes = self.net.pool.get(packet.slot);
        if !packet.is_damaged() {
            self.director.on_release(due, &packet, bytes);
        }
        let port = usize::from(exit);
        if let Some(outbox) = &mut self.outbox {
            // It leaves at the instant itself.
            self.lateness.on_release(due, due);
            outbox.push((port, packet));
            return Ok(());
        }
        self.lateness.on_release(due, self.clock.now());
        if self.tuns[port].write(bytes).is_err() {
            self.refused_packets += 1;
        }
        self.net.pool.free(packet.slot);
        if packet.is_reverse() {
            return Ok(());
        }
        self.read_port(due, port)
    }

    /// From now on packets are not written, but kept for [`Emulator::take_released`].
    pub(crate) fn keep_released(&mut self) {
        self.outbox = Some(Vec::new());
    }

    /// Exchanges the packets that are to be written, each with its TUN, for an empty `vacant`.
    pub(crate) fn take_released(&mut self, vacant: &mut Vec<(usize, Packet)>) {
        debug_assert!(vacant.is_empty());
        if let Some(outbox) = &mut self.outbox {
            std::mem::swap(outbox, vacant);
        }
    }

    /// Notes what came of a packet that was to be written.
    pub(crate) fn on_written(&mut self, packet: &Packet, is_written: bool) {
        self.refused_packets += u64::from(!is_written);
        self.net.pool.free(packet.slot);
    }

    /// The TUNs.
    pub(crate) fn tuns(&self) -> &[Tun] {
        &self.tuns
    }

    /// Takes a packet that was read from TUN number `port` at `now`.
    pub(crate) fn take(&mut self, now: Time, port: usize, bytes: &[u8]) -> Result<(), TestbedError> {
        let (slot, buffer) = self.net.pool.vacant();
        buffer[..bytes.len()].copy_from_slice(bytes);
        self.on_read(now, port, slot, bytes.len())
    }

    /// Lets the director look for messages at `now`.
    pub(crate) fn look_for_messages(&mut self, now: Time) {
        self.director.on_ring(now, &mut self.net);
    }

    /// Reads the packets that a namespace has sent by `now`.
    fn read_port(&mut self, now: Time, port: usize) -> Result<(), TestbedError> {
        loop {
            let (slot, buffer) = self.net.pool.vacant();
            let read = self.tuns[port].read(buffer).step("read from a TUN device")?;
            let Some(length) = read.map(|bytes| bytes.len()) else { return Ok(()) };
            self.on_read(now, port, slot, length)?;
        }
    }

    /// Sends a packet on its way that was read into the vacant slot of the pool.
    fn on_read(&mut self, now: Time, port: usize, slot: u32, length: usize) -> Result<(), TestbedError> {
        let (_, buffer) = self.net.pool.vacant();
        let bytes = &buffer[..length];
        let Some(way) = self.director.direct(now, port, bytes) else { return Ok(()) };
        let packet = Packet::new(slot, bytes, way.route, way.tag, way.size);
        if let Some(trace) = &mut self.net.trace {
            trace.on_sent(now, &packet, bytes);
        }
        self.net.pool.keep(length);
        self.exits[usize::from(way.route)] = way.exit;
        match self.director.entry(&packet) {
            Some(link) => {
                self.net.enter(now, self.net.link(link), packet);
                Ok(())
            }
            None => self.forward(now, packet),
        }
    }
}
