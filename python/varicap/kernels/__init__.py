"""Linux kernels that run as programs, in simulated time: built, found, removed, and modules for them.

A kernel is User-mode Linux with ``time-travel=inf-cpu``: its clock stands still while it computes, and jumps to the
next timer when nothing can run.  Built kernels lie in the user's cache; they are under GPL-2.0, and no part of varicap.
"""

from varicap.kernels.builder import build
from varicap.kernels.errors import KernelBuildError, NoKernelError
from varicap.kernels.modules import MOST_SOURCE, module
from varicap.kernels.store import BUILDS, PACKAGE, Kernel, find, home, installed, is_simulated, remove

__all__ = [
    "BUILDS",
    "MOST_SOURCE",
    "PACKAGE",
    "Kernel",
    "KernelBuildError",
    "NoKernelError",
    "build",
    "find",
    "home",
    "installed",
    "is_simulated",
    "module",
    "remove",
]
