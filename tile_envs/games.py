"""All kinds of games: read from JSON, and played by the thousand."""

from __future__ import annotations

import json
from typing import Any

from gymnasium.vector import AutoresetMode

from tile_envs.base.checks import brief
from tile_envs.base.engine import NUMPY
from tile_envs.base.vector_env import GameVectorEnv
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding import SlidingGame, SlidingVectorEnv
from tile_envs.tictactoe import TicTacToe, TicTacToeVectorEnv


def game_from_json(text: str) -> Game:
    """Return the game that a game's `to_json` wrote.

    Raises:
        ValueError: If the text is none.
    """
    entries = json.loads(text)
    if not isinstance(entries, dict):
        raise UsageError(f"expected a game as its to_json() wrote it, got {brief(text)}.")
    kind: type[SlidingGame] | type[TicTacToe] = SlidingGame if "rules" in entries else TicTacToe
    return kind.from_json(text)


def vector_env(
    game: Game,
    num_envs: int,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    engine: str = NUMPY,
) -> GameVectorEnv[Any, Any]:
    """Return a native vector environment of a game.

    Args:
        game: A game of this package.
        num_envs: How many games it plays.
        autoreset_mode: When ended games are reset.
        engine: What plays; see `tile_envs.base.engine`.

    Raises:
        ValueError: If an argument is not as described.
    """
    if isinstance(game, SlidingGame):
        return SlidingVectorEnv(
            num_envs,
            game.shape,
            dict(game.spawn),
            game.start_tiles,
            game.placer,
            autoreset_mode=autoreset_mode,
            engine=engine,
            rules=game.rules,
        )
    if isinstance(game, TicTacToe):
        return TicTacToeVectorEnv(
            num_envs, game.opponent, game.side, autoreset_mode=autoreset_mode, engine=engine
        )
    raise UsageError(f"a vector environment plays the games of tile_envs, got {brief(game)}.")
