//! Loads the BPF object into the kernel, using libbpf.

use std::ffi::OsStr;
use std::io;
use std::sync::Mutex;

use libbpf_rs::{
    Error, Link, MapCore, MapFlags, MapHandle, MapType, ObjectBuilder, OpenObject, PrintLevel, set_print,
};

use super::BpfError;
use super::advertised::ADVERTISED_LEN;

/// `bpf/ratcp.bpf.c`, built by `make bpf`.
const OBJECT: &[u8] = include_bytes!("../../bpf/ratcp.bpf.o");
/// The placeholder for the name in the object, padded with zeros as in the kernel.
const PLACEHOLDER: &[u8; NAME_LEN] = b"ratcp\0\0\0\0\0\0\0\0\0\0\0";
/// Length of a congestion control's name with its padding (TCP_CA_NAME_MAX) [B].
const NAME_LEN: usize = 16;

/// The warnings of libbpf since the last attempt to load.
static COMPLAINT: Mutex<String> = Mutex::new(String::new());

/// The registered congestion control and the map of the rates that are advertised to its connections.
#[derive(Debug)]
pub(super) struct Loaded {
    /// The map `told`: what is advertised to each socket, by its cookie.
    advertised: MapHandle,
    /// Unregisters the control when it is dropped or the process ends.
    _link: Link,
}

impl Loaded {
    pub(super) fn new(name: &str) -> Result<Loaded, BpfError> {
        set_print(Some((PrintLevel::Warn, note)));
        forget_complaints();
        let mut object = ObjectBuilder::default().open_memory(OBJECT).map_err(refused)?;
        rename(&mut object, name)?;
        let mut object = object.load().map_err(refused)?;
        let named = |map: &libbpf_rs::MapMut<'_>| map.name() == OsStr::new("told");
        let advertised = object.maps_mut().find(named).ok_or_else(|| broken("no map `told`"))?;
        debug_assert_eq!(advertised.value_size() as usize, ADVERTISED_LEN);
        let advertised = MapHandle::try_from(&advertised).map_err(refused)?;
        let control = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let link = control.ok_or_else(|| broken("no control"))?.attach_struct_ops().map_err(refused)?;
        Ok(Loaded { advertised, _link: link })
    }

    pub(super) fn update(&self, cookie: u64, advertised: &[u8]) -> Result<(), BpfError> {
        self.advertised
            .update(&cookie.to_ne_bytes(), advertised, MapFlags::ANY)
            .map_err(|error| failed("bpf(update)", error))
    }

    pub(super) fn remove(&self, cookie: u64) -> Result<(), BpfError> {
        self.advertised.delete(&cookie.to_ne_bytes()).map_err(|error| failed("bpf(delete)", error))
    }
}

/// Replaces the placeholder in the object by `name`.
fn rename(object: &mut OpenObject, name: &str) -> Result<(), BpfError> {
    let mut controls = object.maps_mut().filter(|map| map.map_type() == MapType::StructOps);
    let mut control = controls.next().ok_or_else(|| broken("no control"))?;
    let value = control.initial_value_mut().ok_or_else(|| broken("a control without a value"))?;
    let at = value.windows(NAME_LEN).position(|window| window == PLACEHOLDER);
    let place = &mut value[at.ok_or_else(|| broken("a control without a name"))?..][..NAME_LEN - 1];
    let name = name.as_bytes();
    place[..name.len()].copy_from_slice(name);
    Ok(())
}

fn note(_level: PrintLevel, message: String) {
    if let Ok(mut complaint) = COMPLAINT.lock() {
        complaint.push_str(&message);
    }
}

fn forget_complaints() {
    if let Ok(mut complaint) = COMPLAINT.lock() {
        complaint.clear();
    }
}

fn refused(error: Error) -> BpfError {
    let complaint = COMPLAINT.lock().map(|complaint| complaint.clone()).unwrap_or_default();
    BpfError::Refused(format!("{error:#}\n{}", complaint.trim_end()))
}

/// The error for an object without `what`; a mistake in the build, since the object comes with this crate.
fn broken(what: &str) -> BpfError {
    BpfError::Refused(format!("the object has {what}"))
}

fn failed(call: &'static str, error: Error) -> BpfError {
    BpfError::System { call, source: io::Error::other(error) }
}
