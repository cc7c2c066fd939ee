//! Class-based queueing: link sharing among classes, each with a queue of its own. Source: [floyd95]; [minrate, §VIII].
//!
//! A class that is within its share of the capacity goes before all that are not; of those within their shares the lower
//! priority number goes first. If no class with something waiting is within its share, those that may borrow go, by
//! priority as well. Among equals the order is that of start-time fair queueing by shares [goyal97], so that classes divide
//! by their shares both what they are entitled to and what others leave. A class that may not borrow waits until its share
//! has come: then the link idles although frames wait.
//!
//! Whether a class is within its share is told by a token bucket that fills at its share of the capacity of now.
//! Where all classes borrow and have one priority it makes no difference, and nobody asks.
//!
//! Deviation: [floyd95] estimates each class's use by an exponential average of its idle times and serves equals by weighted
//! round robin; a bucket and virtual time give the same shares, exactly.

use varicap_units::{BucketDepth, Bytes, Rate, Time, TokenBucket};

use super::sfq::{Cost, VirtualClock};
use super::{CbqConfig, Managed, QueueDiscipline, StreamOf, Supply, Transmitter, TransmitterState, Waiting};
use crate::{Backlog, Frame, LinkParts, Watch};

/// What a class may have saved of its share: it makes up for the frames of others that it waited for [full packets].
const BURST: u64 = 4;

/// Classes of flows, each with a queue.
#[derive(Debug)]
pub struct Cbq<F> {
    classes: Box<[Class<F>]>,
    /// The class of each flow group.
    class_of: Box<[u8]>,
    clock: VirtualClock,
    /// The class whose frame is in service.
    in_service: Option<u8>,
    /// Whether priorities or classes that may not borrow make it matter who is within its share.
    has_limits: bool,
    packet: Bytes,
}

/// A class.
#[derive(Debug)]
struct Class<F> {
    queue: Managed<F>,
    cost: Cost,
    /// Start tag of its next frame; if none waits, finish tag of its last.
    tag: u128,
    priority: u8,
    borrows: bool,
    share: f64,
    /// What it may send within its share.
    allowance: TokenBucket,
}

impl<F: Frame> Class<F> {
    fn is_empty(&self) -> bool {
        self.queue.backlog().frames == 0
    }

    /// The link offers `rate` now.
    fn settle(&mut self, now: Time, rate: Rate) {
        let rate = Rate::from_bps((rate.as_bps() as f64 * self.share) as u64);
        if rate != self.allowance.rate() {
            self.allowance.set_rate(now, rate);
        }
    }
}

impl<F: Frame> Cbq<F> {
    /// Empty queues of the classes of `config` on a link of `parts`; the random stream of class a is `queue.a`.
    pub fn new(config: &CbqConfig, parts: &LinkParts, stream: &StreamOf<'_>) -> Cbq<F> {
        let configs = || config.classes.values();
        let depth = BucketDepth::Bytes(parts.packet * BURST);
        let classes = config.classes.iter().map(|(name, class)| Class {
            queue: Managed::new(&class.queue, parts, &format!("queue.{name}"), stream),
            cost: Cost::of_weight(class.share.get()),
            tag: 0,
            priority: class.priority,
            borrows: class.borrow,
            share: class.share.get(),
            allowance: TokenBucket::new(Time::ZERO, Rate::ZERO, depth),
        });
        let rest = configs().position(|class| class.flows.is_none()).unwrap_or_default();
        let class_of = |group: &str| {
            let names = |flows: &Option<Vec<String>>| flows.iter().flatten().any(|flow| flow == group);
            configs().position(|class| names(&class.flows)).unwrap_or(rest) as u8
        };
        let priority = configs().next().map_or(0, |first| first.priority);
        Cbq {
            classes: classes.collect(),
            class_of: parts.groups.iter().map(|group| class_of(group)).collect(),
            clock: VirtualClock::default(),
            in_service: None,
            has_limits: configs().any(|class| !class.borrow || class.priority != priority),
            packet: parts.packet,
        }
    }

    /// Whose turn it is.
    fn next(&self, now: Time) -> Option<u8> {
        let waiting = self.classes.iter().enumerate().filter(|(_, class)| !class.is_empty());
        let ranked = waiting.filter_map(|(number, class)| {
            let within = !self.has_limits || class.allowance.conforms(now, self.packet);
            (within || class.borrows).then_some((!within, class.priority, class.tag, number as u8))
        });
        ranked.min().map(|(.., number)| number)
    }

    /// What an arrival finds the transmitter doing, as its class sees it.
    fn seen_by(&self, number: u8, now: Time, transmitter: Transmitter) -> Transmitter {
        let class = &self.classes[usize::from(number)];
        let state = match transmitter.state {
            TransmitterState::Busy(size) if self.in_service == Some(number) => TransmitterState::Busy(size),
            TransmitterState::Free if class.is_empty() => {
                let may_go = class.borrows || class.allowance.conforms(now, self.packet);
                if may_go { TransmitterState::Free } else { TransmitterState::Waiting }
            }
            _ => TransmitterState::Waiting,
        };
        Transmitter { state, ..transmitter }
    }

    fn settle(&mut self, now: Time, rate: Rate) {
        if self.has_limits {
            self.classes.iter_mut().for_each(|class| class.settle(now, rate));
        }
    }

    /// When a class whose frames wait for its share may go, if nothing else comes; never if none does.
    pub(super) fn ready_at(&self) -> Time {
        let waiting = self.classes.iter().filter(|class| !class.is_empty());
        waiting.map(|class| class.allowance.conforms_at(self.packet)).min().unwrap_or(Time::NEVER)
    }
}

impl<F: Frame> QueueDiscipline<F> for Cbq<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        self.settle(now, transmitter.rate);
        let number = self.class_of.get(usize::from(frame.group())).copied().unwrap_or_default();
        let transmitter = self.seen_by(number, now, transmitter);
        let clock = self.clock.now();
        let class = &mut self.classes[usize::from(number)];
        if class.is_empty() {
            class.tag = class.tag.max(clock);
        }
        class.queue.enqueue(now, frame, transmitter, watch);
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        if let Some(served) = self.in_service.take() {
            // A queue has to be told that the transmitter left it with nothing to send.
            let class = &mut self.classes[usize::from(served)];
            if class.is_empty() {
                class.queue.dequeue(now, supply, watch);
            }
        }
        self.settle(now, supply.rate);
        // A queue may drop all that it has when it is asked.
        while let Some(number) = self.next(now) {
            let class = &mut self.classes[usize::from(number)];
            let Some(next) = class.queue.dequeue(now, supply, watch) else { continue };
            let size = next.frame.wire_size();
            class.allowance.take(now, size);
            let start = class.tag;
            class.tag += class.cost.of(size);
            self.clock.serve(start, class.tag);
            self.in_service = Some(number);
            return Some(next);
        }
        if self.backlog().frames == 0 {
            self.clock.rest();
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.classes.iter().fold(Backlog::default(), |sum, class| {
            let Backlog { frames, bytes } = class.queue.backlog();
            Backlog { frames: sum.frames + frames, bytes: sum.bytes + bytes }
        })
    }
}
