//! Applications: what a TCP flow transfers, and when its data is offered.
//!
//! One application is one file, with its settings, their check, and its behaviour at a connection, and one line in the
//! registry below. This crate lies under both the scenario, which holds the settings, and the engines, which run the
//! behaviour; so neither has to know of a new one.

mod arrivals;
mod bitrate;
mod framed;
mod greedy;
mod on_off;
mod playback;
mod real_time;
mod registry;
mod relay;
mod rules;
mod sizes;
mod transfer;
mod video;

use serde::{Deserialize, Serialize};
use varicap_units::{Bytes, JsonSchema, Rate, Time};

pub use arrivals::{Arrivals, TransferArrivals};
pub use framed::{Framed, FramedEncoder};
pub use greedy::{Endless, Greedy};
pub use on_off::{OnOff, OnOffFeed};
pub use playback::Watched;
pub use real_time::{Encoder, RealTime};
pub use registry::{Application, Feeding, Offer, Start};
pub use relay::{Relay, Relayed};
pub use rules::{Bba, Bola, RateBased, VideoRule};
pub use sizes::{Lognormal, Pareto, Sizes};
pub use transfer::{Transfer, Whole};
pub use video::{Player, Video};

registry::apps! {
    /// The data that a TCP flow transfers.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(remote = "Self")]
    #[schemars(transform = varicap_units::schema::names)]
    pub enum App {
        #[default]
        Greedy[Greedy] feeds Endless = "greedy", "Always more to send.";
        Transfer(config: Transfer) feeds Whole = "transfer", "One transfer.";
        Arrivals(config: Arrivals) feeds Whole = "arrivals", "Transfers that arrive at random, each on a connection of its own.";
        OnOff(config: OnOff) feeds Box<OnOffFeed> = "on-off", "Active and silent periods in turn.";
        Video(config: Video) feeds Box<Player> = "video", "Adaptive video, fetched segment by segment.";
        RealTime(config: RealTime) feeds Box<Encoder> = "real-time", "A camera whose encoder follows what the network delivers in time.";
        Relay(config: Relay) feeds Relayed = "relay", "What another flow delivers, on a connection of its own: a proxy that splits connections.";
    }
}
varicap_units::choice!(App);

impl App {
    /// Whether it heeds the rate that the network advertises.
    pub fn heeds(&self) -> bool {
        match self {
            App::Video(video) => video.heed,
            App::RealTime(camera) => camera.heed,
            _ => false,
        }
    }
}
