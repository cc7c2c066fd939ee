"""Where to look next, by Optuna: estimators of good and of bad places, tree-structured as keys below choices are.

Optuna is asked for places only: each time it is told everything that is known by then, so that a search that goes on
after an interruption asks it the same as one that was never interrupted.  Source: [bergstra11], [akiba19].
"""

import warnings
from collections.abc import Sequence
from typing import Any

from varicap.design.optimise.space import Place, Space
from varicap.errors import MachineLacksError


def propose(
    space: Space,
    known: Sequence[tuple[Place, Sequence[float], float]],
    count: int,
    seed: int,
) -> list[Place]:
    """So many places.  `known` has places with what is to be minimised there, and how far constraints are missed."""
    try:
        import optuna
    except ImportError:
        raise MachineLacksError(
            "more than one key, or a key with listed values, is searched with Optuna: install varicap[design]"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it calls experimental is what it recommends
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, n_startup_trials=4)
        directions: list[Any] = ["minimize"] * max((len(values) for _, values, _ in known), default=1)
        study = optuna.create_study(sampler=sampler, directions=directions)
        for place, values, missed in known:
            parameters, distributions = _described(optuna, space, place)
            study.add_trial(
                optuna.trial.create_trial(
                    values=list(values),
                    params=parameters,
                    distributions=distributions,
                    constraints={"missed": missed},
                )
            )
        return [_asked(study.ask(), space) for _ in range(count)]


def _described(optuna: Any, space: Space, place: Place) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of a place, as Optuna has them, and their distributions."""
    parameters: dict[str, Any] = {}
    distributions: dict[str, Any] = {}
    for variable, share, counts in zip(space.variables, place, space.active(place), strict=True):
        if not counts:
            continue
        if variable.range is None:
            parameters[variable.path] = variable.text(share)
            distributions[variable.path] = optuna.distributions.CategoricalDistribution(variable.choices)
        else:
            parameters[variable.path] = share
            distributions[variable.path] = optuna.distributions.FloatDistribution(0.0, 1.0)
    return parameters, distributions


def _asked(trial: Any, space: Space) -> Place:
    """The place that a trial is to try."""
    place = [0.5] * len(space.variables)
    for number, variable in enumerate(space.variables):
        if not space.active(tuple(place))[number]:
            continue
        if variable.range is None:
            chosen = trial.suggest_categorical(variable.path, variable.choices)
            place[number] = (variable.choices.index(chosen) + 0.5) / len(variable.choices)
        else:
            place[number] = trial.suggest_float(variable.path, 0.0, 1.0)
    return space.snapped(tuple(place))
