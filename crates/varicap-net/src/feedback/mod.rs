//! What a link tells the source about its capacity.

mod instantaneous;

use std::fmt::Debug;

use varicap_units::{Rate, Time};

use crate::Backlog;

pub use instantaneous::Instantaneous;

/// An estimator of a link's rate, fed by its watch and polled like a link: observe what happens in order of time, and
/// before that advertise what is due. The world delays what is advertised and hands it to a shaper or to a congestion
/// control. It only watches: it never changes what happens at the link.
pub trait RateFeedback: Debug + Send {
    /// From `now` on the link offers `capacity`, and `backlog` waits.
    fn observe(&mut self, now: Time, capacity: Rate, backlog: Backlog);
    /// The next rate that is due by `now`; call it until it gives none.
    fn advertise(&mut self, now: Time) -> Option<Rate>;
    /// When the next rate is due.
    fn poll_at(&self) -> Time;
}
