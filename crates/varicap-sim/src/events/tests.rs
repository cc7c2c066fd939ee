use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use varicap_units::Span;

fn node(number: u32) -> NodeId {
    NodeId::numbered(number)
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn first(queue: &mut EventQueue) -> Option<(Time, NodeId)> {
    queue.first_by(EventQueue::LAST)
}

#[test]
fn ties_go_to_the_lower_node() {
    let mut queue = EventQueue::new(4, 2);
    for number in [3, 1, 2] {
        queue.wake(node(number), at(5));
    }
    assert_eq!(first(&mut queue), Some((at(5), node(1))));
}

#[test]
fn wake_by_keeps_an_earlier_wake() {
    let mut queue = EventQueue::new(1, 1);
    queue.wake_by(node(0), at(5));
    queue.wake_by(node(0), at(9));
    assert_eq!(queue.first_by(at(4)), None);
    assert_eq!(queue.first_by(at(5)), Some((at(5), node(0))));
    let mut queue = EventQueue::new(1, 1);
    queue.wake_by(node(0), at(5));
    queue.wake_by(node(0), at(2));
    assert_eq!(first(&mut queue), Some((at(2), node(0))));
}

#[test]
fn what_was_woken_is_rescheduled_and_a_later_wake_of_it_stays() {
    let mut queue = EventQueue::new(2, 2);
    queue.wake(node(0), at(5));
    queue.wake(node(1), at(8));
    assert_eq!(first(&mut queue), Some((at(5), node(0))));
    queue.reschedule(node(0), at(20));
    queue.reschedule(node(1), at(20));
    assert_eq!([node(0), node(1)].map(|node| queue.pending(node)), [at(20), at(8)]);
}

#[test]
fn never_cancels() {
    let mut queue = EventQueue::new(2, 1);
    queue.wake(node(0), at(5));
    queue.wake(node(1), at(7));
    queue.wake(node(0), Time::NEVER);
    assert_eq!(first(&mut queue), Some((at(7), node(1))));
    queue.wake(node(1), Time::NEVER);
    assert_eq!(first(&mut queue), None);
}

#[test]
fn what_comes_at_the_same_instant_as_a_wake_is_not_before_all() {
    let mut queue = EventQueue::new(8, 8);
    assert!(queue.is_before_all(at(9)));
    queue.wake(node(7), at(6));
    assert_eq!([5, 6].map(|when| queue.is_before_all(at(when))), [true, false]);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "would be woken at")]
fn a_wake_in_the_past_is_a_defect() {
    let mut queue = EventQueue::new(1, 1);
    queue.advance(at(5));
    queue.wake_by(node(0), at(4));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "does not come next")]
fn time_never_goes_back() {
    let mut queue = EventQueue::new(1, 1);
    queue.advance(at(5));
    queue.advance(at(4));
}

proptest! {
    /// Nodes from number 20 on have timers, soon or in a later turn of the wheel; those from number 40 on are answers. In
    /// between the first wake is handled.
    #[test]
    fn agrees_with_a_sorted_map(
        steps in prop::collection::vec((0u32..50, 0u64..50, 0u32..34, 0u8..4), 1..400),
    ) {
        let mut queue = EventQueue::new(3, 20);
        let mut model: BTreeMap<NodeId, Time> = BTreeMap::new();
        let mut now = Time::ZERO;
        for (number, ahead, scale, kind) in steps {
            let (node, when) = (node(number), now + Span::from_nanos(ahead << scale));
            let earliest = |model: &BTreeMap<NodeId, Time>| model.iter().map(|(&node, &when)| (when, node)).min();
            match kind {
                0 | 1 if number >= 40 => {
                    queue.end_answer(node);
                    model.remove(&node);
                }
                2 if number >= 40 => {
                    model.entry(node).or_insert_with(|| {
                        queue.wake_answer(node, when);
                        when
                    });
                }
                0 => {
                    queue.wake(node, Time::NEVER);
                    model.remove(&node);
                }
                1 => {
                    queue.wake_by(node, when);
                    let known = model.entry(node).or_insert(when);
                    *known = (*known).min(when);
                }
                2 => {
                    queue.wake(node, when);
                    model.insert(node, when);
                }
                _ => {
                    let first = earliest(&model);
                    prop_assert_eq!(queue.first_by(when), first.filter(|(at, _)| *at <= when));
                    now = first.map_or(now, |(at, _)| if at <= when { at } else { now });
                }
            }
            if number < 40 {
                prop_assert_eq!(queue.pending(node), model.get(&node).copied().unwrap_or(Time::NEVER));
            }
            if let Some((at, _)) = earliest(&model) {
                prop_assert!(!queue.is_before_all(at));
            }
        }
        while let Some((when, node)) = first(&mut queue) {
            prop_assert_eq!(model.remove(&node), Some(when));
            prop_assert!(model.values().all(|&other| other >= when));
            if node.number() < 40 { queue.wake(node, Time::NEVER) } else { queue.end_answer(node) }
        }
        prop_assert!(model.is_empty());
    }
}
