"""The sending side of a connection of the simulated host, and what its two halves share.

The simulated halves do not know sequence numbers on the wire, which are added here.  Data starts at number 1 in both
directions, as packetdrill counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from varicap.dialogue import accurate, commands
from varicap.dialogue.accurate import Accurate
from varicap.dialogue.commands import RACK, TAIL_LOSS_PROBE, Host, behaviours, recovery_of
from varicap.dialogue.fq import FairQueue, Window
from varicap.dialogue.records import Counts, Peer, Record, Sent, Stamps, Standing, Stream
from varicap.dialogue.script import LacksError, Options, Packet, Stamp
from varicap.interface import ScenarioError
from varicap.tcp import Receiver, Segment, Sender

_ACCURATE_SYNS = 2
"""How often a SYN or a SYN-ACK says anything of AccECN before it says nothing (RFC 9768 §3.1.4)."""
_DELAYED_ACK_S = 0.2
"""What a tail loss probe of a single segment waits for in addition [s]."""


class Sending:
    """One end of a connection as far as it sends: what it keeps, its timers and its segments."""

    def __init__(
        self, host: Host, tcp: Mapping[str, Any], now: float, emit: Callable[[Sent], None], syn: Packet | None = None
    ) -> None:
        self.host, self.tcp, self.emit = host, dict(tcp), emit
        self.state = "SYN_SENT" if syn is None else "SYN_RECV"
        self.opened_at = self.syn_at = now
        """When the first and the last SYN, or SYN-ACK, left."""
        self.peer = Peer(mss=host.mss)
        self.window = self.most_window = 0
        self.window_from = (0, 0)
        """SND.WL1 and SND.WL2: the segment and the acknowledgement that the window is from."""
        self.edge: int | None = None
        """The number that the peer may not send any more; None: a buffer without a size."""
        self.pieces: list[tuple[int, int]] = []
        """Data received beyond a gap."""
        self.progress_at = now
        """When new data left, or was acknowledged."""
        self.una = self.sent_end = self.written = self.read_end = 0
        self.held = 0
        """Data of a short segment that the application has asked to hold back [B]."""
        self.is_corked = False
        self.held_until: float | None = None
        self.ours, self.theirs = Stream(), Stream()
        self.is_closing = self.is_read_closed = self.is_read_shut = self.is_forgotten = False
        self.answer_due_at: float | None = None
        """When the peer's FIN is acknowledged if nothing takes that along."""
        self.records: list[Record] = []
        self.heard: list[tuple[float, Segment]] = []
        self.counts = Counts()
        self.stamps = Stamps()
        self.queue: FairQueue | None = None
        if host.has_fq:
            self.queue = FairQueue(host.slow_start_percent, host.avoidance_percent, host.least_offload)
        self.cwr_until = self.ecn_reductions = self.syns = 0
        self.counting: Accurate | None = None
        self.error: str | None = None
        self.is_active = syn is None
        if syn is not None:
            self.stamps.hear(syn)
            self._agree(syn)
        self.segment_size = self._segment_size()
        self._make(now)
        self.drain(now)

    # What the handshake settles.

    def _agree(self, syn: Packet) -> None:
        """Settle the options, by the SYN or the SYN-ACK of the peer."""
        self.peer = Peer.agreed(self.host, syn, is_active=self.is_active)
        self.window = syn.window or 0
        if self.peer.accurate:
            self.counting = Accurate(self.host.ecn_option, self.host.ecn_fallback, syn=syn.ecn)
            self.counting.on_arrival(syn)

    def _make(self, now: float) -> None:
        """Make the halves with what was settled; they live through what has been heard so far."""
        settings = dict(self.tcp)
        self.segment_size = self._segment_size()
        settings["mss"] = f"{self.segment_size} B"
        settings["timestamps"] = self.peer.stamps
        settings["ecn"] = commands.accurate_ecn(self.host, settings) if self.peer.accurate else self.peer.ecn
        if not self.peer.sack and recovery_of(settings) in {"sack", "rack"}:
            # Without the peer's consent; RFC 6582 is what RFC 6675 falls back to.
            settings["recovery"] = "newreno"
        if not self.is_active:
            settings = commands.doubling(settings, self.host.synack_retries)
        if self.host.buffer is not None:
            settings["receive_window"] = f"{self.host.buffer} B"
        self.settings, self.has, self.is_linux = settings, behaviours(settings), commands.is_linux(settings)
        # The sender's FIN ends this host's direction. The receiver of this host answers the SYN of the peer, whichever
        # side began, and has no direction of its own to end; the peer's FIN, which may come at any time, is the host's.
        settings["fin"] = True
        self.sender = Sender(now_s=self.opened_at, handshake=True, handshake_ack=False, measure_rates=True, **settings)
        of_both = {key: value for key, value in settings.items() if key != "control"} | {"fin": False}
        # A receiver in AccECN mode has to be asked by a SYN, and a passive one here does not see it.
        is_asked = self.is_active or not self.peer.accurate
        self.receiver = Receiver(now_s=self.opened_at, handshake=is_asked, **of_both)
        self.receiver.read_on_demand()
        if self.heard or now > self.opened_at:
            self.sender.poll(self.opened_at)
        for at, segment in [*self.heard, (now, None)]:
            while (due := self.sender.poll_at()) is not None and due < at:
                self.sender.poll(due)
            if segment is not None:
                self.sender.push(at, segment)

    def _segment_size(self) -> int:
        """The most that a segment holds beside the AccECN option [B]."""
        has_option = self.counting is not None and self.counting.sends
        return max(self.peer.mss - (accurate.OPTION_SIZE if has_option else 0), 1)

    def set_ecn_option(self, now: float, value: int) -> None:
        """``tcp_ecn_option`` changes, which counts at once."""
        if self.counting is not None:
            self.counting.option = value
            self._fit(now)

    def _fit(self, now: float) -> None:
        """Let segments have the size that the AccECN option leaves them."""
        if self._segment_size() != self.segment_size and not (self.written or self.receiver.delivered or self.pieces):
            self._make(now)

    def change(self, now: float, key: str, value: Any) -> None:
        """Change a setting of TCP: the connection is made again, which is the same as long as it has sent no data."""
        if self.written or self.sent_end or self.receiver.delivered:
            raise LacksError(f"a change of {key} after data")
        self.tcp[key] = value
        try:
            self._make(now)
        except ScenarioError:
            raise LacksError(f"{key} {value}") from None

    def set_no_delay(self, now: float, is_on: bool) -> None:
        """Let short segments leave at once, or wait as the stack's do."""
        if is_on:
            self._release()
        self.tcp["nagle"] = "off" if is_on else commands.nagle(self.tcp)
        self.sender.set_nagle(self.tcp["nagle"])
        self.drain(now)

    # Time.

    def poll_at(self) -> float | None:
        """When something happens although nothing arrives [s]."""
        if self.state in {"CLOSE", "TIME_WAIT"}:
            return None
        times = (
            self.sender.poll_at(),
            self.receiver.poll_at(),
            self.answer_due_at,
            self.held_until,
            self._probe_at(),
        )
        return min((at for at in times if at is not None), default=None)

    def drain(self, now: float) -> None:
        """Let everything out that may leave now."""
        if self.state in {"CLOSE", "TIME_WAIT"}:
            return
        if self.held_until is not None and now >= self.held_until:
            self._release()
        if (probe_at := self._probe_at()) is not None and now >= probe_at:
            self._need(TAIL_LOSS_PROBE)
        while (segment := self.sender.poll(now)) is not None:
            if "SYN" in segment.flags:
                self._send_syn(now)
            else:
                self._send_data(now, segment)
        if self.sender.poll_at() is None and self.sender.counters["gave_up"]:
            # A connection that was not asked for goes without a word.
            self.is_forgotten = self.state == "SYN_RECV"
            self.error = None if self.is_forgotten else "ETIMEDOUT"
            self.state = "CLOSE"
            return
        if self.state not in {"SYN_SENT", "SYN_RECV"}:
            if self.answer_due_at is not None and now >= self.answer_due_at:
                self.acknowledge(now)
            while (answer := self.receiver.poll(now)) is not None:
                self._send_ack(now, answer)

    def _need(self, behaviour: str) -> None:
        """Now this behaviour shows: what the script's settings ask for is lacking, or is there against them."""
        if behaviour in self.host.asked and behaviour not in self.has:
            raise LacksError(f"{behaviour} ({self.host.asked[behaviour]})")
        if behaviour in self.host.unwanted and behaviour in self.has:
            raise LacksError(f"a recovery without {behaviour} ({self.host.unwanted[behaviour]})")

    def _probe_at(self) -> float | None:
        """When a tail loss probe would leave (RFC 8985 §7.2), if the settings ask for one and the sender has none."""
        is_waiting = self.una < self.sent_end and self.sender.state == "open" and self.peer.sack
        if TAIL_LOSS_PROBE not in self.host.asked or TAIL_LOSS_PROBE in self.has or not is_waiting:
            return None
        wait = 2 * (self.sender.smoothed_rtt_s or 0.5)
        if self.sent_end - self.una <= self.peer.mss:
            wait += _DELAYED_ACK_S
        return self.progress_at + min(wait, self.sender.rto_s)

    # What leaves.

    def _send(self, now: float, packet: Packet) -> None:
        self.counts.segments_out += 1
        self.emit(Sent(now if packet.length else self._bare_departure(now), packet, self.standing()))

    def _bare_departure(self, now: float) -> float:
        """When a segment without data leaves the host."""
        return now if self.queue is None else self.queue.bare(now)

    def _departure(self, now: float, size: int) -> float:
        """When a segment with data leaves the host, which may hold it back."""
        rtt = self.sender.smoothed_rtt_s
        if self.queue is None or not rtt:
            return now
        window = Window(self.sender.cwnd, self.sent_end - self.una, self.sender.ssthresh, rtt, self.segment_size)
        return self.queue.data(now, size, self.counts.data_out, window)

    def _send_syn(self, now: float, *, is_answer: bool = False) -> None:
        """A SYN or SYN-ACK leaves, at first, by the timer or, `is_answer`, since the peer has sent its SYN again."""
        host = self.host
        if self.is_active:
            stamp = self._stamp(now) if host.timestamps else None
            options = Options(host.mss, self.host.window_scale(), host.sack, stamp)
            packet = Packet(False, f"S{self._syn_flags()}", 0, 0, options=options)
        else:
            stamp = self._stamp(now) if self.peer.stamps else None
            self.stamps.last_ack = 1
            scale = self.host.window_scale() if self.peer.scale is not None else None
            has_option = self.counting is not None and self.counting.option > 0 and not self.syns and not is_answer
            counts = accurate.first_option() if has_option else ()
            options = Options(host.mss, scale, self.peer.sack, stamp, counts=counts)
            packet = Packet(False, f"S{self._syn_ack_flags()}.", 0, 0, 1, options=options)
        self.syns += not is_answer
        self.syn_at = now
        window = self._advertised(host.buffer, 0)
        self.edge = None if window is None else 1 + window
        self._send(now, replace(packet, window=window, ecn="noecn"))

    def _syn_flags(self) -> str:
        """What a SYN asks for; AccECN twice (RFC 9768 §3.1.4.1)."""
        if self.host.ecn == 3:
            return "EWA" if self.syns < _ACCURATE_SYNS else ""
        return "EW" if self.host.ecn in {1, 4} else ""

    def _syn_ack_flags(self) -> str:
        """What a SYN-ACK agrees to; in AccECN mode it says how the SYN arrived, until it has been lost twice."""
        if self.counting is None:
            return "E" if self.peer.ecn else ""
        if self.syns < _ACCURATE_SYNS:
            return accurate.mirror(self.counting.syn)
        self.counting.is_capable = False
        return ""

    def _send_data(self, now: float, segment: Segment) -> None:
        carried = self.receiver.acknowledge(now)
        start, end = segment.seq, segment.seq + segment.len
        flags = "F" if "FIN" in segment.flags else ""
        is_bare = bool(flags) and not segment.len
        is_resent = start < self.sent_end or (is_bare and self.ours.fin is not None)
        departure = self._departure(now, segment.len) if segment.len else self._bare_departure(now)
        self.records.append(Record(start, end + is_bare, departure, is_resent))
        if not is_bare:
            self.counts.data_out += 1
            self.counts.bytes_out += segment.len
            self.counts.bytes_resent += segment.len if is_resent else 0
            self.counts.last_data_out = now
        self.progress_at = self.progress_at if is_resent else now
        self.sent_end = max(self.sent_end, end)
        if flags:
            self._note_fin()
        if self.counting is None:
            flags += ("E" if "ECE" in carried.flags else "") + ("W" if "CWR" in segment.flags else "")
        else:
            flags += accurate.flags_of(carried)
            if segment.len == self.segment_size != self._segment_size():
                raise LacksError("segments whose size changes with the AccECN option")
        ecn = ("ect1" if "ECT1" in segment.flags else "ect0") if "ECT" in segment.flags else "noecn"
        if is_bare:
            ecn = self._bare_ecn()
        if self.counting is not None and not self.counting.is_capable:
            ecn = "noecn"
        self._send(departure, self._packet(departure, f"{flags}.", start + 1, segment.len, carried, ecn))

    def _send_ack(self, now: float, answer: Segment) -> None:
        if self.counting is None:
            # The acknowledgement of a SYN-ACK does not echo its ECN setup (RFC 3168 §6.1.1).
            flags = "E" if "ECE" in answer.flags and "SYN" not in answer.flags else ""
        else:
            flags = accurate.mirror(self.counting.syn) if "SYN" in answer.flags else accurate.flags_of(answer)
        self._send(now, self._packet(now, f"{flags}.", self._next(), 0, answer, self._bare_ecn()))

    def acknowledge(self, now: float) -> None:
        """Send an acknowledgement at once."""
        self._send_ack(now, self.receiver.acknowledge(now))

    def _bare_ecn(self) -> str:
        """The codepoint of a segment without data: in AccECN mode Linux's are ECN-capable, too."""
        return "ect0" if self.counting is not None and self.counting.is_capable else "noecn"

    def _challenge(self, now: float, packet: Packet) -> None:
        """Answer a segment that may not be the peer's; in AccECN mode one to a SYN says how that arrived (Linux)."""
        if self.counting is None or "S" not in packet.flags:
            self.acknowledge(now)
            return
        self.counting.syn = packet.ecn
        self.counting.on_arrival(packet)
        flags = f"{accurate.mirror(packet.ecn)}."
        self._send(now, self._packet(now, flags, self._next(), 0, self.receiver.acknowledge(now), self._bare_ecn()))

    def _note_fin(self) -> None:
        if self.ours.fin is None:
            self.ours.fin = self.written
            self.state = "LAST_ACK" if self.state == "CLOSE_WAIT" else "FIN_WAIT1"

    def _packet(self, now: float, flags: str, start: int, length: int, carried: Segment, ecn: str = "noecn") -> Packet:
        ack = (carried.ack or 0) + 1 + self.theirs.done
        # The clock is that of the departure (tcp_skb_timestamp_ts).
        stamp = self._stamp(now if length else self._bare_departure(now)) if self.peer.stamps else None
        self.stamps.last_ack, self.answer_due_at = ack, None
        sack = tuple((start + 1, end + 1) for start, end in carried.sack) if self.peer.sack else ()
        counts: tuple[tuple[str, int], ...] = ()
        if self.counting is not None:
            sack, counts = self.counting.with_option(self._bytes_received(), sack, has_stamp=stamp is not None)
        scale = (self.host.window_scale() or 0) if self.peer.scale is not None else 0
        limit = None if self.host.buffer is None else carried.window
        window = self._advertised(limit, scale)
        if window is not None:
            self.edge = max(self.edge or 0, ack + (window << scale))
        options = Options(stamp=stamp, sack=sack, counts=counts)
        return Packet(False, flags, start, length, ack, window, options, ecn, is_counted=self.counting is not None)

    def _bytes_received(self) -> dict[str, int]:
        """The payload that was counted, by the names of the option's fields [B]."""
        _, received = self.receiver.ecn_counts or (0, (1, 0, 1))
        return dict(zip(accurate.BYTES, received, strict=True))

    def _next(self) -> int:
        """The sequence number of what would be sent next."""
        return self.sent_end + 1 + (self.ours.fin is not None)

    @staticmethod
    def _advertised(window: int | None, scale: int) -> int | None:
        return None if window is None else min(window >> scale, 0xFFFF)

    def _stamp(self, now: float) -> Stamp:
        return Stamp(round(now * 1e3), self.stamps.recent)

    def _await_release(self, now: float) -> None:
        """Hold back for an RTO at most what nothing in flight would take along, as Linux where the window is closed."""
        if not self.held or self.una < self.sent_end:
            self.held_until = None
        elif self.held_until is None:
            self.held_until = now + self.sender.rto_s

    def _release(self) -> None:
        """Let go what was held back."""
        if self.held:
            self.sender.write(self.held)
        self.held, self.held_until = 0, None

    # How it stands.

    def standing(self) -> Standing:
        """How the sender stands now."""
        mss, ssthresh = self.segment_size, self.sender.ssthresh
        state = "cwr" if self.is_reduced else self.sender.state
        return Standing(
            self.sender.in_flight / mss, self.sender.cwnd / mss, None if ssthresh is None else ssthresh / mss, state
        )

    @property
    def is_reduced(self) -> bool:
        """Whether the window fell for an ECN echo and what was in flight then still is; RACK says so itself."""
        return RACK not in self.has and self.sender.state in {"open", "disorder"} and self.una < self.cwr_until
