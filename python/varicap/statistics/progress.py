"""How far work has come that takes a while."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[float, int, int], None]
"""Called now and then with the share that is done [0..1], how many parts are done, and how many there will be.

The parts are runs where scenarios are run, and simulations where a question or a paper needs several.
"""
