//! Links and sockets in simulated time: one thread, which handles them instant by instant.
//!
//! Where the kernel's clock stands still while anybody computes (User-mode Linux with `time-travel=inf-cpu`), nothing is
//! ever late: what is due at an instant is handled at it. One thread does so in a fixed order (links, then sockets, then
//! what the kernel has sent meanwhile), so that the same scenario gives the same bytes. A system call costs a guest a
//! hundred times what it costs a host: what belongs to an instant is one of them, and so is the wait for the next one; the
//! time is asked for only when the kernel has sent something by itself.

use std::os::fd::AsRawFd;

use varicap_net::Frame;
use varicap_units::Time;

use crate::director::FlowDirector;
use crate::emulator::Emulator;
use crate::error::{Step, TestbedError};
use crate::flows::Endpoints;
use crate::packet::Packet;
use crate::sys::{self, Clock, Ring, Task};
use crate::tun::Tun;

/// The TUN on the senders' side, and the one on the receivers'.
const PORTS: usize = 2;
/// How many packets of a TUN are read at once: mostly there is one in answer, and then none.
const READS: [usize; PORTS] = [3, 2];
const READS_OF_ALL: usize = READS[0] + READS[1];
/// The number of packets that are written at once.
const MOST_WRITES: usize = 16;

/// The links of a run and its sockets.
pub(crate) struct Lockstep<'a> {
    pub(crate) emulator: &'a mut Emulator<FlowDirector>,
    pub(crate) endpoints: &'a mut Endpoints,
    pub(crate) io: &'a mut IoDriver,
    pub(crate) clock: Clock,
}

/// The means with which tasks are done.
pub(crate) struct IoDriver {
    ring: Ring,
    released: Vec<(usize, Packet)>,
    /// Room for the packets that are read at once.
    buffers: Vec<Vec<u8>>,
}

/// Lets [`Lockstep`] write and read packets, and wait for the TUNs with the sockets.
pub(crate) fn prepare(
    emulator: &mut Emulator<FlowDirector>,
    endpoints: &Endpoints,
) -> Result<IoDriver, TestbedError> {
    emulator.keep_released();
    let mut largest = 0;
    for (port, tun) in emulator.tuns().iter().enumerate() {
        endpoints.watch_tun(tun, port)?;
        largest = largest.max(tun.mtu as usize);
    }
    let mut ring = Ring::new().step("make an io_uring")?;
    for tun in emulator.tuns() {
        ring.try_on(tun).step("try an io_uring")?;
    }
    let buffers = vec![vec![0; largest]; READS_OF_ALL];
    Ok(IoDriver { ring, released: Vec::new(), buffers })
}

