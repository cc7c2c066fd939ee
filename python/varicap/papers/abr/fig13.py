"""Fig. 13: EFFCAP, INSTCAP and TCP alone at small psi."""

from collections.abc import Sequence
from functools import partial

from varicap.papers.abr.fig12 import CHOICES, KINDS, draw, gains_at, today
from varicap.papers.abr.sessions import BUFFERS, PSI, SMALL, gain, grid, over_psi, with_buffers
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.statistics import Interval


def reproduce(run: Run) -> Outcome:
    """Where TCP alone is better than INSTCAP, and whether EFFCAP is ever worse than TCP alone."""
    psi, every = grid(run, SMALL), grid(run, PSI)
    ours = {flow: over_psi(run, flow, psi) for flow in KINDS}
    at_one = psi.index(1.0)
    everywhere = zip(over_psi(run, "effcap", every), over_psi(run, "tcp", every), strict=True)
    values = {
        "ABR-C4": Value(sim=Interval.of(gain(ours["instcap"][at_one], ours["tcp"][at_one]))),
        "ABR-C5": Value(sim=least([gain(effcap, tcp) for effcap, tcp in everywhere])),
    }
    at_psi_one = {name: gains_at(run, 1.0, changes) for name, changes in CHOICES.items() if changes}
    at_psi_one |= {f"a buffer of {buffer} packets": gains_at(run, 1.0, {}, buffer) for buffer in BUFFERS}
    readings = with_buffers(partial(_always, run, ("effcap", "tcp"), every), BUFFERS)
    readings["ABR-C4"] = {name: Value(sim=Interval.of(gains)) for name, gains in at_psi_one.items()}
    shown = run.pick((0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0), (0.2, 1.0, 5.0, 20.0))
    modern = gain(*(over_psi(run, flow, [1.0])[0] for flow in ("sack-instcap", "sack")))
    beside = {
        "ABR-C4": {"SACK": Value(sim=Interval.of(modern))},
        "ABR-C5": {"SACK": Value(sim=_always(run, ("sack-effcap", "sack"), shown, 10)["ABR-C5"])},
    }
    title = "Fig. 13: with and without ABR, small psi"
    return Outcome(values, partial(draw, title, psi, ours), [today(run, psi)], readings, beside)


def _always(run: Run, flows: tuple[str, str], psi: Sequence[float], buffer: int) -> dict[str, Interval]:
    """What the first flow gains over the second at the psi at which that is least [%]."""
    pairs = zip(*(over_psi(run, flow, psi, buffer) for flow in flows), strict=True)
    return {"ABR-C5": least([gain(told, alone) for told, alone in pairs])}
