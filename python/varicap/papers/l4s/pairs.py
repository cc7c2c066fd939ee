"""Two flows through one queue: what each got, in the tests' notation."""

from dataclasses import dataclass

from varicap.papers.run import Run
from varicap.results.samples import samples
from varicap.statistics import Array

# The Prague of 2020 gave its flows' round trips no common least: with one, RTTs of 10 and 160 ms could not be 16 to 1.
PRAGUE = '{ prague = { virtual_rtt = "0 s" } }'
CONTROLS = {"cubic": '"cubic"', "prague": PRAGUE, "reno": '"reno"'}
QUEUES = {
    "dualpi2": '"dualpi2"',
    "pfifo": '{ drop-tail = { limit = "1000 packets" } }',
    "fq_codel": '"fq_codel"',
}
_LONG_MS = 80.0


@dataclass(frozen=True)
class Pair:
    """Two flows, by control and round-trip time [ms], and the queue that they share."""

    queue: str
    first: str
    second: str
    first_ms: float = 20.0
    second_ms: float = 20.0
    ecn: tuple[bool, bool] = (True, True)

    def changes(self) -> dict[str, str]:
        """Changes of the scenario ``pair``."""
        least = min(self.first_ms, self.second_ms)
        changes = {
            "topology.dumbbell.forward.delay": f'"{least / 2:g} ms"',
            "topology.dumbbell.reverse.delay": f'"{least / 2:g} ms"',
            "topology.dumbbell.forward.queue": QUEUES.get(self.queue, self.queue),
        }
        for name, control, rtt_ms, ecn in (
            ("first", self.first, self.first_ms, self.ecn[0]),
            ("second", self.second, self.second_ms, self.ecn[1]),
        ):
            changes[f"flows.{name}.tcp.congestion"] = CONTROLS[control]
            changes[f"flows.{name}.access_delay"] = f'"{(rtt_ms - least) / 2:g} ms"'
            if not ecn:
                changes[f"flows.{name}.tcp.ecn"] = "false"
        return changes

    def measure(self, run: Run, *, common_rtt: bool = False) -> tuple[Array, Array]:
        """Goodput of both in each replication [Mb/s], over the last third of three minutes (quick: of one, if enough).

        With `common_rtt` Prague behaves as if round trips took 25 ms at least, as it does by default today.
        """
        # Sawteeth of long round trips through a deep queue take most of a minute.
        quick = (
            {"duration": '"60 s"', "warmup": '"40 s"'}
            if max(self.first_ms, self.second_ms) < _LONG_MS
            else {"duration": '"180 s"', "warmup": '"120 s"'}
        )
        effort = run.pick({"duration": '"180 s"', "warmup": '"120 s"'}, quick)
        changes = {**self.changes(), **effort}
        if common_rtt:
            changes = {key: '"prague"' if value == PRAGUE else value for key, value in changes.items()}
        flows = run.simulate("pair", changes, seeds=run.pick(10, 4)).flows
        first, second = (samples(flows, name, "goodput_bps") / 1e6 for name in ("first", "second"))
        return first, second
