//! The event queue: at most one pending wake per node, in an indexed 4-ary heap ordered by (time, node). Timers that are far
//! off wait in a timing wheel until they come near, unsorted: most are put off before they run out. The first four nodes, which
//! are links as a rule and woken at every packet, are looked through instead: sorted, they took 200 instructions a packet more.

use varicap_engine::NodeId;
use varicap_units::Time;

use super::wheel::Wheel;
use crate::pages;

const ARITY: usize = 4;

/// In [`EventQueue::place`]: the node has no wake.
const ABSENT: u32 = u32::MAX;
/// In [`EventQueue::place`]: the node's wake is in the wheel.
const IN_WHEEL: u32 = u32::MAX - 1;

/// A pending wake as one number, time above node: its order is that of the queue.
type Wake = u128;

/// The number of nodes that are looked through.
const FIRST: usize = 4;

/// Stands in [`EventQueue::rest`] for the wheel, when its next slot is about to begin: after all nodes.
const ELSEWHERE: NodeId = NodeId::numbered(u32::MAX);

/// Fills the heap up to whole families; later than every wake.
const NONE: Wake = u128::MAX;

#[inline(always)]
const fn node_of(wake: Wake) -> NodeId {
    NodeId::numbered(wake as u32)
}

#[inline(always)]
const fn time_of(wake: Wake) -> Time {
    Time::from_nanos((wake >> 32) as u64)
}

#[inline(always)]
const fn wake_of(node: NodeId, at: Time) -> Wake {
    (at.as_nanos() as u128) << 32 | node.number() as u128
}

/// The one event queue of a world. Ties are resolved by node, so that the order never depends on how often a node was woken:
/// links are numbered before endpoints, and a departure is handled before a simultaneous timer.
pub struct EventQueue {
    /// When the first nodes are woken.
    firsts: [Time; FIRST],
    /// The earliest of all other wakes, [`ELSEWHERE`] included, and when it comes.
    rest: Wake,
    rest_at: Time,
    /// An answer that is held back, or [`NONE`]. Hardly ever are there two at a time, and in the heap each took 110 instructions.
    answer: Wake,
    /// The `len` wakes of a 4-ary heap, followed by as many `NONE` as complete the last family, or more.
    heap: Vec<Wake>,
    len: usize,
    /// Of each node, the position of its wake in the heap, and when it is woken.
    place: Vec<u32>,
    times: Vec<Time>,
    wheel: Wheel,
    /// When the next slot of the wheel is emptied into the heap.
    opens_at: Time,
    /// Nodes from this number on have timers, which may wait in the wheel.
    first_timer: u32,
    /// The instant that is being handled; no node is woken before it.
    now: Time,
    /// Nodes that come out of the wheel; kept to reuse its allocation.
    near: Vec<u32>,
}

impl EventQueue {
    /// The last instant before [`Time::NEVER`].
    pub const LAST: Time = Time::from_nanos(u64::MAX - 1);

    /// An event queue for nodes 0..`nodes`, of which those from number `first_timer` on have timers; it grows when later
    /// nodes are woken.
    pub fn new(nodes: usize, first_timer: usize) -> EventQueue {
        EventQueue {
            firsts: [Time::NEVER; FIRST],
            rest: NONE,
            rest_at: Time::NEVER,
            answer: NONE,
            heap: vec![NONE; 1 + ARITY],
            len: 0,
            place: vec![ABSENT; nodes],
            times: vec![Time::NEVER; nodes],
            wheel: Wheel::default(),
            opens_at: Time::NEVER,
            first_timer: first_timer as u32,
            now: Time::ZERO,
            near: Vec::new(),
        }
    }

    /// The earliest wake by `end`, which stays pending until its node is woken again.
    #[inline(always)]
    pub fn first_by(&mut self, end: Time) -> Option<(Time, NodeId)> {
        debug_assert!(end <= EventQueue::LAST, "what never comes would come by {end:?}");
        let at = self.first_of_firsts();
        while self.rest_at < at {
            if self.rest_at > end {
                return None;
            }
            if node_of(self.rest) != ELSEWHERE {
                self.now = self.rest_at;
                return Some((self.rest_at, node_of(self.rest)));
            }
            self.empty_slot();
        }
        if at > end {
            return None;
        }
        self.now = at;
        let [a, b, c, _] = self.firsts;
        let place = if a == at {
            0
        } else if b == at {
            1
        } else if c == at {
            2
        } else {
            3
        };
        Some((at, NodeId::numbered(place)))
    }

