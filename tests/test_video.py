"""Adaptive video: its rules against a model in slots that shares no code with the player, and what is refused."""

import math
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import varicap

LADDER_KBPS = (350, 600, 1000, 2000, 3000)
SEGMENT_S, BUFFER_S, REQUEST_S = 4.0, 30.0, 0.2
DURATION_S = 200
MSS, PACKET = 1448, 1500
SLOT_S = 0.001

SCENARIO = f"""
schema_version = 1
duration = "{DURATION_S} s"
seeds = 1
record = {{ packets = true }}
[topology.dumbbell.forward]
capacity = CAPACITY
delay = "10 ms"
queue = {{ drop-tail = {{ limit = "unlimited" }} }}
[tcp]
handshake = false
initial_window = "100000 packets"
restart_after_idle = false
[flows.video]
app = {{ video = {{ rule = "RULE", request = "{REQUEST_S} s", heed = HEED }} }}
feedback = {{ estimator = "exact", share = "capacity", delay = "0 s" }}
"""


def segments_of(rule: str, capacity: str, heed: bool) -> list[int]:
    """The rungs of the segments that were asked for: the window is wide open, so that each leaves at one instant."""
    text = SCENARIO.replace("RULE", rule).replace("CAPACITY", capacity).replace("HEED", str(heed).lower())
    packets = varicap.run(tomllib.loads(text)).packets
    sizes: dict[int, int] = {}
    names = ("time_ns", "event", "link", "payload_bytes")
    for time, event, link, payload in zip(*(packets[name].to_pylist() for name in names), strict=True):
        if event == "arrival" and link == "forward" and payload > 0:
            sizes[time] = sizes.get(time, 0) + payload
    return [LADDER_KBPS.index(round(sizes[time] * 8 / SEGMENT_S / 1e3)) for time in sorted(sizes)]


class Player:
    """A player in slots of a millisecond, in floating point, over a fluid link."""

    def __init__(self, choose: Callable[["Player"], int], kbps: Callable[[float], float], heed: bool) -> None:
        self.choose, self.kbps, self.heed = choose, kbps, heed
        self.time = self.level = 0.0
        self.playing = False
        self.rungs: list[int] = []
        self.throughputs: list[float] = []

    def slot(self) -> None:
        """A slot passes."""
        self.time += SLOT_S
        if self.playing:
            self.level -= SLOT_S
            if self.level <= 0:
                self.level, self.playing = 0.0, False

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds / SLOT_S)):
            self.slot()

    def run(self) -> list[int]:
        while self.time < DURATION_S:
            rung = self.choose(self)
            if self.heed and self.time > 0:
                fits = [place for place, kbps in enumerate(LADDER_KBPS) if kbps <= self.kbps(self.time)]
                rung = min(rung, fits[-1] if fits else 0)
            asked = self.time
            self.wait(REQUEST_S)
            left = LADDER_KBPS[rung] * SEGMENT_S * PACKET / MSS
            while left > 0 and self.time < DURATION_S:
                left -= self.kbps(self.time) * SLOT_S
                self.slot()
            self.wait(0.01)
            if self.time >= DURATION_S:
                break
            self.throughputs.append(LADDER_KBPS[rung] * SEGMENT_S / (self.time - asked))
            self.rungs.append(rung)
            self.level += SEGMENT_S
            self.playing = True
            while self.level > BUFFER_S - SEGMENT_S:
                self.slot()
        return self.rungs


def by_rate(player: Player) -> int:
    last = player.throughputs[-5:]
    if not last:
        return 0
    mean = len(last) / sum(1 / kbps for kbps in last)
    return max((place for place, kbps in enumerate(LADDER_KBPS) if kbps <= mean), default=0)


def by_line(player: Player) -> int:
    """Huang et al. 2014, Algorithm 1, with a reservoir of 5 s and a cushion of 10 s."""
    previous = player.rungs[-1] if player.rungs else 0
    if player.level <= 5:
        return 0
    if player.level >= 15:
        return 4
    line = 350 + (3000 - 350) * (player.level - 5) / 10
    above, below = LADDER_KBPS[min(previous + 1, 4)], LADDER_KBPS[max(previous - 1, 0)]
    if line >= above:
        return max(place for place, kbps in enumerate(LADDER_KBPS) if kbps < line)
    if line <= below:
        return min(place for place, kbps in enumerate(LADDER_KBPS) if kbps > line)
    return previous


