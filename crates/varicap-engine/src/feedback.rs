//! The rates that links advertise to senders, and which these may send at.
//!
//! ```text
//! link (capacity, flows) ──► share ──► estimator ──► delay line ──► sources of a flow group ──► their rates
//! ```
//!
//! It is polled when the capacity of an advertising link changes, when a flow comes or goes, when an estimator has a
//! rate, and when a rate reaches its senders. It only observes: it affects packets and links in no way other than
//! through the senders. Whoever sets the rate of a link from outside ([`varicap_net::Link::set_rate`]) must poll it as
//! well.

use std::collections::VecDeque;

use varicap_experiment::scenario::Share;
use varicap_experiment::{FeedbackSpec, FlowSpec, Network, Transport};
use varicap_net::feedback::{KnownRtt, RateSource, Scale};
use varicap_net::{Estimator, RateFeedback};
use varicap_units::{Bytes, Rate, Stream, Streams, Time, Work, stream_name};

use crate::advice::Advised;
use crate::links::Links;

/// Looks up the round trips that a connection has measured, by the connection's number.
pub type Rtts<'a> = dyn Fn(u32) -> Option<KnownRtt> + 'a;

/// The datagram sources of one flow group on a link, and the rate that each of them never exceeds.
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
struct Advertiser {
    link: usize,
    /// Flow groups of TCP that send data over it.
    groups: Vec<usize>,
    /// Datagrams on the link, lowest rates first.
    demands: Vec<Demand>,
    capacity: Rate,
    /// One flow's share of the capacity.
    fair: Rate,
    /// On a link with delivery opportunities: what all of them so far could have carried.
    passed: Work,
    /// On a link with delivery opportunities: what those since the last look could have carried.
    fresh: Work,
}

impl Advertiser {
    fn new(network: &Network, link: usize) -> Advertiser {
        let passing = |(_, flow): &(usize, &FlowSpec)| flow.forward.contains(&link);
        let mut advertiser = Advertiser {
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
                advertiser.groups.push(group);
                continue;
            };
            let framed = network.links[link].parts.framing.framed(datagrams.size);
            let rate = scaled(datagrams.rate.fastest(), framed, datagrams.size);
            let (start, stop) = (flow.start, flow.stop);
            advertiser.demands.push(Demand { rate, sources: u64::from(flow.count), start, stop });
        }
        advertiser.demands.sort_by_key(|demand| demand.rate);
        advertiser
    }

    /// Reads the link's state at `now`.
    fn look(&mut self, now: Time, links: &mut impl Links, active: &[u64]) {
        links.advance_link(now, self.link);
        self.capacity = links.rate(self.link);
        if let Some(passed) = links.opportunities(self.link) {
            self.fresh = passed - self.passed;
            self.passed = passed;
        }
        self.share_out(now, active);
    }

    /// Computes one flow's max-min fair share: each source of datagrams gets at most its rate, and the active flows
    /// share the rest equally. If no flow is active, it is the share that a single one would get.
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

    /// The instant at which datagrams begin or end next.
    fn poll_at(&self, now: Time) -> Time {
        let ends = self.demands.iter().flat_map(|demand| [demand.start, demand.stop]);
        ends.filter(|end| *end > now).min().unwrap_or(Time::NEVER)
    }
}

/// The rate that one link advertises to a flow group.
#[derive(Debug)]
struct Advertised {
    /// Index of the link among the advertisers.
    advertiser: usize,
    estimator: Estimator,
    /// The last advertised rate; unlimited before the first one.
    rate: Rate,
    /// Whether there was a first one.
    is_known: bool,
    /// A full packet of the group, without the link's framing.
    packet: Bytes,
    /// A full packet of the group, as framed on the link.
    framed: Bytes,
}

