//! BBR version 3: a model of the path, its rate and its least RTT, decides how fast data leaves and how much may be in
//! flight. Source: draft-ietf-ccwg-bbr-06 [bbr3].
//!
//! States and variables have the draft's names. Its functions are spread over four files: what is known of the path
//! ([`model`]), what a loss does to that ([`losses`]), the states ([`states`]), and what follows for the sender
//! ([`output`]). Volumes are bytes of payload, rates [`Bandwidth`]s, gains and fractions hundredths; all are integers.
//!
//! Where the draft leaves something open, or contradicts itself:
//!
//! - its code sets no gains on the way around ProbeBW; they are those of the table in §5.6.1;
//! - `Inflight(BBR.max_bw, 1.0)` in §5.3.3.9 has an argument more than §5.6.4.2 defines: it is of max_bw, not of bw;
//! - losses are noted, and may end ProbeBW_UP, before fast recovery begins, and its code then saves over what it has just
//!   saved. Here, as its text says (§5.5.11.1), state is saved once for an episode, when that starts;
//! - the table of §5.6.1 bounds the window in Drain by inflight_longterm, its code (§5.6.4.7) by inflight_shortterm alone;
//! - `IsRenoCoexistenceProbeTime` (§5.3.3.8.3) takes TargetInflight for a number of rounds; it is one of packets here;
//! - `lost_prefix` (§5.5.10.2) is negative where earlier losses had crossed the threshold already; it is taken for 0;
//! - `T_reno_bound = pick_randomly_either({62, 63})` is, in its code, min(…, 63) rounds counted from 0 or 1;
//! - a mark is congestion, and no more is said (§3.7): an echo counts as a loss that exceeds the threshold.

mod losses;
mod model;
mod output;
mod states;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, OnKernel, Part};
use varicap_units::{Bytes, JsonSchema, Rate, Span, Stream, Time};

use super::bandwidth::{Bandwidth, Recent, shown};
use super::{AckSample, CongestionControl, CongestionEvent, CongestionKind, Loss, Quantity, Start, Wants};
use states::{AckPhase, State};

/// No limit has been set [B].
const INFINITE: u64 = u64::MAX;

/// Settings of BBR version 3; all other constants are the draft's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bbr3Config {
    /// Data that offload to network cards may hold back at both ends, which is always allowed in flight: this many send
    /// quanta of a millisecond at the pacing rate, and at least two segments each. 0: no offload, so that four segments
    /// are the least. Default: 3, as for TCP in draft-ietf-ccwg-bbr-06 §5.5.8.1.
    pub offload_quanta: u32,
}

impl Default for Bbr3Config {
    fn default() -> Bbr3Config {
        Bbr3Config { offload_quanta: 3 }
    }
}

impl Part for Bbr3Config {
    fn check(&self) -> Checked {
        part::require("offload_quanta", self.offload_quanta <= 16, self.offload_quanta, "from 0 to 16")
    }

    fn on_kernel(&self) -> OnKernel {
        OnKernel::Refused("Linux's `bbr` is version 1 (`congestion = \"bbr\"`): simulator only")
    }

    fn draws(&self) -> bool {
        true
    }
}

/// One acknowledgement in the draft's names (RS, and C where it is of the connection).
/// Source: draft-ietf-ccwg-bbr-06 §2.3.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    now: Time,
    /// RS.delivery_rate; zero without a sample.
    delivery_rate: Bandwidth,
    /// RS.delivered [B].
    delivered: u64,
    /// RS.prior_delivered [B].
    prior_delivered: u64,
    /// RS.newly_acked [B].
    newly_acked: u64,
    /// RS.rtt.
    rtt: Option<Span>,
    /// RS.tx_in_flight [B].
    tx_in_flight: u64,
    /// RS.lost [B].
    lost: u64,
    is_app_limited: bool,
    /// C.inflight [B].
    in_flight: u64,
    /// C.is_cwnd_limited.
    is_cwnd_limited: bool,
}

/// A loss recovery under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Episode {
    None,
    /// Losses were found, and no recovery has begun.
    Noted,
    FastRecovery,
    Timeout,
}

