//! Packets that come twice, and packets that are damaged: netem's `duplicate` and `corrupt`.

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Part};
use varicap_units::{JsonSchema, Probability, Stream};

use super::{Chance, percent};

/// The effects of netem on packets besides delay and loss, after the server of the link.
///
/// A copy takes no capacity of this link, and fares on its own: it may be lost, damaged and delayed like any other packet. If
/// the loss takes the packet itself, its copy comes through. A damaged packet takes its way to the receiver, whose checksum
/// gives it away: there it is lost. Source: Linux `netem_enqueue`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NetemConfig {
    /// Probability that a packet comes twice. Default: 0.
    pub duplicate: Probability,
    /// Weight of the last random number of `duplicate` in the next. Default: 0.
    pub duplicate_correlation: Probability,
    /// Probability that a packet is damaged. Default: 0.
    pub corrupt: Probability,
    /// Weight of the last random number of `corrupt` in the next. Default: 0.
    pub corrupt_correlation: Probability,
}

impl Part for NetemConfig {
    fn check(&self) -> Checked {
        Ok(())
    }

    fn draws(&self) -> bool {
        self.acts()
    }
}

impl NetemConfig {
    /// Whether anything ever happens.
    pub(crate) fn acts(&self) -> bool {
        percent(self.duplicate) > 0 || percent(self.corrupt) > 0
    }
}

/// Which packets come twice, and which are damaged.
#[derive(Debug)]
pub(crate) struct Copies {
    duplicate: Chance,
    corrupt: Chance,
    stream: Stream,
}

impl Copies {
    pub fn new(config: &NetemConfig, mut stream: Stream) -> Copies {
        Copies {
            duplicate: Chance::new(config.duplicate, config.duplicate_correlation, &mut stream),
            corrupt: Chance::new(config.corrupt, config.corrupt_correlation, &mut stream),
            stream,
        }
    }

    /// Whether the next packet comes twice.
    pub fn duplicates(&mut self) -> bool {
        self.duplicate.happens(&mut self.stream)
    }

    /// Whether the next packet is damaged.
    pub fn corrupts(&mut self) -> bool {
        self.corrupt.happens(&mut self.stream)
    }
}
