//! Sockets configured by the plan of a flow, and the kernel's information about them.

use std::io;
use std::os::fd::OwnedFd;

use varicap_experiment::measure::SenderTotals;
use varicap_experiment::series::SenderState;
use varicap_tcp::State;
use varicap_units::{Bytes, Rate, Span};

use crate::addresses;
use crate::netns::set_sysctl;
use crate::plan::FlowPlan;
use crate::sys;

/// The maximum amount of unsent data in the kernel where an application may withdraw data [B].
pub const UNSENT: i32 = 16_384;

/// The options in TCP's connection requests. They are set for the whole namespace, so the last ones are remembered.
#[derive(Debug, Default)]
pub struct Requests {
    sack: Option<bool>,
    timestamps: Option<bool>,
}

impl Requests {
    /// The next connection of this thread's namespace asks for these options.
    fn ask_for(&mut self, sack: bool, timestamps: bool) -> io::Result<()> {
        let set = |known: &mut Option<bool>, value: bool, name: &str| {
            if known.replace(value) == Some(value) {
                return Ok(());
            }
            set_sysctl(name, if value { "1" } else { "0" })
        };
        set(&mut self.sack, sack, "net.ipv4.tcp_sack")?;
        set(&mut self.timestamps, timestamps, "net.ipv4.tcp_timestamps")
    }
}

/// A socket that listens for the connections of a group; to be called in the receivers' namespace.
pub fn listen(group: u16, plan: &FlowPlan) -> io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    sys::set_option(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    clamp_window(&fd, plan)?;
    sys::bind(&fd, addresses::receiver(group), addresses::RECEIVER_PORT)?;
    sys::listen(&fd)?;
    Ok(fd)
}

/// Limits the window that a receiver advertises, if the plan says so. Linux discards the limit whenever it revises its
/// estimate of the size of packets in memory, so it is set again as data arrives.
pub fn clamp_window(fd: &OwnedFd, plan: &FlowPlan) -> io::Result<()> {
    let Some(clamp) = plan.window_clamp else { return Ok(()) };
    let clamp = i32::try_from(clamp).unwrap_or(i32::MAX);
    sys::set_option(fd, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, clamp)
}

/// A socket that receives the datagrams of a group; to be called in the receivers' namespace.
pub fn receive_datagrams(group: u16) -> io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    sys::bind(&fd, addresses::receiver(group), addresses::RECEIVER_PORT)?;
    Ok(fd)
}

/// A socket that sends the datagrams of member `member`; to be called in the senders' namespace.
pub fn send_datagrams(group: u16, member: u32) -> io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    sys::bind(&fd, addresses::sender(group), addresses::FIRST_PORT + member as u16)?;
    sys::connect(&fd, addresses::receiver(group), addresses::RECEIVER_PORT)?;
    Ok(fd)
}

