use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn node(number: u32) -> NodeId {
    NodeId::numbered(number)
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

#[test]
fn ties_go_to_the_lower_node() {
    let mut scheduler = Scheduler::new(4, 2, 2);
    for number in [3, 1, 2] {
        scheduler.wake(node(number), at(5));
    }
    assert_eq!(scheduler.first(), Some((at(5), node(1))));
}

#[test]
fn ties_with_a_wake_that_comes_once_go_to_the_lower_node_wherever_it_is_kept() {
    let mut scheduler = Scheduler::new(16, 5, 5);
    scheduler.wake(node(9), at(5));
    scheduler.wake_once(node(7), at(5));
    assert_eq!(scheduler.first(), Some((at(5), node(7))));
    scheduler.wake(node(6), at(5));
    assert_eq!(scheduler.first(), Some((at(5), node(6))));
}

#[test]
fn wake_by_keeps_an_earlier_wake() {
    let mut scheduler = Scheduler::new(1, 1, 1);
    scheduler.wake_by(node(0), at(5));
    scheduler.wake_by(node(0), at(9));
    assert_eq!(scheduler.first(), Some((at(5), node(0))));
    scheduler.wake_by(node(0), at(2));
    assert_eq!(scheduler.first(), Some((at(2), node(0))));
}

#[test]
fn never_cancels() {
    let mut scheduler = Scheduler::new(2, 1, 1);
    scheduler.wake(node(0), at(5));
    scheduler.wake(node(1), at(7));
    scheduler.wake(node(0), Time::NEVER);
    assert_eq!(scheduler.first(), Some((at(7), node(1))));
    scheduler.wake(node(1), Time::NEVER);
    assert_eq!(scheduler.first(), None);
}

#[test]
fn wakes_that_come_once_come_in_order() {
    let mut scheduler = Scheduler::new(1, 1, 1);
    for (number, when) in [(9, 5), (7, 5), (8, 3), (6, 9)] {
        scheduler.wake_once(node(number), at(when));
    }
    for (number, when) in [(8, 3), (7, 5), (9, 5), (6, 9)] {
        assert_eq!(scheduler.first(), Some((at(when), node(number))));
        scheduler.end_once(node(number), at(when));
    }
    assert_eq!(scheduler.first(), None);
}

#[test]
fn a_wake_that_comes_once_stands_beside_the_pending_one() {
    for node in [node(1), node(BUSY as u32 + 1)] {
        let mut scheduler = Scheduler::new(1, 1, 1);
        scheduler.wake(node, at(9));
        scheduler.wake_once(node, at(5));
        assert_eq!(scheduler.first(), Some((at(5), node)));
        scheduler.end_once(node, at(5));
        assert_eq!(scheduler.first(), Some((at(9), node)), "the pending wake was still to come");
        scheduler.end_once(node, at(9));
        assert_eq!(scheduler.first(), Some((at(9), node)), "it does not come once");
    }
}

#[test]
fn what_comes_at_the_same_instant_as_a_wake_is_not_before_all() {
    for links in [1, 5] {
        let mut scheduler = Scheduler::new(8, links, links);
        assert!(scheduler.is_before_all(at(9)));
        scheduler.wake_once(node(7), at(5));
        scheduler.wake(node(0), at(6));
        assert_eq!([4, 5, 6].map(|when| scheduler.is_before_all(at(when))), [true, false, false]);
        scheduler.end_once(node(7), at(5));
        assert_eq!([5, 6].map(|when| scheduler.is_before_all(at(when))), [true, false]);
    }
}

#[test]
fn what_is_kept_elsewhere_comes_after_all_nodes_of_its_instant() {
    for links in [1, 5] {
        let mut scheduler = Scheduler::new(8, links, links);
        scheduler.open_at(at(5));
        scheduler.open_by(at(7));
        assert_eq!(scheduler.first(), Some((at(5), Scheduler::ELSEWHERE)));
        assert!(scheduler.is_before_all(at(4)) && !scheduler.is_before_all(at(5)));
        for number in [0, 9] {
            scheduler.wake(node(number), at(5));
            assert_eq!(scheduler.first(), Some((at(5), node(number))));
            scheduler.wake(node(number), Time::NEVER);
        }
        scheduler.wake_once(node(9), at(5));
        assert_eq!(scheduler.first(), Some((at(5), node(9))));
        scheduler.end_once(node(9), at(5));
        scheduler.open_by(at(3));
        assert_eq!(scheduler.first(), Some((at(3), Scheduler::ELSEWHERE)));
        scheduler.open_at(Time::NEVER);
        assert_eq!(scheduler.first(), None);
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "would be woken at")]
fn a_wake_in_the_past_is_a_defect() {
    let mut scheduler = Scheduler::new(1, 1, 1);
    scheduler.reach(at(5));
    scheduler.wake_by(node(0), at(4));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "time goes back")]
fn time_never_goes_back() {
    let mut scheduler = Scheduler::new(1, 1, 1);
    scheduler.reach(at(5));
    scheduler.reach(at(4));
}

proptest! {
    #[test]
    fn agrees_with_a_sorted_map(
        links in 0usize..9, others in 0usize..3,
        steps in prop::collection::vec((0u32..40, 0u64..50, any::<bool>()), 1..400),
    ) {
        let mut scheduler = Scheduler::new(3, links, links + others);
        let mut model: BTreeMap<NodeId, u64> = BTreeMap::new();
        for (number, when, lazily) in steps {
            let node = node(number);
            if when == 0 {
                scheduler.wake(node, Time::NEVER);
                model.remove(&node);
            } else if lazily {
                scheduler.wake_by(node, at(when));
                let known = model.entry(node).or_insert(when);
                *known = (*known).min(when);
            } else {
                match scheduler.few() {
                    PAIR if node.index() < links => scheduler.wake_link::<PAIR>(node, at(when)),
                    BUSY if node.index() < links => scheduler.wake_link::<BUSY>(node, at(when)),
                    _ => scheduler.wake(node, at(when)),
                }
                model.insert(node, when);
            }
            let least = model.iter().map(|(&node, &when)| (at(when), node)).min();
            prop_assert_eq!(scheduler.first(), least);
            let among = match scheduler.few() {
                PAIR => scheduler.first_among::<PAIR>(LAST),
                BUSY => scheduler.first_among::<BUSY>(LAST),
                _ => least,
            };
            prop_assert_eq!(among, least);
            prop_assert_eq!(scheduler.is_before_all(at(when)), least.is_none_or(|(first, _)| at(when) < first));
        }
    }
}
