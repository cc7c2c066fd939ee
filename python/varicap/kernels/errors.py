"""What may go wrong with kernels."""

from varicap.errors import MachineLacksError, NotBuiltError


class KernelBuildError(NotBuiltError):
    """A kernel, or a module for one, cannot be built; the text says why."""


class NoKernelError(MachineLacksError):
    """No such kernel has been built here; the text says which command builds one."""
