//! Stacks: the habits of one implementation of TCP at once. A stack is a file of the form of a scenario's `tcp` table,
//! and a line in the registry.
//!
//! A habit is an option like any other. Whoever reads a scenario puts the habits of its stack where nobody wrote a value,
//! so an engine never asks which stack it runs. Of a choice (`ack`, `timer`, `congestion`) a file may set the parameters
//! of several alternatives, `[ack.delayed]` and so on: they hold for the alternative that a connection has. The first one
//! is the stack's own, except for `congestion`, which no stack chooses.
//!
//! Sizes that belong to an experiment (segments, buffers, limits of the window) are no habits.

use serde::{Deserialize, Serialize};
use varicap_units::JsonSchema;

/// The stack of a connection for which none is named.
pub const DEFAULT_STACK: Stack = Stack::Linux;

/// The registry of stacks: the choice in a scenario file, and each stack's table.
macro_rules! stacks {
    ($( $Variant:ident = $name:literal, $doc:literal; )+) => {
        /// Whose habits a connection has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum Stack {
            $( #[doc = $doc] #[serde(rename = $name)] $Variant, )+
        }

        impl Stack {
            /// All of them, in the order of the registry.
            pub const ALL: &'static [Stack] = &[$( Stack::$Variant ),+];

            /// Its name in a file.
            pub fn name(self) -> &'static str {
                match self { $( Stack::$Variant => $name, )+ }
            }

            /// Its habits: a `tcp` table in TOML.
            pub fn habits(self) -> &'static str {
                match self { $( Stack::$Variant => include_str!(concat!($name, ".toml")), )+ }
            }
        }
    };
}

stacks! {
    Linux = "linux", "Today's Linux, of version 6.18.";
    Rfc = "rfc", "The standards as written: RFC 5681, 6298, 6675, 6928.";
    BsdTahoe = "bsd-tahoe", "4.3BSD-Tahoe (1988): slow start and fast retransmit, a clock of 500 ms.";
    BsdReno = "bsd-reno", "4.3BSD-Reno (1990): fast recovery, too.";
    Ns1 = "ns-1", "The LBNL simulator ns 1.1 (1996), with its own defaults.";
    Ns2 = "ns-2", "The simulator ns-2 of the year 2000, with its defaults of that time.";
    Ns235 = "ns-2.35", "The simulator ns-2.35 (2011), with the defaults of its Tcl files.";
}

impl Stack {
    /// The stack of this name.
    pub fn named(name: &str) -> Option<Stack> {
        Stack::ALL.iter().copied().find(|stack| stack.name() == name)
    }
}

impl std::fmt::Display for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A schema transform for a table of which a stack sets what is left out: no default of a key holds for all stacks, and the
/// description of `stack` names the default one.
#[cfg(feature = "schema")]
pub(crate) fn by_stack(schema: &mut schemars::Schema) {
    let Some(keys) = schema.get_mut("properties").and_then(|keys| keys.as_object_mut()) else { return };
    for key in keys.values_mut().filter_map(|key| key.as_object_mut()) {
        key.remove("default");
        if let Some(text) = key.get_mut("description")
            && let Some(written) = text.as_str()
        {
            *text = written.replace("[`DEFAULT_STACK`]", DEFAULT_STACK.name()).into();
        }
    }
}
