"""The RATCP model against a plain simulation of its process."""

import math

import numpy as np
import pytest

from varicap.analyse.models import ratcp, ratcp_chain
from varicap.analyse.models.ratcp import Parameters
from varicap.analyse.models.ratcp_slot import Slots, spacing


class Walk:
    """The process of the model, packet by packet and slot by slot, with all that is random drawn at random."""

    def __init__(self, parameters: Parameters, seed: int) -> None:
        self.p = parameters
        self.random = np.random.default_rng(seed)
        self.chain = ratcp.session_chain(parameters)
        self.room = parameters.buffer_packets + (not parameters.counts_in_service)
        self.before = self.now = 0
        self.slots = 0
        self.packets = 0.0
        self.share = 0.0
        self.avoiding = self.losses = self.failures = 0
        self.state = 0, 1, 1

    def rate_window(self, sessions: int) -> int:
        return max(1, math.floor(self.p.slot / (sessions + 1) + 1e-9) + self.p.backlog_packets)

    def next_slot(self) -> None:
        self.slots += 1
        self.share += 1 / (self.now + 1)
        self.before, self.now = self.now, int(self.random.choice(self.chain.shape[0], p=self.chain[self.now]))

    def queue(self, backlog: int, released: list[int]) -> tuple[int, int, int | None]:
        """Departure by departure: packets admitted and left behind, and the acknowledgement whose packet was lost."""
        service = self.now + 1
        fit = self.p.slot / service
        extra = self.random.random() < fit - math.floor(fit + 1e-9) - 1e-9
        begun = math.ceil(fit - 1e-9) * service - self.p.slot if extra else 0.0
        departures = [(i + 1) * service - begun for i in range(backlog)]
        gap = min(self.before + 1, self.p.slot / max(1, len(released)))
        admitted = 0
        for ack, count in enumerate(released):
            at = (ack + 1) * gap
            for _ in range(count):
                if sum(departure > at + 1e-9 for departure in departures) >= self.room:
                    return admitted, 0, ack
                departures.append(max(at, departures[-1] if departures else 0.0) + service)
                admitted += 1
        return admitted, sum(departure > self.p.slot + 1e-9 for departure in departures), None

    def recover(self, half: int) -> tuple[int, int, int]:
        """From the end of the slot of a loss to congestion avoidance: backlog, delay, cwnd."""
        while True:
            ssthresh = max(2, half) if self.p.control == "tcp" else self.rate_window(self.now)
            self.next_slot()
            self.next_slot()
            window = 1
            while window < ssthresh:
                backlog, delay = self.split(window)
                grown = min(2 * window, ssthresh)
                released = [2 if i < grown - window else 1 for i in range(delay)]
                admitted, _, lost = self.queue(backlog, released)
                self.packets += window + admitted if lost is not None else grown - window
                self.next_slot()
                if lost is not None:
                    self.failures += 1
                    half = (window + min(lost + 1, grown - window)) // 2
                    break
                window = grown
            else:
                return *self.split(window), window

    def split(self, window: int) -> tuple[int, int]:
        backlog = min(self.room, max(0, window - math.floor(self.p.slot / (self.before + 1) + 1e-9)))
        return backlog, window - backlog

    def run(self, slots: int) -> None:
        backlog, delay, window = self.state
        while self.slots < slots:
            limit = self.rate_window(self.before) if self.p.control == "ratcp" else 10**9
            window = min(window, limit)
            waits = min(delay, max(0, backlog + delay - window))
            acks = delay - waits
            growth = int(self.random.binomial(acks, (1 if self.p.growth == "per-ack" else 0.5) / window))
            if self.p.clip == "ack":
                growth = min(growth, limit - window)
            released = [0] * waits + [1] * acks
            for nth in range(1, growth + 1):
                released[waits + math.ceil(nth * acks / (growth + 1)) - 1] += 1
            admitted, left, lost = self.queue(backlog, released)
            self.packets += delay
            self.avoiding += 1
            if lost is None:
                backlog, delay, window = left, backlog + admitted - left, window + growth
                self.next_slot()
            else:
                self.losses += 1
                self.packets += backlog + admitted
                grown = window + sum(count - 1 for count in released[waits : lost + 1])
                self.next_slot()
                backlog, delay, window = self.recover(grown // 2)
        self.state = backlog, delay, window


OFF_PAPER = [
    Parameters(
        capacity_pps=155,
        delay_s=0.08,
        buffer_packets=7,
        backlog_packets=2,
        arrival_rate=0.8,
        mean_session_packets=150,
        max_sessions=2,
        clip="slot",
    ),
    Parameters(
        capacity_pps=125,
        delay_s=0.15,
        buffer_packets=12,
        control="tcp",
        arrival_rate=0.8,
        mean_session_packets=120,
        max_sessions=4,
    ),
    Parameters(
        capacity_pps=300,
        buffer_packets=15,
        backlog_packets=3,
        arrival_rate=1.0,
        max_sessions=1,
        growth="delayed",
        counts_in_service=False,
    ),
    Parameters(
        capacity_pps=100,
        delay_s=0.2,
        buffer_packets=6,
        backlog_packets=0,
        arrival_rate=1.5,
        mean_session_packets=50,
        clip="slot",
    ),
    Parameters(
        capacity_pps=90,
        delay_s=0.1,
        buffer_packets=4,
        backlog_packets=3,
        arrival_rate=1.5,
        mean_session_packets=25,
        clip="ack",
    ),
    Parameters(
        capacity_pps=170,
        delay_s=0.1,
        buffer_packets=20,
        control="tcp",
        arrival_rate=2.0,
        mean_session_packets=60,
        growth="delayed",
    ),
]


def test_runs_of_acknowledgements_are_worked_off_as_one_by_one() -> None:
    walk = Walk(Parameters(), seed=5)  # 20 packets per slot and sessions that divide it: nothing is random
    random = np.random.default_rng(6)
    losses = 0
    for _ in range(300):
        walk.before, walk.now = random.choice([0, 1, 3], 2).tolist()
        walk.room = int(random.integers(2, 12))
        backlog = int(random.integers(0, walk.room + 1))
        runs = [(int(random.integers(0, 9)), released) for released in (0, *random.integers(1, 3, 3).tolist())]
        released = [count for acks, count in runs for _ in range(acks)]
        slots = Slots(
            work=np.array([backlog * (walk.now + 1.0)]),
            spacing=spacing(20.0, np.array([len(released)]), np.array([walk.before + 1.0])),
            service=np.array([walk.now + 1.0]),
            room=walk.room,
        )
        for acks, count in runs:
            slots.run(np.array([acks]), count)
        admitted, left, lost = walk.queue(backlog, released)
        assert (slots.lost[0], slots.admitted[0]) == (lost is not None, admitted)
        if lost is None:
            assert slots.backlog(20.0)[0] == left
        else:
            losses += 1
            assert slots.growth[0] == sum(count == 2 for count in released[: lost + 1])
    assert 50 < losses < 250  # both outcomes were seen


def test_growth_in_a_slot_is_binomial() -> None:
    # 20 acknowledgements and 1 packet at the link: a buffer of B overflows when cwnd grows by B or more.
    for buffer in (3, 5):
        path = ratcp_chain.Path(
            slot=20,
            room=buffer,
            rate_window=(21,),
            growth=1.0,
            clip_at_ack=False,
            service=(1.0,),
            leads=((0,),),
        )
        tail = sum(math.comb(20, n) * (1 / 21) ** n * (20 / 21) ** (20 - n) for n in range(buffer, 21))
        assert ratcp_chain.overshoot(path, 1) == pytest.approx(tail, abs=1e-5)  # what the chain leaves out


@pytest.mark.parametrize("parameters", OFF_PAPER)
def test_the_chain_gives_what_its_process_does(parameters: Parameters) -> None:
    batches = []
    for seed in range(20):
        walk = Walk(parameters, seed)
        walk.run(200)
        walk.slots, walk.packets, walk.share = 0, 0.0, 0.0
        walk.run(2000)
        batches.append((walk.packets / walk.slots, walk.share / walk.slots))
    carried, share = np.array(batches).T
    # The sessions' part of the scatter is known: the mean share of the stated chain.  What remains is small.
    known = ratcp.throughput(parameters)
    slope = np.cov(carried, share)[0, 1] / share.var(ddof=1)
    rest = carried - slope * (share - known.fair_share_pps / parameters.capacity_pps)
    error = rest.std(ddof=1) / math.sqrt(rest.size)
    assert error < 0.01 * rest.mean()
    # Six points, each within 3.3 standard errors: a correct model fails one in 50 sets of seeds (Student, 18 degrees).
    assert known.throughput_pps * parameters.delay_s == pytest.approx(rest.mean(), abs=3.3 * error)


def test_losses_and_cycles_are_those_of_the_process() -> None:
    parameters = OFF_PAPER[4]
    batches = []
    for seed in range(20):
        walk = Walk(parameters, seed)
        walk.run(4000)  # the beginning is a hundredth of it
        timeouts = walk.losses + walk.failures
        batches.append(
            [
                walk.losses / walk.avoiding,
                walk.failures / timeouts,
                timeouts / walk.slots / parameters.delay_s,
                walk.slots * parameters.delay_s / (walk.avoiding + walk.failures),
            ]
        )
    found = np.array(batches)
    known = ratcp.throughput(parameters)
    expected = [known.loss_probability, known.slow_start_failure, known.timeouts_per_s, known.mean_cycle_s]
    error = found.std(axis=0, ddof=1) / math.sqrt(20)
    assert (error < 0.04 * found.mean(axis=0)).all()
    # Within 3.3 standard errors, as above.
    assert (np.abs(found.mean(axis=0) - expected) < 3.3 * error).all(), (found.mean(axis=0), expected, error)
