"""Games of texts for language models, and the numberings of courses."""

import random
import re
from copy import deepcopy
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from tile_envs import plug
from tile_envs.plug.course import Game2048Env, Renumbered, slide
from tile_envs.plug.text import TextEnv, instructions
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.text import describe_actions, read_board
from tile_envs.wrappers import ReplaceIllegal

GAMES = ("Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0")
EMPTY = [[0] * 4] * 3
PAGE = Path(plug.__file__).with_name("README.md")


def text_env(env_id="Tiles2048-v0", board=None, **arguments):
    env = TextEnv(gym.make(env_id), **arguments)
    text, _ = env.reset(seed=0, options=None if board is None else {"board": board})
    return env, text


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_gymnasium_finds_the_environments_complete():
    for env in (*map(TextEnv, map(gym.make, GAMES)), Renumbered(gym.make(GAMES[0]))):
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("env_id", GAMES)
def test_a_game_is_its_seed_and_its_actions_whatever_else_was_said(env_id):
    rng, plain = random.Random(0), gym.make(env_id)
    env, text = text_env(env_id)
    observation, info = plain.reset(seed=0)
    over = False
    while not over:
        if rng.random() < 0.3:
            said, reward, *ends, told = env.step("I do not know, perhaps ünicode")
            assert said.startswith("read no move")
            assert (said.partition("\n")[2], reward, ends) == (text, 0.0, [False, False])
            assert (told["action"], told["wrong"]) == (-1, True)
        action = rng.choice(np.flatnonzero(info["action_mask"]).tolist())
        alone = np.eye(len(info["action_mask"]), dtype=int)[action]
        text, *ends, told = env.step(f"[{describe_actions(alone)}]")
        observation, *expected, info = plain.step(action)
        assert ends == expected
        assert (told["action"], told["wrong"]) == (action, False)
        assert env.observation_space.contains(text)
        board = "\n".join(text.split("\n")[: len(observation)])
        assert np.array_equal(read_board(env.game, board), plain.unwrapped.get_state()["board"])
        over = ends[1] or ends[2]
    assert text.endswith("the game is over")
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step("up")


def test_wrong_answers_are_told_or_end_the_game_or_are_replaced():
    board = [[1, 0, 0, 0], *EMPTY]
    env, text = text_env(board=board, max_wrong=2)
    assert text.endswith("legal: right, down")
    said, *step, _ = env.step("up")
    assert "'up'" in said.partition("\n")[0]
    assert step == [0.0, False, False]
    assert env.step("up")[2:4] == (False, True)

    env, _ = text_env(board=board, wrong="end")
    assert env.step("up")[2:4] == (True, False)

    (env, _), twin = text_env(board=board, wrong="random"), ReplaceIllegal(gym.make(GAMES[0]))
    twin.reset(seed=0, options={"board": board})
    for _ in range(20):
        observation, _ = twin.step(0)[0], env.step("up")
        assert np.array_equal(env.unwrapped.get_state()["board"], observation)


class Greedy:
    """Values actions by what they pay."""

    game = SlidingGame(RULES_2048)

    def action_values(self, boards):
        _, rewards, masks = self.game.afterstates(boards)
        return np.where(masks > 0, rewards, -np.inf)


REGRET = {"reward": "regret", "values": Greedy()}


@pytest.mark.parametrize(
    ("answer", "expected", "arguments"),
    [
        *[("left", 2048, {}), ("left", pytest.approx(1 / 11), {"reward": "log2"})],
        *[("left", 1, {"reward": "goal"}), ("down", 0, {"reward": "goal"})],
        ("left", 3 + 2048, {"reward": lambda before, action, after, info: action + info["score"]}),
        *[("down", -2048, REGRET), ("?", -2048, REGRET | {"wrong": "end"})],
    ],
)
def test_rewards_are_progress_goals_regrets_or_a_function(answer, expected, arguments):
    env, _ = text_env(board=[[10, 10, 0, 0], *EMPTY], **arguments)
    assert env.step(answer)[1] == expected


def test_to_win_is_a_goal():
    env, _ = text_env("TicTacToe-v0", [[1, 1, 0], [-1, -1, 0], [0, 0, 0]], reward="goal")
    assert env.step("2")[1:3] == (1, True)


def test_instructions_are_those_of_the_game():
    text = instructions(gym.make("Tiles2584-v0", shape=(2, 3), spawn={2: 1.0}).unwrapped.game)
    for part in ("2584", "2 rows and 3 columns", "1 and 2 make 3, 2 and 3 make 5", "appears: 2 "):
        assert part in text
    assert "number of a free cell" in instructions(gym.make("TicTacToe-v0").unwrapped.game)


def test_student_programs_play_the_games_of_the_package():
    rng, ours = random.Random(0), (0, 2, 3, 1)
    env, plain = Game2048Env(seed=5), gym.make("Tiles2048-v0", max_illegal=10**9)
    board, done = env.reset(), False
    tiles, info = plain.reset(seed=5)
    while not done:
        action = rng.randrange(4)
        assert env.is_move_legal(action) == info["action_mask"][ours[action]]
        board, score, done, _ = env.step(action)
        tiles, *_, info = plain.step(ours[action])
        assert np.array_equal(board, np.where(tiles > 0, 2 ** tiles.astype(np.int64), 0))
        assert (score, env.last_move_valid) == (info["score"], not info["illegal"])
        assert done == env.is_game_over() == (not info["action_mask"].any())
    ahead = deepcopy(env)
    ahead.board, ahead.score = [[2, 2, 0, 0], *EMPTY], 100
    assert ahead.step(2)[1:3] == (104, False)
    assert env.step(2)[1:3] == (score, True)


def test_boards_of_faces_slide_by_the_numbers_of_courses_and_masks_are_renumbered():
    game, board = SlidingGame(RULES_2048, shape=(2, 2)), [[2, 2], [0, 4]]
    for numbering, left in (("course", 2), ("tdl2048", 3)):
        slid, paid = slide(game, board, left, numbering)
        assert (slid.tolist(), paid) == ([[4, 0], [4, 0]], 4)
    assert slide(game, [[2, 0], [0, 0]], 0)[1] == -1
    env = Renumbered(gym.make("Tiles2048-v0"))
    faces, info = env.reset(options={"board": [[1, 0, 0, 0], *EMPTY]})
    assert faces.max() == 2
    assert info["action_mask"].tolist() == [0, 1, 0, 1] == env.action_masks().astype(int).tolist()
    assert env.step(1)[4]["illegal"] is False


def test_the_code_of_the_page_that_needs_no_library_runs():
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        if not re.search("trl|openenv|verifiers|textarena|baselines", block):
            exec(block, {})
