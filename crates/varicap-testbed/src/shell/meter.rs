//! The live line: throughput, capacity, backlog and losses of a shell's link.

use std::fmt::Write as _;
use std::io::Write as _;

use varicap_experiment::Network;
use varicap_units::{NANOS_PER_SEC, Rate, Span, Time};

use crate::net::Net;
use crate::packet::Packet;

/// The interval at which the line is updated.
const INTERVAL: Span = Span::from_millis(500);
/// The maximum length of the line, which must not wrap [characters].
const WIDTH: usize = 79;

/// Where the live line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Nowhere.
    Nowhere,
    /// In one line of the terminal, which is overwritten.
    Line,
    /// In the title of the terminal's window, which leaves the terminal to the command.
    Title,
}

/// Counts packets, and shows the live line.
pub struct Meter {
    show: Show,
    /// The instant at which the line is shown next.
    pub due: Time,
    last: Time,
    /// The direction from the command to the network outside, then the one back.
    ways: [OneWay; 2],
}

/// One direction of the link.
struct OneWay {
    arrow: char,
    links: Box<[usize]>,
    /// Data carried since the line was last shown [B].
    carried: u64,
}

impl Meter {
    /// A meter for a network whose first flow sends from the command to the network outside.
    pub fn new(show: Show, network: &Network) -> Meter {
        let routes = network.flows.first().map(|flow| (flow.forward.clone(), flow.reverse.clone()));
        let (up, down) = routes.unwrap_or_default();
        let way = |arrow, links: Vec<usize>| OneWay { arrow, links: links.into(), carried: 0 };
        let due = if show == Show::Nowhere { Time::NEVER } else { Time::ZERO + INTERVAL };
        Meter { show, due, last: Time::ZERO, ways: [way('↑', up), way('↓', down)] }
    }

    /// Counts a packet that has passed the link.
    pub fn on_packet(&mut self, packet: &Packet) {
        if let Some(way) = self.ways.get_mut(usize::from(packet.route)) {
            way.carried += u64::from(packet.size);
        }
    }

    /// Shows the line with what has passed since the last time.
    pub fn show(&mut self, now: Time, net: &mut Net) {
        net.advance(now);
        let span = now.since(self.last).as_nanos().max(1);
        let mut line = String::new();
        for way in &mut self.ways {
            let bits = u128::from(8 * std::mem::take(&mut way.carried));
            let rate = bits * u128::from(NANOS_PER_SEC) / u128::from(span);
            let hops = || way.links.iter().map(|link| &net.hops[*link]);
            let capacity = hops().map(|hop| hop.link.rate()).min().unwrap_or(Rate::UNLIMITED);
            let waiting: u32 = hops().map(|hop| hop.link.backlog().frames).sum();
            let lost: u64 =
                way.links.iter().map(|link| net.hops[*link].meter.totals(now).lost_frames()).sum();
            let rate = u64::try_from(rate).map_or(Rate::UNLIMITED, Rate::from_bps);
            let (rate, capacity) = (megabits(rate), megabits(capacity));
            let _ = write!(line, "{} {rate}/{capacity} Mb/s, {waiting} wait, {lost} lost  ", way.arrow);
        }
        (self.last, self.due) = (now, now + INTERVAL);
        let line: String = line.trim_end().chars().take(WIDTH).collect();
        self.put(&line);
    }

    /// Clears the line or the title.
    pub fn clear(&self) {
        self.put("");
    }

    fn put(&self, line: &str) {
        let text = match self.show {
            Show::Nowhere => return,
            Show::Line => format!("\r\x1b[2K{line}"),
            Show::Title => format!("\x1b]2;{line}\x07"),
        };
        // A terminal that has been closed is no reason to stop.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// A rate in Mb/s, with two decimals.
fn megabits(rate: Rate) -> String {
    if rate.is_unlimited() { "∞".to_owned() } else { format!("{:.2}", rate.as_bps() as f64 / 1e6) }
}
