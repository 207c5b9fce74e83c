"""Baseline agents for the environments of `tile_envs`: training, playing, evaluation.

>>> from baselines import Learner, evaluate, evaluate_exactly, load, solve
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baselines.evaluation.exact import evaluate_exactly
    from baselines.evaluation.sampled import evaluate
    from baselines.registry import load
    from baselines.solver.solve import solve
    from baselines.training.learner import Learner

__all__ = ["Learner", "evaluate", "evaluate_exactly", "load", "solve"]

_HOMES = {
    "Learner": "baselines.training.learner",
    "evaluate": "baselines.evaluation.sampled",
    "evaluate_exactly": "baselines.evaluation.exact",
    "load": "baselines.registry",
    "solve": "baselines.solver.solve",
}


def __getattr__(name: str) -> Any:
    # On first use: every module of the package would wait for scipy otherwise.
    if name not in _HOMES:
        raise AttributeError(f"module 'baselines' has no attribute {name!r}")
    from tile_envs.extras import extra  # late: it takes a third of a second

    with extra("baselines"):
        return getattr(import_module(_HOMES[name]), name)
