//! Totals of a run: counters that are added up over members, and compared with an earlier time.

use crate::{Bytes, Span, Work};

/// A counter, or several.
pub trait Total {
    /// The sum of this and `other`.
    fn plus(&self, other: &Self) -> Self;
    /// The difference between this and an `earlier` value.
    fn since(&self, earlier: &Self) -> Self;
}

/// A struct of counters, with their sums and differences.
#[macro_export]
macro_rules! totals {
    ($(#[$meta:meta])* pub struct $Totals:ident { $( $(#[$doc:meta])* pub $field:ident: $Type:ty, )+ }) => {
        $(#[$meta])*
        pub struct $Totals { $( $(#[$doc])* pub $field: $Type, )+ }

        impl $Totals {
            /// The sums of these totals and `other`.
            pub fn plus(&self, other: &$Totals) -> $Totals {
                $Totals { $( $field: $crate::Total::plus(&self.$field, &other.$field), )+ }
            }

            /// The differences between these totals and those of an `earlier` time.
            pub fn since(&self, earlier: &$Totals) -> $Totals {
                $Totals { $( $field: $crate::Total::since(&self.$field, &earlier.$field), )+ }
            }
        }

        impl $crate::Total for $Totals {
            fn plus(&self, other: &$Totals) -> $Totals {
                self.plus(other)
            }
            fn since(&self, earlier: &$Totals) -> $Totals {
                self.since(earlier)
            }
        }
    };
}

macro_rules! counters {
    ($( $Counter:ty: $since:expr; )+) => {
        $( impl Total for $Counter {
            fn plus(&self, other: &$Counter) -> $Counter {
                *self + *other
            }
            fn since(&self, earlier: &$Counter) -> $Counter {
                let since: fn($Counter, $Counter) -> $Counter = $since;
                since(*self, *earlier)
            }
        } )+
    };
}

counters! {
    u64: |now, earlier| now - earlier;
    u128: |now, earlier| now - earlier;
    Bytes: |now, earlier| now - earlier;
    Span: |now, earlier| now - earlier;
    // Never below nothing.
    Work: Work::saturating_sub;
}

/// Totals that few members have: without a box nothing was counted.
impl<T: Total + Clone + Default + PartialEq> Total for Option<Box<T>> {
    fn plus(&self, other: &Option<Box<T>>) -> Option<Box<T>> {
        match (self, other) {
            (Some(these), Some(those)) => Some(Box::new(these.plus(those))),
            (these, None) => these.clone(),
            (None, those) => those.clone(),
        }
    }
    fn since(&self, earlier: &Option<Box<T>>) -> Option<Box<T>> {
        let done = match (self, earlier) {
            (Some(now), Some(earlier)) => now.since(earlier),
            (now, _) => now.as_deref().cloned().unwrap_or_default(),
        };
        (done != T::default()).then(|| Box::new(done))
    }
}