/// The control. Source: draft-ietf-ccwg-bbr-06 §2.4 to §2.16 names its variables.
#[derive(Debug)]
pub struct Bbr3 {
    /// C.SMSS, a full packet on the wire, and C.InitialCwnd [B].
    mss: u64,
    packet: u64,
    initial_window: u64,
    offload_quanta: u64,
    stream: Option<Stream>,
    /// C.has_selective_acks.
    has_selective_acks: bool,
    /// C.delivered [B].
    delivered: u64,

    // The sender's share.
    cwnd: u64,
    pacing_rate: Bandwidth,
    on_wire: Rate,
    send_quantum: u64,
    has_seen_rtt: bool,
    prior_cwnd: u64,

    // The state.
    state: State,
    pacing_gain: u64,
    cwnd_gain: u64,
    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    idle_restart: bool,
    drain_start_round: u64,

    // The model of the path.
    max_bw: Bandwidth,
    max_bw_filter: Recent<Bandwidth, 2>,
    cycle_count: u64,
    bw: Bandwidth,
    bw_shortterm: Bandwidth,
    bdp: u64,
    max_inflight: u64,
    /// Pacing rate, quantum, BDP and max_inflight follow from the state and the model as they are.
    is_settled: bool,
    inflight_longterm: u64,
    inflight_shortterm: u64,
    min_rtt: Span,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Span,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    extra_acked: u64,
    extra_acked_filter: Recent<u64, 10>,
    extra_acked_interval_start: Time,
    extra_acked_delivered: u64,

    // The latest round, and what was lost in it.
    bw_latest: Bandwidth,
    inflight_latest: u64,
    is_loss_in_round: bool,
    loss_round_delivered: u64,
    loss_round_start: bool,
    /// Discontiguous ranges that were lost in the round, and the end of the last one [B].
    lost_ranges: u32,
    lost_to: u64,
    episode: Episode,

    // Whether the pipe is full.
    full_bw: Bandwidth,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,

    // Probing for bandwidth.
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: u64,
    probe_up_acked_per_inc: u64,
    rounds_since_probe_up: u64,
    bw_probe_wait: Span,
    cycle_stamp: Time,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

    // Probing for the least RTT.
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,

    // The state that a spurious loss restores.
    undo_state: Option<State>,
    undo_bw_shortterm: Bandwidth,
    undo_inflight_shortterm: u64,
    undo_inflight_longterm: u64,
}

impl Bbr3 {
    /// A control that starts as `start` says. Source: draft-ietf-ccwg-bbr-06 §5.2.1 (OnInit).
    pub fn new(config: &Bbr3Config, start: &Start) -> Bbr3 {
        let mut bbr = Bbr3 {
            mss: start.mss.as_u64().max(1),
            packet: start.packet.as_u64().max(1),
            initial_window: start.usable_window(),
            offload_quanta: u64::from(config.offload_quanta),
            stream: None,
            has_selective_acks: true,
            delivered: 0,
            cwnd: start.usable_window(),
            pacing_rate: Bandwidth::ZERO,
            on_wire: Rate::UNLIMITED,
            send_quantum: 0,
            has_seen_rtt: false,
            prior_cwnd: 0,
            state: State::Startup,
            pacing_gain: 0,
            cwnd_gain: 0,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            idle_restart: false,
            drain_start_round: 0,
            max_bw: Bandwidth::ZERO,
            max_bw_filter: Recent::new(),
            cycle_count: 0,
            bw: Bandwidth::ZERO,
            bw_shortterm: Bandwidth::INFINITE,
            bdp: 0,
            max_inflight: 0,
            is_settled: false,
            inflight_longterm: INFINITE,
            inflight_shortterm: INFINITE,
            min_rtt: Span::MAX,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: Span::MAX,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            extra_acked: 0,
            extra_acked_filter: Recent::new(),
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0,
            bw_latest: Bandwidth::ZERO,
            inflight_latest: 0,
            is_loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            lost_ranges: 0,
            lost_to: u64::MAX,
            episode: Episode::None,
            full_bw: Bandwidth::ZERO,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: INFINITE,
            rounds_since_probe_up: 0,
            bw_probe_wait: Span::ZERO,
            cycle_stamp: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            undo_state: None,
            undo_bw_shortterm: Bandwidth::ZERO,
            undo_inflight_shortterm: 0,
            undo_inflight_longterm: 0,
        };
        bbr.enter(State::Startup);
        bbr.init_pacing_rate(None);
        bbr
    }

