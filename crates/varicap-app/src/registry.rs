//! The common interface of all applications, and the macro that makes a choice of them.

use varicap_units::part::Part;
use varicap_units::{Bytes, Rate, Stream, Time};

use crate::playback::Watched;

/// An action of an application at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Offers this many bytes more; [`Bytes::MAX`] stands for an endless supply.
    Write(Bytes),
    /// Takes back what has not been sent yet.
    Withdraw,
    /// Will offer nothing more: the connection may be closed once all is acknowledged.
    End,
}

/// The settings of an application, from which its behaviour at each connection is made.
pub trait Application: Part {
    /// Its behaviour at one connection.
    type Feed: Feeding;

    /// Its behaviour at a connection that opens now.
    fn feed(&self, start: &Start<'_>) -> Self::Feed;

    /// How many packets with `mss` bytes of data it offers in `seconds` on one connection, or all of its transfers
    /// together: an estimate of the work before a run.
    fn packets(&self, mss: f64, seconds: f64) -> f64;

    /// How many times it acts by itself in `seconds` on one connection, whether or not anything is sent: another
    /// estimate of the work before a run.
    fn actions(&self, _mss: f64, _seconds: f64) -> f64 {
        0.0
    }
}

/// The circumstances in which a connection opens.
pub struct Start<'a> {
    /// The instant at which it opens.
    pub at: Time,
    /// Most data in one packet [B].
    pub mss: Bytes,
    /// The size of the transfer that this connection carries, if that was decided elsewhere: by an arrival, or by the
    /// flow that is relayed.
    pub size: Option<Bytes>,
    /// Makes the application's random stream, for one that needs it.
    pub stream: &'a dyn Fn() -> Stream,
}

/// The behaviour of an application at one connection: poll it until `None`, then again at [`Feeding::poll_at`].
pub trait Feeding {
    /// The next of its actions that are due by `now`.
    fn poll(&mut self, now: Time) -> Option<Offer>;

    /// The instant of its next action.
    fn poll_at(&self) -> Time;

    /// Whether it has, or waits for, something to send; a flow that is not active takes no share of a link.
    fn is_active(&self) -> bool {
        true
    }

    /// Whether it may withdraw data that it has offered.
    fn withdraws(&self) -> bool {
        false
    }

    /// The size of its transfer, if it carries exactly one.
    fn size(&self) -> Option<Bytes> {
        None
    }

    /// How much data must have been delivered in order, since its connection opened, for [`Feeding::on_delivered`] to be
    /// called next; [`u64::MAX`]: never [B].
    fn awaits(&self) -> u64 {
        u64::MAX
    }

    /// Notes that `delivered` bytes have been delivered in order by `now`, all that it awaited. It must then be polled.
    fn on_delivered(&mut self, _now: Time, _delivered: u64) {
        debug_assert!(false, "this application awaits no data");
    }

    /// The network advertises `rate` to its connection; unlimited: it is no longer known.
    fn hear(&mut self, _rate: Rate) {}

    /// The playback up to `now`, if there is one.
    fn watched(&self, _now: Time) -> Watched {
        Watched::default()
    }

    /// Notes that the connection that it relays has delivered `bytes` more at `now`, the last ones if `is_last`.
    fn relay(&mut self, _now: Time, _bytes: Bytes, _is_last: bool) {
        debug_assert!(false, "only a relay takes over what another connection delivers");
    }
}

impl<F: Feeding> Feeding for Box<F> {
    fn poll(&mut self, now: Time) -> Option<Offer> {
        (**self).poll(now)
    }

    fn poll_at(&self) -> Time {
        (**self).poll_at()
    }

    fn is_active(&self) -> bool {
        (**self).is_active()
    }

    fn withdraws(&self) -> bool {
        (**self).withdraws()
    }

    fn size(&self) -> Option<Bytes> {
        (**self).size()
    }

    fn relay(&mut self, now: Time, bytes: Bytes, is_last: bool) {
        (**self).relay(now, bytes, is_last);
    }

