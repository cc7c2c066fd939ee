//! The random numbers of a connection, all from its seed.

use std::cell::RefCell;

use varicap_units::{Stream, Streams};

thread_local! {
    /// That of the side which is being called: rustls asks a `static` for random bytes.
    static CURRENT: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// The stream of the part called `name` of a connection with this seed.
pub(crate) fn stream(seed: &[u8; 32], name: &str) -> Stream {
    let mut words =
        seed.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
    let mut word = || words.next().unwrap_or_default();
    let (first, second) = (word() ^ word().rotate_left(32), word() ^ word().rotate_left(32));
    Streams::new(first, second).stream(name)
}

/// Fills `bytes` from `stream`.
pub(crate) fn fill(stream: &mut Stream, bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&stream.bits().to_le_bytes()[..chunk.len()]);
    }
}

/// So many bytes from `stream`.
pub(crate) fn bytes<const N: usize>(stream: &mut Stream) -> [u8; N] {
    let mut bytes = [0; N];
    fill(stream, &mut bytes);
    bytes
}

/// Does `work`, in which what asks this thread for random bytes is given those of `stream`.
pub(crate) fn drawing_from<T>(stream: &mut Option<Stream>, work: impl FnOnce() -> T) -> T {
    CURRENT.with_borrow_mut(|current| std::mem::swap(current, stream));
    let done = work();
    CURRENT.with_borrow_mut(|current| std::mem::swap(current, stream));
    done
}

/// Fills `bytes` from the stream of the side that is being called; says whether there is one.
pub(crate) fn fill_from_current(bytes: &mut [u8]) -> bool {
    CURRENT.with_borrow_mut(|current| current.as_mut().map(|stream| fill(stream, bytes)).is_some())
}
