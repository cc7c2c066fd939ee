//! Begins to load what the next events will read. In a crowd a packet meets a connection that nobody has looked at for a
//! while, and waits for memory dozens of times, one after the other. Which connections are next is known, though: their
//! packets are under way. So are the segments of a long path, of which more are in flight than a cache holds.
//!
//! Nothing here changes what is computed.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the hint to a processor's cache is an intrinsic that takes a pointer")
)]

use varicap_tcp::Place;

/// Bytes of a cache line [B].
const LINE: usize = 64;

#[cfg(test)]
thread_local! {
    /// How many values and places began to be loaded.
    pub(crate) static LOADS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Begins to load `value` into the cache, where the processor has a hint for that.
#[inline(always)]
pub(crate) fn load<T>(value: &T) {
    #[cfg(test)]
    LOADS.set(LOADS.get() + 1);
    let first = std::ptr::from_ref(value).cast();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        hint(first, line * LINE);
    }
    // It need not begin where a line does.
    hint(first, size_of::<T>() - 1);
}

/// Begins to load what is at `place`.
#[inline]
pub(crate) fn load_place(place: Place) {
    #[cfg(test)]
    LOADS.set(LOADS.get() + 1);
    for line in 0..place.bytes.div_ceil(LINE) {
        hint(place.first, line * LINE);
    }
    hint(place.first, place.bytes.saturating_sub(1));
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint(first: *const u8, offset: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it reads nothing that the program could see, and is allowed for any address. Each x86-64 processor has it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(offset).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint(_first: *const u8, _offset: usize) {}
