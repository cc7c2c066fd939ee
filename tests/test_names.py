"""Where the public names are: modules that moved into folders keep the names under which they are documented."""

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SHORT = {
    "varicap.bench": "varicap.machine.bench",
    "varicap.channel": "varicap.parts.channel",
    "varicap.comparison": "varicap.engines.comparison",
    "varicap.design": "varicap.questions",
    "varicap.design.lrl": "varicap.questions.lrl",
    "varicap.doctor": "varicap.machine.doctor",
    "varicap.export": "varicap.results.export",
    "varicap.feedback": "varicap.parts.feedback",
    "varicap.kernel": "varicap.engines.kernel",
    "varicap.model": "varicap.engines.model",
    "varicap.model.path": "varicap.engines.model.path",
    "varicap.reactive": "varicap.parts.reactive",
    "varicap.replay": "varicap.engines.replay",
    "varicap.saved": "varicap.results.saved",
    "varicap.shell": "varicap.machine.shell",
    "varicap.simulate": "varicap.engines.sim",
    "varicap.tcp": "varicap.parts.tcp",
    "varicap.watch": "varicap.results.watch",
}


@pytest.mark.parametrize(("short", "place"), SHORT.items())
@pytest.mark.parametrize("first", ["short", "place"])
def test_a_short_name_is_the_module_itself_whichever_is_imported_first(short: str, place: str, first: str) -> None:
    order = (short, place) if first == "short" else (place, short)
    script = (
        f"import sys; from importlib import import_module; {order[0]!r}, [import_module(name) for name in {order!r}];"
        f"module = sys.modules[{place!r}];"
        f"assert sys.modules[{short!r}] is module, 'loaded twice';"
        f"assert module.__name__ == module.__spec__.name == {place!r}"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", ["design", "export", "feedback", "model", "reactive", "shell", "tcp", "watch"])
def test_a_public_module_is_an_attribute_before_it_is_imported(name: str) -> None:
    script = f"import sys, varicap; assert varicap.{name} is sys.modules[{SHORT[f'varicap.{name}']!r}]"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_question_offers_what_its_solution_has() -> None:
    question: Any = import_module("varicap.design.effcap")
    assert question.effcap is import_module("varicap.questions.effcap.solve").effcap
    with pytest.raises(AttributeError, match="nonsense"):
        question.nonsense  # noqa: B018


def test_an_unknown_module_is_still_unknown() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"varicap\.tpc"):
        import_module("varicap.tpc")
