//! Which acknowledgements give an RTT sample. Source: Karn's rule; RFC 7323.

use varicap_units::{Span, Time};

use crate::config::{RttSamples, TcpConfig};
use crate::rtt::RttEstimator;
use crate::segment::{Flags, Segment};

/// How a sender measures round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// From the echoed timestamp, always (RFC 7323).
    Timestamps,
    /// From the sending time of what is acknowledged, unless it may have been resent (Karn).
    EveryAck,
    /// One segment at a time.
    OnePerWindow,
}

/// The round-trip time as a sender sees it. What most acknowledgements read is first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Sampling {
    method: Method,
    /// End of the highest retransmission [B]: acknowledgements up to it give no sample (Karn).
    resent_below: u64,
    pub(super) rtt: RttEstimator,
    /// The timed segment's end [B] and sending time; 0: none.
    timed: (u64, Time),
}

impl Sampling {
    pub(super) fn new(config: &TcpConfig) -> Sampling {
        Sampling {
            method: match (config.timestamps, config.rtt_samples) {
                (true, _) => Method::Timestamps,
                (false, RttSamples::EveryAck) => Method::EveryAck,
                (false, RttSamples::OnePerWindow) => Method::OnePerWindow,
            },
            resent_below: 0,
            timed: (0, Time::ZERO),
            rtt: RttEstimator::new(&config.timer, config.handshake),
        }
    }

    /// The last of what most acknowledgements read of it.
    #[inline]
    pub(super) fn last_read(&self) -> &impl Sized {
        self.rtt.last_read()
    }

    /// Whether each segment echoes when it was sent.
    pub(super) fn is_exact(&self) -> bool {
        self.method == Method::Timestamps
    }

    /// Whether only one segment of a window is timed.
    pub(super) fn is_one_per_window(&self) -> bool {
        self.method == Method::OnePerWindow
    }

    /// New data up to `end` leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, end: u64) {
        if self.method == Method::OnePerWindow && self.timed.0 == 0 {
            self.timed = (end, now);
        }
    }

    /// Data up to `end` leaves again.
    pub(super) fn on_resent(&mut self, end: u64) {
        self.resent_below = self.resent_below.max(end);
        // Karn: the timed segment's acknowledgement has become ambiguous.
        self.timed.0 = 0;
    }

    /// The RTT sample of an acknowledgement that advanced SND.UNA from `before`, when data up to `sent` had left.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, segment: &Segment, before: u64, sent: u64) -> Option<Span> {
        let at = match self.method {
            Method::Timestamps => segment.echo,
            Method::EveryAck => {
                // Karn: not if what was acknowledged may have been sent twice.
                if before < self.resent_below || segment.flags.has(Flags::RESENT) {
                    return None;
                }
                segment.echo
            }
            Method::OnePerWindow => {
                if self.timed.0 == 0 || segment.ack < self.timed.0 {
                    return None;
                }
                self.timed.0 = 0;
                self.timed.1
            }
        };
        self.take(at, now, segment.ack, sent)
    }

    /// The SYN that left at `at` was acknowledged now. A time in the future is no sample.
    pub(super) fn measure(&mut self, at: Time, now: Time) -> Option<Span> {
        self.take(at, now, 0, 0)
    }

    /// The RTT sample of an acknowledgement where a record says when each segment left: of the one that was `timed` or,
    /// if none was and the acknowledgement `is_new`, by its timestamp.
    pub(super) fn on_record(
        &mut self,
        now: Time,
        segment: &Segment,
        is_new: bool,
        sent: u64,
        timed: Option<Time>,
    ) -> Option<Span> {
        let echoed = (is_new && self.is_exact()).then_some(segment.echo);
        timed.or(echoed).and_then(|at| self.take(at, now, segment.ack, sent))
    }

    #[inline]
    fn take(&mut self, at: Time, now: Time, acked: u64, sent: u64) -> Option<Span> {
        if at > now {
            return None;
        }
        self.rtt.on_sample(at, now, acked, sent);
        Some(now - at)
    }
}