    /// When the first of the first nodes is woken.
    #[inline(always)]
    fn first_of_firsts(&self) -> Time {
        let [a, b, c, d] = self.firsts;
        a.min(b).min(c.min(d))
    }

    /// Wakes that are not those of the first nodes have changed.
    #[inline]
    fn note_rest(&mut self) {
        self.rest = self.heap[0].min(self.answer).min(wake_of(ELSEWHERE, self.opens_at));
        self.rest_at = time_of(self.rest);
    }

    /// Whether `at` is before every wake.
    #[inline]
    pub fn is_before_all(&self, at: Time) -> bool {
        at < self.rest_at && at < self.first_of_firsts()
    }

    /// The instant `now` is handled without a wake.
    pub fn advance(&mut self, now: Time) {
        debug_assert!(self.now <= now && self.is_before_all(now), "{now:?} does not come next");
        self.now = now;
    }

    /// Nodes with timers among the first wakes, of which the next is one.
    pub fn next_timers(&self) -> impl Iterator<Item = NodeId> + '_ {
        let first = self.heap[..=ARITY].iter().filter(|&&wake| wake != NONE);
        first.map(|&wake| node_of(wake)).filter(|node| node.number() >= self.first_timer)
    }

    /// The instant at which the node is woken next, unless it is that of an answer.
    #[inline(always)]
    pub fn pending(&self, node: NodeId) -> Time {
        let index = node.index();
        if index < FIRST { self.firsts[index] } else { self.times.get(index).copied().unwrap_or(Time::NEVER) }
    }

    /// Makes sure that the node is woken at `at` at the latest. An earlier wake stays: polling early is harmless, and a timer
    /// that is pushed back with every packet costs nothing until it would have fired.
    #[inline(always)]
    pub fn wake_by(&mut self, node: NodeId, at: Time) {
        if at < self.pending(node) {
            self.wake(node, at);
        }
    }

    /// Replaces the node's pending wake; [`Time::NEVER`] cancels it.
    #[inline(always)]
    pub fn wake(&mut self, node: NodeId, at: Time) {
        debug_assert!(at >= self.now, "{node:?} would be woken at {at:?}, before {:?}", self.now);
        match self.firsts.get_mut(node.index()) {
            Some(pending) => *pending = at,
            None => self.wake_sorted(node, at),
        }
    }

    /// As [`EventQueue::wake`], of a node that is not among the first.
    #[inline(never)]
    fn wake_sorted(&mut self, node: NodeId, at: Time) {
        let index = node.index();
        let place = self.place.get(index).copied().unwrap_or(ABSENT) as usize;
        if place >= self.len || at.is_never() || self.may_wait(node, at) {
            return self.start_or_end(node, at);
        }
        self.times[index] = at;
        let wake = wake_of(node, at);
        if wake >= self.heap[place] {
            self.sift_down(place, wake)
        } else {
            self.sift_up(place, wake)
        }
        self.note_rest();
    }

    /// The node, which is that of an answer and has no pending wake, is woken at `at`.
    #[inline]
    pub fn wake_answer(&mut self, node: NodeId, at: Time) {
        debug_assert!(at >= self.now, "{node:?} would be woken at {at:?}, before {:?}", self.now);
        debug_assert!(
            self.pending(node).is_never() && node_of(self.answer) != node,
            "{node:?} is woken already"
        );
        // At the same instant the first nodes come before an answer.
        if self.answer != NONE || node.index() < FIRST {
            return self.wake(node, at);
        }
        self.answer = wake_of(node, at);
        if self.answer < self.rest {
            (self.rest, self.rest_at) = (self.answer, at);
        }
    }

    /// The node, which is that of an answer, is woken no more.
    #[inline]
    pub fn end_answer(&mut self, node: NodeId) {
        if self.answer != NONE && node_of(self.answer) == node {
            self.answer = NONE;
            self.note_rest();
        } else if !self.pending(node).is_never() {
            self.wake(node, Time::NEVER);
        }
    }

    /// The node was woken, and is to be woken again at `at`; a wake after the instant that is being handled stays, if it comes
    /// before.
    #[inline]
    pub fn reschedule(&mut self, node: NodeId, at: Time) {
        debug_assert!(at > self.now, "{node:?} was polled at {:?} and still wants to be", self.now);
        if self.pending(node) <= self.now { self.wake(node, at) } else { self.wake_by(node, at) }
    }

    /// Whether the wake may wait in the wheel.
    #[inline]
    fn may_wait(&self, node: NodeId, at: Time) -> bool {
        node.number() >= self.first_timer && Wheel::is_far(self.now, at)
    }

    /// As [`EventQueue::wake_sorted`], of a node that is not in the heap, or will not be.
    fn start_or_end(&mut self, node: NodeId, at: Time) {
        let index = node.index();
        if self.place.len() <= index {
            self.place.resize(index + 1, ABSENT);
            self.times.resize(index + 1, Time::NEVER);
        }
        match self.place[index] {
            ABSENT => {}
            IN_WHEEL => self.wheel.remove(node.number()),
            place => self.remove(place as usize),
        }
        self.place[index] = ABSENT;
        self.times[index] = at;
        if self.may_wait(node, at) && !at.is_never() {
            self.place[index] = IN_WHEEL;
            self.opens_at = self.opens_at.min(self.wheel.insert(node.number(), self.now, at));
        } else if !at.is_never() {
            self.insert(wake_of(node, at));
        }
        self.note_rest();
    }

    /// The next slot of the wheel is about to begin: what is due in it is kept sorted from now on.
    #[cold]
    fn empty_slot(&mut self) {
        let now = self.opens_at;
        let mut near = std::mem::take(&mut self.near);
        self.wheel.open(now, &mut near);
        for number in near.drain(..) {
            self.place[number as usize] = ABSENT;
            let at = self.times[number as usize];
            if Wheel::is_far(now, at) {
                self.place[number as usize] = IN_WHEEL;
                self.wheel.insert(number, now, at);
            } else {
                self.insert(wake_of(NodeId::numbered(number), at));
            }
        }
        self.near = near;
        self.opens_at = self.wheel.opens_at(now);
        self.note_rest();
    }

    fn insert(&mut self, wake: Wake) {
        let hole = self.len;
        self.len += 1;
        if self.heap.len() < self.len + ARITY {
            // By less than twice: there may be 100,000 wakes, and what is filled is used.
            let room = self.len + self.len / 4 + 2 * ARITY;
            let more = room - self.heap.len();
            pages::reserve(&mut self.heap, more);
            self.heap.resize(room, NONE);
        }
        self.sift_up(hole, wake);
    }

    fn remove(&mut self, place: usize) {
        let gone = self.heap[place];
        self.len -= 1;
        let last = std::mem::replace(&mut self.heap[self.len], NONE);
        if place == self.len {
            return;
        }
        if last < gone { self.sift_up(place, last) } else { self.sift_down(place, last) }
    }

    /// Moves `wake` from `hole` towards the root to its place.
    #[inline]
    fn sift_up(&mut self, mut hole: usize, wake: Wake) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            let above = self.heap[parent];
            if above <= wake {
                break;
            }
            self.put(hole, above);
            hole = parent;
        }
        self.put(hole, wake);
    }

    /// Moves `wake` from `hole` towards the leaves to its place.
    #[inline]
    fn sift_down(&mut self, mut hole: usize, wake: Wake) {
        loop {
            let first = hole * ARITY + 1;
            if first >= self.len {
                break;
            }
            let Some(&[a, b, c, d]) = self.heap[first..].first_chunk::<ARITY>() else { break };
            // Branches here would be mispredicted: the order of wakes has no pattern.
            let (ab, left) = if b < a { (b, 1) } else { (a, 0) };
            let (cd, right) = if d < c { (d, 3) } else { (c, 2) };
            let (least, child) = if cd < ab { (cd, right) } else { (ab, left) };
            if least >= wake {
                break;
            }
            self.put(hole, least);
            hole = first + child;
        }
        self.put(hole, wake);
    }

    #[inline]
    fn put(&mut self, place: usize, wake: Wake) {
        self.heap[place] = wake;
        self.place[node_of(wake).index()] = place as u32;
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