impl Advertised {
    /// The flow's share of an opportunity of `work`, without framing, where its share of the link's rate `mean` is
    /// `part`.
    fn work(&self, work: Work, part: Rate, mean: Rate) -> Work {
        let ratio = |work: u128, part: u64, whole: u64| work * u128::from(part) / u128::from(whole.max(1));
        let nanobits = ratio(work.as_nanobits(), part.as_bps(), mean.as_bps());
        Work::from_nanobits(ratio(nanobits, self.packet.as_u64(), self.framed.as_u64()))
    }
}

/// A rate under way to the senders.
#[derive(Clone, Copy, Debug)]
struct Update {
    due: Time,
    rate: Rate,
    /// The connection that it is for, which has just been opened; `None`: all connections that were open when it was
    /// sent.
    newcomer: Option<u32>,
}

/// A connection to which rates are advertised.
#[derive(Debug)]
struct Listener {
    connection: u32,
    opened: Time,
    /// The instant at which the last update reached the connection.
    heard: Time,
    /// Decides which updates are lost.
    losses: Option<Stream>,
    /// Turns advertised rates into the rate that the connection sends at.
    source: RateSource,
    /// Its advice, where rates reach it as advice.
    advised: Option<Box<Advised>>,
}

impl Listener {
    /// The rate from now on, after `rate` reached the connection, whose round trips are `rtt`.
    fn hear(&mut self, now: Time, rate: Rate, rtt: &Rtts<'_>) -> Rate {
        self.heard = now;
        let rate = self.advised.as_mut().map_or(rate, |advised| advised.hear(now, rate));
        self.take(rate, rtt)
    }

    fn take(&mut self, rate: Rate, rtt: &Rtts<'_>) -> Rate {
        let measured = if self.source.measures_rtt() { rtt(self.connection) } else { None };
        self.source.hear(rate, measured)
    }

    /// The rate from now on, if advice has expired by `now`.
    fn expire(&mut self, now: Time, rtt: &Rtts<'_>) -> Option<Rate> {
        let advised = self.advised.as_mut()?;
        if !advised.expire(now) {
            return None;
        }
        Some(match advised.lowest() {
            Some(rate) => self.take(rate, rtt),
            None => self.source.forget(),
        })
    }
}

/// The feedback to one flow group: the links that advertise to it, and the rates under way.
#[derive(Debug)]
struct Channel {
    spec: FeedbackSpec,
    advertised: Vec<Advertised>,
    /// The last rate that was sent.
    rate: Option<Rate>,
    /// By what rates are multiplied, as advice from outside has it.
    factor: Option<f64>,
    /// Rates under way, in order of arrival.
    line: VecDeque<Update>,
    listeners: Vec<Listener>,
    /// The rate source that a new listener starts with.
    source: RateSource,
    newcomers: Vec<u32>,
}

impl Channel {
    fn new(network: &Network, flow: &FlowSpec, spec: &FeedbackSpec, advertisers: &[Advertiser]) -> Channel {
        let scale = Scale { rtt: network.base_rtt(flow), packet: flow.packet };
        let advertised = spec.links.iter().filter_map(|link| {
            let advertiser = advertisers.iter().position(|advertiser| advertiser.link == *link)?;
            let framed = network.links[*link].parts.framing.framed(flow.packet);
            let estimator = Estimator::new(&spec.estimator, scale, Time::ZERO, Rate::ZERO);
            Some(Advertised {
                advertiser,
                estimator,
                rate: Rate::UNLIMITED,
                is_known: false,
                packet: flow.packet,
                framed,
            })
        });
        Channel {
            advertised: advertised.collect(),
            spec: spec.clone(),
            rate: None,
            factor: None,
            line: VecDeque::new(),
            listeners: Vec::new(),
            source: RateSource::new(&spec.estimator, flow.abr.as_ref().map(|abr| &abr.config), scale),
            newcomers: Vec::new(),
        }
    }

