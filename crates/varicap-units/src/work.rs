//! Work done by a server, exact in nanobits.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::{Bytes, NANOS_PER_SEC};

/// Work done by a server, rate times time, exact in nanobits (10^-9 bit) [nb].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Work(u128);

impl Work {
    /// No work.
    pub const ZERO: Work = Work(0);

    /// An amount of `nanobits` of work [nb].
    pub const fn from_nanobits(nanobits: u128) -> Work {
        Work(nanobits)
    }

    /// The work that it takes to carry `bytes`.
    pub const fn of(bytes: Bytes) -> Work {
        Work(bytes.as_u64() as u128 * 8 * NANOS_PER_SEC as u128)
    }

    /// The work in nanobits [nb].
    pub const fn as_nanobits(self) -> u128 {
        self.0
    }

    /// The work in bits [b], for reports only.
    pub fn as_bits_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// The difference of two amounts of work, at least zero.
    pub const fn saturating_sub(self, other: Work) -> Work {
        Work(self.0.saturating_sub(other.0))
    }
}

impl Add for Work {
    type Output = Work;
    fn add(self, other: Work) -> Work {
        Work(self.0 + other.0)
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.0 += other.0;
    }
}

impl Sub for Work {
    type Output = Work;
    fn sub(self, other: Work) -> Work {
        Work(self.0 - other.0)
    }
}

impl SubAssign for Work {
    fn sub_assign(&mut self, other: Work) {
        self.0 -= other.0;
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Work>>(items: I) -> Work {
        items.fold(Work::ZERO, Add::add)
    }
}
