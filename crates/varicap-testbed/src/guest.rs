//! The first process of a guest: User-mode Linux in simulated time, whose files are the host's and read-only.

use std::io;
use std::path::Path;

use crate::error::{Step, TestbedError};
use crate::sys;

/// Gives a guest that has just been booted what the engine needs of a system: `/proc`, `/sys` and `/dev`. All else is the
/// host's.
pub fn settle() -> Result<(), TestbedError> {
    for (kind, place) in [(c"proc", c"/proc"), (c"sysfs", c"/sys"), (c"devtmpfs", c"/dev")] {
        match sys::mount(kind, place) {
            // The kernel has mounted it itself.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            done => done.step(&format!("mount {}", place.to_string_lossy()))?,
        }
    }
    if Path::new("/dev/net/tun").exists() {
        Ok(())
    } else {
        Err(TestbedError::Lacks("this kernel was built without TUN devices (CONFIG_TUN)".to_owned()))
    }
}

/// Ends the guest.
pub fn power_off() -> io::Error {
    sys::power_off()
}
