"""Kinds of advice about a link that varies, and what is made of it."""

from varicap.papers.run import Run
from varicap.results.result import Result

FINE = '{ update = "1 s", spread = "0 s", period = "2 s", steps = 200 }'
WAYS = {
    "none": "",
    "SCONE": 'share = "capacity", scone = {}',
    "SCONE, finer and faster": f'share = "capacity", scone = {FINE}',
    "INSTCAP": 'share = "capacity", estimator = { instantaneous = { interval = "100 ms" } }',
    "EFFCAP": 'share = "capacity", estimator = { effective = { interval = "100 ms" } }',
    "exact": 'share = "capacity"',
}
CONTROLS = ("cubic", "bbr", "ratcp")
SCALES_S = (0.01, 0.1, 1.0, 10.0, 100.0)
_SLOTTED = (
    '{{ slotted-markov = {{ step = "{step}", rates = ["1 Mbit/s", "5 Mbit/s"], '
    "transitions = [[0.5, 0.5], [0.5, 0.5]] }} }}"
)


def varying(run: Run, way: str, control: str, scale_s: float, *, video: bool = False, slotted: bool = False) -> Result:
    """One flow with `control`, told in this `way`, where each rate lasts `scale_s` on average, or at least so long."""
    told = WAYS[way]
    capped = "true" if told and control != "ratcp" else "false"
    # Ten times a rate's, and three monitoring periods after the first one.
    length_s = max(300.0, 10 * scale_s)
    changes = {
        "duration": f'"{length_s:g} s"',
        "warmup": '"80 s"',
        "flows.a.tcp.congestion": f'"{control}"',
        "flows.a.feedback": f"{{ {told or WAYS['exact']}, cap = {capped} }}",
    }
    capacity = "topology.dumbbell.forward.capacity"
    if slotted:
        changes[capacity] = _SLOTTED.format(step=f"{scale_s:g} s")
    else:
        changes[f"{capacity}.markov.mean_holding"] = f'["{scale_s:g} s", "{scale_s:g} s"]'
    if video:
        heed = "true" if told else "false"
        changes["flows.a.app"] = f'{{ video = {{ rule = "bola", request = "25 ms", heed = {heed} }} }}'
    return run.simulate("varying", changes, seeds=run.pick(10, 3))
