//! Recovery by duplicate ACKs, as RFC 5681 §3.2 has it. Its variants say where they differ ([`Family`]).

use std::marker::PhantomData;

use super::{Arrival, Common, Expiry, Reaction, Rules, SequenceSpace, Signal, State, note};
use crate::config::{AfterRecovery, AfterTimeout, TahoeResends, TcpConfig};

/// Where a variant differs from RFC 2581's recovery.
pub(super) trait Family: Sized {
    /// Whether duplicate ACKs mean anything.
    const HEEDS_DUPLICATES: bool = true;
    /// Whether, if fast retransmits repeat, duplicates of the very ACK that ends a recovery may start another one.
    const REPEATS_AT_RECOVER: bool = true;

    /// Duplicate ACKs have shown a loss, with `in_flight` bytes in flight. The timer starts anew with the
    /// retransmission, as in BSD, Linux and ns-2: RFC 6298 would let it run on.
    fn begin(
        rules: &mut Duplicates<Self>,
        common: &mut Common,
        space: &SequenceSpace,
        in_flight: u64,
    ) -> Reaction {
        common.state = State::Recovery;
        rules.partial_seen = false;
        rules.lose_head(common, space);
        // RFC 5681 §3.2 (3): cwnd = ssthresh + 3*SMSS.
        let inflation = i64::from(common.threshold) * space.mss as i64;
        common.credit = if rules.inflates { inflation } else { 0 };
        Reaction { rearm: true, signal: Some(Signal::Reduce { in_flight }), ..Reaction::default() }
    }

    /// An acknowledgement of new data in recovery, but not of all that was sent when it began; None: it ends recovery.
    fn on_partial(
        _rules: &mut Duplicates<Self>,
        _common: &mut Common,
        _space: &SequenceSpace,
        _before: u64,
    ) -> Option<Reaction> {
        None
    }

    /// Most that the window may be when recovery ends [B].
    fn limit(_rules: &Duplicates<Self>, _space: &SequenceSpace) -> u64 {
        u64::MAX
    }
}

/// Recovery by duplicate ACKs.
#[derive(Clone, Debug)]
pub(crate) struct Duplicates<F> {
    /// A partial ACK has come in this recovery.
    pub(super) partial_seen: bool,
    pub(super) inflates: bool,
    pub(super) after_recovery: AfterRecovery,
    repeat: bool,
    after_timeout: AfterTimeout,
    pub(super) tahoe_resends: TahoeResends,
    family: PhantomData<F>,
}

impl<F: Family> Rules for Duplicates<F> {
    fn new(config: &TcpConfig) -> Duplicates<F> {
        Duplicates {
            partial_seen: false,
            inflates: config.window_inflation,
            after_recovery: config.after_recovery,
            repeat: config.repeat_fast_retransmit,
            after_timeout: config.after_timeout,
            tahoe_resends: config.tahoe_resends,
            family: PhantomData,
        }
    }

    #[inline(never)] // so that the choice of a recovery is a jump
    fn on_ack(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        reaction: &mut Reaction,
    ) {
        if space.una > arrival.before {
            *reaction = self.on_cumulative(common, space, arrival.before);
        } else if arrival.is_duplicate && F::HEEDS_DUPLICATES && arrival.segment.duplicate_block().is_none() {
            // RFC 6675 §2 (DupAck): what reports a duplicate (RFC 2883) says of nothing new that it has left the network.
            *reaction = self.on_duplicate(common, space);
        }
    }

    fn on_timeout(&mut self, common: &mut Common, _space: &SequenceSpace, _expiry: &Expiry) -> bool {
        common.credit = 0;
        self.resend_from_hole(common)
    }

    fn next_resend(&mut self, common: &mut Common, space: &SequenceSpace, _room: bool) -> Option<(u64, u64)> {
        let (from, to) = space.head();
        (std::mem::take(&mut common.head_due) && from < to).then_some((from, to))
    }
}

impl<F: Family> Duplicates<F> {
    /// Sends again from SND.UNA on; false: only the first segment, for now.
    pub(super) fn resend_from_hole(&self, common: &mut Common) -> bool {
        common.head_due = self.after_timeout == AfterTimeout::FirstHole;
        !common.head_due
    }

    /// The first unacknowledged segment is lost, and goes out again.
    pub(super) fn lose_head(&self, common: &mut Common, space: &SequenceSpace) {
        let (from, to) = space.head();
        common.lost += to - from;
        note(&mut common.found, from, to);
        common.head_due = true;
    }

    /// SND.UNA moved up from `before`.
    fn on_cumulative(&mut self, common: &mut Common, space: &SequenceSpace, before: u64) -> Reaction {
        let recovered = common.is_recovered(space);
        match common.state {
            State::Recovery => {
                if !recovered && let Some(reaction) = F::on_partial(self, common, space, before) {
                    return reaction;
                }
                let limit = F::limit(self, space);
                open(common);
                Reaction { rearm: true, signal: Some(Signal::Recovered { limit }), ..Reaction::default() }
            }
            State::Loss if !recovered => {
                common.duplicates = 0;
                common.credit = 0;
                // FirstHole: each acknowledgement uncovers the next hole.
                common.head_due = self.after_timeout == AfterTimeout::FirstHole;
                Reaction { grow: true, rearm: true, ..Reaction::default() }
            }
            _ => {
                open(common);
                Reaction { grow: true, rearm: true, ..Reaction::default() }
            }
        }
    }

    fn on_duplicate(&mut self, common: &mut Common, space: &SequenceSpace) -> Reaction {
        let mss = space.mss as i64;
        if common.state == State::Recovery {
            // RFC 5681 §3.2 (4): inflate by the segment that has left the network.
            common.credit += if self.inflates { mss } else { 0 };
            return Reaction::default();
        }
        common.count_duplicate(space);
        if common.duplicates < common.threshold {
            if common.state == State::Open {
                common.state = State::Disorder;
            }
            if common.limited_transmit && common.state == State::Disorder {
                // RFC 3042: a new segment on each of the first duplicate ACKs.
                common.credit = i64::from(common.duplicates) * mss;
            }
            return Reaction::default();
        }
        if common.duplicates > common.threshold || !self.may_fast_retransmit(common, space) {
            return Reaction::default();
        }
        let in_flight = common.flight_before_disorder(space);
        common.recover = Some(space.max);
        F::begin(self, common, space, in_flight)
    }

    /// RFC 6582 §3.2 (2): the cumulative ACK covers more than what was sent when the last recovery began.
    fn may_fast_retransmit(&self, common: &Common, space: &SequenceSpace) -> bool {
        common.recover.is_none_or(|recover| {
            space.una > recover || self.repeat && (F::REPEATS_AT_RECOVER || space.una < recover)
        })
    }
}

fn open(common: &mut Common) {
    common.state = State::Open;
    common.duplicates = 0;
    common.credit = 0;
    common.head_due = false;
}
