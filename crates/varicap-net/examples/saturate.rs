//! The cost of a link: frames through a busy link, in nanoseconds of CPU time each.
//!
//! ```text
//! as many frames as leave ──► [ 40 frames ] ──► 100 Mbit/s ──► 10 ms ──► counted
//! ```
//!
//! `cargo run --release -p varicap-net --example saturate [frames]`

use std::collections::VecDeque;

use varicap_net::{CapacityParts, DropTailConfig, Frame, Framing, Link, LinkParts, LossParts, Lost};
use varicap_net::{QueueConfig, Service, Watch};
use varicap_units::{Amount, Bytes, Rate, Span, Streams, Time};

/// As large as the simulator's handle of a segment.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    size: u32,
}

impl Frame for Packet {
    #[inline]
    fn wire_size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }
    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// Counts what a meter would.
#[derive(Debug, Default)]
struct Count {
    departed: u64,
    lost: u64,
    sojourn: u64,
}

impl Watch<Packet> for Count {
    fn on_lost(&mut self, _lost: Lost<Packet>) {
        self.lost += 1;
    }
    fn on_departure(&mut self, at: Time, arrived: Time, _: &Packet, _: varicap_net::Backlog) {
        self.departed += 1;
        self.sojourn += (at - arrived).as_nanos();
    }
}

fn parts(delay: Span) -> LinkParts {
    LinkParts {
        capacity: CapacityParts::Constant(Rate::from_bps(100_000_000)),
        service: Service::Fluid,
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: Amount::Packets(100),
            counts_in_service: true,
            ..Default::default()
        }),
        loss: LossParts::None,
        arq: None,
        netem: Default::default(),
        delay: delay.into(),
        reorders: false,
        framing: Framing::default(),
        packet: Bytes::new(1500),
        bdp: Bytes::new(250_000),
        groups: Default::default(),
        policing: Vec::new(),
    }
}

fn saturate(frames: u64, sizes: [u32; 2], delay: Span) -> Count {
    let mut link = Link::new(&parts(delay), "saturate", &Streams::new(1, 0));
    let mut count = Count::default();
    let mut number = 0;
    let mut push = |link: &mut Link<Packet>, now: Time, count: &mut Count| {
        link.push(now, Packet { number, size: sizes[(number & 1) as usize] }, count);
        number += 1;
    };
    for _ in 0..40 {
        push(&mut link, Time::ZERO, &mut count);
    }
    let mut delivered = 0;
    while delivered < frames {
        let now = link.poll_at();
        while let Some(packet) = link.poll(now, &mut count) {
            assert_eq!(packet.number, delivered, "out of order");
            delivered += 1;
            push(&mut link, now, &mut count);
        }
    }
    count
}

/// The least cost: a queue and a wire, each a ring, and additions for times. The machine's own measure.
fn two_rings(frames: u64) -> Count {
    let (mut queue, mut wire) = (VecDeque::new(), VecDeque::new());
    let mut count = Count::default();
    for number in 0..40 {
        queue.push_back((Packet { number, size: 1500 }, Time::ZERO));
    }
    let mut finish = Time::ZERO;
    for delivered in 0..frames {
        finish += Span::from_nanos(120_000);
        let (packet, arrived) = queue.pop_front().expect("forty frames go round");
        count.on_departure(finish, arrived, &packet, varicap_net::Backlog::default());
        wire.push_back((finish, packet));
        let (now, packet) = wire.pop_front().expect("just put there");
        assert_eq!(packet.number, delivered, "out of order");
        queue.push_back((Packet { number: delivered + 40, size: 1500 }, now));
    }
    count
}

#[allow(clippy::disallowed_methods, reason = "this measures the machine, not a run")]
fn main() {
    let frames = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000_000);
    let measure = |what: &str, run: &dyn Fn() -> Count| {
        let start = std::time::Instant::now();
        let count = run();
        let nanos = start.elapsed().as_nanos() as f64 / frames as f64;
        println!("{what}: {nanos:.1} ns per frame ({} departed, {} lost)", count.departed, count.lost);
    };
    let delay = Span::from_millis(10);
    measure("two rings and no link", &|| two_rings(frames));
    measure("frames of one size, no delay", &|| saturate(frames, [1500, 1500], Span::ZERO));
    measure("frames of one size, 10 ms", &|| saturate(frames, [1500, 1500], delay));
    measure("frames of two sizes in turn, 10 ms", &|| saturate(frames, [1500, 52], delay));
}
