//! The registry of congestion controls, and how its lines read.

/// The registry of congestion controls, from which come the choice in a scenario file ([`Congestion`]), the control of
/// a sender ([`Controller`]), its constructor and its static dispatch. A line is
///
/// ```text
/// module: Control(config: Settings) = "name", "What the schema says of it.";
/// module: Control[Part] = "name", "What the schema says of it.";
/// ```
///
/// where the module's file holds the settings with their [`Part`](varicap_units::part::Part), and the control with its
/// `new(&Settings, &Start)`. A control in brackets has no settings: a unit struct answers for it, and its constructor
/// is `new(&Start)`. Each is in a box: else every sender would be as large as the largest control makes it.
macro_rules! controls {
    ($(
        $module:ident: $Control:ident $( ($config:ident: $Config:ident) )? $( [$Unit:ident] )?
            = $name:literal, $doc:literal;
    )+) => {
        $( pub use $module::*; )+

        varicap_units::parts! {
            /// How much may be in flight.
            #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, varicap_units::JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::names)]
            pub enum Congestion {
                $( $Control $( ($config: $Config) )? $( [$module::$Unit] )? = $name, $doc; )+
                Custom(name: String) = "custom",
                    "One written in Python, by the name under which it was given to `varicap.run`.";
                Module(file: String) = "module",
                    "One in C for Linux in simulated time, by its file's name; `--module` gives the file.";
            }
        }
        varicap_units::choice!(Congestion);

        /// The congestion control of a sender: the built-in ones dispatch statically, extensions through a box.
        #[derive(Debug)]
        pub enum Controller {
            $( #[doc = $doc] $Control(Box<$Control>), )+
            /// An extension, from another crate or from Python.
            Boxed(Box<dyn CongestionControl>),
        }

        impl Controller {
            /// The control that `choice` names.
            ///
            /// # Panics
            /// If it is [`Congestion::Custom`]: the caller that registered it makes it, and passes it in
            /// [`Controller::Boxed`]. If it is [`Congestion::Module`], which only a kernel can run.
            pub fn new(choice: &Congestion, start: &Start) -> Controller {
                match choice {
                    $( Congestion::$Control $( ($config) )? => {
                        Controller::$Control(Box::new($Control::new($( $config, )? start)))
                    } )+
                    Congestion::Custom(name) => {
                        panic!("the congestion control {name:?} must be handed over in a box")
                    }
                    Congestion::Module(file) => panic!("{file:?} is a module of a kernel"),
                }
            }
        }

        dispatch!(($( $Control )+ Boxed));
    };
}

/// Calls the same method of whichever control there is.
macro_rules! on {
    (($($Control:ident)+), $self:ident, $control:ident => $call:expr) => {
        match $self {
            $( Controller::$Control($control) => $call, )+
        }
    };
}

/// The state of a control.
macro_rules! state {
    ($control:ident) => {
        ControlState {
            cwnd: $control.cwnd(),
            ssthresh: $control.ssthresh(),
            pacing_rate: $control.pacing_rate(),
            is_holding_back: $control.is_holding_back(),
        }
    };
}

/// A [`Controller`] is the control that it holds.
macro_rules! dispatch {
    ($controls:tt) => {
        impl Controller {
            /// Its state now.
            pub(crate) fn state(&self) -> ControlState {
                on!($controls, self, control => state!(control))
            }
            /// Informs it of an acknowledgement, and writes what its state is then. One dispatch serves both; and as each control has
            /// the sample made for itself, what it does not read is not computed.
            #[inline(always)]
            pub(crate) fn on_ack_then_state<S: Borrow<AckSample>>(
                &mut self,
                sample: impl FnOnce() -> S,
                state: &mut ControlState,
            ) {
                on!($controls, self, control => {
                    control.on_ack(sample().borrow());
                    *state = state!(control);
                })
            }
        }

        impl CongestionControl for Controller {
            #[inline]
            fn on_ack(&mut self, ack: &AckSample) {
                on!($controls, self, control => control.on_ack(ack))
            }
            fn in_ack_event(&mut self, ack: &AckSample) {
                on!($controls, self, control => control.in_ack_event(ack))
            }
            fn on_congestion(&mut self, event: &CongestionEvent) {
                on!($controls, self, control => control.on_congestion(event))
            }
            fn on_recovered(&mut self, now: Time, limit: Bytes) {
                on!($controls, self, control => control.on_recovered(now, limit))
            }
            fn on_undo(&mut self, now: Time) {
                on!($controls, self, control => control.on_undo(now))
            }
            fn on_rate_feedback(&mut self, now: Time, rate: Rate) {
                on!($controls, self, control => control.on_rate_feedback(now, rate))
            }
            fn on_reservation(&mut self, now: Time, rate: Option<Rate>) {
                on!($controls, self, control => control.on_reservation(now, rate))
            }
            fn on_idle(&mut self, restart_window: Bytes) {
                on!($controls, self, control => control.on_idle(restart_window))
            }
            fn cap(&mut self, most: Bytes) {
                on!($controls, self, control => control.cap(most))
            }
            fn on_kept(&mut self, in_flight: Bytes) {
                on!($controls, self, control => control.on_kept(in_flight))
            }
            fn on_unused(&mut self, window: Bytes) {
                on!($controls, self, control => control.on_unused(window))
            }
            fn on_start(&mut self, now: Time, idle: Span) {
                on!($controls, self, control => control.on_start(now, idle))
            }
            fn on_lost(&mut self, now: Time, loss: &Loss) {
                on!($controls, self, control => control.on_lost(now, loss))
            }
            fn on_restart(&mut self, now: Time) {
                on!($controls, self, control => control.on_restart(now))
            }
            fn on_paced(&mut self) {
                on!($controls, self, control => control.on_paced())
            }
            fn on_stream(&mut self, stream: Stream) {
                on!($controls, self, control => control.on_stream(stream))
            }
            #[inline]
            fn is_holding_back(&self) -> bool {
                on!($controls, self, control => control.is_holding_back())
            }
            fn shown(&self) -> &'static [Quantity] {
                on!($controls, self, control => control.shown())
            }
            fn show(&self, values: &mut Vec<f64>) {
                on!($controls, self, control => control.show(values))
            }
            #[inline]
            fn cwnd(&self) -> Bytes {
                on!($controls, self, control => control.cwnd())
            }
            #[inline]
            fn ssthresh(&self) -> Option<Bytes> {
                on!($controls, self, control => control.ssthresh())
            }
            #[inline]
            fn pacing_rate(&self) -> Option<Rate> {
                on!($controls, self, control => control.pacing_rate())
            }
            fn wants(&self) -> Wants {
                on!($controls, self, control => control.wants())
            }
        }
    };
}
