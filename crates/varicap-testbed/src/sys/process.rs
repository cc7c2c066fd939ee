//! Processes and threads: their namespaces, signals, priorities and ends.

use std::ffi::{CStr, c_int, c_long};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use super::{check, is_again};

/// Moves this process into new namespaces of the kinds that `flags` (CLONE_NEW…) names.
pub fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Moves this thread alone into the network namespace of `fd`.
pub fn enter_network(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::setns(fd.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// The effective user and group.
pub fn identity() -> (u32, u32) {
    // SAFETY: no pointers, cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Makes the kernel kill this process as soon as its parent is dead.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// The process number of the parent.
pub fn parent() -> i32 {
    // SAFETY: no pointers, cannot fail.
    unsafe { libc::getppid() }
}

/// Ignores Ctrl-C at the terminal, which is left to the parent.
pub fn ignore_interrupts() {
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: ignoring a signal runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Lets this thread wake as exactly as the machine allows: with exact timers and, if that is permitted, with priority
/// over all ordinary threads (SCHED_FIFO). Returns whether it was permitted.
pub fn go_first() -> bool {
    has_priority(20)
}

/// As [`go_first`], behind the threads that go first.
pub fn go_next() -> bool {
    has_priority(10)
}

fn has_priority(priority: libc::c_int) -> bool {
    // The kernel's `sched_param` is one number. By the kernel's call: musl has more in the one and refuses the other.
    // SAFETY: `priority` outlives the call, which only reads it.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority) == 0
    }
}

/// Keeps processors from sleeping while the returned file is open, if that is permitted: waking one up occasionally
/// takes a virtual machine a millisecond.
pub fn stay_awake() -> Option<File> {
    let mut latency = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    latency.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(latency)
}

/// Forks this process; the child has one thread. Returns the child's number in the parent, `None` in the child.
pub fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the caller answers for what the child does with what other threads held.
    let child = check(unsafe { libc::fork() })?;
    Ok((child != 0).then_some(child))
}

/// Waits for a child to end, and returns its exit code as shells do: 128 plus the signal if one killed it.
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

/// Ends this process at once, without tearing down what it inherited from its parent.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// Kills a process.
pub fn kill(process: i32) {
    // SAFETY: no pointers.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// Forks this process, which must have a single thread; the child is the first process of a new process namespace, whose
/// other processes the kernel kills when the child ends. Returns the child's number in the parent, `None` in the child.
pub fn fork_as_init() -> io::Result<Option<i32>> {
    let flags = c_long::from(libc::CLONE_NEWPID | libc::SIGCHLD);
    // SAFETY: without a stack of its own the child goes on where the parent is, as after fork; no other thread exists
    // that could hold a lock.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    if child < 0 { Err(io::Error::last_os_error()) } else { Ok((child != 0).then_some(child as i32)) }
}

/// Waits for `child` as [`wait_for`] does, and for every other process that is left to this one until then.
pub fn reap_until(child: i32) -> io::Result<i32> {
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        match check(unsafe { libc::waitpid(-1, &mut status, 0) }) {
            Ok(ended) if ended == child && libc::WIFEXITED(status) => return Ok(libc::WEXITSTATUS(status)),
            Ok(ended) if ended == child && libc::WIFSIGNALED(status) => {
                return Ok(128 + libc::WTERMSIG(status));
            }
            Ok(_) => {}
            Err(error) if is_again(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Shows this process and those that it starts a `/proc` of their own process namespace. Mounts of theirs do not reach
/// other processes.
pub fn mount_own_proc() -> io::Result<()> {
    unshare(libc::CLONE_NEWNS)?;
    let (root, proc) = (c"/".as_ptr(), c"/proc".as_ptr());
    let safe = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let none = std::ptr::null();
    // SAFETY: every string ends in a zero; the other pointers may be null.
    unsafe {
        check(libc::mount(none, root, none, libc::MS_REC | libc::MS_SLAVE, none.cast()))?;
        check(libc::mount(c"proc".as_ptr(), proc, c"proc".as_ptr(), safe, none.cast()))?;
    }
    Ok(())
}

/// Mounts a file system of the kernel's own, such as `proc`.
pub fn mount(kind: &CStr, place: &CStr) -> io::Result<()> {
    // SAFETY: both strings end in a zero; there is no data.
    check(unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) }).map(drop)
}

/// Loads the kernel module in `file`, without parameters.
pub fn load_module(file: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the text ends in a zero.
    let done = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Switches the machine off; returns only if that is refused.
pub fn power_off() -> io::Error {
    // SAFETY: no pointers.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
    io::Error::last_os_error()
}

/// Makes `command` start in a network namespace.
pub fn start_in_network(command: &mut std::process::Command, namespace: File) {
    // SAFETY: nothing but a system call between fork and exec.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, move || enter_network(&namespace)) };
}

/// Makes `command` start with default signal handling, and die with the thread that starts it.
pub fn start_as_usual(command: &mut std::process::Command) {
    let prepare = || {
        die_with_parent()?;
        for signal in [libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: the default action is no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: nothing but system calls between fork and exec.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, prepare) };
}
