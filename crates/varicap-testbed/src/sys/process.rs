//! Processes and threads: their namespaces, signals, priorities and ends.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use super::{check, is_again};

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
