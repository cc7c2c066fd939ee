//! Links and sockets in simulated time: one thread, which handles them instant by instant.
//!
//! Where the kernel's clock stands still while anybody computes (User-mode Linux with `time-travel=inf-cpu`), nothing is
//! ever late: what is due at an instant is handled at it. One thread does so in a fixed order (links, then sockets, then
//! what the kernel has sent meanwhile), so that the same scenario gives the same bytes. It asks for the time only when the
//! kernel has sent something by itself, since each system call costs a hundred times what it does on a host.

use varicap_units::Time;

use crate::director::FlowDirector;
use crate::emulator::Emulator;
use crate::error::TestbedError;
use crate::flows::Endpoints;
use crate::sys::Clock;

/// The TUN on the senders' side, and the one on the receivers'.
const SENDERS: usize = 0;
const RECEIVERS: usize = 1;

/// The links of a run and its sockets.
pub(crate) struct Lockstep<'a> {
    pub(crate) emulator: &'a mut Emulator<FlowDirector>,
    pub(crate) endpoints: &'a mut Endpoints,
    pub(crate) clock: Clock,
}

/// Makes the event queue of the sockets wait for the TUNs, too.
pub(crate) fn prepare(
    emulator: &mut Emulator<FlowDirector>,
    endpoints: &Endpoints,
) -> Result<(), TestbedError> {
    emulator.answers_when_asked();
    emulator.director.arrivals = Some(Vec::new());
    emulator.tuns().iter().enumerate().try_for_each(|(port, tun)| endpoints.watch_tun(tun, port))
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
            // By its own timer it wakes at the instant itself.
            now = if self.endpoints.wait(due)? { due } else { self.clock.now().min(end) };
            self.carry(now)?;
            self.endpoints.handle(&|| now)?;
            self.hear(now)?;
        }
    }

    /// Handles what came out of the links by `now`, instant by instant: receivers read what they got, and what is sent in
    /// answer leaves at the same instant.
    fn carry(&mut self, now: Time) -> Result<(), TestbedError> {
        while let Some(at) = self.emulator.step(now)? {
            let mut has_read = false;
            while let Some(tag) = self.emulator.director.next_arrival() {
                has_read |= self.endpoints.on_arrival(at, tag)?;
            }
            for port in [RECEIVERS, SENDERS] {
                if self.emulator.has_released(port) || has_read && port == RECEIVERS {
                    self.emulator.read_port(at, port)?;
                }
            }
        }
        Ok(())
    }

    /// Takes what sockets have sent by `now`, and what they have told the network.
    fn hear(&mut self, now: Time) -> Result<(), TestbedError> {
        self.emulator.look_for_messages(now);
        for port in self.endpoints.take_stirred() {
            self.emulator.read_port(now, port)?;
        }
        Ok(())
    }
}
