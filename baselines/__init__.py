"""Baseline agents for the environments of `tile_envs`: training, playing, evaluation.

What is given and cannot be used is answered by a `ValueError` of one line, in all modules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baselines.evaluation.exact import evaluate_exactly as evaluate_exactly
    from baselines.evaluation.judging import grade as grade
    from baselines.evaluation.judging import judge as judge
    from baselines.players import load as load
    from baselines.results import evaluate as evaluate
    from baselines.results import regret as regret
    from baselines.solver.questions import questions as questions
    from baselines.solver.solve import solve as solve
    from baselines.training.episodes import EpisodicLearner as EpisodicLearner
    from baselines.training.learner import Learner as Learner
    from baselines.training.run import train as train

_HOMES = {
    "EpisodicLearner": "baselines.training.episodes",
    "Learner": "baselines.training.learner",
    "evaluate": "baselines.results",
    "evaluate_exactly": "baselines.evaluation.exact",
    "grade": "baselines.evaluation.judging",
    "judge": "baselines.evaluation.judging",
    "load": "baselines.players",
    "questions": "baselines.solver.questions",
    "regret": "baselines.results",
    "solve": "baselines.solver.solve",
    "train": "baselines.training.run",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    # On first use: every module of the package would wait for scipy otherwise.
    if name not in _HOMES:
        raise AttributeError(f"module 'baselines' has no attribute {name!r}")
    from tile_envs.errors import extra  # late: it takes a third of a second

    with extra("baselines"):
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
