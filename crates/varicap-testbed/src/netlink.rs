//! Interfaces, addresses, routes and queues of the present network namespace, set through netlink (rtnetlink(7)):
//! no other program is needed.

use std::ffi::c_int;
use std::io;
use std::os::fd::OwnedFd;

use crate::sys;

/// A connection to the kernel's network configuration, of the namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    fd: OwnedFd,
    sequence: u32,
}

/// The TCP parameters that a route sets for its destination; zero keeps the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteMetrics {
    /// MSS that is announced [B].
    pub advmss: u32,
    /// First congestion window [packets].
    pub initcwnd: u32,
    /// First advertised window [packets].
    pub initrwnd: u32,
    /// Acknowledge every segment.
    pub quickack: u32,
    /// Least RTO [ms]; it is locked.
    pub rto_min_ms: u32,
    /// Ask for ECN.
    pub ecn: bool,
    /// Congestion control of connections over the route, from [`control_name`].
    pub congestion: [u8; CONTROL_NAME],
}

/// The maximum length of a congestion control's name with a zero at its end (TCP_CA_NAME_MAX) [B].
const CONTROL_NAME: usize = 16;

/// The name of a congestion control in [`RouteMetrics`]; names that are longer than the kernel's are cut.
pub fn control_name(name: &str) -> [u8; CONTROL_NAME] {
    let mut bytes = [0; CONTROL_NAME];
    for (to, from) in bytes[..CONTROL_NAME - 1].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    bytes
}

// Numbers of <linux/rtnetlink.h>, <linux/if_link.h> and <linux/if_addr.h>.
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_LOCK: u16 = 1;
const RTAX_ADVMSS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_FEATURES: u16 = 12;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_INITRWND: u16 = 14;
const RTAX_QUICKACK: u16 = 15;
const RTAX_CC_ALGO: u16 = 16;
const RTAX_FEATURE_ECN: u32 = 1;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TC_H_ROOT: u32 = u32::MAX;
/// Number of the loopback interface of any namespace.
const LOOPBACK: u32 = 1;

impl Netlink {
    /// Opens a connection in the namespace that this thread is in.
    pub fn open() -> io::Result<Netlink> {
        let fd = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        Ok(Netlink { fd, sequence: 0 })
    }

    /// Brings interface number `index` up, with the largest packet and the queue of its device [packets].
    pub fn bring_up(&mut self, index: u32, mtu: u32, queue: u32) -> io::Result<()> {
        let mut body = link_header(index);
        attribute(&mut body, IFLA_MTU, &mtu.to_ne_bytes());
        attribute(&mut body, IFLA_TXQLEN, &queue.to_ne_bytes());
        // Without offloads, a segment is a packet; this keeps TCP from joining segments where it still could.
        attribute(&mut body, IFLA_GSO_MAX_SEGS, &1u32.to_ne_bytes());
        self.request(libc::RTM_NEWLINK, 0, &body)
    }

    /// Brings the loopback interface up.
    pub fn bring_loopback_up(&mut self) -> io::Result<()> {
        self.request(libc::RTM_NEWLINK, 0, &link_header(LOOPBACK))
    }

    /// Gives an interface a plain FIFO queue of `limit` packets instead of the default discipline.
    pub fn set_fifo(&mut self, index: u32, limit: u32) -> io::Result<()> {
        let mut body = vec![libc::AF_UNSPEC as u8, 0, 0, 0];
        for word in [index, 0, TC_H_ROOT, 0] {
            body.extend(word.to_ne_bytes());
        }
        attribute(&mut body, TCA_KIND, b"pfifo\0");
        attribute(&mut body, TCA_OPTIONS, &limit.to_ne_bytes());
        self.request(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body)
    }

    /// Gives an interface an address, alone in its network.
    pub fn add_address(&mut self, index: u32, address: [u8; 4]) -> io::Result<()> {
        let mut body = vec![libc::AF_INET as u8, 32, 0, 0];
        body.extend(index.to_ne_bytes());
        attribute(&mut body, IFA_LOCAL, &address);
        attribute(&mut body, IFA_ADDRESS, &address);
        self.request(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body)
    }

