//! From a topology to directed links between numbered nodes, and the routes of flows over them.

use std::borrow::Cow;
use std::collections::VecDeque;

use varicap_net::{CapacityConfig, DelayConfig, DropTailConfig, HandoverConfig, QueueConfig};
use varicap_units::Amount;

use crate::error::{ScenarioError, nearest, one_of};
use crate::scenario::document::join_path;
use crate::scenario::{FlowConfig, LinkConfig, Scenario, Topology};

/// Most links of a route.
const MOST_HOPS: usize = 250;

/// Links of both directions in the order of the file, and their nodes.
pub(crate) struct Layout<'a> {
    pub nodes: Vec<String>,
    pub links: Vec<Placed<'a>>,
}

/// A link between two nodes.
pub(crate) struct Placed<'a> {
    pub name: String,
    /// Its path in the file.
    pub path: String,
    pub from: usize,
    pub to: usize,
    pub delay: DelayConfig,
    pub handover: Option<HandoverConfig>,
    pub config: Cow<'a, LinkConfig>,
}

/// The links of a flow: from the sender to the receiver, and back.
pub(crate) struct Routes {
    pub forward: Vec<usize>,
    pub reverse: Vec<usize>,
}

impl Scenario {
    /// The links of this scenario, each between its nodes.
    pub(crate) fn layout(&self) -> Result<Layout<'_>, ScenarioError> {
        match &self.topology {
            Topology::Chain(chain) if chain.forward.is_empty() => {
                Err(ScenarioError::at("topology.chain.forward", "at least one link"))
            }
            Topology::Graph(graph) if graph.links.is_empty() => {
                Err(ScenarioError::at("topology.graph.links", "at least one link"))
            }
            Topology::Dumbbell(dumbbell) => {
                let forward =
                    placed("forward", "topology.dumbbell.forward".to_owned(), 0, 1, &dumbbell.forward);
                let path = "topology.dumbbell.reverse".to_owned();
                let reverse = returning("reverse", path, &forward, dumbbell.reverse.as_ref());
                Ok(Layout { nodes: names("left", "right"), links: vec![forward, reverse] })
            }
            Topology::Chain(chain) => {
                let hops = chain.forward.len();
                let reverse = match &chain.reverse {
                    Some(links) if links.len() != hops => {
                        let found = format!("{} links", links.len());
                        let expected = format!("{hops}, as many as `forward`");
                        return Err(ScenarioError::at("topology.chain.reverse", expected).found(found));
                    }
                    reverse => reverse,
                };
                let forward: Vec<Placed<'_>> = (chain.forward.iter().enumerate())
                    .map(|(i, link)| {
                        let path = format!("topology.chain.forward.{i}");
                        placed(&format!("forward.{}", i + 1), path, i, i + 1, link)
                    })
                    .collect();
                let back: Vec<Placed<'_>> = (forward.iter().enumerate())
                    .map(|(i, link)| {
                        let path = format!("topology.chain.reverse.{i}");
                        let own = reverse.as_ref().map(|links| &links[i]);
                        returning(&format!("reverse.{}", i + 1), path, link, own)
                    })
                    .collect();
                let nodes = (0..=hops).map(|i| format!("n{i}")).collect();
                Ok(Layout { nodes, links: forward.into_iter().chain(back).collect() })
            }
            Topology::Graph(graph) => {
                let mut layout = Layout { nodes: Vec::new(), links: Vec::new() };
                for (key, link) in &graph.links {
                    let path = join_path(&["topology", "graph", "links", key]);
                    let from = layout.node(&path, "from", link.from.as_deref())?;
                    let to = layout.node(&path, "to", link.to.as_deref())?;
                    if from == to {
                        let error = ScenarioError::at(format!("{path}.to"), "another node than `from`");
                        return Err(error.found(&layout.nodes[to]));
                    }
                    layout.links.push(placed(key, path, from, to, link));
                }
                Ok(layout)
            }
        }
    }
}

