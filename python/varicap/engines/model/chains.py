"""The Markov capacity of a scenario's link, in packets per round trip, and what the link advertises of it."""

import math
from collections.abc import Iterator
from math import isclose
from typing import TYPE_CHECKING, Any

from varicap import units
from varicap.engines.model.keys import table
from varicap.engines.model.path import FlowPath, Number, choice

if TYPE_CHECKING:
    import numpy as np

    from varicap.analyse.advertised import AdvertisedChain
    from varicap.analyse.effective import SlottedChain
    from varicap.analyse.together import Computation

CHAINS = ("slotted-markov", "markov")
"""Capacities that are Markov chains of rates."""
KEYS = table("link.capacity.slotted-markov", "rates", "step", "transitions", "start") | table(
    "link.capacity.markov", "rates", "mean_holding", "jumps", "start"
)
"""The keys that say which."""
FEEDBACK = (
    {"feedback"}
    | table("feedback", "link", "links", "share", "estimator", "delay", "estimator.instantaneous.interval")
    | table("feedback.estimator.effective", "interval", "average", "least")
    | {"feedback.estimator.effective.at = link"}
)
"""The keys of what is advertised, which `feedback_misfits` has looked at."""

_APART = 5.0
"""Largest rate over the least: 172 of the 200 random chains of `tools/chains.py` are not further apart."""
_ROUNDING = 1e-9
_PHASES = 8
"""Of a slot that is left with certainty, at most."""
_MOST_KNOWN, _MOST_KNOWN_TO_FEW = 0.85, 0.74
"""Share of changes to a rate that is known beforehand, above which the capacity is a clock; the second for buffers of
fewer than `_FEW` packets, of which a fraction of a packet is a larger share."""
_FEW = 14
_MOST_REGULAR = 0.25
"""Of the squared mean time of a rate, by which its variance may be less than that of a geometric law."""
_TERMS = 25
"""Of a series whose k-th term is 1 / k! at most."""


def feedback_misfits(path: FlowPath) -> Iterator[str]:
    """What keeps the advertised rate from being a function of the capacity's last slots."""
    feedback, key = path.flow["feedback"], f"{path.flow['path']}.feedback"
    if feedback is None:
        yield f"{key}: in the model the link advertises its rate"
        return
    name, options = choice(feedback["estimator"])
    if name not in ("exact", "instantaneous", "effective"):
        yield f"{key}.estimator = {name}: the model knows exact, instantaneous (INSTCAP), effective (EFFCAP)"
    elif name == "exact" and (options or {}).get("interval"):
        yield f"{key}.estimator.exact.interval: in the model each change of the rate is advertised"
    elif name == "effective" and options.get("delta") is not None:
        yield f"{key}.estimator.effective.delta: in the model the least average is advertised"
    elif name == "effective" and choice(options["at"])[0] != "link":
        yield f"{key}.estimator.effective.at: in the model the link takes the averages"
    yield from update_misfits(path)


def update_misfits(path: FlowPath) -> Iterator[str]:
    """What keeps updates of the rate from arriving a round trip later, each, as they were advertised."""
    feedback, key = path.flow["feedback"], f"{path.flow['path']}.feedback"
    if feedback["quantum_bps"] is not None:
        yield f"{key}.quantum: in the model rates are advertised as they are"
    if feedback["loss"] not in (0, "0"):
        yield f"{key}.loss: in the model no update is lost"
    if not isclose(feedback["delay_s"], path.base_rtt_s, rel_tol=1e-6):
        yield Number(
            f"{key}.delay = {feedback['delay_s']:g} s: in the model it is the round trip, {path.base_rtt_s:g} s"
        )