def by_utility(player: Player) -> int:
    """Spiteri et al. 2016, with gamma p = 5."""
    utilities = [math.log(kbps / 350) for kbps in LADDER_KBPS]
    weight = (BUFFER_S / SEGMENT_S - 1) / (utilities[-1] + 5)
    scores = [
        (weight * (utility + 5) - player.level / SEGMENT_S) / kbps
        for utility, kbps in zip(utilities, LADDER_KBPS, strict=True)
    ]
    return scores.index(max(scores))


RULES = {"rate-based": by_rate, "bba": by_line, "bola": by_utility}
STEP = '{ steps = { at = ["0 s", "60 s", "120 s"], rates = ["2.9 Mbit/s", "0.85 Mbit/s", "5 Mbit/s"] } }'


def step(at: float) -> float:
    return 2900 if at < 60 else 850 if at < 120 else 5000


@pytest.mark.parametrize("heed", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("capacity", "kbps"), [('"1.6 Mbit/s"', lambda _: 1600), (STEP, step)], ids=["constant", "step"]
)
def test_rules_choose_as_an_independent_model(
    rule: str, capacity: str, kbps: Callable[[float], float], heed: bool
) -> None:
    found, expected = segments_of(rule, capacity, heed), Player(RULES[rule], kbps, heed).run()
    assert len(expected) > 30
    # The last segments may be under way at the end in one of them.
    assert abs(len(found) - len(expected)) <= 1
    common = min(len(found), len(expected))
    assert found[:common] == expected[:common]


def test_what_makes_no_sense_is_refused_at_its_key(tmp_path: Path) -> None:
    file = tmp_path / "video.toml"
    text = "schema_version = 1\nduration = '9 s'\n[topology.dumbbell.forward]\ncapacity = '1 Mb/s'\n[flows.a]\napp = "
    for app, words in (
        ('{ video = { ladder = ["2 Mb/s", "1 Mb/s"] } }', "video.ladder.1: found `1 Mbit/s`, expected more than"),
        ("{ video = { ladder = [] } }", "video.ladder: found `0`, expected 1 to 100 bitrates"),
        ('{ video = { buffer = "7 s" } }', "video.buffer: found `7 s`, expected at least two segments, 8 s"),
        ('{ video = { startup = "27 s" } }', "video.startup: found `27 s`, expected at most 26 s"),
        ("{ video = { rule = { bola = { gamma = -1 } } } }", "video.rule.bola.gamma: found `-1`"),
        ('{ video = { rule = "bolla" } }', "did you mean `bola`?"),
        ('{ real-time = { initial = "9 Mb/s" } }', "real-time.initial: found `9 Mbit/s`, expected from"),
    ):
        file.write_text(text + app + "\n", encoding="utf-8")
        with pytest.raises(varicap.ScenarioError) as refused:
            varicap.run(file)
        assert "video.toml:6" in str(refused.value)
        assert words in str(refused.value)


def test_a_camera_keeps_its_deadline_where_its_encoder_follows() -> None:
    path = {
        "dumbbell": {"forward": {"capacity": "1.1 Mb/s", "delay": "20 ms", "queue": {"drop-tail": {"limit": "1 MB"}}}}
    }
    feedback = {"share": "capacity", "scone": {}}

    def late(initial: str, heed: bool) -> tuple[float, float]:
        app = {"real-time": {"heed": heed, "initial": initial}}
        scenario = {"schema_version": 1, "duration": "120 s", "warmup": "20 s", "seeds": 1, "topology": path}
        flows = varicap.run(scenario | {"flows": {"a": {"app": app, "feedback": feedback}}}).flows
        return flows["late"][0].as_py(), flows["bitrate_bps"][0].as_py()

    assert late("3 Mb/s", False)[0] < 0.5
    share, bitrate = late("300 kb/s", True)
    # 1 Mb/s is the level below, which the path carries with its headers.
    assert share == 0.0
    assert 0.97e6 < bitrate <= 1e6