fn names(left: &str, right: &str) -> Vec<String> {
    vec![left.to_owned(), right.to_owned()]
}

/// A route as packets can count it: a byte of theirs has the nodes that are ahead, buffers of sources included.
fn bounded(path: &str, route: Vec<usize>) -> Result<Vec<usize>, ScenarioError> {
    let hops = route.len();
    let too_long = || {
        ScenarioError::at(path, format!("a way of at most {MOST_HOPS} links")).found(format!("{hops} links"))
    };
    if hops > MOST_HOPS { Err(too_long()) } else { Ok(route) }
}

fn placed<'a>(name: &str, path: String, from: usize, to: usize, link: &'a LinkConfig) -> Placed<'a> {
    let name = link.name.as_deref().unwrap_or(name).to_owned();
    let (delay, handover) = (link.delay.clone().unwrap_or_default(), link.handover.clone());
    Placed { name, path, from, to, delay, handover, config: Cow::Borrowed(link) }
}

/// The link against `forward`: its own description, or one that only delays.
fn returning<'a>(name: &str, path: String, forward: &Placed<'a>, own: Option<&'a LinkConfig>) -> Placed<'a> {
    let config = own.map_or_else(|| Cow::Owned(LinkConfig::default()), Cow::Borrowed);
    Placed {
        name: config.name.as_deref().unwrap_or(name).to_owned(),
        path,
        from: forward.to,
        to: forward.from,
        delay: config.delay.clone().unwrap_or_else(|| forward.delay.clone()),
        handover: config.handover.as_ref().or(forward.handover.as_ref()).cloned(),
        config,
    }
}

impl Placed<'_> {
    /// Whether frames take no time at it.
    pub fn is_unlimited(&self) -> bool {
        matches!(self.config.capacity, CapacityConfig::Constant(rate) if rate.is_unlimited())
    }

    /// Its queue, as given or by default.
    pub fn queue(&self) -> QueueConfig {
        let limit = if self.is_unlimited() { Amount::Unlimited } else { Amount::Bdp(1.0) };
        let default = || QueueConfig::DropTail(DropTailConfig { limit, ..DropTailConfig::default() });
        self.config.queue.clone().unwrap_or_else(default)
    }
}

