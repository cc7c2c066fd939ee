//! The common ends of BBR and BBRv3: what a control answers whose window and pacing rate follow from a model of the path.

/// The methods of [`CongestionControl`](super::CongestionControl) that are alike in both.
macro_rules! model_based {
    () => {
        /// [bbr1, §4.3.4.4], draft-ietf-ccwg-bbr-06 §5.4.1: the window is left as it is.
        fn on_idle(&mut self, _restart_window: Bytes) {}

        fn on_kept(&mut self, in_flight: Bytes) {
            self.cwnd = in_flight.as_u64() + self.mss;
        }

        fn on_stream(&mut self, stream: Stream) {
            self.stream = Some(stream);
        }

        /// [bbr1, §4.3.5], draft-ietf-ccwg-bbr-06 §5.3.4.3: low rate samples during ProbeRTT are ignored.
        #[inline]
        fn is_holding_back(&self) -> bool {
            self.state == State::ProbeRtt
        }

        #[inline]
        fn cwnd(&self) -> Bytes {
            Bytes::new(self.cwnd)
        }

        #[inline]
        fn pacing_rate(&self) -> Option<Rate> {
            Some(self.on_wire)
        }

        fn wants(&self) -> Wants {
            Wants {
                rate_samples: true,
                every_ack: true,
                own_recovery: true,
                own_window: true,
                random: true,
                ..Wants::default()
            }
        }

        fn shown(&self) -> &'static [Quantity] {
            SHOWN
        }
    };
}
