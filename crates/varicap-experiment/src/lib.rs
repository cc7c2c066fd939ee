//! stub

pub mod histogram;
pub mod measure;
