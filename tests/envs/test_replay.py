"""Replays: what a file keeps, and what is said of a bad one."""

import json
import tracemalloc

import gymnasium as gym
import numpy as np
import powers3  # registers the game of powers of three
import pytest
from placers import LastCell

from tile_envs import __version__
from tile_envs.errors import UsageError
from tile_envs.games import make
from tile_envs.replay import Playthrough, Replay, begin, play_through, read, replay_of, write
from tile_envs.sliding import RULES_2584, SlidingEnv

GOOD = {
    "format": "tile-envs replay",
    "version": Replay("", 0).version,
    "package": f"tile-envs {__version__}",
    "env": "TicTacToe-v0",
    "options": {"side": "both"},
    "seed": 5,
    "actions": [4, 0, 8],
}

VARIANTS = [
    ("Tiles2048-v0", {}),
    ("Tiles2584-v0", {"shape": [2, 3], "spawn": {"1": 0.75, "3": 0.25}, "max_illegal": 3}),
    ("Tiles2048-v0", {"placer": "adversary"}),
    ("Tiles2048-v0", {"shape": [1, 5], "starts": [[[1, 2, 0, 2, 2]], [[9, 0, 0, 0, 0]]]}),
    ("Tiles2048-v0", {"shape": [5, 5]}),
    ("Tiles2584-v0", {"shape": [8, 1]}),
    ("TicTacToe-v0", {"opponent": "minimax", "side": "random"}),
    ("TicTacToe-v0", {"opponent": {"minimax": 0.8, "random": 0.2}}),
    ("TicTacToe-v0", {"side": "both"}),
]


def played(env_id, options, seed, n_actions):
    """A game of random actions, illegal ones among them."""
    game = Playthrough(make(env_id, options), seed)
    rng = np.random.default_rng(seed)
    while len(game.actions) < n_actions and not game.position.over:
        game.play(int(rng.integers(game.env.action_space.n)))
    return game


def assert_same(one, other):
    np.testing.assert_array_equal(one.observation, other.observation)
    for name in one.info:
        np.testing.assert_array_equal(one.info[name], other.info[name])
    assert one[3:] == other[3:]  # the total and how it ended


@pytest.mark.parametrize(("env_id", "options"), VARIANTS)
def test_a_game_is_its_seed_and_its_actions(env_id, options, tmp_path):
    for seed in range(20):
        game = played(env_id, options, seed, n_actions=10 * seed)
        write(replay_of(game), tmp_path / "game.json")
        replay = read(tmp_path / "game.json")
        assert replay == replay_of(game)
        assert_same(play_through(replay), game.position)


def test_a_file_holds_these_entries_and_no_others(tmp_path):
    game = begin(Replay("TicTacToe-v0", 5, options={"side": "both"}))
    for action in (4, 0, 8):
        game.play(action)
    write(replay_of(game), tmp_path / "game.json")
    assert json.loads((tmp_path / "game.json").read_text()) == GOOD
    assert [path.name for path in tmp_path.iterdir()] == ["game.json"], "nothing beside it"


def test_the_memory_of_a_replay_does_not_grow_with_the_game():
    replay = Replay("TicTacToe-v0", 0, (4,) * 2000, {"max_illegal": 9999})
    play_through(replay)  # makes tables
    tracemalloc.start()
    play_through(replay)
    assert tracemalloc.get_traced_memory()[1] < 200_000  # a position takes 1,000
    tracemalloc.stop()


def test_a_given_board_and_options_of_numpy_are_kept(tmp_path):
    reset = {"board": np.array([[1, 1], [0, 9]], np.uint8), "score": np.int64(72)}
    options = {"shape": np.array([2, 2]), "spawn": {np.int64(2): np.float64(1.0)}}
    game = Playthrough(make("Tiles2048-v0", options), 3, reset)
    game.play(3)
    write(replay_of(game), tmp_path / "game.json")
    replay = read(tmp_path / "game.json")
    assert replay.options == {"shape": [2, 2], "spawn": {"2": 1.0}}
    assert replay.reset == {"board": [[1, 1], [0, 9]], "score": 72}
    assert play_through(replay).info["score"] == 76


def test_taking_back_leads_to_the_same_game():
    game = played("Tiles2048-v0", {}, seed=1, n_actions=30)
    before, actions = game.position, list(game.actions)
    for _ in range(10):
        game.take_back()
    assert game.actions == actions[:20]
    for action in actions[20:]:
        game.play(action)
    assert_same(game.position, before)


