//! The clock, and what a thread waits with until an instant, another thread or a descriptor is ready.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use varicap_units::{Span, Time};

use super::{check, is_again, owned, read, write};

/// The monotonic clock [ns].
fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

const SECOND: u64 = 1_000_000_000;

/// Real time, counted from time zero of a run. The only clock of the crate.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: u64,
}

impl Clock {
    /// A clock whose time zero is `ahead` from now.
    pub fn starting_in(ahead: Span) -> Clock {
        Clock { zero: monotonic() + ahead.as_nanos() }
    }

    /// A clock in a guest, at least a second from now: its time zero is an instant at which all slots of the kernel's timer wheel
    /// begin, as they do with the simulator's runs (`timer.linux`). Which of a slot's ends a timeout waits for would else depend on
    /// how long the guest took to boot. Source: INITIAL_JIFFIES is 300 s before jiffies wrap; `calc_wheel_index`.
    pub fn starting_with_the_wheel() -> Clock {
        // HZ, as varicap configures kernels, and the ticks of the largest slot that is asked for: those of delays up to 131 s.
        const HERTZ: u64 = 250;
        const SLOT: u64 = 4096;
        const TICK: u64 = SECOND / HERTZ;
        const FIRST: u64 = 300 * HERTZ % SLOT * TICK;
        let rounds = (monotonic() + SECOND).saturating_sub(FIRST).div_ceil(SLOT * TICK);
        Clock { zero: FIRST + rounds * SLOT * TICK }
    }

    /// The current time; zero before time zero.
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.zero))
    }

    /// An instant of this clock on the monotonic clock [ns].
    pub fn at(&self, time: Time) -> u64 {
        self.zero.saturating_add(time.as_nanos())
    }

    /// Sleeps until time zero, and not for the 50 us longer that a thread sleeps which has not asked for less.
    pub fn wait_for_zero(&self) {
        // SAFETY: no pointers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
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

    /// Arms the timer to expire at `at`; NEVER disarms it.
    pub fn arm(&mut self, clock: &Clock, at: Time) -> io::Result<()> {
        if at == self.armed {
            return Ok(());
        }
        self.armed = at;
        // Zero would disarm it.
        let nanos = if at.is_never() { 0 } else { (clock.zero + at.as_nanos()).max(1) };
        let value = libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as _,
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

    /// Acknowledges an expiry, so that the descriptor is no longer readable.
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
    /// A bell that is not ringing.
    pub fn new() -> io::Result<Bell> {
        // SAFETY: no pointers.
        Ok(Bell { fd: owned(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })? })
    }

    /// Rings the bell.
    pub fn ring(&self) {
        let _ = write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Silences the bell.
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

/// Whether `fd` can be written to now, as [`Interest::ReadWrite`] would find it.
pub fn is_writable(fd: &impl AsRawFd) -> bool {
    let mut one = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: `one` is a single pollfd and outlives the call.
    unsafe { libc::poll(&mut one, 1, 0) > 0 && one.revents & libc::POLLOUT != 0 }
}

/// Waits for many descriptors at once (epoll).
#[derive(Debug)]
pub struct Poll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// The readiness for which a descriptor is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Readable.
    Read,
    /// Readable or writable.
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

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// The number under which it was added.
    pub token: u64,
    /// It can be read, or has ended.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
}

impl Poll {
    /// A poll that waits for no descriptor yet.
    pub fn new() -> io::Result<Poll> {
        // SAFETY: no pointers.
        let fd = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Poll { fd, events: Vec::with_capacity(256) })
    }

    /// Adds `fd`, under the number `token`.
    pub fn add(&self, fd: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest.bits())
    }

    /// Changes the readiness for which `fd` is polled.
    pub fn change(&self, fd: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest.bits())
    }

    fn control(&self, operation: c_int, fd: &impl AsRawFd, token: u64, bits: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: bits, u64: token };
        // SAFETY: `event` outlives the call.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd.as_raw_fd(), &mut event) })?;
        Ok(())
    }

    /// Waits until a descriptor is ready, at most `timeout_ms` (-1: indefinitely).
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

    /// The descriptor that is readable when there is something to [`wait`](Poll::wait) for.
    pub fn handle(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The descriptor with index `index` among those that are ready.
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
