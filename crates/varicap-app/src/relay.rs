//! A proxy that splits connections: it sends what another flow delivers.
//!
//! If the sender of that flow gives up, nothing tells the proxy, as with Linux's sockets (`tcp_write_err` sends no RST): the
//! connection that relays it stays open, and its transfer unfinished.

use serde::{Deserialize, Serialize};
use varicap_units::part::Part;
use varicap_units::{Bytes, JsonSchema, Time};

use crate::{Application, Feeding, Offer, Start};

/// A proxy: this flow sends what another flow delivers in order, from the node where the other flow ends. Each
/// connection or transfer of the other flow is relayed by one of this flow, which opens when the first data arrives;
/// the proxy's buffer is unlimited. A transfer is complete when it has passed both; its completion time counts from
/// the start of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relay {
    /// Name of the flow that is relayed.
    pub of: String,
}

/// Checked with the flow that is relayed, by whoever knows the whole scenario.
impl Part for Relay {}

impl Application for Relay {
    type Feed = Relayed;

    fn feed(&self, start: &Start<'_>) -> Relayed {
        Relayed { size: start.size, waiting: Bytes::ZERO, is_last: false, has_ended: false, due: Time::NEVER }
    }

    /// Estimated by what it could send, since what it will be given is not known here.
    fn packets(&self, _: f64, _: f64) -> f64 {
        f64::INFINITY
    }
}

/// The data that another connection has delivered and this one has not offered yet.
#[derive(Debug)]
pub struct Relayed {
    size: Option<Bytes>,
    waiting: Bytes,
    /// The last data has been delivered, and the end has not been offered yet.
    is_last: bool,
    /// The last data has been delivered.
    has_ended: bool,
    due: Time,
}

impl Feeding for Relayed {
    fn poll(&mut self, now: Time) -> Option<Offer> {
        if now < self.due {
            return None;
        }
        if self.waiting > Bytes::ZERO {
            return Some(Offer::Write(std::mem::take(&mut self.waiting)));
        }
        self.due = Time::NEVER;
        std::mem::take(&mut self.is_last).then_some(Offer::End)
    }

    fn poll_at(&self) -> Time {
        self.due
    }

    fn size(&self) -> Option<Bytes> {
        self.size
    }

    fn relay(&mut self, now: Time, bytes: Bytes, is_last: bool) {
        if self.has_ended {
            debug_assert!(bytes == Bytes::ZERO, "nothing comes after the last byte");
            return;
        }
        self.waiting = Bytes::new(self.waiting.as_u64() + bytes.as_u64());
        (self.is_last, self.has_ended) = (is_last, is_last);
        self.due = now;
    }
}
