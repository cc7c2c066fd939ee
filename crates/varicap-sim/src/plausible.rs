//! Bounds of a link's measurements, whatever the scenario. The column `utilisation` is relative to what was
//! offered, and may exceed 1 with at-start service: the limit to it is here.

use varicap_experiment::measure::LinkMeasure;
use varicap_units::{Bytes, Work};

/// Asserts that the link called `name` carried no more than its server could, and lost no more than it had: in every
/// build, since it costs nothing and the rows do not show it.
pub fn assert_possible(name: &str, measure: &LinkMeasure) {
    let LinkMeasure { done, used, held_frames, was_unlimited, .. } = measure;
    // The part of a frame that had been sent at the cut of the warm-up was rounded down to a byte.
    let available = done.available + Work::of(Bytes::new(1));
    assert!(
        *was_unlimited || Work::of(*used) <= available,
        "link {name}: {used} were sent, there was time for {} bits",
        done.available.as_bits_f64()
    );
    let (had, lost) = (done.arrived_frames + held_frames, done.lost_frames());
    assert!(
        lost <= had + done.duplicated_frames && done.carried_frames <= had,
        "link {name}: {lost} lost of {had} packets"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_experiment::measure::LinkMeter;
    use varicap_net::Backlog;
    use varicap_units::{Rate, Span, Time};

    /// A link of 8 Mb/s that is busy for a second, which leaves so many frames of 1000 bytes.
    fn busy(frames: u64) -> LinkMeasure {
        let mut meter = LinkMeter::new();
        meter.on_capacity(Time::ZERO, Rate::from_bps(8_000_000));
        let end = Time::ZERO + Span::from_secs(1);
        for _ in 0..frames {
            meter.on_arrival(Time::ZERO, Bytes::new(1000), meter.waiting());
        }
        for left in (0..frames as u32).rev() {
            let frames = left.saturating_sub(1);
            let bytes = Bytes::new(1000) * u64::from(frames);
            meter.on_departure(end, Time::ZERO, Bytes::new(1000), Backlog { frames, bytes });
        }
        meter.finish(end)
    }

    #[test]
    fn a_busy_link_carries_what_it_can() {
        assert_possible("a", &busy(1000));
    }

    #[test]
    #[should_panic(expected = "link a: 1001 kB were sent, there was time for 8000000 bits")]
    fn no_link_carries_more_than_it_can() {
        assert_possible("a", &busy(1001));
    }
}
