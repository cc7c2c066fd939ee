//! The first process of a shell's process namespace: it starts the command and collects what the command leaves behind.
//!
//! When it ends, for whatever reason, the kernel kills every process of the namespace: also those that have left their
//! parent, their session or their process group. It ends with the command, and with the emulator.

use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::process::Command;

use crate::error::{Step, TestbedError};
use crate::netns::Namespace;
use crate::sys;

/// A process that waits to start a command.
#[derive(Debug)]
pub struct Init {
    /// Its process number.
    pub process: i32,
    go: PipeWriter,
}

impl Init {
    /// Makes it, in the network namespace `near`. This process must have a single thread.
    pub fn new(near: &Namespace, command: Command) -> Result<Init, TestbedError> {
        let (ready, go) = pipe().step("make a pipe")?;
        match sys::fork_as_init().step("make a process namespace")? {
            Some(process) => Ok(Init { process, go }),
            None => {
                drop(go);
                sys::exit_now(serve(near, ready, command))
            }
        }
    }

    /// Starts the command, and waits until it has ended; returns its exit code.
    pub fn run(mut self) -> Result<i32, TestbedError> {
        self.go.write_all(&[0]).step("start the command")?;
        sys::wait_for(self.process).step("wait for the command")
    }
}

/// The work of the new process; returns its exit code.
fn serve(near: &Namespace, mut ready: PipeReader, mut command: Command) -> i32 {
    let prepare = || -> Result<(), TestbedError> {
        sys::die_with_parent().step("die with the emulator")?;
        near.enter()
    };
    if let Err(error) = prepare() {
        eprintln!("varicap: {error}");
        return super::LACKING;
    }
    // Where it is not permitted, programs such as ps see the processes outside as well.
    let _ = sys::mount_own_proc();
    if ready.read_exact(&mut [0]).is_err() {
        // The emulator has ended.
        return super::LACKING;
    }
    sys::start_as_usual(&mut command);
    match command.spawn() {
        Ok(child) => sys::reap_until(child.id() as i32).unwrap_or(1),
        Err(error) => {
            eprintln!("varicap: {}: {error}", command.get_program().display());
            // The codes of shells: not found, or found but not executable.
            if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
        }
    }
}
