//! Reservations of flows: checked, and resolved to what a sender keeps. Source: [minrate, §II-A].

use varicap_net::capacity::Timeline;
use varicap_net::{CapacityParts, Nonconformant, PolicingParts};
use varicap_tcp::TcpConfig;
use varicap_units::part::Part;
use varicap_units::{Amount, BucketDepth, Bytes, Rate, Work};

use crate::check::{At, Checked};
use crate::error::{ScenarioError, nearest, one_of};
use crate::resolve::network::{FlowSpec, LinkSpec, ReservationSpec};
use crate::resolve::topology::Routes;
use crate::scenario::reservation::{ReservationConfig, ReservedRate, SOURCE};
use crate::scenario::{App, FlowConfig};

impl ReservationConfig {
    /// Checks it for a sender by itself, whose rate is set by hand.
    pub fn check_sender(&self, tcp: &TcpConfig) -> Result<(), ScenarioError> {
        let at = At::new("reservation");
        let alone = self.marked_at == SOURCE;
        at.require("marked_at", alone, &self.marked_at, "source: there is no link here")?;
        let constant = matches!(self.rate, ReservedRate::Constant(_));
        at.require("rate", constant, "steps", "one rate; others are set with `set_reserved_rate`")?;
        check_terms(&at, self, tcp.packet())?;
        check_sender(&at, &FlowConfig::default(), self)
    }
}

/// Checks what needs no links; a full packet of the flow has `packet` bytes on the wire.
pub(crate) fn check(at: &At, flow: &FlowConfig, packet: Bytes) -> Checked {
    let Some(reservation) = &flow.reservation else { return Ok(()) };
    if let App::Arrivals(_) = flow.app {
        return Err(of_transfers(&at.key("reservation")));
    }
    let at = at.inner("reservation");
    check_terms(&at, reservation, packet)?;
    check_sender(&at, flow, reservation)
}

/// Rates, and a bucket that holds a packet.
fn check_terms(at: &At, reservation: &ReservationConfig, packet: Bytes) -> Checked {
    check_rates(at, reservation)?;
    let most = reservation.rates().iter().max().copied().unwrap_or_default();
    if let Some(peak) = reservation.peak {
        at.require("peak", peak >= most, peak, format!("at least the reserved `rate`, {most}"))?;
    }
    for rate in reservation.rates().iter().filter(|rate| **rate > Rate::ZERO) {
        let depth = reservation.bucket.work(*rate);
        let found = match reservation.bucket {
            BucketDepth::Time(time) => format!("{time} at {rate} = {}", Amount::bdp(*rate, time)),
            BucketDepth::Bytes(bytes) => bytes.to_string(),
        };
        let room = format!("room for at least one packet of {packet}");
        at.require("bucket", depth >= Work::of(packet), found, room)?;
    }
    Ok(())
}

fn check_rates(at: &At, reservation: &ReservationConfig) -> Checked {
    match &reservation.rate {
        ReservedRate::Constant(rate) => at.rate("rate", *rate)?,
        ReservedRate::Steps(steps) => at.inner("rate.steps").part(steps.check())?,
    }
    let unlimited = reservation.rates().iter().any(|rate| rate.is_unlimited());
    at.require("rate", !unlimited, "unlimited", "a finite rate")?;
    let some = reservation.rates().iter().any(|rate| *rate > Rate::ZERO);
    at.require("rate", some, Rate::ZERO, "above 0: without a rate there is no reservation")
}

/// Checks what only a sender of TCP that marks its packets itself can do.
fn check_sender(at: &At, flow: &FlowConfig, reservation: &ReservationConfig) -> Checked {
    let ReservationConfig { timed, delayed, safeguard, marked_at, .. } = reservation;
    let drops = reservation.nonconformant == Nonconformant::Drop;
    let why = "pass: only a link drops what does not conform (`marked_at`)";
    at.require("nonconformant", !drops || marked_at != SOURCE, "drop", why)?;
    let given = [("timed", timed.is_some()), ("delayed", delayed.is_some()), ("safeguard", *safeguard)];
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        let why = "nothing: datagrams have no window to go beyond, and see no loss";
        at.require(key, flow.datagrams.is_none(), "a value", why)?;
        let why = "nothing where a link marks: the sender does not see the tokens";
        at.require(key, marked_at == SOURCE, "a value", why)?;
    }
    if let Some(interval) = timed.as_ref().and_then(|timed| timed.interval) {
        at.inner("timed").positive("interval", interval)?;
    }
    if let Some(longest) = delayed.as_ref().and_then(|delayed| delayed.longest) {
        at.inner("delayed").positive("longest", longest)?;
    }
    Ok(())
}

