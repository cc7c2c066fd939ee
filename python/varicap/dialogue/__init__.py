"""Dialogues in packetdrill's language: scripts that a simulated connection must follow.

>>> played = dialogue(text='''
... 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
... +0 bind(3, ..., ...) = 0
... +0 listen(3, 1) = 0
... +0 < S 0:0(0) win 65535 <mss 1000>
... +0 > S. 0:0(0) ack 1 <mss 1460>
... +.1 < . 1:1(0) ack 1 win 65535
... +0 accept(3, ..., ...) = 4
... +0 write(4, ..., 2000) = 2000
... +0 > P. 1:2001(2000) ack 1
... ''')
>>> played.verdict.value
'passed'
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from varicap.dialogue.outcome import Dialogue, Row, Verdict
from varicap.dialogue.parse import parse
from varicap.dialogue.play import play
from varicap.dialogue.script import MOST_OF_A_SCRIPT, Lack, ScriptError
from varicap.interface import MAX_MEMORY, MAX_TIME, Budget, LimitError, UnreadableError, read_whole
from varicap.tcp import settings
from varicap.units import seconds

__all__ = ["Dialogue", "Lack", "Row", "ScriptError", "Verdict", "dialogue"]


def dialogue(
    path: str | Path | None = None,
    /,
    *,
    text: str | None = None,
    control: Callable[[int, int], Any] | None = None,
    stack: str | None = None,
    tolerance: str | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    **tcp: Any,
) -> Dialogue:
    """Play a script, of a file or given as text, against the simulated endpoints.

    The other arguments are settings as in a scenario's ``tcp`` table, such as ``recovery="newreno"``; they count more
    than what the script sets.  A `stack` counts less: its habits hold for what neither says; by default it is that of
    any connection, ``linux``.  A congestion control written in Python is `control`, as for a sender.  A `tolerance`,
    such as ``"14 ms"``, counts more than that of the script, as on packetdrill's command line.

    The script is never executed: its shell commands are read for settings, its blocks of code go through a small
    evaluator.  It may add `max_memory` to the memory of the process, and take `max_time` on the clock; None lifts a
    limit.

    Raises:
        ScriptError: the script has a mistake; the text begins with file, line and column.
        UnreadableError: there is no such file, or it is none that a script can be read from.
        ScenarioError: a setting is wrong.
        LimitError: the script takes more memory or time than it may.
        ValueError: the tolerance is no time.
    """
    if (path is None) == (text is None):
        raise TypeError("a dialogue takes either a file or a text")
    if control is not None:
        tcp["control"] = control
    # Said, since habits of a stack come after what a script sets.
    tcp["stack"] = settings()["stack"] if stack is None else stack
    tolerance_s = None if tolerance is None else seconds(tolerance)
    name, folder = "script", Path.cwd()
    if path is not None:
        try:
            text = read_whole(path, MOST_OF_A_SCRIPT).decode(errors="replace")
        except UnreadableError as error:
            raise UnreadableError(f"{path}: {error}") from None
        name, folder = str(path), Path(path).parent
    try:
        return Budget(max_memory, max_time).watch(lambda: play(parse(text or "", name), folder, tcp, tolerance_s))
    except LimitError as error:
        raise LimitError(f"{name}: {error}") from None
