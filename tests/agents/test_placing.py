"""The placer that minimizes an agent's values: against its definition, and as an opponent."""

import gymnasium as gym
import numpy as np
import pytest
from commands import typed

from baselines.evaluation.exact import expected
from baselines.evaluation.rows import read_rows
from baselines.ntuple.ntuple import NTuple, NTupleSettings
from baselines.search.placing import ValuePlacer
from baselines.solver.optimal import OptimalAgent
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame

GAMES = [
    (SlidingGame(RULES_2048), "0123 4567"),
    (SlidingGame(RULES_2584, (3, 4), {1: 0.75, 3: 0.25}), "0123 4567"),
    (SlidingGame(RULES_2584, (4, 3), {1: 0.5, 2: 0.3, 5: 0.2}), "012 345"),
    (SlidingGame(RULES_2048, (2, 3)), "012 345"),
]


def trained(game, network, iterations=4):
    settings = NTupleSettings(network=network, method="tc", learning_rate=1.0)
    agent = NTuple(game, 0, settings)
    for _ in range(iterations):
        agent.learn()
    return agent


def afterstates(game, n, seed=0):
    """Return afterstates of random play, and new tiles for them."""
    options = {"shape": game.shape, "spawn": dict(game.spawn)}
    envs = gym.make_vec(f"Tiles{game.name}-v0", num_envs=n, **options)
    envs.action_space.seed(seed)
    boards, _ = envs.reset(seed=seed)
    for _ in range(30):
        boards, *_ = envs.step(envs.sample_legal_actions())
    after, _, masks = game.afterstates(boards)
    chosen = after[masks > 0]
    tiles = np.random.default_rng(seed).choice(game.distribution.tiles, len(chosen))
    return chosen, tiles


def by_definition(agent, game, board, depth):
    """Return W(s, depth) of one state, node by node."""
    (after,), (rewards,), (masks,) = game.afterstates(board[None])
    if depth == 1:
        values = agent.action_values(board[None])[0]
    else:
        values = np.full(4, -np.inf)
        for action in np.flatnonzero(masks):
            values[action] = rewards[action] + sum(
                p * min(cell_values(agent, game, after[action], tile, depth - 1).values())
                for tile, p in zip(
                    game.distribution.tiles, game.distribution.probabilities, strict=True
                )
            )
    return values.max() if masks.any() else 0.0


def cell_values(agent, game, after, tile, depth):
    values = {}
    for cell in np.flatnonzero(after == 0):
        state = after.copy()
        state.reshape(-1)[cell] = tile
        values[int(cell)] = by_definition(agent, game, state, depth)
    return values


@pytest.mark.parametrize(("game", "network"), GAMES, ids=lambda value: str(value))
@pytest.mark.parametrize("depth", [1, 2])
def test_the_worst_cell_is_that_of_the_definition(game, network, depth):
    agent = trained(game, network)
    boards, tiles = afterstates(game, 12)
    placer = ValuePlacer(agent, game, depth)
    cells, values = placer.place(boards, tiles), placer.cell_values(boards, tiles, depth)
    for board, tile, cell, row in list(zip(boards, tiles, cells, values, strict=True))[:8]:
        expected = cell_values(agent, game, board, tile, depth)
        assert {c: v for c, v in enumerate(row) if v < np.inf} == pytest.approx(expected)
        assert cell == min(expected, key=lambda c: (expected[c], c))


def test_it_is_worse_for_the_player_than_chance():
    game = SlidingGame(RULES_2048, (2, 3))
    agent = OptimalAgent(game)
    against = SlidingGame(RULES_2048, (2, 3), placer=ValuePlacer(agent, game))
    assert expected(agent, against).score < 0.8 * expected(agent, game).score


def test_the_command_evaluates_against_an_agents_values(tmp_path):
    folder, out = tmp_path / "n", tmp_path / "rows.csv"
    shape = ("--env-kwargs", '{"shape": [2, 3]}')
    typed("train", "ntuple", "--games", 300, *shape, "--out", folder)
    asked = ("evaluate", folder, "--episodes", 50, "--out", out, "--placer-agent")
    assert "placer=ntuple 1-ply" in typed(*asked, folder)
    assert "placer=optimal 1-ply" in typed(*asked, "optimal")
    assert '"placer": "optimal 1-ply"' in read_rows(out)[0]["env_kwargs"]
