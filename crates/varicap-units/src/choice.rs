//! Reading a choice among named parts: `"red"`, or `{ red = { … } }` to set its parameters.
//!
//! serde's external tagging streams (no buffering), so an error keeps the line and column of the offending text.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

/// The forms that are expected where a choice is due.
pub const EXPECTED: &str = "a name, or a table `{ name = { … } }`";

/// Implements `Deserialize` and `Serialize` for an enum that derives both with `#[serde(remote = "Self")]`.
///
/// Its variants are units or hold one struct whose fields have defaults, so that the bare name is enough. An
/// optional second argument reads a shorthand: a function from text to `Option<Result<Self, QuantityError>>`.
#[macro_export]
macro_rules! choice {
    ($type:ident) => {
        $crate::choice!($type, |_: &str| -> Option<Result<$type, $crate::QuantityError>> { None });
    };
    ($type:ident, $shorthand:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                struct Reader;
                impl<'de> serde::de::Visitor<'de> for Reader {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($crate::choice::EXPECTED)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        if let Some(value) = ($shorthand)(text) {
                            return value.map_err($crate::QuantityError::into_serde);
                        }
                        $type::deserialize($crate::Named::new(text))
                    }
                    // A number or a truth value is read as text, so that the error lists the valid names.
                    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<$type, E> {
                        self.visit_str(&value.to_string())
                    }
                    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<$type, E> {
                        self.visit_str(&value.to_string())
                    }
                    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<$type, E> {
                        self.visit_str(&value.to_string())
                    }
                    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<$type, E> {
                        self.visit_str(&value.to_string())
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        $type::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }
                }
                deserializer.deserialize_any(Reader)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $type::serialize(self, serializer)
            }
        }
    };
}

/// An enum variant of which only the name is given; its parameters are the defaults.
pub struct Named<'a, E> {
    name: &'a str,
    error: PhantomData<E>,
}

impl<'a, E> Named<'a, E> {
    /// The variant called `name`, with default parameters.
    pub fn new(name: &'a str) -> Named<'a, E> {
        Named { name, error: PhantomData }
    }
}

impl<'de, E: Error> Deserializer<'de> for Named<'_, E> {
    type Error = E;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_enum(self)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, E: Error> EnumAccess<'de> for Named<'_, E> {
    type Error = E;
    type Variant = Defaults<E>;
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Defaults<E>), E> {
        let name: StrDeserializer<'_, E> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, Defaults(PhantomData)))
    }
}

/// Stands for parameters that were not given: a struct with its defaults, or a unit.
pub struct Defaults<E>(PhantomData<E>);

type Nothing<'de, E> = MapDeserializer<'de, std::iter::Empty<(&'de str, &'de str)>, E>;

fn nothing<'de, E: Error>() -> Nothing<'de, E> {
    MapDeserializer::new(std::iter::empty())
}

impl<'de, E: Error> VariantAccess<'de> for Defaults<E> {
    type Error = E;
    fn unit_variant(self) -> Result<(), E> {
        Ok(())
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, E> {
        seed.deserialize(nothing())
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, E> {
        visitor.visit_map(nothing())
    }
    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, E> {
        visitor.visit_map(nothing())
    }
}

/// Whether `value` equals its type's default; for `skip_serializing_if`.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl<E> fmt::Debug for Named<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
