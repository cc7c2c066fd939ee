"""Errors of kernels in simulated time."""

from varicap.errors import MachineLacksError


class KernelBuildError(RuntimeError):
    """A kernel, or a module for one, cannot be built; the text says why."""


class NoKernelError(MachineLacksError):
    """No such kernel has been built here; the text says which command builds one."""
