"""The simulated side of the paper wireless: its scenarios, its cells, and connections that share the link."""

import json

import pytest

from varicap import papers
from varicap.engines.scenarios import load
from varicap.papers.run import Run
from varicap.papers.verdict import Value, judge
from varicap.papers.wireless import isolation, table1
from varicap.papers.wireless.cells import CELLS, JAKES, MARKOV
from varicap.papers.wireless.simulated import FLOWS, channel_of
from varicap.papers.wireless.tables import TABLE_1, TABLE_6, TABLES

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
        assert judge(claim, found[claim.id]).is_expected, claim.id
    assert {one for kind in FLOWS for one in TABLE_1.ids(kind)} <= set(found)


def test_fair_queueing_isolates_and_one_queue_does_not() -> None:
    found = isolation.reproduce(Run("wireless", quick=True)).values

    def mean(value: Value) -> float:
        assert value.sim is not None
        return value.sim.mean

    assert mean(found["I-far-fifo"]) < 0.05 < 0.8 < mean(found["I-far-drr"])
    assert mean(found["I-near-fifo"]) > 3 * mean(found["I-near-sfq"])
