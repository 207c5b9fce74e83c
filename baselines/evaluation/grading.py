"""Grades of submissions: files with one agent each, asked in processes of their own.

None is imported or unpickled here.  A process gets a game and boards (see `strategy_process`); the
games are played, and exact results computed, on this side.
"""

from __future__ import annotations

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
from baselines.evaluation import strategies
from baselines.evaluation.class_process import PROBABILITIES
from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.rows import Row, interval_text, options_of
from baselines.evaluation.sampled import evaluated
from baselines.evaluation.strategies import ENV, MEMORY, SUFFIX, Failed, Process
from baselines.evaluation.strategy_process import STRATEGY
from baselines.progress import Progress
from baselines.seeds import seed_sequence
from baselines.task import Task
from tile_envs.agents import Agent
from tile_envs.base.checks import checked_count, checked_number, checked_seed
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import AnyEnv, named
from tile_envs.words import counted, number, printable

SECONDS = 60.0
"""The usual limit: seconds of a submission in all."""
PACKAGES = Path(__file__).parents[2]
"""The folder that this package is in."""
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
) -> Grades:
    """Grade all submissions in a folder, each in a confined process of its own.

        rows = grade("submissions", "Tiles2048-v0", {"shape": (2, 3)}, exact=True)

    Args:
        folder: Every file `*.py` in it, or in a folder in it, is a submission.  It defines one
            class, made as `Class(game, seed)`, with `predict(boards, action_masks)`, which returns
            actions `(n,)`; or a function `strategy(board)` as `judge` takes it.
        env: The environment or its id.
        env_kwargs: The environment's options.
        episodes: The number of games, the same for all submissions.
        seed: The seed of the list of games, from which the seed of the classes is drawn, too.
        seconds: The wall-clock time of a submission in all, its loading included.
        exact: Compute the results exactly, as `evaluate_exactly` does, instead of playing games.
        memory: The bytes that a submission may take.

    Returns:
        A row for each submission in the order of their names: the row of `evaluate_exactly`, or
        that of `evaluate` with the number of `illegal` actions; the `seconds` that it has taken;
        and the `error` for which it has no grade, or None.

    Raises:
        ValueError: If an argument is unusable, or there is no folder or no submission in it.
        GradingStopped: If it is interrupted.
    """
    strategies.check_system()
    seconds, memory = checked_number(seconds, "seconds"), checked_count(memory, "memory")
    episodes, seed = checked_count(episodes, "episodes"), checked_seed(seed)
    task = Task.of(*named(env, env_kwargs))
    if not Path(folder).is_dir():
        kind = "a file" if Path(folder).exists() else "not there"
        raise UsageError(f"{folder} is {kind}: expected a folder of submissions.")
    patterns = f"*{SUFFIX}", f"*/*{SUFFIX}"
    files = sorted(path for each in patterns for path in Path(folder).glob(each) if path.is_file())
    if not files:
        raise UsageError(f"{folder} holds no submissions: expected a folder with files *{SUFFIX}.")
    own_seed = int(seed_sequence(seed, "submissions").generate_state(1)[0])
    made_with = {"game": _json(task.game), "seed": own_seed, "exact": exact}

    def row_of(agent: Agent, name: str, episodes: int) -> Row:
        if exact:
            return evaluate_exactly(agent, task.env, task.env_kwargs, name=name)
        row, record = evaluated(agent, task.env, task.env_kwargs, episodes, seed, name=name)
        return row | {"illegal": record.illegal}

    rows = Grades()
    with Progress("submissions", len(files)) as progress:
        row_of(RandomAgent(task.game), "random", 1)  # so that wrong options are told first
        for path in files:
            name = printable(path.relative_to(folder).as_posix())
            progress.update(len(rows), name)
            row = {"agent": name, "error": None, "seconds": 0.0}
            row |= {"env": task.env, "env_kwargs": dict(task.env_kwargs)}
            submission = Submission(task.game, seconds, memory)
            try:
                submission.load(path, made_with)
                row |= row_of(submission, name, episodes)
            except (Failed, UsageError, OSError) as error:
                row["error"] = printable(" ".join(str(error).split())).removeprefix("UsageError: ")
            except KeyboardInterrupt as interrupt:
                raise GradingStopped(interrupt, rows, len(files)) from None
            finally:
                submission.stop()
            rows.append(row | {"seconds": round(submission.seconds, 3)})
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
        games_at_once: How many games an evaluation is to play side by side: one with a strategy,
            which may remember its game.
    """

    def __init__(self, game: Game, seconds: float, memory: int) -> None:
        self._game, self._limit, self._process = game, seconds, Process(memory)
        self._kind, self.seconds = "", 0.0

    def load(self, path: Path, made_with: Mapping[str, Any]) -> None:
        """Load a file; see `strategy_process.loaded`."""
        source = {"source": strategies.source_of(path), "file": str(path.resolve())}
        packages = {"packages": str(PACKAGES), "made_with": made_with}
        self._kind = self._timed(self._process.load, source | packages)
        if self._kind == STRATEGY:
            self.games_at_once = 1
        if self._kind == PROBABILITIES:
            self.action_probabilities = self._probabilities

    def predict(self, observation: NDArray[Any]) -> Any:
        """Return its answers to observations `(n, R, C)`, which evaluation checks."""
        if self._kind != STRATEGY:
            return self._timed(self._process.ask, observation.tolist())
        faces = strategies.faces_of(self._game)
        boards = observation if faces is None else faces[observation]
        answers = self._timed(self._process.ask, boards.tolist())
        return [strategies.action_of(self._game, answer) for answer in answers]

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
            lines.append(", ".join([row["env"], *options_of(row), played]))
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
