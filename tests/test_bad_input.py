"""Bad input gets one clear error that names the value, and leaves the environment as it was."""

import json
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from commands import refused
from gymnasium.error import ResetNeeded
from test_envs import IDS

import tile_envs  # noqa: F401
from baselines import evaluate, evaluate_exactly, train
from baselines.arrays import write_arrays
from baselines.search.minimax import MinimaxAgent
from baselines.search.options import SearchOptions
from baselines.settings import read_settings
from baselines.task import Task
from baselines.training.run_folder import lock_folder
from tile_envs.errors import UsageError
from tile_envs.files import write_file
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.tictactoe import TicTacToe
from tile_envs.wrappers import PenalizeIllegal, ShapeReward

NAN = float("nan")
A = np.zeros(99)

BAD_SLIDING_OPTIONS = [
    ({"shape": (0, 4)}, r"shape must be two integers from 1 to 8.*\(0, 4\)"),
    ({"shape": (1, 2)}, r"3 cells or more, got \(1, 2\)"),
    ({"shape": np.array(4)}, r"got array\(4\)"),
    ({"rules": {}}, r"rules must be a Rules, got \{\}"),
    ({"spawn": {}}, r"spawn must map faces to probabilities"),
    ({"spawn": {2: 0.5, 8: 0.4}}, r"must add up to 1.*0\.9"),
    ({"spawn": {2: NAN}}, r"spawn\[2\] must be a probability.*nan"),
    ({"spawn": {7: 1.0}}, r"7 is not a tile of 2048: expected one of 2, 4, .* 131072"),
    ({"spawn": {2: 0.5, "2": 0.5}}, r"twice"),
    ({"start_tiles": 17}, r"start_tiles must be 1 to 16 tiles on a 4×4 board.*17"),
    ({"placer": "adversarial"}, r"placer must be 'random', 'adversary' or an object with place"),
    ({"starts": np.ones((2, 3, 4))}, "a list of boards, .* got shape"),
    ({"starts": np.full((1, 4, 4), 128)}, r"tile indices 0 to 17, not faces, got 128 to 128"),
    ({"starts": np.ones((1, 4, 4))}, r"must be integers \(tile indices\), got dtype float64"),
    ({"starts": np.zeros((2, 4, 4), int)}, r"leave out 2 boards without any, the first at index 0"),
    ({"starts": "gone.npy"}, r"starts must be a \.npy file of .* got gone\.npy: .*No such file"),
    ({"start_fraction": 1.1}, "start_fraction must be a prob"),
    ({"start_fraction": 0.25}, r"start_fraction=0\.25 needs starts"),
    ({"max_illegal": 0}, r"max_illegal must be a positive integer, got 0"),
    ({"render_mode": "svg"}, r"render_mode must be .*'svg'"),
]

BAD_TICTACTOE_OPTIONS = [
    ({"side": "x"}, r"side must be one of 'X', 'O', 'random', 'both', got 'x'"),
    ({"opponent": "maximin"}, r"opponent must be 'random', 'minimax', 'minimax_first' or an agent"),
    ({"opponent": {"god": 1.0}}, r"probability must be one of 'random', .* got 'god'"),
    ({"opponent": {"random": 0.5}}, r"opponents must add up to 1, .*which makes 0\.5"),
    ({"opponent": {"random": 2}}, r"opponent\['random'\] must be a probability .* got 2"),
    ({"opponent": []}, r"opponents must add up to 1, .* got \[\]"),
]

BAD_OPTIONS = [
    *(("Tiles2048-v0", *case) for case in BAD_SLIDING_OPTIONS),
    *(("TicTacToe-v0", *case) for case in BAD_TICTACTOE_OPTIONS),
]


