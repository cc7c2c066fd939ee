//! Enhanced RED: one FIFO in which RED's thresholds apply to unmarked frames only. Source: [minrate, §II-B].
//!
//! A marked frame (one that conforms to a reservation) is lost only when the queue is full. The average is that of the whole
//! queue and is taken at each arrival; only unmarked frames count in the spacing of drops. A part of the queue may be kept
//! for marked frames alone: an unmarked frame comes in only if it leaves that part free, which is what the paper
//! recommends for the future, since an average lets unmarked bursts in.

use varicap_units::{Amount, Bytes, Stream, Time};

use super::{Limit, QueueDiscipline, Red, Supply, Transmitter, Waiting};
use crate::{Backlog, EredConfig, Frame, Watch};

/// An ERED queue.
#[derive(Debug)]
pub struct Ered<F> {
    /// The queue as unmarked frames see it: its limit leaves the reserve free.
    red: Red<F>,
    /// The limit of marked frames.
    limit: Limit,
    reserve: Reserve,
}

/// What is kept for marked frames: frames and bytes, one of which the limit is in.
#[derive(Clone, Copy, Debug)]
struct Reserve {
    frames: u64,
    bytes: Bytes,
}

impl Reserve {
    fn new(amount: Amount, packet: Bytes, bdp: Bytes) -> Reserve {
        let bytes = amount.bytes(packet, bdp);
        let frames = match amount {
            Amount::Packets(packets) => packets,
            _ => bytes.as_u64().div_ceil(packet.as_u64().max(1)),
        };
        Reserve { frames, bytes }
    }

    /// What of `limit` unmarked frames may use.
    fn beside(self, limit: Limit) -> Limit {
        let frames =
            if limit.frames == u64::MAX { limit.frames } else { limit.frames.saturating_sub(self.frames) };
        let bytes =
            if limit.bytes == Bytes::MAX { limit.bytes } else { limit.bytes.saturating_sub(self.bytes) };
        Limit { frames, bytes }
    }
}

impl<F: Frame> Ered<F> {
    /// An empty queue, whose amounts are meant for packets of `packet` and a path of `bdp` bytes [B].
    pub fn new(config: &EredConfig, limit: Limit, packet: Bytes, bdp: Bytes, stream: Stream) -> Ered<F> {
        let reserve = Reserve::new(config.reserve, packet, bdp);
        let red = Red::new(&config.red(), reserve.beside(limit), packet, bdp, stream);
        Ered { red, limit, reserve }
    }

    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
        self.red.set_limit(self.reserve.beside(limit));
    }

    /// The average queue, marked frames included [packets or B].
    pub fn average(&self) -> f64 {
        self.red.average()
    }
}

impl<F: Frame> QueueDiscipline<F> for Ered<F> {
    fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
        if frame.is_reserved() {
            self.red.enqueue_within(self.limit, now, frame, transmitter, watch);
        } else {
            self.red.enqueue(now, frame, transmitter, watch);
        }
    }

    fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
        self.red.dequeue(now, supply, watch)
    }

    fn backlog(&self) -> Backlog {
        self.red.backlog()
    }
}
