//! Losses of a trace, against plain arithmetic: packet by packet, to the nanosecond.

use crate::common;

use common::{Log, constant, drain, link, ms, packet, parts};
use varicap_net::{ArqConfig, ArqParts, HandoverConfig, LinkParts, LossCause, LossConfig, LossParts};
use varicap_units::{Bytes, Probability};

/// The loss that `settings` describe, where the file `l` has these `rows`.
fn read(settings: &str, rows: &str) -> Result<LossParts, String> {
    let config: LossConfig = serde_json::from_str(settings).unwrap();
    let rows = rows.to_owned().into_bytes();
    let mut files = |_: &str| -> Result<Box<dyn std::io::BufRead>, String> {
        Ok(Box::new(std::io::Cursor::new(rows.clone())))
    };
    LossParts::from_config(&config, &mut files).map_err(|error| error.to_string())
}

fn traced(rows: &str) -> LossParts {
    read(r#"{"trace": {"file": "l"}}"#, rows).unwrap()
}

/// Which of `count` packets are lost that leave the server at 1, 2, 3, … ms.
fn lost(loss: LossParts, count: u64) -> Vec<u64> {
    let parts = LinkParts { loss, ..parts(constant(12_000_000)) };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    (0..count).for_each(|number| link.push(ms(0), packet(number, 1500), &mut log));
    drain(&mut link, ms(1_000_000), &mut log);
    let channel = log.losses().into_iter().filter(|(_, cause, _)| *cause == LossCause::Channel);
    channel.map(|(_, _, number)| number).collect()
}

#[test]
fn a_frame_fares_by_the_nanosecond_in_which_it_leaves_the_server() {
    // Lost is what leaves from 2 ms on and before 2.000001 ms: the second packet, to the nanosecond.
    assert_eq!(lost(traced("time_s,loss\n0,0\n0.002,1\n0.002000001,0\n9,0\n"), 4), [1]);
    assert_eq!(
        lost(traced("time_s,loss\n0,0\n0.002000001,1\n0.003,0\n9,0\n"), 4),
        [0; 0],
        "a nanosecond later"
    );
    assert_eq!(lost(traced("time_s,loss\n0,0\n0.002000001,1\n0.003000001,0\n9,0\n"), 4), [2]);
}

#[test]
fn a_trace_begins_again_or_stays_and_may_be_entered_later() {
    let rows = "time_s,loss\n0,0\n0.0015,1\n";
    // 1.5 ms without loss and, as long as those, 1.5 ms with: 3 ms a round.
    assert_eq!(lost(traced(rows), 7), [1, 4]);
    assert_eq!(lost(read(r#"{"trace": {"file": "l", "repeat": false}}"#, rows).unwrap(), 5), [1, 2, 3, 4]);
    assert_eq!(lost(read(r#"{"trace": {"file": "l", "offset": "1 ms"}}"#, rows).unwrap(), 7), [0, 3, 6]);
}

#[test]
fn a_burst_of_a_handover_comes_on_top() {
    let config = r#"{"period": "4 ms", "burst": "1.5 ms"}"#;
    let handover: HandoverConfig = serde_json::from_str(config).unwrap();
    let both = handover.burst(traced("time_s,loss\n0,0\n0.002,1\n0.002000001,0\n9,0\n"));
    // Those of the trace at 2 ms, and of the handovers what leaves within 1.5 ms of 4, 8, … ms.
    assert_eq!(lost(both, 10), [1, 3, 4, 7, 8]);
}

#[test]
fn a_link_that_resends_loses_no_packet_of_a_burst() {
    let loss = traced("time_s,loss\n0,1\n0.01,0\n9,0\n");
    let base = LinkParts { loss, ..parts(constant(12_000_000)) };
    // Slots of 1 ms, of which those are in vain that end before 10 ms.
    let arq = ArqParts::new(&ArqConfig::default(), &base.capacity, &base.framing, Bytes::new(1500)).unwrap();
    let parts = LinkParts { arq: Some(arq), ..base };
    let (mut link, mut log) = (link(&parts, 1), Log::default());
    link.push(ms(0), packet(0, 1500), &mut log);
    let out = drain(&mut link, ms(1_000_000), &mut log);
    assert!(log.losses().is_empty(), "sent again until the burst is over");
    assert_eq!(out[0].0, ms(10));
}

#[test]
fn the_share_that_a_probability_loses_is_that_probability() {
    let found = lost(traced("time_s,loss\n0,0.2\n9,0.2\n"), 40_000).len() as f64;
    // Binomial: standard deviation 80; four of them are exceeded once in 16,000 seeds.
    assert!((found - 8_000.0).abs() < 4.0 * 80.0, "{found}");
    let parts = read(r#"{"trace": {"file": "l"}}"#, "time_s,loss\n0,0\n3,0.4\n").unwrap();
    assert!((parts.mean() - Probability::new(0.2).unwrap().get()).abs() < 1e-12);
}

#[test]
fn what_a_trace_cannot_be_is_refused_with_its_key() {
    let refusal = |settings: &str| read(settings, "time_s,loss\n0,0\n1,1\n").unwrap_err();
    assert_eq!(
        refusal(r#"{"trace": {"file": "l", "repeat": false, "offset": "random"}}"#),
        "`trace.offset` is random, expected a time, or `repeat = true`"
    );
    assert_eq!(
        refusal(r#"{"trace": {"file": "l", "offset": "2 s"}}"#),
        "`trace.offset` is 2 s, expected less than the length of the trace, 2 s"
    );
}
