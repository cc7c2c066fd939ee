//! Prefetching: the connections where the packets under way end, and those whose timers are due, begin to be loaded.

use varicap_engine::Node;

use super::World;
use crate::prefetch;

/// More connections than this are a crowd: all of them do not fit into a cache.
const CROWD: usize = 512;

impl World {
    /// Whether there are more connections than a cache holds.
    pub(super) fn is_crowd(&self) -> bool {
        self.connections.len() > CROWD
    }

    /// Begins to load what the packets need that come out of link `link` soon: where they are, a connection, what that points
    /// to, and so on.
    #[inline(never)]
    pub(super) fn prefetch(&self, link: usize) {
        self.net.prefetch_packet(link, 28);
        let Some(packet) = self.net.coming(link, 12) else { return };
        self.net.prefetch(&packet);
        if !self.is_crowd() {
            return;
        }
        if let Some(connection) = self.connections.get(packet.owner() as usize) {
            connection.prefetch(packet.is_reverse());
        }
        if let Some(packet) = self.net.coming(link, 7)
            && let Some(connection) = self.connections.get(packet.owner() as usize)
        {
            self.observer.prefetch(connection);
            connection.prefetch_aside(packet.is_reverse());
        }
        if let Some(packet) = self.net.coming(link, 3)
            && packet.is_reverse()
            && let Some(connection) = self.connections.get(packet.owner() as usize)
        {
            self.observer.prefetch_round_trips(connection);
            connection.sender.far().into_iter().for_each(prefetch::load_place);
        }
    }

    /// Begins to load the connection whose timer is next.
    #[inline(never)]
    pub(super) fn prefetch_timer(&self) {
        if let Some(node) = self.net.queue.next_timers().next()
            && let Node::Connection(owner) | Node::Answer(owner) = self.net.nodes().of(node)
            && let Some(connection) = self.connections.get(owner as usize)
        {
            connection.prefetch(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use varicap_experiment::{Network, Scenario};
    use varicap_units::{Span, Streams, Time};

    use super::*;
    use crate::options::Options;

    /// A crowd on two links that plan their departures, as they do without `more`, or on links that cannot; among it
    /// transfers that reuse slots, and datagrams.
    fn network(more: &str) -> Network {
        let link = format!(
            "{{ capacity = '400 Mb/s', delay = '5 ms'{more}, \
             queue = {{ drop-tail = {{ limit = '400 packets' }} }} }}"
        );
        let toml = format!(
            "duration = '200 ms'\ntcp.stack = 'rfc'\ntopology.chain.forward = [{link}, {link}]\n\
             [flows.a]\ncount = 600\nstart_spread = '20 ms'\n\
             [flows.b]\nfrom = 'n1'\napp = {{ arrivals = {{ rate = '2000 /s', size = {{ fixed = '6 kB' }} }} }}\n\
             [flows.c]\ncount = 5\ndatagrams = {{ rate = '4 Mb/s', size = '300 B' }}\n"
        );
        let scenario = Scenario::from_toml(&toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        scenario.networks(&mut |name| Err(format!("no file {name} in a test"))).unwrap().remove(0)
    }

    /// The measurements, how many packets left the links, and how much was loaded early.
    fn outcome(network: &Network, prefetches: bool) -> (String, u64, u64) {
        let mut world = World::new(network, Streams::new(1, 0), None, None, &Options::default());
        let before = prefetch::LOADS.get();
        world.begin_measuring(Time::ZERO);
        for millisecond in 1..=200 {
            world.prefetches = prefetches; // which it decides anew every so many events
            assert!(world.run_until(Time::ZERO + Span::from_millis(millisecond), &mut |_| true));
        }
        assert!(world.is_crowd());
        let measured = world.finish(Time::ZERO + network.duration);
        let carried = measured.links.iter().map(|link| link.done.carried_frames).sum();
        (format!("{:?} {:?}", measured.links, measured.flows), carried, prefetch::LOADS.get() - before)
    }

    #[test]
    fn what_comes_out_of_any_link_is_loaded_early_and_changes_nothing() {
        for more in ["", ", loss = { bernoulli = 0.001 }"] {
            let network = network(more);
            let (with, carried, loads) = outcome(&network, true);
            assert!(loads > 2 * carried, "{loads} loads for {carried} packets{more}");
            let (without, _, fewer) = outcome(&network, false);
            assert!(fewer < loads / 4, "{fewer} of {loads} loads{more}");
            assert_eq!(with, without, "{more}");
        }
    }
}
