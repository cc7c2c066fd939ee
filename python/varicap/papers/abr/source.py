"""Section VI-B: the link advertises INSTCAP; the source computes EFFCAP with the round trip that TCP measures."""

from functools import partial

from matplotlib.figure import Figure

from varicap.papers.abr.fig19 import ratios
from varicap.papers.abr.sessions import DELAY_MS, EFFICIENCY, PSI_AXIS, at_source, curve, gain, one, over_psi, two
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import most
from varicap.report.paper import curves
from varicap.statistics import Array

PSI = (0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_PAIRS = (0.3, 1.0, 5.0, 20.0)


def reproduce(run: Run) -> Outcome:
    """Whether it matters who computes EFFCAP: for one session, and for the shares of two."""
    psi = run.pick(PSI, (0.5, 1.0, 5.0, 20.0))
    changes = at_source("effcap", times=8)
    by_link = over_psi(run, "effcap", psi)
    by_source = [one(run, "effcap", value * DELAY_MS, changes=changes) for value in psi]
    shares = {kind: ratios({value: two(run, kind, value) for value in _PAIRS}) for kind in ("case 1", "at source")}
    gains = [gain(own, told) for own, told in zip(by_source, by_link, strict=True)]
    apart = [shares["at source"][value] - shares["case 1"][value] for value in _PAIRS]
    values = {
        "ABR-C19-alike": Value(sim=most(either for one in gains for either in (one, -one))),
        "ABR-C19-case1": Value(sim=most(either for one in apart for either in (one, -one))),
    }
    return Outcome(values, partial(_draw, psi, {"at the link": by_link, "at the source": by_source}))


def _draw(psi: tuple[float, ...], ours: dict[str, list[Array]]) -> Figure:
    lines = [curve(f"EFFCAP found {where}", psi, points, number) for number, (where, points) in enumerate(ours.items())]
    return curves("§VI-B: who finds EFFCAP", lines, PSI_AXIS, EFFICIENCY)
