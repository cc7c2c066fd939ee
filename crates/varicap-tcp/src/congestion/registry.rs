//! What a line in the registry of congestion controls stands for.

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
/// is `new(&Start)`. A control that is marked `inline` learns of new data without a call; rounds are not counted for
/// it, and it must want nothing. Reno is: with the whole sample and a call, the example `loopback` takes 686
/// instructions a packet, not 585. It alone is part of its sender: of others, the largest would say how large each is.
macro_rules! controls {
    ($(
        $module:ident: $Control:ident $( ($config:ident: $Config:ident) )? $( [$Unit:ident] )? $( $inline:ident )?
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
            $( #[doc = $doc] $Control(kept!($( $inline )? $Control)), )+
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
                        Controller::$Control($Control::new($( $config, )? start).into())
                    } )+
                    Congestion::Custom(name) => {
                        panic!("the congestion control {name:?} must be handed over in a box")
                    }
                    Congestion::Module(file) => panic!("{file:?} is a module of a kernel"),
                }
            }
        }

        impl Controller {
            /// Whether the control is to learn of new data in line.
            #[inline]
            pub(crate) fn is_in_line(&self) -> bool {
                match self {
                    $( $( Controller::$Control(_) => in_line!($inline, true), )? )+
                    _ => false,
                }
            }

            /// The control, if it is to learn of new data in line.
            #[inline]
            pub(crate) fn in_line(&mut self) -> Option<&mut impl CongestionControl> {
                match self {
                    $( $( Controller::$Control(control) => in_line!($inline, control), )? )+
                    _ => None,
                }
            }
        }

        dispatch!(($( $Control )+ Boxed));
    };
}

/// How a sender keeps a control: by itself if its line is marked `inline`, else in a box.
macro_rules! kept {
    (inline $Control:ident) => {
        $Control
    };
    ($Control:ident) => {
        Box<$Control>
    };
}

/// The control of a line that is marked `inline`; of one line at most.
macro_rules! in_line {
    (inline, true) => {
        true
    };
    (inline, $control:ident) => {
        Some($control)
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

/// What a control says.
macro_rules! says {
    ($control:ident) => {
        Says {
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
            /// What it says now.
            pub(crate) fn says(&self) -> Says {
                on!($controls, self, control => says!(control))
            }
            /// Informs it of an acknowledgement; what it says then.
            pub(crate) fn hear(&mut self, ack: &AckSample) -> Says {
                on!($controls, self, control => {
                    control.on_ack(ack);
                    says!(control)
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
            fn shown(&self) -> &'static [Shown] {
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
