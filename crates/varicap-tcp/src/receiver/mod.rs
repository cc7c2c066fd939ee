//! The receiving half of a connection: reassembly, acknowledgements and the advertised window.

mod accurate;
mod blocks;
mod closing;
mod delay;
mod growth;

use std::collections::VecDeque;

use varicap_units::{Amount, Bytes, Span, Time};

use crate::ack_policy::AckPolicy;
use crate::config::{LARGEST_WINDOW, SackList, TcpConfig};
use crate::congestion::EcnNeed;
use crate::ecn::EcnMode;
use crate::place::Place;
use crate::segment::{Flags, MAX_SACK_BLOCKS, OPTION_ACCURATE_ECN, Segment, options_of_syn, scales_windows};
use accurate::Accurate;
use closing::Closing;
use delay::Delay;

/// Flags that send a segment to the slow path, unless all of a connection's segments have them.
const UNUSUAL: Flags = Flags::SYN.with(Flags::FIN).with(Flags::CE).with(Flags::CWR);

/// The receiving half of a connection. Push one segment, then poll until `None`: segments that are pushed
/// together would share an acknowledgement.
///
/// The fields that most segments read lie together, and first, as in a [`Sender`](crate::Sender).
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    /// The instant at which a delayed acknowledgement is sent.
    ack_at: Time,
    /// An acknowledgement is due now.
    ack_due: bool,
    /// The due acknowledgement answers a SYN.
    syn_due: bool,
    /// The segment had been resent that gave `echo`.
    echo_resent: bool,
    /// A SYN has settled which ECN the connection has, and has asked for RFC 3168's (§6.1.1 there).
    has_settled: bool,
    agrees_to_ecn: bool,
    /// All of the sender's data has arrived, and its FIN.
    has_ended: bool,
    /// CE arrived and CWR has not (RFC 3168 §6.1.3).
    echo_congestion: bool,
    /// The next acknowledgement carries more than numbers, whether or not data is held out of order.
    has_extras: bool,
    /// RCV.NXT: next byte expected [B].
    next: u64,
    /// Acknowledgement number last sent (RFC 7323's Last.ACK.sent) [B].
    last_ack: u64,
    /// The timestamp that the next acknowledgement echoes (RFC 7323's TS.Recent).
    echo: Time,
    /// Right edge of the window last advertised [B].
    edge: u64,
    /// In-order segments not yet acknowledged, and how many force an acknowledgement.
    unacknowledged: u32,
    ack_every: u32,
    /// Out-of-order data: sorted, disjoint, not touching `[start, end)` [B].
    held: VecDeque<(u64, u64)>,
    /// Its delays of acknowledgements beyond waiting for a fixed time.
    delay: Option<Box<Delay>>,
    /// Its counters in AccECN mode (RFC 9768).
    accurate: Option<Box<Accurate>>,
    /// How the two directions end, once one does.
    closing: Option<Box<Closing>>,
    /// An acknowledgement that goes first. There is room for one once there has been one.
    before_change: Option<Box<Option<Before>>>,
    /// Which unusual flags a segment has that may take the fast path: none, or what no segment has.
    plain: Flags,
    header: u16,
    timestamps: u16,
    /// Which ECN may be negotiated.
    takes_ecn: EcnMode,
    /// Each packet is acknowledged by itself, with its own mark.
    echo_each: bool,
    /// An acknowledgement echoes the marks of what it acknowledges (RFC 8257 §3.2); CE that was echoed last is DCTCP.CE.
    echo_each_byte: bool,
    selective: bool,
    counts_options: bool,
    sack_list: SackList,
    max_blocks: u8,
    /// Whether duplicates are reported.
    reports_duplicates: bool,
    /// End of what the application has read [B], if it reads on demand.
    read: Option<u64>,
    /// Receive buffer, as much of it as can be advertised [B].
    buffer: u32,
    /// The buffer has room for more, whatever waits to be read: the window is always the largest one.
    is_unlimited: bool,
    // From here on what few segments read.
    /// The duplicate that the next acknowledgement reports (RFC 2883) [B].
    duplicate: Option<(u64, u64)>,
    /// The blocks of `held`, or parts of them, that were reported last, most recent first (RFC 2018 §4).
    recent: Vec<(u64, u64)>,
    ack_delay: Span,
    mss: u64,
}

