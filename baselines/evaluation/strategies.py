"""The judge of written strategies, `def strategy(board) -> action`, and the rule of their games.

A strategy runs in a confined process (see `submissions`) and gets boards only; the games are played
here.
"""

import inspect
import signal
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.errors import Interrupted
from baselines.evaluation.rows import Printed, Row
from baselines.evaluation.sampled import Record, Stopped, summary
from baselines.evaluation.submissions import MEMORY, Failed, Process, Source, check_system
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
from tile_envs.words import counted

ENV = "Tiles2048-v0"
SECONDS = 5.0
"""The usual limit: seconds of a game."""
MOST_ILLEGAL, MOST_FAILED = 10, 3
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
    check_system()
    seconds, memory = checked_number(seconds, "seconds"), checked_count(memory, "memory")
    task, episodes = Task.of(*named(env, env_kwargs)), checked_count(episodes, "episodes")
    check_batch(episodes, "episodes", 64)
    seed, name = checked_seed(seed), name or "strategy"
    own, games, failures = make(task.env, task.env_kwargs), list[Played](), list[str]()
    process: Process | None = None
    answers = in_a_row = 0
    began = time.perf_counter()

    def result(name: str) -> tuple[Row, Record]:
        counts = {"failed": len(failures), "failure": failures[0] if failures else None}
        row, record = row_of(games, task, name, seed, time.perf_counter() - began)
        return Printed(row | counts), record

    try:
        with Progress(f"{name} on {task.env}", episodes) as progress:
            for word in game_seeds(seed, episodes).tolist():
                game, left = Played(own, word), seconds
                try:
                    if process is None:
                        process = Process(memory, seconds * (episodes + 1), Source(strategy))
                        process.load(seconds)
                    while not game.is_over:
                        asked = time.perf_counter()
                        (answer,) = process.ask([game.board().tolist()], left)
                        left -= time.perf_counter() - asked
                        game.play(answer)
                    in_a_row = 0
                except Failed as failed:
                    if process is not None:
                        process.stop()
                    process, in_a_row = None, in_a_row + 1
                    failures.append(f"{failed} (game {len(games) + 1})")
                games.append(game)
                answers += game.answers
                progress.update(len(games), counted(answers, "answer"))
                if in_a_row == MOST_FAILED and (left_out := episodes - len(games)):
                    return result(f"{name}, stopped with {counted(left_out, 'game')} left")[0]
    except KeyboardInterrupt as interrupt:
        stopped = Stopped(getattr(interrupt, "number", signal.SIGINT))
        if not games:
            text = "stopped without a result: no game has ended."
            raise Interrupted(stopped.number, text) from None
        stopped.row, stopped.record = result(f"{name}, stopped")
        raise stopped from None
    finally:
        if process is not None:
            process.stop()
    return result(name)[0]


def _source(strategy: Callable[..., Any]) -> str:
    """Return the source of a function, which ends by naming it."""
    name = getattr(strategy, "__name__", type(strategy).__name__)
    kind = "a lambda" if name == "<lambda>" else "a method" if inspect.ismethod(strategy) else ""
    try:
        source = textwrap.dedent(inspect.getsource(strategy))
    except (OSError, TypeError):
        kind = kind or f"{name}, whose source is not known,"
    if kind:
        raise UsageError(f"{kind} cannot be judged: write a function by def, or give its text.")
    return f"{source}\nstrategy = {name}"


def faces_of(game: Game) -> NDArray[Any] | None:
    """Return the faces that strategies see in place of tile indices; None in tic-tac-toe."""
    return np.array(game.rules.faces) if isinstance(game, SlidingGame) else None


def action_of(game: Game, answer: Any, mask: Any = None) -> int:
    """Return the action of an answer; a `ValueError` says if it is none of the mask's."""
    if isinstance(answer, str) and not answer.strip().isdecimal():
        return parse(game, answer, mask)
    action = int(answer) if isinstance(answer, str | int) else -1
    if not 0 <= action < game.n_actions or (mask is not None and not mask[action]):
        raise UsageError(f"{brief(answer)} is no legal action.")
    return action


class Played:
    """A game that a submission plays, by the one rule of all that is judged.

    An answer that is no legal action is illegal: it changes nothing, and is a step for a time
    limit.  `MOST_ILLEGAL` of them in a row end the game with its score so far, in tic-tac-toe as a
    loss.

    Attributes:
        env: Its environment, which plays no other game until it is over.
        answers: How many answers it has taken.
        illegal: How many of them were illegal.
        repeated: How many of these were given on the same board before.
        is_over: Whether it has ended.
    """

    def __init__(self, env: Any, seed: int) -> None:
        self.env, self._faces, self._wrong = env, faces_of(env.game), list[Any]()
        self._observation, self._info = env.reset(seed=seed)
        self._mark, self._largest = self._info.get("to_play"), self._info.get("max_tile", 0)
        self.answers = self.illegal = self.repeated = 0
        self.is_over = self._is_terminated = False

    def board(self, with_faces: bool = True) -> NDArray[Any]:
        """Return the board, `(R, C)`, by faces or as it is observed."""
        observation: NDArray[Any] = self._observation
        return self._faces[observation] if with_faces and self._faces is not None else observation

    def play(self, answer: Any) -> None:
        """Play an answer, which may be anything."""
        self.answers += 1
        try:
            action = action_of(self.env.game, answer, self._info["action_mask"])
        except ValueError:
            self.illegal += 1
            self.repeated += answer in self._wrong
            self._wrong.append(answer)
            self.is_over = len(self._wrong) == MOST_ILLEGAL
        else:
            self._wrong.clear()
            self._observation, _, self._is_terminated, truncated, self._info = self.env.step(action)
            self._largest = max(self._largest, self._info.get("max_tile", 0))  # tiles may shrink
            self.is_over = self._is_terminated or truncated
        self.is_over = self.is_over or self.answers == self.env.max_episode_steps

    @property
    def result(self) -> tuple[float, int]:
        """Return the score, or the outcome, and the largest tile."""
        outcome = self._info["winner"] * self._mark if self._is_terminated and self._mark else -1
        return float(self._info.get("score", outcome)), int(self._largest)


def row_of(
    games: Sequence[Played], task: Task, name: str, seed: int, seconds: float
) -> tuple[Row, Record]:
    """Return the row of `evaluate` of some games, with the counts of illegal answers; the games."""
    returns, tiles = map(np.array, zip(*(game.result for game in games), strict=True))
    faces, none = faces_of(task.game), np.zeros((len(games), 0, 0))
    answers, *counts = (
        sum(getattr(game, name) for game in games) for name in ("answers", "illegal", "repeated")
    )
    shown = () if faces is None else tuple(faces.tolist())
    record = Record(returns, tiles, none, shown, answers, counts[0], seconds)
    row = summary(record, name, task.env, task.env_kwargs, seed)
    return row | dict(zip(("illegal", "repeated"), counts, strict=True)), record
