//! What makes no sense in a load-reactive capacity.

use indexmap::IndexMap;
use varicap_net::{
    CapacityConfig, LoadReactiveConfig, OccupancyConfig, ReactiveControlConfig, ResidualConfig, Step,
    Thresholds,
};
use varicap_units::{Amount, Probability, Rate, Span};

use crate::resolve::topology::Placed;
use crate::resolve::validate::{At, Checked, check_capacity, check_rate};

/// Shortest time between samples: shorter ones are more than the packets of any link.
const SHORTEST: Span = Span::from_nanos(1_000);

/// Checks the capacity whose table lies at `at`.
pub(crate) fn check(at: &At, reactive: &LoadReactiveConfig) -> Checked {
    check_rate(at, "minimum", reactive.minimum)?;
    let finite = !reactive.minimum.is_unlimited();
    at.require("minimum", finite, reactive.minimum, "a rate: what is unlimited cannot answer the load")?;
    check_residual(at, reactive)?;
    let interval = reactive.interval;
    at.require("interval", interval >= SHORTEST, interval, format!("at least {SHORTEST}"))?;
    at.bounded("interval", interval)?;
    at.bounded("phase", reactive.phase)?;
    if let Some(buffer) = reactive.buffer {
        at.positive("buffer", buffer)?;
    }
    if let OccupancyConfig::Smoothed(smoothed) = reactive.occupancy {
        check_weight(&at.inner("occupancy.smoothed"), smoothed.weight)?;
    }
    check_control(&at.inner("control"), &reactive.control)
}

/// The links of a pool agree on what they share, and it holds all their minimums.
pub(crate) fn check_pools(links: &[Placed<'_>]) -> Checked {
    let mut pools: IndexMap<&str, (&LoadReactiveConfig, u64)> = IndexMap::new();
    for link in links {
        let CapacityConfig::LoadReactive(config) = &link.config.capacity else { continue };
        let Some(name) = &config.pool else { continue };
        let at = At::new(format!("{}.capacity.load-reactive", link.path));
        at.require("pool", !name.is_empty(), "an empty name", "a name")?;
        let path = matches!(
            config.residual,
            ResidualConfig::Constant(_) | ResidualConfig::Steps(_) | ResidualConfig::Trace(_)
        );
        at.require(
            "residual",
            path,
            "a random capacity",
            "a rate, steps or a trace: what a pool shares is one",
        )?;
        let (first, minimums) = pools.entry(name).or_insert((config, 0));
        let same = format!("as on the first link of the pool `{name}`");
        at.require("residual", config.residual == first.residual, "another capacity", same.clone())?;
        at.require("interval", config.interval == first.interval, config.interval, same.clone())?;
        at.require("phase", config.phase == first.phase, config.phase, same)?;
        *minimums = minimums.saturating_add(config.minimum.as_bps());
        if let ResidualConfig::Constant(residual) = config.residual {
            let sum = Rate::from_bps(*minimums);
            let most = format!("minimums of the pool `{name}` of at most {residual} together");
            at.require("minimum", sum <= residual, sum, most)?;
        }
    }
    Ok(())
}

/// The residual leaves room for the minimum.
fn check_residual(at: &At, reactive: &LoadReactiveConfig) -> Checked {
    let LoadReactiveConfig { minimum, initial, residual, .. } = reactive;
    check_capacity(at, "residual", &residual.as_capacity())?;
    if let Some(initial) = initial {
        check_rate(at, "initial", *initial)?;
        at.require("initial", initial >= minimum, initial, format!("at least `minimum`, {minimum}"))?;
    }
    // A residual that varies may well fall below the minimum: then pre-emption decides.
    if let ResidualConfig::Constant(residual) = residual {
        let most = format!("at most `residual`, {residual}");
        at.require("minimum", minimum <= residual, minimum, most.clone())?;
        at.require("initial", initial.is_none_or(|initial| initial <= *residual), show(*initial), most)?;
    }
    Ok(())
}

fn show(rate: Option<Rate>) -> String {
    rate.map(|rate| rate.to_string()).unwrap_or_default()
}

fn check_control(at: &At, control: &ReactiveControlConfig) -> Checked {
    match control {
        ReactiveControlConfig::Hysteresis(control) => {
            let at = at.inner("hysteresis");
            check_thresholds(&at, &Thresholds { low: control.low, high: control.high })?;
            if let Some(also) = &control.also {
                check_thresholds(&at.inner("also"), also)?;
            }
            check_step(&at, "increment", control.increment)?;
            check_step(&at, "decrement", control.decrement)
        }
        ReactiveControlConfig::MovingAverage(control) => {
            let at = at.inner("moving-average");
            check_threshold(&at, "threshold", control.threshold)?;
            check_weight(&at, control.weight)?;
            check_step(&at, "increment", control.increment)?;
            check_step(&at, "decrement", control.decrement)
        }
        ReactiveControlConfig::Pi(control) => {
            let at = at.inner("pi");
            check_threshold(&at, "target", control.target)?;
            for (key, gain) in [("proportional", control.proportional), ("integral", control.integral)] {
                at.require(key, (0.0..=1e9).contains(&gain), gain, "0 to 1e9")?;
            }
            let moves = control.proportional > 0.0 || control.integral > 0.0;
            at.require("integral", moves, control.integral, "above 0 where `proportional` is 0")
        }
        ReactiveControlConfig::TargetDelay(control) => {
            let at = at.inner("target-delay");
            at.positive("target", control.target)?;
            at.positive("horizon", control.horizon)?;
            check_weight(&at, control.weight)
        }
        ReactiveControlConfig::Custom(name) => {
            at.require("custom", !name.is_empty(), "an empty name", "the name of a policy")
        }
    }
}

fn check_thresholds(at: &At, thresholds: &Thresholds) -> Checked {
    let Thresholds { low, high } = *thresholds;
    check_threshold(at, "low", low)?;
    check_threshold(at, "high", high)?;
    let (good, expected) = match (low, high) {
        (Amount::Packets(low), Amount::Packets(most)) => (low <= most, format!("at most `high`, {high}")),
        (Amount::Bytes(low), Amount::Bytes(most)) => (low <= most, format!("at most `high`, {high}")),
        _ => (false, format!("in the unit of `high`, {high}; a second pair of thresholds goes into `also`")),
    };
    at.require("low", good, low, expected)
}

/// Zero is a threshold that nothing is below.
fn check_threshold(at: &At, key: &str, threshold: Amount) -> Checked {
    let good = match threshold {
        Amount::Bytes(bytes) => bytes.as_u64() < 1 << 60,
        Amount::Packets(packets) => packets <= u64::from(u32::MAX),
        Amount::Bdp(_) | Amount::Unlimited => false,
    };
    at.require(key, good, threshold, "an amount in bytes or packets")
}

fn check_weight(at: &At, weight: Probability) -> Checked {
    at.require("weight", weight.get() > 0.0, weight, "above 0: with no weight the average never moves")
}

fn check_step(at: &At, key: &str, step: Step) -> Checked {
    match step {
        Step::By(rate) => {
            let good = rate > Rate::ZERO && !rate.is_unlimited();
            at.require(key, good, rate, "a rate above 0: without a step the capacity never moves")?;
            check_rate(at, key, rate)
        }
        Step::Proportional(step) => {
            let at = at.inner(key).inner("proportional");
            let moves = step.share.get() > 0.0 || step.least > Rate::ZERO;
            at.require("share", moves, step.share, "above 0 where `least` is 0")?;
            let good = !step.least.is_unlimited();
            at.require("least", good, step.least, "a rate")?;
            check_rate(&at, "least", step.least)
        }
    }
}
