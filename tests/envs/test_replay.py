"""Replays: what a file keeps, and what is said of a bad one."""

import json
import tracemalloc

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from placers import LastCell
from test_envs import every_variant

from tile_envs import __version__
from tile_envs.errors import UsageError
from tile_envs.games import make
from tile_envs.replay import Playthrough, Replay, begin, play_through, read, replay_of, write

GOOD = {"format": "tile-envs replay", "version": Replay("", 0).version}
GOOD |= {"package": f"tile-envs {__version__}", "env": "TicTacToe-v0", "options": {"side": "both"}}
GOOD |= {"seed": 5, "actions": [4, 0, 8]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "game.json"


def played(env_id, options, seed, n_actions):
    """A game of random actions, illegal ones among them."""
    game = Playthrough(make(env_id, options), seed)
    rng = np.random.default_rng(seed)
    while len(game.actions) < n_actions and not game.position.over:
        game.play(int(rng.integers(game.env.action_space.n)))
    return game


def same(one, other):
    """Compare positions, but for their states: these name options, which may differ."""
    return data_equivalence(one[1:], other[1:], exact=True)


@every_variant
def test_a_game_is_its_seed_and_its_actions(env_id, options, path):
    for seed in range(0, 20, 2):
        game = played(env_id, json.loads(json.dumps(options)), seed, n_actions=10 * seed)
        write(replay_of(game), path)
        assert read(path) == replay_of(game)
        assert same(play_through(read(path)), game.position)


def test_a_file_holds_these_entries_and_no_others(path):
    game = begin(Replay("TicTacToe-v0", 5, options={"side": "both"}))
    for action in (4, 0, 8):
        game.play(action)
    write(replay_of(game), path)
    assert json.loads(path.read_text()) == GOOD
    assert [file.name for file in path.parent.iterdir()] == ["game.json"], "nothing beside it"


def test_the_memory_of_a_replay_does_not_grow_with_the_game():
    replay = Replay("TicTacToe-v0", 0, (4,) * 2000, {"max_illegal": 9999})
    play_through(replay)  # makes tables
    tracemalloc.start()
    play_through(replay)
    assert tracemalloc.get_traced_memory()[1] < 200_000  # a position takes 1,000
    tracemalloc.stop()


def test_a_given_board_and_options_of_numpy_are_kept_but_no_render_mode(path):
    reset = {"board": np.array([[1, 1], [0, 9]], np.uint8), "score": np.int64(72)}
    options = {"shape": np.array([2, 2]), "spawn": {np.int64(2): np.float64(1.0)}}
    env = gym.make("Tiles2048-v0", render_mode="ansi", **options).unwrapped
    game = Playthrough(env, 3, reset)
    game.play(3)
    write(replay_of(game), path)
    replay = read(path)
    assert replay.options == {"shape": [2, 2], "spawn": {"2": 1.0}}
    assert replay.reset == {"board": [[1, 1], [0, 9]], "score": 72}
    assert play_through(replay).info["score"] == 76


def test_a_drawn_start_is_kept_as_a_board_that_was_given(path):
    options = {"shape": [1, 5], "starts": [[[9, 0, 0, 8, 0]]], "start_fraction": 1.0}
    game = played("Tiles2048-v0", options, 3, n_actions=9)
    replay = replay_of(game)
    assert (replay.options, replay.reset) == ({"shape": [1, 5]}, {"board": options["starts"][0]})
    write(Replay(replay.env, 3, replay.actions, options), path)
    assert read(path) == replay
    make("Tiles2048-v0", replay.options).set_state(game.position.state)  # one of an equal game
    assert same(play_through(replay), game.position)
    while game.actions:
        game.take_back()
    assert game.env.get_state()["stream"] == begin(replay).env.get_state()["stream"]
    given = Playthrough(game.env, 7, {"board": [[1, 0, 0, 0, 2]]})
    assert (replay_of(given).seed, replay_of(given).reset) == (7, given.reset)


def test_a_file_may_name_its_player(path):
    evil, harmless = "\x1b]0;evil\x07\x9b2J\u202e名 é", "�]0;evil��2J�名 é"
    for player, kept in (("ntuple", "ntuple"), (evil, harmless)):
        write(replay_of(begin(Replay("Tiles2048-v0", 0)), player), path)
        assert read(path).player == kept


def test_a_file_of_a_version_without_the_package_is_read(path):
    entries = {name: entry for name, entry in GOOD.items() if name != "package"}
    path.write_text(json.dumps(entries | {"version": "0.1.0"}), encoding="utf-8-sig")
    assert (read(path).version, read(path).package) == ("0.1.0", "")


def test_what_could_not_be_read_is_not_written_over_a_good_file(path):
    stuck = [[1, 2, 3, 4], *[[0] * 4] * 3]  # upwards
    write(Replay("Tiles2048-v0", 0), path)
    before = path.read_text()
    for options, actions, named in (
        ({"rules": {}}, (), "register_game"),
        ({"placer": LastCell()}, (), "LastCell"),
        ({}, (0,) * 101, "action 101 of 101"),
    ):
        with pytest.raises(UsageError, match=named):
            write(Replay("Tiles2048-v0", 0, actions, options, {"board": stuck}), path)
    assert {file.name: file.read_text() for file in path.parent.iterdir()} == {path.name: before}


DAMAGED = [
    *(("2048!", "not JSON"), ("[" * 100_000, "not JSON")),
    ({"format": "chess"}, "'chess'"),
    ({"env": "Chess-v0"}, "'Chess-v0'.*Tiles2048-v0"),
    ({"options": {"size": 4}}, "'size' of TicTacToe-v0.*'opponent'"),
    ({"options": {"starts": "/etc/passwd"}}, "the board goes to .reset."),
    ({"options": {"render_mode": "human"}}, "'render_mode'"),
    ({"version": "99.1.0"}, r"version 99\.1\.0"),
    ({"reset": {"board": [[1]]}}, r"board .*\(1, 1\)"),
    ({"seed": -1}, "seed .* -1"),
    ({"actions": 4}, '"actions" .* 4'),
    ({"actions": [4, 9]}, "action 2 of 2: .* 9"),
    ({"actions": [0, 3, 1, 4, 2, 5]}, "action 6 of 6, 5"),
]


@pytest.mark.parametrize(("content", "named"), DAMAGED)
def test_a_bad_file_gives_one_line(content, named, path):
    path.write_text(content if isinstance(content, str) else json.dumps(GOOD | content))
    with pytest.raises(UsageError, match=rf"\A{path}: .*{named}.*\Z"):
        read(path)
