//! Lets the extension module find Python's symbols when it is loaded, also on macOS.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
