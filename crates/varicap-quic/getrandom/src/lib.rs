//! Random numbers of the operating system, or those that a thread is given.
//!
//! The interface is that part of the crate `getrandom` 0.4 which `rand` uses, and [`drawing_from`].

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::Read;

#[cfg(feature = "sys_rng")]
pub use rand_core;

type Source = Box<dyn FnMut(&mut [u8])>;

thread_local! {
    static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
}

/// Does `work`, in which this thread's random bytes are those that `source` writes.
pub fn drawing_from<T>(source: impl FnMut(&mut [u8]) + 'static, work: impl FnOnce() -> T) -> T {
    let before = SOURCE.replace(Some(Box::new(source)));
    let done = work();
    SOURCE.set(before);
    done
}

/// Nothing could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operating system gives no random numbers")
    }
}

impl std::error::Error for Error {}

/// Fills `dest` with random bytes.
pub fn fill(dest: &mut [u8]) -> Result<(), Error> {
    let is_given = SOURCE.with_borrow_mut(|source| source.as_mut().map(|source| source(dest)).is_some());
    if is_given {
        return Ok(());
    }
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(dest)).map_err(|_| Error)
}

/// A random number.
pub fn u32() -> Result<u32, Error> {
    let mut bytes = [0; 4];
    fill(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// A random number.
pub fn u64() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// The same as a generator.
#[cfg(feature = "sys_rng")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SysRng;

#[cfg(feature = "sys_rng")]
impl rand_core::TryRng for SysRng {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Error> {
        u64()
    }

    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        fill(dest)
    }
}

#[cfg(feature = "sys_rng")]
impl rand_core::TryCryptoRng for SysRng {}
