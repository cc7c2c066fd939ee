//! A delay that never changes.

use varicap_units::part::Part;
use varicap_units::{Span, Stream, Time};

use super::{DelayPart, DelayProcess, DelaySegment, Files};
use crate::error::NetError;

/// A path that never changes.
#[derive(Clone, Copy, Debug)]
pub struct ConstantDelay(pub Span);

impl DelayProcess for ConstantDelay {
    fn segment(&mut self, _: Time) -> DelaySegment {
        DelaySegment { delay: self.0, until: Time::NEVER }
    }
}

impl DelayPart for Span {
    type Parts = Span;
    type Path = ConstantDelay;

    fn read(&self, _: &mut Files<'_>) -> Result<Span, NetError> {
        self.check()?;
        Ok(*self)
    }

    fn mean(parts: &Span) -> Span {
        *parts
    }

    fn least(parts: &Span) -> Span {
        *parts
    }

    fn path(parts: &Span, _: Stream) -> ConstantDelay {
        ConstantDelay(*parts)
    }
}
