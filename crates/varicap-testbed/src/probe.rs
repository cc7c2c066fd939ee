//! Finds out by trying whether this machine has what the kernel engine needs.

use crate::bpf::Ratcp;
use crate::error::TestbedError;
use crate::netns::Namespace;
use crate::sys;
use crate::tun::Tun;

/// Something that the engine needs, or would benefit from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name.
    pub name: &'static str,
    /// The system's error, if it is not available.
    pub error: Option<String>,
    /// The remedy if it is not available.
    pub remedy: &'static str,
}

/// Tries everything once and leaves nothing behind. The process must have the rights over namespaces.
pub fn probe() -> Vec<Finding> {
    let namespace = Namespace::new();
    let device = match &namespace {
        Ok(namespace) => Tun::new(namespace, "tun0", 1500).map(drop),
        Err(_) => Err(TestbedError::Lacks("no namespace to make it in".to_owned())),
    };
    let first = std::thread::scope(|scope| scope.spawn(sys::go_first).join().unwrap_or(false));
    let ratcp = Ratcp::load().map(drop).map_err(|error| error.to_string());
    let message = |result: Result<(), TestbedError>| result.err().map(|error| error.to_string());
    vec![
        Finding {
            name: "network namespaces",
            error: message(namespace.map(drop)),
            remedy: "allow them to users (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), or be root",
        },
        Finding {
            name: "TUN devices",
            error: message(device),
            remedy: "make /dev/net/tun accessible (modprobe tun; chmod 0666 /dev/net/tun)",
        },
        Finding {
            name: "real-time priority",
            error: (!first).then(|| "SCHED_FIFO is not permitted: a busy machine delays packets".to_owned()),
            remedy: "be root, or allow it (ulimit -r)",
        },
        Finding {
            name: "ratcp in the kernel",
            error: ratcp.err(),
            remedy: "be root on a kernel with BTF, and build with libelf and zlib",
        },
    ]
}
