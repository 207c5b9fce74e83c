"""The judge of other people's agents: of a written strategy, and of all submissions in a folder.

They get boards only, in confined processes; all games are played here, by the rule of `Played`.
"""

import inspect
import os
import secrets
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from baselines.agents import RandomAgent, Task
from baselines.errors import Interrupted
from baselines.evaluation import submissions
from baselines.evaluation.confined import STRATEGY, SUFFIX
from baselines.evaluation.rows import Printed, Row, cells_of, heading, table
from baselines.evaluation.sampled import Record, Stopped, summary
from baselines.evaluation.submissions import MEMORY, Failed, Submission
from baselines.progress import Progress
from baselines.seeds import game_seeds
from baselines.settings import check_batch
from tile_envs.base.checks import brief, checked_count, checked_number, checked_seed
from tile_envs.errors import UsageError
from tile_envs.games import AnyEnv, make, named
from tile_envs.sliding.game import SlidingGame
from tile_envs.words import counted, printable

ENV = "Tiles2048-v0"
SECONDS, SECONDS_IN_ALL = 5.0, 60.0  # the usual limits: of a strategy in a game, of a submission
MAX_ILLEGAL, MAX_FAILED = 10, 3
"""Illegal answers in a row that end a game, and failed games in a row that end the list."""
COLUMNS = ("share", "win", "draw", "loss", "worst", "mean", "low", "median", "max", "seconds")
"""The columns of the table of grades, of which a row has some."""
SIDE_BY_SIDE = 512  # games that a class plays at once; a strategy, which may remember, plays one


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
            whose last fenced block does; or a function, taken as its source, which imports what it
            needs.  The board is a list of rows of faces, 0 for an empty cell (in tic-tac-toe 1 for
            own marks, -1 for others); the answer is a word ("up"), a letter ("w") or a number.
        env: The environment or its id.
        episodes: The number of games.
        seed: The seed of the list of games.
        seconds: The wall-clock time of the strategy in a game, and that of its loading.
        env_kwargs: The environment's options.
        memory: The bytes that the strategy may take.
        name: Its name in the row.

    Returns:
        The row of `evaluate`, with the numbers of `illegal` answers, of those `repeated` on the
        same board, and of games in which it has `failed`; and the first `failure`, or None.

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
    own, games, failures = make(task.env, task.env_kwargs), list[Played](), dict[int, str]()
    interrupt, began = None, time.perf_counter()
    try:
        with Progress(f"{name} on {task.env}", episodes) as progress:
            for word in game_seeds(seed, episodes).tolist():
                game, process.left = Played(own, word), seconds
                try:
                    if not process.kind:
                        process.load(strategy)
                        process.left = seconds
                    play(process, [game])
                except Failed as failed:
                    process.stop()
                    failures[len(games)] = f"{failed} (game {len(games) + 1})"
                games.append(game)
                progress.update(len(games), f"{len(games):,} of {counted(episodes, 'game')}")
                last, left = range(len(games) - MAX_FAILED, len(games)), episodes - len(games)
                if left and failures.keys() >= {*last}:
                    name += f", stopped with {counted(left, 'game')} left"
                    break
    except KeyboardInterrupt as stopped:
        if not games:
            raise Interrupted(stopped, "stopped without a result: no game has ended.") from None
        interrupt, name = stopped, f"{name}, stopped"
    finally:
        process.stop()
    row, record = results_of(games, task, name, seed, time.perf_counter() - began)
    row = Printed(row, failed=len(failures), failure=next(iter(failures.values()), None))
    if interrupt:
        raise Stopped(interrupt, record, row)
    return row


def _source(strategy: Callable[..., Any]) -> str:
    name, source = getattr(strategy, "__name__", ""), ""
    with suppress(OSError, TypeError):
        source = textwrap.dedent(inspect.getsource(strategy))
    if not (source and name.isidentifier()) or inspect.ismethod(strategy):
        raise UsageError(f"{brief(strategy)} has no source: write a def, or give a text.")
    return f"{source}\nstrategy = {name}"


