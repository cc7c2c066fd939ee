//! The registry of recoveries, and how its lines read.

/// The registry of recoveries: the choice in a scenario file, and the static dispatch to the chosen rules. A line names
/// the unit struct that answers for the choice, or its settings, and the rules that run it.
macro_rules! recoveries {
    ($( $Variant:ident $( [$unit:path] )? $( ($config:ident: $Config:ty) )? runs $Rules:ty = $name:literal, $doc:literal; )+) => {
        varicap_units::parts! {
            /// The rule by which data is retransmitted and recovery ends.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, varicap_units::JsonSchema)]
            #[serde(remote = "Self")]
            #[schemars(transform = varicap_units::schema::names)]
            pub enum Recovery {
                $( $Variant $( [$unit] )? $( ($config: $Config) )? = $name, $doc; )+
            }
        }
        varicap_units::choice!(Recovery);

        impl Recovery {
            /// Whether it uses selective acknowledgements.
            pub fn is_selective(self) -> bool {
                match self { $( Recovery::$Variant { .. } => <$Rules as Rules>::SELECTIVE, )+ }
            }

            /// Whether it keeps a record of each segment in flight.
            pub fn tracks(self) -> bool {
                match self { $( Recovery::$Variant { .. } => <$Rules as Rules>::TRACKS, )+ }
            }

            /// Whether it takes reports of what arrived out of order apart from other acknowledgements.
            fn takes_reports(self) -> bool {
                match self { $( Recovery::$Variant { .. } => <$Rules as Rules>::REPORTS, )+ }
            }
        }

        /// The rules of the chosen recovery.
        // In a box each is as large as itself: there may be 100,000 of the smaller ones.
        #[derive(Clone, Debug)]
        enum Chosen {
            $( $Variant(Box<$Rules>), )+
        }

        impl Chosen {
            fn new(config: &TcpConfig) -> Chosen {
                match config.recovery { $( Recovery::$Variant { .. } => Chosen::$Variant(Box::new(Rules::new(config))), )+ }
            }
            fn place(&self) -> Place {
                match self { $( Chosen::$Variant(rules) => Place::of(&**rules), )+ }
            }
            fn far(&self) -> Option<Place> {
                match self { $( Chosen::$Variant(rules) => rules.far(), )+ }
            }
            #[inline]
            fn on_ack(
                &mut self,
                common: &mut Common,
                space: &SequenceSpace,
                arrival: &Arrival<'_>,
                reaction: &mut Reaction,
            ) {
                match self { $( Chosen::$Variant(rules) => rules.on_ack(common, space, arrival, reaction), )+ }
            }
            #[inline]
            fn on_report(&mut self, common: &mut Common, space: &SequenceSpace, segment: &Segment) -> Option<Signal> {
                match self { $( Chosen::$Variant(rules) => rules.on_report(common, space, segment), )+ }
            }
            fn on_timeout(&mut self, common: &mut Common, space: &SequenceSpace, expiry: &Expiry) -> bool {
                match self { $( Chosen::$Variant(rules) => rules.on_timeout(common, space, expiry), )+ }
            }
            #[inline]
            fn on_sent(&mut self, common: &mut Common, now: Time, data: (u64, u64)) {
                match self { $( Chosen::$Variant(rules) => rules.on_sent(common, now, data), )+ }
            }
            #[inline]
            fn on_expected(&mut self, now: Time, space: &SequenceSpace) -> Option<Span> {
                match self { $( Chosen::$Variant(rules) => rules.on_expected(now, space), )+ }
            }
            fn on_reorder_timeout(&mut self, common: &mut Common, space: &SequenceSpace, clock: Clock) -> Reaction {
                match self { $( Chosen::$Variant(rules) => rules.on_reorder_timeout(common, space, clock), )+ }
            }
            #[inline]
            fn head_left_at(&self) -> Option<Time> {
                match self { $( Chosen::$Variant(rules) => rules.head_left_at(), )+ }
            }
            fn is_probing(&self) -> bool {
                match self { $( Chosen::$Variant(rules) => rules.is_probing(), )+ }
            }
            fn tail(&self) -> Option<(u64, u64)> {
                match self { $( Chosen::$Variant(rules) => rules.tail(), )+ }
            }
            fn on_probe(&mut self, common: &mut Common, space: &SequenceSpace, is_resent: bool) {
                match self { $( Chosen::$Variant(rules) => rules.on_probe(common, space, is_resent), )+ }
            }
            fn next_resend(&mut self, common: &mut Common, space: &SequenceSpace, room: bool) -> Option<(u64, u64)> {
                match self { $( Chosen::$Variant(rules) => rules.next_resend(common, space, room), )+ }
            }
            fn last_resort(&mut self, common: &mut Common, space: &SequenceSpace) -> Option<(u64, u64)> {
                match self { $( Chosen::$Variant(rules) => rules.last_resort(common, space), )+ }
            }
            fn beliefs(&self) -> Option<Beliefs> {
                match self { $( Chosen::$Variant(rules) => rules.beliefs(), )+ }
            }
            fn order(&self) -> Option<Order> {
                match self { $( Chosen::$Variant(rules) => rules.order(), )+ }
            }
        }
    };
}