    /// §2.8: BBR.MinPipeCwnd [B].
    fn min_pipe_cwnd(&self) -> u64 {
        4 * self.mss
    }

    /// The sample of an acknowledgement; none if it delivers nothing.
    fn sample(&mut self, ack: &AckSample) -> Option<Sample> {
        let progress = ack.progress?;
        let newest = progress.newest?;
        let delivered = ack.delivered.as_u64();
        let mut newly_acked = 0;
        if delivered > self.delivered {
            newly_acked = delivered - self.delivered;
            self.delivered = delivered;
        }
        self.has_selective_acks = progress.is_selective;
        let prior_delivered = newest.prior_delivered.as_u64();
        Some(Sample {
            now: ack.now,
            delivery_rate: ack.rate.as_ref().map_or(Bandwidth::ZERO, Bandwidth::of_sample),
            delivered: self.delivered.saturating_sub(prior_delivered),
            prior_delivered,
            newly_acked,
            rtt: newest.rtt,
            tx_in_flight: newest.in_flight.as_u64(),
            lost: newest.lost.as_u64(),
            is_app_limited: newest.app_limited,
            in_flight: progress.in_flight.as_u64(),
            is_cwnd_limited: progress.cwnd_limited,
        })
    }

    /// §5.2.3 (UpdateModelAndState).
    fn update_model_and_state(&mut self, rs: &Sample) {
        self.update_latest_delivery_signals(rs);
        self.update_congestion_signals(rs);
        self.update_ack_aggregation(rs);
        self.check_full_bw_reached(rs);
        if matches!(self.state, State::Startup | State::Drain) {
            self.check_startup_done(rs);
            self.check_drain_done(rs);
        }
        self.update_probe_bw_cycle_phase(rs);
        self.update_min_rtt(rs);
        self.check_probe_rtt(rs);
        self.advance_latest_delivery_signals(rs);
        self.bound_bw_for_model();
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, ack: &AckSample) {
        // A timeout's recovery ends without a signal.
        if !ack.in_recovery && self.episode != Episode::None {
            self.end_episode();
        }
        let Some(rs) = self.sample(ack) else { return };
        if let (false, Some(smoothed)) = (self.has_seen_rtt, ack.smoothed_rtt) {
            self.has_seen_rtt = true;
            self.init_pacing_rate(Some(smoothed));
            self.init_min_rtt(ack.min_rtt.unwrap_or(smoothed), &rs);
        }
        self.update_model_and_state(&rs);
        if !self.is_settled {
            self.settle();
        }
        debug_assert!(self.would_stay(), "something has moved unnoticed: {self:?}");
        self.set_cwnd(&rs);
    }

    fn on_lost(&mut self, now: Time, loss: &Loss) {
        self.handle_lost_packet(now, loss);
    }

    /// §5.6.4.4 (OnEnterRTO, OnEnterFastRecovery); §3.7 for marks.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            CongestionKind::FastRetransmit => {
                self.begin_episode(Episode::FastRecovery);
            }
            CongestionKind::Timeout { .. } => {
                self.begin_episode(Episode::Timeout);
                // Data that is believed to be still in flight is added by `on_kept`.
                self.cwnd = self.mss;
            }
            CongestionKind::EcnEcho => self.handle_mark(event.now, event.in_flight.as_u64()),
        }
    }

    fn on_recovered(&mut self, _now: Time, _limit: Bytes) {
        self.end_episode();
    }

    fn on_undo(&mut self, _now: Time) {
        self.handle_spurious_loss_detection();
    }

    model_based!();

    fn on_restart(&mut self, now: Time) {
        self.handle_restart_from_idle(now);
    }

    fn show(&self, values: &mut Vec<f64>) {
        let flag = |value: bool| f64::from(u8::from(value));
        let span = |span: Span| if span == Span::MAX { f64::NAN } else { span.as_secs_f64() };
        let undo = self.undo_state.map_or(f64::NAN, |state| state as u8 as f64);
        values.extend([
            f64::from(self.state as u8),
            self.pacing_gain as f64 / 100.0,
            self.cwnd_gain as f64 / 100.0,
            self.max_bw.as_bps(),
            self.bw_shortterm.as_bps(),
            self.bw.as_bps(),
            self.pacing_rate.as_bps(),
            span(self.min_rtt),
            self.inflight(self.bw, 100) as f64,
            shown(self.inflight_with_headroom()),
            shown(self.inflight_longterm),
            shown(self.inflight_shortterm),
            self.max_inflight as f64,
            self.extra_acked as f64,
            self.full_bw_count as f64,
            flag(self.full_bw_now),
            flag(self.full_bw_reached),
            self.round_count as f64,
            self.drain_start_round as f64,
            self.cycle_count as f64,
            span(self.bw_probe_wait),
            flag(self.idle_restart),
            flag(self.is_loss_in_round),
            undo,
            shown(self.undo_inflight_longterm),
        ]);
    }
}

