//! Time series: what flows and links did in each interval, and their state at its end.

use serde::{Deserialize, Serialize};
use varicap_tcp::congestion::{CongestionControl, Controller, Quantity};
use varicap_tcp::{Sender, State};
use varicap_units::{Bytes, Rate, Span, Time, Work};

use crate::results::columns::{Table, row, table_of};
use crate::results::measure::{FlowMeter, FlowTotals, LinkMeter, LinkTotals};

/// States of a sender, in the order of [`State`].
pub const STATES: [&str; 6] = ["connecting", "open", "disorder", "recovery", "loss", "cwr"];

row! {
    /// A flow in one interval of a time series.
    FlowPoint {
        real time_s ("time_s", "s") "End of the interval.";
        real cwnd_bytes ("cwnd_bytes", "B") "cwnd at the end of the interval.";
        real ssthresh_bytes ("ssthresh_bytes", "B") "ssthresh at the end of the interval; nothing while it is unlimited.";
        real in_flight_bytes ("in_flight_bytes", "B") "Data in flight at the end of the interval.";
        real srtt_s ("srtt_s", "s") "Smoothed round-trip time at the end of the interval.";
        real rto_s ("rto_s", "s") "Retransmission timeout at the end of the interval.";
        real goodput_bps ("goodput_bps", "b/s") "Application bytes that came in order in the interval.";
        real throughput_bps ("throughput_bps", "b/s") "TCP/IP bytes that reached the receiver in the interval.";
        real compliant_bps ("compliant_bps", "b/s") "Bytes of marked packets that reached the receiver in the interval; nothing without a reservation.";
        real reserved_bps ("reserved_bps", "b/s") "Reserved rate at the end of the interval.";
        real lost_tokens_bytes ("lost_tokens_bytes", "B") "Tokens of the reservation that were lost in the interval.";
        choice state of STATES ("state", "") "State of the sender at the end of the interval.";
    }
}

row! {
    /// A link in one interval of a time series.
    LinkPoint {
        real time_s ("time_s", "s") "End of the interval.";
        real capacity_bps ("capacity_bps", "b/s") "Capacity offered in the interval; nothing where it is unlimited.";
        real throughput_bps ("throughput_bps", "b/s") "TCP/IP bytes that came through in the interval.";
        count backlog_packets ("backlog_packets", "packets") "Packets waiting at the end of the interval.";
        count backlog_bytes ("backlog_bytes", "B") "Bytes waiting at the end of the interval.";
        real backlog_mean_bytes ("backlog_mean_bytes", "B") "Mean over the interval of the bytes waiting.";
        count dropped_packets ("dropped_packets", "packets") "Packets lost for any cause in the interval.";
        real delay_s ("delay_s", "s") "Propagation delay at the end of the interval.";
    }
}

/// The state of a sender; a flow without a TCP sender has none.
#[derive(Clone, Copy, Debug)]
pub struct SenderState {
    /// Congestion window [B].
    pub cwnd: Bytes,
    /// Slow start threshold [B]; `None` while it is unlimited.
    pub ssthresh: Option<Bytes>,
    /// Data in flight [B].
    pub in_flight: Bytes,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Retransmission timeout, if it is known.
    pub rto: Option<Span>,
    /// State of loss recovery.
    pub state: State,
}

/// The state of a reservation.
#[derive(Clone, Copy, Debug)]
pub struct ReservedState {
    /// The reserved rate in force.
    pub rate: Rate,
    /// Tokens lost since the start of the run.
    pub lost_tokens: Work,
}

impl SenderState {
    /// The state of `sender`.
    pub fn of(sender: &Sender) -> SenderState {
        SenderState {
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh().filter(|&ssthresh| ssthresh < Bytes::MAX),
            in_flight: sender.in_flight(),
            srtt: sender.smoothed_rtt(),
            rto: Some(sender.rto()),
            state: sender.state(),
        }
    }
}

/// The time series of one flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowSeries {
    /// Name of the flow.
    pub name: String,
    /// One point per interval.
    pub points: Vec<FlowPoint>,
    #[serde(skip)]
    last: (Time, FlowTotals),
    /// Tokens of the reservation lost so far.
    #[serde(skip)]
    lost_tokens: Work,
    /// The quantities that the flow's congestion control shows, and their values, point after point.
    #[serde(skip)]
    shown: &'static [Quantity],
    #[serde(skip)]
    values: Vec<f64>,
}

impl FlowSeries {
    /// An empty series of the flow called `name` from time zero on, with room for `intervals` intervals.
    pub fn new(name: &str, intervals: usize) -> FlowSeries {
        FlowSeries {
            name: name.to_owned(),
            points: Vec::with_capacity(intervals.min(POINTS_AT_FIRST)),
            last: (Time::ZERO, FlowTotals::default()),
            lost_tokens: Work::ZERO,
            shown: &[],
            values: Vec::new(),
        }
    }

    /// Adds what `control` shows to the point that was added last.
    pub fn show(&mut self, control: &Controller) {
        self.shown = control.shown();
        self.values.resize(self.points.len().saturating_sub(1) * self.shown.len(), f64::NAN);
        control.show(&mut self.values);
        debug_assert_eq!(self.values.len(), self.points.len() * self.shown.len());
    }

