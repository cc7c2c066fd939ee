//! Whether flows keep to a rate over a period: enforcement that begins with those that do not.
//! Source: draft-ietf-scone-protocol-07 §7.2, §7.3.

use varicap_units::{Bytes, Rate, Span, Time, TokenBucket, Work};

use crate::by_flow::ByFlow;

/// The monitors of the flows at a policer.
#[derive(Debug)]
pub(super) struct Monitors {
    period: Span,
    rate: Rate,
    /// A full bucket, as each flow begins with.
    bucket: TokenBucket,
    flows: ByFlow<Monitor>,
    /// Those that are gone are forgotten when there are so many flows: each time twice as many as were left, so that a
    /// new flow costs the same however many there are.
    forgets_at: usize,
}

/// The record of a flow.
#[derive(Debug)]
struct Monitor {
    /// When its present period began.
    since: Time,
    /// The bytes that it has brought in this period.
    brought: Bytes,
    /// Whether it brought too much in this period or in the one before.
    is_enforced: bool,
    bucket: TokenBucket,
}

impl Monitors {
    /// No flows so far. Each may bring what `bucket`'s rate gives in a `period`.
    pub fn new(period: Span, bucket: TokenBucket) -> Monitors {
        Monitors { period, rate: bucket.rate(), bucket, flows: ByFlow::default(), forgets_at: 1 }
    }

    /// Whether a packet of `size` of a flow may pass at `now`.
    pub fn admits(&mut self, now: Time, flow: u32, size: Bytes) -> bool {
        if !self.flows.contains_key(&flow) {
            if self.flows.len() >= self.forgets_at {
                let gone = self.period.saturating_mul(2);
                self.flows.retain(|_, other| other.since + gone > now);
                self.forgets_at = (2 * self.flows.len()).max(1);
            }
            let begins =
                Monitor { since: now, brought: Bytes::ZERO, is_enforced: false, bucket: self.bucket };
            self.flows.insert(flow, begins);
        }
        let allowed = self.rate * self.period;
        let Some(monitor) = self.flows.get_mut(&flow) else { return true };
        let periods = now.since(monitor.since).as_nanos() / self.period.as_nanos();
        if periods > 0 {
            // A period in which nothing came is one in which the flow kept to the rate.
            let exceeded = Work::of(monitor.brought) > allowed;
            monitor.is_enforced = periods == 1 && exceeded;
            monitor.since += self.period.saturating_mul(periods);
            monitor.brought = Bytes::ZERO;
        }
        monitor.brought += size;
        monitor.is_enforced |= Work::of(monitor.brought) > allowed;
        !monitor.is_enforced || monitor.bucket.take(now, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::BucketDepth;

    const PACKET: Bytes = Bytes::new(1000);

    fn s(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    /// 8 kb/s over 10 s: ten packets a period.
    fn monitors() -> Monitors {
        let depth = BucketDepth::Bytes(PACKET * 2);
        Monitors::new(Span::from_secs(10), TokenBucket::new(Time::ZERO, Rate::from_bps(8_000), depth))
    }

    /// How many of `count` packets at `now` pass.
    fn pass(monitors: &mut Monitors, now: Time, flow: u32, count: u32) -> usize {
        (0..count).filter(|_| monitors.admits(now, flow, PACKET)).count()
    }

    #[test]
    fn who_keeps_to_the_rate_over_a_period_may_burst() {
        let mut monitors = monitors();
        for period in 0..5 {
            assert_eq!(pass(&mut monitors, s(10 * period), 1, 10), 10);
        }
    }

    #[test]
    fn who_does_not_is_policed_until_it_has_for_a_period() {
        let mut monitors = monitors();
        assert_eq!(pass(&mut monitors, s(0), 1, 15), 12, "ten, and two from the bucket");
        assert_eq!(pass(&mut monitors, s(10), 1, 10), 2, "what was full is empty again");
        assert_eq!(pass(&mut monitors, s(20), 1, 10), 10);
        assert_eq!(pass(&mut monitors, s(35), 1, 20), 12);
        // Silence is obedience.
        assert_eq!(pass(&mut monitors, s(55), 1, 10), 10);
    }

    #[test]
    fn flows_answer_for_themselves_and_are_forgotten() {
        let mut monitors = monitors();
        assert_eq!(pass(&mut monitors, s(0), 1, 15), 12);
        assert_eq!(pass(&mut monitors, s(0), 2, 10), 10);
        assert_eq!(pass(&mut monitors, s(40), 3, 1), 1);
        assert_eq!(monitors.flows.len(), 1);
    }

    #[test]
    fn no_more_than_twice_as_many_flows_are_known_as_there_have_been_of_late() {
        let mut monitors = monitors();
        for flow in 0..4000 {
            pass(&mut monitors, s(u64::from(flow)), flow, 1);
        }
        // Those of the last two periods, twice.
        assert!(monitors.flows.len() <= 40, "{} flows", monitors.flows.len());
    }
}
