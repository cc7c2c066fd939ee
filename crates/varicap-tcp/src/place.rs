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
}
