"""A connection of the simulated host: a sender and a receiver, joined as a TCP of both directions joins them."""

from dataclasses import replace

from varicap.dialogue import accurate, arrival
from varicap.dialogue.commands import D_SACK, F_RTO, FACK, RACK
from varicap.dialogue.records import first_of
from varicap.dialogue.script import LacksError, Packet
from varicap.dialogue.sending import Sending
from varicap.tcp import Segment

_MOST_WINDOW = (1 << 32) - 1
_DELAYED_FIN_S = 0.04
"""How long Linux waits with the acknowledgement of a FIN after data, for an answer to take it along [s]."""


class Connection(Sending):
    """One end of a connection; the script is the other end and the network."""

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
            # tcp_reset: a peer that has said that it is done has not broken off.
            self.error = "EPIPE" if self.state == "CLOSE_WAIT" else "ECONNRESET"
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
            self._send(now, Packet(False, "R", packet.ack or 0, 0, window=0, ecn="noecn"))

    def _establish(self, now: float, packet: Packet, *, is_scaled: bool) -> None:
        self._take_window(packet, is_scaled=is_scaled)
        self._fit(now)
        agreed = ["CWR"] if self.peer.accurate else ["ECE"] if self.peer.ecn else []
        flags = ["SYN", "ACK", *agreed]
        # Of several SYNs the last one was answered, unless the timestamp is another one's.
        echo, _ = self.stamps.echoed(packet.stamp) or (self.syn_at, False)
        answer = Segment(ack=0, flags=flags, window=self.window, echo_s=echo, sent_at_s=now)
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
            self._hear(now, Segment(ack=max(ack, 0), sack=sack, window=self.window, flags=["ACK"], sent_at_s=now))
        self._on_data(now, packet)

    def _on_ack(self, now: float, packet: Packet, ack: int, *, is_later: bool) -> None:
        if (packet.start, ack) >= self.window_from:
            self.window_from = (packet.start, ack)
            self._take_window(packet, is_scaled=True)
        self.counts.last_ack_in = now
        # The number that the sender hears is that of its FIN, too.
        heard = ack
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
            flags += accurate.names(accurate.flags((accurate.count(packet.flags) - self.counting.marks) % 8))
            sack = sack[:3] if counted else sack
        segment = Segment(
            ack=heard,
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
        self._await_release(now)
        reductions = self.sender.counters["ecn_reductions"]
        if reductions > self.ecn_reductions:
            self.ecn_reductions, self.cwr_until = reductions, self.sent_end

    def _sack(self, packet: Packet, ack: int) -> list[tuple[int, int]]:
        """The blocks of data that the peer has beyond what it acknowledges."""
        if not self.peer.sack or packet.options is None or not packet.options.sack:
            return []
        # Before the first byte there is nothing that a block could be about.
        blocks = tuple((max(start - 1, 0), end - 1) for start, end in packet.options.sack if end > max(start, 1))
        if not blocks:
            return []
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
        self.ours.done = True
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
            if self.ours.fin is not None and self.is_read_shut:
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
        self.drain(now)
        self._await_release(now)

    def cork(self, now: float, is_on: bool) -> None:
        """Hold all short segments back, or let them go."""
        self.is_corked = is_on
        if not is_on:
            self._release()
        self.drain(now)

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
        """The application closes the connection with unread data, which the peer has to know (RFC 2525 §2.17).

        So it is if the program that listens goes before it has accepted the connection.
        """
        if self.written > self.sent_end:
            raise LacksError("a reset before all data has left")
        self._send(now, self._packet(now, "R.", self._next(), 0, self.receiver.acknowledge(now)))
        self.state = "CLOSE"
