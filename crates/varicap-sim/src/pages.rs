//! Room in large pages. In a crowd nearly each packet meets a connection on a page of memory that the processor has to look
//! up, since it remembers two thousand of them, and that takes as long as all that is loaded from it: of the small pages a
//! crowd fills tens of thousands, of the large ones a hundred.
//!
//! Nothing here changes what is computed.

#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "madvise is a C function that takes a pointer")
)]

use varicap_units::room;

/// A large page [B]. With a smaller one, as some processors have, what is asked for is still right.
const LARGE: usize = 1 << 21;

/// The largest allocation that is moved to new memory as it grows [B]. More is left where it is, or moved by the system page by page, so that no
/// two copies of it are in memory at once.
const MOVED: usize = 1 << 26;

/// Makes room for at least `more` values, in large pages where they fill such pages and the system has them. What they
/// do not fill yet takes no memory.
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize) {
    if values.capacity() - values.len() < more {
        let room = (values.len() + more).max(2 * values.capacity());
        let bytes = values.len() * size_of::<T>();
        if room * size_of::<T>() < LARGE {
            values.reserve(more);
        } else if bytes < MOVED {
            // In new memory, since what has been written to before would stay in small pages.
            room::ask(bytes as u64);
            let mut roomy = Vec::with_capacity(room);
            ask(&mut roomy);
            roomy.append(values);
            *values = roomy;
        } else {
            values.reserve_exact(room - values.len());
            ask(values);
        }
    }
}

#[cfg(target_os = "linux")]
fn ask<T>(values: &mut Vec<T>) {
    const SMALL: usize = 1 << 12;
    let first = values.as_mut_ptr().cast::<u8>();
    // Down to where a page begins: mostly a large one, of which the allocator has the first bytes.
    let before = first.addr() % SMALL;
    let bytes = before + values.capacity() * size_of::<T>();
    // SAFETY: the advice changes nothing that can be read, there or beside it. Where the system does not take it, the pages
    // stay small.
    unsafe { libc::madvise(first.wrapping_sub(before).cast(), bytes, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask<T>(_values: &mut Vec<T>) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The system's flags of the memory around `address`.
    fn flags_at(address: usize) -> String {
        let mut is_here = false;
        for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
            if let Some((first, rest)) = line.split_once('-')
                && let (Ok(first), Some(last)) = (usize::from_str_radix(first, 16), rest.split(' ').next())
                && let Ok(last) = usize::from_str_radix(last, 16)
            {
                is_here = (first..last).contains(&address);
            } else if is_here && let Some(flags) = line.strip_prefix("VmFlags:") {
                return flags.to_owned() + " ";
            }
        }
        panic!("no memory at {address:x}")
    }

    #[test]
    fn many_values_lie_in_large_pages_and_few_do_not() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
            return eprintln!("SKIPPED: this kernel has no large pages");
        }
        let is_large = |values: &Vec<u64>| flags_at(values.as_ptr().addr() + LARGE / 8).contains(" hg ");
        let mut many: Vec<u64> = Vec::new();
        reserve(&mut many, LARGE);
        assert!(many.capacity() >= LARGE && is_large(&many));
        let room = many.capacity();
        reserve(&mut many, room);
        assert_eq!(many.capacity(), room, "there was room");
        let mut few: Vec<u64> = Vec::new();
        reserve(&mut few, LARGE / 8 - 1);
        assert!(!is_large(&few), "less than a large page");
    }

    #[test]
    fn the_values_move_along_where_room_is_made_for_more() {
        let mut values = Vec::new();
        for value in 0..1_000_000u64 {
            reserve(&mut values, 1);
            values.push(value);
        }
        assert!(values.iter().copied().eq(0..1_000_000));
    }
}
