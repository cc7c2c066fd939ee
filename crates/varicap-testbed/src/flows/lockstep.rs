//! Endpoints in simulated time: what [`crate::lockstep`] drives, instead of a thread of their own.

use varicap_units::Time;

use super::{Endpoints, TIMER, TUN};
use crate::error::{Step, TestbedError};
use crate::sys::Interest;
use crate::tun::Tun;

impl Endpoints {
    /// Waits for packets of a TUN, that of side number `port`, as well as for sockets.
    pub(crate) fn watch_tun(&self, tun: &Tun, port: usize) -> Result<(), TestbedError> {
        self.poll.add(tun, TUN - port as u64, Interest::Read).step("wait for a TUN device")
    }

    /// Waits until `due`, or for an event before; returns whether it was `due`.
    pub(crate) fn wait(&mut self, due: Time) -> Result<bool, TestbedError> {
        self.timer.arm(&self.clock, due).step("arm a timer")?;
        self.poll.wait(-1).step("wait for sockets")?;
        let mut events = (0..).map_while(|index| self.poll.ready(index));
        let has_expired = events.any(|ready| ready.token == TIMER);
        if has_expired {
            self.timer.has_expired();
        }
        Ok(has_expired)
    }

    /// Reads what has arrived for the connection of a tag, which names its group and its sender's port; returns whether
    /// there was something.
    pub(crate) fn on_arrival(&mut self, now: Time, tag: u32) -> Result<bool, TestbedError> {
        let place = ((tag >> 16) as u16, tag as u16);
        match self.ports.get(&place) {
            Some(&slot) => self.on_receiver(slot, now),
            None => Ok(false),
        }
    }

    /// The sides that have done something since the last call, for which there may be packets.
    pub(crate) fn take_stirred(&mut self) -> impl Iterator<Item = usize> {
        let stirred = std::mem::take(&mut self.stirred);
        stirred.into_iter().enumerate().filter_map(|(port, is_stirred)| is_stirred.then_some(port))
    }
}
