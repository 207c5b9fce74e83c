"""The engines of the vector environments are one: the same bits, the same states, the same care.

Tests that compare each of them with single environments are in `test_vector`.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from functools import partial
from itertools import product
from pathlib import Path
from threading import Barrier, main_thread

import gymnasium as gym
import numba  # noqa: F401 # an extra
import numpy as np
import powers3  # noqa: F401 # registers a game
import pytest
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given, settings
from hypothesis import strategies as st
from placers import LastCell
from test_envs import IDS

from tile_envs import check
from tile_envs.base import loops
from tile_envs.games import ids
from tile_envs.sliding import board
from tile_envs.sliding import game as sliding_game
from tile_envs.sliding.cells.batch import CellsLayout
from tile_envs.sliding.packed.tables import packs

MODES = ["NextStep", "SameStep", "Disabled"]
equal = partial(data_equivalence, exact=True)


def pair(env_id, num_envs, **options):
    """Make the same games for both engines."""
    made = [gym.make_vec(env_id, num_envs, engine=name, **options) for name in ("numpy", "numba")]
    for envs in made:
        envs.action_space.seed(0)
    return made


def signatures(envs):
    """Return for how many types of arguments each loop of the games is compiled or loaded."""
    play, begin, *_ = envs.unwrapped._engine.loops
    return [len(loop.signatures) for loop in (play, begin, loops._choose)]


def assert_equal_steps(ours, theirs, steps, seed=0):
    """Play actions, most of them legal, and compare everything that comes out, states included."""
    rng = np.random.default_rng(seed)
    assert equal(ours.reset(seed=seed), theirs.reset(seed=seed))
    for step in range(steps):
        actions = ours.sample_legal_actions()
        assert np.array_equal(actions, theirs.sample_legal_actions())
        if step % 5 == 0:
            actions = rng.integers(0, ours.single_action_space.n, ours.num_envs)
        got, wanted = ours.step(actions), theirs.step(actions)
        assert equal(got, wanted)
        assert equal(ours.get_state(), theirs.get_state())
        if ours.autoreset_mode.value == "Disabled" and (ended := got[2] | got[3]).any():
            resets = [envs.reset(options={"reset_mask": ended}) for envs in (ours, theirs)]
            assert equal(*resets)


MIXTURES = {"minimax": 0.7, "random": 0.3}, {"minimax_first": 0.5, "random": 0.1, "minimax": 0.4}
ENDS = {"max_illegal": [1, 2, 100], "max_episode_steps": [None, 1, 3, 13], "autoreset_mode": MODES}


def drawn(**choices):
    """Return what draws options, one of the given values for each."""
    each = {name: st.sampled_from(values) for name, values in (choices | ENDS).items()}
    return st.fixed_dictionaries(each)


SLIDING = drawn(
    shape=[*product((2, 3, 4), repeat=2), (1, 4), (5, 1), (2, 5), (5, 5), (6, 4), (8, 8)],
    spawn=[None, {3: 0.5, 9: 0.3, 27: 0.2}, {9: 1.0}],
    start_tiles=[1, 2, 4, [27, 3]],
    placer=["random", "adversary"],
).filter(lambda options: options["placer"] == "random" or packs(options["shape"]))
OPPONENTS = ["random", "minimax", "minimax_first", *MIXTURES]
TICTACTOE = drawn(opponent=OPPONENTS, side=["X", "O", "random", "both"])
DRAWN = [("Powers3-v0", SLIDING), ("TicTacToe-v0", TICTACTOE)]


@pytest.mark.parametrize("examples", [50, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("env_id", "options"), DRAWN)
def test_both_engines_play_the_same_games(env_id, options, examples):
    @settings(max_examples=examples)
    @given(options, st.integers(0, 2**64), st.integers(1, 40))
    def play(chosen, seed, num_envs):
        assert_equal_steps(*pair(env_id, num_envs, **chosen), steps=40, seed=seed)

    play()


ENDED = [
    ("Tiles2048-v0", {"shape": (2, 3), "terminate_at_goal": True}, [[12, 1, 1], [0, 0, 0]]),
    ("Tiles2048-v0", {"shape": (2, 5), "terminate_at_goal": True}, [[12, 1, 1, 0, 0], [0] * 5]),
    ("Tiles2048-v0", {}, [[1, 2, 1, 2], [2, 1, 2, 1]] * 2),
    ("TicTacToe-v0", {}, [[1, 1, 1], [-1, -1, 0], [0, 0, 0]]),
]


@pytest.mark.parametrize(("env_id", "options", "board"), ENDED)
def test_a_game_that_begins_at_its_end_ends_at_the_first_step(env_id, options, board):
    for env in (gym.make(env_id, **options).unwrapped, *pair(env_id, 2, **options)):
        assert not env.reset(options={"board": board})[1]["action_mask"].any()
        action = [3, 3] if hasattr(env, "num_envs") else 3
        observation, reward, terminated, truncated, info = env.step(action)
        assert (observation == board).all()
        assert not np.any([reward, truncated])
        assert np.all([terminated, info["illegal"]])


COPIES = copy, deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))


KEPT = [("Tiles2048-v0", {}), ("Tiles2584-v0", {"shape": (5, 5)})]
KEPT += [("TicTacToe-v0", {"opponent": each}) for each in ("minimax_first", *MIXTURES)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("env_id", "options"), KEPT)
def test_states_bring_back_the_games(env_id, options, mode):
    """They go from one engine to the other; copies and all opponents are played by one code."""
    shape = {name: value for name, value in options.items() if name == "shape"}
    compiled = signatures(gym.make_vec(env_id, 2, engine="numba", **shape))
    again, envs = pair(env_id, 5, autoreset_mode=mode, max_episode_steps=40, **options)
    envs.reset(seed=3)
    for step in range(60):
        again.set_state(pickle.loads(pickle.dumps(envs.get_state())))
        players = again, envs, *map(COPIES[step % 3], (again, envs))
        wanted, *found = [each.step(each.sample_legal_actions()) for each in players]
        assert all(equal(each, wanted) for each in found)
        envs.set_state(again.get_state())
        if mode == "Disabled" and (ended := wanted[2] | wanted[3]).any():
            envs.reset(options={"reset_mask": ended})
    assert signatures(envs) == compiled


@pytest.mark.parametrize("shape", [(2, 3), (5, 2)])
def test_games_begin_anew_with_the_same_listed_boards(shape):
    boards = np.arange(60).reshape(-1, *shape) % 5
    options = {"shape": shape, "starts": boards, "start_fraction": 0.7, "max_episode_steps": 2}
    assert_equal_steps(*pair("Tiles2048-v0", 300, **options), steps=6)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("mode", MODES)
def test_arrays_are_fresh_on_every_step_and_the_users_own(env_id, mode, engine):
    """They are whole, too: whoever views or sends them needs their bytes in a row."""
    options = {"autoreset_mode": mode, "engine": engine}
    envs, untouched = (gym.make_vec(env_id, 4, **options) for _ in range(2))
    envs.action_space.seed(0)
    held, _ = envs.reset(seed=1), untouched.reset(seed=1)
    for _ in range(40):
        copies, actions = deepcopy(held), envs.sample_legal_actions()
        given = actions.copy()
        later = envs.step(actions)
        assert equal(later, untouched.step(given))
        assert equal(held, copies)
        assert np.array_equal(actions, given)
        for array in (held[0], *held[-1].values()):
            if isinstance(array, np.ndarray) and array.dtype != object:
                assert array.flags.c_contiguous
                array[...] = 1
        assert np.array_equal(envs.action_masks(), untouched.action_masks())
        if mode == "Disabled" and (ended := later[2] | later[3]).any():
            later, _ = (each.reset(options={"reset_mask": ended}) for each in (envs, untouched))
        held = later


@pytest.mark.parametrize("env_id", IDS)
def test_integers_of_any_kind_and_layout_are_taken(env_id):
    ours, theirs = pair(env_id, 5)
    ours.reset(seed=0), theirs.reset(seed=0)
    compiled = signatures(theirs)
    for dtype in (np.uint8, np.int32, np.int64, np.uint64):
        matrix = np.array([[0, 1], [1, 1], [2, 0], [3, 1], [2, 0]], dtype)
        for actions in (matrix[:, 0].copy(), matrix[:, 0], np.broadcast_to(matrix[1, 0], 5)):
            assert equal(ours.step(actions.tolist()), theirs.step(actions))
    assert signatures(theirs) == compiled


def test_the_engine_survives_json_and_is_numpy_where_an_object_decides():
    for engine, playing in (("numpy", "numpy"), ("numba", "numba"), ("auto", "numba")):
        envs = gym.make_vec("tile_envs:TicTacToe-v0", 2, engine=engine, max_illegal=7)
        again = gym.make_vec(gym.envs.registration.EnvSpec.from_json(envs.spec.to_json()))
        assert {(each.engine, each.max_illegal) for each in (envs, again)} == {(playing, 7)}
    envs = gym.make_vec("Tiles2048-v0", 2, engine="numba", threads=2, placer=LastCell())
    assert (envs.engine, envs.threads) == ("numpy", 1)
    envs.reset(seed=0), envs.step([0, 1])
    many = [gym.make_vec(IDS[0], n, engine="numba", threads=8) for n in (300, 4096)]
    assert [envs.threads for envs in many] == [1, 2]  # few games are not shared


@pytest.mark.parametrize("env_id", IDS)
def test_a_seed_and_its_actions_play_the_game_they_always_played(env_id):
    assert check.HASHES.keys() == {each for each in ids() if "rules" not in gym.spec(each).kwargs}
    assert check.hash_of(gym.make(env_id).unwrapped.game) == check.HASHES[env_id]


def test_the_check_of_an_installation_fails_at_a_difference(monkeypatch, capsys):
    known, wrong = check.HASHES["TicTacToe-v0"], "0" * 16
    monkeypatch.setattr(sys, "argv", ["check"])
    for hashed, options, said in (
        (wrong, {}, f"{known}, not {wrong}"),
        (known, {"opponent": "minimax"}, "numba differs from the functional core in"),
    ):
        monkeypatch.setattr(check, "HASHES", {"TicTacToe-v0": hashed})
        monkeypatch.setitem(check.WAYS, "numba", options)
        assert check.main() == 1
        assert said in capsys.readouterr().out


@settings(max_examples=50)
@given(SLIDING, st.integers(0, 2**64), st.integers(1, 9))
def test_boards_of_cells_are_played_as_packed_ones(options, seed, num_envs):
    """On the shapes that both can play."""
    shape = tuple(min(4, side + (side == 1)) for side in options["shape"])
    options = options | {"shape": shape, "placer": "random"}
    packed = gym.make_vec("Powers3-v0", num_envs, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliding_game, "layout_of", CellsLayout)
        cells = gym.make_vec("Powers3-v0", num_envs, **options)
        single = gym.make("Powers3-v0", shape=shape).unwrapped
        packed.action_space.seed(0), cells.action_space.seed(0)
        assert_equal_steps(cells, packed, steps=40, seed=seed)
    assert type(cells.unwrapped.game.layout) is CellsLayout
    assert type(single._board) is board.CellsBoard


def played(envs):
    """Return what comes of the last of some steps, and the state after it."""
    return [envs.step(envs.sample_legal_actions()) for _ in range(40)][-1], envs.get_state()


def seeded(env_id, threads=3):
    envs = gym.make_vec(env_id, 6144, engine="numba", threads=threads)
    envs.reset(seed=4)
    envs.action_space.seed(4)
    assert envs.threads == threads
    return envs


def played_anew(env_id, threads=3):
    return played(seeded(env_id, threads))


@pytest.mark.parametrize("method", [pytest.param("fork", marks=pytest.mark.linux), "spawn"])
def test_other_threads_and_processes_play_the_same_at_once(method):
    expected = [played_anew(env_id, threads=1) for env_id in IDS] * 2
    assert equal(played_anew(IDS[0]), expected[0])  # its threads are not forked
    with multiprocessing.get_context(method).Pool(2) as pool, ThreadPoolExecutor(4) as threads:
        found = threads.map(played_anew, IDS * 2)
        assert equal(pool.map(played_anew, IDS * 2), expected)
        pickled = [seeded(env_id) for env_id in IDS] * 2
        assert equal(pool.map(played, pickled), expected)
        assert equal([*found], expected)


@pytest.mark.linux
@pytest.mark.parametrize("failing", ["the caller", "another thread", "the wait"])
def test_when_a_step_fails_no_thread_goes_on_and_later_steps_are_right(failing, monkeypatch):
    envs, together, over = seeded(IDS[0]), Barrier(3), []

    def play(first, *_):
        i = together.wait()
        try:
            if failing == ("another thread" if first else "the caller"):
                raise KeyboardInterrupt
            time.sleep((i + 1) / 20 if first else 0)
            if failing == "the wait" and first:
                signal.pthread_kill(main_thread().ident, signal.SIGINT)
                time.sleep(0.05)
        finally:
            over.append(first)

    monkeypatch.setattr(envs._engine, "loops", envs._engine.loops._replace(play=play))
    with pytest.raises(KeyboardInterrupt):
        envs.step(np.zeros(6144, np.int64))
    assert len(over) == 3
    monkeypatch.undo()
    envs.reset(seed=4)
    assert equal(played(envs), played_anew(IDS[0], threads=1))


SHARED = [
    ("Tiles2048-v0", {"placer": "adversary", "start_tiles": 14}),
    ("Tiles2584-v0", {"shape": (5, 6), "max_episode_steps": 9}),
    ("TicTacToe-v0", {"opponent": "random", "side": "random"}),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("env_id", "options"), SHARED)
def test_games_shared_by_threads_are_the_same(env_id, options, mode, monkeypatch):
    monkeypatch.setattr("tile_envs.base.vector_env.GAMES_PER_THREAD", 1)
    monkeypatch.setattr("tile_envs.base.threads.CALLERS_EXTRA", 100)
    for threads in (2, 5):
        whole = {"id": env_id, "num_envs": 1300, "engine": "numba", "autoreset_mode": mode}
        ours, theirs = (gym.make_vec(**whole, threads=k, **options) for k in (threads, 1))
        ours.action_space.seed(0), theirs.action_space.seed(0)
        assert_equal_steps(ours, theirs, steps=25, seed=threads)
        state, actions = ours.get_state(), np.zeros(1300, np.int64)
        if not state["ended"].any():
            actions[-1] = 99
            with pytest.raises(ValueError, match="got 99 for game 1299"):
                ours.step(actions)
            assert equal(ours.get_state(), state)


@pytest.mark.slow
@pytest.mark.linux
def test_memory_is_flat(engine):
    envs = gym.make_vec("Tiles2048-v0", 4, engine=engine, autoreset_mode="SameStep")
    envs.reset(seed=0)
    resident = []
    for steps in (5_000, 20_000):  # memory that is kept for the next step grows at first
        for _ in range(steps):
            envs.step(envs.sample_legal_actions())
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        resident.append(pages * os.sysconf("SC_PAGE_SIZE"))
    assert resident[1] - resident[0] < 2**20  # an array of 4 games takes 100 bytes
