//! Anonymous network namespaces: they disappear with the process that made them, however it ends.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::error::{Step, TestbedError};
use crate::sys;

/// A network namespace made by this process.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Makes a namespace with a loopback interface that is down, and without IPv6, whose background traffic would load
    /// the links. Needs root, or an earlier call of [`become_root`].
    pub fn new() -> Result<Namespace, TestbedError> {
        // A separate thread enters it, so that this one stays in its own.
        let make = || -> io::Result<Namespace> {
            sys::unshare(libc::CLONE_NEWNET)?;
            for devices in ["all", "default"] {
                // A kernel without IPv6 has nothing to switch off.
                let _ = set_sysctl(&format!("net.ipv6.conf.{devices}.disable_ipv6"), "1");
            }
            Ok(Namespace { file: File::open("/proc/thread-self/ns/net")? })
        };
        on_thread(make).step("make a network namespace")
    }

    /// Runs `work` inside it, on a temporary thread.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, TestbedError> {
        let file = &self.file;
        on_thread(move || sys::enter_network(file).map(|()| work())).step("enter a network namespace")
    }

    /// Makes `command` start in it.
    pub fn move_in(&self, command: &mut Command) -> Result<(), TestbedError> {
        let file = self.file.try_clone().step("share a network namespace")?;
        sys::start_in_network(command, file);
        Ok(())
    }

    /// Moves this thread into it; sockets that the thread opens from now on belong to the namespace.
    pub fn enter(&self) -> Result<(), TestbedError> {
        sys::enter_network(&self.file).step("enter a network namespace")
    }
}

/// Gives this process the rights over namespaces of its own, in a new user namespace. Nothing happens if it has them
/// (CAP_SYS_ADMIN and CAP_NET_ADMIN). It must have a single thread.
pub fn become_root() -> Result<(), TestbedError> {
    own_namespaces(0, 0)
}

/// Like [`become_root`], but the user keeps its identity: programs that this process starts have only the user's
/// rights.
pub fn become_owner() -> Result<(), TestbedError> {
    let (user, group) = sys::identity();
    own_namespaces(user, group)
}

fn own_namespaces(as_user: u32, as_group: u32) -> Result<(), TestbedError> {
    if has_rights() {
        return Ok(());
    }
    let (user, group) = sys::identity();
    sys::unshare(libc::CLONE_NEWUSER).step("make a user namespace")?;
    let write = |file: &str, text: String| std::fs::write(Path::new("/proc/self").join(file), text);
    // Without the privilege over groups, the kernel asks to renounce setgroups(2) first.
    write("setgroups", "deny".to_owned()).step("renounce setgroups in the user namespace")?;
    write("uid_map", format!("{as_user} {user} 1")).step("map the user into its namespace")?;
    write("gid_map", format!("{as_group} {group} 1")).step("map the group into its namespace")
}

/// Whether this process may make network namespaces and configure them as it is.
pub fn has_rights() -> bool {
    has_capabilities(&[NET_ADMIN, SYS_ADMIN])
}

/// Capability numbers; see capabilities(7).
pub(crate) const NET_ADMIN: u32 = 12;
const SYS_ADMIN: u32 = 21;

/// Whether this thread has all of these capabilities, in its user namespace.
pub(crate) fn has_capabilities(wanted: &[u32]) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    wanted.iter().all(|number| bits >> number & 1 == 1)
}

/// Whether this process is in the initial user namespace, the only one where some rights are effective.
pub(crate) fn is_in_first_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Sets a kernel parameter of the namespace that this thread is in: `net.ipv4.tcp_sack`.
pub fn set_sysctl(name: &str, value: &str) -> io::Result<()> {
    std::fs::write(sysctl_path(name), value)
}

/// A kernel parameter of the namespace that this thread is in.
pub fn sysctl(name: &str) -> io::Result<String> {
    std::fs::read_to_string(sysctl_path(name)).map(|text| text.trim().to_owned())
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// Runs `work` on a separate thread and waits for it.
fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
