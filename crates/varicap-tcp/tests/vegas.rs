//! TCP Vegas alone on a fixed link. Source: [brakmo95].

use varicap_tcp::Congestion;
use varicap_tcp::congestion::{RenoConfig, VegasConfig};
use varicap_units::Amount;

use crate::common::fixed::{BUFFER, run};

#[test]
fn between_alpha_and_beta_packets_wait_and_none_is_lost() {
    for (alpha, beta) in [(2, 4), (6, 9)] {
        let (alpha_packets, beta_packets) = (Amount::Packets(alpha), Amount::Packets(beta));
        let vegas = VegasConfig { alpha: alpha_packets, beta: beta_packets, ..VegasConfig::default() };
        let run = run(Congestion::Vegas(vegas));
        assert_eq!(run.lost, 0);
        assert!(run.backlogs.len() > 39_000, "{} packets in 40 s of 1 packet/ms", run.backlogs.len());
        let (least, most) = (run.backlogs.iter().min().unwrap(), run.backlogs.iter().max().unwrap());
        // The packet that is being sent, whose transmission the least RTT contains, is in the backlog.
        let held = (alpha as usize)..=(beta as usize + 1);
        assert!(held.contains(least) && held.contains(most), "{least} to {most} packets, not {held:?}");
    }
}

#[test]
fn reno_fills_the_buffer_and_loses() {
    let run = run(Congestion::Reno(RenoConfig::default()));
    assert!(run.lost > 0);
    assert!(*run.backlogs.iter().max().unwrap() >= BUFFER - 1);
}
