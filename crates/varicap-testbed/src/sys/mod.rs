//! System calls that the standard library does not have, each as a safe function. All unsafe code of the crate is here
//! and in `bpf`.
#![expect(unsafe_code, reason = "system calls")]

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use varicap_units::{Span, Time};

/// -1 as the error that it stands for.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(fd: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
    check(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether an error only says that there is nothing now.
pub fn is_again(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR))
}

/// The monotonic clock [ns].
fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Real time, counted from an instant that is time zero of a run. The only clock of the crate.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: u64,
}

impl Clock {
    /// Time zero is `ahead` from now.
    pub fn starting_in(ahead: Span) -> Clock {
        Clock { zero: monotonic() + ahead.as_nanos() }
    }

    /// Now; before time zero it is zero.
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.zero))
    }

    /// Sleeps until time zero.
    pub fn wait_for_zero(&self) {
        std::thread::sleep(Duration::from_nanos(self.zero.saturating_sub(monotonic())));
    }
}

/// A timer that makes its descriptor readable at an instant of a clock.
#[derive(Debug)]
pub struct Timer {
    fd: OwnedFd,
    armed: Time,
}

impl Timer {
    /// A timer that is not armed.
    pub fn new() -> io::Result<Timer> {
        // SAFETY: no pointers.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        Ok(Timer { fd: owned(fd)?, armed: Time::NEVER })
    }

    /// Goes off at `at`; never disarms it.
    pub fn arm(&mut self, clock: &Clock, at: Time) -> io::Result<()> {
        if at == self.armed {
            return Ok(());
        }
        self.armed = at;
        // Zero would disarm it.
        let nanos = if at.is_never() { 0 } else { (clock.zero + at.as_nanos()).max(1) };
        let value = libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
        };
        let spec =
            libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: `spec` outlives the call, and no old value is asked for.
        check(unsafe {
            libc::timerfd_settime(self.fd.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut())
        })?;
        Ok(())
    }

    /// Takes note that it went off.
    pub fn clear(&mut self) {
        let mut count = [0; 8];
        let _ = read(&self.fd, &mut count);
        self.armed = Time::NEVER;
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Wakes another thread's [`Poll`].
#[derive(Debug)]
pub struct Bell {
    fd: OwnedFd,
}

impl Bell {
    /// A bell that is quiet.
    pub fn new() -> io::Result<Bell> {
        // SAFETY: no pointers.
        Ok(Bell { fd: owned(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })? })
    }

    /// Rings.
    pub fn ring(&self) {
        let _ = write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Is quiet again.
    pub fn clear(&self) {
        let mut count = [0; 8];
        let _ = read(&self.fd, &mut count);
    }
}

impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Waits for many descriptors at once (epoll).
#[derive(Debug)]
pub struct Poll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// What a descriptor is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Something to read, or room to write.
    ReadWrite,
}

impl Interest {
    fn bits(self) -> u32 {
        let bits = match self {
            Interest::Read => libc::EPOLLIN,
            Interest::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT,
        };
        bits as u32
    }
}

/// A descriptor is ready.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// The number it was added under.
    pub token: u64,
    /// It can be read, or has ended.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
}

impl Poll {
    /// Waits for nothing yet.
    pub fn new() -> io::Result<Poll> {
        // SAFETY: no pointers.
        let fd = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Poll { fd, events: Vec::with_capacity(256) })
    }

    /// Waits for `fd` as well, under the number `token`.
    pub fn add(&self, fd: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest.bits())
    }

    /// Waits for something else of `fd`.
    pub fn change(&self, fd: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest.bits())
    }

    fn control(&self, operation: c_int, fd: &impl AsRawFd, token: u64, bits: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: bits, u64: token };
        // SAFETY: `event` outlives the call.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd.as_raw_fd(), &mut event) })?;
        Ok(())
    }

    /// Waits until something is ready, at most `timeout_ms` (-1: for ever).
    pub fn wait(&mut self, timeout_ms: i32) -> io::Result<()> {
        self.events.clear();
        // SAFETY: the kernel writes at most `capacity` events and says how many.
        let count = unsafe {
            libc::epoll_wait(
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.capacity() as c_int,
                timeout_ms,
            )
        };
        match check(count) {
            // SAFETY: so many were written.
            Ok(count) => unsafe { self.events.set_len(count as usize) },
            Err(error) if is_again(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Number `index` of what is ready.
    pub fn ready(&self, index: usize) -> Option<Ready> {
        let event = self.events.get(index)?;
        let (bits, token) = (event.events, event.u64);
        let ended = (libc::EPOLLERR | libc::EPOLLHUP | libc::EPOLLRDHUP) as u32;
        Some(Ready {
            token,
            readable: bits & (libc::EPOLLIN as u32 | ended) != 0,
            writable: bits & (libc::EPOLLOUT as u32 | ended) != 0,
        })
    }
}

/// Reads what there is into `buffer`.
pub fn read(fd: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is ours and as long as we say.
    let count = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Writes `bytes` at once.
pub fn write(fd: &impl AsRawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are ours and as many as we say.
    let count = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Leaves the namespaces that `flags` (CLONE_NEW…) names for new ones.
pub fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Enters the network namespace of `fd`; of this thread alone.
pub fn enter_network(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::setns(fd.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Effective user and group.
pub fn identity() -> (u32, u32) {
    // SAFETY: no pointers, cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// The kernel kills this process as soon as its parent is dead.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// Process of the parent.
pub fn parent() -> i32 {
    // SAFETY: no pointers, cannot fail.
    unsafe { libc::getppid() }
}

/// Ctrl-C at the terminal is for the parent.
pub fn ignore_interrupts() {
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: ignoring a signal runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Lets this thread wake as exactly as the machine allows: exact timers, and before all ordinary threads (SCHED_FIFO)
/// if that is permitted, which it says.
pub fn go_first() -> bool {
    let priority = libc::sched_param { sched_priority: 20 };
    // SAFETY: no pointers; `priority` outlives the call.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) == 0
    }
}

/// Keeps processors from sleeping while what it returns is held, if that is permitted: to wake one up takes a virtual
/// machine a millisecond now and then.
pub fn stay_awake() -> Option<File> {
    let mut latency = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    latency.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(latency)
}

/// Makes a TUN device called `name`; it goes with its descriptor.
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

/// A socket; `kind` is SOCK_STREAM, SOCK_DGRAM or SOCK_RAW, it does not block.
pub fn socket(domain: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libc::socket(domain, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, protocol) })
}

/// An IPv4 address and a port, as the kernel wants them.
fn address(ip: [u8; 4], port: u16) -> libc::sockaddr_in {
    // SAFETY: all zeros are a valid address.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from_ne_bytes(ip);
    address
}

const ADDRESS_LENGTH: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

/// Gives a socket its address; port 0 is any.
pub fn bind(fd: &impl AsRawFd, ip: [u8; 4], port: u16) -> io::Result<()> {
    let address = address(ip, port);
    // SAFETY: the address outlives the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), ADDRESS_LENGTH) }).map(drop)
}

/// Begins to connect; a connection under way is no error.
pub fn connect(fd: &impl AsRawFd, ip: [u8; 4], port: u16) -> io::Result<()> {
    let address = address(ip, port);
    // SAFETY: the address outlives the call.
    let result = unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), ADDRESS_LENGTH) };
    match check(result) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other.map(drop),
    }
}

/// Waits for connections.
pub fn listen(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::listen(fd.as_raw_fd(), 4096) }).map(drop)
}

