//! Congestion controls: what quinn tells and asks of one, observed; and one of ours, which drives quinn's connection.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use varicap_experiment::scenario::{QuicConfig, QuicCongestion};
use varicap_tcp::congestion::{AckSample, CongestionControl as _, CongestionEvent, CongestionKind, EcnNeed};
use varicap_units::{Bytes, Span, Stream, Time};

use crate::{clock, random};

type Ours = varicap_tcp::congestion::Controller;

/// The state of a connection as its congestion control saw it; the connection itself does not report it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Bytes of packets in flight that count [B].
    pub in_flight: u64,
    pub latest_rtt: Option<Span>,
    pub rtt_samples: u64,
    pub congestion_events: u64,
    pub persistent_congestions: u64,
    pub ssthresh: Option<u64>,
    /// The last reduction of the window, until a packet is acknowledged that left after it.
    pub recovery: Option<Time>,
    /// When the newest packet left that the acknowledgement at hand covers.
    newest: Option<Time>,
}

/// Shared by a connection's control and whoever reports on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<Seen>>);

impl Shared {
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A control, and what is seen of its connection.
struct Observed {
    control: Box<dyn Controller>,
    shared: Shared,
}

impl Controller for Observed {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.control.on_sent(now, bytes, last_packet_number);
        self.shared.seen().in_flight += bytes;
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        {
            let mut seen = self.shared.seen();
            let sent = clock::time(sent);
            seen.newest = seen.newest.max(Some(sent));
            if seen.recovery.is_some_and(|since| sent > since) {
                seen.recovery = None;
            }
        }
        self.control.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.control.on_end_acks(now, in_flight, app_limited, largest);
        let mut seen = self.shared.seen();
        seen.in_flight = in_flight;
        if let Some(newest) = seen.newest.take() {
            seen.latest_rtt = Some(clock::time(now).since(newest));
            seen.rtt_samples += 1;
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let before = self.control.window();
        self.control.on_congestion_event(now, sent, is_persistent, lost_bytes);
        let ssthresh = self.control.metrics().ssthresh;
        let is_new = self.control.window() < before;
        let mut seen = self.shared.seen();
        seen.in_flight = seen.in_flight.saturating_sub(lost_bytes);
        seen.ssthresh = ssthresh;
        if is_new || is_persistent {
            seen.congestion_events += u64::from(!is_persistent);
            seen.persistent_congestions += u64::from(is_persistent);
            seen.recovery = Some(clock::time(now));
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.control.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.control.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.control.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Observed { control: self.control.clone_box(), shared: self.shared.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.control.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Makes the control of a connection.
pub(crate) struct Factory {
    shared: Shared,
    law: Law,
}

enum Law {
    Theirs(Arc<dyn ControllerFactory + Send + Sync>),
    /// Draws random numbers as it is made.
    Bbr(Arc<BbrConfig>, Stream),
    Ours(Arc<Mutex<Ours>>),
}

impl Factory {
    /// The control that `config` asks for; `ours`, if it asks for one of ours.
    pub(crate) fn new(
        config: &QuicConfig,
        ours: Option<Ours>,
        stream: Stream,
        shared: Shared,
    ) -> Result<Factory, String> {
        let window = config.initial_window.map(Bytes::as_u64);
        let law = match config.congestion {
            QuicCongestion::Cubic => {
                let mut cubic = CubicConfig::default();
                if let Some(window) = window {
                    cubic.initial_window(window);
                }
                Law::Theirs(Arc::new(cubic))
            }
            QuicCongestion::Reno => {
                let mut reno = NewRenoConfig::default();
                if let Some(window) = window {
                    reno.initial_window(window);
                }
                Law::Theirs(Arc::new(reno))
            }
            QuicCongestion::Bbr => {
                let mut bbr = BbrConfig::default();
                if let Some(window) = window {
                    bbr.initial_window(window);
                }
                Law::Bbr(Arc::new(bbr), stream)
            }
            QuicCongestion::Varicap => {
                let control = ours.ok_or("the run has no congestion control for it")?;
                let wants = control.wants();
                if wants.rate_samples || wants.each_mark || wants.ecn != EcnNeed::AsSet {
                    return Err(
                        "its congestion control needs what quinn does not tell one: samples of the delivery rate, or \
                         which data was marked"
                            .to_owned(),
                    );
                }
                Law::Ours(Arc::new(Mutex::new(control)))
            }
        };
        Ok(Factory { shared, law })
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let control: Box<dyn Controller> = match &self.law {
            Law::Theirs(factory) => factory.clone().build(now, current_mtu),
            Law::Bbr(config, stream) => {
                // A generator of the thread begins with the thread: on one of its own it begins with the run's numbers.
                let (config, mut stream) = (config.clone(), stream.clone());
                let make = move || {
                    let fill = move |bytes: &mut [u8]| random::fill(&mut stream, bytes);
                    getrandom::drawing_from(fill, || config.build(now, current_mtu))
                };
                std::thread::scope(|scope| scope.spawn(make).join()).expect("BBR is made")
            }
            Law::Ours(control) => Box::new(Driven {
                control: control.clone(),
                shared: self.shared.clone(),
                mtu: u64::from(current_mtu),
                batch: Batch::default(),
                recovery: None,
                last_sent: None,
            }),
        };
        Box::new(Observed { control, shared: self.shared.clone() })
    }
}

/// What the acknowledgement at hand covers.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    acked: u64,
    newest: Option<Time>,
    smoothed: Option<Span>,
    least: Option<Span>,
}

/// A control of ours, told of quinn's connection what that tells.
#[derive(Clone)]
struct Driven {
    control: Arc<Mutex<Ours>>,
    shared: Shared,
    mtu: u64,
    batch: Batch,
    /// The last reduction, until a packet is acknowledged that left after it. Source: RFC 9002 §7.3.2.
    recovery: Option<Time>,
    last_sent: Option<Time>,
}

impl Driven {
    fn control(&self) -> MutexGuard<'_, Ours> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller for Driven {
    fn on_sent(&mut self, now: Instant, _: u64, _: u64) {
        let now = clock::time(now);
        if self.shared.seen().in_flight == 0
            && let Some(last) = self.last_sent
        {
            self.control().on_start(now, now.since(last));
        }
        self.last_sent = Some(now);
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        self.batch.acked += bytes;
        self.batch.newest = self.batch.newest.max(Some(clock::time(sent)));
        self.batch.smoothed = Some(clock::span(rtt.get()));
        self.batch.least = Some(clock::span(rtt.min()));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let now = clock::time(now);
        let Batch { acked, newest, smoothed, least } = std::mem::take(&mut self.batch);
        let Some(newest) = newest else { return };
        let was_in_recovery = self.recovery.is_some();
        let ends = self.recovery.is_some_and(|since| newest > since);
        if ends {
            self.recovery = None;
        }
        let mut control = self.control();
        if ends {
            control.on_recovered(now, Bytes::MAX);
        }
        if self.recovery.is_some() && !control.wants().every_ack {
            return; // no growth in recovery: RFC 9002 §7.3.2
        }
        control.on_ack(&AckSample {
            newly_acked: Bytes::new(acked),
            in_flight: Bytes::new(in_flight + acked),
            app_limited,
            in_recovery: was_in_recovery,
            may_open: self.recovery.is_none(),
            rtt: Some(now.since(newest)),
            smoothed_rtt: smoothed,
            min_rtt: least,
            ..AckSample::at(now)
        });
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let (now, sent) = (clock::time(now), clock::time(sent));
        if !is_persistent && self.recovery.is_some_and(|since| sent <= since) {
            return;
        }
        let kind = match (is_persistent, lost_bytes) {
            (true, _) => CongestionKind::Timeout { backoff: 0 },
            (false, 0) => CongestionKind::EcnEcho,
            (false, _) => CongestionKind::FastRetransmit,
        };
        self.recovery = Some(now);
        let mut control = self.control();
        // From the window, not from what is in flight. Source: RFC 9002 §7.3.2.
        let in_flight = control.cwnd();
        control.on_congestion(&CongestionEvent { now, kind, in_flight });
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = u64::from(new_mtu);
    }

    fn window(&self) -> u64 {
        // At least two packets, since quinn sends only what leaves room. Source: RFC 9002 §7.2.
        self.control().cwnd().as_u64().max(2 * self.mtu)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        let control = self.control();
        metrics.congestion_window = control.cwnd().as_u64();
        metrics.ssthresh = control.ssthresh().map(Bytes::as_u64);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
