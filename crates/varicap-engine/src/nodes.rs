//! The nodes of a run, everything that is woken at certain instants, and their numbers.

use varicap_experiment::Network;
use varicap_units::Span;

/// The number of a node. At the same instant, nodes with lower numbers are polled first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// Node number `number`, for lists that are indexed by nodes.
    #[inline(always)]
    pub const fn numbered(number: u32) -> NodeId {
        NodeId(number)
    }

    /// Its number.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Its number, as an index.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The link with this number in the network.
    Link(usize),
    /// A private wire of a flow group.
    Wire(usize),
    /// Something that acts by itself, such as a stream of datagrams; the engine assigns its number.
    Source(usize),
    /// The timers of the connection in this slot.
    Connection(u32),
    /// The answer of that connection to acknowledgements, which its processing jitter holds back.
    Answer(u32),
}

/// The layout of the numbers: links, wires, sources, and then two for each of any number of connections. A departure from
/// a link is therefore handled before a timer that expires at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    first_wire: u32,
    first_source: u32,
    first_connection: u32,
}

impl Nodes {
    /// The nodes of `network` with `sources` sources.
    pub fn new(network: &Network, sources: usize) -> Nodes {
        let wired = network.flows.iter().filter(|flow| flow.access_delay > Span::ZERO).count();
        Nodes::laid_out(network.links.len(), 2 * wired, sources)
    }

    fn laid_out(links: usize, wires: usize, sources: usize) -> Nodes {
        Nodes {
            first_wire: links as u32,
            first_source: (links + wires) as u32,
            first_connection: (links + wires + sources) as u32,
        }
    }

    /// Link number `link`.
    #[inline(always)]
    pub fn link(&self, link: usize) -> NodeId {
        debug_assert!(link < self.first_wire as usize, "there is no link {link}");
        NodeId(link as u32)
    }

    /// Wire number `wire`.
    pub fn wire(&self, wire: usize) -> NodeId {
        debug_assert!(
            wire < self.first_source as usize - self.first_wire as usize,
            "there is no wire {wire}"
        );
        NodeId(self.first_wire + wire as u32)
    }

    /// Source number `source`.
    pub fn source(&self, source: usize) -> NodeId {
        let sources = self.first_connection - self.first_source;
        debug_assert!(source < sources as usize, "there is no source {source}");
        NodeId(self.first_source + source as u32)
    }

    /// The connection in `slot`.
    #[inline(always)]
    pub fn connection(&self, slot: u32) -> NodeId {
        NodeId(self.first_connection + 2 * slot)
    }

    /// The answer that the connection in `slot` holds back.
    #[inline(always)]
    pub fn answer(&self, slot: u32) -> NodeId {
        NodeId(self.first_connection + 2 * slot + 1)
    }

    /// The number of nodes that are not connections.
    pub fn fixed(&self) -> usize {
        self.first_connection as usize
    }

    /// The kind of node that a number stands for.
    #[inline(always)]
    pub fn of(&self, node: NodeId) -> Node {
        let NodeId(number) = node;
        if number < self.first_wire {
            Node::Link(number as usize)
        } else if number >= self.first_connection {
            let number = number - self.first_connection;
            if number.is_multiple_of(2) { Node::Connection(number / 2) } else { Node::Answer(number / 2) }
        } else if number < self.first_source {
            Node::Wire((number - self.first_wire) as usize)
        } else {
            Node::Source((number - self.first_source) as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_what_its_number_was_made_for() {
        let nodes = Nodes::laid_out(3, 2, 4);
        assert_eq!((0..3).map(|n| nodes.of(nodes.link(n))).collect::<Vec<_>>(), [0, 1, 2].map(Node::Link));
        assert_eq!((0..2).map(|n| nodes.of(nodes.wire(n))).collect::<Vec<_>>(), [0, 1].map(Node::Wire));
        assert_eq!(
            (0..4).map(|n| nodes.of(nodes.source(n))).collect::<Vec<_>>(),
            [0, 1, 2, 3].map(Node::Source)
        );
        assert_eq!(nodes.of(nodes.connection(7)), Node::Connection(7));
        assert_eq!(nodes.of(nodes.answer(7)), Node::Answer(7));
        assert!(nodes.connection(7) < nodes.answer(7) && nodes.answer(7) < nodes.connection(8));
        assert_eq!((nodes.fixed(), nodes.connection(0).number()), (9, 9));
    }
}
