//! Endpoints in simulated time: what [`crate::lockstep`] drives, instead of a thread of their own.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use varicap_units::Time;

use super::{Endpoints, MOST_AT_ONCE, TUN};
use crate::error::{Step, TestbedError};
use crate::sys::{Interest, Task};
use crate::tun::Tun;

impl Endpoints {
    /// Waits for packets of a TUN, that of side number `port`, as well as for sockets.
    pub(crate) fn watch_tun(&self, tun: &Tun, port: usize) -> Result<(), TestbedError> {
        self.poll.add(tun, TUN - port as u64, Interest::Read).step("wait for a TUN device")
    }

    /// A descriptor that is readable when there is an event.
    pub(crate) fn events(&self) -> RawFd {
        self.poll.handle()
    }

    /// Looks for events, which [`Endpoints::handle`] then finds.
    pub(crate) fn look(&mut self) -> Result<(), TestbedError> {
        self.poll.wait(0).step("look for events of sockets")
    }

    /// Reading what has arrived for the connection of a tag, which names its group and its sender's port; with the slot of
    /// the connection, for [`Endpoints::on_arrived`].
    pub(crate) fn reading(&self, tag: u32) -> Option<(u32, Task<'static>)> {
        let slot = *self.ports.get(&((tag >> 16) as u16, tag as u16))?;
        let receiver = self.connections[slot as usize].as_ref()?.receiver.as_ref()?;
        Some((slot, Task::Discard(receiver.as_raw_fd(), MOST_AT_ONCE)))
    }

    /// Notes what came of reading at the receiver of a connection.
    pub(crate) fn on_arrived(
        &mut self,
        now: Time,
        slot: u32,
        read: io::Result<usize>,
    ) -> Result<(), TestbedError> {
        self.on_discarded(slot, now, read)
    }

    /// The sides that have done something since the last call, for which there may be packets.
    pub(crate) fn take_stirred(&mut self) -> [bool; 2] {
        std::mem::take(&mut self.stirred)
    }
}
