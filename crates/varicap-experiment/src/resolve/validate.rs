//! Checks of scenarios that can be read and make no sense.

use indexmap::IndexMap;
use varicap_net::{CapacityConfig, Framing};
use varicap_tcp::Congestion;
use varicap_tcp::congestion::EcnNeed;
use varicap_units::part::{FASTEST, Part};
use varicap_units::{Bytes, Rate, Span};

use crate::check::{At, Checked};
use crate::error::ScenarioError;
use crate::resolve::parts::{abr, feedback, netem, queue, reactive, relay, reservation};
use crate::resolve::topology::Placed;
use crate::scenario::document::join_path;
use crate::scenario::name::{LONGEST_NAME, in_name};
use crate::scenario::{
    App, DatagramRate, Datagrams, FlowConfig, LinkConfig, QuicCongestion, SCHEMA_VERSION, Scenario, Spacing,
};

/// Largest IP packet [B].
const LARGEST_PACKET: u64 = 65_535;
/// Most flows in a scenario.
const MOST_FLOWS: u64 = 1_000_000;
/// Most links, and most flow groups.
const MOST_PARTS: usize = 10_000;

/// Checks what can be checked without reading traces.
pub(crate) fn check(scenario: &Scenario) -> Checked {
    scenario.check_all().map_err(|error| scenario.source.locate(error))
}

impl Scenario {
    fn check_all(&self) -> Checked {
        let top = At::new("");
        let version = self.schema_version;
        top.require("schema_version", version == SCHEMA_VERSION, version, SCHEMA_VERSION.to_string())?;
        // The name becomes a folder of results: a scenario from a stranger must not choose where that lies.
        let safe = self.name.chars().all(in_name)
            && !self.name.starts_with(['.', ' '])
            && self.name.len() <= LONGEST_NAME;
        let letters = "at most 100 letters, digits, blanks and `-_.+=,`, not beginning with a dot or blank";
        top.require("name", safe, &self.name, letters)?;
        top.positive("duration", self.duration)?;
        let shorter = format!("less than `duration`, {}", self.duration);
        top.require("warmup", self.warmup < self.duration, self.warmup, shorter)?;
        top.require("seeds", (1..=1_000_000).contains(&self.seeds), self.seeds, "1 to 1000000")?;
        let most = i64::MAX as u64;
        top.require("seed", self.seed <= most, self.seed, format!("at most {most}, the largest in TOML"))?;
        At::new("record").positive("sample", self.record.sample)?;
        At::new("tcp").part(self.tcp.check())?;
        self.check_links()?;
        self.check_flows()
    }

    fn check_links(&self) -> Checked {
        let layout = self.layout()?;
        let count = layout.links.len();
        At::new("").require("topology", count <= MOST_PARTS, count, format!("at most {MOST_PARTS} links"))?;
        let graph = matches!(self.topology, crate::scenario::Topology::Graph(_));
        let mut names = std::collections::HashSet::new();
        for link in &layout.links {
            let at = At::new(&link.path);
            check_name(&at, &link.name)?;
            let of_source = link.name.ends_with(abr::ENDING);
            let ending = format!("a name that does not end in `{}`, as those of ABR sources do", abr::ENDING);
            at.require("name", !of_source, &link.name, ending)?;
            let fresh = names.insert(link.name.as_str());
            at.require("name", fresh, &link.name, "a name that no other link has")?;
            if !graph {
                for (key, node) in [("from", &link.config.from), ("to", &link.config.to)] {
                    let found = node.as_deref().unwrap_or_default();
                    at.require(
                        key,
                        node.is_none(),
                        found,
                        "nothing: only in a graph do links name their ends",
                    )?;
                }
            }
            check_link(&at, link, &self.flows)?;
        }
        reactive::check_pools(&layout.links)
    }