def packets_per_slot(path: FlowPath) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Packets that the link carries in a round trip, by state."""
    import numpy as np

    rates = [units.bits_per_second(rate) for rate in choice(path.link["capacity"])[1]["rates"]]
    return np.array(rates) / 8 / path.packet_bytes * path.base_rtt_s


def holding_s(path: FlowPath) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """How long each rate lasts on average [s]."""
    import numpy as np

    return np.asarray(-1 / np.minimum(_generator(path).diagonal(), -1e-300))


def beyond_the_grid(path: FlowPath, *, shortest: float, least_room: float) -> Iterator[str]:
    """What strains a model on a chain unlike those that it was compared with the simulator on.

    `shortest` is the time that a rate lasts there on average [round trips], and `least_room` the smallest buffer as a
    share of what the fastest rate carries in a round trip.
    """
    key, carried = f"{path.link['path']}.capacity", packets_per_slot(path)
    yield from far_apart(path)
    yield from _like_a_clock(path)
    lasts = float(holding_s(path).min()) / path.base_rtt_s
    if lasts < shortest * (1 - _ROUNDING):
        yield (
            f"{key}: a rate lasts {lasts:.3g} round trips on average (below {shortest:g}): the model was not compared "
            "with the simulator there"
        )
    share = path.room_packets / float(carried.max())
    if share < least_room:
        yield (
            f"{path.link['path']}.queue: it holds {share:.2g} of what the fastest rate carries in a round trip (below "
            f"{least_room:g}): the model was not compared with the simulator there"
        )


def _like_a_clock(path: FlowPath) -> Iterator[str]:
    """What strains a model where a rate follows another after a time that is known: the window keeps step with it.

    Whether a loss falls just before a change or after it then decides the next cycle, and all that follow.
    """
    import numpy as np

    from varicap.analyse import markov

    if (slots := _long_slots(path)) is None:
        return
    changes = slots[0]
    others = changes - np.diag(changes.diagonal())
    known = float(markov.stationary(changes) @ others.max(axis=1))
    most = _MOST_KNOWN_TO_FEW if path.room_packets < _FEW else _MOST_KNOWN
    if known > most:
        yield (
            f"{path.link['path']}.capacity: after {known:.0%} of its slots comes another rate that is known beforehand "
            f"(above {most:.0%}): the window keeps step with such a clock, and fractions of a packet decide how"
        )


def by_its_slots(path: FlowPath) -> Iterator[str]:
    """What strains a model that has no phases, in which each rate lasts for a geometric number of round trips.

    The squared coefficient of variation of that number is less than the model's by the chance to leave a rate at the
    end of a slot, times the share of a slot beyond a round trip.
    """
    if (slots := _long_slots(path)) is None:
        return
    changes, rounds = slots
    leaves = float(1 - changes.diagonal().min())
    if leaves * (1 - 1 / rounds) > _MOST_REGULAR:
        yield (
            f"{path.link['path']}.capacity: a slot of {rounds:.3g} round trips ends with another rate with a "
            f"probability of up to {leaves:.2g}: in the model a rate may end in any round trip, which is wrong by "
            f"{leaves * (1 - 1 / rounds):.2g} of the variance (above {_MOST_REGULAR:g})"
        )


def far_apart(path: FlowPath) -> Iterator[str]:
    """What strains a model where the rates are further apart than they mostly were in the comparison."""
    carried = packets_per_slot(path)
    apart = float(carried.max() / max(carried.min(), 1e-300))
    if apart > _APART and carried.min() > 0:
        yield (
            f"{path.link['path']}.capacity: its fastest rate is {apart:.3g} times its slowest (above {_APART:g}): the "
            "model was compared with the simulator on few such chains"
        )


def as_it_lasts(path: FlowPath, phases: int = _PHASES) -> "SlottedChain":
    """The chain that changes at the ends of round trips only, and whose rates last as long as the scenario's.

    ``I + steps (P - I)``, or ``I + Q Delta``: the model's slots, as [abr] has them.  A slot longer than a round trip is
    followed in so many phases (`_by_phase`).
    """
    import numpy as np

    from varicap.analyse.effective import SlottedChain

    if (slots := _long_slots(path)) is not None:
        return _by_phase(packets_per_slot(path), *slots, phases)
    matrix = np.eye(len(packets_per_slot(path))) + _generator(path) * path.base_rtt_s
    if (matrix < -_ROUNDING).any():
        shortest = 1 / (1 - matrix.diagonal().min())
        raise ValueError(f"the capacity stays for {shortest:.2g} round trips on average: the model wants 1 or more")
    return SlottedChain(packets_per_slot(path), np.maximum(matrix, 0.0))


def as_it_is_met(path: FlowPath) -> "SlottedChain":
    """The capacity's state at the beginning of each round trip: ``P^steps``, or ``exp(Q Delta)``.

    A slot longer than a round trip is followed in phases (`_by_phase`).
    """
    import numpy as np

    from varicap.analyse.effective import SlottedChain

    if (slots := _long_slots(path)) is not None:
        return _by_phase(packets_per_slot(path), *slots, _PHASES)
    kind, options = choice(path.link["capacity"])
    generator, delay_s = _generator(path), path.base_rtt_s
    _refuse_fast(holding_s(path), delay_s)
    one = np.eye(len(generator))
    if kind == "slotted-markov":
        step_s = units.seconds(options["step"])
        each, steps = one + generator * step_s, delay_s / step_s
        matrix = np.linalg.matrix_power(each, int(steps)) @ (one + (steps - int(steps)) * (each - one))
    else:
        matrix = np.maximum(_exponential(generator * delay_s), 0.0)
        matrix /= matrix.sum(axis=1, keepdims=True)
    return SlottedChain(packets_per_slot(path), matrix)


def _long_slots(path: FlowPath) -> "tuple[np.ndarray[Any, np.dtype[np.float64]], float] | None":
    """The changes at the end of each slot, and its round trips; none where these are at most one, or there are none."""
    import numpy as np

    kind, options = choice(path.link["capacity"])
    if kind != "slotted-markov" or units.seconds(options["step"]) <= path.base_rtt_s:
        return None
    step_s, generator = units.seconds(options["step"]), _generator(path)
    return np.maximum(np.eye(len(generator)) + generator * step_s, 0.0), step_s / path.base_rtt_s


def _by_phase(
    rates: "np.ndarray[Any, np.dtype[np.float64]]",
    changes: "np.ndarray[Any, np.dtype[np.float64]]",
    rounds: float,
    phases: int,
) -> "SlottedChain":
    """Slots of so many round trips, in phases: a rate that is left at the end of a slot lasts for that slot.

    A rate that is left with probability q has at most `phases` times q of them, since the time that it lasts varies
    anyway.  A phase is a round trip, of which a slot has one less in so many cases that its mean is right; where a slot
    is longer than its phases, a phase lasts for a geometric number of round trips.
    """
    import numpy as np

    from varicap.analyse.effective import SlottedChain

    leaves = 1 - changes.diagonal()
    count = np.clip(np.ceil(np.minimum(rounds, phases * leaves) - _ROUNDING), 1, None).astype(np.intp)
    first = np.concatenate([[0], np.cumsum(count)])
    matrix = np.zeros((first[-1], first[-1]))
    for state, number in enumerate(count):
        onward = min(1.0, number / rounds)
        for phase in range(first[state], first[state + 1]):
            matrix[phase, phase] += 1 - onward
            if phase + 1 < first[state + 1]:
                matrix[phase, phase + 1] += onward
        # The next slot begins.
        last = first[state + 1] - 1
        for after, chance in enumerate(changes[state]):
            short = max(0.0, count[after] - rounds) if count[after] > 1 else 0.0
            matrix[last, first[after]] += onward * chance * (1 - short)
            if short:
                matrix[last, first[after] + 1] += onward * chance * short
    return SlottedChain(np.repeat(rates, count), matrix / matrix.sum(axis=1, keepdims=True))


def advertising(
    path: FlowPath, chain: "SlottedChain", levels: int, *, aged: bool = False
) -> "Computation[AdvertisedChain]":
    """The capacity together with what the link advertises of it.

    The papers' INSTCAP is the capacity of the slot before; `aged`: with the age that the mean of an interval has.
    """
    from varicap.analyse import advertised as rates

    name, options = choice(path.flow["feedback"]["estimator"])
    if name == "exact":
        return rates.exact(chain)
    interval_s = units.seconds(options["interval"])
    if name == "instantaneous" and not aged and interval_s <= path.base_rtt_s:
        return rates.exact(chain)
    average = least = 1
    if name == "effective":
        average, least = (_samples(options[key], interval_s, path.base_rtt_s) for key in ("average", "least"))
    return (
        yield from rates.estimating(
            chain,
            interval_slots=interval_s / path.base_rtt_s,
            average=average,
            least=least,
            levels=levels,
            of_slot="mean" if path.flow["abr"] is not None else "least",
        )
    )


def _samples(stretch: str, interval_s: float, rtt_s: float) -> int:
    """Samples in a number of them, a time, or round trips."""
    number, _, unit = stretch.partition(" ")
    if unit.startswith("sample"):
        return int(number)
    if unit == "rtt":
        return max(1, round(float(number) * math.ceil(rtt_s / interval_s - _ROUNDING)))
    return max(1, math.ceil(units.seconds(stretch) / interval_s - _ROUNDING))


def _generator(path: FlowPath) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Rates of change [1/s], shape (n, n); of a slotted chain (P - I) / step."""
    import numpy as np

    kind, options = choice(path.link["capacity"])
    one = np.eye(len(options["rates"]))
    if kind == "slotted-markov":
        each = np.array([[units.share(str(value)) for value in row] for row in options["transitions"]])
        return (each - one) / units.seconds(options["step"])
    holding = np.array([units.seconds(time) for time in options["mean_holding"]])
    jumps = options["jumps"]
    if jumps is None:
        share = (1 - one) / max(len(one) - 1, 1)
    else:
        share = np.array([[units.share(str(value)) for value in row] for row in jumps])
    return np.asarray((share - one) / holding[:, None])


def _exponential(matrix: "np.ndarray[Any, np.dtype[np.float64]]") -> "np.ndarray[Any, np.dtype[np.float64]]":
    """exp(Q) of a generator whose states last 1 or more, by uniformisation: a mean of powers of a stochastic matrix.

    All its terms are positive, and scipy.linalg takes longer to import than the models to solve.
    """
    import numpy as np

    rate = max(float(-matrix.diagonal().min()), 1e-300)
    step = np.eye(len(matrix)) + matrix / rate
    term, total = np.eye(len(matrix)) * math.exp(-rate), np.zeros_like(matrix)
    for k in range(1, _TERMS):
        total += term
        term = term @ step * (rate / k)
    return total


def _refuse_fast(holding_s: Any, delay_s: float) -> None:
    if holding_s.min() < delay_s:
        raise ValueError(
            f"a rate lasts {holding_s.min() / delay_s:.2g} round trips on average: the model wants 1 or more"
        )
