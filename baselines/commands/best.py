"""`python -m baselines best`: which move is best on a board."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import numpy as np
from typing_extensions import Doc

from baselines.commands.options import USUAL, Env, EnvKwargs, How, Search
from baselines.players import player, with_search
from baselines.registry import STRONG
from baselines.viewing.moves import Thought, action_names, in_words
from tile_envs.errors import UsageError
from tile_envs.text import read_board


def best(
    board: str,
    agent: Annotated[str, Doc("The agent, as for watch; it has action values.")] = STRONG,
    env: Env = None,
    env_kwargs: EnvKwargs = None,
    search: Search = 3,
    search_options: How = USUAL,
    json: bool = False,
) -> None:
    """Say which move is best on a board of a sliding game, and what each move is worth.

    Args:
        board: Faces row by row, 0 for an empty cell, such as "2 4 8 16 / 0 0 2 4 / 0 0 0 2 / 0 0 0
            0", or a hexadecimal digit for each cell: its tile index.
        json: Print one line of JSON instead; the value of an illegal move is null.
    """
    played = with_search(player(agent, env, env_kwargs), search, search_options)
    game, judging = played.task.game, played.agent
    if not hasattr(judging, "action_values"):
        raise UsageError(f"{played.name} has no action_values: give another --agent.")
    boards = read_board(game, board)[None]
    legal = game.legal_actions(boards)[0] > 0
    values, names = np.where(legal, judging.action_values(boards)[0], np.nan), action_names(game)
    chosen = int(np.nanargmax(values)) if legal.any() else None
    if json:
        told = {n: float(v) if ok else None for n, v, ok in zip(names, values, legal, strict=True)}
        move = None if chosen is None else names[chosen]
        print(dumps({"agent": played.name, "best": move, "values": told}))
        return
    print(game.draw(boards[0], "ansi").partition("\n")[2])  # without a score
    print(*in_words([Thought(f"{played.name}, value", values)], game, chosen), sep="\n")