    fn check_flows(&self) -> Checked {
        let top = At::new("");
        let groups = self.flows.len();
        top.require("flows", groups > 0, "none", "at least one flow")?;
        top.require("flows", groups <= MOST_PARTS, groups, format!("at most {MOST_PARTS} groups"))?;
        let total: u64 = self.flows.values().map(|flow| u64::from(flow.count)).sum();
        top.require("flows", total <= MOST_FLOWS, total, format!("at most {MOST_FLOWS} flows"))?;
        let layout = self.layout()?;
        for (name, flow) in &self.flows {
            let at = At::new(join_path(&["flows", name]));
            let named = !name.is_empty() && name.len() <= LONGEST_NAME && !name.chars().any(char::is_control);
            top.require(at.path(), named, name.escape_debug(), "a name of 1 to 100 characters")?;
            check_flow(&at, flow, self)?;
            let routes = layout.routes(self, at.path(), flow)?;
            for link in routes.forward.iter().chain(&routes.reverse) {
                queue::check_class_of(&layout.links[*link], name)?;
                netem::check_flow(&at, flow, &layout.links[*link])?;
            }
            relay::check(self, &layout, name, flow)?;
        }
        Ok(())
    }
}

fn check_name(at: &At, name: &str) -> Checked {
    let good = !name.is_empty() && name.len() <= LONGEST_NAME && !name.chars().any(char::is_control);
    at.require("name", good, name.escape_debug(), "a name of 1 to 100 characters")
}

fn check_link(at: &At, link: &Placed<'_>, flows: &IndexMap<String, FlowConfig>) -> Checked {
    let config = &link.config;
    at.inner("delay").part(link.delay.check())?;
    if let Some(handover) = &link.handover {
        let at = at.inner("handover");
        at.part(handover.check())?;
        let keeps = matches!(&config.capacity, CapacityConfig::LoadReactive(config) if !config.pre_emption);
        for (no_outage, why) in [
            (config.arq.is_some(), "with `arq` slots follow one another"),
            (keeps, "without `pre_emption` a load-reactive link keeps what it has"),
        ] {
            if no_outage && handover.outage > Span::ZERO {
                return Err(refused_outage(&at, config, handover.outage, why));
            }
        }
    }
    at.inner("capacity").part(config.capacity.check())?;
    check_framing(&at.inner("framing"), config.framing)?;
    at.inner("loss").part(config.loss.check())?;
    netem::check(at, link)?;
    let queue = link.queue();
    if link.is_unlimited() {
        at.inner("queue").part(queue.check_no_bdp())?;
    }
    queue::check(&at.inner("queue"), &queue, flows)
}

/// An outage that a link cannot have; one that says nothing of handovers has those of its forward link.
fn refused_outage(handover: &At, config: &LinkConfig, outage: Span, why: &str) -> ScenarioError {
    let error = ScenarioError::at(handover.key("outage"), format!("0 s: {why}")).found(outage);
    if config.handover.is_some() {
        return error;
    }
    error.hint("it is that of the forward link: give this link a `handover` of its own")
}

fn check_framing(at: &At, framing: Framing) -> Checked {
    let most = Bytes::new(LARGEST_PACKET);
    at.require("overhead", framing.overhead <= most, framing.overhead, format!("at most {most}"))?;
    let Some(cells) = framing.cells else { return Ok(()) };
    let at = at.inner("cells");
    let good = cells.payload > Bytes::ZERO && cells.payload <= cells.size;
    at.require("payload", good, cells.payload, format!("more than 0 B, and at most `size`, {}", cells.size))?;
    at.require("size", cells.size <= most, cells.size, format!("at most {most}"))
}

