//! Policing at the edge of a network: what conforms to a reservation is marked as it arrives. Source: [minrate, §II-A].
//!
//! Each connection of a policed flow has a token bucket, full when its first packet comes. A packet that finds its tokens is
//! marked, whatever it was before; another is unmarked, and passes or is dropped.

use serde::{Deserialize, Serialize};
use varicap_units::{BucketDepth, Bytes, JsonSchema, Rate, Streams, Time, TokenBucket, Work};

use crate::by_flow::ByFlow;
use crate::capacity::{Capacity, CapacityParts, CapacityProcess};
use crate::frame::Frame;

/// The fate of a packet that does not conform to its reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Nonconformant {
    /// It passes unmarked.
    #[default]
    Pass,
    /// It is dropped.
    Drop,
}

/// The reservation of a flow group whose packets a link polices.
#[derive(Clone, Debug)]
pub struct PolicingParts {
    /// The flow group.
    pub group: u16,
    /// The mean rate of each of its connections in time.
    pub rate: CapacityParts,
    /// Depth of the token bucket.
    pub bucket: BucketDepth,
    /// Peak rate.
    pub peak: Rate,
    /// Its full-sized packet [B].
    pub packet: Bytes,
    /// The fate of packets that do not conform.
    pub nonconformant: Nonconformant,
}

/// Where a policed connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policed {
    /// The number of [`Frame::flow`] that its frames have.
    pub flow: u32,
    /// Its flow group.
    pub group: u16,
    /// Its reserved rate.
    pub rate: Rate,
    /// Tokens that it has lost so far, exact.
    pub lost_tokens: Work,
}

/// The token buckets of a link.
#[derive(Debug, Default)]
pub(crate) struct Policer {
    groups: Vec<Group>,
}

/// A policed flow group.
#[derive(Debug)]
struct Group {
    parts: PolicingParts,
    path: Capacity,
    rate: Rate,
    /// When the rate changes next.
    until: Time,
    /// The token bucket of each connection.
    buckets: ByFlow<TokenBucket>,
}

impl Group {
    fn new(parts: &PolicingParts) -> Group {
        // Reserved rates are known in advance: nothing is drawn from the stream.
        let mut path = Capacity::new(&parts.rate, Streams::new(0, 0).stream("policing"));
        let first = path.segment(Time::ZERO);
        Group { parts: parts.clone(), path, rate: first.rate, until: first.until, buckets: ByFlow::default() }
    }

    /// Lets the rate change as often as it has by `now`.
    fn advance(&mut self, now: Time) {
        while self.until <= now {
            let segment = self.path.segment(self.until);
            self.buckets.values_mut().for_each(|bucket| bucket.set_rate(self.until, segment.rate));
            (self.rate, self.until) = (segment.rate, segment.until);
        }
    }

    /// Whether a packet of `size` of the connection `flow` conforms; then its tokens are taken.
    fn take(&mut self, now: Time, flow: u32, size: Bytes) -> bool {
        self.advance(now);
        let PolicingParts { bucket: depth, peak, packet, .. } = self.parts;
        let fresh = || TokenBucket::new(now, self.rate, depth).with_peak(peak, packet);
        self.buckets.entry(flow).or_insert_with(fresh).take(now, size)
    }
}

impl Policer {
    /// Of a link that polices these flow groups; none if there are none.
    pub fn new(parts: &[PolicingParts]) -> Option<Box<Policer>> {
        let groups = || parts.iter().map(Group::new).collect();
        (!parts.is_empty()).then(|| Box::new(Policer { groups: groups() }))
    }

    /// Marks a frame that arrives at `now` if it conforms, and unmarks it if not; whether it may pass.
    pub fn police<F: Frame>(&mut self, now: Time, frame: &mut F) -> bool {
        let Some(group) = self.groups.iter_mut().find(|group| group.parts.group == frame.group()) else {
            return true;
        };
        let conforms = group.take(now, frame.flow(), frame.wire_size());
        frame.set_reserved(conforms);
        conforms || group.parts.nonconformant == Nonconformant::Pass
    }

    /// Where the connections whose packets have come stand at `now`.
    pub fn policed(&mut self, now: Time) -> impl Iterator<Item = Policed> {
        self.groups.iter_mut().flat_map(move |group| {
            group.advance(now);
            let Group { parts: PolicingParts { group: number, .. }, rate, buckets, .. } = group;
            let (group, rate) = (*number, *rate);
            buckets.iter().map(move |(&flow, bucket)| Policed {
                flow,
                group,
                rate,
                lost_tokens: bucket.lost(now),
            })
        })
    }
}
