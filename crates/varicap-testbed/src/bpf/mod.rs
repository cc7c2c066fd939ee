//! Congestion controls of our own inside the kernel (BPF struct_ops), and what links tell them.
