//! The event list: at most one pending wake per node, in an indexed 4-ary heap ordered by (time, node), and wakes that
//! come once and never move.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use varicap_engine::NodeId;
use varicap_units::Time;

use crate::pages;

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

/// A pending wake as one number, time above node: its order is the order of the list.
type Wake = u128;

#[inline(always)]
const fn node_of(wake: Wake) -> NodeId {
    NodeId::numbered(wake as u32)
}

#[inline(always)]
const fn time_of(wake: Wake) -> Time {
    Time::from_nanos((wake >> 32) as u64)
}

/// The last instant before [`Time::NEVER`].
const LAST: Time = Time::from_nanos(u64::MAX - 1);

/// Fills the heap up to whole families; later than every wake.
const NONE: Wake = u128::MAX;

#[inline(always)]
const fn wake_of(node: NodeId, at: Time) -> Wake {
    (at.as_nanos() as u128) << 32 | node.number() as u128
}

/// The number of nodes that are kept outside the heap in a simple network: its links, and what else is woken at every packet.
/// Finding the earliest of so few is cheaper than keeping them sorted.
pub const BUSY: usize = 4;
/// In a network with more links than that, so many groups of as many nodes are.
const GROUPS: usize = 4;
/// Where it is only a link each way that is woken at every packet, no more nodes than those.
pub const PAIR: usize = 2;
/// Stands for any number of nodes outside the heap.
pub const ANY: usize = 0;

/// The earliest of the first `FEW`, if so many are kept, or of all.
#[inline(always)]
fn earliest<const FEW: usize>([a, b, c, d]: [Time; BUSY]) -> Time {
    if FEW == PAIR { a.min(b) } else { a.min(b).min(c.min(d)) }
}

/// The first place of `at`, which is one of them.
#[inline(always)]
fn place_of<const FEW: usize>(at: Time, [a, b, c, d]: [Time; BUSY]) -> usize {
    debug_assert!([a, b, c, d].contains(&at), "nothing is due at {at:?}");
    if FEW == PAIR {
        return usize::from(a != at);
    }
    if a == at {
        0
    } else if b == at {
        1
    } else if c == at {
        2
    } else {
        3
    }
}

/// The one event list of a world. Ties are resolved by node, so the order never depends on how often a node was
/// woken: links are numbered before endpoints, and a departure is handled before a simultaneous timer.
pub struct Scheduler {
    /// Wakes of the first nodes, or the earliest of each group of them.
    busy: [Time; BUSY],
    /// Wakes of the first nodes, if there are too many links for `busy`.
    groups: [[Time; BUSY]; GROUPS],
    /// The number of nodes that are kept outside the heap, and how many of them are in `busy` itself: all or none.
    kept: usize,
    plain: usize,
    /// Wakes of the others: a 4-ary heap. Its `len` wakes are followed by as many `NONE` as complete the last family,
    /// or more.
    heap: Vec<Wake>,
    len: usize,
    /// The position of each node's wake in the heap.
    place: Vec<u32>,
    /// The earliest wake that comes once; `NONE` if there is none. There are few of these at a time, and they come soon, so
    /// that they are cheaper when kept apart from the many timers.
    once: Wake,
    /// The others that come once.
    once_more: BinaryHeap<Reverse<Wake>>,
    /// When wakes that are kept elsewhere come here, as a wake of [`Scheduler::ELSEWHERE`].
    opening: Wake,
    /// The earliest of `heap`, `once` and `opening`, and when it comes.
    rest: Wake,
    rest_at: Time,
    /// The instant that is being handled; no node is woken before it. Only kept where assertions are on.
    #[cfg(debug_assertions)]
    now: Time,
}

impl Scheduler {
    /// Stands for wakes that are kept elsewhere, the first of which are about to come: after all nodes.
    pub const ELSEWHERE: NodeId = NodeId::numbered(u32::MAX);

    /// An event list for nodes 0..`nodes`, of which the first are `links`, and so many are woken at every packet as `often`
    /// says; it grows when later nodes are woken.
    pub fn new(nodes: usize, links: usize, often: usize) -> Scheduler {
        let few = if often > PAIR { BUSY } else { PAIR };
        Scheduler {
            busy: [Time::NEVER; BUSY],
            groups: [[Time::NEVER; BUSY]; GROUPS],
            kept: if links > BUSY { BUSY * GROUPS } else { few },
            plain: if links > BUSY { 0 } else { few },
            heap: vec![NONE; 1 + ARITY],
            len: 0,
            place: vec![ABSENT; nodes],
            once: NONE,
            once_more: BinaryHeap::new(),
            opening: NONE,
            rest: NONE,
            rest_at: Time::NEVER,
            #[cfg(debug_assertions)]
            now: Time::ZERO,
        }
    }

