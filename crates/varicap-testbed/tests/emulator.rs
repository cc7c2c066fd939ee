//! The emulator between two namespaces. Needs root; says so and passes where it is not.
#![cfg(target_os = "linux")]

use std::net::UdpSocket;
use std::time::Duration;

use varicap_experiment::Scenario;
use varicap_testbed::emulator::{Director, Emulator, Way};
use varicap_testbed::netlink::{Netlink, RouteMetrics};
use varicap_testbed::netns::{Namespace, has_rights};
use varicap_testbed::tun::{Tun, losses};
use varicap_testbed::{Clock, go_first};
use varicap_units::{Span, Streams, Time};

/// Everything that leaves one side goes to the other.
struct Across;

impl Director for Across {
    fn direct(&mut self, _: Time, port: usize, packet: &[u8]) -> Option<Way> {
        let size = packet.len() as u16;
        Some(Way { route: port as u16, exit: 1 - port as u16, size, tag: 0 })
    }
}

const ADDRESSES: [[u8; 4]; 2] = [[10, 9, 0, 1], [10, 9, 0, 2]];

/// A namespace with a TUN that reaches the other side.
fn side(number: usize) -> (Namespace, Tun) {
    let namespace = Namespace::new().unwrap();
    let tun = Tun::new(&namespace, "tun0", 1500).unwrap();
    let index = tun.index;
    let configure = || {
        let mut netlink = Netlink::open()?;
        netlink.add_address(index, ADDRESSES[number])?;
        netlink.add_route(index, (ADDRESSES[1 - number], 32), None, &RouteMetrics::default())
    };
    namespace.run(configure).unwrap().unwrap();
    (namespace, tun)
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn datagrams_take_the_time_of_the_link_and_none_is_lost() {
    if !has_rights() {
        eprintln!("skipped: making namespaces in a process with threads needs root");
        return;
    }
    // 1000-byte datagrams: 8 ms each at 1 Mb/s, then 20 ms; 5 ms back.
    let toml = r#"
        duration = "2 s"
        [topology.dumbbell.forward]
        capacity = "1 Mbit/s"
        delay = "20 ms"
        queue = { drop-tail = { limit = "100 packets" } }
        [topology.dumbbell.reverse]
        delay = "5 ms"
        [flows.a]
    "#;
    let network = Scenario::from_toml(toml, "test", &[]).unwrap().resolve(&mut |_| unreachable!()).unwrap();
    let ((left, tun), (right, other)) = (side(0), side(1));
    let (sender, receiver) =
        (left.run(|| UdpSocket::bind("10.9.0.1:1000")), right.run(|| UdpSocket::bind("10.9.0.2:2000")));
    let (sender, receiver) = (sender.unwrap().unwrap(), receiver.unwrap().unwrap());
    let clock = Clock::starting_in(Span::ZERO);
    let streams = Streams::new(1, 0);
    let mut emulator = Emulator::new(&network, &streams, vec![tun, other], Across, clock).unwrap();
    let took = std::thread::scope(|scope| {
        let ferry = scope.spawn(move || {
            go_first();
            assert!(emulator.run_until(Time::ZERO + network.duration).unwrap());
            emulator
        });
        for socket in [&sender, &receiver] {
            socket.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
        }
        let begun = clock.now();
        for number in 0..10u8 {
            sender.send_to(&[number; 972], "10.9.0.2:2000").unwrap();
        }
        let mut buffer = [0; 2000];
        for number in 0..10u8 {
            let (length, from) = receiver.recv_from(&mut buffer).unwrap();
            assert_eq!((length, buffer[0]), (972, number));
            receiver.send_to(&[number; 1], from).unwrap();
        }
        for number in 0..10u8 {
            sender.recv_from(&mut buffer).unwrap();
            assert_eq!(buffer[0], number);
        }
        let took = clock.now().since(begun);
        let emulator = ferry.join().unwrap();
        assert_eq!(emulator.lateness.packets.count(), 20);
        assert_eq!(emulator.refused_packets, 0);
        took
    });
    // Never early: ten transmissions and both delays.
    assert!(took >= Span::from_millis(10 * 8 + 20 + 5), "{took:?}");
    assert_eq!(left.run(|| losses("tun0")).unwrap().unwrap(), 0);
}

#[test]
#[ignore = "in real time: make test-real-time"]
fn a_namespace_is_gone_with_its_owner() {
    if !has_rights() {
        eprintln!("skipped: making namespaces in a process with threads needs root");
        return;
    }
    let own = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let namespace = Namespace::new().unwrap();
    let inside = namespace.run(|| std::fs::read_link("/proc/thread-self/ns/net")).unwrap().unwrap();
    assert_ne!(own, inside);
    assert_eq!(std::fs::read_link("/proc/thread-self/ns/net").unwrap(), own, "this thread stays where it is");
}
