//! When connections are woken: in the event list soon, and in a timing wheel what is far off.

use varicap_units::Time;

use super::World;
use crate::connection::Connection;
use crate::net::Net;
use crate::wheel::Wheel;

/// So many connections ahead begins what comes near to be loaded.
const AHEAD: usize = 8;

impl Net {
    /// Makes sure that connection `owner` is woken at `at` at the latest.
    #[inline(always)]
    pub(super) fn wake_connection(&mut self, now: Time, owner: u32, connection: &mut Connection, at: Time) {
        self.assert_awaited(owner, connection);
        if at < connection.wake {
            self.wake_sooner(now, owner, connection, at);
        }
    }

    #[inline(never)]
    fn wake_sooner(&mut self, now: Time, owner: u32, connection: &mut Connection, at: Time) {
        if connection.wake.is_never() || self.wheel.remove(owner) {
            return self.wake_anew(now, owner, connection, at);
        }
        self.scheduler.wake_by(self.nodes().connection(owner), at);
        connection.wake = at;
    }

    /// Wakes connection `owner` at `at`, and at no other time; it is not in the wheel.
    fn wake_anew(&mut self, now: Time, owner: u32, connection: &mut Connection, at: Time) {
        let node = self.nodes().connection(owner);
        debug_assert!(!self.wheel.holds(owner));
        connection.wake = at;
        if !at.is_never() && Wheel::is_far(now, at) && self.scheduler.sorts(node) {
            let opens_at = self.wheel.insert(owner, now, at);
            self.scheduler.open_by(opens_at);
        } else {
            self.scheduler.wake(node, at);
        }
    }

    /// Connection `owner` was polled at `now` and wants to be polled at `at`: its wakes up to `now` are over, a later one
    /// stays as in [`Net::wake_connection`].
    #[inline(always)]
    pub(super) fn end_wake(&mut self, now: Time, owner: u32, connection: &mut Connection, at: Time) {
        debug_assert!(at > now, "connection {owner} was polled at {now:?} and still wants to be");
        self.assert_awaited(owner, connection);
        let node = self.nodes().connection(owner);
        self.scheduler.end_once(node, now);
        if connection.wake > now {
            return self.wake_connection(now, owner, connection, at);
        }
        if !self.scheduler.sorts(node) {
            connection.wake = at;
            self.scheduler.wake(node, at);
        } else if Wheel::is_far(now, at) {
            self.scheduler.wake_sorted(node, Time::NEVER);
            self.wake_anew(now, owner, connection, at);
        } else {
            connection.wake = at;
            self.scheduler.wake_sorted(node, at);
        }
    }

    /// Asserts that connection `owner` is woken when it says, by the wheel or by the event list.
    #[inline(always)]
    fn assert_awaited(&self, owner: u32, connection: &Connection) {
        debug_assert!(
            self.wheel.holds(owner)
                || self.scheduler.pending(self.nodes().connection(owner)) == connection.wake,
            "connection {owner} would not be woken at {:?}",
            connection.wake
        );
    }

    /// Connection `owner` is over, and is not woken any more.
    pub(super) fn cancel_wake(&mut self, owner: u32, connection: &mut Connection) {
        if !self.wheel.remove(owner) {
            self.scheduler.wake(self.nodes().connection(owner), Time::NEVER);
        }
        connection.wake = Time::NEVER;
    }
}

impl World {
    /// Timers of a slot of the wheel are no longer far off, and are kept sorted from now on. Connections that meanwhile ask to
    /// be woken later go back into the wheel.
    #[cold]
    pub(super) fn open_wheel(&mut self, now: Time) {
        let mut near = std::mem::take(&mut self.near);
        self.net.wheel.open(now, &mut near);
        let until = Wheel::end_of_next(now);
        for (index, &owner) in near.iter().enumerate() {
            if self.foresees
                && let Some(&later) = near.get(index + AHEAD)
            {
                self.connections[later as usize].foresee(true);
            }
            let connection = &mut self.connections[owner as usize];
            connection.sender.look_ahead(until);
            let due = connection.wake_by();
            debug_assert!(due > now, "connection {owner} was not woken at {due:?}, but at {now:?}");
            self.net.wake_anew(now, owner, connection, due);
        }
        near.clear();
        self.near = near;
        let opens_at = self.net.wheel.opens_at(now);
        self.net.scheduler.open_at(opens_at);
    }
}

#[cfg(test)]
impl World {
    /// Wakes every connection at `now`, whether it asked to be or not.
    pub(crate) fn wake_all(&mut self, now: Time) {
        for (owner, connection) in (0..).zip(&mut self.connections).filter(|(_, one)| one.is_open()) {
            self.net.wake_connection(now, owner, connection, now);
        }
    }
}
