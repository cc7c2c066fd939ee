//! The first process of a guest: User-mode Linux in simulated time, whose files are the host's and read-only.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::{Step, TestbedError};
use crate::kernel::controls;
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

/// Makes room for files that programs write, in the guest's memory.
pub fn make_room(place: &Path) -> Result<(), TestbedError> {
    std::fs::create_dir_all(place).step(&format!("make {}", place.display()))?;
    let name = CString::new(place.as_os_str().as_bytes()).map_err(io::Error::from).step("name a folder")?;
    sys::mount(c"tmpfs", &name).step(&format!("mount {}", place.display()))
}

/// Loads a module of this kernel, which registers a congestion control; returns its name.
pub fn load(module: &Path) -> Result<String, TestbedError> {
    let before = controls().step("read the kernel's controls")?;
    let refused = |why: String| TestbedError::Unsupported {
        key: "module".to_owned(),
        value: module.file_stem().unwrap_or_default().to_string_lossy().into_owned() + ".c",
        why,
    };
    let file = File::open(module).step(&format!("open {}", module.display()))?;
    sys::load_module(&file).map_err(|error| refused(why_not(&error, &before)))?;
    let after = controls().step("read the kernel's controls")?;
    let new: Vec<String> = after.into_iter().filter(|name| !before.contains(name)).collect();
    <[String; 1]>::try_from(new).map(|[name]| name).map_err(|new| {
        let what = if new.is_empty() { "none".to_owned() } else { new.join(", ") };
        refused(format!("it has to register one congestion control, and registers {what}"))
    })
}

/// Why the kernel does not take a module.
fn why_not(error: &io::Error, controls: &[String]) -> String {
    match error.raw_os_error() {
        Some(libc::EEXIST) => {
            format!("the name of its control is taken; this kernel has {}", controls.join(", "))
        }
        // tcp_validate_congestion_control
        Some(libc::EINVAL) => {
            "Linux wants `ssthresh`, `undo_cwnd`, and `cong_avoid` or `cong_control` of a control".to_owned()
        }
        _ => format!("Linux does not load it: {error}"),
    }
}

/// Ends the guest.
pub fn power_off() -> io::Error {
    sys::power_off()
}