    /// The values of what the flow's congestion control calls `name`, if it shows that: one for each point, NaN where there
    /// was none.
    pub fn values(&self, name: &str) -> Option<impl Iterator<Item = f64>> {
        let place = self.shown.iter().position(|shown| shown.name == name)?;
        let width = self.shown.len();
        let value = move |point: usize| self.values.get(point * width + place).copied();
        Some((0..self.points.len()).map(move |point| value(point).unwrap_or(f64::NAN)))
    }

    /// The quantities that the flow's congestion control shows.
    pub fn shown(&self) -> &'static [Quantity] {
        self.shown
    }

    /// Ends an interval at `now` and adds its point.
    pub fn sample(
        &mut self,
        now: Time,
        meter: &mut FlowMeter,
        sender: Option<SenderState>,
        reserved: Option<ReservedState>,
    ) {
        let lost = reserved.map(|reserved| {
            let before = std::mem::replace(&mut self.lost_tokens, reserved.lost_tokens);
            reserved.lost_tokens.saturating_sub(before).as_bits_f64() / 8.0
        });
        let totals = meter.totals(now);
        let (since, before) = std::mem::replace(&mut self.last, (now, totals));
        let (done, span) = (totals.since(&before), now.since(since));
        let real = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let bytes = |value: Option<Bytes>| real(value.map(|bytes| bytes.as_u64() as f64));
        self.points.push(FlowPoint {
            time_s: now.as_secs_f64(),
            cwnd_bytes: bytes(sender.map(|sender| sender.cwnd)),
            ssthresh_bytes: bytes(sender.and_then(|sender| sender.ssthresh)),
            in_flight_bytes: bytes(sender.map(|sender| sender.in_flight)),
            srtt_s: real(sender.and_then(|sender| sender.srtt).map(Span::as_secs_f64)),
            rto_s: real(sender.and_then(|sender| sender.rto).map(Span::as_secs_f64)),
            goodput_bps: per_second(done.in_order, span),
            throughput_bps: per_second(done.delivered, span),
            compliant_bps: real(meter.is_reserved().then(|| per_second(done.compliant, span))),
            reserved_bps: real(reserved.map(|reserved| reserved.rate.as_bps() as f64)),
            lost_tokens_bytes: real(lost),
            state: sender.map_or(State::Open, |sender| sender.state) as u8,
        });
    }

    /// The points of the series as a table.
    pub fn table(&self) -> Table {
        table_of(&self.points)
    }
}

/// The time series of one link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkSeries {
    /// Name of the link.
    pub name: String,
    /// One point per interval.
    pub points: Vec<LinkPoint>,
    #[serde(skip)]
    last: (Time, LinkTotals),
}

impl LinkSeries {
    /// An empty series of the link called `name` from time zero on, with room for `intervals` intervals.
    pub fn new(name: &str, intervals: usize) -> LinkSeries {
        LinkSeries {
            name: name.to_owned(),
            points: Vec::with_capacity(intervals.min(POINTS_AT_FIRST)),
            last: (Time::ZERO, LinkTotals::default()),
        }
    }

    /// Ends an interval at `now` and adds its point; the link must have been advanced to `now`, at which its propagation
    /// delay is `delay`.
    pub fn sample(&mut self, now: Time, meter: &mut LinkMeter, delay: Span) {
        let totals = meter.totals(now);
        let (since, before) = std::mem::replace(&mut self.last, (now, totals));
        let (done, span) = (totals.since(&before), now.since(since));
        let is_limited = !meter.capacity().is_unlimited();
        self.points.push(LinkPoint {
            time_s: now.as_secs_f64(),
            capacity_bps: if is_limited { work_per_second(done.offered, span) } else { f64::NAN },
            throughput_bps: per_second(
                (done.carried + done.duplicated).saturating_sub(done.channel_lost),
                span,
            ),
            backlog_packets: u64::from(meter.waiting().frames),
            backlog_bytes: meter.waiting().bytes.as_u64(),
            backlog_mean_bytes: done.byte_time as f64 / span.as_nanos() as f64,
            dropped_packets: done.lost_frames(),
            delay_s: delay.as_secs_f64(),
        });
    }

    /// The points of the series as a table.
    pub fn table(&self) -> Table {
        table_of(&self.points)
    }
}

/// The points for which a series has room from the beginning; a longer one grows while it is recorded.
const POINTS_AT_FIRST: usize = 1 << 14;

/// Whole intervals in `duration`: how many points a series has.
pub fn intervals(duration: Span, interval: Span) -> usize {
    usize::try_from(duration.as_nanos().checked_div(interval.as_nanos()).unwrap_or(0)).unwrap_or(usize::MAX)
}

fn per_second(bytes: Bytes, span: Span) -> f64 {
    work_per_second(Work::of(bytes), span)
}