def test_a_drawn_start_is_kept_as_a_board_that_was_given(tmp_path):
    options = {"shape": [1, 5], "starts": [[[9, 0, 0, 8, 0]]], "start_fraction": 1.0}
    game = played("Tiles2048-v0", options, 3, n_actions=9)
    replay = replay_of(game)
    assert (replay.options, replay.reset) == ({"shape": [1, 5]}, {"board": options["starts"][0]})
    write(Replay(replay.env, 3, replay.actions, options), tmp_path / "own.json")
    assert read(tmp_path / "own.json") == replay
    make("Tiles2048-v0", replay.options).set_state(game.position.state)  # one of an equal game
    assert_same(play_through(replay), game.position)
    while game.actions:
        game.take_back()
    assert game.env.get_state()["stream"] == begin(replay).env.get_state()["stream"]
    given = Playthrough(game.env, 7, {"board": [[1, 0, 0, 0, 2]]})
    assert (replay_of(given).seed, replay_of(given).reset) == (7, given.reset)


def test_render_modes_are_not_kept():
    env = gym.make("Tiles2048-v0", render_mode="ansi", shape=(3, 3)).unwrapped
    assert replay_of(Playthrough(env, 0)).options == {"shape": (3, 3)}


def test_a_file_may_name_its_player(tmp_path):
    game = played("Tiles2048-v0", {}, 0, n_actions=3)
    write(replay_of(game, "ntuple"), tmp_path / "game.json")
    assert read(tmp_path / "game.json").player == "ntuple"
    write(replay_of(game, "\x1b]0;evil\x07\x9b2J\u202e名 é"), tmp_path / "game.json")
    assert read(tmp_path / "game.json").player == "�]0;evil��2J�名 é"


def test_a_file_of_a_version_without_the_package_is_read(tmp_path):
    entries = GOOD | {"version": "0.1.0"}
    del entries["package"]
    (tmp_path / "game.json").write_text(json.dumps(entries), encoding="utf-8-sig")
    replay = read(tmp_path / "game.json")
    assert (replay.version, replay.package) == ("0.1.0", "")


@pytest.mark.parametrize(
    "env", [gym.make("Powers3-v0", rules=RULES_2584).unwrapped, SlidingEnv(rules=powers3.RULES)]
)
def test_a_game_that_no_id_names_has_no_replay(env):
    with pytest.raises(UsageError, match=r"no replay.* register_game\(id, rules\)"):
        replay_of(Playthrough(env, 0))


@pytest.mark.parametrize(
    ("replay", "named"),
    [
        ({"options": {"render_mode": "human"}}, "'render_mode'"),
        ({"options": {"rules": {}}}, "register_game"),
        ({"options": {"shape": (9, 9, 9)}}, "shape"),
        ({"options": {"placer": LastCell()}}, "LastCell"),
        ({"actions": (0, 7)}, "action 2 of 2: .* got 7"),
        ({"actions": (0,) * 101}, "action 101 of 101"),
        ({"version": "99.0"}, "version 99.0"),
    ],
)
def test_what_could_not_be_read_is_not_written_over_a_good_file(replay, named, tmp_path):
    stuck = {"board": [[1, 2, 3, 4], *[[0] * 4] * 3]}  # upwards
    write(Replay("Tiles2048-v0", 0), tmp_path / "game.json")
    before = (tmp_path / "game.json").read_text()
    with pytest.raises(UsageError, match=named):
        write(Replay("Tiles2048-v0", 0, **{"reset": stuck, **replay}), tmp_path / "game.json")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"game.json": before}


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (None, "No such file"),
        *(("2048!", "not JSON"), ("[" * 100_000, "not JSON")),
        ({"format": "chess"}, "'chess'"),
        ({"color": 1}, "unknown: color; expected format, "),
        ({"env": "Chess-v0"}, "'Chess-v0'.*Tiles2048-v0"),
        ({"options": {"size": 4}}, "'size' of TicTacToe-v0.*'opponent'"),
        ({"options": {"starts": "/etc/passwd"}}, "the board goes to .reset."),
        ({"version": "99.1.0"}, r"version 99\.1\.0"),
        ({"reset": {"board": [[1]]}}, r"board .*\(1, 1\)"),
        ({"seed": ...}, "seed"),
        ({"seed": -1}, "seed .* -1"),
        ({"actions": 4}, '"actions" .* 4'),
        ({"actions": [4, 9]}, "action 2 of 2: .* 9"),
        ({"actions": [0, 3, 1, 4, 2, 5]}, "action 6 of 6, 5"),
    ],
)
def test_a_bad_file_gives_one_line(content, named, tmp_path):
    path = tmp_path / "game.json"
    if isinstance(content, dict):
        entries = {name: entry for name, entry in (GOOD | content).items() if entry is not ...}
        content = json.dumps(entries)
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=rf"\A{path}: .*{named}.*\Z"):
        read(path)
