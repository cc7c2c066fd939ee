"""From a trace to a chain of rates that a scenario can have, and how well it describes the trace.

>>> from varicap.traces import generate_steps
>>> found = fit(generate_steps([8e6, 2e6], [2.0], 600.0), slot_s=0.2)
>>> found.states, [round(rate / 1e6, 1) for rate in found.rates_bps.tolist()]
(2, [2.0, 8.0])
"""

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from varicap.analyse.effective import ContinuousChain, SlottedChain
from varicap.traces.fitting.coverage import Coverage, fit_coverage
from varicap.traces.fitting.goodness import Curve, Goodness, goodness
from varicap.traces.fitting.hidden import SLOTS_PER_STATE, Hidden, Law, chosen, fit_hidden
from varicap.traces.fitting.simulated import intervals
from varicap.traces.parameters import TraceError
from varicap.traces.trace import OPPORTUNITY_BITS, OPPORTUNITY_BYTES, Array, Opportunities, Trace, sample_s

__all__ = ["ADEQUATE", "Coverage", "Curve", "Fit", "Goodness", "HeldOut", "Hidden", "fit"]

MOST_STATES = 8
"""States that are tried if nobody says how many."""
_MOST_GIVEN = 50
DISTRIBUTION = 0.2
"""Largest distance of the distributions at which a fit is called adequate: of five levels the best are 0.1 from a
distribution without steps."""
ADEQUATE = 0.1
"""Largest error of the effective capacity (relative) and the autocorrelation at which a fit is called adequate."""
SLOT_S = 0.1
"""Length of a slot if nobody says [s], and the rows of the trace are not longer."""
_FEWEST_SLOTS = 2 * SLOTS_PER_STATE
_MOST_SLOTS = 200_000
_LEAST_PACKETS, _MOST_PACKETS = 1e-100, 1e100
"""In a slot, whose squares are numbers."""


