//! When what happens: the event queue of a run.

mod queue;
mod timers;
mod wheel;

pub use queue::EventQueue;
pub use timers::Timers;
