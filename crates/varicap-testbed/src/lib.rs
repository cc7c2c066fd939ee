//! The kernel engine: Linux's own TCP over the links of the simulator, in real time.
//!
//! ```text
//!  namespace A                    this process                       namespace B
//!  senders ──► TUN A ──► route: wire, links (varicap-net), wire ──► TUN B ──► receivers
//! ```
//!
//! Only Linux has it; elsewhere the crate is empty.

#[cfg(all(target_os = "linux", feature = "bpf"))]
pub mod bpf;
#[cfg(target_os = "linux")]
pub mod emulator;
#[cfg(target_os = "linux")]
pub mod flows;
#[cfg(target_os = "linux")]
pub mod netns;
#[cfg(target_os = "linux")]
pub mod run;
#[cfg(target_os = "linux")]
pub mod tun;
