"""A sender that knows timeouts only, TCP or RATCP, alone on a link of constant capacity: its cycle, exactly.

Nothing is random on such a path, so that a queue of C packets/s with room for B of them, a delay Delta behind it and
the sender's rules determine every packet.  Packet k arrives at the link when an acknowledgement or the timer lets it
go, at a_k, is lost if B packets are there, and leaves at

    d_k = max(d_{k-1}, a_k) + 1 / C          (Lindley's recursion)

and what it makes the receiver acknowledge is heard at d_k + Delta.  The window opens by one packet per acknowledgement
below ssthresh, and by one per window of them above; RATCP's is at most W = floor(C RTT) + beta.  After a loss the
sender goes on until acknowledgements stop, and waits for the timer; then ssthresh is half of what was in flight (W for
RATCP), the window is one packet, and everything unacknowledged is sent again.  `throughput` follows packets until
timeouts repeat those before, in time and in packets, or until the window stays as it is.

Source: the sender of [ratcp, §II, §V-A], with RFC 6298's estimator; the recursion is [lindley52].
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf

MOST_PACKETS = 200_000
"""More packets than this are not followed: the answer would take a second."""

# Windows of acknowledgements after which a window at its limit that has lost nothing will not.
_QUIET_ROUNDS = 4
_MEASURED_WINDOWS = 8
SLOW_START_LOSES = 0.36
"""Buffers of TCP over pipe up to which slow start loses packets: 1/3 [abr, §III-B].  There the simulator lies up to
26 % lower if acknowledgements jitter by 1 % of the round trip; at 0.38 within 3 %."""
_BEGINNINGS = (1, 2, 3, 4, 10)
"""Initial windows of RFC 2001, 2581, 3390 and 6928 [packets]."""
FEWEST_IN_A_CYCLE = 33
"""Packets of a cycle, of which one is 3 %, the bound of this model."""
_AGAIN = -1.0  # in the place of a time: a packet that is sent again, or that was, gives no sample
# Cycles that differ by less are the same [s].
_SAME = 1e-9


@dataclass(frozen=True, kw_only=True)
class Timer:
    """How the RTO follows from the smoothed RTT and its deviation.  Source: RFC 6298 (2.3)."""

    minimum_s: float = 1.0
    """Least RTO [s]; with `above`, least of what is added to the smoothed RTT."""
    granularity_s: float = 0.0
    """Least of what four deviations count [s]."""
    above: bool = False
    """Whether the least is added to the smoothed RTT, as in Linux."""
    factor: float | None = None
    """RTO over smoothed RTT, if it is a multiple of it; the others are then ignored."""

    def rto_s(self, smoothed_s: float, deviation_s: float) -> float:
        """The retransmission timeout [s]."""
        if self.factor is not None:
            return self.factor * smoothed_s
        if self.above:
            return smoothed_s + max(self.minimum_s, 4 * deviation_s)
        return max(self.minimum_s, smoothed_s + max(self.granularity_s, 4 * deviation_s))


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A session alone on its path.  Raises ``ValueError`` for values outside the model."""

    capacity_pps: float
    """Capacity, C [packets/s]."""
    delay_s: float
    """Round trip propagation delay, Delta [s]."""
    room_packets: int
    """Most packets at the link, the one in service included, B."""
    rate_window: int | None = None
    """RATCP's W, the window of the advertised rate with the backlog [packets]; none for TCP."""
    max_window: float = inf
    """Limit of the window [packets]."""
    packets_per_ack: int = 1
    """Packets that an acknowledgement answers."""
    counted_per_ack: float = 1
    """The most packets that an acknowledgement counts for when the window opens."""
    ack_delay_s: float = 0.04
    """How long an acknowledgement waits for more packets [s]."""
    timer: Timer = field(default_factory=Timer)

    def __post_init__(self) -> None:
        if not (self.capacity_pps > 0 and self.delay_s > 0 and self.max_window >= 1):
            raise ValueError("capacity and delay are positive, and a window holds one packet or more")
        if self.room_packets < 1 or self.packets_per_ack < 1:
            raise ValueError("a link has room for one packet or more, and an acknowledgement answers one or more")


