//! A delay of its own for each packet, as Linux's netem draws it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part, require};
use varicap_units::{JsonSchema, Probability, Span, Stream, Time};

use super::{DelayPart, DelayProcess, DelaySegment, Files};
use crate::error::NetError;
use crate::netem::{CRandom, Chance, DistTable, Distribution, percent};

/// netem keeps jitter in 31 bits.
const MOST_JITTER: Span = Span::from_nanos(i32::MAX as u64);

/// netem's `delay` and `reorder`: each packet draws its own delay when it leaves the server.
///
/// With netem itself a packet overtakes those ahead of it if its delay is so much shorter: `reorder = true` on the link says
/// the same here; without it the order is kept. netem takes the remainder of its correlated random number, so that delays
/// hardly depend on each other, whatever `correlation` is, unless the jitter is of the order of seconds.
/// Source: Linux `netem_enqueue`, `tabledist`, `get_crandom`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetemDelayConfig {
    /// The delay around which delays vary; those below zero are zero.
    pub delay: Span,
    /// How far they vary; up to 2.147 s. Default: 0 s.
    #[serde(default)]
    pub jitter: Span,
    /// Weight of the last random number in the next. Default: 0.
    #[serde(default)]
    pub correlation: Probability,
    /// How they are distributed. Default: uniform.
    #[serde(default)]
    pub distribution: Distribution,
    /// Probability that a packet takes no delay at all, ahead of those that do. Default: 0.
    #[serde(default)]
    pub reorder: Probability,
    /// Weight of the last random number of `reorder` in the next. Default: 0.
    #[serde(default)]
    pub reorder_correlation: Probability,
    /// At least this many packets less one are delayed between two that are not. Default: 1.
    #[serde(default = "one")]
    pub gap: u32,
}

fn one() -> u32 {
    1
}

impl NetemDelayConfig {
    fn jitters(&self) -> bool {
        self.jitter > Span::ZERO
    }
}

impl Part for NetemDelayConfig {
    fn check(&self) -> Checked {
        part::bounded("delay", self.delay)?;
        require(
            "jitter",
            self.jitter <= MOST_JITTER,
            self.jitter,
            format!("at most {MOST_JITTER}, as in netem"),
        )?;
        require("gap", self.gap > 0, self.gap, "at least 1")
    }

    fn draws(&self) -> bool {
        self.jitters() || percent(self.reorder) > 0
    }
}

/// The parts that all runs share.
#[derive(Clone, Debug)]
pub struct NetemDelayParts {
    config: NetemDelayConfig,
    table: DistTable,
    mu: i64,
    sigma: i64,
}

impl DelayPart for NetemDelayConfig {
    type Parts = Arc<NetemDelayParts>;
    type Path = NetemDelay;

    fn read(&self, files: &mut Files<'_>) -> Result<Arc<NetemDelayParts>, NetError> {
        self.check()?;
        let table = DistTable::read(&self.distribution, files);
        let table = table.map_err(|error| error.within("distribution"))?;
        let [mu, sigma] = [self.delay, self.jitter].map(|span| span.as_nanos() as i64);
        Ok(Arc::new(NetemDelayParts { config: self.clone(), table, mu, sigma }))
    }

    /// Over all packets; of those that take no delay, one in `gap` - 1 + 1 / `reorder`.
    fn mean(parts: &Arc<NetemDelayParts>) -> Span {
        let NetemDelayParts { config, table, mu, sigma } = &**parts;
        let mean = if *sigma == 0 { *mu as f64 } else { table.mean(*mu, *sigma) };
        let reorder = config.reorder.get();
        let at_once = if reorder > 0.0 { 1.0 / (f64::from(config.gap - 1) + 1.0 / reorder) } else { 0.0 };
        Span::from_nanos((mean * (1.0 - at_once) + 0.5) as u64)
    }

    fn least(parts: &Arc<NetemDelayParts>) -> Span {
        let NetemDelayParts { config, table, mu, sigma } = &**parts;
        let least = if *sigma == 0 { *mu } else { table.least(*mu, *sigma) };
        let least = if percent(config.reorder) > 0 { 0 } else { least };
        Span::from_nanos(least.max(0) as u64)
    }

    fn is_per_frame() -> bool {
        true
    }

    fn path(parts: &Arc<NetemDelayParts>, mut stream: Stream) -> NetemDelay {
        let config = &parts.config;
        let correlation = if config.jitters() { config.correlation } else { Probability::default() };
        NetemDelay {
            delays: CRandom::new(correlation, &mut stream),
            reorder: Chance::new(config.reorder, config.reorder_correlation, &mut stream),
            counter: 0,
            parts: parts.clone(),
            stream,
        }
    }
}

/// The delays of one direction of a link, packet by packet.
#[derive(Debug)]
pub struct NetemDelay {
    parts: Arc<NetemDelayParts>,
    delays: CRandom,
    reorder: Chance,
    /// Packets that were delayed since the last that was not.
    counter: u32,
    stream: Stream,
}

impl DelayProcess for NetemDelay {
    fn segment(&mut self, now: Time) -> DelaySegment {
        let NetemDelayParts { config, table, mu, sigma } = &*self.parts;
        // The chance is asked only where the gap is over.
        if percent(config.reorder) > 0
            && self.counter + 1 >= config.gap
            && self.reorder.happens(&mut self.stream)
        {
            self.counter = 0;
            return DelaySegment { delay: Span::ZERO, until: now };
        }
        self.counter = self.counter.saturating_add(1);
        let nanos =
            if *sigma == 0 { *mu } else { table.delay(self.delays.next(&mut self.stream), *mu, *sigma) };
        DelaySegment { delay: Span::from_nanos(nanos.max(0) as u64), until: now }
    }
}
