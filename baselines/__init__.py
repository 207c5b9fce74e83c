"""Baseline agents for the environments of `tile_envs`: training, playing, evaluation.

>>> from baselines import Learner, evaluate, evaluate_exactly, load, solve
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baselines.evaluation import evaluate
    from baselines.exact.evaluation import evaluate_exactly
    from baselines.exact.solver import solve
    from baselines.learner import Learner
    from baselines.registry import load

__all__ = ["Learner", "evaluate", "evaluate_exactly", "load", "solve"]

_HOMES = {
    "Learner": "baselines.learner",
    "evaluate": "baselines.evaluation",
    "evaluate_exactly": "baselines.exact.evaluation",
    "load": "baselines.registry",
    "solve": "baselines.exact.solver",
}


def __getattr__(name: str) -> Any:
    # On first use: every module of the package would wait for scipy otherwise.
    if name not in _HOMES:
        raise AttributeError(f"module 'baselines' has no attribute {name!r}")
    from tile_envs.extras import extra  # late: it takes a third of a second

    with extra("baselines"):
        return getattr(import_module(_HOMES[name]), name)
