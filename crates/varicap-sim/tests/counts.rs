//! Transfers are counted whatever becomes of them.

use proptest::prelude::*;
use varicap_experiment::results::RunResult;
use varicap_experiment::rows::FlowRow;

use crate::common::simulate;

/// The fate of the transfers of a row: offered, refused, completed, unfinished.
fn counts(row: &FlowRow) -> [u64; 4] {
    [row.offered_transfers, row.refused_transfers, row.transfers, row.unfinished_transfers]
}

/// 15 transfers of 100 kB per second to a link that carries 12.
fn overload(at_most: u32) -> RunResult {
    let toml = format!(
        r#"
        duration = "60 s"
        warmup = "10 s"
        [topology.dumbbell.forward]
        capacity = "10 Mbit/s"
        delay = "20 ms"
        queue = {{ drop-tail = {{ limit = "100 packets" }} }}
        [flows.a]
        app = {{ arrivals = {{ rate = "15 Hz", size = {{ fixed = "100 kB" }}, at_most = {at_most} }} }}
        "#
    );
    simulate(&toml, 1).remove(0)
}

#[test]
fn an_overload_leaves_transfers_refused_or_unfinished() {
    // In 50 s 750 ± 27 arrive, beside those under way after 10 s; the link carries 50 s x 10 Mb/s, some 600.
    let arrived = |row: &FlowRow| row.offered_transfers - row.carried_transfers;
    let [patient, strict] = [1000, 5].map(|at_most| overload(at_most).flows.remove(0));
    let [offered, refused, completed, unfinished] = counts(&patient);
    assert!((669..832).contains(&arrived(&patient)) && completed < 610, "{:?}", counts(&patient));
    // Arrivals do not depend on the fate of those before them.
    assert_eq!(arrived(&patient), arrived(&strict));
    assert_eq!((refused, completed + unfinished), (0, offered));
    assert!(unfinished > 100 && patient.fct_p95_ms.is_infinite(), "{:?}", counts(&patient));
    let [offered, refused, completed, unfinished] = counts(&strict);
    assert!(strict.carried_transfers <= 5 && refused > 150 && unfinished <= 5, "{:?}", counts(&strict));
    assert_eq!(refused + completed + unfinished, offered);
    assert!(strict.fct_p95_ms < 2000.0, "those that were admitted did not wait: {}", strict.fct_p95_ms);
}

#[test]
fn a_transfer_that_does_not_end_is_unfinished_and_one_cut_short_too() {
    let toml = |more: &str| {
        format!(
            r#"
            duration = "5 s"
            warmup = "1 s"
            [topology.dumbbell.forward]
            capacity = "10 Mbit/s"
            delay = "20 ms"
            [flows.a]
            count = 3
            app = {{ transfer = {{ size = "100 MB" }} }}
            {more}
            [flows.b]
            app = {{ transfer = {{ size = "10 kB" }} }}
            start = "2 s"
            [flows.c]
            app = {{ transfer = {{ size = "10 kB" }} }}
            [flows.d]
            app = "greedy"
            "#
        )
    };
    for more in ["", "stop = \"2 s\""] {
        let run = simulate(&toml(more), 1).remove(0);
        let of =
            |name: &str| counts(run.flows.iter().chain(&run.groups).find(|row| row.name == name).unwrap());
        assert_eq!((of("a"), of("a.1")), ([3, 0, 0, 3], [1, 0, 0, 1]));
        // The first is in the measured time; the second was over before it, and the third is none.
        assert_eq!((of("b"), of("c"), of("d")), ([1, 0, 1, 0], [0; 4], [0; 4]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The counts of a run until it is cut and those from there on are together those of the whole run, where what was
    /// under way at the cut is offered to both.
    #[test]
    fn what_is_offered_is_refused_completed_or_unfinished(
        rate in 1u32..60,
        kilobytes in 1u32..200,
        at_most in 1u32..40,
        cut in 1u64..9,
        seed in 0u64..1000,
        size in prop::sample::select(&["fixed", "exponential"][..]),
    ) {
        let run = |duration: u64, warmup: u64| {
            let toml = format!(
                r#"
                duration = "{duration} s"
                warmup = "{warmup} s"
                seed = {seed}
                [topology.dumbbell.forward]
                capacity = "4 Mbit/s"
                delay = "15 ms"
                queue = {{ drop-tail = {{ limit = "30 packets" }} }}
                [flows.a]
                app = {{ arrivals = {{ rate = "{rate} Hz", size = {{ {size} = "{kilobytes} kB" }}, at_most = {at_most} }} }}
                "#
            );
            counts(&simulate(&toml, 1)[0].flows[0])
        };
        let (all, before, after) = (run(10, 0), run(cut, 0), run(10, cut));
        for [offered, refused, completed, unfinished] in [all, before, after] {
            prop_assert_eq!(offered, refused + completed + unfinished);
        }
        prop_assert_eq!(before[0] + after[0], all[0] + before[3]);
        prop_assert_eq!([before[1] + after[1], before[2] + after[2]], [all[1], all[2]]);
        prop_assert_eq!(after[3], all[3]);
    }
}
