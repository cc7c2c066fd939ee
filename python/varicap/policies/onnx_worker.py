"""The process in which a network in ONNX decides; it is started by its path, and loads nothing else of varicap.

It reads the network from its standard input, then one observation after another, and answers each on its standard
output.  The messages are those of `varicap.policies.onnx_process`.
"""

import os
import select
import signal
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

HEAD = struct.Struct("<BIQ")
"""What begins an answer: its kind, its length in bytes, and what the process holds by now [B]."""
READY, ACTION, FAILED, NO_MEMORY = range(4)
_MOST_SAID = 1000
_LOOK_S = 0.02
"""How often a process looks at its own memory where the system does not [s]."""
_PAGE = os.sysconf("SC_PAGESIZE") if hasattr(os, "sysconf") else 4096


def main() -> None:
    """Answer until there is nothing more to read."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        import numpy as np
        import onnxruntime
    except ImportError as error:
        return _say(out, FAILED, str(error).encode())
    _say(out, READY, b"")
    (most,) = struct.unpack("<Q", _read(8))
    _limit(most, out)
    content = _read(struct.unpack("<Q", _read(8))[0])
    try:
        options = onnxruntime.SessionOptions()
        # An action takes microseconds, a thread more.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # it would take twice what is needed
        options.add_session_config_entry("session.load_model_format", "ONNX")
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        del content
        inputs, outputs = session.get_inputs(), session.get_outputs()
        if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 2 or not outputs:
            raise ValueError("a policy has one input, a batch of observations of float32, and an output")
        name = inputs[0].name
        wanted = [outputs[0].name]
        sizes = [_size(inputs[0].shape), _size(outputs[0].shape)]
    except BaseException as error:
        return _fail(out, error)
    _say(out, READY, struct.pack("<qq", *sizes))
    while True:
        try:
            batch = np.frombuffer(_read(struct.unpack("<I", _read(4))[0]), np.float32)[None, :]
            action: Any = np.asarray(session.run(wanted, {name: batch})[0], np.float32).reshape(-1)
            _say(out, ACTION, action[:_MOST_SAID].tobytes())
        except EOFError:
            return None
        except BaseException as error:
            _fail(out, error)


def _size(shape: Any) -> int:
    """The last number of a shape; -1 where the file leaves it open."""
    return shape[-1] if shape and isinstance(shape[-1], int) else -1


def _limit(most: int, out: int) -> None:
    """Take at most `most` bytes more than now, write to no file, and leave no image of the memory behind."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory_of("self")[0] + most, resource.RLIM_INFINITY))
    else:  # macOS keeps no limit of addresses; a thread looks, since onnxruntime computes without Python's lock
        threading.Thread(target=_end_beyond, args=(_held() + most, out), daemon=True).start()


def _end_beyond(most: int, out: int) -> None:
    """End this process once it holds more than `most` bytes, whatever it computes."""
    while (held := _held()) <= most:
        time.sleep(_LOOK_S)
    _say(out, NO_MEMORY, f"it holds {held / 1e6:.0f} MB".encode())
    os._exit(1)


def memory_of(process: "int | str") -> tuple[int, int]:
    """The addresses that a process has on Linux, and what of them is in memory [B].

    Raises `OSError` and `ValueError` where it is gone.
    """
    addresses, resident, *_ = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    return int(addresses) * _PAGE, int(resident) * _PAGE


def _held() -> int:
    """The most that this process has held so far [B]."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _read(size: int) -> bytes:
    """That many bytes of standard input."""
    found = os.read(0, size)
    if len(found) == size:
        return found
    parts = bytearray(found)
    while len(parts) < size:
        piece = os.read(0, size - len(parts))
        if not piece:
            raise EOFError
        parts += piece
    return bytes(parts)


def _say(out: int, kind: int, text: bytes) -> None:
    os.write(out, HEAD.pack(kind, len(text), _held()) + text)


def _fail(out: int, error: BaseException) -> None:
    said = (str(error).splitlines() or [type(error).__name__])[0][:_MOST_SAID]
    lacks = isinstance(error, MemoryError) or "bad_alloc" in said or "allocate" in said
    _say(out, NO_MEMORY if lacks else FAILED, said.encode(errors="backslashreplace"))


def _end_with_the_parent() -> None:
    """A network that computes endlessly would outlive who asked it."""
    if not hasattr(select, "poll"):
        return
    poll = select.poll()
    poll.register(0, 0)  # that the other end is closed is always told
    poll.poll()
    os._exit(0)


if __name__ == "__main__":
    main()
