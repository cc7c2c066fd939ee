//! Endpoints of transports that are not ours: state machines which take datagrams and time, and give datagrams.
//!
//! ```text
//! Application ──► offer ──► Endpoint (sender) ══ poll, push: datagrams over links ══ Endpoint (receiver) ──► delivered
//! ```
//!
//! An endpoint has no clock and no random numbers of its own: `now` and the seed that it was made with are all that it may
//! go by, so that the same run gives the same bytes. [`Host`] holds one to that, whoever wrote it.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use varicap_app::Offer;
pub use varicap_experiment::scenario::IP_AND_UDP;
use varicap_experiment::series::SenderState;
use varicap_net::Codepoint;
use varicap_units::{Bytes, Span, Time};

/// The payload of a UDP datagram, and the ECN field of the IP packet that carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The payload.
    pub bytes: Box<[u8]>,
    /// The ECN field.
    pub ecn: Codepoint,
}

/// The report of an endpoint on itself; all counts are since its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// The state of a sender; none if the endpoint does not report it.
    pub sender: Option<SenderState>,
    /// The last sample of the round-trip time.
    pub latest_rtt: Option<Span>,
    /// Samples of the round-trip time so far.
    pub rtt_samples: u64,
    /// Packets that the sender has found to be lost.
    pub lost_packets: u64,
    /// Reductions of the window by losses or marks.
    pub congestion_events: u64,
    /// Collapses of the window after nothing was acknowledged for long.
    pub timeouts: u64,
    /// How far it has come.
    pub stage: Stage,
}

/// The stages in the life of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// It has something to do, or may yet be offered something.
    #[default]
    Running,
    /// All that it was offered has been acknowledged, the end included.
    Over,
    /// It gave up: nothing was answered for too long.
    GaveUp,
}

/// One end of a connection of any transport.
///
/// After each call but [`Endpoint::report`] it is polled until it has nothing to send, and then again at
/// [`Endpoint::poll_at`]. Time never runs backwards.
pub trait Endpoint: Send {
    /// A datagram has arrived.
    fn push(&mut self, now: Time, datagram: &Datagram);

    /// The next datagram to send; timers that are due by `now` have their effect first.
    fn poll(&mut self, now: Time) -> Option<Datagram>;

    /// The instant at which to poll it next, whatever happens; [`Time::NEVER`] if nothing is to happen by itself. Once
    /// [`Endpoint::poll`] has nothing more, this lies in the future.
    fn poll_at(&self) -> Time;

    /// The application of the sender writes, takes back what has not left ([`Offer::Withdraw`]), or ends. A write of
    /// [`Bytes::MAX`] is endless.
    fn offer(&mut self, now: Time, offer: Offer);

    /// Data that has been delivered in order to the application of the receiver so far [B].
    fn delivered(&self) -> u64;

    /// Its report on itself.
    fn report(&self) -> Report {
        Report::default()
    }

    /// Why it can't go on, if it can't: the run ends with these words.
    fn fault(&mut self) -> Option<String> {
        None
    }
}

/// An endpoint that broke its contract, or failed: the run ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{whose} {what}")]
pub struct Breach {
    /// The flow, the endpoint and its side.
    pub whose: String,
    /// Its offence, as a predicate.
    pub what: String,
}

/// Most datagrams that an endpoint may send at one instant: 100 MB of full ones.
const MOST_AT_ONCE: u32 = 1 << 16;
/// Most times that an endpoint may have itself polled at one instant without sending anything.
const MOST_IDLE_POLLS: u32 = 100;
/// An endpoint that has had something to answer for so long, and has sent nothing at all, does not answer.
const PATIENCE: Span = Span::from_secs(1);

/// An endpoint with its contract, which it is held to.
pub struct Host {
    endpoint: Box<dyn Endpoint>,
    /// The flow, the endpoint and its side, for messages.
    whose: String,
    /// Largest payload of a datagram.
    largest: Bytes,
    /// The last instant at which it was called, and what it did at it.
    now: Time,
    at_once: u32,
    idle_polls: u32,
    due: Time,
    /// When it first had something to answer, as long as it has not sent anything.
    asked: Option<Time>,
    /// Datagrams that it has sent.
    sent: u64,
}

impl Host {
    /// Holds `endpoint` to its contract: it belongs to `whose`, and its datagrams fit into packets of `packet` on the wire.
    pub fn new(endpoint: Box<dyn Endpoint>, whose: String, packet: Bytes) -> Host {
        keep_panics_quiet();
        Host {
            endpoint,
            whose,
            largest: packet.saturating_sub(IP_AND_UDP),
            now: Time::ZERO,
            at_once: 0,
            idle_polls: 0,
            due: Time::NEVER,
            asked: None,
            sent: 0,
        }
    }

    /// Datagrams that it has sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The instant at which it is to be polled next; known once it has been polled until there was nothing more.
    pub fn poll_at(&self) -> Time {
        self.due
    }

    /// See [`Endpoint::push`].
    pub fn push(&mut self, now: Time, datagram: &Datagram) -> Result<(), Breach> {
        self.ask(now);
        self.call(|endpoint| endpoint.push(now, datagram))
    }

    /// See [`Endpoint::offer`].
    pub fn offer(&mut self, now: Time, offer: Offer) -> Result<(), Breach> {
        if matches!(offer, Offer::Write(_)) {
            self.ask(now);
        }
        self.call(|endpoint| endpoint.offer(now, offer))
    }

