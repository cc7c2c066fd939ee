//! Several system calls as one (io_uring).

use std::ffi::{c_int, c_long, c_uint};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{check, discard, owned, read, write};

/// Something that is to be done in a [`Ring`].
#[derive(Debug)]
pub enum Task<'a> {
    /// Write these bytes.
    Write(RawFd, &'a [u8]),
    /// Read what is available.
    Read(RawFd, &'a mut [u8]),
    /// Discard up to so many bytes that a TCP socket has received in order.
    Discard(RawFd, usize),
    /// Wait until a descriptor is readable, but no longer than until an instant of the monotonic clock [ns].
    Wait(RawFd, u64),
}

/// A queue of tasks that is shared with the kernel.
#[derive(Debug)]
pub struct Ring {
    fd: OwnedFd,
    submissions: Shared,
    entries: Shared,
    completions: Shared,
    offsets: Offsets,
    results: Vec<i32>,
    /// Whether each task is a system call of its own, but for waits.
    is_plain: bool,
    /// The times that the timeouts of waits point to.
    until: [i64; 2],
}

/// The number of entries of a queue; a task takes up to two.
const ENTRIES: u32 = 256;
/// Sizes of the kernel's structures, `struct io_uring_sqe` and `struct io_uring_cqe` [B].
const ENTRY: usize = 64;
const COMPLETION: usize = 16;
/// Numbers of `<linux/io_uring.h>`.
const OP_POLL_ADD: u8 = 6;
const OP_LINK_TIMEOUT: u8 = 15;
const OP_READ: u8 = 22;
const OP_WRITE: u8 = 23;
const OP_RECV: u8 = 27;
/// Of `<linux/fs.h>`: O_NONBLOCK alone would make io_uring wait until there is something.
const RWF_NOWAIT: u32 = 8;
const SQE_IO_LINK: u8 = 1 << 2;
const TIMEOUT_ABS: u32 = 1;
const ENTER_GETEVENTS: c_uint = 1;
const OFF_SQ_RING: i64 = 0;
const OFF_CQ_RING: i64 = 0x800_0000;
const OFF_SQES: i64 = 0x1000_0000;
/// The number that stands for the second entry of a task.
const NOBODY: u64 = u64::MAX;

/// Where the kernel keeps its numbers in the queues [B].
#[derive(Clone, Copy, Debug)]
struct Offsets {
    tail: usize,
    mask: u32,
    array: usize,
    ended_head: usize,
    ended_tail: usize,
    ended_mask: u32,
    ended: usize,
}

/// The fields of `struct io_uring_sqe` that we fill in.
struct Entry {
    op: u8,
    /// Whether the next entry is a part of it.
    link: bool,
    fd: RawFd,
    at: u64,
    length: u32,
    flags: u32,
    number: u64,
}

/// Memory that is shared with the kernel.
#[derive(Debug)]
struct Shared {
    start: *mut u8,
    size: usize,
}

// SAFETY: the memory belongs to the ring alone, and is reached through it only.
unsafe impl Send for Shared {}

impl Shared {
    fn map(fd: &OwnedFd, size: usize, offset: i64) -> io::Result<Shared> {
        // SAFETY: a new mapping of the size that the kernel has said.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, fd.as_raw_fd(), offset)
        };
        if start == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Shared { start: start.cast(), size })
        }
    }

    /// The number at an offset.
    fn number(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.size, "inside the queue");
        // SAFETY: inside the mapping, aligned, and the kernel writes it as a whole.
        unsafe { AtomicU32::from_ptr(self.start.add(at).cast()) }
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.size, "inside the queue");
        // SAFETY: inside the mapping; the kernel does not look at it before it is told to.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(at), bytes.len()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody refers to it any longer.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}

