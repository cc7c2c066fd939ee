//! TUN devices: IP packets of a namespace as reads and writes of a descriptor.