class Grades(list[Row]):
    """Rows of submissions, printed as a table: the best one first, then what has no grade."""

    def __str__(self) -> str:
        graded = [row for row in self if not row["error"]]
        graded.sort(key=lambda row: -next(row[n] for n in ("share", "mean", "win") if n in row))
        failed = [[row["agent"], f"  no grade: {row['error']}"] for row in self if row["error"]]
        if not graded:
            return "\n".join(table([["", ""], *failed])[1:])
        row = graded[0]
        how = f"{row['episodes']:,} games, seed {row['seed']}" if "low" in row else "exactly"
        head = heading(row["env"], row["env_kwargs"], how, f"agent seed {row['agent_seed']}")
        cells = cells_of([(row["agent"], row) for row in graded], [n for n in COLUMNS if n in row])
        return "\n".join([head, *table([*cells, *failed])])


class GradingStopped(Interrupted):
    """Grading was interrupted; `rows` are those of the submissions before."""

    rows: Grades


def grade(
    folder: str | Path,
    env: AnyEnv = ENV,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: int = 1000,
    seed: int = 0,
    seconds: float = SECONDS_IN_ALL,
    *,
    exact: bool = False,
    memory: int = MEMORY,
    agent_seed: int | None = None,
    keep: Callable[[Grades], None] | None = None,
) -> Grades:
    """Grade all submissions in a folder, each in a confined process of its own.

        rows = grade("submissions", "Tiles2048-v0", {"shape": (2, 3)}, exact=True)

    Args:
        folder: Each file `*.py` and each folder in it is a submission.  It (one file of a folder)
            defines one class, made as `Class(game, seed)`, with `predict(boards, action_masks)`,
            which returns actions `(n,)`, or instead with `afterstate_values(boards)`, whose highest
            r + V(s') is played, or, if exact, `action_probabilities(boards)`; or it defines a
            function `strategy(board)` as `judge` takes it.
        env: The environment or its id.
        env_kwargs: The environment's options.
        episodes: The number of games, the same for all submissions.
        seed: The seed of the list of games.
        seconds: The wall-clock time of a submission in all, its loading included.
        exact: Compute the results, as `evaluate_exactly` does, instead of playing games.
        memory: The bytes that a submission may take.
        agent_seed: The seed of the classes; if not given, the system draws one.
        keep: Called with the rows so far before the next submission begins.

    Returns:
        A row for each entry of the folder, by name: that of `evaluate_exactly`, or of `judge`
        without failures; `agent_seed`; `seconds` taken; and the `error`, if it has no grade.

    Raises:
        ValueError: If an argument is unusable, or there is nothing in the folder.
        GradingStopped: If it is interrupted.
    """
    from baselines.evaluation.exact import evaluate_exactly  # late: it compiles

    episodes, seed, seconds, memory = checked_limits(episodes, seed, seconds, memory)
    agent_seed = secrets.randbits(32) if agent_seed is None else checked_seed(agent_seed)
    task = Task.of(*named(env, env_kwargs))
    found = sorted(Path(folder).glob("*"))
    entries = [each for each in found if not submissions.LEFT_OUT.match(each.name)]
    if not entries:
        raise UsageError(f"{folder} holds no submissions: expected a folder with files *{SUFFIX}.")
    try:
        made_with = {"game": task.game.to_json(), "seed": agent_seed, "exact": exact}
    except TypeError:
        raise UsageError("submissions play placers and opponents by name, not objects.") from None
    if exact:  # wrong options are told before anything is asked
        evaluate_exactly(RandomAgent(task.game), task.env, task.env_kwargs)
    rows = Grades()
    with Progress("submissions", len(entries)) as progress:
        for entry in entries:
            name = printable(entry.name)
            progress.update(len(rows), name)
            row = {"agent": name, "error": None, "seconds": 0.0, "agent_seed": agent_seed}
            row |= {"env": task.env, "env_kwargs": dict(task.env_kwargs)}
            process = Submission(task.game, memory, seconds, seconds)
            try:
                process.load(made_with=made_with, **submissions.files_of(entry))
                if exact:
                    row |= evaluate_exactly(process, task.env, task.env_kwargs, name=name)
                else:
                    row |= _played(process, task, name, episodes, seed)
            except KeyboardInterrupt as interrupt:
                text = f"stopped: {len(rows)} of {counted(len(entries), 'submission')} graded."
                stopped = GradingStopped(interrupt, text)
                stopped.rows = rows
                raise stopped from None
            except Exception as error:  # whatever it is, others are graded still
                text = " ".join(str(error).split()) or type(error).__name__
                row["error"] = printable(text).removeprefix("UsageError: ")
            finally:
                process.stop()
            rows.append(row | {"seconds": round(seconds - process.left, 3)})
            if keep is not None:
                keep(rows)
    return rows


