"""Grades of submissions: files or folders with one agent each."""

import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from baselines.agents import RandomAgent, Task
from baselines.errors import Interrupted
from baselines.evaluation.confined import STRATEGY, SUFFIX
from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.judging import ENV, Played, checked_limits, play, results_of
from baselines.evaluation.rows import Row, cells_of, options_of, table
from baselines.evaluation.submissions import LEFT_OUT, MEMORY, Submission, files_of
from baselines.progress import Progress
from baselines.seeds import game_seeds
from tile_envs.base.checks import checked_seed
from tile_envs.errors import UsageError
from tile_envs.games import AnyEnv, make, named
from tile_envs.words import counted, printable

SECONDS = 60.0
"""The usual limit: seconds of a submission in all."""
COLUMNS = ("share", "win", "draw", "loss", "worst", "mean", "low", "median", "max", "seconds")
"""The columns of the table, of which a row has some."""
SIDE_BY_SIDE = 512
"""Games that a class plays at once; a strategy, which may remember its game, plays one."""


class Grades(list[Row]):
    """Rows of submissions, printed as a table: the best one first, then what has no grade."""

    def __str__(self) -> str:
        graded = [row for row in self if not row["error"]]
        marks = ("share", "mean", "win")
        graded.sort(key=lambda row: -next(row[name] for name in marks if name in row))
        failed = [[row["agent"], f"  no grade: {row['error']}"] for row in self if row["error"]]
        if not graded:
            return "\n".join(table([["", ""], *failed])[1:])
        row = graded[0]
        how = f"{row['episodes']:,} games, seed {row['seed']}" if "low" in row else "exactly"
        heading = [row["env"], *options_of(row), how, f"agent seed {row['agent_seed']}"]
        cells = cells_of([(row["agent"], row) for row in graded], [n for n in COLUMNS if n in row])
        return "\n".join([", ".join(heading), *table([*cells, *failed])])


class GradingStopped(Interrupted):
    """Grading was interrupted; `rows` are those of the submissions before."""

    rows: Grades


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
        folder: Each file `*.py` and each folder in it is a submission.  It (one file of a folder)
            defines one class, made as `Class(game, seed)`, with `predict(boards, action_masks)`,
            which returns actions `(n,)`; or a function `strategy(board)` as `judge` takes it.
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
        A row for each entry of the folder, by name: that of `evaluate_exactly`, or that of `judge`
        without failures; the `agent_seed`; the `seconds` that it has taken; and the `error` for
        which it has no grade, or None.

    Raises:
        ValueError: If an argument is unusable, or there is no folder or nothing in it.
        GradingStopped: If it is interrupted.
    """
    episodes, seed, seconds, memory = checked_limits(episodes, seed, seconds, memory)
    agent_seed = secrets.randbits(32) if agent_seed is None else checked_seed(agent_seed)
    task = Task.of(*named(env, env_kwargs))
    entries = sorted(each for each in Path(folder).glob("*") if not LEFT_OUT.match(each.name))
    if not entries:
        raise UsageError(f"{folder} holds no submissions: expected a folder with files *{SUFFIX}.")
    made_with = {"game": task.game.to_json(), "seed": agent_seed, "exact": exact}
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
                process.load(made_with=made_with, **files_of(entry))
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
    """Return the row of the list of games of `evaluate`."""
    side_by_side = 1 if process.kind == STRATEGY else min(episodes, SIDE_BY_SIDE)
    seeds, began = iter(game_seeds(seed, episodes).tolist()), time.perf_counter()
    envs = (make(task.env, task.env_kwargs) for _ in range(side_by_side))
    games = [Played(env, next(seeds)) for env in envs]
    play(process, games, seeds)
    return results_of(games, task, name, seed, time.perf_counter() - began)[0]
