"""Grades of submissions: files or folders with one agent each, asked in processes of their own.

A process gets a game and boards (see `confined`); the games are played, and exact results computed,
on this side.
"""

import secrets
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from baselines.agents import RandomAgent
from baselines.errors import Interrupted
from baselines.evaluation.confined import PROBABILITIES, STRATEGY
from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.rows import Row, interval_text, options_of
from baselines.evaluation.strategies import ENV, Played, action_of, faces_of, row_of
from baselines.evaluation.submissions import (
    MEMORY,
    SUFFIX,
    Failed,
    Process,
    check_system,
    is_left_out,
    source_of,
)
from baselines.progress import Progress
from baselines.seeds import game_seeds
from baselines.settings import check_batch
from baselines.task import Task
from tile_envs.base.checks import checked_count, checked_number, checked_seed
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import AnyEnv, make, named
from tile_envs.words import counted, number, printable

SECONDS = 60.0
"""The usual limit: seconds of a submission in all."""
SIDE_BY_SIDE = 512
"""Games that a class plays at once; a strategy, which may remember its game, plays one."""
INTERVAL = "95 % interval"

T = TypeVar("T")


class Grades(list[Row]):
    """Rows of submissions, printed as a table, the best one first."""

    def __str__(self) -> str:
        return _table(self)


class GradingStopped(Interrupted):
    """Grading was interrupted; `rows` are those of the submissions before."""

    def __init__(self, interrupt: KeyboardInterrupt, rows: Grades, total: int) -> None:
        number = getattr(interrupt, "number", signal.SIGINT)
        super().__init__(number, f"stopped: {len(rows)} of {counted(total, 'submission')} graded.")
        self.rows = rows


def grade(
    folder: str | Path,
    env: AnyEnv = ENV,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: int = 1000,
    seed: int = 0,
    seconds: float = SECONDS,
    *,
    exact: bool = False,
    memory: int = MEMORY,
    agent_seed: int | None = None,
    keep: Callable[[Grades], None] | None = None,
) -> Grades:
    """Grade all submissions in a folder, each in a confined process of its own.

        rows = grade("submissions", "Tiles2048-v0", {"shape": (2, 3)}, exact=True)

    Args:
        folder: Each file `*.py` and each folder in it is a submission.  It defines one class, made
            as `Class(game, seed)`, with `predict(boards, action_masks)`, which returns actions
            `(n,)`; or a function `strategy(board)` as `judge` takes it.  Of a folder, one file
            does, and can import the others.
        env: The environment or its id.
        env_kwargs: The environment's options.
        episodes: The number of games, the same for all submissions.
        seed: The seed of the list of games.
        seconds: The wall-clock time of a submission in all, its loading included.
        exact: Compute the results exactly, as `evaluate_exactly` does, instead of playing games.
        memory: The bytes that a submission may take.
        agent_seed: The seed of the classes; if not given, the system draws one.
        keep: Called with the rows so far before the next submission begins.

    Returns:
        A row for each entry of the folder in the order of their names: the row of
        `evaluate_exactly`, or that of `evaluate` with the numbers of `illegal` answers, and of
        those among them that were `repeated` on the same board; the `agent_seed`; the `seconds`
        that it has taken; and the `error` for which it has no grade, or None.

    Raises:
        ValueError: If an argument is unusable, or there is no folder or nothing in it.
        GradingStopped: If it is interrupted.
    """
    check_system()
    seconds, memory = checked_number(seconds, "seconds"), checked_count(memory, "memory")
    episodes, seed = checked_count(episodes, "episodes"), checked_seed(seed)
    agent_seed = secrets.randbits(32) if agent_seed is None else checked_seed(agent_seed)
    task = Task.of(*named(env, env_kwargs))
    if not Path(folder).is_dir():
        kind = "a file" if Path(folder).exists() else "not there"
        raise UsageError(f"{folder} is {kind}: expected a folder of submissions.")
    entries = sorted(each for each in Path(folder).iterdir() if not is_left_out(each.name))
    if not entries:
        raise UsageError(f"{folder} holds no submissions: expected a folder with files *{SUFFIX}.")
    made_with = {"game": _json(task.game), "seed": agent_seed, "exact": exact}
    check_batch(episodes, "episodes", 64)
    if exact:  # wrong options are told before anything is asked
        evaluate_exactly(RandomAgent(task.game), task.env, task.env_kwargs)
    rows = Grades()
    with Progress("submissions", len(entries)) as progress:
        for entry in entries:
            name = printable(entry.name)
            progress.update(len(rows), name)
            row = {"agent": name, "error": None, "seconds": 0.0, "agent_seed": agent_seed}
            row |= {"env": task.env, "env_kwargs": dict(task.env_kwargs)}
            submission = None
            try:
                submission = Submission(task, entry, seconds, memory)
                submission.load(made_with)
                if exact:
                    row |= evaluate_exactly(submission, task.env, task.env_kwargs, name=name)
                else:
                    row |= submission.row(name, episodes, seed)
            except KeyboardInterrupt as interrupt:
                raise GradingStopped(interrupt, rows, len(entries)) from None
            except Exception as error:  # whatever it is, others are graded still
                text = " ".join(str(error).split()) or type(error).__name__
                row["error"] = printable(text).removeprefix("UsageError: ")
            finally:
                if submission is not None:
                    submission.stop()
                    row["seconds"] = round(submission.seconds, 3)
            rows.append(row)
            if keep is not None:
                keep(rows)
    return rows


