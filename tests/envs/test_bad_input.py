"""Bad input gets one clear error that names the value, and leaves the environment as it was."""

import json
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
import torch
from commands import refused
from gymnasium.error import ResetNeeded
from test_envs import IDS

import tile_envs  # noqa: F401
from baselines import evaluate, evaluate_exactly, train
from baselines.agents import Task
from baselines.arrays import write_arrays
from baselines.search.minimax import MinimaxAgent
from baselines.search.options import SearchOptions
from baselines.settings import read_settings
from baselines.training.run_folder import lock_folder
from tile_envs.errors import UsageError
from tile_envs.files import write_file
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.tictactoe import TicTacToe
from tile_envs.wrappers import PenalizeIllegal, ShapeReward

NAN = float("nan")
A = np.zeros(99)

BAD_OPTIONS = [
    ("Tiles2048-v0", {"shape": (0, 4)}, r"shape .* 1 to 8.*\(0, 4\)"),
    ("Tiles2048-v0", {"shape": (1, 2)}, r"3 cells .*\(1, 2\)"),
    ("Tiles2048-v0", {"shape": np.array(4)}, r"array\(4\)"),
    ("Tiles2048-v0", {"rules": {}}, r"rules .*\{\}"),
    ("Tiles2048-v0", {"spawn": {}}, r"spawn"),
    ("Tiles2048-v0", {"spawn": {2: 0.5, 8: 0.4}}, r"spawn .*0\.9"),
    ("Tiles2048-v0", {"spawn": {2: NAN}}, r"spawn\[2\] .*nan"),
    ("Tiles2048-v0", {"spawn": {7: 1.0}}, r"7 is not a tile of 2048: .* 131072"),
    ("Tiles2048-v0", {"spawn": {2: 0.5, "2": 0.5}}, r"twice"),
    ("Tiles2048-v0", {"start_tiles": 17}, r"start_tiles .* 16 .*17"),
    ("Tiles2048-v0", {"placer": "adversarial"}, r"placer .*'adversary'"),
    ("Tiles2048-v0", {"starts": np.ones((2, 3, 4))}, r"\(2, 3, 4\)"),
    ("Tiles2048-v0", {"starts": np.full((1, 4, 4), 128)}, r"not faces, got 128"),
    ("Tiles2048-v0", {"starts": np.ones((1, 4, 4))}, r"float64"),
    ("Tiles2048-v0", {"starts": np.zeros((2, 4, 4), int)}, r"2 boards .* at index 0"),
    ("Tiles2048-v0", {"starts": "gone.npy"}, r"starts .* gone\.npy: .*No such file"),
    ("Tiles2048-v0", {"start_fraction": 1.1}, r"start_fraction .*1\.1"),
    ("Tiles2048-v0", {"start_fraction": 0.25}, r"start_fraction=0\.25 needs starts"),
    ("Tiles2048-v0", {"max_illegal": 0}, r"max_illegal .*0"),
    ("Tiles2048-v0", {"render_mode": "svg"}, r"render_mode .*'svg'"),
    ("TicTacToe-v0", {"side": "x"}, r"side .*'both', got 'x'"),
    ("TicTacToe-v0", {"opponent": "maximin"}, r"opponent .*'minimax_first'"),
    ("TicTacToe-v0", {"opponent": {"god": 1.0}}, r"'god'"),
    ("TicTacToe-v0", {"opponent": {"random": 0.5}}, r"opponents .*0\.5"),
    ("TicTacToe-v0", {"opponent": {"random": 2}}, r"opponent\['random'\] .* 2"),
    ("TicTacToe-v0", {"opponent": []}, r"opponents .*\[\]"),
]


@pytest.mark.filterwarnings("ignore:.*render_mode='svg' that is not in the possible render_modes")
@pytest.mark.parametrize(("env_id", "options", "named"), BAD_OPTIONS)
def test_unusable_options_are_named(env_id, options, named):
    with pytest.raises(ValueError, match=named):
        gym.make(env_id, **options).reset()
    with pytest.raises(ValueError, match=named):
        gym.make_vec(env_id, num_envs=2, **options)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("num_envs", n) for n in (0, 2.5, 2**63)),
        *(("max_episode_steps", 0), ("threads", 0), ("threads", 2)),  # without an engine for them
        *(("autoreset_mode", "never"), ("render_mode", "human"), ("engine", "c")),
    ],
)
def test_unusable_options_of_vector_environments_are_named(env_id, name, value):
    with pytest.raises(ValueError, match="num_envs must fit into memory"):
        gym.make_vec(env_id, num_envs=10**15)
    with pytest.raises(ValueError, match=f"{name} .*got .*{value}"):
        gym.make_vec(env_id, **{"num_envs": 2} | {name: value})


