//! Makes the connections that open in a run.

use std::sync::Arc;

use varicap_engine::{Opening, Openings};
use varicap_experiment::{FlowSpec, ReservationSpec, Transport};
use varicap_tcp::congestion::{CongestionControl, Controller};
use varicap_tcp::{Congestion, Receiver, Reservation, Sender};
use varicap_units::{Time, stream_name};

use crate::connection::{Connection, Jitter};
use crate::options::{ControlFactory, DeciderFactory};

/// Makes the connections that are to be opened.
pub struct Openers {
    /// Decides which connections open, and when.
    pub openings: Openings,
    /// Makes congestion controls that are not built in.
    pub controls: Option<Arc<ControlFactory>>,
    /// Makes who decides for the policies of connections.
    pub deciders: Option<Arc<DeciderFactory>>,
}

impl Openers {
    /// The connection of `opening`, which opens at `now`.
    pub fn open(&self, now: Time, opening: &Opening) -> Connection {
        let flow = self.openings.flow(opening.group);
        let Transport::Tcp { tcp, .. } = &flow.transport else {
            unreachable!("a datagram flow opens no connection")
        };
        let custom = match (&tcp.congestion, &self.controls) {
            (Congestion::Custom(name), Some(factory)) => {
                // As the rows of results are called.
                let member = opening.member.filter(|_| flow.count > 1);
                factory(name, &stream_name::connection(&flow.name, member), tcp)
            }
            _ => None,
        };
        let mut sender = match custom {
            Some(control) => Sender::with_control(tcp, now, Controller::Boxed(control)),
            None => Sender::new(tcp, now),
        };
        if let Congestion::Policy(policy) = &tcp.congestion
            && let (Some(source), Some(factory)) = (policy.source(), &self.deciders)
            && let Some(decider) = factory(source, &stream_name::connection(&flow.name, opening.member))
        {
            sender.set_decider(decider);
        }
        if sender.control().wants().random {
            let connection = stream_name::connection(&flow.name, opening.member);
            let stream = self.openings.streams().stream(&stream_name::control(&connection));
            sender = sender.drawing_from(stream);
        }
        if flow.feedback.as_ref().is_some_and(|feedback| feedback.cap) {
            sender = sender.capped();
        }
        let member = opening.member.unwrap_or(0);
        if let Some(reservation) = &flow.reservation {
            self.reserve(now, flow, member, &mut sender, reservation);
        }
        let app = self.openings.application(now, opening);
        let meters = self.openings.meters(opening.group, opening.member);
        let mut receiver = Receiver::new(tcp, now);
        if sender.control().wants().each_mark {
            receiver.echo_each_mark();
        }
        let mut connection = Connection::new(sender, receiver, app, opening, meters);
        connection.is_relayed = self.openings.is_relayed(opening.group);
        connection.buffer = flow.abr.as_ref().map(|abr| abr.link(member) as u32);
        if opening.member.is_some() {
            let stream = || self.openings.streams().stream(&stream_name::jitter(&flow.name, member));
            connection.delay_answers(Jitter::new(flow.jitter, stream));
        }
        connection
    }

    /// Gives a sender that begins at `now` its reservation, with the rate that is reserved then.
    fn reserve(
        &self,
        now: Time,
        flow: &FlowSpec,
        member: u32,
        sender: &mut Sender,
        reservation: &ReservationSpec,
    ) {
        let rate = reservation.rate_at(now);
        if reservation.marked_at.is_some() {
            return sender.set_reserved_rate(now, rate);
        }
        let stream = self.openings.streams().stream(&stream_name::delay(&flow.name, member));
        let terms = Reservation { rate, ..reservation.terms.clone() };
        sender.reserve(now, &terms, stream);
    }
}
