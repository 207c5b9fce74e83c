"""The judge of written strategies: code of the form `def strategy(board) -> action`.

A strategy runs in a process of its own, which is confined (see `strategy_process`) and gets boards
only; the games are played here.  baselines/README.md says what it does not protect from.
"""

from __future__ import annotations

import inspect
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.errors import Interrupted
from baselines.evaluation import strategy_process
from baselines.evaluation.rows import Printed, Row
from baselines.evaluation.sampled import Record, Stopped, summary
from baselines.progress import Progress
from baselines.seeds import game_seeds
from baselines.settings import check_batch
from baselines.task import Task
from tile_envs.base.checks import brief, checked_count, checked_number, checked_seed
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import AnyEnv, make, named
from tile_envs.sliding.game import SlidingGame
from tile_envs.text import parse
from tile_envs.words import counted, printable

ENV, SUFFIX = "Tiles2048-v0", ".py"
SECONDS, MEMORY = 5.0, 1 << 30
"""The usual limits: seconds of a game, and bytes beyond what Python takes."""
MOST_ILLEGAL, MOST_FAILED = 10, 3
"""Illegal answers in a row that end a game, and failed games in a row that end the list."""
STARTING = 60.0
"""Seconds for Python to start, before it loads the strategy."""
LONGEST_WAIT = 1e6
"""The most seconds that `poll` is asked to wait, which takes no number of more than 31 bits."""
LONGEST, LONGEST_ANSWER = 4096, 256
"""Bytes of a message from a strategy, and those more for each board that it answers."""
KEPT = ("PATH", "LD_LIBRARY_PATH")
"""Environment variables that a strategy sees; others may hold secrets."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Failed(Exception):
    """A strategy has failed in a game; the message says how."""


def judge(
    strategy: str | Callable[..., Any],
    env: AnyEnv = ENV,
    episodes: int = 1000,
    seed: int = 0,
    seconds: float = SECONDS,
    *,
    env_kwargs: Mapping[str, Any] | None = None,
    memory: int = MEMORY,
    name: str | None = None,
) -> Row:
    """Let a written strategy play a fixed list of games, the one of `evaluate`; return its row.

        row = judge("def strategy(board): return 'left'", episodes=10)

    Args:
        strategy: Python source that defines `strategy(board)`, or a function, which is taken as its
            source, and so imports itself what it needs.  The board is a list of rows of faces, 0
            for an empty cell (in tic-tac-toe 1 for own marks, -1 for others); the answer is a word
            ("up"), a letter ("w", "a", "s", "d"), or the number of an action.
        env: The environment or its id.
        episodes: The number of games.
        seed: The seed of the list of games.
        seconds: The wall-clock time of the strategy in a game, and that of its loading.
        env_kwargs: The environment's options.
        memory: The bytes that the strategy may take.
        name: Its name in the row.

    Returns:
        The row of `evaluate`, with the numbers of `illegal` answers, and of those among them that
        were `repeated` on the same board; of the games in which it has `failed`, which end there;
        and the first `failure`, or None.

    Raises:
        ValueError: If an argument is unusable.
        Stopped: If it is interrupted after the first game has ended.
    """
    if callable(strategy):
        name = name or getattr(strategy, "__name__", "strategy")
        try:
            source = textwrap.dedent(inspect.getsource(strategy))
        except (OSError, TypeError):
            raise UsageError(f"the source of {name} is not known: give it as a text.") from None
        strategy = f"{source}\nstrategy = {strategy.__name__}"
    if not isinstance(strategy, str):
        raise UsageError(f"a strategy is a text or a function, got {brief(strategy)}.")
    check_system()
    seconds = checked_number(seconds, "seconds")
    task, episodes = Task.of(*named(env, env_kwargs)), checked_count(episodes, "episodes")
    check_batch(episodes, "episodes", 64)
    seed, name, left = checked_seed(seed), name or "strategy", 0
    games = _Games(strategy, task, seconds, checked_count(memory, "memory"))
    began = time.perf_counter()
    try:
        with Progress(f"{name} on {task.env}", episodes) as progress:
            for n, word in enumerate(game_seeds(seed, episodes).tolist(), 1):
                games.play(word)
                progress.update(n, counted(games.answers, "answer"))
                if games.failed_in_a_row == MOST_FAILED:
                    left = episodes - n
                    break
    except KeyboardInterrupt as interrupt:
        number = getattr(interrupt, "number", signal.SIGINT)
        if not games.ended:
            raise Interrupted(number, "stopped without a result: no game has ended.") from None
        stopped = Stopped(number)
        stopped.record = games.record(time.perf_counter() - began)
        stopped.row = games.row(stopped.record, f"{name}, stopped", seed)
        raise stopped from None
    finally:
        games.stop()
    name += f", stopped with {counted(left, 'game')} left" * (left > 0)
    return games.row(games.record(time.perf_counter() - began), name, seed)


def check_system() -> None:
    """Refuse by a `ValueError` a system that has no limits for processes."""
    if os.name != "posix":
        raise UsageError("strategies are judged on Linux and macOS: elsewhere nothing limits them.")


def source_of(path: Path) -> str:
    """Return the text of a file, which may come from Windows."""
    return path.read_text(encoding="utf-8-sig", errors="replace")


def faces_of(game: Game) -> NDArray[Any] | None:
    """Return the faces that strategies see in place of tile indices; None in tic-tac-toe."""
    return np.array(game.rules.faces) if isinstance(game, SlidingGame) else None


def action_of(game: Game, answer: Any, mask: Any = None) -> int:
    """Return the action of an answer; a `ValueError` says if a word is none of the mask's."""
    if isinstance(answer, str) and not answer.strip().isdecimal():
        return parse(game, answer, mask)
    return int(answer) if isinstance(answer, str | int) else -1


