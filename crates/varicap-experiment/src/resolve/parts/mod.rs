//! Additions of a link or a flow to the plain path: for each, its rules across parts and what it resolves to.

pub(crate) mod abr;
pub(crate) mod arq;
pub(crate) mod feedback;
pub(crate) mod netem;
pub(crate) mod policy;
pub(crate) mod queue;
pub(crate) mod reactive;
pub(crate) mod relay;
pub(crate) mod reservation;
