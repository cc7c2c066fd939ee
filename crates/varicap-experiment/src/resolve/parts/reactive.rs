//! Load-reactive links that share a capacity: whether they agree.

use indexmap::IndexMap;
use varicap_net::{CapacityConfig, HandoverConfig, LoadReactiveConfig, ResidualConfig};
use varicap_units::Rate;

use crate::check::{At, Checked};
use crate::resolve::topology::Placed;

/// The links of a pool agree on what they share, and it holds all their minimums.
pub(crate) fn check_pools(links: &[Placed<'_>]) -> Checked {
    let mut pools: IndexMap<&str, (&LoadReactiveConfig, Option<&HandoverConfig>, u64)> = IndexMap::new();
    for link in links {
        let CapacityConfig::LoadReactive(config) = &link.config.capacity else { continue };
        let Some(name) = &config.pool else { continue };
        let at = At::new(format!("{}.capacity.load-reactive", link.path));
        at.require("pool", !name.is_empty(), "an empty name", "a name")?;
        let one = "a rate, steps or a trace: what a pool shares is one";
        at.require("residual", !config.residual.is_random(), "a random capacity", one)?;
        let handover = link.handover.as_ref();
        let (first, first_handover, minimums) = pools.entry(name).or_insert((config, handover, 0));
        let same = format!("as on the first link of the pool `{name}`");
        at.require("residual", config.residual == first.residual, "another capacity", same.clone())?;
        at.require("interval", config.interval == first.interval, config.interval, same.clone())?;
        at.require("phase", config.phase == first.phase, config.phase, same.clone())?;
        // Outages interrupt the residual, of which a pool has one.
        let at_link = At::new(link.path.clone());
        at_link.require("handover", handover == *first_handover, "another table", same)?;
        *minimums = minimums.saturating_add(config.minimum.as_bps());
        if let ResidualConfig::Constant(residual) = config.residual {
            let sum = Rate::from_bps(*minimums);
            let most = format!("minimums of the pool `{name}` of at most {residual} together");
            at.require("minimum", sum <= residual, sum, most)?;
        }
    }
    Ok(())
}
