//! The flows of a scenario as sockets of the kernel, and the applications that feed them.
