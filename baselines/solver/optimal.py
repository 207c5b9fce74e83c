"""Optimal play on small boards: the agent that looks its moves up in the solution of the game."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Observations, ValueAgent
from baselines.solver.solution import Solution
from baselines.solver.solve import solution_of
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding.game import SlidingGame


class OptimalAgent(ValueAgent):
    """Plays a move with the highest expected score; ties: the lowest index.

    Args:
        game: A sliding game on a small board.
        seed: Not used.
        solution: The folder of a solution that `solve --out` has written; without one the game is
            solved first.

    Raises:
        ValueError: If the game cannot be solved, or the folder holds no solution of it.
    """

    def __init__(self, game: Game, seed: int = 0, solution: str | None = None) -> None:
        if not isinstance(game, SlidingGame):
            raise UsageError("optimal play is for the sliding games: minimax plays tic-tac-toe.")
        self.solution = Solution.load(Path(solution), game) if solution else solution_of(game)

    def action_values(self, observations: Observations) -> NDArray[np.float64]:
        """Return r + V(s') of each action, `(n, 4)`; minus infinity for illegal ones.

        Raises:
            ValueError: If these are not boards of the game, or play cannot reach one of them.
        """
        values = self.solution.action_values(observations)
        unknown = np.isnan(values).any(axis=1)
        if unknown.any():
            board = np.asarray(observations)[int(np.flatnonzero(unknown)[0])].tolist()
            raise UsageError(
                f"play cannot reach the board {board}, so it has no optimal value: start from a "
                "board that play can reach."
            )
        return values
