//! The records of runs in addition to their rows, as columns for Python, and captures for Wireshark.

use std::io::{self, BufWriter, Write};

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use varicap_experiment::columns::{Row, Table, table_of};
use varicap_experiment::packets::PacketLog;
use varicap_experiment::pcapng::{CapturedFlow, SnapLen, write_capture};
use varicap_experiment::results::Recorded;
use varicap_experiment::series::{FlowPoint, FlowSeries, LinkPoint};
use varicap_experiment::{Network, Transport};
use varicap_tcp::congestion::Quantity;

use crate::tables::{columns, data};

/// The names of many rows with few distinct names: for each row, the index of its name in a list.
#[derive(Default)]
struct Labels {
    places: Vec<u32>,
    names: Vec<String>,
}

impl Labels {
    fn repeat(&mut self, name: &str, count: usize) {
        let known = self.names.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.places.extend(std::iter::repeat_n(place as u32, count));
    }
}

/// The columns that identify the run and the part of each row, followed by those of the rows themselves.
fn series<'py, R: Row + 'static>(
    py: Python<'py>,
    parts: &[(u64, &str, &str, &[R])],
    owner: (&str, &str),
) -> PyResult<Bound<'py, PyList>> {
    let mut runs = Vec::new();
    let (mut names, mut flows) = (Labels::default(), Labels::default());
    for (replication, name, flow, points) in parts {
        runs.extend(std::iter::repeat_n(*replication, points.len()));
        names.repeat(name, points.len());
        flows.repeat(flow, points.len());
    }
    debug_assert!(names.places.len() == runs.len() && flows.places.len() == runs.len());
    let rows = table_of(parts.iter().flat_map(|(.., points)| points.iter()));
    let list = PyList::empty(py);
    list.append((
        "replication",
        "1",
        "Number of the run among the replications, from zero.",
        runs.into_pyarray(py),
    ))?;
    list.append((owner.0, "", owner.1, (names.places.into_pyarray(py), names.names)))?;
    if owner.0 == "link" {
        let description =
            "The flow that had the link to itself, where the scenario isolates flows; else empty.";
        list.append(("flow", "", description, (flows.places.into_pyarray(py), flows.names)))?;
    }
    for column in columns(py, rows)? {
        list.append(column)?;
    }
    Ok(list)
}

/// The flow that has network number `network` to itself, or an empty name.
fn owner(networks: &[Network], network: usize) -> &str {
    match networks[network].flows.as_slice() {
        [flow] if networks.len() > 1 => &flow.name,
        _ => "",
    }
}

/// A row for each run, flow and interval.
pub fn flow_series<'py>(py: Python<'py>, recorded: &[Recorded]) -> PyResult<Bound<'py, PyList>> {
    let parts: Vec<(u64, &str, &str, &[FlowPoint])> = (recorded.iter())
        .flat_map(|one| one.flows.iter().map(|flow| (one.replication, &*flow.name, "", &*flow.points)))
        .collect();
    let list = series(py, &parts, ("flow", "Name of the flow."))?;
    let flows: Vec<&FlowSeries> = recorded.iter().flat_map(|one| &one.flows).collect();
    add_shown(py, &flows, &list)?;
    Ok(list)
}

/// Adds a column for each quantity that a congestion control shows; flows without it have no value there.
fn add_shown(py: Python<'_>, flows: &[&FlowSeries], list: &Bound<'_, PyList>) -> PyResult<()> {
    let mut known: Vec<&Quantity> = Vec::new();
    for shown in flows.iter().flat_map(|flow| flow.shown()) {
        if !known.iter().any(|other| other.name == shown.name) {
            known.push(shown);
        }
    }
    for shown in known {
        let mut column = Vec::new();
        for flow in flows {
            match flow.values(shown.name) {
                Some(values) => column.extend(values),
                None => column.extend(std::iter::repeat_n(f64::NAN, flow.points.len())),
            }
        }
        list.append((shown.name, shown.unit, shown.description, column.into_pyarray(py)))?;
    }
    Ok(())
}

/// A row for each run, link and interval.
pub fn link_series<'py>(
    py: Python<'py>,
    recorded: &[Recorded],
    networks: &[Network],
) -> PyResult<Bound<'py, PyList>> {
    let parts: Vec<(u64, &str, &str, &[LinkPoint])> = (recorded.iter())
        .flat_map(|one| {
            let flow = owner(networks, one.network);
            one.links.iter().map(move |link| (one.replication, &*link.name, flow, &*link.points))
        })
        .collect();
    series(py, &parts, ("link", "Name of the link."))
}

/// The packet events of each run and network, as tables of the same columns.
pub fn packets<'py>(
    py: Python<'py>,
    recorded: &[Recorded],
    networks: &[Network],
) -> PyResult<Bound<'py, PyList>> {
    let tables = PyList::empty(py);
    for one in recorded {
        let Some(log) = &one.packets else { continue };
        let network = &networks[one.network];
        let Table { columns } = log.clone().into_table();
        let list = PyList::empty(py);
        let runs = vec![one.replication; log.len()].into_pyarray(py);
        list.append(("replication", "1", "Number of the run among the replications, from zero.", runs))?;
        for (column, values) in columns {
            let values = data(py, values)?;
            let names: Option<Vec<&str>> = match column.name {
                "link" => Some(network.links.iter().map(|link| &*link.name).collect()),
                "group" => Some(network.flows.iter().map(|flow| &*flow.name).collect()),
                _ => None,
            };
            match names {
                Some(names) => list.append((column.name, "", named(column.description), (values, names)))?,
                None => list.append((column.name, column.unit, column.description, values))?,
            }
        }
        tables.append(list)?;
    }
    Ok(tables)
}

/// The description of a column of names, from that of the column of indices that it replaces.
fn named(description: &str) -> String {
    description.replacen("Index", "Name", 1)
}

/// The packets that the first run recorded, each with the number of its network.
fn captured(recorded: &[Recorded]) -> impl Iterator<Item = (usize, &PacketLog)> {
    (recorded.iter().filter(|one| one.replication == 0))
        .filter_map(|one| Some((one.network, one.packets.as_ref()?)))
}

/// The captures of the first run: one, or one for each flow where flows are isolated, with the name of the flow.
pub fn captures(recorded: &[Recorded], networks: &[Network]) -> Vec<String> {
    captured(recorded).map(|(network, _)| owner(networks, network).to_owned()).collect()
}

/// Writes one of these captures into a file of Python's.
pub fn write_capture_into(
    file: Py<PyAny>,
    place: usize,
    recorded: &[Recorded],
    networks: &[Network],
    snap: SnapLen,
) -> io::Result<()> {
    let (network, log) = captured(recorded).nth(place).expect("Python counts what `captures` gave");
    let network = &networks[network];
    let links: Vec<&str> = network.links.iter().map(|link| &*link.name).collect();
    let flows: Vec<CapturedFlow> = (network.flows.iter())
        .map(|flow| match &flow.transport {
            Transport::Tcp { tcp, .. } => CapturedFlow::of(tcp),
            Transport::Datagrams(_) | Transport::Endpoint { .. } => CapturedFlow::Datagrams,
        })
        .collect();
    let out = BufWriter::with_capacity(1 << 20, PythonFile(file));
    write_capture(out, log, &links, &flows, snap)?.flush()
}

/// A file of Python's, which knows where it is and what becomes of it.
struct PythonFile(Py<PyAny>);

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| self.0.call_method1(py, "write", (PyBytes::new(py, bytes),)))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
