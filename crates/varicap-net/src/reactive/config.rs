//! How a load-reactive capacity is put together, as a scenario file says it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{Checked, Fault, OnKernel, Part, bounded, positive, rate, require};
use varicap_units::{JsonSchema, Probability, Rate, Span, Stream};

use super::ReactiveParts;
use super::control::{ReactiveControlConfig, check_weight, weight};
use crate::capacity::{Capacity, CapacityPart, Files, ResidualConfig};
use crate::check::yes;
use crate::error::NetError;

/// Shortest time between samples: shorter ones are more than the packets of any link.
const SHORTEST: Span = Span::from_nanos(1_000);

/// A capacity that answers the load: a controller samples the queue and sets what the link offers. Source: [lrl, §3].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadReactiveConfig {
    /// Least capacity, c0; zero is allowed.
    pub minimum: Rate,
    /// Capacity before the first sample. Default: `minimum`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Rate>,
    /// The most that there is for the link, c_m: a rate, or a capacity that others vary. Default: 100 Mbit/s ([lrl, §4]).
    #[serde(default = "residual")]
    pub residual: ResidualConfig,
    /// Whether the capacity gives way at once when the residual falls below it, even below `minimum`. Otherwise it keeps
    /// what it has, and only grows no further. Default: true.
    #[serde(default = "yes")]
    pub pre_emption: bool,
    /// Links that name the same pool share its residual, in equitable shares (max-min) of what their controllers want.
    /// They have the same residual, interval and phase. Default: no pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Time from one sample to the next. Default: 100 ms.
    #[serde(default = "interval")]
    pub interval: Span,
    /// When the first sample is taken. Default: 0 s.
    #[serde(default)]
    pub phase: Span,
    /// Which occupancy of the queue the controller compares. Default: instantaneous.
    #[serde(default)]
    pub occupancy: OccupancyConfig,
    /// Whether the occupancy counts the packet in service. Default: false.
    #[serde(default)]
    pub counts_in_service: bool,
    /// The fate of packets that carry no data, such as acknowledgements. Default: inside.
    #[serde(default)]
    pub control_packets: ControlPackets,
    /// If given, the queue's limit follows the capacity: what it carries in this time, at least one packet and at most
    /// the limit that the queue itself has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Span>,
    /// How the capacity follows the queue. Default: hysteresis.
    #[serde(default)]
    pub control: ReactiveControlConfig,
}

impl Part for LoadReactiveConfig {
    fn check(&self) -> Checked {
        rate("minimum", self.minimum)?;
        let finite = !self.minimum.is_unlimited();
        require("minimum", finite, self.minimum, "a rate: what is unlimited cannot answer the load")?;
        self.check_residual()?;
        require("interval", self.interval >= SHORTEST, self.interval, format!("at least {SHORTEST}"))?;
        bounded("interval", self.interval)?;
        bounded("phase", self.phase)?;
        if let Some(buffer) = self.buffer {
            positive("buffer", buffer)?;
        }
        if let OccupancyConfig::Smoothed(smoothed) = self.occupancy {
            check_weight("occupancy.smoothed.weight", smoothed.weight)?;
        }
        self.control.check().map_err(|fault| fault.within("control"))
    }

    fn on_kernel(&self) -> OnKernel {
        match self.pool {
            Some(_) => OnKernel::Refused("only the simulator shares a capacity among links"),
            None => self.control.on_kernel(),
        }
    }

    fn draws(&self) -> bool {
        self.residual.draws() || self.control.draws()
    }
}

impl LoadReactiveConfig {
    /// The residual makes sense, and leaves room for the minimum.
    fn check_residual(&self) -> Checked {
        let LoadReactiveConfig { minimum, initial, residual, .. } = self;
        residual.check().map_err(|fault| fault.within("residual"))?;
        if let Some(initial) = initial {
            rate("initial", *initial)?;
            require("initial", initial >= minimum, initial, format!("at least `minimum`, {minimum}"))?;
        }
        // A residual that varies may well fall below the minimum: then pre-emption decides.
        if let ResidualConfig::Constant(residual) = residual {
            let most = format!("at most `residual`, {residual}");
            require("minimum", minimum <= residual, minimum, &most)?;
            let initial = initial.unwrap_or_default();
            require("initial", initial <= *residual, initial, &most)?;
        }
        Ok(())
    }
}

impl CapacityPart for LoadReactiveConfig {
    type Parts = Arc<ReactiveParts>;
    /// As a path of rates, what a controller sets counts with its residual, the most that it can be.
    type Path = Box<Capacity>;

    fn read(&self, files: &mut Files<'_>) -> Result<Arc<ReactiveParts>, NetError> {
        self.check()?;
        let residual = self.residual.read(files).map_err(|error| error.within("residual"))?;
        Ok(Arc::new(ReactiveParts { config: self.clone(), residual }))
    }

    fn mean_rate(parts: &Arc<ReactiveParts>) -> Rate {
        parts.residual.mean_rate()
    }

    fn path(parts: &Arc<ReactiveParts>, stream: Stream) -> Box<Capacity> {
        Box::new(Capacity::new(&parts.residual, stream))
    }

    fn stream_name(parts: &Arc<ReactiveParts>, link: &str) -> String {
        parts.residual.stream_name(link)
    }

    fn repeats_itself(parts: &Arc<ReactiveParts>) -> bool {
        parts.residual.repeats_itself()
    }

    fn refused_by_kernel(parts: &Arc<ReactiveParts>) -> Option<Fault> {
        let LoadReactiveConfig { pool, control, .. } = &parts.config;
        let OnKernel::Refused(why) = parts.config.on_kernel() else { return None };
        Some(match pool {
            Some(pool) => Fault::new("pool", pool, why),
            None => Fault::new("control", control.policy().unwrap_or(control.name()), why),
        })
    }
}

/// Which occupancy a controller compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::names)]
pub enum OccupancyConfig {
    /// The backlog at the sample.
    #[default]
    Instantaneous,
    /// The mean over the time since the last sample.
    Mean,
    /// A moving average of what waits at the samples.
    Smoothed(SmoothedConfig),
}
varicap_units::choice!(OccupancyConfig);

/// A moving average over samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SmoothedConfig {
    /// Weight of the newest sample. Default: 0.1.
    pub weight: Probability,
}

impl Default for SmoothedConfig {
    fn default() -> SmoothedConfig {
        SmoothedConfig { weight: weight() }
    }
}

/// The fate of packets that carry no data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ControlPackets {
    /// They wait, are counted and take capacity like all others.
    #[default]
    Inside,
    /// They wait and take capacity, but the occupancy does not count them.
    Uncounted,
    /// They bypass queue and server, and are delayed by the propagation alone. Source: [lrl, footnote 1].
    Outside,
}

fn residual() -> ResidualConfig {
    ResidualConfig::Constant(Rate::from_bps(100_000_000))
}

fn interval() -> Span {
    Span::from_millis(100)
}
