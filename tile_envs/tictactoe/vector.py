"""The vector environment of tic-tac-toe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from tile_envs.agents import Agent
from tile_envs.base.engine import NUMPY, Engine, Terms
from tile_envs.base.vector_env import GameVectorEnv
from tile_envs.extras import extra
from tile_envs.tictactoe.env import TicTacToeEnv
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.numpy_engine import MarksPositions, TicTacToeEngine
from tile_envs.tictactoe.positions import checked_codes, checked_turns, solve


class TicTacToeVectorEnv(GameVectorEnv[MarksPositions, TicTacToe]):
    """Many games of tic-tac-toe at once.

    Observations, rewards, ends and infos are those of `TicTacToeEnv`, batched; so are the
    arguments, with those of `GameVectorEnv`.

    An opponent that the user brings is asked once a step, for all games in which it is to move;
    numpy plays these games.
    """

    def __init__(
        self,
        num_envs: int = 1,
        opponent: str | Agent = "random",
        side: str = "X",
        max_illegal: int = 100,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        engine: str = NUMPY,
    ) -> None:
        single = TicTacToeEnv(opponent, side, max_illegal)
        super().__init__(single, num_envs, autoreset_mode, max_episode_steps, render_mode, engine)

    def _make_games(self, terms: Terms) -> TicTacToeEngine:
        return TicTacToeEngine(self.game, terms)

    def _compile(self, games: TicTacToeEngine) -> Engine:
        if not isinstance(self.game.opponent, str):
            return games
        with extra("fast"):
            from tile_envs.tictactoe.numba_engine import CompiledTicTacToeEngine
        return CompiledTicTacToeEngine(games)

    def _checked_positions(self, values: Mapping[str, Any]) -> MarksPositions:
        codes = checked_codes(self._broadcast_boards(values["board"]))
        marks = None
        if "mark" in values:  # in a state, not in reset options
            marks = checked_turns(np.asarray(values["mark"]), codes, self.game.side)
        return MarksPositions(codes, marks)

    def _state(self, positions: MarksPositions) -> dict[str, Any]:
        return {"board": solve().marks[positions.codes], "mark": positions.marks}
