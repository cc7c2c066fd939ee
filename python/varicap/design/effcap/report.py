"""What `varicap design effcap` found, for the terminal."""

from rich.table import Table

from varicap.design.effcap.solve import GAINS, Design, regime
from varicap.report.table import titled, with_interval
from varicap.statistics import Interval

_MOST_CHOICES = 8


def tables(design: Design) -> list[Table]:
    """The choices of M and N at the rate of variation that was asked for, and the overview."""
    found = []
    if design.choices:
        choices = titled(
            f"EFFCAP's M and N at psi = {design.psi:g}: throughput / mean capacity",
            ("M", "N", "memory [s]", "efficiency", "over the rule [%]"),
        )
        rule = [one for one in design.choices if (one.average, one.least) == design.path.rule]
        best = [one for one in design.choices[:_MOST_CHOICES] if one not in rule]
        for one in sorted([*best, *rule], key=lambda one: -one.efficiency.mean):
            memory = (one.average + one.least - 1) * design.path.interval_s
            name = " (the rule)" if one in rule else " (INSTCAP)" if one.average == one.least == 1 else ""
            choices.add_row(
                f"{one.average}", f"{one.least}{name}", f"{memory:.3g}", _value(one.efficiency), _value(one.over_rule)
            )
        found.append(choices)
    if design.over_psi:
        overview = titled(
            f"M = {design.average}, N = {design.least} over all rates of variation: throughput / mean capacity",
            (
                "psi",
                "regime",
                "told / mean",
                "told too high",
                "TCP alone",
                "INSTCAP",
                "EFFCAP",
                "over INSTCAP [%]",
                "over TCP [%]",
            ),
            left=["regime"],
        )
        for point in design.over_psi:
            overview.add_row(
                f"{point.psi:g}",
                point.regime,
                f"{point.told:.2f}",
                f"{point.too_high:.0%}",
                *map(_value, (point.tcp, point.instcap, point.effcap, point.over_instcap, point.over_tcp)),
                style="bold" if point.psi == design.psi else "",
            )
        found.append(overview)
    return found


def conclusion(design: Design) -> str:
    """The recommendation in words."""
    memory = (design.average + design.least - 1) * design.path.interval_s
    name = "INSTCAP" if design.average == design.least == 1 else f"{memory:.3g} s of memory"
    lines = [f"recommended: M = {design.average}, N = {design.least} ({name}): {design.reason}"]
    if design.is_constant:
        lines.append("at this rate of variation that is as good as to advertise the least capacity for good")
    elif design.at_edge:
        lines.append("it lies at the edge of what was tried: an even longer memory may gain more")
    confirmed = design.confirmed
    if confirmed is not None and design.psi is not None:
        gains = [f"{_against(confirmed.over_tcp)} TCP alone"]
        if not design.average == design.least == 1:
            gains.insert(0, f"{_against(confirmed.over_instcap)} INSTCAP")
        lines.append(
            f"verdict at psi = {design.psi:g} ({regime(design.psi)}), {confirmed.runs} other runs: {', '.join(gains)}"
        )
    elif design.over_psi:
        lines.append(f"verdict: {_counted(design)}")
    return "\n".join(lines)


_WORDS = {"meets": "more than", "misses": "less than", "undecided": "neither more nor less than chance explains over"}


def _against(gain: Interval) -> str:
    """A gain [%] with its interval, in words."""
    return f"{with_interval(gain.mean, gain.lo, gain.hi)} % {_WORDS[GAINS.verdict(gain)]}"


def _counted(design: Design) -> str:
    """At how many rates of variation EFFCAP is better and worse than TCP alone."""
    verdicts = [GAINS.verdict(point.over_tcp) for point in design.over_psi]
    better, worse = verdicts.count("meets"), verdicts.count("misses")
    return (
        f"of {len(verdicts)} rates of variation EFFCAP beats TCP alone at {better} and loses to it at {worse}; at the "
        "others the intervals leave it undecided"
    )


def _value(value: Interval) -> str:
    return with_interval(value.mean, value.lo, value.hi).replace(" ± ", "±")
