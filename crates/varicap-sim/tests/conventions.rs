//! Conventions that differ between simulators, papers and hosts: each is an option, and each changes something.

use crate::common;

use common::{Interval, assert_same, interval, simulate};
use varicap_experiment::results::RunResult;

/// One flow on 0.8 Mb/s, 2 x 50 ms, with the given queue and TCP.
fn one(queue: &str, tcp: &str) -> RunResult {
    let toml = format!(
        r#"
        duration = "200 s"
        warmup = "20 s"
        [topology.dumbbell.forward]
        capacity = "0.8 Mbit/s"
        delay = "50 ms"
        queue = {queue}
        [flows.a.tcp]
        mss = "1000 B"
        ack = "every"
        {tcp}
        "#
    );
    simulate(&toml, 1).remove(0)
}

#[test]
fn counting_the_packet_in_service_costs_one_packet_of_buffer() {
    let peak = |limit: u32, counted: bool| {
        let queue =
            format!(r#"{{ drop-tail = {{ limit = "{limit} packets", counts_in_service = {counted} }} }}"#);
        one(&queue, "").links[0].backlog_max_packets
    };
    assert_eq!(peak(5, false), 5);
    assert_eq!(peak(5, true), 4);
}

#[test]
fn the_minimum_rto_decides_what_a_timeout_costs() {
    // Old Tahoe has timeouts only: each waits for the RTO.
    let goodput = |minimum: &str| {
        let tcp = format!("recovery = \"old-tahoe\"\ntimer = {{ rfc6298 = {{ minimum = \"{minimum}\" }} }}");
        one(r#"{ drop-tail = { limit = "10 packets" } }"#, &tcp).flows[0].goodput_bps
    };
    assert!(goodput("200 ms") > 1.1 * goodput("1 s"));
    assert!(goodput("1 s") > 1.1 * goodput("3 s"));
}

#[test]
fn coarse_ticks_wait_longer_than_a_fine_timer() {
    let goodput = |timer: &str| {
        let tcp = format!("recovery = \"old-tahoe\"\ntimer = {timer}");
        one(r#"{ drop-tail = { limit = "10 packets" } }"#, &tcp).flows[0].goodput_bps
    };
    let fine = goodput(r#"{ rfc6298 = { minimum = "200 ms" } }"#);
    let coarse = goodput(r#"{ ticks = { tick = "500 ms" } }"#);
    assert!(fine > 1.1 * coarse, "{fine} against {coarse}");
}

#[test]
fn go_back_n_resends_what_the_receiver_has() {
    // 5 % random loss: a window loses several packets, and the receiver holds what came between them.
    let resent = |after: &str| {
        let toml = format!(
            r#"
            duration = "2000 s"
            [topology.dumbbell.forward]
            capacity = "10 Mbit/s"
            delay = "50 ms"
            loss = "5 %"
            [flows.a.tcp]
            recovery = "old-tahoe"
            after_timeout = "{after}"
            "#
        );
        interval(&simulate(&toml, 4), |run| {
            run.flows[0].retransmitted_packets as f64 / run.links[0].dropped_packets as f64
        })
    };
    let (go_back_n, first_hole) = (resent("go-back-n"), resent("first-hole"));
    assert!(
        go_back_n.lo > 1.05 * first_hole.hi,
        "{go_back_n:?} against {first_hole:?} resent for each lost packet"
    );
    assert!(first_hole.hi < 1.01, "{first_hole:?}");
}

/// Share of the first of two flows over one drop-tail queue, where the second's RTT is longer by twice `access_ms`.
fn share_of_first(jitter: &str, access_ms: f64) -> Interval {
    let toml = format!(
        r#"
        duration = "200 s"
        warmup = "20 s"
        [topology.dumbbell.forward]
        capacity = "0.8 Mbit/s"
        delay = "50 ms"
        queue = {{ drop-tail = {{ limit = "15 packets" }} }}
        [tcp]
        stack = "rfc"
        mss = "1000 B"
        ack = "every"
        max_window = "32 packets"
        [flows.first]
        {jitter}
        [flows.second]
        {jitter}
        access_delay = "{access_ms} ms"
        "#
    );
    let share =
        |run: &RunResult| run.flows[0].goodput_bps / (run.flows[0].goodput_bps + run.flows[1].goodput_bps);
    interval(&simulate(&toml, 5), share)
}

#[test]
fn jitter_takes_phase_effects_away() {
    // A packet takes 10.4 ms: RTTs that differ by a part of that can put one flow's packets always just before or just
    // behind a departure, and its rival starves (Floyd and Jacobson's phase effects). ns-2 gives 0.04 here, and 0.28
    // with `overhead_` of the same size.
    let locked = share_of_first(r#"jitter = "0 s""#, 2.6);
    let free = share_of_first("", 2.6);
    assert_eq!(locked.lo, locked.hi, "nothing is random without jitter");
    assert!(free.lo < free.hi, "jitter is on by default where flows share a drop-tail queue");
    assert!(locked.mean < 0.05 && free.lo > 0.15, "{locked:?} {free:?}");
}

#[test]
fn isolated_flows_face_the_same_channel() {
    let toml = r#"
        duration = "60 s"
        isolate = true
        [topology.dumbbell.forward]
        capacity = { markov = { rates = ["2 Mbit/s", "0.5 Mbit/s"], mean_holding = ["1 s", "1 s"] } }
        delay = "20 ms"
        queue = { drop-tail = { limit = "20 packets" } }
        [flows.reno.tcp]
        recovery = "newreno"
        [flows.cubic.tcp]
        congestion = "cubic"
    "#;
    for run in simulate(toml, 3) {
        let forward: Vec<_> = run.links.iter().filter(|link| link.name == "forward").collect();
        assert_eq!(forward.len(), 2);
        assert_eq!((forward[0].flow.as_str(), forward[1].flow.as_str()), ("reno", "cubic"));
        assert_eq!(forward[0].capacity_bps, forward[1].capacity_bps);
    }
}

#[test]
fn a_new_flow_shifts_nobodys_draws() {
    let run = |more: &str| {
        let toml = format!(
            r#"
            duration = "30 s"
            [topology.graph.links.ab]
            from = "a"
            to = "b"
            capacity = {{ markov = {{ rates = ["2 Mbit/s", "1 Mbit/s"], mean_holding = ["1 s", "1 s"] }} }}
            delay = "10 ms"
            loss = "1 %"
            [topology.graph.links.ba]
            from = "b"
            to = "a"
            [topology.graph.links.bc]
            from = "b"
            to = "c"
            capacity = "1 Mbit/s"
            delay = "30 ms"
            [topology.graph.links.cb]
            from = "c"
            to = "b"
            [flows.first]
            from = "a"
            to = "b"
            {more}
            "#
        );
        simulate(&toml, 2)
    };
    let alone = run("");
    let beside = run("[flows.second]\nfrom = \"b\"\nto = \"c\"");
    for (alone, beside) in alone.iter().zip(&beside) {
        assert_same(&alone.flows[0], &beside.flows[0]);
        assert_same(&alone.links[0], &beside.links[0]);
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let toml = |seed: u64| {
        format!(
            r#"
            duration = "30 s"
            seed = {seed}
            [topology.dumbbell.forward]
            capacity = "2 Mbit/s"
            delay = "20 ms"
            loss = {{ gilbert-elliott = {{ to_bad = 0.005, to_good = 0.2 }} }}
            queue = "red"
            [flows.a]
            count = 3
            start_spread = "1 s"
            [flows.web]
            app = {{ arrivals = {{ rate = "2 /s", size = {{ pareto = {{ mean = "20 kB", shape = 1.5 }} }} }} }}
            "#
        )
    };
    let (first, again, other) = (simulate(&toml(1), 2), simulate(&toml(1), 2), simulate(&toml(2), 2));
    assert_same(&first, &again);
    assert_ne!(first[0].flows[0], other[0].flows[0]);
    assert_ne!(first[0].flows[0], first[1].flows[0]);
}

#[test]
fn an_outage_stops_everything_and_nothing_is_lost_in_it() {
    let toml = r#"
        duration = "20 s"
        [topology.dumbbell.forward]
        capacity = { steps = { at = ["0 s", "5 s", "10 s"], rates = ["1 Mbit/s", "0 bit/s", "1 Mbit/s"] } }
        delay = "20 ms"
        queue = { drop-tail = { limit = "1000 packets" } }
        [flows.a.tcp]
        max_window = "10 packets"
    "#;
    let run = simulate(toml, 1).remove(0);
    assert_eq!(run.links[0].dropped_packets, 0);
    assert!(run.flows[0].timeouts >= 1);
    assert!(run.links[0].sojourn_p99_ms > 10.0);
    assert!(run.flows[0].goodput_bps > 0.6e6, "{}", run.flows[0].goodput_bps);
}

#[test]
fn every_packet_is_delivered_lost_or_inside() {
    let toml = r#"
        duration = "50 s"
        [topology.chain]
        forward = [
            { capacity = "2 Mbit/s", delay = "5 ms", queue = { drop-tail = { limit = "8 packets" } } },
            { capacity = { markov = { rates = ["2 Mbit/s", "0 bit/s"], mean_holding = ["1 s", "300 ms"] } }, delay = "5 ms", queue = "codel", loss = "0.5 %" },
        ]
        [flows.long]
        count = 3
        [flows.cross]
        from = "n1"
        to = "n2"
        [flows.web]
        app = { arrivals = { rate = "5 /s", size = { lognormal = { mean = "10 kB", sigma = 1.0 } } } }
        stop = "40 s"
        [flows.cbr]
        datagrams = { rate = "100 kbit/s", size = "200 B" }
    "#;
    for run in simulate(toml, 3) {
        for link in run.links.iter().filter(|link| link.name.starts_with("forward")) {
            let gone = link.delivered_packets + link.dropped_packets;
            let inside = link.offered_packets.checked_sub(gone).expect("nothing comes from nowhere");
            // No link of this path holds more: 8 or 1000 packets and one in service, and what is on 5 ms of wire.
            assert!(inside < 1010, "{}: {inside} inside", link.name);
        }
        let sent: u64 =
            run.flows.iter().filter(|flow| flow.group != "cross").map(|flow| flow.sent_packets).sum();
        let web = run.flows.iter().find(|flow| flow.group == "web").unwrap();
        // The network carries what was sent, and packets without data: a SYN, and the acknowledgements of its answer and of
        // the receiver's FIN, and a FIN that did not ride on data. What is sent again may be one of these.
        let empty = run.links[0].offered_packets - sent;
        let most = 2 * 3 + 4 * web.offered_transfers + web.retransmitted_packets;
        assert!(
            (2 * 3 + 3 * web.transfers..=most).contains(&empty),
            "{empty} packets without data, at most {most}"
        );
    }
}

#[test]
fn a_slot_that_the_warm_up_ends_in_counts_from_there() {
    // Slots of 12 ms: one lies over the cut at 100 ms, and one ends with the run.
    let toml = r#"
        duration = "300 ms"
        warmup = "100 ms"
        [topology.dumbbell.forward]
        capacity = "1 Mbit/s"
        delay = "1 ms"
        arq = { window = 1 }
        queue = { drop-tail = { limit = "20 packets" } }
        [topology.dumbbell.reverse]
        delay = "1 ms"
        [flows.a.datagrams]
        rate = "4 Mbit/s"
        size = "1500 B"
        "#;
    assert_eq!(simulate(toml, 1)[0].links[0].utilisation, 1.0);
}
