//! Queues from outside: what they order is carried out, and nothing else happens.

use crate::common;

use std::collections::VecDeque;

use common::{Log, Packet, Told, capable, drain, link, ms, packet, parts};
use varicap_net::queue::{Next, Order, PacketView, QueuePolicy};
use varicap_net::{
    CapacityParts, CbqClass, CbqConfig, CustomConfig, DropTailConfig, LinkParts, LossCause, QueueConfig,
};
use varicap_units::{Amount, Probability, Rate, Span, Time};

/// First in, first out, of `limit` packets; marks what it can.
#[derive(Debug, Default)]
struct Fifo {
    limit: usize,
    waiting: VecDeque<u64>,
    marks: bool,
    /// Nothing leaves before.
    not_before: Time,
}

impl QueuePolicy for Fifo {
    fn enqueue(&mut self, _now: Time, packet: PacketView<'_>, orders: &mut Vec<Order>) {
        if self.waiting.len() == self.limit {
            return orders.push(Order::Drop(packet.number, LossCause::Overflow));
        }
        if self.marks && packet.codepoint.is_capable() {
            orders.push(Order::Mark(packet.number));
        }
        self.waiting.push_back(packet.number);
    }

    fn dequeue(&mut self, now: Time, _orders: &mut Vec<Order>) -> Next {
        if now < self.not_before {
            return Next::NotBefore(self.not_before);
        }
        self.waiting.pop_front().map_or(Next::NotBefore(Time::NEVER), Next::Packet)
    }
}

fn custom() -> QueueConfig {
    QueueConfig::Custom(CustomConfig("mine".to_owned()))
}

fn slow(queue: QueueConfig) -> LinkParts {
    LinkParts { queue, ..parts(CapacityParts::Constant(Rate::from_bps(8_000_000))) }
}

/// Offers a burst of 20 packets at once and then one each 700 us; what the link told, and what came out.
fn offered(parts: &LinkParts, fifo: Option<Fifo>, ecn: bool) -> (Vec<Told>, Vec<(Time, u64)>) {
    let (mut link, mut log) = (link(parts, 1), Log::default());
    let mut fifo = fifo;
    link.supply_queue(&mut |name| {
        assert_eq!(name, "mine");
        fifo.take().map(|fifo| Box::new(fifo) as Box<dyn QueuePolicy>)
    });
    let mut out = Vec::new();
    for number in 0..100u64 {
        let now = Time::ZERO + Span::from_micros(700 * number.saturating_sub(20));
        while link.poll_at() <= now {
            let at = link.poll_at();
            while let Some(packet) = link.poll(at, &mut log) {
                out.push((at, packet.number));
            }
        }
        link.push(now, Packet { codepoint: capable(ecn), ..packet(number, 1000) }, &mut log);
    }
    out.extend(drain(&mut link, ms(1000), &mut log));
    assert_eq!(link.inside(), 0);
    (log.0, out)
}

#[test]
fn a_fifo_with_a_limit_is_drop_tail() {
    let limit = Amount::Packets(10);
    let tail =
        QueueConfig::DropTail(DropTailConfig { limit, counts_in_service: false, ..Default::default() });
    let expected = offered(&slow(tail), None, false);
    assert!(expected.0.iter().any(|told| matches!(told, Told::Lost { .. })));
    let fifo = Fifo { limit: 10, ..Fifo::default() };
    assert_eq!(offered(&slow(custom()), Some(fifo), false), expected);
}

#[test]
fn inside_a_class_it_is_the_same() {
    let share = Probability::new(1.0).unwrap();
    let class = CbqClass { flows: None, share, queue: custom(), priority: 1, borrow: true };
    let classes = QueueConfig::Cbq(CbqConfig { classes: [("all".to_owned(), class)].into() });
    let fifo = || Some(Fifo { limit: 10, ..Fifo::default() });
    assert_eq!(offered(&slow(classes), fifo(), false), offered(&slow(custom()), fifo(), false));
}

#[test]
fn what_can_be_marked_is_marked_and_nothing_is_lost() {
    let fifo = || Some(Fifo { limit: 1000, marks: true, ..Fifo::default() });
    let marks = |told: &[Told]| told.iter().filter(|told| matches!(told, Told::Mark { .. })).count();
    let (told, out) = offered(&slow(custom()), fifo(), true);
    assert_eq!((marks(&told), out.len()), (100, 100));
    assert_eq!(marks(&offered(&slow(custom()), fifo(), false).0), 0);
}

#[test]
fn a_queue_may_make_its_packets_wait() {
    let fifo = Fifo { limit: 1000, not_before: ms(40), ..Fifo::default() };
    let (mut link, mut log) = (link(&slow(custom()), 1), Log::default());
    let mut fifo = Some(fifo);
    link.supply_queue(&mut |_| fifo.take().map(|fifo| Box::new(fifo) as Box<dyn QueuePolicy>));
    link.push(ms(1), packet(0, 1000), &mut log);
    // The link idles until then, although a packet waits, and asks again by itself.
    assert_eq!(drain(&mut link, ms(100), &mut log), [(ms(41), 0)]);
}

#[test]
#[should_panic(expected = "no queue called `mine` was supplied")]
fn a_queue_that_nobody_supplies_takes_nothing() {
    link(&slow(custom()), 1).push(ms(0), packet(0, 1000), &mut Log::default());
}
