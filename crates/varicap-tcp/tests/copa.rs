//! Copa alone on a fixed link. Source: [arun18].

use varicap_tcp::Congestion;
use varicap_tcp::congestion::CopaConfig;

use crate::common::fixed::run;

/// Packets of six round trips of 101 ms, at 1 packet/ms: what is said of five holds within them, wherever they begin.
const SIX_ROUNDS: usize = 606;

/// [arun18, §2.1]: the window rises and falls by `1 / delta` packets in each round trip, at most 2.5 of them in a row, from
/// a queue that is nearly empty.
#[test]
fn the_queue_is_nearly_empty_every_five_round_trips_and_never_long() {
    for (delta, most) in [(0.5, 5), (0.25, 10)] {
        let run = run(Congestion::Copa(CopaConfig { delta, competes: false }));
        assert!(run.backlogs.len() > 39_000, "{} packets in 40 s of 1 packet/ms", run.backlogs.len());
        // After 30 s: the first seconds' queue has gone.
        for rounds in run.backlogs[10_000..].windows(SIX_ROUNDS).step_by(100) {
            let (least, largest) = (rounds.iter().min().unwrap(), rounds.iter().max().unwrap());
            // With the packet that is being sent.
            assert!(*least <= 2 && *largest <= most + 1, "delta {delta}: {least} to {largest} packets");
        }
    }
}

/// Where packets are few, a queue that is empty between two of them looks occupied now and then: seldom.
#[test]
fn alone_it_seldom_believes_to_have_competition() {
    let run = run(Congestion::Copa(CopaConfig::default()));
    let late = &run.backlogs[10_000..];
    let short = late.iter().filter(|backlog| **backlog <= 6).count();
    assert!(late.len() > 29_000 && short * 10 >= late.len() * 9, "{short} of {}", late.len());
}
