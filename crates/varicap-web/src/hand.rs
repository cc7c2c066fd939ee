//! A congestion control whose window somebody else sets while the run goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use varicap_sim::ControlFactory;
use varicap_tcp::TcpConfig;
use varicap_tcp::congestion::{AckSample, CongestionControl, CongestionEvent};
use varicap_units::Bytes;

/// The name under which scenarios have it: `congestion = { custom = "hand" }`.
pub const NAME: &str = "hand";
/// The window that nobody has set yet [packets].
const FIRST_WINDOW: f64 = 10.0;

/// The window that a hand sets, shared by all controls of a run.
#[derive(Clone, Debug)]
pub struct Hand {
    /// In thousandths of a packet.
    window: Arc<AtomicU64>,
}

impl Default for Hand {
    fn default() -> Hand {
        let hand = Hand { window: Arc::default() };
        hand.set(FIRST_WINDOW);
        hand
    }
}

impl Hand {
    /// Sets the window [packets].
    pub fn set(&self, window: f64) {
        // As a cast: NaN and what is negative become zero, and the window at least a segment.
        self.window.store((window * 1e3) as u64, Ordering::Relaxed);
    }

    /// Makes the controls of a run.
    pub fn factory(&self) -> Arc<ControlFactory> {
        let hand = self.clone();
        Arc::new(move |name: &str, _: &str, config: &TcpConfig| {
            let held = Held { hand: hand.clone(), mss: config.mss };
            (name == NAME).then(|| Box::new(held) as Box<dyn CongestionControl>)
        })
    }
}

/// The control of one connection. It has no opinion of its own about losses.
#[derive(Debug)]
struct Held {
    hand: Hand,
    mss: Bytes,
}

impl CongestionControl for Held {
    fn on_ack(&mut self, _: &AckSample) {}

    fn on_congestion(&mut self, _: &CongestionEvent) {}

    fn on_idle(&mut self, _: Bytes) {}

    fn cwnd(&self) -> Bytes {
        let thousandths = self.hand.window.load(Ordering::Relaxed);
        let window = self.mss.as_u64().saturating_mul(thousandths) / 1000;
        Bytes::new(window).max(self.mss)
    }
}
