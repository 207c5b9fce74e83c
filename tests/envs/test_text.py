"""Boards as text, and the command that says which move is best on one."""

import json
from contextlib import suppress

import gymnasium as gym
import numpy as np
import pytest
from commands import refused, typed
from hypothesis import given
from hypothesis import strategies as st

from baselines import load, solve
from tile_envs.plug.text import TextEnv
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.sliding.rules import ACTIONS
from tile_envs.text import read_board

GAME = SlidingGame(RULES_2048)


@given(st.text() | st.from_regex(r"\A([0-9./,|\n ]|[0-9a-f]{16})*\Z"))
def test_no_text_raises_anything_but_a_value_error(text):
    for game in (GAME, SlidingGame(RULES_2584, (1, 3))):
        with suppress(ValueError):
            assert read_board(game, text).shape == game.shape


@pytest.mark.parametrize("game", [GAME, SlidingGame(RULES_2584)], ids=str)
def test_faces_and_tile_indices_lead_to_each_other(game):
    boards = np.arange(game.rules.largest + 1, dtype=np.uint8)[:, None]
    faces = game.faces(boards)
    assert faces.dtype == np.int64
    assert faces.ravel().tolist() == [*game.rules.faces]
    assert np.array_equal(game.indices(faces), boards)
    for bad in (7, 2.0, -2):
        with pytest.raises(ValueError, match=f"{bad} is not a tile of {game.name}"):
            game.indices([[2, bad]])
    for bad in (-1, game.rules.largest + 1, 1.0):
        with pytest.raises(ValueError, match="tile indices"):
            game.faces([bad])


def test_the_best_move_is_that_of_the_highest_value():
    asked = ("best", "--env-kwargs", '{"shape": [2, 2]}', "--search", "None", "--board")
    told = json.loads(typed(*asked, "2 4 / 2 .", "--agent", "optimal", "--json"))
    game = SlidingGame(RULES_2048, (2, 2))
    (values,) = solve(game).action_values([[[1, 2], [1, 0]]]).tolist()
    assert [told["values"][name] for name in ACTIONS] == [*values[:3], None]
    assert told["best"] == ACTIONS[np.argmax(values)]
    assert f"[{told['best']} " in typed(*asked, "2 4 / 2 .", "--agent", "optimal")
    assert '"best": null' in typed(*asked, "2 4 / 4 2", "--agent", "optimal", "--json")
    assert "has no action_values" in refused(*asked, "2 4 / 2 .", "--agent", "greedy")


def test_rounded_values_are_warned_of_where_regrets_are_rewards():
    env = gym.make("Tiles2048-v0")
    with pytest.warns(UserWarning, match="exported network are rounded"):
        TextEnv(env, reward="regret", values=load("strong"))
    exact = solve(SlidingGame(RULES_2048, (2, 2)))
    TextEnv(gym.make("Tiles2048-v0", shape=(2, 2)), reward="regret", values=exact)
