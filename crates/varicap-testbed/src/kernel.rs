//! The running kernel: its release and its congestion controls.

use std::io;

/// The running kernel, as far as plans depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its release, such as (6, 18).
    pub release: (u32, u32),
    /// Its congestion controls.
    pub controls: Vec<String>,
    /// The controls of modules that were loaded for this run: the file that a scenario names, and what it registered.
    pub modules: Vec<(String, String)>,
}

/// The congestion controls that the running kernel has now.
pub(crate) fn controls() -> io::Result<Vec<String>> {
    let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(controls.split_whitespace().map(str::to_owned).collect())
}

/// From this release on, losses are detected by time alone: RFC 6675's rule is gone.
const WITHOUT_RFC6675: (u32, u32) = (6, 17);

impl Kernel {
    /// Queries the running kernel, into which no module was loaded.
    pub fn running() -> io::Result<Kernel> {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        Ok(Kernel {
            release: (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)),
            controls: controls()?,
            modules: Vec::new(),
        })
    }

    /// Whether it can no longer detect losses by RFC 6675's rule.
    pub fn lacks_rfc6675(&self) -> bool {
        self.release >= WITHOUT_RFC6675
    }
}