impl Ring {
    /// An empty ring.
    pub fn new() -> io::Result<Ring> {
        // struct io_uring_params: 10 words, of which the first are the numbers of entries, then the offsets of both queues.
        let mut params = [0u32; 30];
        // SAFETY: as long as the structure.
        let fd =
            unsafe { libc::syscall(libc::SYS_io_uring_setup, c_long::from(ENTRIES), params.as_mut_ptr()) };
        let fd = owned(fd as c_int)?;
        let (submitted, ended) = (&params[10..20], &params[20..30]);
        let (count, ended_count) = (params[0] as usize, params[1] as usize);
        let submissions = Shared::map(&fd, submitted[6] as usize + 4 * count, OFF_SQ_RING)?;
        let entries = Shared::map(&fd, ENTRY * count, OFF_SQES)?;
        let completions = Shared::map(&fd, ended[5] as usize + COMPLETION * ended_count, OFF_CQ_RING)?;
        let offsets = Offsets {
            tail: submitted[1] as usize,
            mask: submissions.number(submitted[2] as usize).load(Ordering::Relaxed),
            array: submitted[6] as usize,
            ended_head: ended[0] as usize,
            ended_tail: ended[1] as usize,
            ended_mask: completions.number(ended[2] as usize).load(Ordering::Relaxed),
            ended: ended[5] as usize,
        };
        Ok(Ring {
            fd,
            submissions,
            entries,
            completions,
            offsets,
            results: Vec::new(),
            is_plain: false,
            until: [0; 2],
        })
    }

    /// The largest number of tasks at once.
    pub const MOST: usize = ENTRIES as usize / 2;

    /// Tries to read from a descriptor that has nothing to read. TUN devices of Linux 6.1 cannot be
    /// read in a ring without waiting: where that is so, each task is a system call of its own from now on.
    pub fn try_on(&mut self, fd: &impl AsRawFd) -> io::Result<()> {
        let mut nothing = [0; 1];
        let found = self.run(&mut [Task::Read(fd.as_raw_fd(), &mut nothing)])?[0];
        self.is_plain |= found == -libc::EOPNOTSUPP;
        Ok(())
    }