@contextmanager
def refusing(env, message):
    """Expect an error, and that nothing has changed."""
    env.reset(seed=0)
    state = env.get_state()
    with pytest.raises(ValueError, match=message):
        yield
    assert all(np.array_equal(value, state[name]) for name, value in env.get_state().items())


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("action", [-1, 9, 1.0, None, [1]])
def test_an_action_outside_the_space_is_an_error_that_changes_nothing(env_id, action):
    env = gym.make(env_id).unwrapped
    with refusing(env, r"action must be an integer from 0 to \d \(the space is"):
        env.step(action)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, -1, 0], r"from 0 to \d .*, got -1 for game 1"),
        ([0, 1, 9], "got 9 for game 2"),
        (np.array([2**63 + 1, 0, 0], np.uint64), "got 9223372036854775809 for game 0"),
        ([0, 1], r"\(3,\), got shape \(2,\)"),
        ([0, NAN, 1], "dtype float64"),
        (np.array([True, False, True]), "dtype bool"),
    ],
)
def test_actions_outside_the_space_are_an_error_that_changes_nothing(
    env_id, actions, message, engine
):
    envs = gym.make_vec(env_id, num_envs=3, engine=engine)
    with refusing(envs, message):
        envs.step(actions)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("seed", [-1, 1.5, [1, 2, 3]])
def test_unusable_seeds_and_reset_masks_are_an_error_that_changes_nothing(env_id, seed):
    env, envs = gym.make(env_id).unwrapped, gym.make_vec(env_id, num_envs=2)
    for each in (env, envs):
        with refusing(each, "seed must be"):
            each.reset(seed=seed)
    with refusing(envs, "seed .*-2"):
        envs.reset(seed=[1, -2])
    for mask in ([True, False], np.array([True]), np.array([False, False])):
        with refusing(envs, "reset_mask must"):
            envs.reset(seed=1, options={"reset_mask": mask})


@pytest.mark.parametrize("env_id", IDS)
def test_steps_need_a_reset_first(env_id):
    env, envs = gym.make(env_id).unwrapped, gym.make_vec(env_id, num_envs=2)
    for call in (
        *(lambda: env.step(0), env.get_state, env.action_masks),
        *(lambda: envs.step([0, 0]), envs.get_state, envs.action_masks, envs.sample_legal_actions),
        lambda: envs.reset(options={"reset_mask": np.array([True, False])}),
    ):
        with pytest.raises(ResetNeeded, match="not been reset yet"):
            call()


FULL = np.full((4, 4), 1)
X_WON_O_MOVED = [[1, 1, 1], [-1, -1, -1], [0, 0, 0]]
BAD_RESETS = [
    *((env_id, ["board"], r"options .*\['board'\]") for env_id in IDS),
    ("Tiles2048-v0", {"board": np.zeros(16, int)}, r"board.* shape"),
    ("Tiles2048-v0", {"board": FULL * NAN}, r"float64"),
    ("Tiles2048-v0", {"board": FULL * -1}, r"got -1"),
    ("Tiles2048-v0", {"board": FULL * 18}, r"0 to 17, not faces, got 18"),
    ("Tiles2048-v0", {"board": FULL, "score": -1}, r"score .*-1"),
    ("Tiles2048-v0", {"board": FULL, "score": 2**53 + 1}, r"score .*9007199254740993"),
    ("Tiles2048-v0", {"score": 5}, r"needs a 'board'"),
    ("Tiles2048-v0", {"bord": FULL}, r"'bord': expected 'board', 'score'"),
    ("TicTacToe-v0", {"board": np.zeros((4, 4), int)}, r"board .*\(3, 3\)"),
    ("TicTacToe-v0", {"board": np.zeros((3, 3))}, r"float64"),
    ("TicTacToe-v0", {"board": np.full((3, 3), 2)}, r"boards .* integers"),
    ("TicTacToe-v0", {"board": [[1, 1, 0], [0] * 3, [0] * 3]}, r"play can lead to"),
    ("TicTacToe-v0", {"score": 1}, r"'score': expected 'board'"),
]


