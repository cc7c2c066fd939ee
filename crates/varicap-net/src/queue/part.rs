//! The rest of a scenario's view of a queue's configuration.

use varicap_units::part::{Checked, Fault, Part};
use varicap_units::{Amount, Bytes, Rate};

use super::limit::{holds_a_packet, in_bytes};
use super::{DropTailConfig, QueueConfig};

/// A queue's configuration. Keys are relative to its own table.
pub trait QueuePart: Part {
    /// The most that it may hold; unlimited if only the queues inside it have limits.
    fn limit(&self) -> Amount;

    /// Its further amounts, by their keys.
    fn amounts(&self) -> Vec<(&'static str, Amount)> {
        Vec::new()
    }

    /// The flows that it names, by the keys that name them.
    fn flows(&self) -> Vec<(String, &str)> {
        Vec::new()
    }

    /// The queues inside it, by their keys.
    fn inside(&self) -> Vec<(String, &QueueConfig)> {
        Vec::new()
    }

    /// The name of what is supplied from outside, if it is.
    fn supplied(&self) -> Option<&str> {
        None
    }

    /// Whether it may be the queue of a class.
    fn may_be_inside(&self) -> bool {
        true
    }

    /// The rate that it enforces, if it is there to enforce one.
    fn policy(&self) -> Option<Rate> {
        None
    }

    /// Whether nothing in it is left to chance.
    fn is_regular(&self) -> bool {
        true
    }

    /// Whether its amounts go together for packets of `packet` and a path of `bdp` bytes [B].
    fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        holds_a_packet("limit", self.limit(), packet, bdp)
    }

    /// A description of its limits for a reader, after its name.
    fn describe(&self, packet: Bytes, bdp: Bytes) -> String {
        match self.limit() {
            limit @ Amount::Bdp(_) => format!(", {}", in_bytes(limit, packet, bdp)),
            limit => format!(", {limit}"),
        }
    }
}

impl QueueConfig {
    /// The most that it may hold; classes have limits of their own.
    pub fn limit(&self) -> Amount {
        self.part().limit()
    }

    /// The bytes that it and the queues inside it may hold, for packets of `packet` and a path of `bdp` bytes [B].
    pub fn room(&self, packet: Bytes, bdp: Bytes) -> Bytes {
        let inside = self.part().inside();
        if inside.is_empty() {
            return self.limit().bytes(packet, bdp);
        }
        let rooms = inside.iter().map(|(_, queue)| queue.room(packet, bdp));
        rooms.fold(Bytes::ZERO, Bytes::saturating_add)
    }

    /// Whether nothing at it is left to chance: then packets of several flows may arrive in the same order indefinitely.
    /// Classes shield each other from chance.
    pub fn is_regular(&self) -> bool {
        let inside = self.part().inside();
        self.part().is_regular() && (inside.is_empty() || inside.iter().any(|(_, queue)| queue.is_regular()))
    }

    /// The names of what is supplied from outside to it and the queues inside it.
    pub fn supplied(&self) -> Vec<&str> {
        let inside = self.part().inside().into_iter().flat_map(|(_, queue)| queue.supplied());
        self.part().supplied().into_iter().chain(inside).collect()
    }

    /// The rate that it enforces, if it is there to enforce one.
    pub fn policy(&self) -> Option<Rate> {
        self.part().policy()
    }

    /// Whether it may be the queue of a class.
    pub fn may_be_inside(&self) -> bool {
        self.part().may_be_inside()
    }

    /// The flows that it and the queues inside it name, by the keys that name them; keys begin with its own name.
    pub fn flows(&self) -> Vec<(String, &str)> {
        let below = |key: &str| format!("{}.{key}", self.name());
        let own = self.part().flows().into_iter().map(|(key, flow)| (below(&key), flow));
        let inner = self.part().inside().into_iter().flat_map(|(key, queue)| {
            let flows = queue.flows().into_iter();
            flows.map(move |(inner, flow)| (format!("{key}.{inner}"), flow)).collect::<Vec<_>>()
        });
        own.chain(inner.map(|(key, flow)| (below(&key), flow))).collect()
    }

    /// Whether it makes sense where the capacity is unlimited: there is no BDP to measure an amount in.
    pub fn check_no_bdp(&self) -> Checked {
        let part = self.part();
        let mut amounts = vec![("limit", part.limit())];
        amounts.extend(part.amounts());
        let bdp = amounts.into_iter().find(|(_, amount)| matches!(amount, Amount::Bdp(_)));
        let own = bdp.map_or(Ok(()), |(key, amount)| {
            let expected = "an amount in packets or bytes: at unlimited capacity there is no bdp";
            Err(Fault::new(key, amount, expected))
        });
        let inside = || part.inside().iter().try_for_each(|(key, queue)| below(key, queue.check_no_bdp()));
        below(self.name(), own.and_then(|()| inside()))
    }

    /// Whether its amounts go together for packets of `packet` and a path of `bdp` bytes [B].
    pub fn fits(&self, packet: Bytes, bdp: Bytes) -> Checked {
        below(self.name(), self.part().fits(packet, bdp))
    }

    /// Its name and its limits, for a reader.
    pub fn describe(&self, packet: Bytes, bdp: Bytes) -> String {
        format!("{}{}", self.name(), self.part().describe(packet, bdp))
    }
}

/// The outcome of a check as seen from the table that holds `key`.
pub(super) fn below(key: &str, checked: Checked) -> Checked {
    checked.map_err(|fault| fault.within(key))
}

impl Default for QueueConfig {
    fn default() -> QueueConfig {
        QueueConfig::DropTail(DropTailConfig::default())
    }
}