@dataclass(frozen=True, kw_only=True)
class Result:
    """What repeats itself indefinitely."""

    throughput_pps: float
    """Packets delivered per second [packets/s]."""
    timeouts_per_s: float
    """Timeouts per second [1/s]."""
    period_s: float
    """Time from timeout to timeout [s]; infinite if there is none."""
    peak_packets: float
    """Largest window."""
    validity: tuple[str, ...]
    """Assumptions that these parameters strain; empty if none."""


def throughput(parameters: Parameters) -> Result:
    """The long run of a session that begins with a window of one packet.

    Raises ``ValueError`` where no cycle has repeated itself after `MOST_PACKETS` packets.

    >>> fixed = Parameters(capacity_pps=200, delay_s=0.1, room_packets=11, timer=Timer(minimum_s=0.2))
    >>> round(throughput(fixed).throughput_pps / 200, 3)
    0.783
    """
    found = _follow(parameters)
    return replace(found, validity=tuple(_validity(parameters, found)))


def _follow(parameters: Parameters, first_window: int = 1) -> Result:
    session = _Session(parameters, first_window)
    return _cycle(session) or _steady(session)


def _cycle(session: "_Session") -> Result | None:
    """From timeout to timeout, as soon as that repeats itself; none where the window stays as it is."""
    cycles: list[tuple[float, int]] = []
    times, counts = [0.0], [0]
    while session.sent < MOST_PACKETS:
        before = session.window
        if not session.step():
            if session.quiet_acks > _QUIET_ROUNDS * (before + 1) and session.window == before >= session.limit:
                return None
            session.flow(inf, _QUIET_ROUNDS * (session.limit + 1))
            continue
        times.append(session.now)
        counts.append(session.acknowledged)
        cycles.append((times[-1] - times[-2], counts[-1] - counts[-2]))
        for length in range(1, len(cycles) // 2 + 1):
            if _repeats(cycles, length):
                period = times[-1] - times[-1 - length]
                return Result(
                    throughput_pps=(counts[-1] - counts[-1 - length]) / period,
                    timeouts_per_s=length / period,
                    period_s=period / length,
                    peak_packets=session.peak,
                    validity=(),
                )
    raise ValueError(f"no cycle of the window repeats itself within {MOST_PACKETS} packets")


def _validity(parameters: Parameters, found: Result) -> Iterator[str]:
    if parameters.rate_window is not None:
        if found.timeouts_per_s > 0 or _may_be_caught(parameters):
            yield (
                f"whether slow start gets to the {parameters.rate_window} packets of the rate and the backlog, or is "
                "caught in timeouts, depends on instants, and on how it began"
            )
        return
    if found.timeouts_per_s == 0:
        return
    if (packets := found.throughput_pps * found.period_s) < FEWEST_IN_A_CYCLE:
        yield f"a timeout comes after {packets:.0f} packets, of which one more or less depends on instants"
    ratio = parameters.room_packets / (parameters.capacity_pps * parameters.delay_s + 1)
    if ratio <= SLOW_START_LOSES:
        yield (
            f"slow start loses packets in a buffer of {ratio:.2f} pipes (up to {SLOW_START_LOSES:.2f}): which ones, "
            "and with them the throughput, depends on instants"
        )


def _may_be_caught(parameters: Parameters) -> bool:
    """Whether RATCP that begins otherwise, or for which a packet arrives just before another leaves, stays in timeouts.

    Data that acknowledgements let go arrives at the link as another packet leaves it: which comes first is a matter of
    rounding, or of any jitter, and a packet less of room stands for the worse.
    """
    worse = replace(parameters, room_packets=max(1, parameters.room_packets - 1))
    others = ((each, first) for first in _BEGINNINGS for each in (parameters, worse))
    next(others)  # the session itself, which was followed
    return any(_times_out(each, first) for each, first in others)


def _times_out(parameters: Parameters, first_window: int) -> bool:
    """Whether the long run has timeouts, as it may where none is found."""
    try:
        return _cycle(_Session(parameters, first_window)) is not None
    except ValueError:
        return True


def _repeats(cycles: list[tuple[float, int]], length: int) -> bool:
    pairs = zip(cycles[-length:], cycles[-2 * length : -length], strict=True)
    return all(one[1] == other[1] and abs(one[0] - other[0]) < _SAME for one, other in pairs)


def _steady(session: "_Session") -> Result:
    """A window that stays: what it carries repeats itself after one or two of them."""
    began, first = session.now, session.acknowledged
    last = first + _MEASURED_WINDOWS * session.window
    while session.acknowledged < last:
        session.step()
        session.flow(last, inf)
    rate = (session.acknowledged - first) / (session.now - began)
    return Result(throughput_pps=rate, timeouts_per_s=0.0, period_s=inf, peak_packets=session.window, validity=())


class _Session:
    """Sender, link and receiver, from one event at the sender to the next."""

    def __init__(self, parameters: Parameters, first_window: int) -> None:
        self.parameters = parameters
        self.now = 0.0
        self.limit = min(parameters.max_window, parameters.rate_window or inf)
        self.window = min(float(first_window), self.limit)
        self.threshold = float(parameters.rate_window or inf)
        self.peak = self.window
        self.acknowledged = 0  # first packet that is not
        self.next = 0  # packet that is sent next
        self.sent = 0
        self.quiet_acks = 0  # acknowledgements since the last timeout
        self._counted = 0.0
        self._at_link = deque[float](maxlen=parameters.room_packets)  # when each of the last ones leaves
        self._acks: deque[tuple[float, int]] = deque()  # when each is heard, and the packet that it asks for
        self._expected, self._early = 0, set[int]()  # the receiver's next packet, and those behind a gap
        self._waiting: float | None = None  # when a delayed acknowledgement is sent at the latest
        self._unanswered = 0
        self._first_sent = deque[float]()  # when each packet that is not acknowledged was, or `_AGAIN`
        self._smoothed: float | None = None
        self._deviation = 0.0
        self._rto = max(1.0, parameters.timer.minimum_s)
        self._send()
        self._expires = self.now + self._rto

    def step(self) -> bool:
        """Hear the next acknowledgement; or, if none comes before the timer expires, go back: returns whether."""
        if self._acks and self._acks[0][0] <= self._expires:
            self.now, asked = self._acks.popleft()
            self._hear(asked)
            return False
        if self._waiting is not None and self._waiting <= self._expires:
            self._answer(self._waiting)
            return False
        self._time_out()
        return True

    def flow(self, last: float, quiet_acks: float) -> None:
        """`step`, again and again, while each acknowledgement is of one packet or none, and comes before the timer.

        It ends with the acknowledgement of packet `last` - 1, or where the window is at its limit and so many of them
        have come.  Most packets of a cycle meet nothing else, so this is written for speed: without calls, and with a
        timeout that is only computed where an acknowledgement comes later than the least one.
        """
        path, acks, at_link, first_sent = self.parameters, self._acks, self._at_link, self._first_sent
        if path.packets_per_ack > 1 or path.counted_per_ack < 1:
            return
        room, delay_s, transmission_s = path.room_packets, path.delay_s, 1 / path.capacity_pps
        least_s = path.timer.minimum_s if path.timer.factor is None else 0.0
        now, since, expires, is_exact, is_sampled = self.now, self.now, self._expires, True, False
        window, limit, threshold, counted = self.window, self.limit, self.threshold, self._counted
        smoothed, deviation, quiet = self._smoothed, self._deviation, self.quiet_acks
        done, following, expected, early = self.acknowledged, self.next, self._expected, self._early
        most = MOST_PACKETS - self.sent + following
        while acks and following < most and done < last:
            heard, asked = acks[0]
            if heard > expires and not is_exact:
                if is_sampled and smoothed is not None:
                    self._rto, is_sampled = path.timer.rto_s(smoothed, deviation), False
                expires, is_exact = since + self._rto, True
            if heard > expires or asked > done + 1 or (window >= limit and quiet >= quiet_acks):
                break
            acks.popleft()
            now = heard
            if asked <= done:
                continue
            done, since, quiet = asked, now, quiet + 1
            expires, is_exact = now + least_s, False
            sent = first_sent.popleft()
            if sent != _AGAIN:
                is_sampled = True
                if smoothed is None:
                    smoothed = now - sent
                    deviation = smoothed / 2
                else:
                    error = smoothed - (now - sent)
                    deviation += ((error if error > 0 else -error) - deviation) / 4
                    smoothed -= error / 8
            below = threshold - window
            if below >= 1:
                window += 1
            else:
                below = below if below > 0 else 0.0
                window += below
                counted += 1 - below
                if counted >= window:
                    counted -= window
                    window += 1
            if window > limit:
                window = limit
            ends = done + int(window)
            while following < ends:
                first_sent.append(now)
                if len(at_link) < room or at_link[0] <= now:
                    leaves = (at_link[-1] if at_link and at_link[-1] > now else now) + transmission_s
                    at_link.append(leaves)
                    if following > expected:
                        early.add(following)
                    elif following == expected:
                        expected += 1
                        while expected in early:
                            early.discard(expected)
                            expected += 1
                    acks.append((leaves + delay_s, expected))
                following += 1
            if window < threshold or early or not following == expected == done + window or counted % 1 or not least_s:
                continue
            if smoothed is None or _AGAIN in first_sent:
                continue
            self.window, self._counted, self._smoothed, self._deviation = window, counted, smoothed, deviation
            heard_of = self._avoid(done, packets=most - following, acks=last - done, quiet_acks=quiet_acks - quiet)
            if heard_of:
                window, counted, smoothed, deviation = self.window, self._counted, self._smoothed, self._deviation
                done, quiet, is_sampled = done + heard_of, quiet + heard_of, True
                following = expected = done + int(window)
                now = since = first_sent[-1]
                expires = now + least_s
        if is_sampled and smoothed is not None:
            self._rto = path.timer.rto_s(smoothed, deviation)
        if done > self.acknowledged:
            self._expires = since + self._rto
        self.now, self.window, self.peak = now, window, max(self.peak, window)
        self._counted, self._smoothed, self._deviation, self.quiet_acks = counted, smoothed, deviation, quiet
        self.sent += following - self.next
        self.acknowledged, self.next, self._expected = done, following, expected

    def _avoid(self, done: int, *, packets: float, acks: float, quiet_acks: float) -> int:
        """Hear acknowledgements of congestion avoidance beyond `done`, each of one packet, and return how many.

        It ends before one that comes too late, or lets a packet go that would be lost; and with so many packets sent,
        or acknowledgements heard, or heard with a window at its limit.  What is in flight fills the window.
        """
        if [asked for _, asked in self._acks] != list(range(done + 1, done + 1 + len(self._acks))):
            return 0
        room, limit, least_s = self.parameters.room_packets, self.limit, self.parameters.timer.minimum_s
        delay_s, transmission_s = self.parameters.delay_s, 1 / self.parameters.capacity_pps
        window, counted, smoothed, deviation = self.window, self._counted, self._smoothed or 0.0, self._deviation
        # Lists that grow while they are read: when acknowledgements are heard, when what they answer was sent, and when
        # the packet leaves whose place the next one takes.
        heard_at, sent_at = [heard for heard, _ in self._acks], list(self._first_sent)
        leave_at = [-inf] * (room - len(self._at_link)) + list(self._at_link)
        leaves, expires = leave_at[-1], sent_at[-1] + least_s
        heards, sents, places = iter(heard_at), iter(sent_at), iter(leave_at)
        in_flight, heard_of, growths = len(sent_at), 0, 0
        while True:
            run = min(window - counted - 1, packets - heard_of - growths, acks - heard_of)
            if window >= limit:
                run = min(run, quiet_acks - heard_of)
            for _, heard, sent, place in zip(range(int(run)), heards, sents, places, strict=False):
                if heard > expires or place > heard:
                    break
                expires = heard + least_s
                error = smoothed - (heard - sent)
                deviation += ((error if error > 0 else -error) - deviation) / 4
                smoothed -= error / 8
                sent_at.append(heard)
                leaves = (leaves if leaves > heard else heard) + transmission_s
                leave_at.append(leaves)
                heard_at.append(leaves + delay_s)
            before, heard_of = heard_of, len(sent_at) - in_flight - growths
            if heard_of > before:
                counted, window = counted + heard_of - before, float(window)  # RATCP's limit is a whole number
            more = 1 if window < limit else 0
            if counted + 1 < window or heard_of >= acks or heard_of + growths >= packets:
                break
            if window + more > limit or (not more and heard_of >= quiet_acks):
                break
            # An acknowledgement with which the window opens, and which lets two packets go below the limit.
            heard, here = heard_at[heard_of], heard_of + growths
            if heard > expires or leave_at[here] > heard or (more and (room == 1 or leave_at[here + 1] > heard)):
                break
            next(heards), next(places)
            error = smoothed - (heard - next(sents))
            deviation += ((error if error > 0 else -error) - deviation) / 4
            smoothed -= error / 8
            expires = heard + least_s
            for _ in range(1 + more):
                sent_at.append(heard)
                leaves = (leaves if leaves > heard else heard) + transmission_s
                leave_at.append(leaves)
                heard_at.append(leaves + delay_s)
            if more:
                next(places)
            heard_of, growths, counted = heard_of + 1, growths + more, counted + 1 - window
            window = window + 1 if more else limit
        if heard_of:
            self._acks.clear()
            self._acks.extend(zip(heard_at[heard_of:], count(done + heard_of + 1), strict=False))
            self._first_sent.clear()
            self._first_sent.extend(sent_at[heard_of:])
            self._at_link.extend(leave_at[room:])
            self.window, self._counted, self._smoothed, self._deviation = window, counted, smoothed, deviation
        return heard_of

    def _hear(self, asked: int) -> None:
        fresh = asked - self.acknowledged
        if fresh <= 0:
            return
        self.quiet_acks += 1
        sent = self._first_sent[fresh - 1] if fresh <= len(self._first_sent) else _AGAIN
        for _ in range(min(fresh, len(self._first_sent))):
            self._first_sent.popleft()
        if sent != _AGAIN:
            self._sample(sent)
        self.acknowledged = asked
        self.next = max(self.next, asked)
        self._open(min(fresh, self.parameters.counted_per_ack))
        self._expires = self.now + self._rto
        self._send()

    def _open(self, by: float) -> None:
        below = min(by, max(0.0, self.threshold - self.window))
        self.window += below
        if below < by:
            self._counted += by - below
            if self._counted >= self.window:
                self._counted -= self.window
                self.window += 1
        self.window = min(self.window, self.limit)
        self.peak = max(self.peak, self.window)

    def _time_out(self) -> None:
        self.now = self._expires
        flight = self.next - self.acknowledged
        self.threshold = float(self.parameters.rate_window or max(flight // 2, 2))
        self.window, self._counted, self.quiet_acks = 1.0, 0.0, 0
        self.next = self.acknowledged
        self._first_sent.clear()  # Karn: what is sent again gives no sample
        self._rto *= 2
        self._send(again=True)
        self._expires = self.now + self._rto

    def _sample(self, sent: float) -> None:
        rtt = self.now - sent
        if self._smoothed is None:
            self._smoothed, self._deviation = rtt, rtt / 2
        else:
            self._deviation += (abs(self._smoothed - rtt) - self._deviation) / 4
            self._smoothed += (rtt - self._smoothed) / 8
        self._rto = self.parameters.timer.rto_s(self._smoothed, self._deviation)

    def _send(self, again: bool = False) -> None:
        while self.next - self.acknowledged < int(self.window):
            self._first_sent.append(_AGAIN if again else self.now)
            self._arrive(self.next)
            self.next += 1
            self.sent += 1

    def _arrive(self, packet: int) -> None:
        """A packet at the link, which is lost if there is no room."""
        if len(self._at_link) == self.parameters.room_packets and self._at_link[0] > self.now:
            return
        leaves = max(self.now, self._at_link[-1] if self._at_link else 0.0) + 1 / self.parameters.capacity_pps
        self._at_link.append(leaves)
        self._receive(packet, leaves + self.parameters.delay_s)

    def _receive(self, packet: int, heard: float) -> None:
        """A packet at the receiver; `heard` is when the sender would hear an acknowledgement that is sent at once."""
        if self._waiting is not None and self._waiting <= heard:
            self._answer(self._waiting)
        in_order = packet == self._expected and not self._early
        if packet >= self._expected:
            self._early.add(packet)
        while self._expected in self._early:
            self._early.discard(self._expected)
            self._expected += 1
        self._unanswered += 1
        if in_order and self._unanswered < self.parameters.packets_per_ack:
            if self._waiting is None:
                self._waiting = heard + self.parameters.ack_delay_s
            return
        self._answer(heard)

    def _answer(self, heard: float) -> None:
        self._acks.append((heard, self._expected))
        self._waiting, self._unanswered = None, 0
