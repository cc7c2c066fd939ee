//! A scenario that was read and resolved, as a Python object.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use varicap_experiment::{
    Files, FlowSpec, Format, KeptFiles, Mistakes, Network, Scenario, ScenarioError as Mistake, Transport,
    Written, explain, facts,
};
use varicap_tcp::congestion::PolicyConfig;
use varicap_tcp::{Congestion, TcpConfig};

use crate::errors::{ScenarioError, scenario_errors};

/// Largest trace that is read [B]; more would be a mistake rather than a trace.
const MOST_TRACE_BYTES: u64 = 1 << 29;

/// A scenario that was read and checked.
#[pyclass(frozen, name = "Scenario", module = "varicap._core")]
#[derive(Clone)]
pub struct PyScenario {
    /// The scenario as it was written, with all defaults filled in.
    pub scenario: Arc<Scenario>,
    /// The networks that it describes: one, or one for each flow if flows are isolated.
    pub networks: Arc<[Network]>,
    base_dir: String,
    traces: Vec<(String, PathBuf)>,
}

impl PyScenario {
    fn new(py: Python<'_>, written: Written<'_>, base_dir: String) -> PyResult<PyScenario> {
        let read = py.detach(|| PyScenario::resolved(&written, written.read(), &base_dir, Arc::default()));
        read.map_err(|mistakes| scenario_errors(&mistakes))
    }

    /// The scenario that was read of `written`, with its networks; files that it names are looked up from `base_dir`,
    /// unless what was read of them is `kept`.
    pub fn resolved(
        written: &Written<'_>,
        read: Result<Scenario, Mistake>,
        base_dir: &str,
        kept: Arc<KeptFiles>,
    ) -> Result<PyScenario, Mistakes> {
        let folder = Path::new(base_dir);
        let mut open = |name: &str| open_regular(&folder.join(name));
        let mut files = Files::keeping(&mut open, kept);
        let both = read.and_then(|scenario| {
            let networks = scenario.networks_from(&mut files)?;
            Ok((scenario, networks))
        });
        let named = files.into_named();
        let (scenario, networks) = both.map_err(|first| written.mistakes(first, &mut open))?;
        let traces = named.into_iter().map(|name| (name.clone(), folder.join(name))).collect();
        Ok(PyScenario {
            scenario: Arc::new(scenario),
            networks: networks.into(),
            base_dir: base_dir.to_owned(),
            traces,
        })
    }
}

#[pymethods]
impl PyScenario {
    #[staticmethod]
    fn from_toml(
        py: Python<'_>,
        text: &str,
        name: &str,
        base_dir: String,
        overrides: Vec<(String, String)>,
    ) -> PyResult<PyScenario> {
        let written =
            Written { text, format: Format::Toml, file: name, settings: &overrides, option: "--set" };
        PyScenario::new(py, written, base_dir)
    }

    #[staticmethod]
    #[pyo3(signature = (text, name, base_dir, overrides, *, is_file=false, option="--set"))]
    fn from_json(
        py: Python<'_>,
        text: &str,
        name: &str,
        base_dir: String,
        overrides: Vec<(String, String)>,
        is_file: bool,
        option: &str,
    ) -> PyResult<PyScenario> {
        let format = if is_file { Format::Json } else { Format::Value };
        let written = Written { text, format, file: name, settings: &overrides, option };
        PyScenario::new(py, written, base_dir)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    #[getter]
    fn base_dir(&self) -> &str {
        &self.base_dir
    }

    #[getter]
    fn seeds(&self) -> u32 {
        self.scenario.seeds
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    #[getter]
    fn record_series(&self) -> bool {
        self.scenario.record.series
    }

    #[getter]
    fn record_packets(&self) -> bool {
        self.scenario.record.packets
    }

    fn to_json(&self) -> String {
        self.scenario.to_json().to_string()
    }

    fn to_toml(&self) -> String {
        self.scenario.to_toml()
    }

    fn explain(&self) -> PyResult<String> {
        let lines = explain(&self.scenario, &self.networks);
        serde_json::to_string(&lines).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Whether no run of the simulator draws a random number: then all are one run.
    #[getter]
    pub fn draws_nothing(&self) -> bool {
        self.networks.iter().all(Network::draws_nothing)
    }

    fn facts(&self) -> String {
        facts(&self.scenario, &self.networks).to_string()
    }

    pub fn trace_files(&self) -> Vec<(String, PathBuf)> {
        self.traces.clone()
    }

    pub fn policy_files(&self) -> Vec<(String, String, usize, usize)> {
        let flows = self.networks.iter().flat_map(|network| &network.flows);
        let named = flows.filter_map(|flow| {
            let policy = policy_of(flow)?;
            let file = policy.file.clone()?;
            Some((flow.name.to_string(), file, policy.observed(), policy.moves.actions()))
        });
        named.collect()
    }

    fn capacity_bps(&self, link: &str) -> PyResult<f64> {
        let mut links = self.networks.iter().flat_map(|network| &network.links);
        let spec = links.find(|spec| &*spec.name == link);
        let spec = spec.ok_or_else(|| ScenarioError::new_err(format!("there is no link `{link}`")))?;
        Ok(if spec.mean_capacity.is_unlimited() { f64::INFINITY } else { spec.mean_capacity.as_bps() as f64 })
    }

    fn __repr__(&self) -> String {
        let flows: Vec<&str> = self.scenario.flows.keys().map(String::as_str).collect();
        format!("<scenario {}: {} of {}>", self.scenario.name, self.scenario.duration, flows.join(", "))
    }
}

/// The policy of a flow, if that is its control.
pub fn policy_of(flow: &FlowSpec) -> Option<&PolicyConfig> {
    match &flow.transport {
        Transport::Tcp { tcp: TcpConfig { congestion: Congestion::Policy(policy), .. }, .. } => Some(policy),
        _ => None,
    }
}

/// Opens a file that ends and that can be read again, as a sweep and a replay do; from a pipe or a device neither is
/// sure.
fn open_regular(path: &Path) -> Result<Box<dyn BufRead>, String> {
    let facts = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !facts.is_file() {
        return Err("it is not a file that can be read again; write what it has to one".to_owned());
    }
    if facts.len() > MOST_TRACE_BYTES {
        return Err(format!("it has {} bytes, more than {MOST_TRACE_BYTES}", facts.len()));
    }
    // A file of the kernel has no size, and may have no end.
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    if facts.len() == 0 && ["/proc", "/sys"].iter().any(|folder| real.starts_with(folder)) {
        return Err("it is a file of the kernel, not a trace".to_owned());
    }
    let file = open_without_waiting(path).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|facts| facts.is_file()) {
        return Err("it is not a file any more".to_owned());
    }
    // Text that is appended meanwhile is not read.
    Ok(Box::new(BufReader::new(file.take(facts.len()))))
}

/// Opens a file, which may have become a pipe since it was looked at: nobody waits for whoever would write into it.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.read(true).open(path)
}
