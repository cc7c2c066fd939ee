//! A value for each flow, by its number.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Values by [`Frame::flow`](crate::Frame::flow), in an order that must not matter.
pub(crate) type ByFlow<V> = HashMap<u32, V, BuildHasherDefault<Mix>>;

/// A hash of small numbers that follow each other, as those of connections do: a multiplication spreads them.
#[derive(Debug, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        let product = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}
