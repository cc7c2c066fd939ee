"""`varicap dialogue`: files and folders, what it reads, and what it says of them."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from handshake import HANDSHAKE

from varicap._files import UnreadableError
from varicap.dialogue import dialogue


def test_a_tolerance_that_is_given_counts_more_than_the_scripts(cli: Cli, tmp_path: Path) -> None:
    head = "--tolerance_percent=0\n--tolerance_usecs=30000\n"
    late = head + HANDSHAKE + "\n+0 write(4, ..., 1000) = 1000\n+.02 > P. 1:1001(1000) ack 1\n"
    assert dialogue(text=late).passed
    assert dialogue(text=late, tolerance="20 ms").passed
    assert not dialogue(text=late, tolerance="19 ms").passed
    with pytest.raises(ValueError, match="soon"):
        dialogue(text=late, tolerance="soon")

    script = tmp_path / "late.pkt"
    script.write_text(late)
    assert cli("dialogue", script, "--tolerance", "20 ms").returncode == 0
    assert cli("dialogue", script, "--tolerance", "19 ms").returncode == 1
    refused = cli("dialogue", script, "--tolerance", "-1 s")
    assert refused.returncode == 2
    assert "--tolerance: `-1 s` is not a length of time" in refused.stderr


def test_commands_are_read_and_never_executed(tmp_path: Path) -> None:
    (tmp_path / "defaults.sh").write_text("sysctl -q net.ipv4.tcp_sack=0\nsysctl -q net.ipv4.tcp_frto=2\n")
    head = f"`./defaults.sh\ntouch {tmp_path}/executed\ncat missing.sh`\n"
    script = head + HANDSHAKE.replace("ack 1 <mss 1460,sackOK>", "ack 1 <mss 1460>")
    (tmp_path / "one.pkt").write_text(script)
    played = dialogue(tmp_path / "one.pkt", stack="rfc")
    assert played.passed, played.text()
    assert played.ignored[0] == "tcp_frto=2 (no F-RTO)"
    assert not (tmp_path / "executed").exists()
    # What the files of commands ask for is known only if they can be read, and do not run each other without end.
    (tmp_path / "one.pkt").write_text(script.replace("./defaults.sh", "./missing.sh"))
    (lack,) = dialogue(tmp_path / "one.pkt").lacks
    assert lack.what == "the commands of missing.sh (there is no such file)"
    (tmp_path / "defaults.sh").write_text("./defaults.sh\n")
    (tmp_path / "one.pkt").write_text(script)
    (lack,) = dialogue(tmp_path / "one.pkt").lacks
    assert lack.what == "files of commands more than 3 deep (defaults.sh)"


def test_the_command_plays_files_and_folders(cli: Cli, tmp_path: Path) -> None:
    good, differs, skipped = (HANDSHAKE + event for event in ("", "+0 > . 1:1(0) ack 2\n", "+0 dup(3) = 4\n"))
    for name, text in {"a": good, "b": differs, "c/d": skipped}.items():
        path = tmp_path / f"{name}.pkt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    done = cli("dialogue", tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 differ, 1 skipped"
    assert "needs the call dup (line 8)" in done.stdout
    found = json.loads(cli("dialogue", tmp_path, "--json").stdout)
    assert found["counts"] == {"passed": 1, "failed": 1, "skipped": 1, "unread": 0}
    outcomes = [(each["outcome"], each["why"]) for each in found["scripts"]]
    assert outcomes[0] == ("passed", None)
    assert outcomes[1][0] == "failed"
    assert outcomes[1][1]
    assert outcomes[2][0] == "skipped"
    assert outcomes[2][1].startswith("it needs ")
    assert found["scripts"][1]["timeline"][-1]["differs"] is True
    assert cli("dialogue", tmp_path / "a.pkt").returncode == 0
    assert "the script" in cli("dialogue", tmp_path / "b.pkt").stdout
    (tmp_path / "broken.pkt").write_text("0 <")
    done = cli("dialogue", tmp_path)
    assert done.returncode == 2
    assert "broken.pkt:1:4: " in done.stderr
    assert cli("dialogue", tmp_path / "none").returncode == 2


def test_the_command_reads_only_what_is_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "folder.pkt").mkdir()
    (tmp_path / "good.pkt").write_text(HANDSHAKE)
    assert cli("dialogue", tmp_path).returncode == 0
    (tmp_path / "zero.pkt").symlink_to("/dev/zero")
    # What is named as a script and cannot be read is not passed over.
    assert cli("dialogue", tmp_path).returncode == 2
    done = cli("dialogue", tmp_path / "zero.pkt", tmp_path / "good.pkt")
    assert done.returncode == 2
    assert "zero.pkt: not a file" in done.stderr
    assert "1 passed, 1 cannot be read" in done.stdout
    for settings in ("missing.toml", "zero.pkt"):
        done = cli("dialogue", tmp_path / "good.pkt", "--settings", tmp_path / settings)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    with pytest.raises(UnreadableError, match=r"zero\.pkt: not a file"):
        dialogue(tmp_path / "zero.pkt")


def test_the_command_names_for_a_folder_what_had_no_effect_and_what_was_not_expected(cli: Cli, tmp_path: Path) -> None:
    head = "`sysctl -q net.ipv4.tcp_frto=2`\n"
    for name in "ab":
        (tmp_path / f"{name}.pkt").write_text(head + HANDSHAKE)
    (tmp_path / "c.pkt").write_text(HANDSHAKE + "+0 write(4, ..., 2000) = 2000\n")
    done = cli("dialogue", "--stack", "rfc", tmp_path)
    assert "asked for it: tcp_frto=2 (no F-RTO) in 2\n" in done.stderr
    assert "c.pkt (2)" in done.stderr
    assert "a.pkt" not in done.stderr


def test_the_command_takes_settings(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "window.pkt"
    script.write_text(
        HANDSHAKE + "+0 write(4, ..., 20000) = 20000\n+0 > . 1:3001(3000) ack 1\n+1 > . 1:1001(1000) ack 1"
    )
    assert cli("dialogue", "--stack", "rfc", script).returncode == 1
    assert cli("dialogue", "--stack", "rfc", script, "--set", "initial_window='3 packets'").returncode == 0
    settings = tmp_path / "tcp.toml"
    settings.write_text("[tcp]\ninitial_window = '3 packets'\n")
    assert cli("dialogue", "--stack", "rfc", script, "--settings", settings).returncode == 0
    assert (
        cli(
            "dialogue", "--stack", "rfc", script, "--settings", settings, "--set", "initial_window=4 packets"
        ).returncode
        == 1
    )
    settings.write_text("tcp = 3")
    assert cli("dialogue", script, "--settings", settings).returncode == 2
