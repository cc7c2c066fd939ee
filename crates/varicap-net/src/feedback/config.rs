//! A source's use of the rates that it hears, as a scenario file says it.

use serde::{Deserialize, Serialize};
use varicap_units::{JsonSchema, Rate};

use crate::config::Service;

/// A segmentation buffer without limit behind the sender, served at the rate that `feedback` advertises. Rates count packets
/// without link framing. Source: [abr, §III-A].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AbrConfig {
    /// A constant rate, instead of one that is advertised ([abr, §IV]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The rate before the first one is advertised, and after the last one has expired. Default: `peak`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Rate>,
    /// The least rate, whatever is advertised. Default: 0 bit/s.
    pub minimum: Rate,
    /// The largest rate, whatever is advertised. Default: unlimited.
    pub peak: Rate,
    /// By how much an update may raise the rate; it falls at once. Default: unlimited.
    pub increase: Rate,
    /// How the rate is measured out. Default: at-start: it does not change during a packet.
    pub service: Service,
}

impl Default for AbrConfig {
    fn default() -> AbrConfig {
        AbrConfig {
            rate: None,
            initial: None,
            minimum: Rate::ZERO,
            peak: Rate::UNLIMITED,
            increase: Rate::UNLIMITED,
            service: Service::AtStart,
        }
    }
}