impl Layout<'_> {
    /// The number of the node that a graph's link names; new names are new nodes.
    fn node(&mut self, link: &str, key: &str, name: Option<&str>) -> Result<usize, ScenarioError> {
        let Some(name) = name else {
            return Err(
                ScenarioError::at(format!("{link}.{key}"), "the name of a node").hint("it is missing")
            );
        };
        let known = self.nodes.iter().position(|node| node == name);
        Ok(known.unwrap_or_else(|| {
            self.nodes.push(name.to_owned());
            self.nodes.len() - 1
        }))
    }

    /// The links of a flow, whose table lies at `path`.
    pub fn routes(
        &self,
        scenario: &Scenario,
        path: &str,
        flow: &FlowConfig,
    ) -> Result<Routes, ScenarioError> {
        let graph = matches!(scenario.topology, Topology::Graph(_));
        let dumbbell = matches!(scenario.topology, Topology::Dumbbell(_));
        if !graph && (flow.via.is_some() || flow.via_back.is_some()) {
            let key = if flow.via.is_some() { "via" } else { "via_back" };
            return Err(ScenarioError::at(
                format!("{path}.{key}"),
                "nothing: only a graph leaves a choice of routes",
            ));
        }
        if dumbbell && (flow.from.is_some() || flow.to.is_some()) {
            let key = if flow.from.is_some() { "from" } else { "to" };
            let error = ScenarioError::at(format!("{path}.{key}"), "nothing: a dumbbell has no nodes");
            return Err(error.hint("say `backward = true` for a flow from right to left"));
        }
        if graph && flow.backward {
            let error = ScenarioError::at(format!("{path}.backward"), "false in a graph");
            return Err(error.found("true").hint("say `from` and `to`"));
        }
        let first_via = flow.via.as_ref().and_then(|via| via.first()).and_then(|name| self.link(name));
        let last_via = flow.via.as_ref().and_then(|via| via.last()).and_then(|name| self.link(name));
        let last = self.nodes.len() - 1;
        let (left, right) = if flow.backward { (last, 0) } else { (0, last) };
        let default = |end: usize| (!graph).then_some(end);
        let from = self.end(
            path,
            "from",
            &flow.from,
            first_via.map(|link| self.links[link].from).or(default(left)),
        )?;
        let to =
            self.end(path, "to", &flow.to, last_via.map(|link| self.links[link].to).or(default(right)))?;
        if from == to {
            let error = ScenarioError::at(format!("{path}.to"), "another node than `from`");
            return Err(error.found(&self.nodes[to]));
        }
        let forward = self.route(path, "via", flow.via.as_deref(), from, to)?;
        let reverse = self.route(path, "via_back", flow.via_back.as_deref(), to, from)?;
        Ok(Routes { forward, reverse })
    }

    fn link(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    fn end(
        &self,
        path: &str,
        key: &str,
        name: &Option<String>,
        default: Option<usize>,
    ) -> Result<usize, ScenarioError> {
        let path = format!("{path}.{key}");
        let Some(name) = name else {
            let missing = || ScenarioError::at(path, "the name of a node").hint("it is missing");
            return default.ok_or_else(missing);
        };
        self.nodes.iter().position(|node| node == name).ok_or_else(|| {
            let error = ScenarioError::at(path, one_of(&self.nodes)).found(name);
            match nearest(name, self.nodes.iter().map(String::as_str)) {
                Some(node) => error.hint(format!("did you mean `{node}`?")),
                None => error,
            }
        })
    }

    /// The links from one node to another: those that are named, or the fewest.
    fn route(
        &self,
        path: &str,
        key: &str,
        via: Option<&[String]>,
        from: usize,
        to: usize,
    ) -> Result<Vec<usize>, ScenarioError> {
        let Some(via) = via else {
            let none = || {
                let ends = format!("a way from `{}` to `{}`", self.nodes[from], self.nodes[to]);
                ScenarioError::at(path, ends).found("none")
            };
            return self.fewest(from, to).ok_or_else(none).and_then(|route| bounded(path, route));
        };
        let key = format!("{path}.{key}");
        let mut at = from;
        let mut route = Vec::with_capacity(via.len());
        for (i, name) in via.iter().enumerate() {
            let wrong = |expected: String| ScenarioError::at(format!("{key}.{i}"), expected).found(name);
            let Some(link) = self.link(name) else {
                let names: Vec<&str> = self.links.iter().map(|link| link.name.as_str()).collect();
                return Err(wrong(one_of(&names)));
            };
            if self.links[link].from != at {
                return Err(wrong(format!("a link that begins at `{}`", self.nodes[at])));
            }
            at = self.links[link].to;
            route.push(link);
        }
        if at != to {
            let expected = format!("links that end at `{}`", self.nodes[to]);
            return Err(ScenarioError::at(key, expected).found(format!("an end at {}", self.nodes[at])));
        }
        bounded(path, route)
    }

    /// Breadth-first search; links are tried in the order of the file.
    fn fewest(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut reached_by: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut frontier = VecDeque::from([from]);
        while let Some(node) = frontier.pop_front() {
            if node == to {
                break;
            }
            for (index, link) in self.links.iter().enumerate() {
                if link.from == node && link.to != from && reached_by[link.to].is_none() {
                    reached_by[link.to] = Some(index);
                    frontier.push_back(link.to);
                }
            }
        }
        let mut route = Vec::new();
        let mut at = to;
        while at != from {
            let link = reached_by[at]?;
            route.push(link);
            at = self.links[link].from;
        }
        route.reverse();
        Some(route)
    }
}
