//! Delivery rates as Linux measures them (`tcp_rate.c`): which samples the application limits, and what a flight is.

use crate::common;

use std::sync::{Arc, Mutex};

use common::{MSS, Script, config, ms};
use varicap_tcp::congestion::{
    AckSample, CongestionControl, CongestionEvent, Controller, Counting, GrowWhen, Loss, RateSample, Wants,
};
use varicap_tcp::{RackConfig, Recovery, Sender, TcpConfig};
use varicap_units::{Bytes, Span, Time};

/// A sender as under the stack `linux`, which measures rates and has nothing to send.
fn measuring(config: &TcpConfig) -> Script {
    let mut script = Script::offering(config, 0);
    script.sender = script.sender.measuring_rates();
    script
}

fn habits() -> TcpConfig {
    TcpConfig {
        counting: Counting::Segments,
        grow_when: GrowWhen::WindowUsed,
        ..config(Recovery::Rack(RackConfig::linux()), 10)
    }
}

fn linux() -> Script {
    measuring(&habits())
}

fn rate(script: &Script) -> RateSample {
    script.sender.delivery_rate().unwrap()
}

/// Nothing was left to send before the first write, so that the first flight is a gap's; later ones are not.
#[test]
fn of_a_greedy_sender_the_first_flight_alone_is_limited_by_the_application() {
    let mut script = linux();
    script.write(u64::MAX);
    assert_eq!(script.sender.delivery_rate(), None);
    for number in 1..=10 {
        script.at(ms(100 + number)).ack(number * MSS);
        assert!(rate(&script).app_limited, "{number}");
    }
    script.at(ms(201)).ack(12 * MSS);
    // Since the first acknowledgement twelve segments less one arrived.
    let sample = rate(&script);
    assert_eq!((sample.app_limited, sample.delivered), (false, Bytes::new(11 * MSS)));
    assert_eq!(sample.interval, Span::from_millis(101));
}

#[test]
fn an_application_that_writes_now_and_then_limits_its_samples() {
    let mut script = linux();
    for number in 1..=5 {
        script.at(ms(1000 * number)).write(MSS);
        script.at(ms(1000 * number + 100)).ack(number * MSS);
        assert!(rate(&script).app_limited);
    }
}

/// The window of the receiver, or cwnd, is no application.
#[test]
fn a_closed_window_is_no_gap() {
    let mut script = linux();
    script.window(3000);
    script.write(1000 * MSS);
    script.at(ms(100)).ack(10 * MSS);
    script.at(ms(200)).ack(13 * MSS);
    script.write(MSS);
    script.at(ms(300)).ack(16 * MSS);
    script.at(ms(400)).ack(19 * MSS);
    assert!(!rate(&script).app_limited);

    let mut script = linux();
    script.write(30 * MSS);
    script.at(ms(100)).ack(10 * MSS);
    script.at(ms(150));
    assert_eq!((script.in_flight(), script.cwnd()), (20, 20));
    // Nothing is left, but cwnd is full.
    script.write(20 * MSS);
    script.at(ms(200)).ack(30 * MSS);
    script.at(ms(300)).ack(50 * MSS);
    assert!(!rate(&script).app_limited);
}

/// With SACK, the gap ends when what was in the pipe is delivered, not when as much as was outstanding is.
#[test]
fn a_gap_in_recovery_ends_with_what_was_in_the_pipe() {
    let mut script = linux();
    script.write(10 * MSS);
    let held = MSS..10 * MSS;
    script.at(ms(100)).sack(0, std::slice::from_ref(&held));
    assert_eq!((script.last().data.start, script.in_flight()), (0, 1), "the head is on its way again");
    script.write(100 * MSS);
    let end = script.log().iter().map(|sent| sent.data.end).max().unwrap();
    assert!(end > 10 * MSS, "new data followed");
    script.at(ms(200)).ack(end);
    let (acked, sent) = (end, script.log().iter().map(|sent| sent.data.end).max().unwrap());
    assert!(rate(&script).app_limited && sent > acked);
    script.at(ms(300)).ack(sent);
    assert!(!rate(&script).app_limited);
}

/// Data that is lost and has not left again is to be sent: the application limits nothing.
#[test]
fn data_that_is_still_to_be_resent_is_no_gap() {
    let mut script = measuring(&TcpConfig { max_burst: Some(1), ..habits() });
    script.write(10 * MSS);
    (1..10).for_each(|_| {
        script.write(0);
    });
    let (lost, held) = (0..6 * MSS, 6 * MSS..10 * MSS);
    script.at(ms(100)).sack(0, std::slice::from_ref(&held));
    let beliefs = script.sender.beliefs().unwrap();
    assert_eq!((beliefs.lost, beliefs.resent), (lost.end, MSS), "one at a time");
    assert!(script.in_flight() < script.cwnd());
    script.write(40 * MSS);
    script.at(ms(200)).ack(10 * MSS);
    assert!(!rate(&script).app_limited, "what was resent after it");
}

/// After a timeout all that was sent is outstanding still, though the sender goes back to the first of it: no interval
/// begins there, over which all would seem to have arrived.
#[test]
fn a_timeout_begins_no_flight() {
    let mut script = measuring(&config(Recovery::NewReno, 4));
    script.write(4 * MSS);
    script.at(ms(1200));
    let resent_at = script.last().at;
    assert!(resent_at >= ms(1000));
    script.at(ms(1300)).ack(4 * MSS);
    let sample = rate(&script);
    assert_eq!((sample.delivered, sample.interval), (Bytes::new(4 * MSS), Span::from_millis(1300)));
}

/// A control of three segments that asks for samples of the rate, and notes what it hears of losses.
#[derive(Debug)]
struct Listener(Arc<Mutex<Vec<&'static str>>>);

impl CongestionControl for Listener {
    fn on_ack(&mut self, _ack: &AckSample) {}
    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.0.lock().expect("one thread").push("congestion");
    }
    fn on_idle(&mut self, _restart_window: Bytes) {}
    fn on_lost(&mut self, _now: Time, _loss: &Loss) {
        self.0.lock().expect("one thread").push("loss");
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(3 * MSS)
    }
    fn wants(&self) -> Wants {
        Wants { rate_samples: true, ..Wants::default() }
    }
}

/// Linux (`tcp_enter_loss`): all is marked as lost before the control's state is that of a timeout.
#[test]
fn what_a_timeout_loses_is_reported_before_the_timeout() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let control = Controller::Boxed(Box::new(Listener(Arc::clone(&notes))));
    let mut sender = Sender::with_control(&habits(), Time::ZERO, control);
    sender.write(Bytes::MAX);
    while sender.poll(Time::ZERO).is_some() {}
    let mut now = Time::ZERO;
    while sender.counters().timeouts == 0 {
        now = sender.poll_at().max(now);
        sender.poll(now);
    }
    // A window, and the segment that probed its tail.
    assert_eq!(*notes.lock().expect("one thread"), ["loss", "loss", "loss", "loss", "congestion"]);
}