    /// The earliest wake, which stays pending until its node is woken again.
    #[inline]
    pub fn first(&self) -> Option<(Time, NodeId)> {
        self.first_by(LAST)
    }

    /// The earliest wake, if it comes by `end`.
    #[inline]
    pub fn first_by(&self, end: Time) -> Option<(Time, NodeId)> {
        self.first_among::<ANY>(end)
    }

    /// How many nodes, all links among them, are kept outside the heap, each with a place of its own: [`PAIR`], four, or none.
    #[inline]
    pub fn few(&self) -> usize {
        self.plain
    }

    /// As [`Scheduler::first_by`], for a caller that knows that it keeps so [few](Scheduler::few), or [`ANY`].
    #[inline(always)]
    pub fn first_among<const FEW: usize>(&self, end: Time) -> Option<(Time, NodeId)> {
        debug_assert!(
            FEW == ANY || FEW == self.plain,
            "links are looked for among {FEW}, not {}",
            self.plain
        );
        debug_assert!(end <= LAST, "what never comes would come by {end:?}");
        // The earliest time first, and whose it is afterwards: that takes less than keeping both along the way.
        let at = earliest::<FEW>(self.busy);
        if self.rest_at < at {
            return (self.rest_at <= end).then(|| (self.rest_at, node_of(self.rest)));
        }
        if at > end {
            return None;
        }
        let place = place_of::<FEW>(at, self.busy);
        if FEW != ANY || self.plain > 0 {
            return Some((at, NodeId::numbered(place as u32)));
        }
        Some(self.first_of_group(place, at))
    }

    /// Whether `at` is before every wake.
    #[inline]
    pub fn is_before_all(&self, at: Time) -> bool {
        at < self.rest_at && at < earliest::<ANY>(self.busy)
    }

    /// The first wake, which comes at `at`, is in group number `group`.
    #[inline]
    fn first_of_group(&self, group: usize, at: Time) -> (Time, NodeId) {
        let node = NodeId::numbered((group * BUSY + place_of::<ANY>(at, self.groups[group])) as u32);
        if self.rest_at > at {
            return (at, node);
        }
        // Not all of so many are links: at the same instant a wake that comes once may be that of a lower node.
        (at, node.min(node_of(self.rest)))
    }

    /// The node of the earliest wake that is kept sorted and may move, if there is one: a timer's.
    #[inline]
    pub fn first_timer(&self) -> Option<NodeId> {
        if self.len > 0 { Some(node_of(self.heap[0])) } else { None }
    }

    /// Wakes that are kept sorted have changed.
    #[inline]
    fn note_sorted(&mut self) {
        self.rest = self.heap[0].min(self.once).min(self.opening);
        self.rest_at = time_of(self.rest);
    }

    /// Notes that the wakes at `now` are about to be handled, and asserts that time does not go back.
    #[cfg(debug_assertions)]
    pub fn reach(&mut self, now: Time) {
        assert!(self.now <= now, "time goes back from {:?} to {now:?}", self.now);
        self.now = now;
    }

    /// Asserts that no wake lies before the instant that is being handled.
    #[inline(always)]
    fn assert_not_past(&self, node: NodeId, at: Time) {
        #[cfg(debug_assertions)]
        assert!(at >= self.now, "{node:?} would be woken at {at:?}, before {:?}", self.now);
        let _ = (node, at);
    }

    /// Replaces the node's pending wake; [`Time::NEVER`] cancels it.
    #[inline]
    pub fn wake(&mut self, node: NodeId, at: Time) {
        self.assert_not_past(node, at);
        match self.busy.get_mut(node.index()) {
            Some(wake) if node.index() < self.plain => *wake = at,
            _ if node.index() < self.kept => self.wake_in_group(node.index(), at),
            _ => self.wake_sorted(node, at),
        }
    }

    /// As [`Scheduler::wake`], of a link, for a caller that may know how [few](Scheduler::few) nodes are kept.
    #[inline(always)]
    pub fn wake_link<const FEW: usize>(&mut self, link: NodeId, at: Time) {
        if FEW == ANY {
            return self.wake(link, at);
        }
        self.assert_not_past(link, at);
        debug_assert!(link.index() < self.plain, "{link:?} has no place of its own");
        self.busy[link.index() % FEW] = at;
    }

    /// Sets the wake of a node that is kept in a group.
    #[inline]
    fn wake_in_group(&mut self, index: usize, at: Time) {
        let group = &mut self.groups[index / BUSY];
        group[index % BUSY] = at;
        self.busy[index / BUSY] = earliest::<ANY>(*group);
    }

    /// Wakes the node at `at` in addition to its pending wake; [`Scheduler::end_once`] ends it.
    #[inline]
    pub fn wake_once(&mut self, node: NodeId, at: Time) {
        self.assert_not_past(node, at);
        let wake = wake_of(node, at);
        if self.once == NONE {
            self.once = wake;
        } else {
            self.wake_once_more(wake);
        }
        if wake < self.rest {
            (self.rest, self.rest_at) = (wake, at);
        }
    }

