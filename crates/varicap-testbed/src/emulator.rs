//! The emulator: takes packets from TUN devices over the links of a network, each out at its ideal time.
