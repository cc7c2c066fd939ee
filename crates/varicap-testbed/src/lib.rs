//! The kernel engine: Linux's own TCP over the links of the simulator, in real time or in a guest's simulated time.
//!
//! ```text
//!  namespace A                    this process                       namespace B
//!  senders ──► TUN A ──► route: wire, links (varicap-net), wire ──► TUN B ──► receivers
//! ```
//!
//! It exists on Linux only; elsewhere the crate is empty.

#[cfg(target_os = "linux")]
mod addresses;
#[cfg(target_os = "linux")]
pub mod bpf;
#[cfg(target_os = "linux")]
mod director;
#[cfg(target_os = "linux")]
pub mod emulator;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
pub mod fidelity;
#[cfg(target_os = "linux")]
pub mod flows;
#[cfg(target_os = "linux")]
pub mod guest;
#[cfg(target_os = "linux")]
pub mod kernel;
#[cfg(target_os = "linux")]
mod lockstep;
#[cfg(target_os = "linux")]
pub mod net;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
pub mod netns;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
pub mod packet;
#[cfg(target_os = "linux")]
pub mod plan;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
mod recording;
#[cfg(target_os = "linux")]
pub mod run;
#[cfg(target_os = "linux")]
pub mod shell;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
mod trace;
#[cfg(target_os = "linux")]
pub mod tun;

#[cfg(target_os = "linux")]
pub use error::{Step, TestbedError};
#[cfg(target_os = "linux")]
pub use sys::{Clock, die_with_parent, go_first};
