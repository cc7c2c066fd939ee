"""The search for the path that breaks a control: within bounds that the user states, against a statement.

>>> bounds = {"links": {"forward": {"loss": {"low": "0 %", "high": "5 %"}}}}
>>> found = falsify("examples/fixed.toml", bounds, "reno.goodput_of_capacity >= 50 %", budget=24, seeds=4,
...     overrides={"duration": "30 s", "warmup": "5 s"}, confirm=False)
>>> found.is_broken
True
"""

from varicap.falsify.bounds import BoundsError, presets
from varicap.falsify.found import Confirmation, Found
from varicap.falsify.solve import falsify

__all__ = ["BoundsError", "Confirmation", "Found", "falsify", "presets"]