class _Games:
    """Games that a strategy plays one by one; its process goes on from game to game."""

    def __init__(self, source: str, task: Task, seconds: float, memory: int) -> None:
        self._source, self._task, self._seconds, self._memory = source, task, seconds, memory
        self._env = make(task.env, task.env_kwargs)
        self._process: Process | None = None
        self._faces = faces_of(self._env.game)
        self.ended = list[tuple[float, int]]()  # the score and the largest tile of each game
        self.answers = self.illegal = self.repeated = self.failed = self.failed_in_a_row = 0
        self.failure: str | None = None

    def play(self, seed: int) -> None:
        """Play a game to its end, or until the strategy fails."""
        observation, info = self._env.reset(seed=seed)
        mark, largest, answers = info.get("to_play"), info.get("max_tile", 0), self.answers
        wrong, left, terminated, over = list[Any](), self._seconds, False, False
        try:
            if self._process is None:
                self._process = Process(self._memory)
                self._process.load({"source": self._source}, self._seconds)
            while not over:
                board = observation if self._faces is None else self._faces[observation]
                began = time.perf_counter()
                (answer,) = self._process.ask([board.tolist()], left)
                left -= time.perf_counter() - began
                self.answers += 1
                if (action := self._action(answer, info["action_mask"])) is None:
                    self.illegal += 1
                    self.repeated += answer in wrong
                    wrong.append(answer)
                    over = len(wrong) == MOST_ILLEGAL
                else:
                    wrong.clear()
                    observation, _, terminated, truncated, info = self._env.step(action)
                    largest = max(largest, info.get("max_tile", 0))  # in some games tiles shrink
                    over = terminated or truncated
                # An illegal answer is a step, too.
                over = over or self.answers - answers == self._env.max_episode_steps
            self.failed_in_a_row = 0
        except Failed as failed:
            self.stop()
            self.failed += 1
            self.failed_in_a_row += 1
            self.failure = self.failure or f"{failed} (game {len(self.ended) + 1})"
        outcome = info["winner"] * mark if terminated and mark is not None else -1
        self.ended.append((float(info.get("score", outcome)), int(largest)))

    def _action(self, answer: Any, mask: Any) -> int | None:
        """Return the legal action of an answer, or None."""
        try:
            action = action_of(self._env.game, answer, mask)
        except ValueError:
            return None
        return action if 0 <= action < len(mask) and mask[action] else None

    def record(self, seconds: float) -> Record:
        """Return the games so far, without their boards."""
        returns, tiles = map(np.array, zip(*self.ended, strict=True))
        faces = () if self._faces is None else tuple(self._faces.tolist())
        none = np.zeros((len(returns), 0, 0))
        return Record(returns, tiles, none, faces, self.answers, self.illegal, seconds)

    def row(self, record: Record, name: str, seed: int) -> Row:
        """Return the row of a record of these games."""
        row = summary(record, name, self._task.env, self._task.env_kwargs, seed)
        counts = ("illegal", "repeated", "failed", "failure")
        return Printed(row | {each: getattr(self, each) for each in counts})

    def stop(self) -> None:
        """End the strategy's process, if there is one."""
        if self._process is not None:
            self._process.stop()
            self._process = None


