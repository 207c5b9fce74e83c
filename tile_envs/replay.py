"""Replays: a game is its seed and its actions, taken back at will, kept in a file, played again.

    {"format": "tile-envs replay", "version": "0.2.0", "package": "tile-envs 0.2.0", "seed": 7,
     "env": "TicTacToe-v0", "options": {"opponent": "minimax"}, "actions": [4, 0, 5]}

A game that began with a given board has `"reset": {"board": …, "score": …}` as well, also if it
drew the board from `starts`: its seed is then that of the random stream afterwards.  One that an
agent has played may name it, `"player": "ntuple"`.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import ResetNeeded

from tile_envs import __version__
from tile_envs.base.checks import brief, checked_mapping, plain
from tile_envs.base.env import GameEnv, Info, Observation
from tile_envs.base.random_stream import seeds_of
from tile_envs.errors import UsageError
from tile_envs.files import write_file
from tile_envs.game import describe
from tile_envs.games import make
from tile_envs.sliding.chance import START_OPTIONS
from tile_envs.words import printable

FORMAT = "tile-envs replay"
VERSION = "0.2.0"  # of the package that has changed the format last
ENTRIES: dict[str, type] = dict.fromkeys(("format", "version", "package", "env"), str)
ENTRIES |= {"options": dict, "reset": dict, "seed": int, "actions": list, "player": str}
OPTIONAL: dict[str, Any] = {"package": "", "reset": {}, "player": ""}  # if left out


class Position(NamedTuple):
    """A game after an action, or at its start."""

    state: Mapping[str, Any]  # for `set_state`, to come back here; `state["board"]` is the board
    observation: Observation
    info: Info
    total: float = 0.0  # the sum of the rewards so far
    terminated: bool = False
    truncated: bool = False  # also by the last action that the time limit allows

    @property
    def over(self) -> bool:
        """Whether nothing can be played; also at the start, on a board without legal actions."""
        return self.terminated or self.truncated or not self.info["action_mask"].any()


class Playthrough:
    """A game that can be taken back; its environment is in the last of its `positions`."""

    def __init__(
        self, env: GameEnv[Any, Any], seed: int, reset: Mapping[str, Any] | None = None
    ) -> None:
        self.env, self.seed, self.reset = env, seed, checked_mapping(reset, "reset")
        self.actions: list[int] = []
        observation, info = env.reset(seed=seed, options=self.reset)
        self.positions = [Position(env.get_state(), observation, info)]

    @property
    def position(self) -> Position:
        """The last position."""
        return self.positions[-1]

    def play(self, action: int) -> None:
        """Play an action; after the end it raises `ResetNeeded`."""
        if self.position.truncated:
            raise ResetNeeded("the game is over: take actions back, or begin another.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        truncated |= len(self.actions) + 1 == self.env.max_episode_steps
        shown = self.env.get_state(), observation, info, self.position.total + float(reward)
        self.positions.append(Position(*shown, terminated, truncated))
        self.actions.append(action)

    def take_back(self) -> None:
        """Take the last action back, if there is one."""
        if self.actions:
            self.actions.pop()
            self.positions.pop()
            self.env.set_state(self.position.state)


@dataclass(frozen=True)
class Replay:
    """A game as data."""

    env: str  # the id of the environment
    seed: int
    actions: tuple[int, ...] = ()  # illegal ones, too
    options: Mapping[str, Any] = field(default_factory=dict)  # of `gym.make`
    reset: Mapping[str, Any] = field(default_factory=dict)  # options, if a board was given
    version: str = VERSION  # of the file's format
    player: str = ""  # who played it; empty if unknown
    package: str = f"tile-envs {__version__}"  # that played it; empty if unknown

    def action(self, n: int) -> int | None:
        """Return the action after n others; None after the last one."""
        return self.actions[n] if n < len(self.actions) else None


def replay_of(game: Playthrough, player: str = "") -> Replay:
    """Return a game so far as data; its environment must have an id, and that one's rules."""
    env, seed, reset = game.env, game.seed, game.reset
    if spec := env.spec:
        # The rules of a registered game are no option: its id stands for them.
        left_out = {"render_mode", "rules", *START_OPTIONS}
        options = {n: value for n, value in spec.kwargs.items() if n not in left_out}
        if env.max_episode_steps is not None:
            options["max_episode_steps"] = env.max_episode_steps
        if not reset and spec.kwargs.get("starts") is not None:  # the board was drawn
            first = game.positions[0].state
            reset = {"board": first["board"].tolist()}
            seed = int(seeds_of(np.array([first["stream"]], np.uint64))[0])
        if describe(make(spec.id, options).game) == describe(env.game):
            return Replay(spec.id, seed, tuple(game.actions), options, reset, player=player)
    advice = "register them with register_game(id, rules), and make the game by gymnasium.make(id)"
    raise UsageError(f"{env.game} has no replay, because no id stands for its rules: {advice}.")


