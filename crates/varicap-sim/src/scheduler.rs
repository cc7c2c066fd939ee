//! The event list: at most one pending wake per node, in an indexed 4-ary heap ordered by (time, node).

use varicap_units::Time;

/// Names a node of the world: links first, endpoints last.
pub type NodeId = u32;

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Time,
    node: NodeId,
}

/// The one event list of a world. Ties are resolved by node, so the order never depends on how often a node was
/// woken: links are numbered before endpoints, and a departure is worked off before a simultaneous timer.
#[derive(Default)]
pub struct Scheduler {
    heap: Vec<Entry>,
    /// Where each node's entry stands in the heap.
    place: Vec<u32>,
}

impl Scheduler {
    /// An event list for nodes 0..`nodes`; it grows when later nodes are woken.
    pub fn new(nodes: usize) -> Scheduler {
        Scheduler { heap: Vec::with_capacity(nodes), place: vec![ABSENT; nodes] }
    }

    /// The earliest wake, which stays pending until its node is woken again.
    #[inline]
    pub fn first(&self) -> Option<(Time, NodeId)> {
        self.heap.first().map(|entry| (entry.at, entry.node))
    }

    /// Replaces the node's pending wake; [`Time::NEVER`] cancels it.
    #[inline]
    pub fn wake(&mut self, node: NodeId, at: Time) {
        let place = self.place_of(node);
        if place == ABSENT {
            if !at.is_never() {
                self.insert(Entry { at, node });
            }
        } else if at.is_never() {
            self.remove(place as usize);
        } else {
            let before = self.heap[place as usize].at;
            if at > before {
                self.sift_down(place as usize, Entry { at, node });
            } else if at < before {
                self.sift_up(place as usize, Entry { at, node });
            }
        }
    }

    /// Makes sure that the node is woken at `at` at the latest. An earlier wake stays: polling early is harmless,
    /// and a timer that is pushed back with every packet costs nothing until it would have fired.
    #[inline]
    pub fn wake_by(&mut self, node: NodeId, at: Time) {
        let place = self.place_of(node);
        if place == ABSENT {
            if !at.is_never() {
                self.insert(Entry { at, node });
            }
        } else if at < self.heap[place as usize].at {
            self.sift_up(place as usize, Entry { at, node });
        }
    }

    #[inline]
    fn place_of(&mut self, node: NodeId) -> u32 {
        match self.place.get(node as usize) {
            Some(&place) => place,
            None => self.grow(node),
        }
    }

    #[cold]
    fn grow(&mut self, node: NodeId) -> u32 {
        self.place.resize(node as usize + 1, ABSENT);
        ABSENT
    }

    fn insert(&mut self, entry: Entry) {
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1, entry);
    }

    fn remove(&mut self, place: usize) {
        let gone = self.heap[place];
        self.place[gone.node as usize] = ABSENT;
        let last = self.heap.pop().unwrap_or(gone); // never empty: `place` was in it
        if place == self.heap.len() {
            return;
        }
        if last < gone { self.sift_up(place, last) } else { self.sift_down(place, last) }
    }

    /// Moves `entry` from `hole` towards the root to its place.
    #[inline]
    fn sift_up(&mut self, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(hole, self.heap[parent]);
            hole = parent;
        }
        self.put(hole, entry);
    }

    /// Moves `entry` from `hole` towards the leaves to its place.
    #[inline]
    fn sift_down(&mut self, mut hole: usize, entry: Entry) {
        loop {
            let first = hole * ARITY + 1;
            let last = (first + ARITY).min(self.heap.len());
            if first >= last {
                break;
            }
            let mut least = first;
            for child in first + 1..last {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if self.heap[least] >= entry {
                break;
            }
            self.put(hole, self.heap[least]);
            hole = least;
        }
        self.put(hole, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.place[entry.node as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn ties_go_to_the_lower_node() {
        let mut scheduler = Scheduler::new(4);
        for node in [3, 1, 2] {
            scheduler.wake(node, at(5));
        }
        assert_eq!(scheduler.first(), Some((at(5), 1)));
    }

    #[test]
    fn wake_by_keeps_an_earlier_wake() {
        let mut scheduler = Scheduler::new(1);
        scheduler.wake_by(0, at(5));
        scheduler.wake_by(0, at(9));
        assert_eq!(scheduler.first(), Some((at(5), 0)));
        scheduler.wake_by(0, at(2));
        assert_eq!(scheduler.first(), Some((at(2), 0)));
    }

    #[test]
    fn never_cancels() {
        let mut scheduler = Scheduler::new(2);
        scheduler.wake(0, at(5));
        scheduler.wake(1, at(7));
        scheduler.wake(0, Time::NEVER);
        assert_eq!(scheduler.first(), Some((at(7), 1)));
        scheduler.wake(1, Time::NEVER);
        assert_eq!(scheduler.first(), None);
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(steps in prop::collection::vec((0u32..40, 0u64..50, any::<bool>()), 1..400)) {
            let mut scheduler = Scheduler::new(3);
            let mut model: BTreeMap<NodeId, u64> = BTreeMap::new();
            for (node, when, lazily) in steps {
                if when == 0 {
                    scheduler.wake(node, Time::NEVER);
                    model.remove(&node);
                } else if lazily {
                    scheduler.wake_by(node, at(when));
                    let known = model.entry(node).or_insert(when);
                    *known = (*known).min(when);
                } else {
                    scheduler.wake(node, at(when));
                    model.insert(node, when);
                }
                let least = model.iter().map(|(&node, &when)| (at(when), node)).min();
                prop_assert_eq!(scheduler.first(), least);
            }
        }
    }
}