/// Transfers come and go, and each would bring a reservation of its own.
fn of_transfers(path: &str) -> ScenarioError {
    ScenarioError::at(path, "nothing: transfers that come and go have no lasting reservation")
        .found("a table")
        .hint("reserve for a greedy flow, or one with an on-off application")
}

/// The reservation of a flow whose table lies at `path`, if it has one.
pub(crate) fn resolve(
    path: &str,
    flow: &FlowConfig,
    routes: &Routes,
    links: &[LinkSpec],
) -> Result<Option<ReservationSpec>, ScenarioError> {
    let Some(config) = &flow.reservation else { return Ok(None) };
    let at = At::new(format!("{path}.reservation"));
    let rate = match &config.rate {
        ReservedRate::Constant(rate) => CapacityParts::Constant(*rate),
        ReservedRate::Steps(steps) => {
            let timeline = Timeline::from_config(steps);
            let timeline = timeline.map_err(|fault| at.inner("rate.steps").fault(fault))?;
            CapacityParts::Steps(timeline.into())
        }
    };
    let marked_at = match config.marked_at.as_str() {
        SOURCE => None,
        name => Some(named(&at.key("marked_at"), name, routes, links)?),
    };
    Ok(Some(ReservationSpec { rate, terms: config.terms(), marked_at }))
}

/// Has the links police the flows whose reservations are marked there.
pub(crate) fn police(configs: &[&FlowConfig], flows: &[FlowSpec], links: &mut [LinkSpec]) {
    for (group, (config, flow)) in configs.iter().zip(flows).enumerate() {
        let Some(ReservationSpec { rate, terms, marked_at: Some(link) }) = &flow.reservation else {
            continue;
        };
        links[*link].parts.policing.push(PolicingParts {
            group: group as u16,
            rate: rate.clone(),
            bucket: terms.bucket,
            peak: terms.peak,
            packet: flow.packet,
            nonconformant: config.reservation.as_ref().map(|config| config.nonconformant).unwrap_or_default(),
        });
    }
}

/// The link called `name` on the way to the receiver.
fn named(path: &str, name: &str, routes: &Routes, links: &[LinkSpec]) -> Result<usize, ScenarioError> {
    let mut known = vec![SOURCE];
    known.extend(routes.forward.iter().map(|link| &*links[*link].name));
    if let Some(&link) = routes.forward.iter().find(|link| &*links[**link].name == name) {
        return Ok(link);
    }
    let error = ScenarioError::at(path, one_of(&known)).found(name);
    Err(match nearest(name, known.iter().copied()) {
        _ if links.iter().any(|link| &*link.name == name) => {
            error.hint("the links from the sender to the receiver")
        }
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    })
}

/// Refuses reservations that a link of constant capacity cannot carry: of one flow at any time, of all together where
/// they are constant.
pub(crate) fn check_capacities(flows: &[FlowSpec], links: &[LinkSpec]) -> Checked {
    let mut constant = vec![0u64; links.len()];
    for flow in flows {
        let Some(reservation) = &flow.reservation else { continue };
        let path = crate::scenario::document::join_path(&["flows", &flow.name]);
        if flow.carries_arrivals() {
            return Err(of_transfers(&format!("{path}.reservation"))); // relayed ones: others were refused before
        }
        let (most, is_constant) = match &reservation.rate {
            CapacityParts::Steps(timeline) => {
                (timeline.pieces().map(|(_, rate)| rate).max().unwrap_or_default(), false)
            }
            parts => (parts.mean_rate(), true),
        };
        let wanted = most.as_bps().saturating_mul(u64::from(flow.count));
        for &link in &flow.forward {
            let CapacityParts::Constant(capacity) = links[link].parts.capacity else { continue };
            let all = constant[link].saturating_add(wanted);
            if is_constant {
                constant[link] = all;
            }
            let sum = Rate::from_bps(if is_constant { all } else { wanted });
            if sum <= capacity {
                continue;
            }
            let name = &links[link].name;
            let expected = format!("at most {capacity} on the link `{name}`, all reservations together");
            let found = if sum.as_bps() > wanted { format!("{sum} with this one") } else { sum.to_string() };
            return Err(ScenarioError::at(format!("{path}.reservation.rate"), expected).found(found));
        }
    }
    Ok(())
}
