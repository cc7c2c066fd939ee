//! The tests of one connection, or its halves, a module each:
//! one program links in seconds, where one for each file takes minutes.

mod accel_brake;
mod beliefs;
mod common;
mod cubic_linux;
mod delayed_acks;
mod delivery_rate;
mod halving;
mod linux_timer;
mod moderation;
mod pacing;
mod properties;
mod ratcp;
mod rate_adaptive;
mod reservation;
mod rfc1122;
mod rfc2861;
mod rfc2883;
mod rfc3042;
mod rfc3168;
mod rfc3465;
mod rfc5681;
mod rfc5682;
mod rfc6298;
mod rfc6582;
mod rfc6675;
mod rfc896;
mod rfc8985;
mod rfc9406;
mod rfc9438;
mod rfc9768;
mod rfc9937;
mod undo;
mod vegas;