    fn awaits(&self) -> u64 {
        (**self).awaits()
    }

    fn on_delivered(&mut self, now: Time, delivered: u64) {
        (**self).on_delivered(now, delivered);
    }

    fn hear(&mut self, rate: Rate) {
        (**self).hear(rate);
    }

    fn watched(&self, now: Time) -> Watched {
        (**self).watched(now)
    }
}

/// The registry of applications: as [`varicap_units::parts!`], with the behaviour of each after `feeds`. Generates in
/// addition the enum of behaviours and its dispatch.
macro_rules! apps {
    (
        $(#[$meta:meta])*
        pub enum App {
            $(
                $(#[$variant_meta:meta])*
                $Variant:ident $( ( $inner:ident : $Inner:ty ) )? $( [ $unit:path ] )? feeds $Feed:ty = $name:literal, $doc:literal;
            )+
        }
    ) => {
        varicap_units::parts! {
            $(#[$meta])*
            pub enum App {
                $( $(#[$variant_meta])* $Variant $( ( $inner : $Inner ) )? $( [ $unit ] )? = $name, $doc; )+
            }
        }

        impl App {
            /// Its behaviour at a connection that opens now.
            pub fn feed(&self, start: &Start<'_>) -> Feed {
                match self {
                    $( App::$Variant $( ( $inner ) )? => {
                        Feed::$Variant(Application::feed($( $inner )? $( &$unit )?, start))
                    } )+
                }
            }

            /// How many packets with `mss` bytes of data it offers in `seconds`; see [`Application::packets`].
            pub fn packets(&self, mss: f64, seconds: f64) -> f64 {
                match self {
                    $( App::$Variant $( ( $inner ) )? => {
                        Application::packets($( $inner )? $( &$unit )?, mss, seconds)
                    } )+
                }
            }

            /// How many times it acts by itself in `seconds`; see [`Application::actions`].
            pub fn actions(&self, mss: f64, seconds: f64) -> f64 {
                match self {
                    $( App::$Variant $( ( $inner ) )? => {
                        Application::actions($( $inner )? $( &$unit )?, mss, seconds)
                    } )+
                }
            }
        }

        /// The behaviour of an application at one connection.
        #[derive(Debug)]
        pub enum Feed {
            $( #[doc = $doc] $Variant($Feed), )+
        }

        impl Feeding for Feed {
            fn poll(&mut self, now: Time) -> Option<Offer> {
                match self { $( Feed::$Variant(feed) => feed.poll(now), )+ }
            }

            fn poll_at(&self) -> Time {
                match self { $( Feed::$Variant(feed) => feed.poll_at(), )+ }
            }

            fn is_active(&self) -> bool {
                match self { $( Feed::$Variant(feed) => feed.is_active(), )+ }
            }

            fn withdraws(&self) -> bool {
                match self { $( Feed::$Variant(feed) => feed.withdraws(), )+ }
            }

            fn size(&self) -> Option<Bytes> {
                match self { $( Feed::$Variant(feed) => feed.size(), )+ }
            }

            fn relay(&mut self, now: Time, bytes: Bytes, is_last: bool) {
                match self { $( Feed::$Variant(feed) => feed.relay(now, bytes, is_last), )+ }
            }

            fn awaits(&self) -> u64 {
                match self { $( Feed::$Variant(feed) => feed.awaits(), )+ }
            }

            fn on_delivered(&mut self, now: Time, delivered: u64) {
                match self { $( Feed::$Variant(feed) => feed.on_delivered(now, delivered), )+ }
            }

            fn hear(&mut self, rate: Rate) {
                match self { $( Feed::$Variant(feed) => feed.hear(rate), )+ }
            }

            fn watched(&self, now: Time) -> Watched {
                match self { $( Feed::$Variant(feed) => feed.watched(now), )+ }
            }
        }
    };
}
pub(crate) use apps;
