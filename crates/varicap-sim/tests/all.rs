//! The tests of whole runs, a module each:
//! one program links in seconds, where one for each file takes minutes.

mod abr;
mod accel_brake;
mod budget;
mod common;
mod conventions;
mod counts;
mod course;
mod encoder;
mod endpoint;
mod feedback;
mod fin;
mod l4s;
mod laws;
mod netem;
mod pie;
mod rates;
mod relay;
mod reservation;
mod scone;
mod service;
