//! Load-reactive links that share one capacity.
//!
//! One node samples the links of a pool: each controller requests a capacity, and the pool's capacity is divided
//! max-min fairly among the requests. It is polled after the links, so that a sample follows the departures at its
//! instant.

use std::sync::Arc;

use varicap_experiment::Network;
use varicap_net::QueueSample;
use varicap_net::{CapacityParts, Claim, ReactiveParts, Setting, max_min};
use varicap_units::{Rate, Time};

/// The links of a running network whose samples a pool takes.
pub trait Reactives {
    /// Brings a link up to `now`, and returns a sample of its queue and the setting that its controller requests.
    fn sample(&mut self, now: Time, link: usize) -> Option<(QueueSample, Setting)>;
    /// Puts a setting of a link into effect at `now`.
    fn allot(&mut self, now: Time, link: usize, setting: Setting);
}

/// The links that share one capacity.
#[derive(Debug)]
struct Pool {
    parts: Arc<ReactiveParts>,
    links: Vec<usize>,
    next: Time,
}

/// All pools of a network.
#[derive(Debug)]
pub struct Pools {
    pools: Vec<Pool>,
}

impl Pools {
    /// The pools of `network`, if it has any.
    pub fn new(network: &Network) -> Option<Pools> {
        let mut pools: Vec<Pool> = Vec::new();
        for (link, spec) in network.links.iter().enumerate() {
            let CapacityParts::LoadReactive(parts) = &spec.parts.capacity else { continue };
            let Some(name) = &parts.config.pool else { continue };
            match pools.iter_mut().find(|pool| pool.parts.config.pool.as_ref() == Some(name)) {
                Some(pool) => pool.links.push(link),
                None => pools.push(Pool {
                    parts: parts.clone(),
                    links: vec![link],
                    next: Time::ZERO + parts.config.phase,
                }),
            }
        }
        (!pools.is_empty()).then_some(Pools { pools })
    }

    /// The instant at which the next sample is due.
    pub fn poll_at(&self) -> Time {
        self.pools.iter().map(|pool| pool.next).min().unwrap_or(Time::NEVER)
    }

    /// Takes the samples that are due at `now`.
    pub fn poll(&mut self, now: Time, links: &mut impl Reactives) {
        for pool in self.pools.iter_mut().filter(|pool| pool.next <= now) {
            debug_assert!(pool.next == now, "the sample of {:?} is taken at {now:?}", pool.next);
            pool.sample(now, links);
            pool.next += pool.parts.config.interval;
        }
    }
}

impl Pool {
    fn sample(&self, now: Time, links: &mut impl Reactives) {
        let mut residual = Rate::ZERO;
        let mut wishes = Vec::with_capacity(self.links.len());
        for &link in &self.links {
            let Some((sample, wish)) = links.sample(now, link) else { continue };
            // All of them have the same residual.
            residual = sample.residual;
            wishes.push((link, wish, Claim { minimum: sample.minimum, wanted: wish.capacity }));
        }
        let claims: Vec<Claim> = wishes.iter().map(|(_, _, claim)| *claim).collect();
        for ((link, wish, _), capacity) in wishes.into_iter().zip(max_min(residual, &claims)) {
            links.allot(now, link, Setting { capacity, ..wish });
        }
    }
}