/// A TCP socket of a group, with a fixed port for `member`, that takes up to `unsent` bytes of unsent data; to be called in
/// the senders' namespace, before [`connect`].
pub fn open(group: u16, member: Option<u32>, plan: &FlowPlan, unsent: i32) -> io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    if plan.no_delay {
        sys::set_option(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    }
    if plan.paces {
        // Any limit but none makes TCP pace by itself, without a queue that does; this one limits nothing.
        let most = (u64::MAX - 1).to_ne_bytes();
        sys::set_option_bytes(&fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &most)?;
    }
    if let Some(name) = &plan.congestion {
        sys::set_option_bytes(&fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())?;
    }
    sys::set_option(&fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, unsent)?;
    // However this process ends, the connection then ends with it. An orphan would go on resending for minutes, and keep
    // its congestion control and its namespace. A transfer is closed when both directions have ended, which sends no reset.
    abort_on_close(&fd);
    if let Some(member) = member {
        sys::set_option(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        sys::bind(&fd, addresses::sender(group), addresses::FIRST_PORT + member as u16)?;
    }
    Ok(fd)
}

/// A sending socket whose rate can be limited.
#[derive(Debug)]
pub struct Capped {
    fd: OwnedFd,
    mss: u64,
    packet: u64,
    /// Whether it paces without a cap, too.
    paces: bool,
}

impl Capped {
    /// A second handle of `fd`, whose full segments carry `mss` bytes in packets of `packet`.
    pub fn new(fd: &OwnedFd, mss: Bytes, packet: Bytes, plan: &FlowPlan) -> io::Result<Capped> {
        let (mss, packet) = (mss.as_u64(), packet.as_u64().max(1));
        Ok(Capped { fd: fd.try_clone()?, mss, packet, paces: plan.paces })
    }

    /// From now on it sends no faster than at `rate`, headers included; Linux counts bytes of payload.
    pub fn cap(&self, rate: Rate) -> io::Result<()> {
        let most = match rate {
            Rate::UNLIMITED if self.paces => u64::MAX - 1,
            Rate::UNLIMITED => u64::MAX,
            rate => {
                let bytes = u128::from(rate.as_bps()) * u128::from(self.mss) / u128::from(8 * self.packet);
                u64::try_from(bytes).unwrap_or(u64::MAX - 1).max(1)
            }
        };
        sys::set_option_bytes(&self.fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &most.to_ne_bytes())
    }
}

/// Starts to connect a socket made by [`open`]; returns its port.
pub fn connect(fd: &OwnedFd, group: u16, plan: &FlowPlan, requests: &mut Requests) -> io::Result<u16> {
    requests.ask_for(plan.sack, plan.timestamps)?;
    sys::connect(fd, addresses::receiver(group), addresses::RECEIVER_PORT)?;
    sys::local_port(fd)
}

/// Makes a connection end at once when its socket is closed: by a reset, without the closing handshake.
fn abort_on_close(fd: &OwnedFd) {
    let linger = [1i32.to_ne_bytes(), 0i32.to_ne_bytes()].concat();
    // If this fails, the connection only lingers.
    let _ = sys::set_option_bytes(fd, libc::SOL_SOCKET, libc::SO_LINGER, &linger);
}

/// The kernel's information about a connection (`struct tcp_info` of `<linux/tcp.h>`).
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    bytes: [u8; 256],
    length: usize,
}

impl TcpInfo {
    /// Reads the information about the connection of `fd`.
    pub fn of(fd: &OwnedFd) -> io::Result<TcpInfo> {
        let mut bytes = [0; 256];
        let length = sys::get_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        Ok(TcpInfo { bytes, length })
    }

    /// The four bytes at an offset of the structure; zero if this kernel's structure is shorter.
    fn word(&self, at: usize) -> u32 {
        let bytes = self.bytes.get(at..at + 4).filter(|_| at + 4 <= self.length);
        bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        // TCP_SYN_SENT and TCP_SYN_RECV come before data, TCP_CLOSE is 7.
        !matches!(self.bytes[0], 2 | 3 | 7)
    }

    /// Whether it is over, for instance refused or reset.
    pub fn is_closed(&self) -> bool {
        self.bytes[0] == 7
    }

    /// Congestion window [packets].
    pub fn cwnd(&self) -> u32 {
        self.word(80)
    }

    /// Data that has not been sent yet [B].
    pub fn unsent(&self) -> u32 {
        self.word(144)
    }

    /// The state of loss recovery.
    pub fn state(&self) -> State {
        match self.bytes[1] {
            _ if !self.is_established() => State::Connecting,
            0 => State::Open,
            1 => State::Disorder,
            2 => State::Cwr,
            3 => State::Recovery,
            _ => State::Loss,
        }
    }

    /// The sender's counters; the kernel does not count entries into recovery.
    pub fn totals(&self) -> SenderTotals {
        // Timeouts are counted since Linux 6.7.
        let timeouts = u16::from_ne_bytes([self.bytes[240], self.bytes[241]]);
        SenderTotals {
            sent_packets: u64::from(self.word(156)),
            retransmitted_packets: u64::from(self.word(100)),
            timeouts: if self.length >= 242 { u64::from(timeouts) } else { 0 },
            ..SenderTotals::default()
        }
    }

    /// The state of the sender, which has segments of `mss`.
    pub fn sender_state(&self, mss: Bytes) -> SenderState {
        let packets = |count: u32| Bytes::new(u64::from(count) * mss.as_u64());
        let micros = |at: usize| Span::from_micros(u64::from(self.word(at)));
        let (ssthresh, rtt) = (self.word(76), micros(68));
        // Segments outstanding, less those SACKed or lost, plus those retransmitted.
        let out = self.word(24) + self.word(36);
        SenderState {
            cwnd: packets(self.cwnd()),
            ssthresh: (ssthresh < 0x7fff_ffff).then(|| packets(ssthresh)),
            in_flight: packets(out.saturating_sub(self.word(28) + self.word(32))),
            srtt: (rtt > Span::ZERO).then_some(rtt),
            rto: Some(micros(8)),
            state: self.state(),
        }
    }
}
