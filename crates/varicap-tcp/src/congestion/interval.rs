//! The events of a connection in an interval, in units, and the same without units, as a policy observes it.

use varicap_units::{Bytes, NANOS_PER_SEC, Rate, Span, Time};

use super::{AckSample, CongestionEvent, CongestionKind};

/// A quantity of a sample or of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name.
    pub name: &'static str,
    /// Its unit; `1` for plain numbers.
    pub unit: &'static str,
    /// Its meaning, in one sentence.
    pub description: &'static str,
}

impl Quantity {
    /// The quantity `name` in `unit`.
    pub const fn new(name: &'static str, unit: &'static str, description: &'static str) -> Quantity {
        Quantity { name, unit, description }
    }
}

/// The events in an interval, which ended at `at`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalSample {
    /// Its end.
    pub at: Time,
    /// Its length.
    pub span: Span,
    /// Data that was shown to have arrived, cumulatively or selectively acknowledged [B].
    pub delivered: Bytes,
    /// Data found to be lost; at an expiry of the retransmission timer all that was in flight [B].
    pub lost: Bytes,
    /// Acknowledgements that arrived.
    pub acks: u32,
    /// Of these, the ones that carried an ECN echo.
    pub marked: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Mean of the RTT samples; zero without one.
    pub rtt: Span,
    /// Data in flight at its end [B].
    pub in_flight: Bytes,
    /// The window at its end [B].
    pub cwnd: Bytes,
    /// The pacing rate at its end; zero if segments are not paced.
    pub pacing_rate: Rate,
    /// Least RTT of the connection so far; zero before the first sample.
    pub least_rtt: Span,
    /// Smoothed RTT; zero before the first sample.
    pub smoothed_rtt: Span,
}

impl IntervalSample {
    /// The quantities in [`IntervalSample::values`], in this order.
    pub const QUANTITIES: [Quantity; 13] = [
        Quantity::new("at", "s", "The end of the interval."),
        Quantity::new("span", "s", "Its length."),
        Quantity::new("delivered", "B", "Data that was shown to have arrived."),
        Quantity::new(
            "lost",
            "B",
            "Data found to be lost; when the retransmission timer expires, all in flight.",
        ),
        Quantity::new("acks", "1", "Acknowledgements that arrived."),
        Quantity::new("marked", "1", "Of these, the ones that carried an ECN echo."),
        Quantity::new("timeouts", "1", "Expiries of the retransmission timer."),
        Quantity::new("rtt", "s", "Mean of the RTT samples; 0 without one."),
        Quantity::new("in_flight", "B", "Data in flight at its end."),
        Quantity::new("cwnd", "B", "The window at its end."),
        Quantity::new("pacing_rate", "b/s", "The pacing rate at its end; 0 if segments are not paced."),
        Quantity::new("least_rtt", "s", "Least RTT of the connection so far; 0 before the first."),
        Quantity::new("smoothed_rtt", "s", "Smoothed RTT; 0 before the first sample."),
    ];

    /// Its values, in the units of [`IntervalSample::QUANTITIES`].
    pub fn values(&self) -> [f64; IntervalSample::QUANTITIES.len()] {
        let bytes = |bytes: Bytes| bytes.as_u64() as f64;
        [
            self.at.as_secs_f64(),
            self.span.as_secs_f64(),
            bytes(self.delivered),
            bytes(self.lost),
            f64::from(self.acks),
            f64::from(self.marked),
            f64::from(self.timeouts),
            self.rtt.as_secs_f64(),
            bytes(self.in_flight),
            bytes(self.cwnd),
            self.pacing_rate.as_bps() as f64,
            self.least_rtt.as_secs_f64(),
            self.smoothed_rtt.as_secs_f64(),
        ]
    }

    /// The rate of what was delivered [b/s].
    fn delivery_bps(&self) -> f64 {
        ratio(self.delivered.as_u64() as f64 * 8.0, self.span.as_nanos() as f64 / NANOS_PER_SEC as f64)
    }
}

/// `part` over `whole`; zero over nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The same of two times.
fn spans(part: Span, whole: Span) -> f64 {
    ratio(part.as_nanos() as f64, whole.as_nanos() as f64)
}

/// How many numbers describe an interval to a policy.
pub const FEATURES: usize = 10;

/// The observation of an interval for a policy: plain numbers without units, so that they mean the same on paths of any rate
/// and length.
pub const OBSERVED: [Quantity; FEATURES] = [
    Quantity::new(
        "queueing",
        "1",
        "Mean RTT over the least one, minus 1: 0 to 10; the last mean if there is no sample.",
    ),
    Quantity::new("trend", "1", "Mean RTT minus that of the interval before, over the least one: -10 to 10."),
    Quantity::new(
        "delivery",
        "1",
        "Delivery rate over the best one, which fades by a tenth of itself each second; that of the last sample where \
         intervals are counted in acknowledgements or round trips.",
    ),
    Quantity::new("loss", "1", "Data lost, of what was delivered or lost."),
    Quantity::new("marks", "1", "Acknowledgements with an ECN echo, of all."),
    Quantity::new("in_flight", "1", "Data in flight over the window, at most 2."),
    Quantity::new("window", "1", "Binary logarithm of the window in segments, over 10."),
    Quantity::new("excess", "1", "Binary logarithm of the window over best rate times least RTT: -5 to 5."),
    Quantity::new("rounds", "1", "Length of the interval over the smoothed RTT, at most 10."),
    Quantity::new("silence", "1", "Time since the last acknowledgement over the smoothed RTT, at most 10."),
];

/// Share of the best delivery rate that fades in a second.
const FADING: f64 = 0.1;

