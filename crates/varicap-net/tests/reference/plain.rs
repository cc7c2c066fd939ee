//! A link in plain arithmetic: slow, exact, and written without a look at how the engine does it.
//!
//! Time is in nanoseconds, work in nanobits (b/s times ns), both `u128`: there is no rounding but that of a departure to
//! the nanosecond in which it falls.

/// Nanobits in a byte.
pub const BYTE: u128 = 8_000_000_000;

/// Rates [b/s] with the instants from which they hold [ns]; the first holds from zero.
#[derive(Clone)]
pub struct Rates(pub Vec<(u128, u128)>);

impl Rates {
    pub fn at(&self, time: u128) -> u128 {
        self.0.iter().take_while(|(from, _)| *from <= time).last().expect("a rate from zero").1
    }

    /// The work that is offered from `from` until `until`.
    pub fn offered(&self, from: u128, until: u128) -> u128 {
        let ends = self.0.iter().skip(1).map(|(at, _)| *at).chain([u128::MAX]);
        let pieces = self.0.iter().zip(ends);
        pieces.map(|((at, rate), end)| rate * end.min(until).saturating_sub(from.max(*at))).sum()
    }

    /// The first nanosecond at whose end `work` has been offered since `from`; none if that never comes.
    pub fn carried(&self, from: u128, work: u128) -> Option<u128> {
        let mut left = work;
        let ends = self.0.iter().skip(1).map(|(at, _)| *at).chain([u128::MAX]);
        for ((at, rate), end) in self.0.iter().zip(ends) {
            let begin = from.max(*at);
            if left == 0 {
                return Some(begin);
            }
            if end <= begin || *rate == 0 {
                continue;
            }
            let takes = left.div_ceil(*rate);
            if takes <= end - begin {
                return Some(begin + takes);
            }
            left -= rate * (end - begin);
        }
        None
    }

    /// The first instant from `from` on at which the rate is not zero.
    pub fn offers_from(&self, from: u128) -> Option<u128> {
        if self.at(from) > 0 {
            return Some(from);
        }
        self.0.iter().find(|(at, rate)| *at > from && *rate > 0).map(|(at, _)| *at)
    }
}

/// How the link serves its frames.
#[derive(Clone)]
pub enum Server {
    /// At the rate of each instant: the busy period since `from` has carried `work`.
    Fluid { rates: Rates, from: u128, work: u128 },
    /// At the rate in force as a frame begins. What the last nanosecond of a frame could have carried beyond it
    /// (`surplus`, below one nanosecond's work) goes to the next frame of the busy period if the rate is the same as
    /// that of the frame (`rate`); it is left behind where it has changed.
    AtStart { rates: Rates, surplus: u128, rate: u128 },
    /// A budget [B] at each given instant, what is left of the one that is passing, and its place.
    Opportunities { instants: Vec<u128>, size: u128, overhead: u128, place: usize, left: u128 },
}

/// A transmission: when it begins and when it ends, if it ever does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    pub begin: u128,
    pub end: Option<u128>,
}

impl Server {
    /// Sends a frame of `size` bytes that arrived at `arrived`, after one that left at `free`.
    pub fn send(&mut self, arrived: u128, free: u128, size: u128) -> Transmission {
        // A frame that arrives at the instant of a departure finds the server idle.
        let is_idle = arrived >= free;
        let ready = arrived.max(free);
        let whole = size * BYTE;
        match self {
            Server::Fluid { rates, from, work } => {
                if is_idle {
                    (*from, *work) = (ready, 0);
                }
                // The part of this frame that the last nanosecond has carried already goes to it.
                let begin = if rates.at(ready) == 0 && rates.offered(*from, ready) < *work + whole {
                    rates.offers_from(ready)
                } else {
                    Some(ready)
                };
                *work += whole;
                let end = rates.carried(*from, *work);
                Transmission { begin: begin.unwrap_or(ready), end }
            }
            Server::AtStart { rates, surplus, rate } => {
                if is_idle || rates.at(ready) != *rate {
                    *surplus = 0;
                }
                if whole <= *surplus {
                    *surplus -= whole;
                    return Transmission { begin: ready, end: Some(ready) };
                }
                let left = whole - *surplus;
                let Some(begin) = rates.offers_from(ready) else {
                    return Transmission { begin: ready, end: None };
                };
                *rate = rates.at(begin);
                let takes = left.div_ceil(*rate);
                *surplus = takes * *rate - left;
                Transmission { begin, end: Some(begin + takes) }
            }
            Server::Opportunities { instants, size: budget, overhead, place, left } => {
                // A frame that arrives at an opportunity comes after it.
                if *place == 0 || instants[*place - 1] <= arrived {
                    *left = 0;
                }
                let mut missing = size + *overhead;
                let mut begin = None;
                loop {
                    let sent = missing.min(*left);
                    if sent > 0 {
                        begin = begin.or(Some(instants[*place - 1]));
                    }
                    (*left, missing) = (*left - sent, missing - sent);
                    if missing == 0 {
                        let end = instants[*place - 1];
                        return Transmission { begin: begin.unwrap_or(end), end: Some(end) };
                    }
                    if *place == instants.len() {
                        return Transmission { begin: begin.unwrap_or(ready), end: None };
                    }
                    if instants[*place] > arrived {
                        *left = *budget;
                    }
                    *place += 1;
                }
            }
        }
    }
}

/// Which frames a drop-tail queue turns away in front of a server with a rate, by simulating all of it.
pub struct DropTail {
    pub frames: usize,
    pub bytes: u128,
    pub counts_in_service: bool,
    /// A frame that leaves at the instant of an arrival is still there.
    pub arrivals_first: bool,
}

impl DropTail {
    /// Of frames (arrived, size), in order, whether each is admitted. `end` says when one that arrived, after one that
    /// left, with a size, leaves the server.
    pub fn run(
        &self,
        end: &mut dyn FnMut(u128, u128, u128) -> Option<u128>,
        frames: &[(u128, u128)],
    ) -> Vec<bool> {
        let mut fates = Vec::new();
        let mut free = 0;
        // Those that have not left, in order: the first is in service.
        let mut held: Vec<(u128, u128)> = Vec::new();
        for &(now, size) in frames {
            held.retain(|(end, _)| *end > now || self.arrivals_first && *end == now);
            let skipped = usize::from(!held.is_empty() && !self.counts_in_service);
            let counted = &held[skipped..];
            let bytes: u128 = counted.iter().map(|(_, size)| size).sum();
            let fits = counted.len() < self.frames && bytes + size <= self.bytes;
            let does_not_wait = held.is_empty() && !self.counts_in_service;
            if !(fits || does_not_wait) {
                fates.push(false);
                continue;
            }
            free = end(now, free, size).unwrap_or(u128::MAX);
            held.push((free, size));
            fates.push(true);
        }
        fates
    }
}
