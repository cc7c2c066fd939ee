"""How well the engines agree, measured anew: the simulator's TCP beside Linux's on a table of paths.

>>> from varicap.validate import paths
>>> len(paths.names()) >= 30
True
"""

from typing import TYPE_CHECKING

from varicap._names import on_first_use

if TYPE_CHECKING:
    from varicap.validate.measure import kernel
    from varicap.validate.table import Validation

__all__ = ["Validation", "kernel"]

# Imported on first use: the command line reads the names of the paths and must not wait for NumPy.
__getattr__ = on_first_use(__name__, {"varicap.validate.measure": ["kernel"], "varicap.validate.table": ["Validation"]})