fn work_per_second(work: Work, span: Span) -> f64 {
    if span > Span::ZERO { work.as_bits_f64() / span.as_secs_f64() } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::columns::Data;
    use varicap_net::{Backlog, LossCause};
    use varicap_tcp::TcpConfig;

    const SIZE: Bytes = Bytes::new(1000);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn states_have_the_names_of_their_places() {
        let states =
            [State::Connecting, State::Open, State::Disorder, State::Recovery, State::Loss, State::Cwr];
        for (place, state) in states.into_iter().enumerate() {
            assert_eq!(STATES[state as usize], format!("{state:?}").to_lowercase());
            assert_eq!(state as usize, place);
        }
    }

    #[test]
    fn rates_are_those_of_the_interval() {
        let (mut meter, mut series) = (LinkMeter::new(), LinkSeries::new("down", 2));
        meter.on_capacity(at(0), Rate::from_bps(8_000));
        meter.on_capacity(at(500), Rate::from_bps(24_000));
        meter.on_arrival(at(900), SIZE, Backlog::default());
        meter.on_arrival(at(900), SIZE, Backlog::default());
        series.sample(at(1000), &mut meter, Span::ZERO);
        meter.on_departure(at(1500), at(900), SIZE, Backlog::default());
        meter.on_lost(at(1500), SIZE, LossCause::Channel);
        meter.on_departure(at(1900), at(900), SIZE, Backlog::default());
        series.sample(at(2000), &mut meter, Span::from_millis(30));
        let table = series.table();
        assert_eq!(table.get("capacity_bps"), Some(&Data::Real(vec![16_000.0, 24_000.0])));
        assert_eq!(table.get("throughput_bps"), Some(&Data::Real(vec![0.0, 8_000.0])));
        assert_eq!(table.get("backlog_packets"), Some(&Data::Count(vec![1, 0])));
        assert_eq!(table.get("dropped_packets"), Some(&Data::Count(vec![0, 1])));
        assert_eq!(table.get("delay_s"), Some(&Data::Real(vec![0.0, 0.03])));
    }

    #[test]
    fn the_cut_of_the_warm_up_leaves_a_series_whole() {
        let (mut meter, mut series) = (FlowMeter::new(SIZE), FlowSeries::new("a", 1));
        meter.on_data(SIZE, SIZE);
        meter.reset(at(500), Default::default());
        meter.on_data(SIZE, SIZE);
        series.sample(at(1000), &mut meter, None, None);
        assert_eq!(series.points[0].goodput_bps, 16_000.0);
    }

    #[test]
    fn a_sample_tells_where_the_sender_stands() {
        let sender = Sender::new(&TcpConfig::default(), Time::ZERO);
        let (mut meter, mut series) = (FlowMeter::new(SIZE), FlowSeries::new("a", 1));
        series.sample(at(100), &mut meter, Some(SenderState::of(&sender)), None);
        let point = &series.points[0];
        assert_eq!(point.cwnd_bytes, sender.cwnd().as_u64() as f64);
        assert_eq!((point.rto_s, STATES[point.state as usize]), (1.0, "connecting"));
        assert!(point.srtt_s.is_nan() && point.ssthresh_bytes.is_nan());
    }

    #[test]
    fn a_reserved_flow_tells_its_rate_what_conformed_and_what_tokens_were_lost() {
        let (mut meter, mut series) = (FlowMeter::new(SIZE), FlowSeries::new("r", 2));
        meter.reserve();
        let lost =
            |bytes| ReservedState { rate: Rate::from_bps(8_000), lost_tokens: Work::of(Bytes::new(bytes)) };
        meter.on_data(SIZE, SIZE);
        meter.on_marked(SIZE);
        meter.on_data(SIZE, SIZE);
        series.sample(at(1000), &mut meter, None, Some(lost(300)));
        series.sample(at(2000), &mut meter, None, Some(lost(1000)));
        let column = |name: &str| series.table().get(name).cloned();
        assert_eq!(column("compliant_bps"), Some(Data::Real(vec![8_000.0, 0.0])));
        assert_eq!(column("throughput_bps"), Some(Data::Real(vec![16_000.0, 0.0])));
        assert_eq!(column("reserved_bps"), Some(Data::Real(vec![8_000.0, 8_000.0])));
        assert_eq!(column("lost_tokens_bytes"), Some(Data::Real(vec![300.0, 700.0])));
    }

    #[test]
    fn a_flow_without_a_sender_has_no_window() {
        let (mut meter, mut series) = (FlowMeter::new(SIZE), FlowSeries::new("cross", 1));
        series.sample(at(100), &mut meter, None, None);
        assert!(series.points[0].cwnd_bytes.is_nan());
    }

    #[test]
    fn intervals_are_counted_without_overflow() {
        assert_eq!(intervals(Span::from_secs(60), Span::from_millis(100)), 600);
        assert_eq!(intervals(Span::from_secs(60), Span::ZERO), 0);
    }

    #[test]
    fn an_endless_series_takes_no_endless_memory() {
        assert!(FlowSeries::new("a", usize::MAX).points.capacity() < 1_000_000);
        assert!(LinkSeries::new("a", usize::MAX).points.capacity() < 1_000_000);
    }
}
