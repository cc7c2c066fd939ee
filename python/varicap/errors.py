"""Errors other than a mistake in a scenario (`varicap.ScenarioError`) or a fault of the engine (`RunError`)."""


class NotApplicableError(ValueError):
    """An engine cannot answer a scenario; the text says for each flow what stands in the way."""


class MachineLacksError(RuntimeError):
    """What an engine needs is not on this machine; the text says what, and what to do about it."""
