"""The simulated side of the paper wireless: its scenarios, its cells, and connections that share the link."""

import json
from itertools import pairwise

import numpy as np
import pytest

from varicap import papers
from varicap.engines.scenarios import load
from varicap.papers.run import Run, paired
from varicap.papers.verdict import Value, judge
from varicap.papers.wireless import agreement, isolation, reno, table1, wireline
from varicap.papers.wireless.cells import CELLS, JAKES, MARKOV
from varicap.papers.wireless.simulated import FLOWS, channel_of
from varicap.papers.wireless.tables import TABLE_1, TABLE_6, TABLES
from varicap.papers.worst import least
from varicap.report.paper import Axis, Curve, bars, curves, distances
from varicap.statistics import Interval

PAPER = papers.paper("wireless")


def test_every_cell_has_a_claim_for_the_analysis_and_for_each_flow() -> None:
    ids = {claim.id: claim for claim in PAPER.claims}
    cells = [one for table in TABLES for kind in ("model", *FLOWS) for one in table.ids(kind)]
    assert len(cells) == 3 * 36
    assert all(ids[one].engine == ("model" if "-model" in one else "sim") for one in cells)


@pytest.mark.parametrize(("durations", "law"), [(MARKOV, "markov"), (JAKES, "rayleigh")])
def test_the_fading_tables_are_on_the_fading_signal(durations: dict[int, tuple[float, float]], law: str) -> None:
    file = "python/varicap/papers/wireless/scenarios/arq.toml"
    loaded = load(file, {"topology.dumbbell.forward.loss": channel_of(durations, 30)})
    channel = json.loads(loaded.facts())[0]["links"][0]["channel"]
    assert (channel["law"], channel["delivered"]) == (law, 0.99)


def test_cells_of_a_packet_fill_the_buffer_that_the_table_says() -> None:
    assert TABLE_6.system is CELLS
    changes = {
        "topology.dumbbell.forward.framing.cells": '{ payload = "48 B", size = "53 B" }',
        "topology.dumbbell.forward.queue.drop-tail.limit": f'"{TABLE_6.columns[0].packets} packets"',
    }
    link = json.loads(load("python/varicap/papers/wireless/scenarios/arq.toml", changes).facts())[0]["links"][0]
    assert link["arq"]["room_cells"] == 96
    assert link["arq"]["slot_s"] == pytest.approx(0.424e-3)


def test_table_1_quickly() -> None:
    found = table1.reproduce(Run("wireless", quick=True)).values
    for claim in PAPER.of("table1"):
        verdict = judge(claim, found[claim.id]).verdict
        assert verdict == claim.expect or "unsettled" in (verdict, claim.expect), claim.id
    assert {one for kind in FLOWS for one in TABLE_1.ids(kind)} <= set(found)


def test_fair_queueing_isolates_and_one_queue_does_not() -> None:
    done = isolation.reproduce(Run("wireless", quick=True))

    def mean(value: Value) -> float:
        assert value.sim is not None
        return value.sim.mean

    before, after = (grid.rows["one queue"][1].mean for grid in done.grids)  # of the far connection
    assert after / before < 0.05 < 0.8 < mean(done.values["I-far-drr"])


def test_points_are_compared_run_by_run() -> None:
    assert paired(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])).tolist() == [[1.0, 2.0], [4.0, 5.0]]
    found = {"tahoe": [np.array([2.0, 4.0]), np.array([1.0, 1.0])], "reno": [np.array([1.0, 4.0, 9.0]), np.ones(2)]}
    assert reno._ratios(found).tolist() == [[0.5, 1.0], [1.0, 1.0]]
    assert agreement._distance([10.0], [np.array([8.0, 10.0])]).tolist() == [[25.0, 0.0]]


def test_the_border_is_found_in_each_replication() -> None:
    ours = [np.array([0.5, 0.5]), np.array([0.6, 0.9]), np.array([0.9, 0.9])]
    assert wireline._border([30, 32, 34], ours).tolist() == [0.33, 0.31]


def test_the_root_mean_square_is_that_of_the_means() -> None:
    far = np.array([[2.0, 4.0], [-5.0, -3.0]])
    assert agreement._rms(far).mean() == pytest.approx(np.sqrt((3**2 + 4**2) / 2))
    assert agreement._rms(np.array([[-1.0, 3.0]])).tolist() == [-1.0, 3.0]  # one cell: its own distance


def test_the_ordering_of_table_1_is_that_of_the_worse_neighbour() -> None:
    cells = {one: np.array([1.0, 1.5]) for one in TABLE_1.cells()} | {"30/8": np.array([3.0, 2.0, 0.0])}
    model = dict.fromkeys(TABLE_1.cells(), 1.0)
    found = table1._statements(model, {"tahoe": cells | {"10/8": np.array([2.0, 1.2])}})
    assert found["T1-moderate-tahoe"].sim == least([np.array([1.0, 0.8]), np.array([2.0, 0.5])])


@pytest.mark.parametrize(("points", "line"), [(4, "None"), (5, "-")])
def test_few_points_are_not_joined(points: int, line: str) -> None:
    ours = Curve("ours", list(range(points)), [Interval(1.0, 0.9, 1.1)] * points, 0)
    (axes,) = curves("t", [ours], Axis("x"), Axis("y")).axes
    assert axes.lines[0].get_linestyle() == line


def test_names_of_many_groups_have_room() -> None:
    names = [f"a choice no. {number}" for number in range(12)]
    figure = bars("t", names, [("ours", [Interval(1.0)] * 12)], "y")
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_the_colours_reach_as_far_as_the_farthest_cell() -> None:
    figure = distances("t", [("a", [Interval(0.4, 0.3, 0.5), -0.01])], ["x", "y"], "x", [[" ✗", ""]])
    (image,) = figure.axes[0].images
    assert image.get_clim() == (-0.4, 0.4)
    assert [text.get_text() for text in figure.axes[0].texts] == ["+40.0 ± 10.0 % ✗", "-1.0 %"]
