//! Datagrams: sources that send them, and encoders that hear which arrived.

use std::cmp::Reverse;
use std::os::fd::OwnedFd;

use varicap_engine::workload::DatagramSource;
use varicap_units::{Bytes, Time};

use super::{Due, Endpoints, LARGEST_DATAGRAM, SENDERS, ZEROS};
use crate::sys;

/// UDP and IP header [B].
const UDP_HEADER: usize = 28;
/// The beginning of a datagram of an encoder: the number of its source, and its own [B].
const NUMBERED: usize = 12;

/// A source of datagrams and its socket.
#[derive(Debug)]
pub(super) struct Datagrams {
    pub(super) fd: OwnedFd,
    pub(super) meter: u32,
    pub(super) source: DatagramSource,
}

impl Endpoints {
    /// Sends the datagram of source number `source` that is due, and enters the next.
    pub(super) fn send_datagram(&mut self, now: Time, source: u32) {
        self.stirred[SENDERS] = true;
        let Datagrams { fd, source: state, .. } = &mut self.datagrams[source as usize];
        let departing = state.send(now);
        let payload = (departing.size.as_u64() as usize).saturating_sub(UDP_HEADER).min(LARGEST_DATAGRAM);
        // A datagram that the socket refuses is lost before the network, and counts as sent.
        let _ = match departing.number {
            None => sys::send(fd, &ZEROS[..payload]),
            Some(number) => {
                let mut bytes = ZEROS[..payload.max(NUMBERED)].to_vec();
                bytes[..4].copy_from_slice(&source.to_be_bytes());
                bytes[4..NUMBERED].copy_from_slice(&number.to_be_bytes());
                sys::send(fd, &bytes)
            }
        };
        let next = state.poll_at();
        self.agenda.push(Reverse((next, Due::Datagram { source })));
    }

    /// Reads the datagrams of a group that have arrived, and tells their encoders.
    pub(super) fn receive_datagrams(&mut self, group: u16, now: Time) {
        let Some(Some(socket)) = self.listeners.get(usize::from(group)) else { return };
        let mut bytes = [0; 1 << 16];
        while let Ok(count) = sys::read(socket, &mut bytes) {
            let Some((source, rest)) = bytes[..count].split_first_chunk() else { continue };
            let Some(number) = rest.first_chunk() else { continue };
            let place = u32::from_be_bytes(*source) as usize;
            let Some(Datagrams { source, .. }) = self.datagrams.get_mut(place) else { continue };
            let size = Bytes::new((count + UDP_HEADER) as u64);
            source.on_arrived(now, u64::from_be_bytes(*number), size);
        }
    }
}
