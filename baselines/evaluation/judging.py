"""The judge of other people's agents, and the one rule of the games that they play.

A submission runs in a confined process (see `submissions`) and gets boards only; the games are
played here.
"""

import inspect
import os
import signal
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.agents import Task
from baselines.errors import Interrupted
from baselines.evaluation.confined import PROBABILITIES, STRATEGY
from baselines.evaluation.rows import Printed, Row
from baselines.evaluation.sampled import Record, Stopped, summary
from baselines.evaluation.submissions import MEMORY, Failed, Process
from baselines.progress import Progress
from baselines.seeds import game_seeds
from baselines.settings import check_batch
from tile_envs.base.checks import brief, checked_count, checked_number, checked_seed
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import AnyEnv, make, named
from tile_envs.sliding.game import SlidingGame
from tile_envs.text import parse
from tile_envs.words import counted

ENV = "Tiles2048-v0"
SECONDS = 5.0
"""The usual limit: seconds of a game."""
MAX_ILLEGAL, MAX_FAILED = 10, 3
"""Illegal answers in a row that end a game, and failed games in a row that end the list."""


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
        strategy: Python source that defines `strategy(board)`, or an answer of a language model
            whose last fenced block does; or a function, which is taken as its source, and so
            imports itself what it needs.  The board is a list of rows of faces, 0 for an empty cell
            (in tic-tac-toe 1 for own marks, -1 for others); the answer is a word ("up"), a letter
            ("w", "a", "s", "d"), or the number of an action.
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
        name, strategy = name or getattr(strategy, "__name__", None), _source(strategy)
    if not isinstance(strategy, str):
        raise UsageError(f"a strategy is a text or a function, got {brief(strategy)}.")
    task, name = Task.of(*named(env, env_kwargs)), name or "strategy"
    episodes, seed, seconds, memory = checked_limits(episodes, seed, seconds, memory)
    process = Submission(task.game, memory, seconds, seconds * (episodes + 1))
    own, games, failures = make(task.env, task.env_kwargs), list[Played](), list[str]()
    in_a_row, answers, began = 0, 0, time.perf_counter()

    def result(name: str) -> tuple[Row, Record]:
        row, record = row_of(games, task, name, seed, time.perf_counter() - began)
        counts = {"failed": len(failures), "failure": failures[0] if failures else None}
        return Printed(row | counts), record

    try:
        with Progress(f"{name} on {task.env}", episodes) as progress:
            for word in game_seeds(seed, episodes).tolist():
                game, process.left = Played(own, word), seconds
                try:
                    if not process.kind:
                        process.load({"source": strategy})
                        process.left = seconds
                    process.play([game])
                    in_a_row = 0
                except Failed as failed:
                    process.stop()
                    in_a_row += 1
                    failures.append(f"{failed} (game {len(games) + 1})")
                games.append(game)
                answers += game.answers
                progress.update(len(games), counted(answers, "answer"))
                if in_a_row == MAX_FAILED and (left := episodes - len(games)):
                    name += f", stopped with {counted(left, 'game')} left"
                    break
    except KeyboardInterrupt as interrupt:
        stopped = Stopped(getattr(interrupt, "number", signal.SIGINT))
        if not games:
            text = "stopped without a result: no game has ended."
            raise Interrupted(stopped.number, text) from None
        stopped.row, stopped.record = result(f"{name}, stopped")
        raise stopped from None
    finally:
        process.stop()
    return result(name)[0]


def _source(strategy: Callable[..., Any]) -> str:
    """Return the source of a function, which ends by naming it."""
    name, source = getattr(strategy, "__name__", ""), ""
    with suppress(OSError, TypeError):
        source = textwrap.dedent(inspect.getsource(strategy))
    if not (source and name.isidentifier()) or inspect.ismethod(strategy):
        raise UsageError(
            f"{brief(strategy)} cannot be judged by its source: write a def, or give a text."
        )
    return f"{source}\nstrategy = {name}"


def checked_limits(episodes: int, seed: int, seconds: float, memory: int) -> tuple[Any, ...]:
    """Return the numbers that `judge` and `grade` take, checked, on a system that has limits."""
    if os.name != "posix":
        raise UsageError("strategies are judged on Linux and macOS: elsewhere nothing limits them.")
    episodes, seed = checked_count(episodes, "episodes"), checked_seed(seed)
    check_batch(episodes, "episodes", 64)
    return episodes, seed, checked_number(seconds, "seconds"), checked_count(memory, "memory")