/// The quantities that `show` shows, with the draft's names.
const SHOWN: &[Quantity] = &[
    Quantity::new(
        "bbr_state",
        "1",
        "State of BBR: 0 Startup, 1 Drain, 2 ProbeBW_DOWN, 3 _CRUISE, 4 _REFILL, 5 _UP, 6 ProbeRTT.",
    ),
    Quantity::new("bbr_pacing_gain", "1", "BBR.pacing_gain."),
    Quantity::new("bbr_cwnd_gain", "1", "BBR.cwnd_gain."),
    Quantity::new("bbr_max_bw_bps", "b/s", "BBR.max_bw, of payload."),
    Quantity::new(
        "bbr_bw_shortterm_bps",
        "b/s",
        "BBR.bw_shortterm, of payload; nothing while it is infinite.",
    ),
    Quantity::new("bbr_bw_bps", "b/s", "BBR.bw, of payload."),
    Quantity::new("bbr_pacing_rate_bps", "b/s", "C.pacing_rate, of payload."),
    Quantity::new("bbr_min_rtt_s", "s", "BBR.min_rtt."),
    Quantity::new("bbr_inflight_bytes", "B", "Inflight(1.0): the estimated BDP with its budget for offload."),
    Quantity::new("bbr_headroom_bytes", "B", "InflightWithHeadroom(); nothing while it is infinite."),
    Quantity::new("bbr_inflight_longterm_bytes", "B", "BBR.inflight_longterm; nothing while it is infinite."),
    Quantity::new(
        "bbr_inflight_shortterm_bytes",
        "B",
        "BBR.inflight_shortterm; nothing while it is infinite.",
    ),
    Quantity::new("bbr_max_inflight_bytes", "B", "BBR.max_inflight."),
    Quantity::new("bbr_extra_acked_bytes", "B", "BBR.extra_acked."),
    Quantity::new("bbr_full_bw_count", "1", "BBR.full_bw_count."),
    Quantity::new("bbr_full_bw_now", "1", "BBR.full_bw_now, 0 or 1."),
    Quantity::new("bbr_full_bw_reached", "1", "BBR.full_bw_reached, 0 or 1."),
    Quantity::new("bbr_round_count", "1", "BBR.round_count."),
    Quantity::new("bbr_drain_start_round", "1", "BBR.drain_start_round."),
    Quantity::new("bbr_cycle_count", "1", "BBR.cycle_count."),
    Quantity::new("bbr_bw_probe_wait_s", "s", "BBR.bw_probe_wait."),
    Quantity::new("bbr_idle_restart", "1", "BBR.idle_restart, 0 or 1."),
    Quantity::new("bbr_is_loss_in_round", "1", "BBR.is_loss_in_round, 0 or 1."),
    Quantity::new("bbr_undo_state", "1", "BBR.undo_state, a number as bbr_state; nothing if it is None."),
    Quantity::new(
        "bbr_undo_inflight_longterm_bytes",
        "B",
        "BBR.undo_inflight_longterm; nothing while it is infinite.",
    ),
];

#[cfg(test)]
mod tests;