    /// The same one by one, with system calls.
    fn run_plainly(&mut self, tasks: &mut [Task<'_>]) -> &[i32] {
        self.results.clear();
        for task in tasks {
            let done = match task {
                Task::Write(fd, bytes) => write(fd, bytes),
                Task::Read(fd, buffer) => read(fd, buffer),
                Task::Discard(fd, most) => discard(fd, *most),
                Task::Wait(..) => unreachable!("a wait is not among others"),
            };
            let error = |error: io::Error| -error.raw_os_error().unwrap_or(libc::EIO);
            self.results.push(done.map_or_else(error, |count| count as i32));
        }
        &self.results
    }

    /// Does tasks one after the other, and returns what came of each when all are done, as the system calls would: a number
    /// of bytes, or what a wait found, or an error's number below zero.
    pub fn run(&mut self, tasks: &mut [Task<'_>]) -> io::Result<&[i32]> {
        debug_assert!(tasks.len() <= Ring::MOST, "{} tasks at once", tasks.len());
        if self.is_plain && !tasks.iter().any(|task| matches!(task, Task::Wait(..))) {
            return Ok(self.run_plainly(tasks));
        }
        let mut tail = self.submissions.number(self.offsets.tail).load(Ordering::Relaxed);
        let begun = tail;
        for (number, task) in tasks.iter_mut().enumerate() {
            let number = number as u64;
            let (op, fd, at, length, flags) = match task {
                Task::Write(fd, bytes) => (OP_WRITE, fd, bytes.as_ptr() as u64, bytes.len(), RWF_NOWAIT),
                Task::Read(fd, buffer) => (OP_READ, fd, buffer.as_mut_ptr() as u64, buffer.len(), RWF_NOWAIT),
                Task::Discard(fd, most) => {
                    (OP_RECV, fd, 0, *most, (libc::MSG_TRUNC | libc::MSG_DONTWAIT) as u32)
                }
                Task::Wait(fd, until) => {
                    self.until = [(*until / 1_000_000_000) as i64, (*until % 1_000_000_000) as i64];
                    (OP_POLL_ADD, fd, 0, 0, libc::POLLIN as u32)
                }
            };
            let is_wait = op == OP_POLL_ADD;
            let entry = Entry { op, link: is_wait, fd: *fd, at, length: length as u32, flags, number };
            self.add(&mut tail, entry);
            if is_wait {
                let (at, length, flags) = ((&raw const self.until) as u64, 1, TIMEOUT_ABS);
                let op = OP_LINK_TIMEOUT;
                self.add(&mut tail, Entry { op, link: false, fd: -1, at, length, flags, number: NOBODY });
            }
        }
        self.submissions.number(self.offsets.tail).store(tail, Ordering::Release);
        self.results.clear();
        self.results.resize(tasks.len(), 0);
        let (all, mut ended) = (tail.wrapping_sub(begun), 0);
        let mut submitted = 0;
        while ended < all {
            // SAFETY: what the tasks point to outlives this function, which returns when all have ended.
            let count = unsafe {
                libc::syscall(
                    libc::SYS_io_uring_enter,
                    self.fd.as_raw_fd(),
                    all - submitted,
                    all - ended,
                    ENTER_GETEVENTS,
                    std::ptr::null::<u8>(),
                    0usize,
                )
            };
            match check(count as c_int) {
                Ok(count) => submitted += count as u32,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                // Entries that the kernel has taken may still point to the tasks' memory.
                Err(error) => panic!("io_uring: {error}"),
            }
            ended += self.reap();
        }
        Ok(&self.results)
    }

    /// Adds an entry to those that are to be submitted.
    fn add(&self, tail: &mut u32, entry: Entry) {
        let index = *tail & self.offsets.mask;
        let mut bytes = [0u8; ENTRY];
        bytes[0] = entry.op;
        bytes[1] = if entry.link { SQE_IO_LINK } else { 0 };
        bytes[4..8].copy_from_slice(&entry.fd.to_ne_bytes());
        bytes[16..24].copy_from_slice(&entry.at.to_ne_bytes());
        bytes[24..28].copy_from_slice(&entry.length.to_ne_bytes());
        bytes[28..32].copy_from_slice(&entry.flags.to_ne_bytes());
        bytes[32..40].copy_from_slice(&entry.number.to_ne_bytes());
        self.entries.put(ENTRY * index as usize, &bytes);
        self.submissions.number(self.offsets.array + 4 * index as usize).store(index, Ordering::Relaxed);
        *tail = tail.wrapping_add(1);
    }

    /// Takes what has ended; returns how many entries that are.
    fn reap(&mut self) -> u32 {
        let tail = self.completions.number(self.offsets.ended_tail).load(Ordering::Acquire);
        let mut head = self.completions.number(self.offsets.ended_head).load(Ordering::Relaxed);
        let count = tail.wrapping_sub(head);
        while head != tail {
            let at = self.offsets.ended + COMPLETION * (head & self.offsets.ended_mask) as usize;
            let word = |place: usize| self.completions.number(at + 4 * place).load(Ordering::Relaxed);
            let number = u64::from(word(0)) | u64::from(word(1)) << 32;
            if let Some(result) = usize::try_from(number).ok().and_then(|number| self.results.get_mut(number))
            {
                *result = word(2) as i32;
            }
            head = head.wrapping_add(1);
        }
        self.completions.number(self.offsets.ended_head).store(head, Ordering::Release);
        count
    }
}

/// The value that a task returned, as a system call returns it.
pub fn result(number: i32) -> io::Result<usize> {
    if number < 0 { Err(io::Error::from_raw_os_error(-number)) } else { Ok(number as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{Bell, Clock};
    use varicap_units::{Span, Time};

    /// A ring, unless this kernel has none.
    fn ring() -> Option<Ring> {
        Ring::new().inspect_err(|error| eprintln!("skipped: io_uring: {error}")).ok()
    }

    #[test]
    fn tasks_are_done_in_order_and_say_what_came_of_them() {
        let Some(mut ring) = ring() else { return };
        let bell = Bell::new().unwrap();
        let (mut first, mut second) = ([0; 8], [0; 8]);
        let fd = bell.as_raw_fd();
        let (one, two) = (1u64.to_ne_bytes(), 2u64.to_ne_bytes());
        let mut tasks = [
            Task::Write(fd, &one),
            Task::Write(fd, &two),
            Task::Read(fd, &mut first),
            Task::Read(fd, &mut second),
        ];
        let results = ring.run(&mut tasks).unwrap().to_vec();
        assert_eq!(results, [8, 8, 8, -libc::EAGAIN]);
        assert_eq!(u64::from_ne_bytes(first), 3, "an eventfd adds up what is written to it");
    }

    #[test]
    fn a_wait_ends_with_its_descriptor_or_at_its_time() {
        let Some(mut ring) = ring() else { return };
        let bell = Bell::new().unwrap();
        let clock = Clock::starting_in(Span::ZERO);
        let soon = clock.at(clock.now() + Span::from_millis(1));
        assert_eq!(ring.run(&mut [Task::Wait(bell.as_raw_fd(), soon)]).unwrap(), [-libc::ECANCELED]);
        bell.ring();
        let late = clock.at(Time::ZERO + Span::from_secs(3600));
        assert_eq!(ring.run(&mut [Task::Wait(bell.as_raw_fd(), late)]).unwrap(), [i32::from(libc::POLLIN)]);
    }
}
