//! Where things lie in memory, for whoever wants them to be at hand before they are needed.

/// A place in memory. It says nothing about what is there, and nothing can be read by it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it begins.
    pub first: *const u8,
    /// How long it is [B].
    pub bytes: usize,
}

impl Place {
    /// The place of `value`.
    #[inline]
    pub fn of<T: ?Sized>(value: &T) -> Place {
        Place { first: std::ptr::from_ref(value).cast(), bytes: size_of_val(value) }
    }

    /// The place from where `first` begins to where `last` ends, which lie in one value in this order.
    #[inline]
    pub fn between<T, U>(first: &T, last: &U) -> Place {
        let first = std::ptr::from_ref(first).cast::<u8>();
        let end = std::ptr::from_ref(last).cast::<u8>().addr() + size_of::<U>();
        debug_assert!(first.addr() < end, "{first:?} does not lie before {end:x}");
        Place { first, bytes: end - first.addr() }
    }
}
