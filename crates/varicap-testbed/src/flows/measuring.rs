//! Measurements of the senders: samples of the kernel's state of each, and totals.

use varicap_experiment::Transport;
use varicap_experiment::measure::SenderTotals;
use varicap_tcp::State;
use varicap_units::Time;

use super::datagrams::Datagrams;
use super::{Endpoints, Samples};
use crate::fidelity::Wakes;
use crate::sockets::TcpInfo;
use crate::sys;

impl Endpoints {
    pub(super) fn sample(&mut self, now: Time) {
        for slot in 0..self.connections.len() {
            self.take_info(slot as u32, now);
        }
    }

    /// Queries the kernel's state of a sender.
    pub(super) fn take_info(&mut self, slot: u32, now: Time) {
        let Some(connection) = &mut self.connections[slot as usize] else { return };
        let Ok(info) = TcpInfo::of(&connection.sender) else { return };
        let state = info.state();
        if state == State::Recovery && connection.state != State::Recovery {
            connection.fast_retransmits += 1;
        }
        connection.state = state;
        let (fast_retransmits, gave_up) = (connection.fast_retransmits, connection.gave_up.into());
        connection.last = SenderTotals { fast_retransmits, gave_up, ..info.totals() };
        let meter = connection.meter as usize;
        let Transport::Tcp { tcp, .. } = &self.flows[usize::from(connection.group)].transport else { return };
        let standing = info.sender_state(tcp.mss);
        if connection.member.is_some() {
            if info.is_established() {
                self.meters[meter].on_cwnd(now, standing.cwnd);
            }
            self.standing[meter] = Some(standing);
        }
        if connection.outbox.offered == u64::MAX && info.is_established() {
            let samples = &mut self.samples[meter];
            samples.all += 1;
            if info.unsent() == 0 {
                let has_room = sys::is_writable(&connection.sender);
                *(if has_room { &mut samples.starved } else { &mut samples.full }) += 1;
            }
            samples.slow_recovery += u64::from(state == State::Recovery && !tcp.recovery.is_selective());
        }
    }

    /// The totals of the senders of each meter so far.
    pub fn sender_totals(&mut self, now: Time) -> Vec<SenderTotals> {
        self.sample(now);
        let mut totals = self.over.clone();
        for connection in self.connections.iter().flatten() {
            let total = &mut totals[connection.meter as usize];
            *total = total.plus(&connection.last);
            total.watch(&connection.app.watched(now));
        }
        for Datagrams { meter, source, .. } in &self.datagrams {
            let total = &mut totals[*meter as usize];
            total.sent_packets += source.sent;
            total.watch(&source.watched());
        }
        totals
    }

    /// Ends the warm-up: measuring begins at `now`.
    pub fn begin_measuring(&mut self, now: Time) {
        let totals = self.sender_totals(now);
        self.meters.iter_mut().zip(totals).for_each(|(meter, sender)| meter.reset(now, sender));
        self.samples.fill(Samples::default());
        self.wakes = Wakes::default();
    }
}
