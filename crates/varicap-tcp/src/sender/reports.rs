//! Acknowledgements that say nothing but what the receiver holds out of order: where windows are small, and segments often
//! lost, every third is one.

use varicap_units::Time;

use super::ack::UNUSUAL;
use super::offer::Offer;
use super::{AckOutcome, Sender};
use crate::segment::Segment;

impl Sender {
    /// An acknowledgement that is not the next one in order.
    #[cold]
    #[inline(never)]
    pub(super) fn on_unexpected(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        if self.only_reports(segment) { self.on_report(now, segment) } else { self.on_unusual(now, segment) }
    }

    /// Whether an acknowledgement only reports what the receiver holds, to a recovery that asks for no more, and nobody else
    /// listens.
    #[inline]
    fn only_reports(&self, segment: &Segment) -> bool {
        self.recovery.takes_reports()
            && segment.flags.0 & UNUSUAL.0 == self.ecn.plain.0
            && segment.sack_count > 0
            && segment.ack == self.space.una
            && Offer::of(segment) == self.offer.edge
            && self.handshake.connected
            && !self.window.takes_sample(false)
    }

    /// As `on_unusual`, for what [only reports](Sender::only_reports).
    #[inline(never)]
    fn on_report(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        self.offer.on_update(segment);
        let signal = self.recovery.on_report(&self.space, segment);
        self.report_lost(now);
        self.release.refill();
        self.window.count_round(segment.ack, self.space.max);
        if let Some(signal) = signal {
            self.on_signal(now, signal, 0);
            self.rearm(now);
        }
        self.update_pace();
        self.check();
        AckOutcome::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use varicap_units::{Amount, Bytes, Span};

    use super::*;
    use crate::config::TcpConfig;
    use crate::receiver::Receiver;
    use crate::recovery::Recovery;

    /// Runs two senders over the same path of 10 ms, one of them without the shortcut, and asserts that they never differ.
    /// Bit `n` of an entry of `losses` says whether segment `n` of that flight is lost. Returns how many reports there were.
    fn compare(config: &TcpConfig, losses: &[u8]) -> u32 {
        let [mut short, mut long] = [(); 2].map(|()| Sender::new(config, Time::ZERO));
        let mut receiver = Receiver::new(config, Time::ZERO);
        let (mut now, mut taken) = (Time::ZERO, 0);
        short.write(Bytes::MAX);
        long.write(Bytes::MAX);
        for &lost in losses {
            let mut answers = Vec::new();
            let mut place = 0;
            while let Some(segment) = short.poll(now) {
                assert_eq!(long.poll(now), Some(segment));
                let is_lost = place < 8 && lost >> place & 1 == 1;
                place += 1;
                if !is_lost {
                    receiver.push(now, &segment);
                    answers.extend(std::iter::from_fn(|| receiver.poll(now)));
                }
            }
            assert_eq!(long.poll(now), None);
            let later = now + Span::from_millis(10);
            now = if answers.is_empty() { later.max(short.poll_at().min(receiver.poll_at())) } else { later };
            answers.extend(std::iter::from_fn(|| receiver.poll(now)));
            for answer in &answers {
                let is_report = long.only_reports(answer);
                taken += u32::from(is_report);
                long.note_time(now);
                let outcome = if is_report { long.on_unusual(now, answer) } else { long.push(now, answer) };
                assert_eq!(short.push(now, answer), outcome);
                assert_eq!(format!("{short:?}"), format!("{long:?}"), "after {answer:?}");
            }
        }
        taken
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_report_does_what_any_acknowledgement_with_blocks_does(
            losses in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 40), window in 4u64..40, limited in any::<bool>(),
        ) {
            let config = TcpConfig {
                recovery: Recovery::Sack,
                limited_transmit: limited,
                receive_window: Amount::Packets(window),
                ..TcpConfig::default()
            };
            compare(&config, &losses);
        }
    }

    #[test]
    fn most_reports_are_taken_for_such() {
        let config = TcpConfig { recovery: Recovery::Sack, ..TcpConfig::default() };
        assert!(compare(&config, &[0, 0, 1, 0, 5, 0, 0, 9, 0, 0]) > 20);
    }
}
