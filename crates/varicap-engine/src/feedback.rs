//! What links advertise to senders: the rates that they may send at.
//!
//! ```text
//! link (capacity, flows) ──► share ──► estimator ──► delay line ──► sources of a flow group ──► their rates
//! ```
//!
//! It observes the links that advertise a rate: it is polled when one of their capacities changes, when a flow comes or
//! goes, when an estimator has a rate, and when a rate reaches its senders. It only observes: packets and links are the
//! same with it and without it, apart from what senders make of it. Whoever sets the rate of a link from outside
//! ([`varicap_net::Link::set_rate`]) must poll it as well.

use std::collections::VecDeque;

use varicap_experiment::scenario::Share;
use varicap_experiment::{FeedbackSpec, FlowSpec, Network, Transport};
use varicap_net::feedback::{KnownRtt, RateSource, Scale};
use varicap_net::{Estimator, RateFeedback};
use varicap_units::{Bytes, Rate, Stream, Streams, Time, Work, stream_name};

use crate::links::Links;

/// The round trips that a connection has measured, by its number.
pub type Rtts<'a> = dyn Fn(u32) -> Option<KnownRtt> + 'a;

/// Datagrams on a link: each source has a rate that it does not exceed.
#[derive(Clone, Copy, Debug)]
struct Demand {
    /// The rate of one source, as framed on this link.
    rate: Rate,
    sources: u64,
    start: Time,
    stop: Time,
}

/// A link that advertises its rate.
#[derive(Debug)]
struct Teller {
    link: usize,
    /// Flow groups of TCP that send data over it.
    groups: Vec<usize>,
    /// Datagrams on the link, lowest rates first.
    demands: Vec<Demand>,
    capacity: Rate,
    /// What one flow gets of the capacity.
    fair: Rate,
    /// What the opportunities so far could have carried, and the newest of them, on a link that has opportunities.
    passed: Work,
    fresh: Work,
}

impl Teller {
    fn new(network: &Network, link: usize) -> Teller {
        let passing = |(_, flow): &(usize, &FlowSpec)| flow.forward.contains(&link);
        let mut teller = Teller {
            link,
            groups: Vec::new(),
            demands: Vec::new(),
            capacity: Rate::ZERO,
            fair: Rate::ZERO,
            passed: Work::ZERO,
            fresh: Work::ZERO,
        };
        for (group, flow) in network.flows.iter().enumerate().filter(passing) {
            let Transport::Datagrams(datagrams) = &flow.transport else {
                teller.groups.push(group);
                continue;
            };
            let framed = network.links[link].parts.framing.framed(datagrams.size);
            let rate = scaled(datagrams.rate, framed, datagrams.size);
            let (start, stop) = (flow.start, flow.stop);
            teller.demands.push(Demand { rate, sources: u64::from(flow.count), start, stop });
        }
        teller.demands.sort_by_key(|demand| demand.rate);
        teller
    }

    /// Takes note of the link as it is at `now`.
    fn look(&mut self, now: Time, links: &mut impl Links, active: &[u64]) {
        links.advance_link(now, self.link);
        self.capacity = links.rate(self.link);
        if let Some(passed) = links.opportunities(self.link) {
            self.fresh = passed - self.passed;
            self.passed = passed;
        }
        self.share_out(now, active);
    }

    /// Max-min: each source of datagrams gets at most its rate, and the flows share the rest. If no flow is active,
    /// what a single one would get.
    fn share_out(&mut self, now: Time, active: &[u64]) {
        if self.capacity.is_unlimited() {
            self.fair = self.capacity;
            return;
        }
        let flows = self.groups.iter().map(|group| active[*group]).sum::<u64>().max(1);
        let present = |demand: &&Demand| demand.start <= now && now < demand.stop;
        let mut users: u64 =
            self.demands.iter().filter(present).map(|demand| demand.sources).sum::<u64>() + flows;
        let mut left = self.capacity.as_bps();
        for demand in self.demands.iter().filter(present) {
            let rate = demand.rate.as_bps();
            if rate > left / users {
                break;
            }
            left -= rate * demand.sources;
            users -= demand.sources;
        }
        self.fair = Rate::from_bps(left / users);
    }

    /// When datagrams begin or end next.
    fn poll_at(&self, now: Time) -> Time {
        let ends = self.demands.iter().flat_map(|demand| [demand.start, demand.stop]);
        ends.filter(|end| *end > now).min().unwrap_or(Time::NEVER)
    }
}

/// What one link advertises to a flow group.
#[derive(Debug)]
struct Told {
    /// Index of the link among those that advertise.
    teller: usize,
    estimator: Estimator,
    /// The last rate; unlimited before the first.
    rate: Rate,
    /// A full packet of the group, and what it takes on the link.
    packet: Bytes,
    framed: Bytes,
}

