"""A connection of the simulated host: a sender and a receiver, joined as a TCP of both directions joins them.

The simulated halves know neither sequence numbers on the wire nor FINs; here both are added.  Data starts at sequence
number 1 in both directions, as packetdrill counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from varicap._core import Receiver, ScenarioError, Segment, Sender
from varicap.parts.dialogue import accurate, arrival, commands
from varicap.parts.dialogue.accurate import Accurate
from varicap.parts.dialogue.commands import D_SACK, F_RTO, FACK, RACK, TAIL_LOSS_PROBE, Host, behaviours, recovery_of
from varicap.parts.dialogue.fq import FairQueue, Window
from varicap.parts.dialogue.records import Counts, Peer, Record, Sent, Stamps, Standing, Stream, first_of
from varicap.parts.dialogue.script import LacksError, Options, Packet, Stamp

_MOST_WINDOW = (1 << 32) - 1
_ACCURATE_SYNS = 2
"""How often a SYN or a SYN-ACK says anything of AccECN before it says nothing (RFC 9768 §3.1.4)."""
_DELAYED_FIN_S = 0.04
"""How long Linux waits with the acknowledgement of a FIN after data, for an answer to take it along [s]."""
_DELAYED_ACK_S = 0.2
"""What a tail loss probe of a single segment waits for in addition [s]."""


_ACE = {"E": "ECE", "W": "CWR", "A": "AE"}
"""The flags of a count, as scripts and the simulated halves name them."""


class Connection:
    """One end of a connection; the script is the other end and the network."""

    def __init__(
        self, host: Host, tcp: Mapping[str, Any], now: float, emit: Callable[[Sent], None], syn: Packet | None = None
    ) -> None:
        self.host, self.tcp, self.emit = host, dict(tcp), emit
        self.state = "SYN_SENT" if syn is None else "SYN_RECV"
        self.opened_at = now
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
        self.is_closing = self.is_read_closed = False
        self.fin_due_at: float | None = None
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
        settings["ecn"] = commands.accurate_ecn(settings) if self.peer.accurate else self.peer.ecn
        if not self.peer.sack and recovery_of(settings) in {"sack", "rack"}:
            # Without the peer's consent; RFC 6582 is what RFC 6675 falls back to.
            settings["recovery"] = "newreno"
        if not self.is_active:
            settings = commands.doubling(settings)
        if self.host.buffer is not None:
            settings["receive_window"] = f"{self.host.buffer} B"
        self.settings, self.has, self.is_linux = settings, behaviours(settings), commands.is_linux(settings)
        self.sender = Sender(now_s=self.opened_at, handshake=True, measure_rates=True, **settings)
        of_both = {key: value for key, value in settings.items() if key != "control"}
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
            self.fin_due_at,
            self.answer_due_at,
            self.held_until,
            self._probe_at(),
        )
        return min((at for at in times if at is not None), default=None)

    def drain(self, now: float) -> None:
        """Let everything out that may leave now."""
        if self.state in {"CLOSE", "TIME_WAIT"}:
            return
        if self.fin_due_at is not None and now >= self.fin_due_at:
            if self.una >= self.sent_end:
                raise LacksError("a FIN that is sent again")
            # The timer is the data's.
            self.fin_due_at = now + self.sender.rto_s
        if self.held_until is not None and now >= self.held_until:
            self._release()
        if (probe_at := self._probe_at()) is not None and now >= probe_at:
            self._need(TAIL_LOSS_PROBE)
        while (segment := self.sender.poll(now)) is not None:
            if "SYN" in segment.flags:
                self._send_syn(now)
            else:
                self._send_data(now, segment)
        if self.state not in {"SYN_SENT", "SYN_RECV"}:
            self._send_fin_if_due(now)
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
        departure = now if self.queue is None or packet.length else self.queue.bare(now)
        self.emit(Sent(departure, packet, self.standing()))

    def _departure(self, now: float, size: int) -> float:
        """When a segment with data leaves the host, which may hold it back."""
        rtt = self.sender.smoothed_rtt_s
        if self.queue is None or not rtt:
            return now
        cwnd = max(self.sender.cwnd, self.sent_end - self.una)
        window = Window(cwnd, self.sender.ssthresh, rtt, self.segment_size)
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
        is_resent = start < self.sent_end
        self.counts.data_out += 1
        departure = self._departure(now, segment.len)
        self.records.append(Record(start, end, departure, is_resent))
        self.counts.bytes_out += segment.len
        self.counts.bytes_resent += segment.len if is_resent else 0
        self.counts.last_data_out = now
        self.progress_at = self.progress_at if is_resent else now
        self.sent_end = max(self.sent_end, end)
        flags = "F" if self.is_closing and end == self.written else ""
        if flags:
            self._note_fin(now)
        if self.counting is None:
            flags += ("E" if "ECE" in carried.flags else "") + ("W" if "CWR" in segment.flags else "")
        else:
            flags += _ace_of(carried)
            if segment.len == self.segment_size != self._segment_size():
                raise LacksError("segments whose size changes with the AccECN option")
        ecn = ("ect1" if "ECT1" in segment.flags else "ect0") if "ECT" in segment.flags else "noecn"
        if self.counting is not None and not self.counting.is_capable:
            ecn = "noecn"
        self._send(departure, self._packet(now, f"{flags}.", start + 1, segment.len, carried, ecn))

    def _send_ack(self, now: float, answer: Segment) -> None:
        if self.counting is None:
            # The acknowledgement of a SYN-ACK does not echo its ECN setup (RFC 3168 §6.1.1).
            flags = "E" if "ECE" in answer.flags and "SYN" not in answer.flags else ""
        else:
            flags = accurate.mirror(self.counting.syn) if "SYN" in answer.flags else _ace_of(answer)
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

    def _send_fin_if_due(self, now: float) -> None:
        if not self.is_closing or self.ours.fin is not None or self.sent_end < self.written:
            return
        carried = self.receiver.acknowledge(now)
        flags = "" if self.counting is None else _ace_of(carried)
        packet = self._packet(now, f"F{flags}.", self._next(), 0, carried, self._bare_ecn())
        self._note_fin(now)
        self._send(now, packet)

    def _note_fin(self, now: float) -> None:
        if self.ours.fin is None:
            self.ours.fin = self.written
            self.state = "LAST_ACK" if self.state == "CLOSE_WAIT" else "FIN_WAIT1"
        self.fin_due_at = now + self.sender.rto_s

    def _packet(self, now: float, flags: str, start: int, length: int, carried: Segment, ecn: str = "noecn") -> Packet:
        ack = (carried.ack or 0) + 1 + self.theirs.done
        stamp = self._stamp(now) if self.peer.stamps else None
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

    # What arrives.

    def push(self, now: float, packet: Packet) -> None:
        """A segment of the peer arrived."""
        self.counts.segments_in += 1
        packet = replace(packet, start=arrival.relative(packet.start))
        if self.state == "SYN_SENT":
            self._on_syn_sent(now, packet)
        elif self.state == "SYN_RECV" and set(packet.flags) - set("EWA") == {"S"}:
            if self.counting is not None:
                self.counting.syn = packet.ecn
                self.counting.is_capable &= accurate.count(packet.flags) > 0
            self._send_syn(now, is_answer=True)
        else:
            self._on_judged(now, packet)
        self.drain(now)

    def _on_judged(self, now: float, packet: Packet) -> None:
        recent = self.stamps.recent if self.peer.stamps else None
        match arrival.judged(packet, self.following, self.edge, recent):
            case arrival.Judgement.CHALLENGED:
                self._challenge(now, packet)
            case arrival.Judgement.OUTSIDE:
                self._refuse(now, packet)
            case arrival.Judgement.TAKEN if "R" in packet.flags:
                self._on_reset()
            case arrival.Judgement.TAKEN if self.state == "SYN_RECV":
                self._on_third(now, packet)
            case arrival.Judgement.TAKEN:
                self._on_segment(now, packet)

    @property
    def following(self) -> int:
        """RCV.NXT, the number that the peer sends next."""
        return self.receiver.delivered + 1 + self.theirs.done

    def _refuse(self, now: float, packet: Packet) -> None:
        """Answer a segment outside the window."""
        if packet.length and packet.end <= self.following and self.peer.sack:
            self._need(D_SACK)
        if D_SACK in self.has and 1 <= packet.start < packet.start + packet.length <= self.following:
            # The receiver answers at once, and says what it had already.
            if self.counting is not None:
                self.counting.on_repeat(packet.start)
                self.counting.on_arrival(packet)
            self._give(now, packet.start - 1, packet.start - 1 + packet.length, self._marks_of(packet))
        else:
            self.acknowledge(now)
        if packet.length and packet.start == self.following and "." in packet.flags and self.state != "SYN_RECV":
            # A probe of a closed window: its acknowledgement counts although its data does not.
            self._on_segment(now, replace(packet, length=0, flags=packet.flags.replace("F", "")))

    def _on_reset(self) -> None:
        # A connection that was not asked for goes without a word; one that was closed has nobody to hear it.
        if self.state not in {"CLOSING", "LAST_ACK", "TIME_WAIT"} and (self.state != "SYN_RECV" or self.is_active):
            self.error = "ECONNRESET"
        self.state = "CLOSE"

    def _on_syn_sent(self, now: float, packet: Packet) -> None:
        is_ours = "." in packet.flags and packet.ack == 1
        if "R" not in packet.flags:
            self._on_syn_ack(now, packet)
        elif is_ours:
            # RFC 9293 §3.10.7.3: a reset counts only if it acknowledges the SYN.
            self.error, self.state = "ECONNREFUSED", "CLOSE"

    def _on_syn_ack(self, now: float, packet: Packet) -> None:
        self.stamps.hear(packet)
        if "S" not in packet.flags or "." not in packet.flags or packet.ack != 1:
            raise LacksError("a SYN-SENT connection that hears anything but its SYN-ACK")
        self._agree(packet)
        self._make(now)
        self._establish(now, packet, is_scaled=False)
        setup = ["ECE", "CWR", *(["AE"] if self.peer.accurate else [])] if self.peer.ecn else []
        self.receiver.push(now, Segment(flags=["SYN", *setup], sent_at_s=now))
        self._count_mark(now, packet)

    def _on_third(self, now: float, packet: Packet) -> None:
        if packet.ack == 1:
            if self.counting is not None:
                self.counting.on_third(packet)
                self.counting.on_arrival(packet)
            self._establish(now, packet, is_scaled=True)
            self._on_segment(now, packet)
        else:
            # RFC 9293 §3.10.7.4: it acknowledges what was not sent.
            self._send(now, Packet(False, "R", packet.ack or 0, 0, ecn="noecn"))

    def _establish(self, now: float, packet: Packet, *, is_scaled: bool) -> None:
        self._take_window(packet, is_scaled=is_scaled)
        self._fit(now)
        agreed = ["CWR"] if self.peer.accurate else ["ECE"] if self.peer.ecn else []
        flags = ["SYN", "ACK", *agreed]
        answer = Segment(ack=0, flags=flags, window=self.window, echo_s=self.opened_at, sent_at_s=now)
        self._hear(now, answer)
        self.state = "ESTABLISHED"
        self.counts.last_data_in = now

    def _hear(self, now: float, segment: Segment) -> None:
        self.heard.append((now, segment))
        self.sender.push(now, segment)

    def _take_window(self, packet: Packet, *, is_scaled: bool) -> None:
        if packet.window is not None:
            shift = (self.peer.scale or 0) if is_scaled else 0
            self.window = min(packet.window << shift, _MOST_WINDOW)
            self.most_window = max(self.most_window, self.window)

    def _on_segment(self, now: float, packet: Packet) -> None:
        ack = arrival.relative(packet.ack or 0) - 1
        # RFC 5961 §5: not what was not sent, nor what is older than a window.
        is_acceptable = self.una - self.most_window <= ack <= self.sent_end + (self.ours.fin is not None)
        if not is_acceptable:
            # RFC 9293 §3.10.7.4: it is answered and dropped.
            self.acknowledge(now)
            return
        is_later = packet.stamp is not None and arrival.is_later(packet.stamp, self.stamps.recent)
        self.stamps.hear(packet)
        if self.counting is not None:
            self.counting.on_arrival(packet)
            self._fit(now)
        if ack >= self.una:
            self._on_ack(now, packet, ack, is_later=is_later)
        elif RACK in self.has and (sack := self._sack(packet, ack)):
            # An acknowledgement that was overtaken: its blocks are still news.
            self._hear(now, Segment(ack=ack, sack=sack, window=self.window, flags=["ACK"], sent_at_s=now))
        self._on_data(now, packet)

    def _on_ack(self, now: float, packet: Packet, ack: int, *, is_later: bool) -> None:
        if (packet.start, ack) >= self.window_from:
            self.window_from = (packet.start, ack)
            self._take_window(packet, is_scaled=True)
        self.counts.last_ack_in = now
        if self.ours.fin is not None and ack > self.ours.fin:
            ack = self.ours.fin
            self._on_fin_acknowledged()
        sack = self._sack(packet, ack)
        if self.sender.state == "loss":
            self._need(F_RTO)
            self._need(RACK)
        flags = ["ACK"]
        if "E" in packet.flags and self.peer.ecn and self.counting is None:
            flags.append("ECE")
        echo, is_resent = self._echo_of(packet) or (now, False)
        if is_resent:
            flags.append("RESENT")
        counted, is_ordered = None, True
        if self.counting is not None:
            # A later timestamp is all that tells the order of acknowledgements without progress.
            is_ordered = is_later and ack >= self.una and self.sent_end > 0
            if ack > self.una or sack or is_ordered:
                counted = self.counting.on_progress(packet)
            flags += _names(accurate.flags((accurate.count(packet.flags) - self.counting.marks) % 8))
            sack = sack[:3] if counted else sack
        segment = Segment(
            ack=ack,
            sack=sack,
            window=self.window,
            flags=flags,
            ecn_bytes=counted,
            sent_at_s=now if is_ordered else 0.0,
            echo_s=echo,
            len=packet.length,
            seq=max(packet.start - 1, 0),
            wire_size=40,
        )
        is_news = ack > self.una
        self.una = max(self.una, ack)
        self.progress_at = now if is_news else self.progress_at
        self._hear(now, segment)
        if is_news and not self.is_corked:
            # Linux asks whether there is more only when it is written.
            self._release()
        reductions = self.sender.counters["ecn_reductions"]
        if reductions > self.ecn_reductions:
            self.ecn_reductions, self.cwr_until = reductions, self.sent_end
        if is_news and self.fin_due_at is not None:
            self.fin_due_at = now + self.sender.rto_s

    def _sack(self, packet: Packet, ack: int) -> list[tuple[int, int]]:
        """The blocks of data that the peer has beyond what it acknowledges."""
        if not self.peer.sack or packet.options is None or not packet.options.sack:
            return []
        blocks = tuple((start - 1, end - 1) for start, end in packet.options.sack)
        repeated = []
        if arrival.has_duplicate(blocks, ack):
            if RACK not in self.has:
                raise LacksError("a sender that reads D-SACK")
            (start, end), *rest = blocks
            blocks, repeated = tuple(rest), [(start, min(end, ack) if start < ack else end)]
        self._need(RACK)
        self._need(FACK)
        return [*repeated, *((max(start, ack), end) for start, end in blocks if ack < end)]

    def _echo_of(self, packet: Packet) -> tuple[float, bool] | None:
        stamp = packet.stamp if self.peer.stamps else None
        return self.stamps.echoed(stamp) or first_of(self.records, self.una)

    def _on_fin_acknowledged(self) -> None:
        if self.ours.done:
            return
        self.ours.done, self.fin_due_at = True, None
        self.state = {"FIN_WAIT1": "FIN_WAIT2", "CLOSING": "TIME_WAIT", "LAST_ACK": "CLOSE"}[self.state]

    def _on_data(self, now: float, packet: Packet) -> None:
        if self.theirs.done:
            return
        start, end = max(packet.start - 1, 0), packet.end - 1
        is_whole = self.edge is None or end < self.edge
        if not is_whole and self.is_linux and self.unread == 0 and start <= self.receiver.delivered:
            raise LacksError("a segment larger than the window, which an empty buffer takes")
        if not is_whole:
            # What lies beyond the window is cut off, and a FIN with it.
            end = (self.edge or 0) - 1
        if "F" in packet.flags and self.theirs.fin is None and is_whole:
            self.theirs.fin = end
        if packet.length > 0:
            if self.ours.fin is not None and self.is_read_closed:
                raise LacksError("data for a socket that was closed (a reset)")
            is_repeated = self._note_duplicate(start, end)
            self.counts.data_in += 1
            self.counts.last_data_in = now
            is_over = self.theirs.fin is not None and self.theirs.fin == end <= self.receiver.delivered
            if not (is_over and self.is_linux):
                # Linux reports no duplicate beside a FIN, which ends what it keeps for SACK (tcp_fin).
                self._give(now, start, end, self._marks_of(packet), is_whole=is_repeated)
        else:
            self._count_mark(now, packet)
        if self.theirs.fin is not None and self.theirs.fin == self.receiver.delivered:
            self._on_fin(now)

    def _marks_of(self, packet: Packet) -> list[str]:
        """The flags of a segment that arrived, as far as they are about ECN."""
        if self.counting is not None:
            return {"ce": ["CE", "ECT"], "ect0": ["ECT"], "ect1": ["ECT", "ECT1"]}.get(packet.ecn or "", [])
        if not self.peer.ecn:
            return []
        return (["CE"] if packet.ecn == "ce" else []) + (["CWR"] if "W" in packet.flags else [])

    def _count_mark(self, now: float, packet: Packet) -> None:
        """A mark counts on a segment without data, too (RFC 9768 §3.2.2.2)."""
        if self.counting is not None and packet.ecn == "ce":
            self.receiver.push(now, Segment(seq=self.receiver.delivered, flags=["CE", "ECT"], sent_at_s=now))

    def _give(self, now: float, start: int, end: int, flags: list[str], *, is_whole: bool = False) -> None:
        """Give data to the receiver; what is larger than a segment was put together on the way, as by Linux's GRO.

        Of what `is_whole`, one duplicate is reported.
        """
        most = end - start if is_whole else self.host.peer_mss or self.host.mss
        for piece in range(start, end, most):
            length = min(end - piece, most)
            self.receiver.push(now, Segment(seq=piece, len=length, flags=flags, sent_at_s=now))

    def _note_duplicate(self, start: int, end: int) -> bool:
        """Remember what arrived; whether some of it did before, which a receiver with D-SACK would report."""
        delivered = self.receiver.delivered
        self.pieces = [piece for piece in self.pieces if piece[1] > delivered]
        is_repeated = start < delivered or any(low < end and start < high for low, high in self.pieces)
        if self.peer.sack and is_repeated:
            self._need(D_SACK)
        self.pieces.append((start, end))
        return is_repeated

    def _on_fin(self, now: float) -> None:
        self.theirs.done = True
        changes = {"ESTABLISHED": "CLOSE_WAIT", "FIN_WAIT1": "CLOSING", "FIN_WAIT2": "TIME_WAIT"}
        unacknowledged = self.following - self.stamps.last_ack
        if self.is_linux and self.state == "ESTABLISHED" and self.counts.data_in and unacknowledged <= self.peer.mss:
            # tcp_fin: the application is expected to answer.
            self.answer_due_at = now + _DELAYED_FIN_S
        elif self.counting is not None and self.state == "FIN_WAIT2" and self.is_read_closed:
            # What is left of a connection that Linux has closed does not count.
            carried = self.receiver.acknowledge(now)
            self._send(now, self._packet(now, ".", self._next(), 0, carried, self._bare_ecn()))
        else:
            self.acknowledge(now)
        self.state = changes.get(self.state, self.state)

    # What the application does.

    def write(self, now: float, size: int, *, is_more: bool = False) -> None:
        """The application offers data; if there is more to come, a short segment waits for it."""
        self.written += size
        self.held += size
        waits = self.held % self.segment_size if is_more or self.is_corked else 0
        if self.held > waits:
            self.sender.write(self.held - waits)
        self.held = waits
        if self.held and self.una == self.sent_end and self.held_until is None:
            # What Linux would do if it were the window that holds it back: a probe, which takes it along.
            self.held_until = now + self.sender.rto_s
        self.drain(now)

    def cork(self, now: float, is_on: bool) -> None:
        """Hold all short segments back, or let them go."""
        self.is_corked = is_on
        if not is_on:
            self._release()
        self.drain(now)

    def _release(self) -> None:
        """Let go what was held back."""
        if self.held:
            self.sender.write(self.held)
        self.held, self.held_until = 0, None

    @property
    def unread(self) -> int:
        """Data that the application may read [B]."""
        return self.receiver.delivered - self.read_end

    def read(self, now: float, size: int) -> int:
        """The application reads up to `size` bytes; how many there were."""
        size = min(size, self.unread)
        self.read_end += size
        self.receiver.read(size)
        self.drain(now)
        return size

    def close_writing(self, now: float) -> None:
        """The application will write no more."""
        if self.state in {"SYN_SENT", "SYN_RECV"}:
            self.state = "CLOSE"
            return
        if not self.is_closing:
            self._release()
            self.is_closing = True
            self.sender.close()
            self.drain(now)

    def abort(self, now: float) -> None:
        """The application closes the connection with unread data, which the peer has to know (RFC 2525 §2.17)."""
        if self.written > self.sent_end:
            raise LacksError("a reset before all data has left")
        self._send(now, self._packet(now, "R.", self._next(), 0, self.receiver.acknowledge(now)))
        self.state = "CLOSE"

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


def _ace_of(segment: Segment) -> str:
    """The flags by which a receiver counts."""
    return "".join(flag for flag, name in _ACE.items() if name in segment.flags)


def _names(flags: str) -> list[str]:
    return [_ACE[flag] for flag in flags]
