//! Class-based queueing: link sharing among classes, each with a queue of its own. Source: [floyd95]; [minrate, §VIII].
//!
//! A class that is within its share of the capacity goes before all that are not; of those within their shares the lower
//! priority number goes first. If no class with something waiting is within its share, those that may borrow go, by
//! priority as well. Among equals the order is that of start-time fair queueing by shares [goyal97], so that classes divide
//! by their shares both what they are entitled to and what others leave. A class that may not borrow waits until its share
//! has come: then the link idles although frames wait.
//!
//! A token bucket that fills at its share of the present capacity, or of what opportunities offer, says whether a class is within its share. Where all
//! classes borrow and have one priority it makes no difference, and the bucket is left alone.
//!
//! Deviation: [floyd95] estimates each class's use by an exponential average of its idle times and serves equals by weighted
//! round robin; a bucket and virtual time give the same shares, exactly.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Fault, OnKernel, Part};
use varicap_units::{Amount, BucketDepth, Bytes, JsonSchema, Probability, Rate, Time, TokenBucket, Work};

use super::part::below;
use super::sfq::{Cost, VirtualClock};
use super::{
    Chosen, Limit, QueueConfig, QueueDiscipline, QueuePart, Site, Supply, SupplyQueue, Transmitter,
    TransmitterState, Waiting,
};
use crate::check::yes;
use crate::frame::{Backlog, Frame, Watch};

/// The most that a class may have saved of its share: it makes up for the frames of others that it waited for [full packets].
const BURST: u64 = 4;

/// Most classes of a link.
const MOST_CLASSES: usize = 100;
/// How far above 1 the sum of shares may be: decimals in a file are not exact.
const SHARE_TOLERANCE: f64 = 1e-9;

/// Class-based queueing. What a class does not use goes to the others by their shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CbqConfig {
    /// The classes, by name. Their shares sum to at most 1.
    pub classes: IndexMap<String, CbqClass>,
}

/// A class of flows that is entitled to a share of the capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CbqClass {
    /// Its flows (by name; a group belongs to it as a whole). Default: all that no other class names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// Its share of the capacity.
    pub share: Probability,
    /// The queue inside it: any but `cbq` and `accel-brake`. Default: drop-tail of 1 bdp.
    #[serde(default)]
    pub queue: QueueConfig,
    /// Of the classes that are within their shares, those of the lowest number go first; and so do they among those that
    /// borrow. Default: 1.
    #[serde(default = "first")]
    pub priority: u8,
    /// Whether it may use what other classes leave. If not, it waits for its share even at an idle link. Default: true.
    #[serde(default = "yes")]
    pub borrow: bool,
}

fn first() -> u8 {
    1
}

impl Part for CbqConfig {
    fn check(&self) -> Checked {
        let count = self.classes.len();
        let some = format!("1 to {MOST_CLASSES} classes");
        part::require("classes", (1..=MOST_CLASSES).contains(&count), count, some)?;
        let total: f64 = self.classes.values().map(|class| class.share.get()).sum();
        let whole = "shares that sum to at most 1";
        part::require("classes", total <= 1.0 + SHARE_TOLERANCE, format!("shares of {total}"), whole)?;
        let mut members = Members::default();
        self.classes.iter().try_for_each(|(name, class)| {
            let checked = class.check().and_then(|()| members.add(name, class));
            below(&key_of(name), checked)
        })
    }

    /// The first refusal of a queue inside is its own.
    fn on_kernel(&self) -> OnKernel {
        let inside = self.classes.values().map(|class| class.queue.on_kernel());
        inside.into_iter().find(|fate| matches!(fate, OnKernel::Refused(_))).unwrap_or(OnKernel::AsWritten)
    }

    fn draws(&self) -> bool {
        self.inside().iter().any(|(_, queue)| queue.draws())
    }
}

impl QueuePart for CbqConfig {
    fn limit(&self) -> Amount {
        Amount::Unlimited
    }

    fn flows(&self) -> Vec<(String, &str)> {
        let flows = self.classes.iter().flat_map(|(name, class)| {
            let flows = class.flows.iter().flatten().enumerate();
            flows.map(move |(place, flow)| (format!("{}.flows.{place}", key_of(name)), flow.as_str()))
        });
        flows.collect()
    }

    fn inside(&self) -> Vec<(String, &QueueConfig)> {
        let inside = |(name, class)| -> (String, _) { (format!("{}.queue", key_of(name)), class) };
        self.classes.iter().map(|(name, class)| inside((name, &class.queue))).collect()
    }

    fn may_be_inside(&self) -> bool {
        false
    }

    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        self.inside().iter().try_for_each(|(key, queue)| below(key, queue.fits(packet, bdp)))
    }

    fn describe(&self, packet: Bytes, bdp: Bytes) -> String {
        let class = |(name, class): (&String, &CbqClass)| {
            format!("; {name} {} %: {}", 100.0 * class.share.get(), class.queue.describe(packet, bdp))
        };
        self.classes.iter().map(class).collect()
    }
}