    #[inline(never)]
    fn wake_once_more(&mut self, wake: Wake) {
        self.once_more.push(Reverse(wake.max(self.once)));
        self.once = self.once.min(wake);
    }

    /// The node has been woken at `now`: ends the wake that comes once then, if there is one.
    #[inline]
    pub fn end_once(&mut self, node: NodeId, now: Time) {
        if self.once == wake_of(node, now) {
            self.once = if self.once_more.is_empty() { NONE } else { self.next_once() };
            self.note_sorted();
        }
    }

    #[inline(never)]
    fn next_once(&mut self) -> Wake {
        self.once_more.pop().map_or(NONE, |Reverse(wake)| wake)
    }

    /// The instant at which the node is woken next, apart from wakes that come once.
    #[inline]
    pub fn pending(&self, node: NodeId) -> Time {
        let index = node.index();
        if index < self.plain {
            return self.busy[index];
        }
        if index < self.kept {
            return self.groups[index / BUSY][index % BUSY];
        }
        match self.place.get(index) {
            Some(&place) if place != ABSENT => time_of(self.heap[place as usize]),
            _ => Time::NEVER,
        }
    }

    /// Whether the node's wake is kept sorted, among others.
    #[inline]
    pub fn sorts(&self, node: NodeId) -> bool {
        node.index() >= self.kept
    }

    /// [`Scheduler::ELSEWHERE`] is woken at `at`, and at no other time.
    pub fn open_at(&mut self, at: Time) {
        self.assert_not_past(Scheduler::ELSEWHERE, at);
        self.opening = if at.is_never() { NONE } else { wake_of(Scheduler::ELSEWHERE, at) };
        self.note_sorted();
    }

    /// [`Scheduler::ELSEWHERE`] is woken at `at` at the latest.
    pub fn open_by(&mut self, at: Time) {
        if at < time_of(self.opening) {
            self.open_at(at);
        }
    }

    /// Makes sure that the node is woken at `at` at the latest. An earlier wake stays: polling early is harmless,
    /// and a timer that is pushed back with every packet costs nothing until it would have fired.
    #[inline]
    pub fn wake_by(&mut self, node: NodeId, at: Time) {
        self.assert_not_past(node, at);
        let index = node.index();
        if index < self.plain {
            self.busy[index] = self.busy[index].min(at);
            return;
        }
        if index < self.kept {
            let pending = self.groups[index / BUSY][index % BUSY];
            return self.wake_in_group(index, pending.min(at));
        }
        let place = self.place_of(node);
        if place == ABSENT {
            return self.start_or_cancel(node, at, place);
        }
        let wake = wake_of(node, at);
        if wake < self.heap[place as usize] {
            self.sift_up(place as usize, wake);
            self.note_sorted();
        }
    }

    /// As [`Scheduler::wake`], of a node that is [kept sorted](Scheduler::sorts).
    #[inline(never)]
    pub fn wake_sorted(&mut self, node: NodeId, at: Time) {
        self.assert_not_past(node, at);
        if self.len == 1 && node_of(self.heap[0]) == node && !at.is_never() {
            self.heap[0] = wake_of(node, at);
            return self.note_sorted();
        }
        let place = self.place_of(node);
        if place == ABSENT || at.is_never() {
            return self.start_or_cancel(node, at, place);
        }
        let wake = wake_of(node, at);
        if wake >= self.heap[place as usize] {
            self.sift_down(place as usize, wake);
        } else {
            self.sift_up(place as usize, wake);
        }
        self.note_sorted();
    }

    #[inline]
    fn place_of(&mut self, node: NodeId) -> u32 {
        match self.place.get(node.index()) {
            Some(&place) => place,
            None => self.grow(node),
        }
    }

    #[cold]
    fn grow(&mut self, node: NodeId) -> u32 {
        self.place.resize(node.index() + 1, ABSENT);
        ABSENT
    }

    /// The first wake of a node, or the end of its wakes.
    fn start_or_cancel(&mut self, node: NodeId, at: Time, place: u32) {
        if place != ABSENT {
            self.remove(place as usize);
        } else if !at.is_never() {
            let hole = self.len;
            self.len += 1;
            if self.heap.len() < self.len + ARITY {
                // By less than twice: there may be 100,000 wakes, and what is filled is used.
                let room = self.len + self.len / 4 + 2 * ARITY;
                let more = room - self.heap.len();
                pages::reserve(&mut self.heap, more);
                self.heap.resize(room, NONE);
            }
            self.sift_up(hole, wake_of(node, at));
        }
        self.note_sorted();
    }

    fn remove(&mut self, place: usize) {
        let gone = self.heap[place];
        self.place[node_of(gone).index()] = ABSENT;
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
mod tests;