/// An acknowledgement of what came before something changed: DCTCP.CE, or a SACK block that is not among the first.
#[derive(Debug)]
struct Before {
    segment: Segment,
    /// Whether what comes after the change is due as well.
    is_due_after: bool,
}

impl Receiver {
    /// A receiver with the settings of `config`.
    ///
    /// # Panics
    /// If the receive window is given in bandwidth-delay products: only the scenario knows the path.
    pub fn new(config: &TcpConfig, _now: Time) -> Receiver {
        let (ack_every, ack_delay, delay) = match config.ack {
            AckPolicy::Every => (1, Span::ZERO, None),
            AckPolicy::Delayed(policy) => (
                policy.segments.max(1),
                policy.timeout,
                policy.adapts().then(|| Box::new(Delay::new(&policy, config))),
            ),
        };
        let buffer = config.offered_window().as_u64();
        let mut receiver = Receiver {
            next: 0,
            last_ack: 0,
            echo: Time::ZERO,
            echo_resent: false,
            ack_due: false,
            syn_due: false,
            takes_ecn: config.ecn_in_force(),
            agrees_to_ecn: false,
            has_settled: false,
            has_ended: false,
            closing: None,
            accurate: None,
            has_extras: false,
            plain: Flags::default(),
            echo_congestion: false,
            echo_each: false,
            echo_each_byte: false,
            before_change: None,
            selective: config.recovery.is_selective(),
            unacknowledged: 0,
            ack_every,
            ack_at: Time::NEVER,
            ack_delay,
            held: VecDeque::new(),
            recent: Vec::new(),
            reports_duplicates: config.dsack && config.recovery.is_selective(),
            duplicate: None,
            // RFC 2018 §3: 40 bytes of options hold four blocks, or three beside a timestamp.
            max_blocks: MAX_SACK_BLOCKS as u8 - u8::from(config.timestamps),
            buffer: buffer as u32,
            is_unlimited: config.receive_window == Amount::Unlimited,
            read: None,
            edge: buffer,
            mss: config.mss.as_u64().max(1),
            header: config.header.as_u64().min(u64::from(u16::MAX)) as u16,
            timestamps: config.option_timestamps(),
            counts_options: config.count_options,
            sack_list: config.sack_list,
            delay,
        };
        let wants = config.congestion.wants();
        if wants.each_mark {
            receiver.echo_each_mark();
        }
        if wants.ecn == EcnNeed::EachByte && receiver.takes_ecn == EcnMode::Classic {
            (receiver.echo_each_byte, receiver.plain) = (true, Flags(u16::MAX));
        }
        if let (Some(accurate), false) = (receiver.takes_ecn.accurate(), config.handshake) {
            receiver.begin_accurate(accurate);
        }
        receiver
    }

    /// The last of what says when this is due, which comes first.
    #[inline]
    pub fn last_of_due(&self) -> &impl Sized {
        &self.has_extras
    }

    /// The last of what most segments read of this.
    #[inline]
    pub fn last_read(&self) -> &impl Sized {
        &self.buffer
    }

