"""The placer that minimizes an agent's values: against its definition, and as an opponent."""

import numpy as np
import pytest
from commands import typed
from players import Weighing, boards_from_play

from baselines.evaluation.rows import read_rows
from baselines.search.placing import ValuePlacer
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame

GAMES = [
    SlidingGame(RULES_2048),
    SlidingGame(RULES_2584, (3, 4), {1: 0.75, 3: 0.25}),
    SlidingGame(RULES_2584, (4, 3), {1: 0.5, 2: 0.3, 5: 0.2}),
    SlidingGame(RULES_2048, (2, 3)),
]


def state_value(agent, game, board, depth):
    """Return W(s, depth) of one state, node by node."""
    (after,), (rewards,), (masks,) = game.afterstates(board[None])
    if not masks.any():
        return 0.0
    if depth == 1:
        return agent.action_values(board[None]).max()
    spawn = game.distribution
    return max(
        rewards[action]
        + sum(
            p * min(cell_values(agent, game, after[action], tile, depth - 1).values())
            for tile, p in zip(spawn.tiles, spawn.probabilities, strict=True)
        )
        for action in np.flatnonzero(masks)
    )


def cell_values(agent, game, after, tile, depth):
    values = {}
    for cell in np.flatnonzero(after == 0):
        state = after.copy()
        state.flat[cell] = tile
        values[int(cell)] = state_value(agent, game, state, depth)
    return values


@pytest.mark.parametrize("game", GAMES, ids=str)
@pytest.mark.parametrize("depth", [1, 2])
def test_the_worst_cell_is_that_of_the_definition(game, depth):
    agent, (after, _, masks) = Weighing(game), game.afterstates(boards_from_play(game, 12))
    boards = after[masks > 0]
    tiles = np.random.default_rng(0).choice(game.distribution.tiles, len(boards))
    placer = ValuePlacer(agent, game, depth)
    cells, values = placer.place(boards, tiles), placer.cell_values(boards, tiles, depth)
    for board, tile, cell, row in list(zip(boards, tiles, cells, values, strict=True))[:8]:
        known = cell_values(agent, game, board, tile, depth)
        assert {c: v for c, v in enumerate(row) if v < np.inf} == pytest.approx(known)
        assert cell == min(known, key=lambda c: (known[c], c))


def test_the_command_evaluates_against_an_agents_values(tmp_path):
    out, options = tmp_path / "rows.csv", ("--env-kwargs", '{"shape": [2, 2]}', "--episodes", 50)
    asked = ("evaluate", "greedy", "--env", "Tiles2048-v0", *options, "--out", out)
    assert "placer=optimal 1-ply" in typed(*asked, "--placer-agent", "optimal")
    assert '"placer": "optimal 1-ply"' in read_rows(out)[0]["env_kwargs"]
