//! A capacity that never changes.

use varicap_units::part::Part;
use varicap_units::{QuantityError, Rate, Stream, Time};

use super::{CapacityPart, CapacityProcess, CapacitySegment, Files};
use crate::error::NetError;

/// A path that never changes.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub Rate);

impl CapacityProcess for Constant {
    fn segment(&mut self, _: Time) -> CapacitySegment {
        CapacitySegment { rate: self.0, until: Time::NEVER }
    }
}

impl CapacityPart for Rate {
    type Parts = Rate;
    type Path = Constant;

    fn read(&self, _: &mut Files<'_>) -> Result<Rate, NetError> {
        self.check()?;
        Ok(*self)
    }

    fn mean_rate(parts: &Rate) -> Rate {
        *parts
    }

    fn path(parts: &Rate, _: Stream) -> Constant {
        Constant(*parts)
    }
}

/// The rate that stands where a capacity is due, unless `text` is the name of a capacity.
pub(crate) fn shorthand(text: &str) -> Option<Result<Rate, QuantityError>> {
    let like_a_rate = text == "unlimited" || text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    like_a_rate.then(|| text.parse())
}