@pytest.mark.parametrize(("env_id", "options", "message"), BAD_RESETS)
def test_unusable_reset_options_are_an_error_that_changes_nothing(env_id, options, message):
    for each in (gym.make(env_id).unwrapped, gym.make_vec(env_id, num_envs=2)):
        with refusing(each, message):
            each.reset(seed=5, options=options)


@pytest.mark.parametrize("game", [SlidingGame(RULES_2048), TicTacToe()])
def test_games_check_their_boards(game):
    board, calls = np.zeros(game.shape, int), [game.afterstates, game.legal_actions, game.replies]
    wrong = [board[None] + 0.5, board[None] + 99]
    if game == TicTacToe():
        wrong.append(np.array([X_WON_O_MOVED]))
        calls.append(MinimaxAgent(game).predict)
    for call, boards in [*product(calls, wrong), *product(calls[:3], [board])]:
        with pytest.raises(UsageError, match="boards"):
            call(boards)
    for bad in (None, "", board[0], board + 99, board + 0.5):
        with pytest.raises(UsageError, match=r"boards?"):
            game.draw(bad, "ansi")
    with pytest.raises(UsageError, match=r"mode .*'svg'"):
        game.draw(board, "svg")


@pytest.mark.parametrize("env_kwargs", [[], "shape"])
def test_options_of_a_task_are_a_dictionary(env_kwargs):
    calls = Task.of, *(partial(f, a) for f in (evaluate, evaluate_exactly) for a in ("random", 0))
    for call in (*calls, partial(train, "qtable")):
        with pytest.raises(UsageError, match="env_kwargs must be a dictionary, got"):
            call("Tiles2048-v0", env_kwargs)
    with pytest.raises(UsageError, match="unknown environment ''"):
        train("qtable", "", games=1)


@pytest.mark.parametrize("kind", [np.float32, np.array, torch.tensor])
def test_numbers_of_numpy_and_torch_are_numbers(kind):
    half, whole = kind(0.5), np.int64 if kind == np.float32 else kind
    options = {"shape": (2, whole(2)), "spawn": {2: half, 4: half}}
    assert gym.make("Tiles2048-v0", **options).unwrapped.game.spawn == ((2, 0.5), (4, 0.5))
    shaped = ShapeReward(gym.make("Tiles2048-v0"), {"empty": half}, half)
    assert "0.5" in PenalizeIllegal(shaped, half).spec.to_json()
    given = {"milliseconds": half, "deeper": {3: whole(4)}}
    assert read_settings(SearchOptions, given) == SearchOptions(0.5, deeper={3: 4})
    budget = {"games": whole(9), "minutes": half, "seed": whole(1), "learning_rate": half}
    config = train("qtable", "Tiles2048-v0", options, **budget).config
    assert (config.games, config.minutes, config.settings["learning_rate"]) == (9, 0.5, 0.5)
    assert json.loads(json.dumps(asdict(config)))["env_kwargs"]["shape"] == [2, 2]


def test_a_full_disk_names_the_file(tmp_path):
    resource = pytest.importorskip("resource", reason="limits are for POSIX systems")
    path, limits = tmp_path / "rows.csv", resource.getrlimit(resource.RLIMIT_FSIZE)
    path.write_text("old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        for write in (partial(write_file, path, b"0" * 99), partial(write_arrays, path, {"a": A})):
            with pytest.raises(OSError, match=f"File too large: '{path}'"):
                write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
    assert path.read_text() == "old"


def test_a_new_folder_in_which_nothing_was_made_is_removed(tmp_path):
    for folder in (tmp_path / "new", tmp_path):
        with pytest.raises(KeyboardInterrupt), lock_folder(folder):
            raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("solve --env=", "environment ''"),
        ("watch tests --gif x.gif --env=", "--env"),
        ("solve --import=no_such_module", "no_such_module"),
        ("solve --import=", "--import"),
        ("evaluate :Agent", "module ''"),
        ("train qtable --games 1 --out=", "''"),
    ],
)
def test_empty_words_are_no_absent_ones_and_imports_have_two_forms(words, named):
    assert named in refused(*words.split())
