//! System calls that the standard library does not have, each as a safe function. All unsafe code of the crate is here
//! and in `bpf`.
#![expect(unsafe_code, reason = "system calls")]

mod process;
mod ring;
mod socket;
mod waiting;

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub use process::*;
pub use ring::*;
pub use socket::*;
pub use waiting::*;

/// Turns a result of -1 into the error that it stands for.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(fd: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
    check(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether an error only means that the call should be repeated later.
pub fn is_again(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR))
}

/// Whether an error says that a connection was given up, since nothing was answered for too long.
pub fn is_timed_out(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ETIMEDOUT)
}

/// Reads what is available into `buffer`; returns the number of bytes.
pub fn read(fd: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is ours and as long as we say.
    let count = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Writes `bytes` in one call; returns how many were written.
pub fn write(fd: &impl AsRawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are ours and as many as we say.
    let count = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Makes a TUN device called `name`, which disappears when its descriptor is closed.
pub fn open_tun(name: &str) -> io::Result<OwnedFd> {
    // SAFETY: the path ends in a zero.
    let fd =
        unsafe { libc::open(c"/dev/net/tun".as_ptr(), libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC) };
    let fd = owned(fd)?;
    // SAFETY: all zeros are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: `request` outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &request) })?;
    Ok(fd)
}

/// The number of the interface called `name` in this thread's namespace.
pub fn interface_index(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the name ends in a zero and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}