    /// See [`Endpoint::poll`]; nothing once it is to be polled in the future.
    pub fn poll(&mut self, now: Time) -> Result<Option<Datagram>, Breach> {
        self.reach(now);
        loop {
            if let Some(datagram) = self.call(|endpoint| endpoint.poll(now))? {
                return self.send(datagram).map(Some);
            }
            self.due = self.call(|endpoint| endpoint.poll_at())?;
            if self.due > now {
                return Ok(None);
            }
            self.idle_polls += 1;
            if self.idle_polls > MOST_IDLE_POLLS {
                let due = self.due;
                return Err(self.breach(format!(
                    "asks at {now:?} to be polled at {due:?}, again and again: time goes on"
                )));
            }
        }
    }

    fn send(&mut self, datagram: Datagram) -> Result<Datagram, Breach> {
        self.asked = None;
        self.sent += 1;
        self.at_once += 1;
        if self.at_once > MOST_AT_ONCE {
            let now = self.now;
            return Err(self.breach(format!("sent {MOST_AT_ONCE} datagrams at {now:?}, and would go on")));
        }
        let (size, largest) = (datagram.bytes.len(), self.largest.as_u64());
        if size as u64 > largest {
            return Err(self.breach(format!("sent a datagram of {size} B; at most {largest} B fit a packet")));
        }
        Ok(datagram)
    }

    /// See [`Endpoint::delivered`].
    pub fn delivered(&mut self) -> Result<u64, Breach> {
        self.call(|endpoint| endpoint.delivered())
    }

    /// See [`Endpoint::report`].
    pub fn report(&mut self) -> Result<Report, Breach> {
        self.call(|endpoint| endpoint.report())
    }

    /// A breach by it.
    pub fn breach(&self, what: String) -> Breach {
        Breach { whose: self.whose.clone(), what }
    }

    /// The run is over at `now`: an endpoint that had something to answer, and never has, is broken.
    pub fn check_answered(&self, now: Time) -> Result<(), Breach> {
        match self.asked {
            Some(asked) if self.sent == 0 && now.since(asked) >= PATIENCE => {
                Err(self
                    .breach(format!("never sent anything, from {asked:?} to the end of the run, {now:?}")))
            }
            _ => Ok(()),
        }
    }

    fn ask(&mut self, now: Time) {
        self.reach(now);
        if self.sent == 0 && self.asked.is_none() {
            self.asked = Some(now);
        }
    }

    fn reach(&mut self, now: Time) {
        debug_assert!(now >= self.now, "an endpoint is called at {now:?} after {:?}", self.now);
        if now > self.now {
            (self.now, self.at_once, self.idle_polls) = (now, 0, 0);
        }
    }

    /// Calls it. A panic of it is its own.
    fn call<T>(&mut self, of: impl FnOnce(&mut dyn Endpoint) -> T) -> Result<T, Breach> {
        let endpoint = &mut *self.endpoint;
        let outcome = {
            let _quiet = Quiet::begin();
            catch_unwind(AssertUnwindSafe(|| (of(endpoint), endpoint.fault())))
        };
        match outcome {
            Ok((value, None)) => Ok(value),
            Ok((_, Some(fault))) => Err(self.breach(format!("failed: {fault}"))),
            Err(panic) => {
                let now = self.now;
                Err(self.breach(format!("panicked at {now:?}: {}", text_of(&*panic))))
            }
        }
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} datagrams sent)", self.whose, self.sent)
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words")
}

thread_local! {
    /// Whether an endpoint is being called, whose panic becomes the error of the run.
    static IS_CALLED: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, panics on this thread are not printed.
struct Quiet(bool);

impl Quiet {
    fn begin() -> Quiet {
        Quiet(IS_CALLED.replace(true))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        IS_CALLED.set(self.0);
    }
}

/// A panic of an endpoint is reported once, as the error of the run.
fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_CALLED.get() {
                before(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults that endpoints may have, and none.
    #[derive(Clone, Copy, PartialEq)]
    enum Habit {
        Silent,
        Flood,
        Past,
        Panic,
        Oversized,
        Sound,
    }

    struct Bad(Habit, Option<Time>);

    impl Endpoint for Bad {
        fn push(&mut self, _: Time, _: &Datagram) {}

        fn poll(&mut self, now: Time) -> Option<Datagram> {
            let size = match self.0 {
                Habit::Silent | Habit::Past => return None,
                Habit::Panic => panic!("out of ideas"),
                Habit::Oversized => 1473,
                Habit::Flood => 100,
                Habit::Sound if self.1.is_some() => return None,
                Habit::Sound => 1472,
            };
            self.1 = Some(now);
            Some(Datagram { bytes: vec![0; size].into(), ecn: Codepoint::NotEct })
        }

        fn poll_at(&self) -> Time {
            if self.0 == Habit::Past { Time::ZERO } else { Time::NEVER }
        }

        fn offer(&mut self, _: Time, _: Offer) {}

        fn delivered(&self) -> u64 {
            0
        }
    }

    fn breach_of(habit: Habit) -> Option<String> {
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let mut host =
            Host::new(Box::new(Bad(habit, None)), "flow `a`, its receiver".into(), Bytes::new(1500));
        let mut run = || {
            host.offer(at(1), Offer::Write(Bytes::new(1)))?;
            while host.poll(at(1))?.is_some() {}
            host.check_answered(at(3))
        };
        run().err().map(|breach| breach.to_string())
    }

    #[test]
    fn each_breach_says_who_did_what() {
        let begins = |habit, what: &str| {
            let found = breach_of(habit).unwrap_or_default();
            let expected = format!("flow `a`, its receiver {what}");
            assert!(found.starts_with(&expected), "{found:?} instead of {expected:?}");
        };
        begins(Habit::Silent, "never sent anything");
        begins(Habit::Flood, "sent 65536 datagrams at");
        begins(Habit::Past, "asks at");
        begins(Habit::Panic, "panicked at 1");
        begins(Habit::Oversized, "sent a datagram of 1473 B; at most 1472 B");
        assert_eq!(breach_of(Habit::Sound), None);
    }
}