def _played(process: Submission, task: Task, name: str, episodes: int, seed: int) -> Row:
    side_by_side = 1 if process.kind == STRATEGY else min(episodes, SIDE_BY_SIDE)
    seeds, began = iter(game_seeds(seed, episodes).tolist()), time.perf_counter()
    games = [Played(make(task.env, task.env_kwargs), next(seeds)) for _ in range(side_by_side)]
    play(process, games, seeds)
    return results_of(games, task, name, seed, time.perf_counter() - began)[0]


def checked_limits(episodes: int, seed: int, seconds: float, memory: int) -> tuple[Any, ...]:
    """Return the numbers that `judge` and `grade` take, checked, on a system that has limits."""
    if os.name != "posix":
        raise UsageError("strategies are judged on Linux and macOS: elsewhere nothing limits them.")
    episodes, seed = checked_count(episodes, "episodes"), checked_seed(seed)
    check_batch(episodes, "episodes", 64)
    seconds = min(checked_number(seconds, "seconds"), 1e6)  # more, a socket cannot wait
    return episodes, seed, seconds, checked_count(memory, "memory")


class Played:
    """A game that a submission plays, by the one rule of all that is judged.

    An answer that is no legal action is illegal: it changes nothing, and is a step for a time
    limit.  `MAX_ILLEGAL` of them in a row end the game with its score so far, in tic-tac-toe as a
    loss.  It counts answers, illegal ones, and of these the `repeated` ones on the same board.  Its
    environment plays no other game until it is over.
    """

    def __init__(self, env: Any, seed: int) -> None:
        self.env, self._wrong, self.is_over = env, list[Any](), False
        self.observation, info = env.reset(seed=seed)
        self._mask, self._mark = info["action_mask"], info.get("to_play", 0)
        self.score, self.largest = info.get("score", -1), info.get("max_tile", 0)
        self.answers = self.illegal = self.repeated = 0

    def play(self, answer: Any) -> None:
        self.answers += 1
        try:
            action = submissions.action_of(self.env.game, answer, self._mask)
        except ValueError:
            self.illegal += 1
            self.repeated += answer in self._wrong
            self._wrong.append(answer)
            self.is_over = len(self._wrong) == MAX_ILLEGAL
        else:
            self._wrong.clear()
            self.observation, _, terminated, truncated, info = self.env.step(action)
            self._mask, self.is_over = info["action_mask"], terminated or truncated
            outcome = info["winner"] * self._mark if terminated and self._mark else -1
            self.score = info.get("score", outcome)
            self.largest = max(self.largest, info.get("max_tile", 0))  # tiles may shrink
        self.is_over = self.is_over or self.answers == self.env.max_episode_steps


def play(process: Submission, games: list[Played], seeds: Iterable[int] = ()) -> None:
    """Play games to their ends; where one ends, one of the next seed begins, and is added."""
    playing, left = [*games], iter(seeds)
    while playing:
        answers = process.answers(np.array([game.observation for game in playing]))
        for n, (game, answer) in enumerate(zip(playing, answers, strict=True)):
            game.play(answer)
            if game.is_over and (seed := next(left, None)) is not None:
                playing[n] = Played(game.env, seed)
                games.append(playing[n])
        playing = [game for game in playing if not game.is_over]


def results_of(
    games: Sequence[Played], task: Task, name: str, seed: int, seconds: float
) -> tuple[Row, Record]:
    """Return the row of some games, that of `summary` with the counts of `Played`; their record."""
    returns = np.array([game.score for game in games], np.float64)
    tiles = np.array([game.largest for game in games], np.int64)
    boards = np.array([game.observation for game in games])
    answers, illegal = sum(game.answers for game in games), sum(game.illegal for game in games)
    faces = task.game.rules.faces if isinstance(task.game, SlidingGame) else ()
    record = Record(returns, tiles, boards, faces, answers, illegal, seconds)
    row = summary(record, name, task.env, task.env_kwargs, seed) | {"illegal": illegal}
    return row | {"repeated": sum(game.repeated for game in games)}, record
