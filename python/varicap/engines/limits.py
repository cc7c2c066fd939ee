"""The memory and the time that runs may take: refused beforehand by an estimate, and kept while they run."""

import varicap._core as _core
from varicap._limits import MAX_MEMORY as MAX_MEMORY
from varicap._limits import MAX_TIME as MAX_TIME


def refuse(
    budget: _core.Budget,
    scenario: _core.Scenario,
    *,
    runs: int,
    jobs: int,
    series: int = 0,
    packets: int = 0,
    real_time: bool = False,
) -> None:
    """Raise `LimitError` if `runs` runs, `jobs` at a time (0: all cores), would exceed a budget by an estimate.

    They go in real time, or as fast as they can; `series` and `packets` are the numbers of runs that record them.
    """
    budget.check(
        scenario,
        runs=min(runs, 2**32 - 1),
        threads=jobs,
        series=min(series, runs, 2**32 - 1),
        packets=min(packets, runs, 2**32 - 1),
        real_time=real_time,
    )