@dataclass(frozen=True)
class HeldOut:
    """How well the part of a trace that was not fitted is predicted: log-likelihood per slot, natural."""

    slots: int
    """Slots that were held out, at the end of the trace."""
    chain: float
    """By a chain of as many states, fitted to the rest."""
    independent: float
    """By the same states in independent slots: what memory adds is the difference."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A chain of rates fitted to a trace."""

    slot_s: float
    """Length of a slot [s]."""
    hidden: Hidden
    """The hidden chain, in packets per slot."""
    tried: tuple[Hidden, ...]
    """All that were fitted, from which the least BIC was chosen."""
    goodness: Goodness
    held_out: HeldOut | None
    """None if the trace is too short to hold anything out."""
    coverage: Coverage
    """Two states, with and without capacity."""
    rate_intervals_bps: Array | None = None
    """95 % intervals of the rates, shape (n, 2), if they were asked for."""
    holding_intervals_s: Array | None = None
    """95 % intervals of the mean holding times, shape (n, 2)."""
    packet_bytes: float = OPPORTUNITY_BYTES
    """Size of the packets that slots are counted in [B]."""
    asked_states: int | None = None
    """How many states were asked for; None if the BIC has chosen."""
    row_s: float | None = None
    """Usual length of the rows of a log of samples [s]; None where rows begin when the rate changes."""

    def __repr__(self) -> str:
        rates = ", ".join(f"{rate / 1e6:.3g}" for rate in self.rates_bps)
        return f"Fit({self.states} states of {rates} Mb/s, {self.hidden.slots} slots of {self.slot_s:g} s)"

    @property
    def states(self) -> int:
        """Number of states."""
        return self.hidden.states

    @property
    def rates_bps(self) -> Array:
        """Rate of each state, in ascending order [b/s], shape (n,)."""
        return self.hidden.mean * (8 * self.packet_bytes / self.slot_s)

    @property
    def resolution_bps(self) -> float:
        """Least difference of rates that the slots of the trace tell apart [b/s]."""
        return self.hidden.resolution * (8 * self.packet_bytes / self.slot_s)

    @property
    def mean_holding_s(self) -> Array:
        """Mean holding time of each state [s], shape (n,); infinite for a single state."""
        leave = 1 - np.diag(self.hidden.transition)
        with np.errstate(divide="ignore"):
            return np.asarray(self.slot_s / leave)

    @property
    def chain(self) -> SlottedChain:
        """The chain for `varicap.analyse`: capacities in b/s, whatever the slot."""
        return SlottedChain(self.rates_bps, self.hidden.transition)

    @property
    def continuous(self) -> ContinuousChain:
        """The chain that ``law="continuous"`` makes a capacity of, in b/s, for `varicap.analyse`."""
        return ContinuousChain(self.rates_bps, (self.hidden.transition - np.eye(self.states)) / self.slot_s)

    @property
    def is_adequate(self) -> bool:
        """Whether the trace tells its effective capacity, and nothing of the fit has `failed`."""
        return self.goodness.error is not None and not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        """In what the fit is not like the trace, as far as the trace tells.

        The effective capacity is to be within `ADEQUATE`, the distribution of the rate within `DISTRIBUTION`, and the
        autocorrelation within `ADEQUATE` and the error that a trace of this length has itself.
        """
        good = self.goodness
        tests = {
            "effective capacity": (good.error or 0.0) <= ADEQUATE,
            "distribution": good.distance <= DISTRIBUTION,
            "autocorrelation": good.memory_error <= ADEQUATE + good.memory_noise,
        }
        return tuple(name for name, passes in tests.items() if not passes)

    def capacity(self, law: Literal["slotted", "continuous"] = "slotted") -> dict[str, Any]:
        """The capacity of a link in a scenario.

        ``slotted`` is the chain that was fitted, which may change at the ends of slots only.  ``continuous`` holds each
        state for an exponential time of the same mean, and then jumps with the same probabilities.
        """
        rates = [f"{rate:.0f} bit/s" for rate in self.rates_bps.tolist()]
        if self.states == 1:
            return {"constant": rates[0]}
        if law == "slotted":
            rows = [_summing_to_one(row) for row in self.hidden.transition.tolist()]
            return {"slotted-markov": {"rates": rates, "step": f"{self.slot_s * 1e3:g} ms", "transitions": rows}}
        jumps = self.hidden.transition.copy()
        np.fill_diagonal(jumps, 0.0)
        jumps /= jumps.sum(axis=1, keepdims=True)
        return {
            "markov": {
                "rates": rates,
                "mean_holding": [f"{time * 1e3:.3f} ms" for time in self.mean_holding_s.tolist()],
                "jumps": [_summing_to_one(row) for row in jumps.tolist()],
            }
        }

    def to_toml(self, law: Literal["slotted", "continuous"] = "slotted") -> str:
        """The same in a scenario's notation, in one line; also what ``varicap.run(…, overrides=…)`` takes."""
        return _inline(self.capacity(law))

    def to_dict(self) -> dict[str, Any]:
        """The same as an object, as ``varicap trace fit --json`` prints it."""
        return {
            "slot_s": self.slot_s,
            "slots": self.hidden.slots,
            "states": self.states,
            "law": self.hidden.law,
            "rates_bps": self.rates_bps.tolist(),
            "rate_intervals_bps": _listed(self.rate_intervals_bps),
            "mean_holding_s": [_finite(time) for time in self.mean_holding_s.tolist()],
            "holding_intervals_s": _listed(self.holding_intervals_s),
            "share": self.hidden.share.tolist(),
            "transition": self.hidden.transition.tolist(),
            "tried": [{"states": each.states, "law": each.law, "bic": each.bic} for each in self.tried],
            "resolution_bps": self.resolution_bps,
            "held_out": None if self.held_out is None else vars(self.held_out),
            "is_adequate": self.is_adequate,
            "failed": list(self.failed),
            "autocorrelation_error": self.goodness.memory_error,
            "row_s": self.row_s,
            "effective_capacity_error": self.goodness.error,
            "continuous_error": self.goodness.continuous_error,
            "marginal_distance": self.goodness.distance,
            "effective_capacity": [
                {
                    "block_s": block,
                    "delta_per_bit": curve.x.tolist(),
                    "trace_bps": curve.trace.tolist(),
                    "fit_bps": curve.fit.tolist(),
                    "continuous_bps": self.goodness.continuous[block].tolist(),
                }
                for block, curve in self.goodness.effective.items()
            ],
            "coverage": {key: _finite(value) for key, value in vars(self.coverage).items()},
            "capacity": {law: self.capacity(law) for law in ("slotted", "continuous")},
        }


