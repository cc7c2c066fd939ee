//! Stands for the loader in a build without it.

use super::BpfError;

#[derive(Debug)]
pub(super) enum Loaded {}

impl Loaded {
    pub(super) fn new(_name: &str) -> Result<Loaded, BpfError> {
        Err(BpfError::NotBuilt)
    }

    pub(super) fn update(&self, _cookie: u64, _advertised: &[u8]) -> Result<(), BpfError> {
        match *self {}
    }

    pub(super) fn remove(&self, _cookie: u64) -> Result<(), BpfError> {
        match *self {}
    }
}
