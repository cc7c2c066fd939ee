//! TUN devices: IP packets of a namespace as reads and writes of a descriptor.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::error::{Step, TestbedError};
use crate::netlink::Netlink;
use crate::netns::Namespace;
use crate::sys;

/// The capacity of the device's queue [packets]; it must never overflow, since that loss would be unintended.
const QUEUE_PACKETS: u32 = 20_000;

/// A TUN device inside a namespace. The descriptor may be used from any thread and any namespace.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    /// Its interface number in its namespace.
    pub index: u32,
    /// Largest packet [B].
    pub mtu: u32,
}

impl Tun {
    /// Makes the device `name` in `namespace` and brings it up, for packets of at most `mtu` bytes, with a plain queue.
    pub fn new(namespace: &Namespace, name: &str, mtu: u32) -> Result<Tun, TestbedError> {
        namespace.run(|| Tun::make(name, mtu))?
    }

    fn make(name: &str, mtu: u32) -> Result<Tun, TestbedError> {
        let fd = sys::open_tun(name).step("make a TUN device (/dev/net/tun)")?;
        let index = sys::interface_index(name).step("find the TUN device")?;
        let mut netlink = Netlink::open().step("open a netlink socket")?;
        // Before it is brought up, which is when the device's queue is made.
        netlink.bring_up(index, mtu, QUEUE_PACKETS).step("bring the TUN device up")?;
        netlink.set_fifo(index, QUEUE_PACKETS).step("give the TUN device a plain queue (pfifo)")?;
        netlink.bring_loopback_up().step("bring the loopback interface up")?;
        Ok(Tun { fd, index, mtu })
    }

    /// The next packet that the namespace has sent, if there is one.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a mut [u8]>> {
        match sys::read(&self.fd, buffer) {
            Ok(length) => Ok(buffer.get_mut(..length)),
            Err(error) if sys::is_again(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet to the namespace, whose kernel processes it before this returns.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        sys::write(&self.fd, packet).map(drop)
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// The number of packets that interface `name` of this thread's namespace has lost, in both directions.
pub fn losses(name: &str) -> io::Result<u64> {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev")?;
    let line = table.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    let fields: Vec<u64> =
        line.unwrap_or_default().split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // Received: bytes packets errs drop …; sent from the ninth on alike.
    Ok([2, 3, 10, 11].iter().filter_map(|place| fields.get(*place)).sum())
}