def _json(game: Game) -> str:
    try:
        return game.to_json()
    except TypeError:
        raise UsageError("submissions play placers and opponents by name, not objects.") from None


class Submission:
    """An agent in a process of its own; see `grade`.

    Attributes:
        seconds: The wall-clock time that it has taken.
    """

    def __init__(self, task: Task, entry: Path, seconds: float, memory: int) -> None:
        self._task, self._limit = task, seconds
        self._process = Process(memory, seconds, source_of(entry))
        self._kind, self.seconds = "", 0.0

    def load(self, made_with: Mapping[str, Any]) -> None:
        """Load its files, see `confined.loaded`."""
        self._kind = self._timed(lambda made, left: self._process.load(left, made), made_with)
        if self._kind == PROBABILITIES:
            self.action_probabilities = self._probabilities

    def row(self, name: str, episodes: int, seed: int) -> Row:
        """Play the list of games of `evaluate`; return its row."""
        side_by_side = 1 if self._kind == STRATEGY else min(episodes, SIDE_BY_SIDE)
        seeds, began = iter(game_seeds(seed, episodes).tolist()), time.perf_counter()
        envs = [make(self._task.env, self._task.env_kwargs) for _ in range(side_by_side)]
        playing = [Played(env, next(seeds)) for env in envs]
        games = [*playing]
        while playing:
            boards = [game.board(self._kind == STRATEGY).tolist() for game in playing]
            for n, answer in enumerate(self._timed(self._process.ask, boards)):
                playing[n].play(answer)
                if playing[n].is_over and (word := next(seeds, None)) is not None:
                    playing[n] = Played(playing[n].env, word)
                    games.append(playing[n])
            playing = [game for game in playing if not game.is_over]
        return row_of(games, self._task, name, seed, time.perf_counter() - began)[0]

    def predict(self, observation: NDArray[Any]) -> Any:
        """Return its answers to observations `(n, R, C)`, which exact evaluation checks."""
        faces = faces_of(self._task.game) if self._kind == STRATEGY else None
        boards = observation if faces is None else faces[observation]
        answers = self._timed(self._process.ask, boards.tolist())
        return [action_of(self._task.game, answer) for answer in answers]

    def _probabilities(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        answers = self._timed(self._process.ask, observations.tolist())
        with suppress(ValueError, TypeError, OverflowError):
            probabilities = np.asarray(answers, np.float64)
            if np.isfinite(probabilities).all():
                return probabilities
        raise Failed("its probabilities are no finite numbers")

    def _timed(self, ask: Callable[[Any, float], T], message: Any) -> T:
        began = time.perf_counter()
        try:
            return ask(message, self._limit - self.seconds)
        finally:
            self.seconds += time.perf_counter() - began

    def stop(self) -> None:
        """End its process."""
        self._process.stop()


def _table(rows: Sequence[Row]) -> str:
    """Return rows of `grade` as a table, the best first, then what has no grade, and why."""
    width = max(len(row["agent"]) for row in rows)

    def line(name: str, cells: Mapping[str, str]) -> str:
        texts = (f"{text:>{22 if n == INTERVAL else 11}}" for n, text in cells.items())
        return f"  {name:<{width}}{''.join(texts)}"

    lines: list[str] = []
    for row in sorted((row for row in rows if not row["error"]), key=_mark, reverse=True):
        cells = _cells(row)
        if not lines:
            played = f"{row['episodes']:,} games, seed {row['seed']}" if "low" in row else "exactly"
            drawn = f"agent seed {row['agent_seed']}"
            lines.append(", ".join([row["env"], *options_of(row), played, drawn]))
            lines.append(line("", {name: name for name in cells}))
        lines.append(line(row["agent"], cells))
    failed = (row for row in rows if row["error"])
    return "\n".join(lines + [f"  {r['agent']:<{width}}  no grade: {r['error']}" for r in failed])


def _mark(row: Row) -> float:
    mark: float = row[next(name for name in ("share", "mean", "win") if name in row)]
    return mark


def _cells(row: Row) -> dict[str, str]:
    """Return what the table shows of a row, by column."""
    fractions: tuple[str, ...] = ("share", "win", "draw", "loss")
    cells = {name: f"{row[name]:.2%}" for name in fractions if name in row}
    cells |= {name: number(row[name]) for name in ("worst", "mean") if name in row}
    if "low" in row:
        cells |= {INTERVAL: interval_text(row)}
        cells |= {name: number(row[name]) for name in ("median", "max")}
    return cells | {"seconds": f"{row['seconds']:.1f}"}
