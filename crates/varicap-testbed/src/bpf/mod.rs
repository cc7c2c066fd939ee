//! RATCP inside the kernel: a congestion control of our own, registered for as long as a run lasts, and the rates that
//! are advertised to its connections.
//!
//! ```text
//! feedback ──► Ratcp::advertise ──► map `told`, by socket ──► ratcp.bpf.c, at the next ACK ──► cwnd, pacing
//! ```
//!
//! The program is C (`bpf/ratcp.bpf.c`, its object beside it) and is adapted to the running kernel when it is loaded.
//! That needs root, the kernel's BTF, and a build with the feature `bpf`; [`BpfError`] says what is missing. A guest's
//! kernel was built from the same source, and needs nothing (`device`).

#[cfg(not(feature = "bpf"))]
mod absent;
mod advertised;
mod device;
#[cfg(feature = "bpf")]
mod loader;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::Path;

use varicap_tcp::congestion::RatcpConfig;
use varicap_units::{Bytes, Rate};

use crate::netns::{NET_ADMIN, has_capabilities, is_in_first_user_namespace};
use crate::sys;
#[cfg(not(feature = "bpf"))]
use absent as loader;
use advertised::Advertised;
use device::Device;

/// The file in which a kernel describes its types.
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// Capability number of CAP_PERFMON; see capabilities(7).
const PERFMON: u32 = 38;
/// Capability number of CAP_BPF; see capabilities(7).
const BPF: u32 = 39;

/// Why RATCP cannot be loaded into this kernel.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// This build has no loader.
    #[error(
        "this build of varicap cannot load BPF programs: libelf's and zlib's headers were missing when it was built \
         (Debian: apt install libelf-dev zlib1g-dev, then make setup)"
    )]
    NotBuilt,
    /// The kernel does not describe its types.
    #[error(
        "the kernel has no type information (/sys/kernel/btf/vmlinux): it was built without CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf,
    /// This process lacks the capabilities.
    #[error(
        "loading BPF programs needs root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN in the first user namespace)"
    )]
    NotPermitted,
    /// The kernel refused the program.
    #[error("the kernel refused the congestion control: {0}")]
    Refused(String),
    /// A system call failed.
    #[error("{call}: {source}")]
    System {
        /// The call that failed.
        call: &'static str,
        /// The error that it returned.
        source: io::Error,
    },
}

/// RATCP, registered with the kernel under a name of its own until this is dropped or the process ends, however it
/// ends. Connections that still use it keep it in memory, though not in the list, so senders close at once (SO_LINGER).
#[derive(Debug)]
pub struct Ratcp {
    told: Told,
    name: String,
}

/// Where what is advertised is put.
#[derive(Debug)]
enum Told {
    Map(loader::Loaded),
    Device(Device),
}

impl Told {
    fn update(&self, cookie: u64, advertised: &[u8]) -> Result<(), BpfError> {
        match self {
            Told::Map(loaded) => loaded.update(cookie, advertised),
            Told::Device(device) => device.update(cookie, advertised).map_err(system("/dev/ratcp")),
        }
    }

    fn remove(&self, cookie: u64) -> Result<(), BpfError> {
        match self {
            Told::Map(loaded) => loaded.remove(cookie),
            Told::Device(device) => device.remove(cookie).map_err(system("/dev/ratcp")),
        }
    }
}

/// A connection that uses [`Ratcp`].
#[derive(Debug)]
pub struct Listener {
    /// The socket's cookie, unique on this machine.
    cookie: u64,
    advertised: Advertised,
}

impl Ratcp {
    /// Loads the program and registers it, unless the kernel was built with it.
    pub fn load() -> Result<Ratcp, BpfError> {
        if let Some(device) = Device::open() {
            let told = Told::Device(device.map_err(system("/dev/ratcp"))?);
            return Ok(Ratcp { told, name: device::NAME.to_owned() });
        }
        if cfg!(not(feature = "bpf")) {
            return Err(BpfError::NotBuilt);
        }
        if !Path::new(BTF).exists() {
            return Err(BpfError::NoBtf);
        }
        if !has_capabilities(&[NET_ADMIN, PERFMON, BPF]) || !is_in_first_user_namespace() {
            return Err(BpfError::NotPermitted);
        }
        // Another run may have taken the name, and no two names may share a hash: try a few.
        const ATTEMPTS: u32 = 3;
        let mut attempt = 0;
        loop {
            let name = unique_name()?;
            match loader::Loaded::new(&name) {
                Ok(loaded) => return Ok(Ratcp { told: Told::Map(loaded), name }),
                Err(_) if attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The name under which it is registered, for TCP_CONGESTION.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes a TCP socket use it, preferably before it is connected; `packet` is the size of a full packet on the wire,
    /// `restart` the window after an idle time [packets], if there is to be one. No rate is known yet.
    pub fn adopt(
        &self,
        socket: &impl AsRawFd,
        config: &RatcpConfig,
        packet: Bytes,
        restart: Option<u16>,
    ) -> Result<Listener, BpfError> {
        let mut cookie = [0; 8];
        sys::get_option(socket, libc::SOL_SOCKET, libc::SO_COOKIE, &mut cookie)
            .map_err(system("SO_COOKIE"))?;
        let cookie = u64::from_ne_bytes(cookie);
        let listener = Listener { cookie, advertised: Advertised::new(config, packet, restart.unwrap_or(0)) };
        self.told.update(cookie, &listener.advertised.to_bytes())?;
        sys::set_option_bytes(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, self.name.as_bytes())
            .map_err(system("TCP_CONGESTION"))?;
        Ok(listener)
    }

    /// Advertises a rate to a connection, which follows it from its next acknowledgement on. An unlimited rate stands
    /// for none.
    pub fn advertise(&self, listener: &mut Listener, rate: Rate) -> Result<(), BpfError> {
        if listener.advertised.hear(rate) {
            self.told.update(listener.cookie, &listener.advertised.to_bytes())?;
        }
        Ok(())
    }

    /// Frees the entry of a connection that is over.
    pub fn dismiss(&self, listener: Listener) -> Result<(), BpfError> {
        self.told.remove(listener.cookie)
    }
}

/// `ratcp_` and eight digits: a name has at most 15 characters, none of them a dash.
fn unique_name() -> Result<String, BpfError> {
    let mut random = [0; 4];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
    read.map_err(system("/dev/urandom"))?;
    Ok(format!("ratcp_{:08x}", u32::from_ne_bytes(random)))
}

fn system(call: &'static str) -> impl Fn(io::Error) -> BpfError {
    move |source| BpfError::System { call, source }
}

#[cfg(all(test, not(feature = "bpf")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_loader_says_so() {
        let error = Ratcp::load().unwrap_err();
        assert!(error.to_string().contains("libelf-dev"), "{error}");
    }
}
