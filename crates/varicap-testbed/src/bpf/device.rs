//! RATCP in a guest, whose kernel was built with it: a device takes what is advertised to each connection.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The device, of `python/varicap/kernels/source/arch/um/varicap/ratcp.c`.
const DEVICE: &str = "/dev/ratcp";
/// The name of the control there.
pub(super) const NAME: &str = "ratcp";

/// The open device.
#[derive(Debug)]
pub(super) struct Device(File);

impl Device {
    /// Opens it, if this kernel has it.
    pub(super) fn open() -> Option<io::Result<Device>> {
        Path::new(DEVICE).exists().then(|| OpenOptions::new().write(true).open(DEVICE).map(Device))
    }

    pub(super) fn update(&self, cookie: u64, advertised: &[u8]) -> io::Result<()> {
        (&self.0).write_all(&[&cookie.to_ne_bytes(), advertised].concat())
    }

    pub(super) fn remove(&self, cookie: u64) -> io::Result<()> {
        (&self.0).write_all(&cookie.to_ne_bytes())
    }
}