impl Lockstep<'_> {
    /// Runs until `end`. `go_on` is called every so often, and stops the run by returning false.
    pub(crate) fn run_until(
        &mut self,
        end: Time,
        go_on: &mut dyn FnMut(Time) -> bool,
    ) -> Result<bool, TestbedError> {
        let mut now = self.clock.now().min(end);
        loop {
            self.carry(now)?;
            self.endpoints.begin(now)?;
            self.hear(now)?;
            if now >= end {
                self.emulator.net.advance(end);
                return Ok(true);
            }
            if !go_on(now) {
                return Ok(false);
            }
            let due = self.emulator.due().min(self.endpoints.due()).min(end);
            if due <= now {
                continue;
            }
            let wait = Task::Wait(self.endpoints.events(), self.clock.at(due));
            let found = self.io.ring.run(&mut [wait]).step("wait for sockets")?[0];
            if found < 0 {
                // Nothing has happened until then.
                now = due;
                continue;
            }
            self.endpoints.look()?;
            now = self.clock.now().min(end);
            self.carry(now)?;
            self.endpoints.handle(&|| now)?;
        }
    }

    /// Handles what came out of the links by `now`, instant by instant.
    fn carry(&mut self, now: Time) -> Result<(), TestbedError> {
        while let Some(at) = self.emulator.step(now)? {
            self.deliver(at)?;
        }
        Ok(())
    }

    /// Writes what the links have released at `at`: receivers read what they get, and what is sent in answer leaves at the
    /// same instant.
    fn deliver(&mut self, at: Time) -> Result<(), TestbedError> {
        let mut released = std::mem::take(&mut self.io.released);
        self.emulator.take_released(&mut released);
        for some in released.chunks(MOST_WRITES) {
            self.write(at, some)?;
        }
        released.clear();
        self.io.released = released;
        Ok(())
    }

    fn write(&mut self, at: Time, released: &[(usize, Packet)]) -> Result<(), TestbedError> {
        let IoDriver { ring, buffers, .. } = &mut *self.io;
        let tuns = self.emulator.tuns();
        let mut tasks = Vec::with_capacity(2 * released.len() + READS_OF_ALL);
        let mut readers = [None; MOST_WRITES];
        let mut sides = [false; PORTS];
        for ((port, packet), reader) in released.iter().zip(&mut readers) {
            sides[*port] = true;
            tasks.push(Task::Write(tuns[*port].as_raw_fd(), self.emulator.net.pool.get(packet.slot)));
            if packet.is_reverse() || packet.is_control() {
                continue;
            }
            if let Some((slot, reading)) = self.endpoints.reading(packet.tag) {
                *reader = Some(slot);
                tasks.push(reading);
            }
        }
        let reads = Reads::add_to(&mut tasks, sides, tuns, buffers);
        let results = ring.run(&mut tasks).step("write to a TUN device")?;
        drop(tasks);
        let mut rest = results.iter().copied();
        let mut next = || rest.next().unwrap_or(-libc::EIO);
        let mut came = [(false, 0); MOST_WRITES];
        for (one, reader) in came.iter_mut().zip(readers).take(released.len()) {
            *one = (next() >= 0, if reader.is_some() { next() } else { 0 });
        }
        let reads = reads.with(rest);
        for (((_, packet), (is_written, read)), reader) in released.iter().zip(came).zip(readers) {
            self.emulator.on_written(packet, is_written);
            if let Some(slot) = reader {
                self.endpoints.on_arrived(at, slot, sys::result(read))?;
            }
        }
        self.take(at, &reads)
    }

    /// Takes what sockets have sent by `now`, and what they have told the network.
    fn hear(&mut self, now: Time) -> Result<(), TestbedError> {
        self.emulator.look_for_messages(now);
        let sides = self.endpoints.take_stirred();
        if sides.contains(&true) { self.read(now, sides) } else { Ok(()) }
    }

    /// Reads from the TUNs of `sides`.
    fn read(&mut self, now: Time, sides: [bool; PORTS]) -> Result<(), TestbedError> {
        let IoDriver { ring, buffers, .. } = &mut *self.io;
        let mut tasks = Vec::with_capacity(READS_OF_ALL);
        let reads = Reads::add_to(&mut tasks, sides, self.emulator.tuns(), buffers);
        let results = ring.run(&mut tasks).step("read from a TUN device")?;
        let reads = reads.with(results.iter().copied());
        self.take(now, &reads)
    }

    /// Sends the packets on their way that have been read, and reads on where there may be more.
    fn take(&mut self, now: Time, reads: &Reads) -> Result<(), TestbedError> {
        let mut sides = [false; PORTS];
        for (place, (port, length)) in reads.each().enumerate() {
            sides[port] = length > 0;
            if length > 0 {
                self.emulator.take(now, port, &self.io.buffers[place][..length as usize])?;
            } else if length != -libc::EAGAIN {
                let error = std::io::Error::from_raw_os_error(-length);
                return Err(error).step("read from a TUN device");
            }
        }
        if sides.contains(&true) { self.read(now, sides) } else { Ok(()) }
    }
}

/// Reads from TUNs: of each its port, and what came of it.
struct Reads {
    all: [(usize, i32); READS_OF_ALL],
    count: usize,
}

impl Reads {
    /// Adds reads from the TUNs of `sides` to `tasks`.
    fn add_to<'a>(
        tasks: &mut Vec<Task<'a>>,
        sides: [bool; PORTS],
        tuns: &[Tun],
        buffers: &'a mut [Vec<u8>],
    ) -> Reads {
        let mut reads = Reads { all: [(0, 0); READS_OF_ALL], count: 0 };
        let mut buffers = buffers.iter_mut();
        for (port, tun) in tuns.iter().enumerate().filter(|(port, _)| sides[*port]) {
            for buffer in buffers.by_ref().take(READS[port]) {
                tasks.push(Task::Read(tun.as_raw_fd(), buffer));
                reads.all[reads.count].0 = port;
                reads.count += 1;
            }
        }
        reads
    }

    /// With what came of them.
    fn with(mut self, results: impl Iterator<Item = i32>) -> Reads {
        self.all.iter_mut().zip(results).for_each(|(read, result)| read.1 = result);
        self
    }

    fn each(&self) -> impl Iterator<Item = (usize, i32)> {
        self.all.iter().copied().take(self.count)
    }
}
