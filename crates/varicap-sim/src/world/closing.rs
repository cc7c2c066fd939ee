//! How connections end: their transfers are over when their senders know it, and their slots are free once nobody waits any
//! more.

use varicap_units::Time;

use super::{World, note_activity};
use crate::packet::Packet;

impl World {
    /// Closes a connection whose transfer is over, and frees its slot, unless its receiver waits for the acknowledgement of its
    /// FIN: the sender has left that to [`World::arrive_late`] (RFC 9293 §3.3.2: TIME-WAIT, which takes nothing but the slot).
    #[cold]
    pub(super) fn close(&mut self, now: Time, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        debug_assert!(connection.is_open(), "connection {owner} is closed twice");
        connection.close();
        self.net.cancel_wakes(owner);
        let group = connection.group;
        if let Some(feedback) = &mut self.feedback {
            feedback.state.on_close(group, owner);
            if connection.app.is_active() {
                note_activity(&mut self.feedback, &mut self.net, now, group, false);
            }
        }
        let marked_losses = self.net.marked_losses().take(owner);
        self.observer.on_close(connection, now, marked_losses);
        self.openers.openings.on_close(group);
        let connection = &mut self.connections[owner as usize];
        if connection.lingers() {
            self.net.queue.wake_by(self.net.nodes().connection(owner), connection.poll_at());
        } else {
            self.free.push(owner);
        }
        if self.connections[owner as usize].asks {
            self.ask(now, owner);
        }
    }

    /// A packet arrived at a connection that is over. What is no straggler of an earlier one may be the acknowledgement of the
    /// receiver's FIN, or that FIN again, which the sender acknowledges again.
    #[cold]
    #[inline(never)]
    pub(super) fn arrive_late(&mut self, now: Time, packet: Packet) {
        let (net, owner) = (&mut self.net, packet.owner());
        let connection = &mut self.connections[owner as usize];
        if !connection.lingers_for(&packet) {
            return;
        }
        let segment = *net.arrived(&packet);
        if packet.is_reverse() {
            connection.sender.push_late(now, &segment);
            net.send_data(now, connection);
        } else {
            connection.receiver.push_late(now, &segment);
            net.send_ack(now, connection);
        }
        if connection.receiver.is_closing() {
            return net.queue.wake_by(net.nodes().connection(owner), connection.poll_at());
        }
        connection.end_lingering();
        net.cancel_wakes(owner);
        self.free.push(owner);
    }

    /// A connection that is over is woken: its receiver may have to send its FIN again.
    #[cold]
    pub(super) fn linger(&mut self, now: Time, owner: u32) {
        let connection = &mut self.connections[owner as usize];
        let mut due = Time::NEVER;
        if connection.lingers() {
            self.net.send_ack(now, connection);
            due = connection.poll_at();
        }
        self.net.queue.reschedule(self.net.nodes().connection(owner), due);
    }
}

#[cfg(test)]
mod tests {
    use varicap_experiment::Scenario;
    use varicap_units::{Span, Streams};

    use super::*;
    use crate::options::Options;

    /// The way back ends after the handshake: the receiver has all data and the FIN, and sends its own again and again, while
    /// the sender hears nothing and gives up. Nothing will acknowledge that FIN.
    #[test]
    fn the_slot_of_a_sender_that_gave_up_is_free_whatever_its_receiver_waits_for() {
        let toml = "duration = '20 s'\n\
            [topology.dumbbell]\n\
            forward = { capacity = '10 Mb/s', delay = '10 ms', queue = { drop-tail = { limit = '20 packets' } } }\n\
            reverse = { capacity = { steps = { at = ['0 s', '25 ms'], rates = ['10 Mb/s', '0 bit/s'] } }, \
            queue = { drop-tail = { limit = '20 packets' } } }\n\
            [flows.f]\napp = { transfer = { size = '3 kB' } }\n\
            tcp = { stack = 'linux', timer = { linux = { retries2 = 1 } } }\n";
        let scenario = Scenario::from_toml(toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        let networks = scenario.networks(&mut |name| Err(format!("no file {name} in a test")));
        let mut world =
            World::new(&networks.unwrap()[0], Streams::new(1, 0), None, None, &Options::default());
        let mut reach = |millis| {
            assert!(world.run_until(Time::ZERO + Span::from_millis(millis), &mut |_| true));
            let connection = &world.connections[0];
            (
                connection.is_open(),
                connection.sender.gave_up(),
                connection.receiver.is_closing(),
                world.free.clone(),
            )
        };
        assert_eq!(reach(100), (true, false, true, vec![]));
        assert_eq!(reach(10_000), (false, true, true, vec![0]));
    }
}
