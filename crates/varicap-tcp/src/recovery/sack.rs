//! Recovery by selective acknowledgements. Source: RFC 6675 §5.

use varicap_units::part::Part;

use super::scoreboard::Scoreboard;
use super::{Arrival, Beliefs, Common, Expiry, Held, Reaction, Rules, SequenceSpace, Signal, State};
use crate::config::TcpConfig;
use crate::place::Place;
use crate::segment::Segment;

/// Selective acknowledgements.
pub(crate) struct Sack;

impl Part for Sack {}

/// Recovery with a scoreboard.
#[derive(Clone, Debug)]
pub(crate) struct Selective {
    board: Scoreboard,
    /// End of the rescue retransmission, or of the first one (RFC 6675's RescueRxt).
    rescue: u64,
}

impl Rules for Selective {
    const SELECTIVE: bool = true;
    const REPORTS: bool = true;

    fn new(_config: &TcpConfig) -> Selective {
        Selective { board: Scoreboard::default(), rescue: 0 }
    }

    /// An acknowledgement that advances SND.UNA, carries SACK blocks, or both.
    fn on_ack(
        &mut self,
        common: &mut Common,
        space: &SequenceSpace,
        arrival: &Arrival<'_>,
        reaction: &mut Reaction,
    ) {
        let advanced = space.una > arrival.before;
        if advanced {
            self.board.advance(arrival.before, space.una);
            common.duplicates = 0;
            common.head_due = false;
        }
        let news = arrival.segment.sack_count > 0 && self.take_blocks(common, space, arrival.segment);
        let recovered = common.is_recovered(space);
        reaction.rearm = advanced;
        match common.state {
            State::Recovery if recovered => {
                // RFC 6675 §5 (A): an ACK beyond RecoveryPoint ends it; cwnd already is ssthresh.
                self.settle(common);
                reaction.signal = Some(Signal::Recovered { limit: u64::MAX });
            }
            State::Recovery => {}
            State::Loss if !recovered => reaction.grow = advanced,
            _ => {
                reaction.grow = advanced;
                self.settle(common);
                if news {
                    reaction.signal = self.on_news(common, space);
                    reaction.rearm |= reaction.signal.is_some();
                }
            }
        }
        self.refresh(common);
    }

    /// Only outside of recovery is there anything else to it.
    #[inline]
    fn on_report(&mut self, common: &mut Common, space: &SequenceSpace, segment: &Segment) -> Option<Signal> {
        let news = self.take_blocks(common, space, segment);
        let mut signal = None;
        if !matches!(common.state, State::Recovery | State::Loss) {
            self.settle(common);
            if news {
                signal = self.on_news(common, space);
            }
        }
        self.refresh(common);
        signal
    }

    /// After a timeout all that is not SACKed is lost; the scoreboard is kept. Source: RFC 6675 §5.1.
    fn on_timeout(&mut self, common: &mut Common, space: &SequenceSpace, _expiry: &Expiry) -> bool {
        if self.board.is_reneged(space.una) {
            self.board.clear();
        }
        common.head_due = false;
        self.board.begin(space.una);
        common.lost += self.board.declare_lost(space.una, space.max, &mut common.found);
        self.refresh(common);
        false
    }

    fn next_resend(&mut self, common: &mut Common, space: &SequenceSpace, room: bool) -> Option<(u64, u64)> {
        if std::mem::take(&mut common.head_due) {
            let (from, to) = self.board.first_hole(space.una, space.max, space.mss);
            // RFC 6675 §5 (4.3): HighRxt and RescueRxt are the end of the first retransmission.
            self.rescue = to;
            self.resent(common, from, to);
            return (from < to).then_some((from, to));
        }
        if !room {
            return None;
        }
        let (from, to) = self.board.next_hole(space.una, space.mss, false)?;
        self.resent(common, from, to);
        Some((from, to))
    }

    fn last_resort(&mut self, common: &mut Common, space: &SequenceSpace) -> Option<(u64, u64)> {
        if common.state != State::Recovery {
            return None;
        }
        if let Some((from, to)) = self.board.next_hole(space.una, space.mss, true) {
            self.resent(common, from, to);
            return Some((from, to));
        }
        // RFC 6675 §4 NextSeg (4): one rescue retransmission per recovery.
        if space.una <= self.rescue {
            return None;
        }
        let hole = self.board.last_hole(space.una, space.max, space.mss)?;
        self.rescue = common.recover.unwrap_or(space.max);
        Some(hole)
    }

    fn beliefs(&self) -> Option<Beliefs> {
        Some(self.board.beliefs())
    }

    fn far(&self) -> Option<Place> {
        self.board.far()
    }
}

impl Selective {
    /// Whether the blocks of an acknowledgement are news.
    #[inline]
    fn take_blocks(&mut self, common: &mut Common, space: &SequenceSpace, segment: &Segment) -> bool {
        let is_news = self.board.update(space.una, space.max, segment) > 0;
        if is_news {
            common.lost += self.board.find_lost(space.una, common.threshold, space.mss, &mut common.found);
        }
        is_news
    }

    /// Outside of recovery: Disorder while the receiver holds something, Open otherwise.
    fn settle(&self, common: &mut Common) {
        common.state = if self.board.is_empty() { State::Open } else { State::Disorder };
    }

    /// A duplicate ACK by RFC 6675 §2: it SACKs data that was not known to have arrived.
    fn on_news(&mut self, common: &mut Common, space: &SequenceSpace) -> Option<Signal> {
        common.count_duplicate(space);
        // RFC 6675 §5 (1) and (2).
        if common.duplicates < common.threshold && !self.board.is_lost(space.una) {
            return None;
        }
        let in_flight = common.flight_before_disorder(space);
        common.state = State::Recovery;
        common.recover = Some(space.max);
        common.head_due = true;
        self.board.begin(space.una);
        Some(Signal::Reduce { in_flight })
    }

    fn resent(&mut self, common: &mut Common, from: u64, to: u64) {
        self.board.on_resent(from, to);
        self.refresh(common);
    }

    fn refresh(&self, common: &mut Common) {
        let outside_pipe = self.board.outside_pipe();
        common.held = Held { sacked: self.board.sacked(), outside_pipe };
        common.has_holes = self.board.has_holes();
        // Before recovery begins, what left the pipe lets out new data only as limited transmit (RFC 6675 §5 (3)).
        let held = common.state == State::Disorder && !common.limited_transmit;
        common.credit = if held || common.state == State::Open { 0 } else { outside_pipe };
    }
}