    /// Feeds the estimators, and sends the rates that they advertise.
    fn observe(&mut self, now: Time, advertisers: &[Advertiser], links: &impl Links) {
        let mut is_fresh = false;
        for advertised in &mut self.advertised {
            let advertiser = &advertisers[advertised.advertiser];
            let part = if self.spec.share == Share::Fair { advertiser.fair } else { advertiser.capacity };
            match links.opportunities(advertiser.link) {
                None => {
                    let backlog = links.backlog(advertiser.link);
                    advertised.estimator.observe(
                        now,
                        scaled(part, advertised.packet, advertised.framed),
                        backlog,
                    );
                }
                Some(_) => advertised
                    .estimator
                    .pass(now, advertised.work(advertiser.fresh, part, advertiser.capacity)),
            }
            while let Some(rate) = advertised.estimator.advertise(now) {
                (advertised.rate, advertised.is_known) = (rate, true);
                is_fresh = true;
            }
        }
        if self.spec.scone.is_some() {
            return self.advise(now);
        }
        if is_fresh {
            let rate = self.least();
            // A rate that is due every interval is sent even if it has not changed.
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

    /// Whether each link has found its rate: before that, who asks waits for it.
    fn knows_all(&self) -> bool {
        self.advertised.iter().all(|advertised| advertised.is_known)
    }

    /// SCONE packets that pass the links take the lowest of their levels along.
    fn advise(&mut self, now: Time) {
        if !self.knows_all() {
            return;
        }
        let rate = self.least();
        for place in 0..self.listeners.len() {
            let listener = &mut self.listeners[place];
            let connection = listener.connection;
            if let Some(level) = listener.advised.as_mut().and_then(|advised| advised.ask(now, rate)) {
                self.send(now, level, Some(connection));
            }
        }
    }

    /// The lowest of the links' rates, rounded down to the quantum in which rates are advertised.
    fn least(&self) -> Rate {
        let least = self.advertised.iter().map(|advertised| advertised.rate).min().unwrap_or(Rate::UNLIMITED);
        let least = match self.factor {
            Some(factor) if !least.is_unlimited() => {
                // As a cast: beyond the range it saturates.
                Rate::from_bps(
                    ((least.as_bps() as f64 * factor + 0.5) as u64).min(Rate::UNLIMITED.as_bps() - 1),
                )
            }
            _ => least,
        };
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

    /// Delivers the updates that have arrived by `now`: calls `hear` with each connection and its new rate.
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
                    hear(listener.connection, listener.hear(now, update.rate, rtt));
                } else if self.spec.expires.is_some_and(|expires| listener.heard + expires <= now) {
                    hear(listener.connection, listener.source.forget());
                }
            }
        }
    }

    /// Advice that has expired by `now` is forgotten: calls `hear` with each connection and its new rate.
    fn expire(&mut self, now: Time, rtt: &Rtts<'_>, hear: &mut dyn FnMut(u32, Rate)) {
        if self.spec.scone.is_none() {
            return;
        }
        for listener in &mut self.listeners {
            if let Some(rate) = listener.expire(now, rtt) {
                hear(listener.connection, rate);
            }
        }
    }

    fn poll_at(&self) -> Time {
        let estimates = self.advertised.iter().map(|advertised| advertised.estimator.poll_at());
        let due = self.line.front().map_or(Time::NEVER, |update| update.due);
        let is_known = self.knows_all();
        let advice = self.listeners.iter().filter_map(|listener| listener.advised.as_deref());
        estimates.chain(advice.map(|advised| advised.poll_at(is_known))).fold(due, Time::min)
    }
}