class Process:
    """A process that serves a strategy; what it sends may be anything."""

    def __init__(self, memory: int) -> None:
        theirs_in, self._boards = os.pipe()
        self._answers, theirs_out = os.pipe()
        alone = 1 << 30 | os.getpid()  # the number of a user that nobody else is
        numbers = map(str, (theirs_in, theirs_out, memory, alone))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", strategy_process.__file__, *numbers],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={n: v for n, v in os.environ.items() if n in KEPT} | ONE_THREAD,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        os.set_blocking(self._boards, False)  # it may read none
        self._unread = b""

    def load(self, source: Mapping[str, Any], seconds: float) -> str:
        """Load what `strategy_process.loaded` takes; return what that has defined."""
        if unlimited := self._read(time.perf_counter() + STARTING).get("unlimited"):
            _warn(", ".join(map(str, unlimited)))
        end = time.perf_counter() + seconds
        self._send(source, end)
        return str(self._read(end).get("kind"))

    def ask(self, boards: Sequence[Any], seconds: float) -> list[Any]:
        """Return the answers to a list of boards."""
        end = time.perf_counter() + seconds
        self._send(boards, end)
        answers = self._read(end, LONGEST + LONGEST_ANSWER * len(boards)).get("answers")
        if not isinstance(answers, list) or len(answers) != len(boards):
            raise Failed("it sends no answers")
        return answers

    def stop(self) -> None:
        """End it, and with it all that it has started."""
        self._process.kill()
        self._process.wait()
        os.close(self._boards)
        os.close(self._answers)

    def _send(self, message: Any, end: float) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        with suppress(BrokenPipeError):  # reading then says why
            while left:
                _wait(self._boards, select.POLLOUT, end)
                left = left[os.write(self._boards, left) :]

    def _read(self, end: float, longest: int = LONGEST) -> dict[str, Any]:
        """Return the next message, which must come before some time."""
        while b"\n" not in self._unread:
            _wait(self._answers, select.POLLIN, end)
            more = os.read(self._answers, 1 << 16)
            if not more or len(self._unread) > longest:
                raise Failed("its process has ended, or does not answer in lines")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        message = None
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
        if not isinstance(message, dict):
            raise Failed("it sends no answers")
        if "error" in message:
            raise Failed(printable(" ".join(str(message["error"]).split())))
        return message


def _wait(pipe: int, event: int, end: float) -> None:
    """Wait until a pipe can be read or written."""
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(min(max(0.0, end - time.perf_counter()), LONGEST_WAIT) * 1000):
        raise Failed("it has used up its seconds")


@cache  # once
def _warn(unlimited: str) -> None:
    print(f"warning: this system does not restrict a strategy's {unlimited}.", file=sys.stderr)