def fit(
    trace: Trace,
    slot_s: float | None = None,
    states: int | None = None,
    *,
    most_states: int = MOST_STATES,
    held_out: float = 0.25,
    simulations: int = 0,
    seed: int = 1,
    opportunity_bytes: float = OPPORTUNITY_BYTES,
) -> Fit:
    """Fit a chain of rates to a trace.

    Parameters
    ----------
    trace
        The trace, which is treated as a cycle, as a link does.
    slot_s
        Length of a slot [s].  Within it the chain keeps its rate: what varies faster is averaged.  If None, 100 ms, or
        the usual length of the rows of a log of samples, if that is longer: within a row the rate cannot change.
    states
        Number of states; the least BIC if None.
    most_states
        Most states that are then tried.
    held_out
        Share of the trace, at its end, that a second fit does not see, to be predicted by it; 0 for none.
    simulations
        Paths of the fitted chain that are fitted again, for 95 % intervals of rates and holding times; 0 for none.
    seed
        Of these paths.
    opportunity_bytes
        What an opportunity of the trace carries [B], as a scenario's ``size``; of no account to a trace of rates.

    Raises
    ------
    TraceError
        A trace of too few slots, or without capacity.
    MachineLacksError
        hmmlearn is not there.
    """
    row_s = sample_s(trace)
    if slot_s is None:
        slot_s = max(SLOT_S, row_s or 0.0)
    values, whole = _packets(trace, slot_s, held_out)
    laws: tuple[Law, ...] = ("normal", "poisson") if whole else ("normal",)
    counts = [states] if states is not None else list(range(1, min(most_states, len(values) // SLOTS_PER_STATE) + 1))
    if not counts or not all(1 <= count <= _MOST_GIVEN for count in counts):
        raise TraceError(f"a chain has 1 to {_MOST_GIVEN} states")
    best, tried = _chosen(values.tobytes(), laws, tuple(counts))
    packet_bytes = opportunity_bytes if whole else OPPORTUNITY_BYTES
    per_slot = 8 * packet_bytes / slot_s
    chain = SlottedChain(best.mean * per_slot, best.transition)
    rates, holdings = intervals(best, simulations, seed) if simulations else (None, None)
    return Fit(
        slot_s=slot_s,
        hidden=best,
        tried=tried,
        goodness=goodness(values * per_slot, chain, best.share, slot_s),
        held_out=_predicted(values, best, held_out),
        coverage=fit_coverage(values * per_slot, slot_s),
        rate_intervals_bps=None if rates is None else rates * per_slot,
        holding_intervals_s=None if holdings is None else holdings * slot_s,
        packet_bytes=packet_bytes,
        asked_states=states,
        row_s=row_s,
    )


# Who compares buffers or links on one trace asks for the same fit each time, which takes seconds.
@lru_cache(maxsize=8)
def _chosen(values: bytes, laws: tuple[Law, ...], counts: tuple[int, ...]) -> tuple[Hidden, tuple[Hidden, ...]]:
    best, tried = chosen(np.frombuffer(values), laws, counts)
    return best, tuple(map(_kept, tried))


@lru_cache(maxsize=8)
def _fit_hidden(values: bytes, states: int, law: Law) -> Hidden:
    return _kept(fit_hidden(np.frombuffer(values), states, law))


def _kept(found: Hidden) -> Hidden:
    """The same, which nobody can change for those who ask after them."""
    for array in (found.mean, found.variance, found.transition, found.share):
        array.setflags(write=False)
    return found


def _packets(trace: Trace, slot_s: float, held_out: float) -> tuple[Array, bool]:
    """Packets that each slot can carry, and whether they are whole ones."""
    if not slot_s > 0:
        raise TraceError(f"a slot is longer than 0 s, not {slot_s:g} s")
    if not 0 <= held_out <= 0.5:
        raise TraceError(f"the share that is held out is from 0 to 0.5, not {held_out:g}")
    slots = int(trace.duration_s / slot_s + 1e-9)
    if slots < _FEWEST_SLOTS:
        raise TraceError(
            f"{trace.duration_s:g} s are {slots} slots of {slot_s:g} s, too few to fit: {_FEWEST_SLOTS} or more"
        )
    if slots > _MOST_SLOTS:
        raise TraceError(
            f"{trace.duration_s:g} s are {slots} slots of {slot_s:g} s, too many to fit: {_MOST_SLOTS} at most"
        )
    values = np.diff(trace.bits_until(np.arange(slots + 1, dtype=np.float64) * slot_s)) / OPPORTUNITY_BITS
    if not values.any():
        raise TraceError("the trace has no capacity at all")
    if not _LEAST_PACKETS < values.max() < _MOST_PACKETS:
        raise TraceError(f"slots carry {values.max():.3g} packets at most: no link does")
    return values, isinstance(trace, Opportunities)


def _predicted(values: Array, best: Hidden, share: float) -> HeldOut | None:
    """The end of the trace, by a chain of as many states fitted to the rest."""
    kept = len(values) - round(share * len(values))
    if kept == len(values) or kept < SLOTS_PER_STATE * best.states:
        return None
    known, new = _fit_hidden(values[:kept].tobytes(), best.states, best.law), values[kept:]
    return HeldOut(len(new), known.score(new) / len(new), known.without_memory().score(new) / len(new))


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


def _summing_to_one(row: list[float]) -> list[float]:
    """Six digits of each, and what rounding took from the sum in the largest."""
    short = [round(value, 6) for value in row]
    largest = max(range(len(row)), key=short.__getitem__)
    short[largest] = round(1 - sum(value for place, value in enumerate(short) if place != largest), 6)
    return short


def _listed(values: Array | None) -> Any:
    return None if values is None else [[_finite(each) for each in row] for row in values.tolist()]


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value