/// The next connection, and the port that it comes from.
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

/// The port that a socket has.
pub fn local_port(fd: &impl AsRawFd) -> io::Result<u16> {
    let mut own = address([0; 4], 0);
    let mut length = ADDRESS_LENGTH;
    // SAFETY: `own` has room for `length` bytes.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut own).cast(), &mut length) })?;
    Ok(u16::from_be(own.sin_port))
}

/// Sets an option that is a number.
pub fn set_option(fd: &impl AsRawFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    set_option_bytes(fd, level, name, &value.to_ne_bytes())
}

/// Sets an option that is something else.
pub fn set_option_bytes(fd: &impl AsRawFd, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the value outlives the call and is as long as we say.
    check(unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    })
    .map(drop)
}

/// What an option is; returns how many bytes of `value` were written.
pub fn get_option(fd: &impl AsRawFd, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the buffer is ours and as long as we say.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &mut length) })?;
    Ok(length as usize)
}

/// Throws away up to `most` bytes that a TCP socket has received in order; returns how many.
pub fn discard(fd: &impl AsRawFd, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC, TCP drops the data without writing it anywhere.
    let count = unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// Sends `bytes` into a connection without a signal if it has ended.
pub fn send(fd: &impl AsRawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are ours and as many as we say.
    let count = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}

/// No more will be sent; what was written still is.
pub fn end_sending(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) }).map(drop)
}

/// No more will be sent, and the other end learns that this was no regular end.
pub fn reset(fd: &impl AsRawFd) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let fields = [linger.l_onoff.to_ne_bytes(), linger.l_linger.to_ne_bytes()];
    set_option_bytes(fd, libc::SOL_SOCKET, libc::SO_LINGER, fields.as_flattened())
}

/// A connection neither sends nor receives any more; a listening socket stops to listen.
pub fn end_all(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) }).map(drop)
}

/// A copy of this process with one thread; it sees none, the parent the child's number.
pub fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the caller answers for what the child does with what other threads held.
    let child = check(unsafe { libc::fork() })?;
    Ok((child != 0).then_some(child))
}

/// Waits for the end of a child; its exit code, as shells say it: 128 and the signal if one killed it.
pub fn wait_for(child: i32) -> io::Result<i32> {
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        match check(unsafe { libc::waitpid(child, &mut status, 0) }) {
            Ok(_) if libc::WIFEXITED(status) => return Ok(libc::WEXITSTATUS(status)),
            Ok(_) if libc::WIFSIGNALED(status) => return Ok(128 + libc::WTERMSIG(status)),
            Ok(_) => {}
            Err(error) if is_again(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Ends this process at once: nothing that was inherited from a parent is torn down.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// Kills a process.
pub fn kill(process: u32) {
    // SAFETY: no pointers.
    unsafe { libc::kill(process as libc::pid_t, libc::SIGKILL) };
}

/// Makes `command` start in a network namespace, with ordinary signals, and die with the thread that starts it.
pub fn start_inside(command: &mut std::process::Command, namespace: std::fs::File) {
    let enter = move || {
        enter_network(&namespace)?;
        die_with_parent()?;
        for signal in [libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: the default action is no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: nothing but system calls between fork and exec.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, enter) };
}