impl CbqClass {
    fn check(&self) -> Checked {
        part::require("share", self.share.get() > 0.0, self.share, "above 0")?;
        let expected = "any queue but `cbq`, `shaper` and `accel-brake`";
        part::require("queue", self.queue.may_be_inside(), self.queue.name(), expected)?;
        below("queue", self.queue.check())
    }
}

/// The key of a class.
fn key_of(name: &str) -> String {
    part::join(&["classes", name])
}

/// Which class each flow belongs to.
#[derive(Default)]
struct Members<'a> {
    owner: IndexMap<&'a str, &'a str>,
    /// The class of all flows that none names.
    rest: Option<&'a str>,
}

impl<'a> Members<'a> {
    /// Adds a class, whose flows belong to no other.
    fn add(&mut self, name: &'a str, class: &'a CbqClass) -> Checked {
        for (place, flow) in class.flows.iter().flatten().enumerate() {
            if let Some(other) = self.owner.insert(flow, name) {
                let found = format!("{flow} of `{other}`");
                return Err(Fault::new(format!("flows.{place}"), found, "a flow of one class"));
            }
        }
        if class.flows.is_none()
            && let Some(other) = self.rest.replace(name)
        {
            let expected = format!("a list: `{other}` has all flows that no class names");
            return Err(Fault::new("flows", "none", expected));
        }
        Ok(())
    }
}

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
    /// The work that the opportunities could have carried that have brought its tokens.
    offered: Work,
    packet: Bytes,
}

/// A class.
#[derive(Debug)]
struct Class<F> {
    queue: Chosen<F>,
    cost: Cost,
    /// Start tag of its next frame; if none waits, finish tag of its last.
    tag: u128,
    priority: u8,
    borrows: bool,
    share: f64,
    /// The tokens with which it may send within its share.
    allowance: TokenBucket,
}

impl<F: Frame> Class<F> {
    fn is_empty(&self) -> bool {
        self.queue.backlog().frames == 0
    }

    /// The link offers `rate` from `now` on.
    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.allowance.set_rate(now, Rate::from_bps((rate.as_bps() as f64 * self.share) as u64));
    }

    /// The link's opportunities could have carried `work` since the last time.
    fn bring(&mut self, now: Time, work: Work) {
        let share = (work.as_nanobits() as f64 * self.share) as u128;
        self.allowance.bring(now, Work::from_nanobits(share));
    }
}

impl<F: Frame> Cbq<F> {
    /// Empty queues of the classes; the random stream of class a of `queue` is `queue.a`.
    pub fn new(config: &CbqConfig, site: &Site<'_>) -> Cbq<F> {
        let configs = || config.classes.values();
        let depth = BucketDepth::Bytes(site.packet * BURST);
        let classes = config.classes.iter().map(|(name, class)| Class {
            queue: Chosen::new(&class.queue, &Site { name: &format!("{}.{name}", site.name), ..*site }),
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
            class_of: site.groups.iter().map(|group| class_of(group)).collect(),
            clock: VirtualClock::default(),
            in_service: None,
            has_limits: configs().any(|class| !class.borrow || class.priority != priority),
            offered: Work::ZERO,
            packet: site.packet,
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

    /// The state of the transmitter that an arrival finds, as its class sees it.
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

    /// Opportunities bring the classes their shares of exactly what they offer.
    fn settle(&mut self, now: Time, supply: Supply) {
        let Some(offered) = supply.offered.filter(|offered| self.has_limits && *offered != self.offered)
        else {
            return;
        };
        let since = offered - self.offered;
        self.offered = offered;
        self.classes.iter_mut().for_each(|class| class.bring(now, since));
    }
}

impl<F: Frame> QueueDiscipline<F> for Cbq<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
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
            // A queue has to learn that the transmitter left it with nothing to send.
            let class = &mut self.classes[usize::from(served)];
            if class.is_empty() {
                class.queue.dequeue(now, supply, watch);
            }
        }
        self.settle(now, supply);
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

    fn on_rate(&mut self, now: Time, rate: Rate) {
        for class in &mut self.classes {
            class.queue.on_rate(now, rate);
            if self.has_limits {
                class.set_rate(now, rate);
            }
        }
    }

    /// Each class has a limit of its own.
    fn set_limit(&mut self, _limit: Limit) {}

    /// When a class whose frames wait for its share may go.
    fn ready_at(&self) -> Time {
        let waiting = self.classes.iter().filter(|class| !class.is_empty());
        waiting.map(|class| class.allowance.conforms_at(self.packet)).min().unwrap_or(Time::NEVER)
    }

    fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
        self.classes.iter_mut().for_each(|class| class.queue.supply(supply));
    }
}
