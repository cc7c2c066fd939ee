//! The macro behind the registry of queues: one line makes a queue known to scenarios and to links.

/// Generates [`QueueConfig`](super::QueueConfig), the choice of a scenario, and `Chosen`, the queue of a link, from one line
/// for each queue:
///
/// ```text
/// codel::CoDel(CoDelConfig) = "codel", "Controlled delay. Source: RFC 8289.";
/// ```
///
/// that is the module with the queue `CoDel<F>` and its configuration `CoDelConfig`, the name in a scenario, and what the
/// schema says of it. The queue implements [`QueueDiscipline`](super::QueueDiscipline) and has a constructor
/// `new(&CoDelConfig, &Site) -> CoDel<F>`; the configuration implements [`QueuePart`](super::QueuePart) and `Part`.
/// Dispatch is static.
macro_rules! queues {
    ( $( $module:ident :: $Queue:ident ( $Config:ident ) = $name:literal, $doc:literal; )+ ) => {
        $( pub use $module::$Queue; )+

        /// The settings of each queue in a scenario.
        pub mod config {
            pub use super::QueueConfig;
            $( pub use super::$module::$Config; )+
        }
        $( use config::$Config; )+

        varicap_units::parts! {
            /// The queue in front of the server.
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::names)]
            pub enum QueueConfig {
                $( $Queue(config: $Config) = $name, $doc; )+
            }
        }
        varicap_units::choice!(QueueConfig);

        impl QueueConfig {
            /// The chosen configuration, as the rest of a scenario sees it.
            fn part(&self) -> &dyn QueuePart {
                match self {
                    $( QueueConfig::$Queue(config) => config, )+
                }
            }
        }

        /// A queue that a scenario chose, dispatched without a pointer to its functions.
        #[derive(Debug)]
        pub(crate) enum Chosen<F> {
            $( #[doc = $doc] $Queue(Box<$Queue<F>>), )+
        }

        impl<F: Frame> Chosen<F> {
            /// The queue of `config`, empty, where `site` says.
            pub fn new(config: &QueueConfig, site: &Site<'_>) -> Chosen<F> {
                match config {
                    $( QueueConfig::$Queue(config) => Chosen::$Queue(Box::new($Queue::new(config, site))), )+
                }
            }
        }

        impl<F: Frame> QueueDiscipline<F> for Chosen<F> {
            fn enqueue<W: Watch<F>>(&mut self, now: Time, frame: F, transmitter: Transmitter, watch: &mut W) {
                match self {
                    $( Chosen::$Queue(queue) => queue.enqueue(now, frame, transmitter, watch), )+
                }
            }

            fn dequeue<W: Watch<F>>(&mut self, now: Time, supply: Supply, watch: &mut W) -> Option<Waiting<F>> {
                match self {
                    $( Chosen::$Queue(queue) => queue.dequeue(now, supply, watch), )+
                }
            }

            fn backlog(&self) -> Backlog {
                match self {
                    $( Chosen::$Queue(queue) => queue.backlog(), )+
                }
            }

            fn on_rate(&mut self, now: Time, rate: Rate) {
                match self {
                    $( Chosen::$Queue(queue) => queue.on_rate(now, rate), )+
                }
            }

            fn set_limit(&mut self, limit: Limit) {
                match self {
                    $( Chosen::$Queue(queue) => queue.set_limit(limit), )+
                }
            }

            fn ready_at(&self) -> Time {
                match self {
                    $( Chosen::$Queue(queue) => queue.ready_at(), )+
                }
            }

            fn supply(&mut self, supply: &mut SupplyQueue<'_>) {
                match self {
                    $( Chosen::$Queue(queue) => queue.supply(supply), )+
                }
            }
        }
    };
}

pub(super) use queues;