/// All feedback from links to senders in a run.
#[derive(Debug)]
pub struct Feedback {
    advertisers: Vec<Advertiser>,
    channels: Vec<Channel>,
    /// The channel of each flow group.
    of_group: Vec<Option<usize>>,
    /// Active connections of each flow group.
    active: Vec<u64>,
    /// The instant of the last poll.
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
        let advertisers: Vec<Advertiser> =
            links.into_iter().map(|link| Advertiser::new(network, link)).collect();
        let mut channels = Vec::new();
        let mut of_group = vec![None; network.flows.len()];
        for (group, flow) in network.flows.iter().enumerate() {
            if let Some(spec) = &flow.feedback {
                of_group[group] = Some(channels.len());
                channels.push(Channel::new(network, flow, spec, &advertisers));
            }
        }
        let active = vec![0; network.flows.len()];
        (!advertisers.is_empty()).then_some(Feedback {
            advertisers,
            channels,
            of_group,
            active,
            now: Time::ZERO,
        })
    }

    /// Registers a connection of flow group `group`, opened in slot `connection`; `name` names its random streams.
    pub fn on_open(&mut self, now: Time, group: u16, connection: u32, name: &str, streams: &Streams) {
        let Some(channel) = self.of_group[usize::from(group)] else { return };
        let channel = &mut self.channels[channel];
        let lossy = channel.spec.loss.get() > 0.0;
        let losses = lossy.then(|| streams.stream(&stream_name::feedback(name)));
        let source = channel.source.clone();
        let gaps = || streams.stream(&stream_name::advice(name));
        let advised = channel.spec.scone.map(|scone| Box::new(Advised::new(now, scone, gaps())));
        debug_assert!(
            channel.listeners.iter().all(|listener| listener.connection != connection),
            "connection {connection} is opened twice"
        );
        channel.listeners.push(Listener { connection, opened: now, heard: now, losses, source, advised });
        channel.newcomers.push(connection);
    }

    /// Removes the connection in slot `connection` of flow group `group`, which is over.
    pub fn on_close(&mut self, group: u16, connection: u32) {
        let Some(channel) = self.of_group[usize::from(group)] else { return };
        let channel = &mut self.channels[channel];
        // Not `swap_remove`: the order of the listeners must not depend on which of them have left.
        channel.listeners.retain(|listener| listener.connection != connection);
        channel.newcomers.retain(|newcomer| *newcomer != connection);
        channel.line.retain(|update| update.newcomer != Some(connection));
    }

    /// Notes that a connection of flow group `group` has become active, or is no longer.
    pub fn on_activity(&mut self, group: u16, is_active: bool) {
        let active = &mut self.active[usize::from(group)];
        debug_assert!(is_active || *active > 0, "more connections fall silent than were active");
        *active = if is_active { *active + 1 } else { *active - 1 };
    }

    /// From now on what flow group `group` is advertised is multiplied by `factor`, at least 0. It must then be polled.
    pub fn advise(&mut self, group: u16, factor: f64) {
        debug_assert!(factor >= 0.0, "advice of {factor} times a rate");
        if let Some(channel) = self.of_group[usize::from(group)] {
            self.channels[channel].factor = Some(factor);
        }
    }

    /// Observes the links, and calls `hear` with each connection that an advertised rate reaches by `now`, and that
    /// rate; `rtt` looks up the round trips that a connection has measured.
    pub fn poll(
        &mut self,
        now: Time,
        links: &mut impl Links,
        rtt: &Rtts<'_>,
        hear: &mut dyn FnMut(u32, Rate),
    ) {
        debug_assert!(self.now <= now, "time goes back from {:?} to {now:?}", self.now);
        self.now = now;
        for advertiser in &mut self.advertisers {
            advertiser.look(now, links, &self.active);
        }
        for channel in &mut self.channels {
            channel.observe(now, &self.advertisers, links);
            channel.deliver(now, rtt, hear);
            channel.expire(now, rtt, hear);
        }
    }

    /// The instant at which the feedback is to be polled next.
    pub fn poll_at(&self, links: &impl Links) -> Time {
        let changes = self
            .advertisers
            .iter()
            .map(|advertiser| links.changes_at(advertiser.link).min(advertiser.poll_at(self.now)));
        let updates = self.channels.iter().map(Channel::poll_at);
        changes.chain(updates).fold(Time::NEVER, Time::min)
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
