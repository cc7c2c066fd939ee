"""RATCP inside the kernel: the object that is shipped."""

import hashlib
from pathlib import Path

BPF = Path(__file__).parent.parent / "crates" / "varicap-testbed" / "bpf"


def test_the_object_is_built_from_the_source_beside_it() -> None:
    source = b"".join((BPF / name).read_bytes() for name in ("kernel.h", "ratcp.bpf.c"))
    assert (BPF / "ratcp.bpf.sha256").read_text().strip() == hashlib.sha256(source).hexdigest(), "run `make bpf`"
    assert (BPF / "ratcp.bpf.o").read_bytes().startswith(b"\x7fELF")