fn check_flow(at: &At, flow: &FlowConfig, scenario: &Scenario) -> Checked {
    at.require("count", flow.count > 0, flow.count, "at least 1")?;
    at.bounded("access_delay", flow.access_delay)?;
    let duration = scenario.duration;
    at.require("start", flow.start < duration, flow.start, format!("less than `duration`, {duration}"))?;
    let spread = flow.start_spread;
    at.require("start_spread", spread <= duration, spread, format!("at most `duration`, {duration}"))?;
    if let Some(stop) = flow.stop {
        at.require("stop", stop > flow.start, stop, format!("later than `start`, {}", flow.start))?;
        at.bounded("stop", stop)?;
    }
    if let Some(jitter) = flow.jitter {
        at.bounded("jitter", jitter)?;
    }
    reservation::check(at, flow, flow.packet())?;
    let transports = [flow.datagrams.is_some(), flow.quic.is_some(), flow.endpoint.is_some()];
    let one = transports.into_iter().filter(|is_given| *is_given).count() <= 1;
    at.require("", one, "several", "one of `datagrams`, `quic` and `endpoint`")
        .map_err(|error| ScenarioError { key: at.path().to_owned(), ..error })?;
    match &flow.datagrams {
        _ if flow.quic.is_some() || flow.endpoint.is_some() => check_endpoint(at, flow),
        Some(datagrams) => {
            for key in ["tcp", "app"] {
                let path = [at.path(), key].map(String::from).join(".");
                let keys = crate::scenario::document::split_path(&path);
                let given = scenario.source.given(&keys.iter().map(String::as_str).collect::<Vec<_>>());
                let error = ScenarioError::at(path, "either `datagrams` or TCP with its `app`");
                if given {
                    return Err(error.found("both"));
                }
            }
            for (key, silent) in [("feedback", flow.feedback.is_none()), ("abr", flow.abr.is_none())] {
                at.require(key, silent, "a table", "nothing: datagrams do not answer to anything")?;
            }
            check_datagrams(&at.inner("datagrams"), datagrams)
        }
        None => {
            if let Some(feedback) = &flow.feedback {
                feedback::check(&at.inner("feedback"), feedback, duration)?;
            }
            abr::check(at, flow)?;
            at.inner("app").part(flow.app.check())?;
            feedback::check_heeded(at, flow)?;
            at.inner("tcp").part(flow.tcp.check())
        }
    }
}

/// A flow whose transport is not ours: what only our TCP has is refused, rather than ignored.
fn check_endpoint(at: &At, flow: &FlowConfig) -> Checked {
    let silent = "nothing: only the simulator's TCP has it";
    for (key, is_given) in [
        ("feedback", flow.feedback.is_some()),
        ("abr", flow.abr.is_some()),
        ("reservation", flow.reservation.is_some()),
        ("jitter", flow.jitter.is_some()),
    ] {
        at.require(key, !is_given, "a value", silent)?;
    }
    at.require("app", !matches!(flow.app, App::Relay(_)), "relay", "another one: only TCP relays")?;
    at.inner("app").part(flow.app.check())?;
    let heed = "false: no rate is advertised to this transport";
    at.inner("app").inner(flow.app.name()).require("heed", !flow.app.heeds(), true, heed)?;
    let takes_control = flow.quic.as_ref().is_some_and(|quic| quic.congestion == QuicCongestion::Varicap);
    if takes_control {
        let wants = flow.tcp.congestion.wants();
        let needs = wants.rate_samples || wants.each_mark || wants.ecn != EcnNeed::AsSet;
        let expected = "a control that sets a window alone: quinn gives its controllers neither delivery rates nor the data that was marked";
        let refused = matches!(
            flow.tcp.congestion,
            Congestion::Policy(_)
                | Congestion::Module(_)
                | Congestion::Ratcp(_)
                | Congestion::RateAdaptiveWindow(_)
        );
        at.require("tcp.congestion", !needs && !refused, flow.tcp.congestion.name(), expected)?;
        at.inner("tcp").part(flow.tcp.check())?;
    }
    match (&flow.quic, &flow.endpoint) {
        (Some(quic), _) => at.inner("quic").part(quic.check()),
        (_, Some(endpoint)) => at.inner("endpoint").part(endpoint.check()),
        _ => Ok(()),
    }
}

fn check_datagrams(at: &At, datagrams: &Datagrams) -> Checked {
    match &datagrams.rate {
        DatagramRate::Constant(rate) => {
            let good = *rate > Rate::ZERO && *rate <= FASTEST;
            at.require("rate", good, rate, format!("above 0, and at most {FASTEST}"))?;
        }
        DatagramRate::RealTime(camera) => {
            at.inner("rate").inner("real-time").part(camera.check())?;
            let expected = "false: no rate is advertised to datagrams";
            at.require("rate.real-time.heed", !camera.heed, true, expected)?;
            let is_even = datagrams.spacing == Spacing::Constant;
            let expected = "constant: the datagrams of a frame are spaced evenly";
            at.require("spacing", is_even, "poisson", expected)?;
        }
    }
    check_packet(at, "size", datagrams.size)
}

fn check_packet(at: &At, key: &str, size: Bytes) -> Checked {
    let good = (1..=LARGEST_PACKET).contains(&size.as_u64());
    at.require(key, good, size, format!("1 B to {LARGEST_PACKET} B"))
}
