//! A trace and where in it a run begins: what traces of rates, delays and losses have in common.

use std::io::BufRead;
use std::sync::Arc;

use varicap_units::{Rate, Stream};

use crate::NetError;
use crate::file::{ReadFile, read_named};
use crate::offset::TraceOffset;
use crate::timeline::{Steps, Timeline};

/// A trace, and where in it a run begins.
#[derive(Clone, Debug)]
pub struct Traced<V = Rate> {
    /// Its values.
    pub timeline: Arc<Timeline<V>>,
    /// Where a run begins.
    pub offset: TraceOffset,
}

impl<V: Copy> Traced<V> {
    /// What `parse` makes of the text of `file`; an `offset` later than its end is refused.
    pub(crate) fn read(
        file: &str,
        offset: TraceOffset,
        read_file: &mut ReadFile<'_>,
        parse: impl FnOnce(Box<dyn BufRead>) -> Result<Timeline<V>, NetError>,
    ) -> Result<Traced<V>, NetError> {
        let timeline = read_named(file, read_file, parse)?;
        offset.check_within(timeline.length())?;
        Ok(Traced { timeline: Arc::new(timeline), offset })
    }

    /// The path of one run; `stream` draws where a random one begins.
    pub(crate) fn path(&self, stream: Stream) -> Steps<V> {
        Steps::begun(self.timeline.clone(), self.offset.draw(self.timeline.length(), stream))
    }

    /// Whether each run sees the same again and again.
    pub(crate) fn repeats_itself(&self) -> bool {
        self.offset != TraceOffset::Random && self.timeline.length().is_some()
    }
}