@pytest.mark.filterwarnings("ignore:.*render_mode='svg' that is not in the possible render_modes")
@pytest.mark.parametrize(("env_id", "options", "message"), BAD_OPTIONS)
def test_unusable_options_are_named(env_id, options, message):
    with pytest.raises(ValueError, match=message):
        gym.make(env_id, **options).reset()
    with pytest.raises(ValueError, match=message):
        gym.make_vec(env_id, num_envs=2, **options)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"num_envs": n}, "num_envs must be a positive") for n in (0, 2.5)),
        ({"num_envs": 2**63}, "num_envs must be at most 9223372036854775807, got"),
        ({"num_envs": 10**15}, "num_envs must fit into memory, got"),
        ({"autoreset_mode": "never"}, "autoreset_mode must be one of .* got 'never'"),
        ({"max_episode_steps": 0}, "max_episode_steps must be a positive integer, got 0"),
        ({"render_mode": "human"}, "render_mode must be one of .* got 'human'"),
        ({"engine": "c"}, "engine must be one of 'numpy', 'numba', 'auto', got 'c'"),
        ({"threads": 0}, "threads must be a positive integer, got 0"),
        ({"threads": 2}, 'threads need engine="numba", got 2 threads for numpy'),
    ],
)
def test_unusable_options_of_vector_environments_are_named(env_id, options, message):
    with pytest.raises(ValueError, match=message):
        gym.make_vec(env_id, **{"num_envs": 2} | options)


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
        ([0, -1, 0], r"integers from 0 to \d \(the space is .*, got -1 for game 1"),
        ([0, 1, 9], "got 9 for game 2"),
        (np.array([2**63 + 1, 0, 0], np.uint64), "got 9223372036854775809 for game 0"),
        ([0, 1], r"3 integers, shape \(3,\), got shape \(2,\)"),
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
def test_unusable_seeds_are_an_error_that_changes_nothing(env_id, seed):
    env, envs = gym.make(env_id).unwrapped, gym.make_vec(env_id, num_envs=2)
    for each in (env, envs):
        with refusing(each, "seed must be"):
            each.reset(seed=seed)
    with refusing(envs, "seed must be a non-negative integer, got -2"):
        envs.reset(seed=[1, -2])


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
    *((env_id, ["board"], r"options must be a dictionary, got \['board'\]") for env_id in IDS),
    ("Tiles2048-v0", {"board": np.zeros(16, int)}, r"board.* must have shape"),
    ("Tiles2048-v0", {"board": FULL * NAN}, r"\(tile indices\), got dtype float64"),
    ("Tiles2048-v0", {"board": FULL * -1}, r"got -1 to -1"),
    ("Tiles2048-v0", {"board": FULL * 18}, r"tile indices 0 to 17, not faces, got 18 to 18"),
    ("Tiles2048-v0", {"board": FULL, "score": -1}, r"score must be a non-negative integer.*-1"),
    ("Tiles2048-v0", {"board": FULL, "score": 2**53 + 1}, r"at most 9007199254740992, got 9007199"),
    ("Tiles2048-v0", {"score": 5}, r"needs a 'board'"),
    ("Tiles2048-v0", {"bord": FULL}, r"unknown reset option 'bord': expected 'board', 'score'"),
    ("TicTacToe-v0", {"board": np.zeros((4, 4), int)}, r"board must have shape \(3, 3\)"),
    ("TicTacToe-v0", {"board": np.zeros((3, 3))}, r"the integers 1, -1 and 0, got dtype float64"),
    ("TicTacToe-v0", {"board": np.full((3, 3), 2)}, r"must hold the integers"),
    ("TicTacToe-v0", {"board": [[1, 1, 0], [0] * 3, [0] * 3]}, r"play can lead to"),
    ("TicTacToe-v0", {"score": 1}, r"unknown reset option 'score': expected 'board'"),
]


@pytest.mark.parametrize(("env_id", "options", "message"), BAD_RESETS)
def test_unusable_reset_options_are_an_error_that_changes_nothing(env_id, options, message):
    for each in (gym.make(env_id).unwrapped, gym.make_vec(env_id, num_envs=2)):
        with refusing(each, message):
            each.reset(seed=5, options=options)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("mask", [[True, False], np.array([True]), np.array([False, False])])
def test_reset_masks_are_checked(env_id, mask):
    envs = gym.make_vec(env_id, num_envs=2)
    with refusing(envs, "reset_mask must"):
        envs.reset(seed=1, options={"reset_mask": mask})


@pytest.mark.parametrize(
    ("game", "boards"),
    [
        (SlidingGame(RULES_2048), np.zeros((4, 4), int)),
        (SlidingGame(RULES_2048), np.zeros((1, 4, 4))),
        (SlidingGame(RULES_2048), np.full((1, 4, 4), 18)),
        (TicTacToe(), np.zeros((3, 3), int)),
        (TicTacToe(), np.full((1, 3, 3), 2)),
        (TicTacToe(), np.array([X_WON_O_MOVED])),
    ],
)
def test_games_check_their_boards(game, boards):
    for method in (game.afterstates, game.legal_actions, game.replies):
        with pytest.raises(ValueError, match="boards"):
            method(boards)
    if game == TicTacToe() and boards.ndim == 3:
        with pytest.raises(UsageError, match="boards"):
            MinimaxAgent(game).predict(boards)


@pytest.mark.parametrize("game", [SlidingGame(RULES_2048), TicTacToe()])
def test_only_boards_are_drawn(game):
    board = np.zeros(game.shape, int)
    for bad in (None, "", board[0], board + 99, board + 0.5):
        with pytest.raises(UsageError, match=r"boards?"):
            game.draw(bad, "ansi")
    with pytest.raises(UsageError, match="mode must be one of 'ansi', 'rgb_array', got 'svg'"):
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
    ("words", "message"),
    [
        ("solve --env=", "unknown environment ''"),
        ("watch tests --gif x.gif --env=", "give no --env"),
        ("solve --import=no_such_module", "the module no_such_module is not found"),
        ("solve --import=", "--import needs the name of a module"),
        ("evaluate :Agent", "the module '' is not found"),
        ("train qtable --games 1 --out=", "expected a path, got ''"),
    ],
)
def test_empty_words_are_no_absent_ones_and_imports_have_two_forms(words, message):
    assert message in refused(*words.split())