impl Told {
    /// The flow's part of an opportunity of `work`, if it has `part` of the link's `mean`; without framing.
    fn work(&self, work: Work, part: Rate, mean: Rate) -> Work {
        let ratio = |work: u128, part: u64, whole: u64| work * u128::from(part) / u128::from(whole.max(1));
        let nanobits = ratio(work.as_nanobits(), part.as_bps(), mean.as_bps());
        Work::from_nanobits(ratio(nanobits, self.packet.as_u64(), self.framed.as_u64()))
    }
}

/// A rate on its way to senders.
#[derive(Clone, Copy, Debug)]
struct Update {
    due: Time,
    rate: Rate,
    /// The only connection that hears it, since that has just been opened; else all hear it that were there when it was
    /// sent.
    newcomer: Option<u32>,
}

/// A connection to which rates are advertised.
#[derive(Debug)]
struct Listener {
    connection: u32,
    opened: Time,
    /// When the last update came to the connection.
    heard: Time,
    /// Decides which updates are lost.
    losses: Option<Stream>,
    /// What the connection makes of what it hears.
    source: RateSource,
}

/// What is advertised to a flow group, and by which links.
#[derive(Debug)]
struct Channel {
    spec: FeedbackSpec,
    told: Vec<Told>,
    /// The rate that was sent last.
    rate: Option<Rate>,
    /// Rates under way, in the order in which they arrive.
    line: VecDeque<Update>,
    listeners: Vec<Listener>,
    /// The rate source that a new listener starts with.
    source: RateSource,
    newcomers: Vec<u32>,
}

impl Channel {
    fn new(network: &Network, flow: &FlowSpec, spec: &FeedbackSpec, tellers: &[Teller]) -> Channel {
        let scale = Scale { rtt: network.base_rtt(flow), packet: flow.packet };
        let told = spec.links.iter().filter_map(|link| {
            let teller = tellers.iter().position(|teller| teller.link == *link)?;
            let framed = network.links[*link].parts.framing.framed(flow.packet);
            let estimator = Estimator::new(&spec.estimator, scale, Time::ZERO, Rate::ZERO);
            Some(Told { teller, estimator, rate: Rate::UNLIMITED, packet: flow.packet, framed })
        });
        Channel {
            told: told.collect(),
            spec: spec.clone(),
            rate: None,
            line: VecDeque::new(),
            listeners: Vec::new(),
            source: RateSource::new(&spec.estimator, flow.abr.as_ref().map(|abr| &abr.config), scale),
            newcomers: Vec::new(),
        }
    }

    /// Feeds the estimators and sends what they advertise on its way.
    fn observe(&mut self, now: Time, tellers: &[Teller], links: &impl Links) {
        let mut is_fresh = false;
        for told in &mut self.told {
            let teller = &tellers[told.teller];
            let part = if self.spec.share == Share::Fair { teller.fair } else { teller.capacity };
            match links.opportunities(teller.link) {
                None => {
                    let backlog = links.backlog(teller.link);
                    told.estimator.observe(now, scaled(part, told.packet, told.framed), backlog);
                }
                Some(_) => told.estimator.pass(now, told.work(teller.fresh, part, teller.capacity)),
            }
            while let Some(rate) = told.estimator.advertise(now) {
                told.rate = rate;
                is_fresh = true;
            }
        }
        if is_fresh {
            let rate = self.least();
            // What comes by an interval comes even if it says the same.
            if self.rate.replace(rate) != Some(rate) || self.spec.estimator.interval().is_some() {
                self.newcomers.clear();
                self.send(now, rate, None);
            }
        }
        if let Some(rate) = self.rate.filter(|_| self.spec.estimator.interval().is_none()) {
            for newcomer in std::mem::take(&mut self.newcomers) {
                self.send(now, rate, Some(newcomer));
            }
        }
        self.newcomers.clear();
    }

    /// The least of the links' rates, as it is advertised.
    fn least(&self) -> Rate {
        let least = self.told.iter().map(|told| told.rate).min().unwrap_or(Rate::UNLIMITED);
        match self.spec.quantum.map(Rate::as_bps) {
            Some(quantum) if !least.is_unlimited() => Rate::from_bps(least.as_bps() / quantum * quantum),
            _ => least,
        }
    }

    fn send(&mut self, now: Time, rate: Rate, newcomer: Option<u32>) {
        if !self.listeners.is_empty() {
            debug_assert!(self.line.back().is_none_or(|last| last.due <= now + self.spec.delay));
            self.line.push_back(Update { due: now + self.spec.delay, rate, newcomer });
        }
    }

    /// Gives the rates that follow from what has arrived by `now`, each with the connection that heard it.
    fn deliver(&mut self, now: Time, rtt: &Rtts<'_>, hear: &mut dyn FnMut(u32, Rate)) {
        while let Some(&update) = self.line.front().filter(|update| update.due <= now) {
            self.line.pop_front();
            for listener in &mut self.listeners {
                let meant = match update.newcomer {
                    Some(newcomer) => newcomer == listener.connection,
                    None => listener.opened + self.spec.delay <= update.due,
                };
                let loss = self.spec.loss.get();
                if !meant {
                    continue;
                }
                if !listener.losses.as_mut().is_some_and(|stream| stream.chance(loss)) {
                    listener.heard = now;
                    let measured =
                        if listener.source.measures_rtt() { rtt(listener.connection) } else { None };
                    hear(listener.connection, listener.source.hear(update.rate, measured));
                } else if self.spec.expires.is_some_and(|expires| listener.heard + expires <= now) {
                    hear(listener.connection, listener.source.forget());
                }
            }
        }
    }

