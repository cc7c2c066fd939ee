//! The tests of scenarios, results and formats, a module each:
//! one program links in seconds, where one for each file takes minutes.

mod abr;
mod arbitrary;
mod errors;
mod feedback;
mod mistakes;
mod pcapng;
mod reactive;
mod reservation;
mod scenario;
mod schema;
mod stacks;
mod watching;
