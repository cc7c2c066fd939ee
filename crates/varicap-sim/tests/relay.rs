//! Split connections: what one flow delivers is what another sends.

use crate::common;

use common::{Interval, link, simulate};
use varicap_experiment::results::RunResult;

/// A server, a proxy and a client; 10 Mb/s with 2 x 10 ms, then 2 Mb/s with 2 x 100 ms and loss.
fn split(loss: &str, download: &str, client: &str) -> Vec<RunResult> {
    let toml = format!(
        r#"
        duration = "200 s"
        [topology.graph.links]
        down = {{ from = "server", to = "proxy", capacity = "10 Mbit/s", delay = "10 ms" }}
        up = {{ from = "proxy", to = "server", delay = "10 ms" }}
        last = {{ from = "proxy", to = "client", capacity = "2 Mbit/s", delay = "100 ms", loss = "{loss}" }}
        back = {{ from = "client", to = "proxy", delay = "100 ms" }}
        [flows.download]
        from = "server"
        to = "proxy"
        jitter = "0 s"
        {download}
        [flows.client]
        from = "proxy"
        to = "client"
        jitter = "0 s"
        app = {{ relay = {{ of = "download" }} }}
        {client}
        "#
    );
    simulate(&toml, 8)
}

#[test]
fn a_transfer_is_relayed_in_full_and_timed_from_its_first_leg() {
    // One segment of 1000 B: SYN and data take 20 + 10 ms to the proxy, then 200 + 100 ms to the client, and 0.832 ms
    // and 4.16 ms of transmission; the SYN of 40 B takes 0.032 and 0.16 ms.
    let run = split("0 %", "app = { transfer = { size = \"1 kB\" } }", "").remove(0);
    let (download, client) = (&run.flows[0], &run.flows[1]);
    assert_eq!((download.transfers, client.transfers, client.transferred_bytes), (1, 1, 1000));
    // A histogram of times is right to 1.6 %.
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.016;
    assert!(near(download.fct_mean_ms, 30.864), "{}", download.fct_mean_ms);
    assert!(near(client.fct_mean_ms, 30.864 + 304.32), "{}", client.fct_mean_ms);
}

#[test]
fn every_transfer_that_arrives_gets_a_relay_of_its_own() {
    let download =
        "stop = \"150 s\"\napp = { arrivals = { rate = \"3 /s\", size = { exponential = \"20 kB\" } } }";
    for run in split("1 %", download, "") {
        let (download, client) = (&run.flows[0], &run.flows[1]);
        assert!(download.transfers > 300);
        assert_eq!(download.transfers, client.transfers, "all are over 50 s after the last");
        assert_eq!(download.transferred_bytes, client.transferred_bytes);
        assert!(client.fct_mean_ms > download.fct_mean_ms + 300.0);
    }
}

#[test]
fn a_greedy_flow_is_relayed_as_fast_as_the_slower_leg() {
    let run = split("0 %", "", "").remove(0);
    assert!(run.flows[0].goodput_bps > 8e6, "the proxy takes all");
    let client = run.flows[1].goodput_bps;
    assert!((1.8e6..2e6).contains(&client), "{client}");
    // And no faster than the first leg, where that is the slower one.
    let run = split("0 %", "tcp = { max_window = \"2 packets\" }", "").remove(0);
    let (download, client) = (&run.flows[0], &run.flows[1]);
    assert!(client.goodput_bps <= download.goodput_bps && client.goodput_bps > 0.99 * download.goodput_bps);
}

#[test]
fn members_of_a_group_are_relayed_one_by_one() {
    let runs = split("0 %", "count = 3\napp = { transfer = { size = \"100 kB\" } }", "count = 3");
    let names: Vec<_> = runs[0].flows.iter().map(|flow| (flow.name.as_str(), flow.transfers)).collect();
    let expected = ["download.0", "download.1", "download.2", "client.0", "client.1", "client.2"];
    assert_eq!(names, expected.map(|name| (name, 1)));
}

#[test]
fn a_proxy_with_ratcp_beats_one_with_reno_on_a_link_with_loss() {
    // [ratcp, §VI]: large files at low load.
    let speeds = |client: &str| {
        let download = "app = { arrivals = { rate = \"0.04 /s\", size = { fixed = \"1 MB\" } } }";
        split("1 %", download, client)
    };
    let (ratcp, reno) =
        (speeds("tcp = { congestion = \"ratcp\" }"), speeds("tcp = { congestion = \"reno\" }"));
    let ratios: Vec<f64> = (ratcp.iter().zip(&reno))
        .map(|(ratcp, reno)| ratcp.flows[1].transfer_throughput_bps / reno.flows[1].transfer_throughput_bps)
        .collect();
    let ratio = Interval::of(&ratios);
    assert!(ratio.lo > 1.2, "{ratio:?}: {ratios:?}");
}

#[test]
fn a_relay_is_told_its_share_like_any_flow() {
    // Two at a time at most: nobody may have more than the link.
    let download = "app = { arrivals = { rate = \"0.2 /s\", size = { fixed = \"500 kB\" } } }";
    for run in split("0 %", download, "tcp = { congestion = \"ratcp\", recovery = \"newreno\" }") {
        assert_eq!(link(&run, "last").dropped_packets, 0);
        assert!(run.flows[1].transfers > 20);
    }
}

#[test]
fn no_timer_is_late_when_a_relay_gets_its_data_piece_by_piece() {
    // A segment alone in flight is probed later than one of several: those that leave after it must not make the wait
    // that is under way a shorter one, which nobody would come for. Senders assert that they are polled in time.
    let toml = r#"
        duration = "3 s"
        [topology.chain]
        forward = [
            { capacity = "20 Mbit/s", delay = "20 ms", loss = "2 %" },
            { capacity = "20 Mbit/s", delay = "2 ms", loss = "2 %" },
        ]
        [flows.near]
        from = "n0"
        to = "n1"
        count = 2
        [flows.far]
        from = "n1"
        to = "n2"
        count = 2
        app = { relay = { of = "near" } }
        "#;
    for run in simulate(toml, 8) {
        assert!(run.flows.iter().all(|flow| flow.goodput_bps > 0.0));
    }
}
