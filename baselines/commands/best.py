"""`python -m baselines best`: which move is best on a board."""

from dataclasses import replace
from json import dumps
from pathlib import Path

import numpy as np

from baselines.agents import STRONG, Task, usual_env
from baselines.commands.options import Playing, PlayOptions
from baselines.players import names_run, open_player
from baselines.solver.boards import is_solved_quickly
from baselines.training.run_folder import Run
from baselines.viewing.moves import action_names, exact_values, in_words
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame
from tile_envs.text import read_board, rows_of

USUAL = PlayOptions(search=3)
EXACT = ("optimal", "minimax", "minimax_first")


def best(
    board: str, agent: str | None = None, playing: Playing = USUAL, json: bool = False
) -> None:
    """Say which move is best on a board, and what each move is worth.

    Args:
        board: Faces row by row, 0 for an empty cell, such as "2 4 8 16 / 0 0 2 4 / 0 0 0 2 / 0 0 0
            0", or a hexadecimal digit for each cell: its tile index. The rows give the shape, if no
            other is given. In tic-tac-toe X, O or a point for each cell, such as "X . . / . O . /
            . . .".
        agent: The agent, as for watch; it has action values. If not given, minimax in tic-tac-toe,
            optimal where a game is solved in seconds, else strong.
        json: Print one line of JSON instead; the value of an illegal move is null.
    """
    if agent is not None and names_run(agent):
        path = Path(agent)
        game = Run.read(path.parent if path.is_file() else path).config.task.game
    else:
        task = Task.of(playing.env or usual_env(agent or STRONG), playing.env_kwargs)
        rows = rows_of(board)
        is_grid = len(rows) > 1 and len({len(row) for row in rows}) == 1
        if is_grid and isinstance(task.game, SlidingGame):
            task = Task.of(task.env, {"shape": (len(rows), len(rows[0])), **task.env_kwargs})
        game, playing = task.game, replace(playing, env=task.env, env_kwargs=dict(task.env_kwargs))
        read_board(game, board)  # what is no board is told first
        small = "optimal" if is_solved_quickly(game) else STRONG
        agent = agent or (small if isinstance(game, SlidingGame) else "minimax")
    is_sliding = isinstance(game, SlidingGame)
    if playing.search == USUAL.search and (agent in EXACT or not is_sliding):
        playing = replace(playing, search=None)  # exact values need none
    played = open_player(agent, **vars(playing))
    game = played.task.game
    known = exact_values(game) if agent in EXACT else None  # minimax has probabilities alone
    if not (values_of := getattr(played.agent, "action_values", known)):
        raise UsageError(f"{played.name} has no action_values: give another --agent.")
    cells = read_board(game, board)
    if not is_sliding:
        played.sides_to_evaluate("O" if cells.sum() else "X", exact=False)
    # In tic-tac-toe the marks of the player to move are 1.
    seen = (cells if is_sliding or cells.sum() == 0 else -cells)[None]
    legal, names = game.legal_actions(seen)[0] > 0, action_names(game)
    values, chosen = np.full(len(legal), np.nan), None
    if legal.any():
        values = np.where(legal, values_of(seen)[0], np.nan)
        chosen = int(np.nanargmax(values))
    if json:
        told = {n: float(v) if ok else None for n, v, ok in zip(names, values, legal, strict=True)}
        move = None if chosen is None else names[chosen]
        print(dumps({"agent": played.name, "best": move, "values": told}))
        return
    drawn = game.draw(cells, "ansi")
    print(drawn.partition("\n")[2] if is_sliding else drawn)  # without a score
    if chosen is None:
        print("The game is over: there is no legal move.")
    else:
        print(*in_words({f"{played.name}, value": values}, game, chosen), sep="\n")