/// Collects what happens in an interval, and keeps what outlives it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    began: Time,
    sample: IntervalSample,
    rtt_sum: u128,
    rtt_count: u32,
    /// All data delivered so far, and how much of it before this interval [B].
    delivered: u64,
    delivered_before: u64,
    last_ack: Time,
    /// Mean RTT of the last interval that had a sample.
    last_rtt: Span,
    /// The last delivery-rate sample of this interval; none where the control asks for none.
    rate: Option<Rate>,
    /// The best delivery rate so far, as it has faded [b/s].
    best_bps: f64,
}

impl Interval {
    /// The first interval of a connection.
    pub(super) fn new() -> Interval {
        Interval {
            began: Time::ZERO,
            sample: IntervalSample::default(),
            rtt_sum: 0,
            rtt_count: 0,
            delivered: 0,
            delivered_before: 0,
            last_ack: Time::ZERO,
            last_rtt: Span::ZERO,
            rate: None,
            best_bps: 0.0,
        }
    }

    /// The connection opens at `now`.
    pub(super) fn open(&mut self, now: Time) {
        (self.began, self.last_ack) = (now, now);
    }

    /// Acknowledgements that arrived in the interval so far.
    pub(super) fn acks(&self) -> u32 {
        self.sample.acks
    }

    pub(super) fn on_ack(&mut self, ack: &AckSample) {
        self.sample.acks += 1;
        self.sample.marked += u32::from(ack.marked);
        self.sample.lost += ack.newly_lost;
        self.delivered = self.delivered.max(ack.delivered.as_u64());
        self.last_ack = ack.now;
        self.rate = ack.rate.map(|sample| sample.rate()).or(self.rate);
        if let Some(rtt) = ack.rtt {
            self.rtt_sum += u128::from(rtt.as_nanos());
            self.rtt_count += 1;
        }
        self.sample.least_rtt = ack.min_rtt.unwrap_or(self.sample.least_rtt);
        self.sample.smoothed_rtt = ack.smoothed_rtt.unwrap_or(self.sample.smoothed_rtt);
    }

    pub(super) fn on_congestion(&mut self, event: &CongestionEvent) {
        if let CongestionKind::Timeout { .. } = event.kind {
            self.sample.timeouts += 1;
            self.sample.lost += event.in_flight;
        }
    }

    /// Best delivery rate times least RTT [B]; zero as long as one of them is not known.
    fn path(&self) -> f64 {
        self.best_bps * self.sample.least_rtt.as_nanos() as f64 / (8.0 * NANOS_PER_SEC as f64)
    }

    /// The interval ends at `now`: what happened in it, and how a policy observes it.
    pub(super) fn end(&mut self, now: Time, state: State) -> (IntervalSample, [f32; FEATURES]) {
        debug_assert!(now >= self.began, "an interval from {:?} ends at {now:?}", self.began);
        let sample = &mut self.sample;
        (sample.at, sample.span) = (now, now.since(self.began));
        sample.delivered = Bytes::new(self.delivered - self.delivered_before);
        sample.rtt = mean(self.rtt_sum, self.rtt_count);
        (sample.in_flight, sample.cwnd) = (state.in_flight, state.cwnd);
        sample.pacing_rate = state.pacing_rate;
        let ended = *sample;
        let observed = self.observe(&ended, state.mss);
        if self.rtt_count > 0 {
            self.last_rtt = ended.rtt;
        }
        let kept = (ended.least_rtt, ended.smoothed_rtt);
        self.sample = IntervalSample { least_rtt: kept.0, smoothed_rtt: kept.1, ..IntervalSample::default() };
        (self.began, self.delivered_before) = (now, self.delivered);
        (self.rtt_sum, self.rtt_count, self.rate) = (0, 0, None);
        (ended, observed)
    }

    fn observe(&mut self, sample: &IntervalSample, mss: Bytes) -> [f32; FEATURES] {
        let faded = self.best_bps * (1.0 - (FADING * sample.span.as_secs_f64()).min(1.0));
        let rate = self.rate.map_or_else(|| sample.delivery_bps(), |rate| rate.as_bps() as f64);
        self.best_bps = faded.max(rate);
        let rtt = if self.rtt_count > 0 { sample.rtt } else { self.last_rtt };
        let stretch = spans(rtt, sample.least_rtt);
        let before = spans(self.last_rtt, sample.least_rtt);
        let trend = if before > 0.0 { stretch - before } else { 0.0 };
        let (lost, delivered) = (sample.lost.as_u64() as f64, sample.delivered.as_u64() as f64);
        let cwnd = sample.cwnd.as_u64() as f64;
        let path = self.path();
        let excess = if path > 0.0 { libm::log2(cwnd / path) } else { 0.0 };
        let silence = spans(sample.at.since(self.last_ack), sample.smoothed_rtt);
        let observed = [
            (stretch - 1.0).clamp(0.0, 10.0),
            trend.clamp(-10.0, 10.0),
            ratio(rate, self.best_bps),
            ratio(lost, lost + delivered),
            ratio(f64::from(sample.marked), f64::from(sample.acks)),
            ratio(sample.in_flight.as_u64() as f64, cwnd).min(2.0),
            libm::log2(cwnd / mss.as_u64() as f64) / 10.0,
            excess.clamp(-5.0, 5.0),
            spans(sample.span, sample.smoothed_rtt).min(10.0),
            silence.min(10.0),
        ];
        observed.map(|value| value as f32)
    }
}

/// The state of a connection at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) in_flight: Bytes,
    pub(super) cwnd: Bytes,
    pub(super) pacing_rate: Rate,
    pub(super) mss: Bytes,
}

fn mean(sum: u128, count: u32) -> Span {
    let mean = sum.checked_div(u128::from(count)).unwrap_or(0);
    Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
}
