//! Sockets: connections, datagrams and options.

use std::ffi::c_int;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, owned};

/// A non-blocking socket; `kind` is SOCK_STREAM, SOCK_DGRAM or SOCK_RAW.
pub fn socket(domain: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libc::socket(domain, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, protocol) })
}

/// An IPv4 address and a port in the kernel's layout.
fn address(ip: [u8; 4], port: u16) -> libc::sockaddr_in {
    // SAFETY: all zeros are a valid address.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from_ne_bytes(ip);
    address
}

const ADDRESS_LENGTH: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

/// Binds a socket to an address; port 0 stands for any free port.
pub fn bind(fd: &impl AsRawFd, ip: [u8; 4], port: u16) -> io::Result<()> {
    let address = address(ip, port);
    // SAFETY: the address outlives the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), ADDRESS_LENGTH) }).map(drop)
}

/// Starts to connect; that the connection is still under way is not an error.
pub fn connect(fd: &impl AsRawFd, ip: [u8; 4], port: u16) -> io::Result<()> {
    let address = address(ip, port);
    // SAFETY: the address outlives the call.
    let result = unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), ADDRESS_LENGTH) };
    match check(result) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other.map(drop),
    }
}

/// Makes a socket listen for connections.
pub fn listen(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::listen(fd.as_raw_fd(), 4096) }).map(drop)
}

/// Accepts the next connection; returns its socket and the peer's port.
pub fn accept(fd: &impl AsRawFd) -> io::Result<(OwnedFd, u16)> {
    let mut peer = address([0; 4], 0);
    let mut length = ADDRESS_LENGTH;
    // SAFETY: `peer` has room for `length` bytes.
    let fd = unsafe {
        libc::accept4(
            fd.as_raw_fd(),
            (&raw mut peer).cast(),
            &mut length,
            libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
        )
    };
    Ok((owned(fd)?, u16::from_be(peer.sin_port)))
}

/// The local port of a socket.
pub fn local_port(fd: &impl AsRawFd) -> io::Result<u16> {
    let mut own = address([0; 4], 0);
    let mut length = ADDRESS_LENGTH;
    // SAFETY: `own` has room for `length` bytes.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut own).cast(), &mut length) })?;
    Ok(u16::from_be(own.sin_port))
}

/// Sets a socket option whose value is a number.
pub fn set_option(fd: &impl AsRawFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    set_option_bytes(fd, level, name, &value.to_ne_bytes())
}

/// Sets a socket option to the bytes of any value.
pub fn set_option_bytes(fd: &impl AsRawFd, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the value outlives the call and is as long as we say.
    check(unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    })
    .map(drop)
}

/// Reads a socket option into `value`; returns how many bytes of it were written.
pub fn get_option(fd: &impl AsRawFd, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the buffer is ours and as long as we say.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &mut length) })?;
    Ok(length as usize)
}

/// Discards up to `most` bytes that a TCP socket has received in order; returns how many.
pub fn discard(fd: &impl AsRawFd, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC, TCP drops the data without writing it anywhere.
    let count = unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// The amount of data that a TCP socket has received and nobody has read yet [B].
pub fn unread(fd: &impl AsRawFd) -> io::Result<u64> {
    queued(fd, libc::FIONREAD as _)
}

/// The amount of data that was written to a TCP socket and not sent yet [B].
pub fn unsent(fd: &impl AsRawFd) -> io::Result<u64> {
    /// Of <linux/sockios.h>.
    const SIOCOUTQNSD: u64 = 0x894B;
    queued(fd, SIOCOUTQNSD)
}

fn queued(fd: &impl AsRawFd, request: u64) -> io::Result<u64> {
    let mut count: c_int = 0;
    // SAFETY: both requests write a single int.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request as _, &mut count) })?;
    Ok(count.max(0) as u64)
}

/// Sends `bytes` into a connection, without raising SIGPIPE if it has ended; returns how many were taken.
pub fn send(fd: &impl AsRawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are ours and as many as we say.
    let count = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Closes the sending direction; what was written is still sent.
pub fn end_sending(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) }).map(drop)
}

/// Makes the connection end with a reset when its socket is closed, so that the peer notices that it was cut off.
pub fn reset(fd: &impl AsRawFd) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let fields = [linger.l_onoff.to_ne_bytes(), linger.l_linger.to_ne_bytes()];
    set_option_bytes(fd, libc::SOL_SOCKET, libc::SO_LINGER, fields.as_flattened())
}

/// Closes both directions of a connection; a listening socket stops listening.
pub fn end_all(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) }).map(drop)
}
