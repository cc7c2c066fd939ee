//! HyStart where segments are paced. Source: Linux 6.12 and 6.18, `hystart_update` (`sk_pacing_status`); RFC 9406 §4.3 (L).

use crate::common;

use common::{MSS, Script, config, ms};
use varicap_tcp::congestion::{CubicConfig, Hystart, PlusPlusConfig, RenoConfig};
use varicap_tcp::{Congestion, Pacing, PacingRatios, Recovery, Sender, TcpConfig};
use varicap_units::{Rate, Time};

/// The reason for which a connection is paced.
#[derive(Clone, Copy, Debug)]
enum Paced {
    No,
    Always,
    /// By caps that the network advertises, in this order [Mb/s]; none: it advertises that there is none.
    Capped(&'static [Option<u64>]),
}

fn controls(hystart: Hystart) -> [Congestion; 2] {
    [
        Congestion::Reno(RenoConfig { hystart, ..RenoConfig::default() }),
        Congestion::Cubic(CubicConfig { hystart, ..CubicConfig::default() }),
    ]
}

/// A greedy sender with a window of `window` segments.
fn greedy(congestion: &Congestion, window: u64, paced: Paced) -> Script {
    let base = TcpConfig { congestion: congestion.clone(), ..config(Recovery::Sack, window) };
    match paced {
        Paced::No => Script::greedy(&base),
        Paced::Always => {
            Script::greedy(&TcpConfig { pacing: Pacing::Linux(PacingRatios::default()), ..base })
        }
        Paced::Capped(caps) => {
            let mut script = Script::offering(&base, 0);
            script.sender = Sender::new(&base, Time::ZERO).capped();
            for cap in caps {
                let rate = cap.map_or(Rate::UNLIMITED, |mbps| Rate::from_bps(mbps * 1_000_000));
                script.sender.on_rate_feedback(ms(0), rate);
            }
            script.write(u64::MAX);
            script.at(ms(50));
            script
        }
    }
}

/// The window in which a train of ACKs, 2 ms apart, of a flight of a hundred segments ends slow start on a path of 100 ms.
fn end_of_train(congestion: &Congestion, paced: Paced) -> u64 {
    let mut script = greedy(congestion, 100, paced);
    for number in 0..90 {
        script.at(ms(100 + 2 * number)).ack((1 + number) * MSS);
        if script.ssthresh() < 1 << 20 {
            break;
        }
    }
    script.ssthresh()
}

#[test]
fn a_train_of_half_the_least_rtt_ends_slow_start_unless_something_paces() {
    for congestion in controls(Hystart::Linux) {
        let end = |paced| end_of_train(&congestion, paced);
        // More than (100 ms + 1 ms) / 2, and than 101 ms.
        assert_eq!(end(Paced::No), 126);
        assert_eq!(end(Paced::Always), 151);
        assert_eq!(end(Paced::Capped(&[Some(1000)])), 151);
        assert_eq!(end(Paced::Capped(&[None])), 126, "no cap paces");
        assert_eq!(end(Paced::Capped(&[])), 126, "nothing was advertised");
        assert_eq!(end(Paced::Capped(&[Some(1000), None])), 151, "SK_PACING_NEEDED stays");
    }
}

/// RFC 9406 §4.3: L = infinity if paced, L = 8 if non-paced.
#[test]
fn hystart_plus_plus_has_no_limit_where_segments_are_paced() {
    let window = |limit, paced| {
        controls(Hystart::PlusPlus(PlusPlusConfig { limit })).map(|congestion| {
            let mut script = greedy(&congestion, 20, paced);
            script.at(ms(100)).ack(20 * MSS);
            script.cwnd()
        })
    };
    assert_eq!(window(None, Paced::No), [28, 28]);
    assert_eq!(window(None, Paced::Always), [40, 40]);
    assert_eq!(window(None, Paced::Capped(&[Some(1000)])), [40, 40]);
    assert_eq!(window(Some(4), Paced::Always), [24, 24], "what is set holds");
}