    /// Packets for `to` (its first `bits` bits) go out through interface `index`, from `from` if that is given.
    pub fn add_route(
        &mut self,
        index: u32,
        (to, bits): ([u8; 4], u8),
        from: Option<[u8; 4]>,
        metrics: &RouteMetrics,
    ) -> io::Result<()> {
        let mut body = vec![
            libc::AF_INET as u8,
            bits,
            0,
            0,
            libc::RT_TABLE_MAIN,
            libc::RTPROT_STATIC,
            libc::RT_SCOPE_LINK,
            libc::RTN_UNICAST,
        ];
        body.extend(0u32.to_ne_bytes());
        if bits > 0 {
            attribute(&mut body, RTA_DST, &to);
        }
        attribute(&mut body, RTA_OIF, &index.to_ne_bytes());
        if let Some(from) = from {
            attribute(&mut body, RTA_PREFSRC, &from);
        }
        let metrics = metrics.attributes();
        if !metrics.is_empty() {
            attribute(&mut body, RTA_METRICS, &metrics);
        }
        self.request(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body)
    }

    /// Makes the namespace accept packets for any address as its own, except for `peer`, which lies behind interface
    /// `index`.
    pub fn take_all_addresses(
        &mut self,
        index: u32,
        peer: [u8; 4],
        to_peer: &RouteMetrics,
    ) -> io::Result<()> {
        // Both in the table that is searched first, where the longer prefix wins.
        for (to, bits, out, scope, kind) in [
            (peer, 32, index, libc::RT_SCOPE_LINK, libc::RTN_UNICAST),
            ([0; 4], 0, LOOPBACK, libc::RT_SCOPE_HOST, libc::RTN_LOCAL),
        ] {
            let mut body = vec![libc::AF_INET as u8, bits, 0, 0];
            body.extend([libc::RT_TABLE_LOCAL, libc::RTPROT_STATIC, scope, kind]);
            body.extend(0u32.to_ne_bytes());
            attribute(&mut body, RTA_DST, &to);
            attribute(&mut body, RTA_OIF, &out.to_ne_bytes());
            let metrics = to_peer.attributes();
            if kind == libc::RTN_UNICAST && !metrics.is_empty() {
                attribute(&mut body, RTA_METRICS, &metrics);
            }
            self.request(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &body)?;
        }
        Ok(())
    }

    /// Sends a request and waits for the kernel's answer.
    fn request(&mut self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let length = 16 + body.len() as u32;
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut message = Vec::with_capacity(length as usize);
        message.extend(length.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend(0u32.to_ne_bytes());
        message.extend(body);
        sys::write(&self.fd, &message)?;
        // The kernel answers before `write` returns: nlmsghdr, then the error number.
        let mut answer = [0; 1024];
        let count = sys::read(&self.fd, &mut answer)?;
        let error = answer.get(16..20).filter(|_| count >= 20);
        let error = error.and_then(|bytes| bytes.try_into().ok()).map_or(-libc::EPROTO, i32::from_ne_bytes);
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-error)) }
    }
}

impl RouteMetrics {
    fn attributes(&self) -> Vec<u8> {
        let locked = if self.rto_min_ms > 0 { 1 << RTAX_RTO_MIN } else { 0 };
        let features = if self.ecn { RTAX_FEATURE_ECN } else { 0 };
        let all = [
            (RTAX_LOCK, locked),
            (RTAX_ADVMSS, self.advmss),
            (RTAX_INITCWND, self.initcwnd),
            (RTAX_FEATURES, features),
            (RTAX_RTO_MIN, self.rto_min_ms),
            (RTAX_INITRWND, self.initrwnd),
            (RTAX_QUICKACK, self.quickack),
        ];
        let mut bytes = Vec::new();
        for (name, value) in all.into_iter().filter(|(_, value)| *value > 0) {
            attribute(&mut bytes, name, &value.to_ne_bytes());
        }
        if self.congestion[0] != 0 {
            attribute(&mut bytes, RTAX_CC_ALGO, &self.congestion);
        }
        bytes
    }
}

/// The ifinfomsg of a request to bring an interface up.
fn link_header(index: u32) -> Vec<u8> {
    let up = libc::IFF_UP as u32;
    let mut body = vec![libc::AF_UNSPEC as u8, 0, 0, 0];
    for word in [index, up, up] {
        body.extend(word.to_ne_bytes());
    }
    body
}

/// Appends an attribute, padded to four bytes.
fn attribute(body: &mut Vec<u8>, name: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(name.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
