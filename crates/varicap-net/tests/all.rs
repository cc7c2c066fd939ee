//! The tests of links and queues, a module each:
//! one program links in seconds, where one for each file takes minutes.

mod arq;
mod cbq;
mod channel;
mod common;
mod custom;
mod delay;
mod device;
mod dualpi2;
mod ered;
mod fair;
mod fq_codel;
mod handover;
mod laws;
mod light;
mod link;
mod losses;
mod marking;
mod netem;
mod offsets;
mod opportunities;
mod pie;
mod policing;
mod properties;
mod queues;
mod reactive;
mod shaping;
