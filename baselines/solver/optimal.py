"""Optimal play on small boards: moves are looked up in the solution of the game."""

from pathlib import Path

import numpy as np

from baselines.agents import ValueAgent
from baselines.solver.solve import Solution, solution_of
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Game, Observations
from tile_envs.sliding.game import SlidingGame


class OptimalAgent(ValueAgent):
    """Plays a move with the highest expected score; ties: the lowest index.

    `solution` is the folder of one that `solve --out` has written; None solves the game.
    """

    def __init__(self, game: Game, seed: int = 0, solution: str | None = None) -> None:
        if not isinstance(game, SlidingGame):
            raise UsageError("optimal play is for the sliding games: minimax plays tic-tac-toe.")
        self.solution = Solution.load(Path(solution), game) if solution else solution_of(game)

    def action_values(self, observations: Observations) -> Floats:
        values = self.solution.action_values(observations)
        if (unknown := np.isnan(values).any(axis=1)).any():
            board = np.asarray(observations)[unknown.argmax()].tolist()
            raise UsageError(f"play cannot reach the board {board}: start from one that it can.")
        return values
