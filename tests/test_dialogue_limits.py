"""Scripts of strangers: values in blocks of code stay small; a script keeps to its time and its memory."""

import contextlib
from pathlib import Path

import pytest
from conftest import Cli

import varicap
from varicap.dialogue import ScriptError, dialogue

OPENED = """
 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
"""


def block(*lines: str) -> str:
    return OPENED + "+0 %{\n" + "\n".join(lines) + "\n}%\n"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["x = round(7, -30000000)"], "rounded to more than 300 digits"),
        (["x = round(7.5, 30000000)"], "rounded to more than 300 digits"),
        (["x = round(7, True << 200)"], "rounded to more than 300 digits"),
        (["x = 'aaaaaaaaaaaaaaaa'", *["x = '%s%s' % (x, x)"] * 30], "more than 1000 letters"),
        (["x = '%99d' * 3"], "an operation on text"),
        (["x = '" + "%99d" * 20 + "' % (" + "1, " * 20 + ")"], "more than 1000 letters"),
        (["x = (1, 1)", *["x = (x, x)"] * 40], "more than 1000 letters"),
        (["x = ('" + "a" * 900 + "', 1)", "y = (x, x)"], "more than 1000 letters"),
        (["x = 0x" + "f" * 65], "a number that is too large"),
        (["x = '" + "a" * 1001 + "'"], "more than 1000 letters"),
        (["x = int('" + "9" * 900 + "')"], "a number that is too large"),
        (["x = int(1e300)"], "a number that is too large"),
        (["x = 1 << 256"], "a number that is too large"),
        (["x = 3", *["x = x * x"] * 30], "a number that is too large"),
        (["x = ~(1 << 255) - (1 << 255)", "x = max(x + x, x)"], "a number that is too large"),
        (["x = '%1000d' % 1"], "a format that is too wide"),
        (["x = '%.1000f' % 1"], "a format that is too wide"),
        (["x = '%*d' % (999999999, 1)"], "a format that is too wide"),
    ],
)
def test_a_value_in_a_block_of_code_stays_small(lines: list[str], says: str) -> None:
    with pytest.raises(ScriptError, match=says):
        dialogue(text=block(*lines))


@pytest.mark.parametrize(
    "line",
    [
        "assert round(7.125, 2) == 7.12 and round(1234, -2) == 1200 and round(2.5) == 2",
        "assert '%d of %5.1f' % (3, 1.25) == '3 of   1.2'",
        "assert (1 << 255) >> 255 == 1 and int('0x10', 16) == 16",
        "assert str(12) + 'x' == '12x' and max((1, 2), (1, 3)) == (1, 3)",
    ],
)
def test_what_scripts_calculate_is_worked_out(line: str) -> None:
    assert dialogue(text=block(line)).passed


def test_a_long_script_ends_at_the_limit_of_time() -> None:
    waits = "\n".join(f"+.1 < . {n}:{n + 1}(1) ack 1 win 65535" for n in range(3, 90_003, 2))
    with pytest.raises(varicap.LimitError, match=r"script: expected at most 100 ms \(--max-time\)"):
        dialogue(text=OPENED + waits, max_time="100 ms")


def test_a_long_script_ends_at_the_limit_of_memory() -> None:
    words = " ".join(["1"] * 2_000_000)
    with pytest.raises(varicap.LimitError, match=r"script: expected at most 50 MB of memory \(--max-memory\)"):
        dialogue(text=words, max_memory="50 MB")


def test_the_command_has_the_limits_and_goes_on_with_the_next_script(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_text(" ".join(["1"] * 1_000_000))
    (tmp_path / "b.pkt").write_text(OPENED)
    done = cli("dialogue", str(tmp_path / "a.pkt"), str(tmp_path / "b.pkt"), "--max-time", "200 ms")
    assert done.returncode == 2
    assert "a.pkt: expected at most 200 ms (--max-time)" in done.stderr
    assert "b.pkt: passed" in done.stdout


@pytest.mark.parametrize("stack", ["linux", "rfc"])
@pytest.mark.parametrize(
    "segment",
    [
        "1:1(0) ack 0 win 65535 <sack 2001:3001>",
        "1:1(0) ack 0 win 65535 <sack 0:1 2001:3001>",
        "1:1(0) ack 1 win 65535 <sack 0:3001>",
        "1:1(0) ack 1 win 65535 <sack 0:1>",
        "1:1(0) ack 4294967295 win 65535 <sack 2001:3001>",
        "1:1(0) ack 4294960000 win 65535 <sack 2001:3001>",
        "0:0(0) ack 4294967295 win 65535",
        "4294967295:4294967296(1) ack 1 win 65535",
        "4294967295:4294967295(0) ack 1 win 65535",
        "0:65535(65535) ack 1 win 65535",
        "0:0(0) ack 1 win 0 <sack 4294967295:4294967295>",
        "0:0(0) ack 1 win 65535 <sack 4294967200:1>",
    ],
)
def test_no_number_in_a_segment_that_arrives_is_a_traceback(segment: str, stack: str) -> None:
    written = "+0 write(4, ..., 5000) = 5000\n+0 > . 1:5001(5000) ack 1\n"
    for settings in ("", "`sysctl -q net.ipv4.tcp_recovery=0`\n"):
        # What cannot be written is a mistake of the script.
        with contextlib.suppress(ScriptError):
            dialogue(text=f"{settings}{OPENED}{written}+.1 < . {segment}\n+.1 < . {segment}\n", stack=stack)
