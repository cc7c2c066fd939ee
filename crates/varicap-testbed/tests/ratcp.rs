//! RATCP inside the kernel, over the loopback device. It needs root; without, the tests say so and pass.
#![cfg(all(target_os = "linux", feature = "bpf"))]

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use std::time::Duration;

use varicap_tcp::congestion::{RatcpConfig, RateRtt};
use varicap_testbed::bpf::{Listener, Ratcp};
use varicap_testbed::sys;
use varicap_units::{Amount, Bytes, Rate, Span};

/// Which congestion controls the kernel has is counted by one test while others add some.
static ALONE: Mutex<()> = Mutex::new(());

/// A connection under RATCP over the loopback device.
struct Connection {
    ratcp: Ratcp,
    listener: Listener,
    sender: TcpStream,
    receiver: TcpStream,
}

impl Connection {
    /// Packets of 552 bytes and an RTT of 100 ms, whatever the loopback device has.
    fn new(pacing: bool) -> Connection {
        Connection::restarting(pacing, None)
    }

    /// With a window of `restart` packets after idle times.
    fn restarting(pacing: bool, restart: Option<u16>) -> Connection {
        let ratcp = Ratcp::load().unwrap();
        let acceptor = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let rtt = RateRtt::Known(Span::from_millis(100));
        let config = RatcpConfig { beta: Amount::Packets(1), rtt, pacing };
        let sender = TcpStream::connect(acceptor.local_addr().unwrap()).unwrap();
        let listener = ratcp.adopt(&sender, &config, Bytes::new(552), restart).unwrap();
        let (receiver, _) = acceptor.accept().unwrap();
        Connection { ratcp, listener, sender, receiver }
    }

    fn advertise(&mut self, rate: u64) {
        self.ratcp.advertise(&mut self.listener, Rate::from_bps(rate)).unwrap();
    }

    /// Sends more than a window of 20 of the loopback device's packets, and reads it.
    fn send(&mut self) {
        self.send_bytes(4 << 20);
    }

    fn send_bytes(&mut self, length: usize) {
        let data = vec![0; length];
        let (mut sender, mut room) = (&self.sender, vec![0; 1 << 20]);
        std::thread::scope(|scope| {
            scope.spawn(|| sender.write_all(&data).unwrap());
            let mut left = data.len();
            while left > 0 {
                left -= self.receiver.read(&mut room).unwrap();
            }
        });
    }

    /// Sends until the window is this one, and never above. How far it opens in one transfer depends on how many
    /// segments the receiver acknowledges at once, which on a busy machine may be all of them.
    fn send_until(&mut self, cwnd: u64) {
        for _ in 0..30 {
            self.send();
            assert!(self.cwnd() <= cwnd, "{} packets", self.cwnd());
            if self.cwnd() == cwnd {
                return;
            }
        }
        panic!("the window stays at {} packets", self.cwnd());
    }

    /// A field of struct tcp_info.
    fn info(&self, at: usize, width: usize) -> u64 {
        let mut info = [0_u8; 256];
        sys::get_option(&self.sender, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).unwrap();
        let bytes = info[at..at + width].iter().rev();
        bytes.fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    fn cwnd(&self) -> u64 {
        self.info(80, 4)
    }

    fn resent(&self) -> u64 {
        self.info(100, 4)
    }

    /// [B/s of payload]
    fn pacing_rate(&self) -> u64 {
        self.info(104, 8)
    }

    fn mss(&self) -> u64 {
        self.info(16, 4)
    }
}

fn is_root() -> bool {
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !root {
        eprintln!("SKIPPED: loading BPF programs needs root");
    }
    root
}

fn known_controls() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn window_is_rate_times_rtt_and_beta() {
    if !is_root() {
        return;
    }
    let _alone = ALONE.lock();
    let mut connection = Connection::new(false);
    // floor(0.8 Mb/s * 100 ms / 552 B) + 1
    connection.advertise(800_000);
    connection.send_until(19);
    connection.advertise(200_000);
    connection.send();
    assert_eq!(connection.cwnd(), 5);
    // No rate, but a window all the same: one packet.
    connection.advertise(0);
    connection.send_bytes(1 << 18);
    assert_eq!(connection.cwnd(), 1);
    // It opens again as Reno's does, by one in a round trip.
    connection.advertise(800_000);
    connection.send();
    assert!((2..=19).contains(&connection.cwnd()), "{}", connection.cwnd());
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn an_idle_time_leads_back_to_slow_start() {
    if !is_root() {
        return;
    }
    let _alone = ALONE.lock();
    for (restart, windows) in [(Some(3), 3..=5), (None, 19..=19)] {
        let mut connection = Connection::restarting(false, restart);
        connection.advertise(800_000);
        connection.send_until(19);
        // Five RTOs of the loopback device at least: 19, 9, 4, 3 packets.
        std::thread::sleep(Duration::from_millis(1500));
        connection.send_bytes(1);
        assert!(windows.contains(&connection.cwnd()), "{restart:?}: {} packets", connection.cwnd());
        // Up to where the rate allows.
        connection.send_until(19);
    }
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn without_a_rate_it_is_reno() {
    if !is_root() {
        return;
    }
    let _alone = ALONE.lock();
    // The loopback device of a busy machine makes any control resend now and then, which halves the window.
    let undisturbed = || {
        let mut connection = Connection::new(false);
        connection.send();
        (connection.resent() == 0).then_some(connection)
    };
    let mut connection = (0..300).find_map(|_| undisturbed()).expect("one transfer without a retransmission");
    // Where it began (RFC 6928), or above.
    assert!(connection.cwnd() >= 10, "{}", connection.cwnd());
    connection.advertise(300_000);
    connection.send();
    assert_eq!(connection.cwnd(), 7);
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn pacing_follows_the_rate_in_payload() {
    if !is_root() {
        return;
    }
    let _alone = ALONE.lock();
    let mut connection = Connection::new(true);
    // Fast, so that the test does not wait for it.
    connection.advertise(80_000_000_000);
    connection.send();
    let expected = 80_000_000_000 / 8 * connection.mss() / 552;
    assert_eq!(connection.pacing_rate(), expected);
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn runs_have_names_of_their_own_and_leave_nothing_behind() {
    if !is_root() {
        return;
    }
    let _alone = ALONE.lock();
    let before = known_controls();
    let (a, b) = (Ratcp::load().unwrap(), Ratcp::load().unwrap());
    assert_ne!(a.name(), b.name());
    assert!(known_controls().contains(a.name()) && known_controls().contains(b.name()));
    drop((a, b));
    assert_eq!(known_controls(), before);
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn connections_that_are_over_make_room() {
    if !is_root() {
        return;
    }
    let _alone = ALONE.lock();
    let Connection { ratcp, listener, .. } = Connection::new(false);
    ratcp.dismiss(listener).unwrap();
}