def begin(replay: Replay) -> Playthrough:
    """Return the game of a replay before its first action."""
    return Playthrough(make(replay.env, replay.options), replay.seed, replay.reset)


def play_through(replay: Replay) -> Position:
    """Play a replay to its end; return the last position."""
    game = begin(replay)
    for n, action in enumerate(replay.actions, 1):
        place = f"action {n} of {len(replay.actions)}"
        try:
            game.play(action)
            del game.positions[:-1]  # a long game takes no more memory than a short one
        except ResetNeeded:
            raise UsageError(f"{place}, {action}, comes after the end of the game.") from None
        except ValueError as error:
            raise UsageError(f"{place}: {error}") from None
    return game.position


def write(replay: Replay, path: str | os.PathLike[str]) -> None:
    """Write a replay; an interrupted write leaves the old file.

    A `ValueError` refuses what `read` would, and options that are objects.
    """
    content = dump(replay)
    parse(content, os.fspath(path))  # complains of what a reader would meet
    write_file(Path(path), content)


def dump(replay: Replay) -> bytes:
    """Return the content of a replay's file; see `write`."""
    given = replay_of(begin(replay))  # the board, instead of the boards that it was drawn from
    replay = replace(replay, seed=given.seed, options=given.options, reset=given.reset)
    values = {"format": FORMAT, **vars(replay)}
    kept = [name for name in ENTRIES if name not in OPTIONAL or values[name]]
    lines = [f'  "{n}": {json.dumps(plain(values[n]), default=_as_json)}' for n in kept]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _as_json(value: Any) -> Any:
    """Return what JSON does not know as lists and dictionaries."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return plain(dict(value))
    raise UsageError(f"a replay holds numbers and names only, got {brief(value)}.")


def read(path: str | os.PathLike[str]) -> Replay:
    """Read a replay; a `ValueError` with the file's name says if it cannot be played."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{os.fspath(path)}: {error.strerror}.") from None
    return parse(content, os.fspath(path))


def parse(content: bytes, name: str) -> Replay:
    """Return the replay that a file of this name holds; see `read`."""
    try:
        replay = _checked(printable(json.loads(content.decode("utf-8-sig"))))
        play_through(replay)
        return replay
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"not a replay, because not JSON: {error}."
    except (ValueError, TypeError) as error:  # what an environment says of its options
        reason = " ".join(str(error).split())
    raise UsageError(f"{name}: {reason}")


def _checked(entries: Any) -> Replay:
    """Turn a file's content into a replay; its actions are checked when they are played."""
    if not isinstance(entries, dict) or entries.get("format") != FORMAT:
        raise UsageError(f'not a replay: expected "format": "{FORMAT}", got {brief(entries)}.')
    entries = OPTIONAL | entries
    if odd := entries.keys() ^ ENTRIES.keys():
        raise UsageError(f"missing or unknown: {', '.join(odd)}; expected {', '.join(ENTRIES)}.")
    for name, kind in ENTRIES.items():
        if not isinstance(entries[name], kind):
            raise UsageError(f'"{name}" must be {kind.__name__}, got {brief(entries[name])}.')
    if _order(entries["version"]) > _order(VERSION):
        needed = f"version {entries['version']} of tile-envs or a later one"
        raise UsageError(f"it needs {needed}, and this is {__version__}: update the package.")
    if not entries["options"].keys().isdisjoint(START_OPTIONS):
        raise UsageError('"options" must not have "starts": the board goes to "reset".')
    del entries["format"]
    return Replay(**entries | {"actions": tuple(entries["actions"])})


def _order(version: str) -> list[float]:
    return [int(part) if part.isdecimal() else math.inf for part in version.split(".")]