    /// The places outside of this that the next segment reads.
    pub fn aside(&self) -> impl Iterator<Item = Place> + '_ {
        let delay = self.delay.as_deref().map(Place::of);
        delay.into_iter().chain(self.held.front().map(Place::of))
    }

    /// From now on each packet is acknowledged by itself, with its own mark: for a congestion control that
    /// [wants](crate::congestion::Wants) each mark.
    pub fn echo_each_mark(&mut self) {
        self.echo_each = true;
        (self.delay, self.plain) = (None, Flags::default());
        self.takes_ecn = self.takes_ecn.of_each_mark();
        self.max_blocks += u8::from(self.accurate.take().is_some_and(|accurate| accurate.takes_room()));
        (self.ack_every, self.ack_delay) = (1, Span::ZERO);
    }

    /// Processes a segment that arrived; returns how many bytes it added in order [B].
    #[inline]
    pub fn push(&mut self, now: Time, segment: &Segment) -> u64 {
        let end = segment.seq + u64::from(segment.len);
        let expected = segment.seq == self.next
            && segment.len > 0
            && segment.flags.0 & UNUSUAL.0 == self.plain.0
            && self.held.is_empty()
            && end <= self.edge;
        if !expected {
            return self.on_unexpected(now, segment);
        }
        let Some(delay) = &self.delay else {
            self.note_echo(segment);
            self.next = end;
            self.delay_ack(now);
            return u64::from(segment.len);
        };
        if !delay.expects(segment) {
            return self.on_unusual(now, segment);
        }
        self.note_echo(segment);
        self.take(now, end, segment)
    }

    /// Data of `segment` up to `end` is in order; returns how much that is [B].
    #[inline]
    fn take(&mut self, now: Time, end: u64, segment: &Segment) -> u64 {
        let (added, window) = (end - self.next, self.edge - self.next);
        self.next = end;
        let Some(delay) = &mut self.delay else {
            self.delay_ack(now);
            return added;
        };
        self.unacknowledged += 1;
        let held = &self.held;
        let reads = self.read.is_none();
        // The application reads at once what is in order.
        let read = (reads && held.is_empty()).then_some(end);
        delay.on_data(now, segment, window, held, read);
        let is_full = match delay.spared {
            Some(bytes) => end - self.last_ack > bytes,
            None => self.unacknowledged >= self.ack_every,
        };
        if is_full || reads && delay.is_end(segment) || delay.is_quick() {
            self.ack_due = true;
        } else if let Some(deadline) = delay.deadline(self.ack_at) {
            self.ack_at = deadline;
        } else {
            self.ack_due = true;
        }
        added
    }

    /// RFC 7323 §4.3: the echoed time is that of the earliest segment not yet acknowledged.
    #[inline]
    fn note_echo(&mut self, segment: &Segment) {
        if segment.seq <= self.last_ack && segment.sent_at >= self.echo {
            self.echo = segment.sent_at;
            self.echo_resent = segment.flags.has(Flags::RESENT);
        }
    }

    /// RFC 5681 §4.2: at least every second segment, and within the delay of the first one.
    #[inline]
    fn delay_ack(&mut self, now: Time) {
        self.unacknowledged += 1;
        if self.unacknowledged >= self.ack_every {
            self.ack_due = true;
        } else if self.unacknowledged == 1 {
            self.ack_at = now + self.ack_delay;
        }
    }

    #[inline(never)]
    fn on_unusual(&mut self, now: Time, segment: &Segment) -> u64 {
        if segment.flags.has(Flags::SYN) {
            self.note_echo(segment);
            self.ack_due = true;
            (self.syn_due, self.has_extras) = (true, true);
            self.negotiate(segment.flags);
            return 0;
        }
        self.note_marks(now, segment);
        if let Some(delay) = &mut self.delay {
            delay.on_segment(now, segment);
        }
        if segment.ack > 0 {
            self.on_fin_acknowledged();
        }
        let ends = segment.flags.has(Flags::FIN);
        if segment.len == 0 && !ends {
            // RFC 9293 §3.10.7.4: what lies outside of the window is answered; this is how windows and peers are probed.
            self.ack_due |= segment.seq < self.next;
            return 0;
        }
        self.note_echo(segment);
        let end = segment.end().min(self.edge);
        if ends && end == segment.end() {
            self.note_fin(end - 1);
        }
        let start = segment.seq.max(self.next);
        if segment.seq < self.next {
            self.note_duplicate((segment.seq, end.min(self.next)));
        }
        if start >= end {
            // Old or beyond the window: RFC 9293 §3.10.7.4, acknowledge and drop.
            self.ack_due = true;
            if let Some(delay) = &mut self.delay {
                delay.hurry(self.edge - self.next, u32::MAX);
            }
            return 0;
        }
        if start > self.next {
            self.hold_apart(now, (start, end), segment);
            return 0;
        }
        let before = self.delivered();
        let fin_at = self.set_fin_aside();
        self.take(now, end, segment);
        self.ack_at = self.ack_at.min(fin_at);
        if !self.held.is_empty() {
            // RFC 5681 §4.2: it fills (part of) a gap, at once.
            self.release(start);
            self.ack_due = true;
            if let (Some(delay), None) = (&mut self.delay, self.read) {
                delay.on_read(now, self.next);
            }
        }
        debug_assert!(self.next <= self.edge, "data beyond the window");
        debug_assert!(self.held.front().is_none_or(|held| held.0 > self.next), "a gap that is none");
        self.end_if_over();
        self.delivered() - before
    }

    /// RFC 3168 §6.1.3: ECE from CE until CWR. A marked segment that says CWR starts it again.
    fn note_marks(&mut self, now: Time, segment: &Segment) {
        let window = self.edge - self.next;
        if let Some(accurate) = &mut self.accurate {
            self.ack_due |= accurate.on_segment(segment);
            if let Some(delay) = &mut self.delay {
                // Linux acknowledges at once after a mark only if RFC 3168's echo begins with it.
                delay.on_marks(segment, true, window);
            }
            return;
        }
        if self.echo_each_byte {
            return self.follow_marks(now, segment);
        }
        if segment.flags.has(Flags::CWR) {
            self.echo_congestion = false;
            // Linux: a sender whose window has just fallen may have to wait for each acknowledgement.
            self.ack_due |= self.delay.as_deref().is_some_and(Delay::hurries) && segment.len > 0;
        }
        if let Some(delay) = &mut self.delay {
            delay.on_marks(segment, self.echo_congestion, window);
        }
        if segment.flags.has(Flags::CE) {
            (self.echo_congestion, self.has_extras) = (true, true);
        }
    }

    /// RFC 8257 §3.2: an acknowledgement is due when marks begin or end. One of its own goes before it for what has not been
    /// acknowledged yet, which came with the old state.
    fn follow_marks(&mut self, now: Time, segment: &Segment) {
        let is_marked = segment.flags.has(Flags::CE);
        if let Some(delay) = &mut self.delay {
            delay.on_marks(segment, self.echo_congestion, self.edge - self.next);
        }
        if segment.len == 0 || is_marked == self.echo_congestion {
            return;
        }
        if self.unacknowledged > 0 {
            self.acknowledge_before(now);
        }
        (self.echo_congestion, self.has_extras, self.ack_due) = (is_marked, true, true);
    }

    /// Acknowledges the data that is there by a segment of its own, before something changes.
    fn acknowledge_before(&mut self, now: Time) {
        let mut segment = Segment::default();
        self.ack_due = true;
        self.poll_into(now, &mut segment);
        debug_assert!(self.before_change.as_deref().is_none_or(Option::is_none), "two changes at once");
        **self.before_change.get_or_insert_default() = Some(Before { segment, is_due_after: true });
        (self.has_extras, self.ack_due) = (true, true);
    }

    /// Whether an acknowledgement is due at `now`.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.ack_due || now >= self.ack_at
    }

    /// The next acknowledgement to send now, if one is due.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if !self.is_due(now) {
            return None;
        }
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment);
        Some(segment)
    }

    /// The acknowledgement that data of this host carries along at `now`, due or not; none is due afterwards.
    pub fn acknowledge(&mut self, now: Time) -> Segment {
        let mut segment = Segment::default();
        self.ack_due = true;
        if let Some(delay) = &mut self.delay {
            delay.on_data_sent(now);
        }
        self.poll_into(now, &mut segment);
        segment
    }

    /// Writes the acknowledgement that is due to `place`. Returns whether another one is due.
    #[inline]
    pub fn poll_into(&mut self, now: Time, place: &mut Segment) -> bool {
        debug_assert!(self.is_due(now), "no acknowledgement is due at {now:?}");
        debug_assert!(self.last_ack <= self.next, "data that was acknowledged is gone");
        debug_assert!(
            self.has_extras || !self.syn_due && self.before_change.as_deref().is_none_or(Option::is_none)
        );
        let is_plain = !self.has_extras
            && self.held.is_empty()
            && self.delay.as_ref().is_none_or(|delay| self.ack_due && delay.is_at_rest());
        if !is_plain {
            return self.poll_carefully(now, place);
        }
        self.write(now, place);
        false
    }

    /// Writes an acknowledgement of which another part of the receiver knows, or which carries more than numbers.
    #[inline(never)]
    fn poll_carefully(&mut self, now: Time, place: &mut Segment) -> bool {
        if self.has_extras
            && let Some(before) = self.before_change.as_mut().and_then(|before| before.take())
        {
            *place = before.segment;
            self.ack_due = before.is_due_after;
            return self.is_due(now);
        }
        if let Some(delay) = &mut self.delay {
            delay.on_sent(now, self.ack_due, self.syn_due);
        }
        self.write(now, place);
        if self.has_extras {
            self.add_extras(place);
        } else if self.selective && !self.held.is_empty() {
            self.report(None, place);
        }
        if self.closing.is_some() {
            self.add_fin(now, place);
        }
        false
    }

    /// Writes an acknowledgement of numbers alone; blocks that `place` had from before do not count. None is due afterwards.
    #[inline(always)]
    fn write(&mut self, now: Time, place: &mut Segment) {
        // Data held out of order lies inside the window, so it does not shrink it.
        match self.read {
            Some(read) if !self.is_unlimited => self.open(read),
            _ => self.edge = self.next.saturating_add(self.buffer.into()),
        }
        self.last_ack = self.next;
        let resent = if self.echo_resent { Flags::RESENT } else { Flags::default() };
        place.ack = self.next;
        place.sent_at = now;
        place.echo = self.echo;
        debug_assert!(
            self.edge - self.next <= LARGEST_WINDOW.as_u64(),
            "no header says {} B",
            self.edge - self.next
        );
        place.window = (self.edge - self.next) as u32;
        place.wire_size = self.header + self.timestamps;
        place.flags = Flags::ACK.with(resent);
        (place.seq, place.len, place.sack_count) = (0, 0, 0);
        self.ack_due = false;
        self.unacknowledged = 0;
        self.ack_at = Time::NEVER;
    }

    /// Adds to an acknowledgement what only some carry: flags, a duplicate, and SACK blocks.
    #[inline(never)]
    fn add_extras(&mut self, segment: &mut Segment) {
        if std::mem::take(&mut self.syn_due) {
            let agreement = if self.agrees_to_ecn { Flags::ECE } else { Flags::default() };
            segment.flags = segment.flags.with(Flags::SYN).with(agreement);
            segment.wire_size += self.options_of_syn();
        }
        if self.echo_congestion {
            segment.flags = segment.flags.with(Flags::ECE);
            self.echo_congestion = !self.echo_each;
        }
        if let Some(accurate) = &mut self.accurate
            && accurate.report(segment)
            && self.counts_options
        {
            segment.wire_size += OPTION_ACCURATE_ECN;
        }
        let duplicate = self.duplicate.take();
        if self.selective && (duplicate.is_some() || !self.held.is_empty()) {
            self.report(duplicate, segment);
        }
        self.has_extras = self.echo_congestion || self.accurate.is_some() || self.has_closed();
    }

    /// The size of the options of the answer to a SYN beyond those of other segments [B].
    fn options_of_syn(&self) -> u16 {
        let timestamps = self.timestamps > 0;
        let scales = scales_windows(timestamps, self.buffer.into());
        if self.counts_options { options_of_syn(self.selective, timestamps, scales) } else { 0 }
    }

    /// The instant at which a delayed acknowledgement, or the FIN again, is due; [`Time::NEVER`] if neither is.
    #[inline]
    pub fn poll_at(&self) -> Time {
        self.ack_at
    }

    /// Data received in order since the start [B].
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.next - u64::from(self.has_ended)
    }

    /// From now on the application reads only when [`Receiver::read`] says so; until then it reads at once.
    pub fn read_on_demand(&mut self) {
        self.read = Some(self.next);
    }

    /// The application reads up to `bytes` of what is in order. The receiver must then be polled: it announces a
    /// window that has opened by a segment or half of the buffer, and no other (RFC 1122 §4.2.3.3).
    pub fn read(&mut self, bytes: Bytes) {
        let Some(read) = self.read else { return };
        let read = read.saturating_add(bytes.as_u64()).min(self.next);
        self.read = Some(read);
        self.ack_due |= !self.is_unlimited && self.opens(read);
    }

    /// Whether the window opens far enough to be worth a word, if the application has read everything below `read`: by a
    /// segment or half of the buffer, so that it invites no small segments. Source: RFC 9293 §3.8.6.2.2 (MUST-39), RFC 1122
    /// §4.2.3.3. Deviation: Linux (`__tcp_select_window`) also tells of less where half of the buffer is free, and of none below
    /// a sixteenth of it.
    fn opens(&self, read: u64) -> bool {
        let room = read.saturating_add(self.buffer.into()).saturating_sub(self.edge);
        room >= self.mss.min(u64::from(self.buffer) / 2).max(1)
    }

    /// The right edge of the window follows what the application has read, all below `read`: by little only while the whole
    /// buffer is offered, and never to the left (RFC 9293 §3.8.6, SHLD-14).
    #[inline(never)]
    fn open(&mut self, read: u64) {
        let was_whole = self.edge - self.last_ack >= u64::from(self.buffer) && read >= self.next;
        if was_whole || self.opens(read) {
            self.edge = self.edge.max(read.saturating_add(self.buffer.into()));
        }
    }
}
