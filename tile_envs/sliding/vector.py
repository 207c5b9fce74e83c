"""The vector environment of the sliding games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode

from tile_envs.base.checks import checked_score
from tile_envs.base.engine import NUMPY, Engine, Terms
from tile_envs.base.vector_env import GameVectorEnv
from tile_envs.errors import UsageError
from tile_envs.extras import extra
from tile_envs.sliding import packed as batch
from tile_envs.sliding.env import SlidingEnv
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.numpy_engine import SlidingEngine, SlidingPositions
from tile_envs.sliding.placer import RANDOM, Placer
from tile_envs.sliding.rules import Rules


class SlidingVectorEnv(GameVectorEnv[SlidingPositions, SlidingGame]):
    """Many sliding games at once.

    Observations `(num_envs, R, C) uint8`, rewards, ends and infos are those of the single
    environment, batched; so are the arguments, with those of `GameVectorEnv`.

    A placer that the user brings is asked once a step, for all games in which a tile appears; numpy
    plays these games.
    """

    usual_rules: ClassVar[Rules | None] = None
    """The rules of a class that has a game of its own."""

    def __init__(
        self,
        num_envs: int = 1,
        shape: Sequence[int] = (4, 4),
        spawn: Mapping[int | str, float] | None = None,
        start_tiles: int | Sequence[int] = 2,
        placer: str | Placer = RANDOM,
        max_illegal: int = 100,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        engine: str = NUMPY,
        rules: Rules | Mapping[str, Any] | None = None,
    ) -> None:
        # A single environment checks the options and makes the spaces.
        rules = rules or self.usual_rules
        single = SlidingEnv(shape, spawn, start_tiles, placer, max_illegal, rules=rules)
        super().__init__(single, num_envs, autoreset_mode, max_episode_steps, render_mode, engine)

    def _make_games(self, terms: Terms) -> SlidingEngine:
        return SlidingEngine(self.game, terms)

    def _compile(self, games: SlidingEngine) -> Engine:
        if not isinstance(self.game.placer, str):
            return games
        with extra("fast"):
            from tile_envs.sliding.numba_engine import CompiledSlidingEngine
        return CompiledSlidingEngine(games)

    def _checked_positions(self, values: Mapping[str, Any]) -> SlidingPositions:
        if "board" not in values:
            raise UsageError("the reset option 'score' needs a 'board' to go with it.")
        boards = batch.checked_boards(self._broadcast_boards(values["board"]), self.game.rules)
        n, scores = self.num_envs, np.asarray(values.get("score", 0))
        if scores.shape not in ((), (n,)):
            raise UsageError(f"score must be one integer or {n}, got shape {scores.shape}.")
        for score in scores.reshape(-1).tolist():
            checked_score(score, is_state="game" in values)
        return SlidingPositions(boards, np.broadcast_to(scores, n).astype(np.int64))

    def _state(self, positions: SlidingPositions) -> dict[str, Any]:
        return {"board": positions.boards, "score": positions.scores}