class Played:
    """A game that a submission plays, by the one rule of all that is judged.

    An answer that is no legal action is illegal: it changes nothing, and is a step for a time
    limit.  `MAX_ILLEGAL` of them in a row end the game with its score so far, in tic-tac-toe as a
    loss.  It counts its answers, the illegal ones, and those of them that were given on the same
    board before.  Its environment plays no other game until it is over.
    """

    def __init__(self, env: Any, seed: int) -> None:
        self.env, self._wrong = env, list[Any]()
        self.observation, self._info = env.reset(seed=seed)
        self._mark, self._largest = self._info.get("to_play"), self._info.get("max_tile", 0)
        self.answers = self.illegal = self.repeated = 0
        self.is_over = self._is_terminated = False

    def play(self, answer: Any) -> None:
        """Play an answer, which may be anything."""
        self.answers += 1
        try:
            action = action_of(self.env.game, answer, self._info["action_mask"])
        except ValueError:
            self.illegal += 1
            self.repeated += answer in self._wrong
            self._wrong.append(answer)
            self.is_over = len(self._wrong) == MAX_ILLEGAL
        else:
            self._wrong.clear()
            self.observation, _, self._is_terminated, truncated, self._info = self.env.step(action)
            self._largest = max(self._largest, self._info.get("max_tile", 0))  # tiles may shrink
            self.is_over = self._is_terminated or truncated
        self.is_over = self.is_over or self.answers == self.env.max_episode_steps

    @property
    def result(self) -> tuple[float, int]:
        """The score, or the outcome, and the largest tile."""
        outcome = self._info["winner"] * self._mark if self._is_terminated and self._mark else -1
        return float(self._info.get("score", outcome)), int(self._largest)


def action_of(game: Game, answer: Any, mask: Any = None) -> int:
    """Return the action of an answer; a `ValueError` says if it is none of the mask's."""
    if isinstance(answer, str) and not answer.strip().isdecimal():
        return parse(game, answer, mask)
    action = int(answer) if isinstance(answer, str | int) else -1
    if not 0 <= action < game.n_actions or (mask is not None and not mask[action]):
        raise UsageError(f"{brief(answer)} is no legal action.")
    return action


class Submission(Process):
    """The process of a submission as an agent of a game, which exact evaluation takes."""

    action_probabilities: Callable[[NDArray[Any]], NDArray[np.float64]] | None = None

    def __init__(self, game: Game, memory: int, seconds: float, cpu_seconds: float) -> None:
        super().__init__(memory, seconds, cpu_seconds)
        self.game = game
        self._faces = np.array(game.rules.faces if isinstance(game, SlidingGame) else ())

    def load(self, *source: Any) -> None:
        """Load a source, as of a `Process`."""
        super().load(*source)
        if self.kind == PROBABILITIES:
            self.action_probabilities = self._probabilities

    def play(self, games: list[Played], seeds: Iterable[int] = ()) -> None:
        """Play games to their ends; where one ends, one of the next seed begins, and is added."""
        playing, left = [*games], iter(seeds)
        while playing:
            answers = self.answers(np.array([game.observation for game in playing]))
            for n, answer in enumerate(answers):
                game = playing[n]
                game.play(answer)
                if game.is_over and (seed := next(left, None)) is not None:
                    playing[n] = Played(game.env, seed)
                    games.append(playing[n])
            playing = [game for game in playing if not game.is_over]

    def answers(self, boards: NDArray[Any]) -> list[Any]:
        """Return the answers to observations `(n, R, C)`; a strategy sees faces in their place."""
        if self.kind == STRATEGY and self._faces.size:
            boards = self._faces[boards]
        return self.ask(boards.tolist())

    def predict(self, observation: NDArray[Any]) -> list[int]:
        """Return the actions on observations `(n, R, C)`, which exact evaluation checks."""
        return [action_of(self.game, answer) for answer in self.answers(observation)]

    def _probabilities(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        answers = self.answers(observations)
        with suppress(ValueError, TypeError, OverflowError):
            probabilities = np.asarray(answers, np.float64)
            if np.isfinite(probabilities).all():
                return probabilities
        raise Failed("its probabilities are no finite numbers")


def row_of(
    games: Sequence[Played], task: Task, name: str, seed: int, seconds: float
) -> tuple[Row, Record]:
    """Return the row of `evaluate` of some games, with the counts of illegal answers; the games."""
    returns, tiles = map(np.array, zip(*(game.result for game in games), strict=True))
    counts = [(game.answers, game.illegal, game.repeated) for game in games]
    answers, illegal, repeated = np.sum(counts, axis=0).tolist()
    faces = task.game.rules.faces if isinstance(task.game, SlidingGame) else ()
    no_boards = np.zeros((len(games), 0, 0))
    record = Record(returns, tiles, no_boards, faces, answers, illegal, seconds)
    row = summary(record, name, task.env, task.env_kwargs, seed)
    return row | {"illegal": illegal, "repeated": repeated}, record
