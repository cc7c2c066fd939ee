//! The simulator as a WebAssembly module, and as whatever else speaks JSON over a plain C interface: reading scenarios,
//! running them, stepping a run, results. Conversions only; the engine is the one of every other front.
//!
//! A request is a JSON text (`request.rs`), an answer a JSON text and a block of bytes, in which the arrays lie that the
//! text names (`arrays.rs`). How both come and go is in `memory.rs`. The module imports nothing: it knows no clock, no file
//! and no thread, so files that a scenario names are handed in beforehand, and whoever calls stops a run that takes too
//! long by dropping the module.

mod answer;
mod arrays;
mod hand;
mod laboratory;
mod memory;
mod records;
mod request;
mod stepped;

pub use answer::Answer;
pub use laboratory::Laboratory;