    fn poll_at(&self) -> Time {
        let estimates = self.told.iter().map(|told| told.estimator.poll_at());
        let due = self.line.front().map_or(Time::NEVER, |update| update.due);
        estimates.fold(due, Time::min)
    }
}

/// All that links advertise in a run.
#[derive(Debug)]
pub struct Feedback {
    tellers: Vec<Teller>,
    channels: Vec<Channel>,
    /// The channel of each flow group.
    of_group: Vec<Option<usize>>,
    /// Active connections of each flow group.
    active: Vec<u64>,
    /// When it was last polled.
    now: Time,
}

impl Feedback {
    /// The feedback of `network`; `None` if nothing is advertised to any flow.
    pub fn new(network: &Network) -> Option<Feedback> {
        let mut links: Vec<usize> = network
            .flows
            .iter()
            .filter_map(|flow| flow.feedback.as_ref())
            .flat_map(|spec| spec.links.clone())
            .collect();
        links.sort_unstable();
        links.dedup();
        let tellers: Vec<Teller> = links.into_iter().map(|link| Teller::new(network, link)).collect();
        let mut channels = Vec::new();
        let mut of_group = vec![None; network.flows.len()];
        for (group, flow) in network.flows.iter().enumerate() {
            if let Some(spec) = &flow.feedback {
                of_group[group] = Some(channels.len());
                channels.push(Channel::new(network, flow, spec, &tellers));
            }
        }
        let active = vec![0; network.flows.len()];
        (!tellers.is_empty()).then_some(Feedback { tellers, channels, of_group, active, now: Time::ZERO })
    }

    /// A connection of `flow`, number `group`, was opened in slot `connection`; `name` is that of its random streams.
    pub fn on_open(&mut self, now: Time, group: u16, connection: u32, name: &str, streams: &Streams) {
        let Some(channel) = self.of_group[usize::from(group)] else { return };
        let channel = &mut self.channels[channel];
        let lossy = channel.spec.loss.get() > 0.0;
        let losses = lossy.then(|| streams.stream(&stream_name::feedback(name)));
        let source = channel.source.clone();
        debug_assert!(
            channel.listeners.iter().all(|listener| listener.connection != connection),
            "connection {connection} is opened twice"
        );
        channel.listeners.push(Listener { connection, opened: now, heard: now, losses, source });
        channel.newcomers.push(connection);
    }

    /// The connection `connection` of flow group `group` is over.
    pub fn on_close(&mut self, group: u16, connection: u32) {
        let Some(channel) = self.of_group[usize::from(group)] else { return };
        let channel = &mut self.channels[channel];
        // Not swapped: the order in which listeners hear must not depend on who has left.
        channel.listeners.retain(|listener| listener.connection != connection);
        channel.newcomers.retain(|newcomer| *newcomer != connection);
        channel.line.retain(|update| update.newcomer != Some(connection));
    }

    /// A connection of a group has become active, or is not any more.
    pub fn on_activity(&mut self, group: u16, is_active: bool) {
        let active = &mut self.active[usize::from(group)];
        debug_assert!(is_active || *active > 0, "more connections fall silent than were active");
        *active = if is_active { *active + 1 } else { *active - 1 };
    }

    /// Takes note of the links, and calls `hear` with each connection that hears a rate now and that rate; `rtt` knows
    /// what round trips a connection has measured.
    pub fn poll(
        &mut self,
        now: Time,
        links: &mut impl Links,
        rtt: &Rtts<'_>,
        hear: &mut dyn FnMut(u32, Rate),
    ) {
        debug_assert!(self.now <= now, "time goes back from {:?} to {now:?}", self.now);
        self.now = now;
        for teller in &mut self.tellers {
            teller.look(now, links, &self.active);
        }
        for channel in &mut self.channels {
            channel.observe(now, &self.tellers, links);
            channel.deliver(now, rtt, hear);
        }
    }

    /// When the feedback is to be polled next.
    pub fn poll_at(&self, links: &impl Links) -> Time {
        let changes =
            self.tellers.iter().map(|teller| links.changes_at(teller.link).min(teller.poll_at(self.now)));
        let told = self.channels.iter().map(Channel::poll_at);
        changes.chain(told).fold(Time::NEVER, Time::min)
    }
}

/// `rate` times `part` over `whole`.
fn scaled(rate: Rate, part: Bytes, whole: Bytes) -> Rate {
    if part == whole || rate.is_unlimited() || whole == Bytes::ZERO {
        return rate;
    }
    let bps = u128::from(rate.as_bps()) * u128::from(part.as_u64()) / u128::from(whole.as_u64());
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX - 1))
}
