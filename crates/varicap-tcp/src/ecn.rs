//! Which ECN a connection negotiates, as a scenario file says it: `true`, `false` or `"accurate"`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use varicap_units::part::Part;
use varicap_units::{JsonSchema, Named};

varicap_units::parts! {
    /// Explicit congestion notification: which feedback the connection negotiates.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
    #[serde(remote = "Self")]
    #[schemars(transform = varicap_units::schema::names)]
    #[schemars(transform = varicap_units::schema::truth)]
    pub enum EcnMode {
        #[default]
        Off[NoEcn] = "none", "None; also written as false.";
        Classic[ClassicEcn] = "classic",
            "An echo until the sender answers: at most one signal per window. Source: RFC 3168. Also written as true.";
        Accurate(config: AccurateEcn) = "accurate",
            "A count of marked packets in each acknowledgement; RFC 3168's if the peer has only that. Source: RFC 9768.";
    }
}

/// [`EcnMode::Off`] has no settings.
struct NoEcn;

impl Part for NoEcn {}

/// [`EcnMode::Classic`] has no settings.
struct ClassicEcn;

impl Part for ClassicEcn {}

/// Accurate ECN. RFC 9768 §3.1.1 asks hosts that have it and SACK for D-SACK, too: that is `dsack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccurateEcn {
    /// Whether acknowledgements carry the option that counts marked bytes, too: 8 bytes each, and one SACK block less
    /// (RFC 9768 §3.2.3). Default: true.
    pub option: bool,
    /// Whether the sender does as Linux where that is not what the standards say: what it sends again is ECN-capable, too
    /// (RFC 3168 §6.1.5 forbids that, RFC 8311 §4.3 lets experiments do it), and where acknowledgements cover more than four
    /// packets on average and no option tells, the count moved by no more than it must have (Linux 7.0; RFC 9768 appendix A.2
    /// takes the most). Default: false.
    pub as_linux: bool,
}

impl Default for AccurateEcn {
    fn default() -> AccurateEcn {
        AccurateEcn { option: true, as_linux: false }
    }
}

impl Part for AccurateEcn {}

impl EcnMode {
    /// The settings of accurate ECN, if that is asked for.
    pub(crate) fn accurate(self) -> Option<AccurateEcn> {
        match self {
            EcnMode::Accurate(config) => Some(config),
            EcnMode::Off | EcnMode::Classic => None,
        }
    }

    /// The same for a connection whose packets are each acknowledged with their own mark: an echo is that mark.
    pub(crate) fn of_each_mark(self) -> EcnMode {
        if self == EcnMode::Off { EcnMode::Off } else { EcnMode::Classic }
    }
}

impl From<bool> for EcnMode {
    fn from(is_on: bool) -> EcnMode {
        if is_on { EcnMode::Classic } else { EcnMode::Off }
    }
}

impl<'de> Deserialize<'de> for EcnMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EcnMode, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = EcnMode;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or `accurate`")
            }
            fn visit_bool<E: Error>(self, is_on: bool) -> Result<EcnMode, E> {
                Ok(EcnMode::from(is_on))
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<EcnMode, E> {
                EcnMode::deserialize(Named::new(name))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EcnMode, A::Error> {
                EcnMode::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// The values from before there were names are written as they always were.
impl Serialize for EcnMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EcnMode::Off => serializer.serialize_bool(false),
            EcnMode::Classic => serializer.serialize_bool(true),
            EcnMode::Accurate(_) => EcnMode::serialize(self, serializer),
        }
    }
}
