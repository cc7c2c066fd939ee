//! The options of a run of the kernel engine.

use varicap_experiment::live::Tap;
use varicap_units::Span;

use crate::plan::Mode;

/// The options of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// How closely the kernel follows the standards.
    pub mode: Mode,
    /// Whether this kernel's clock stands still while anybody computes, as that of a guest of [`crate::guest`] does.
    pub is_simulated: bool,
    /// The controls of modules that [`crate::guest::load`] has loaded: the file that a scenario names, and what it
    /// registered.
    pub modules: &'a [(String, String)],
    /// Interval of time series, if they are recorded.
    pub series: Option<Span>,
    /// The maximum number of events in the packet log, if it is kept.
    pub packets: Option<usize>,
    /// An observer of the running scenario, to which each interval of the series is reported when it ends.
    pub live: Option<Tap<'a>>,
}
