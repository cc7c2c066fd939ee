"""What SECURITY.md promises is held by tests that exist."""

import re

from conftest import ROOT

PAGE = (ROOT / ".github/SECURITY.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.M)[2:]


def test_every_promise_is_held_by_tests_that_exist() -> None:
    python = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").glob("test_*.py"))
    rust = "\n".join(file.read_text(encoding="utf-8") for file in ROOT.glob("crates/*/tests/*.rs"))
    tests = set(re.findall(r"^def (test_\w+)", python, re.M)) | set(re.findall(r"#\[test\]\nfn (\w+)", rust))
    assert len(ROWS) > 10
    for whose, what, held_by in ROWS:
        named = re.findall(r"`(\w+)`", held_by)
        assert named, f"nothing holds that a {whose} may not {what}"
        assert set(named) <= tests, f"there is no test called {sorted(set(named) - tests)}"
