//! Simulated time as `quinn-proto` takes it: an [`Instant`] that is nobody's but the run's.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use varicap_units::{Span, Time};

/// The instant that stands for time zero: whichever it is, only differences from it count.
#[expect(
    clippy::disallowed_methods,
    reason = "there is no other way to an `Instant`, and its value counts for nothing"
)]
fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

pub(crate) fn instant(time: Time) -> Instant {
    origin() + Duration::from_nanos(time.as_nanos())
}

/// The instant again; one beyond all time is never.
pub(crate) fn time(instant: Instant) -> Time {
    let nanos = instant.saturating_duration_since(origin()).as_nanos();
    u64::try_from(nanos).map_or(Time::NEVER, Time::from_nanos)
}

pub(crate) fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}
