"""The training loop: iterations under a progress bar, with tests, reports and checkpoints."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from baselines.arrays import size_of
from baselines.errors import Interrupted
from baselines.evaluation.rows import Row, write_rows
from baselines.progress import Progress, duration, metrics_text
from baselines.training import run_folder as runs
from baselines.training.learner import Learner, Metrics
from tile_envs.errors import UsageError
from tile_envs.files import replacing
from tile_envs.words import counted

CHECKPOINT_SECONDS = 30.0
MAX_SAVING_FRACTION = 0.1  # of the time, for saving before the last checkpoint
BYTES_PER_SECOND = 100e6  # how fast files are written, until a checkpoint has been
REPORTS = 100  # lines of progress of a whole run, without those of tests
SHOW_SECONDS = 2  # the longest time without new metrics, in the progress bar and in TensorBoard
Callback = Callable[[Learner, Metrics], Any]
"""Called with the learner and an iteration's metrics; if it returns False, training ends there."""


def learn(
    learner: Learner,
    folder: Path | None,
    checkpoint_every: float | None,
    visible: bool | None = None,
    callback: Callback | None = None,
) -> None:
    """Let a learner learn under a progress bar, with tests and checkpoints, up to its run's budget.

    Ctrl-C or SIGTERM ends the call after the present iteration, with a checkpoint; a second one
    ends it at once.  Without a folder nothing is written.
    """
    config = learner.config
    if config.moves is not None and learner.moves is None:
        raise UsageError(f"{config.agent} does not count its moves: give games or minutes.")
    test_games = learner.test_games if config.test_games is None else config.test_games
    name = (folder and folder.name) or f"{config.agent} on {config.env}"  # a folder may be "."
    done = _used(learner, learner.run.seconds)
    progress = Progress(name, 1, done, visible)
    progress.seconds["training"] = learner.run.seconds
    files = RunFiles(learner, folder, checkpoint_every)
    kept = f", --resume continues: {folder}" if folder else "."
    shown, goes_on, ended = time.monotonic(), True, False
    with closing(files), progress, _interrupts(progress) as interrupted:
        if progress.shown:
            print(f"settings: {config.preset or 'given'}", file=sys.stderr)
            if files.bytes > 1e9:
                print(f"{folder} will take about {files.bytes / 1e9:.1f} GB", file=sys.stderr)
        progress.update(done, "starting (compiling on first use)")
        while not ended:
            games, before, metrics, tested = learner.games, done, Metrics(), Metrics()
            if done < 1:  # else the run was stopped before its last test
                learner.progress = done
                with progress.phase("training"):
                    metrics = learner.learn() or {}
            seconds = progress.seconds["training"]
            done = _used(learner, seconds)
            reported = int(before * REPORTS) != int(done * REPORTS)
            news = reported or time.monotonic() - shown > SHOW_SECONDS
            if news:
                words = counted(learner.games, "game"), metrics_text(metrics)
                progress.update(done, ", ".join(filter(None, words)))
                shown = time.monotonic()
            finished = done >= 1 and not interrupted
            if test_games and (finished or _test_is_due(games, learner, config.test_every)):
                with progress.phase("tests"):
                    tested = learner.test(test_games)
            if news or tested:
                files.show(metrics | tested)
            if reported or tested:
                files.write(seconds, metrics | tested)
            if tested:
                with progress.phase("saving"):
                    files.save_best(tested)
            if callback:
                try:
                    goes_on = callback(learner, metrics | tested) is not False
                except Exception as error:  # a run of hours must not be lost
                    files.save(seconds)
                    failed = f"failed after {games_played(learner)} with {type(error).__name__}"
                    raise UsageError(f"the callback {failed}: {error}{kept}") from error
            ended = done >= 1 or bool(interrupted) or not goes_on
            if ended or files.are_due(progress.seconds["saving"]):
                with progress.phase("saving"):
                    files.save(seconds, finished)
    if interrupted:
        raise Interrupted(interrupted[0], f"stopped after {games_played(learner)}{kept}")
    if progress.shown:
        phases = {n: s for n, s in progress.seconds.items() if s >= 1 or n != "compiling"}
        print(", ".join(f"{name} {duration(s)}" for name, s in phases.items()), file=sys.stderr)
        if tested:
            print(f"last test: {metrics_text(tested)}", file=sys.stderr)


def games_played(learner: Learner) -> str:
    return f"{learner.games:,} games{' a side' if learner.config.task.sides else ''}"


def _used(learner: Learner, seconds: float) -> float:
    """Return the fraction of a run's budget that is used up; 1 and more is all of it."""
    used = learner.used(seconds)
    return max((used[name] / n for name, n in learner.config.budget.items()), default=0.0)


def _test_is_due(before: int, learner: Learner, every: int | None) -> bool:
    """Tell whether games have passed a multiple of `every`, or a usual number of games."""
    games, first = learner.games, learner.first_test
    if every is not None:
        return before // every < games // every
    tens = 10 ** max(0, len(str(games // first)) - 1)
    return any(before < n * tens * first <= games for n in (1, 2, 5))


class RunFiles:
    """What a run writes to its folder, if it has one: progress, events, checkpoints, models."""

    def __init__(self, learner: Learner, folder: Path | None, every: float | None) -> None:
        self._learner, self._folder, self._every = learner, folder, every
        rows = runs.read_progress(folder) if folder else []
        # Lines after the checkpoint that the run is resumed from will be written again.
        self._rows = {n: row for row in rows if (n := int(row["games"])) <= learner.games}
        self._events = folder and EventFileWriter(str(folder))
        # TensorBoard drops what it has of later steps.
        self._add(learner.games + 1, session_log=SessionLog(status=SessionLog.START))
        # A checkpoint and two models; tables, which have none, are small at first.
        has_models = folder and type(learner).save_model is not Learner.save_model
        self.bytes = 3 * size_of(learner.state_dict()) if has_models else 0
        self._began = self._saved = time.monotonic()
        self._took = self.bytes / BYTES_PER_SECOND

    def close(self) -> None:
        if self._events:
            self._events.close()

    def show(self, metrics: Metrics) -> None:
        """Add a point to the curves of TensorBoard, which takes each number of games once."""
        points = [Summary.Value(tag=f"train/{n}", simple_value=v) for n, v in metrics.items()]
        self._add(self._learner.games, summary=Summary(value=points))

    def _add(self, step: int, **content: Any) -> None:
        if self._events:
            self._events.add_event(Event(wall_time=time.time(), step=step, **content))

    def write(self, seconds: float, metrics: Metrics) -> None:
        """Add a line to the table; one for the same number of games is added to."""
        games = self._learner.games
        line: Row = {"games": games, "seconds": round(seconds, 1)}
        self._rows[games] = self._rows.get(games, line) | metrics
        if self._folder:
            write_rows([*self._rows.values()], self._folder / runs.PROGRESS)

    def save_best(self, tested: Metrics) -> None:
        """Save the model if no test has been better than this one, which has been written."""
        tests = ({name: row.get(name, "") for name in tested} for row in self._rows.values())
        if _merit(tested) >= max(_merit(test) for test in tests if "" not in test.values()):
            self._save_model(runs.BEST)

    def are_due(self, spent: float) -> bool:
        """Tell whether to save the run, after so many seconds of saving."""
        now, every, share = time.monotonic(), self._every, 1.0
        if every is None:
            every, share = CHECKPOINT_SECONDS, MAX_SAVING_FRACTION
        has_time = spent + self._took < share * (now - self._began)
        return has_time and now - self._saved > every

    def save(self, seconds: float, finished: bool = False) -> None:
        began, learner = time.monotonic(), self._learner
        learner.run = replace(learner.run, seconds=seconds, finished=finished)
        if self._folder:
            runs.write_checkpoint(self._folder, learner.state_dict())
            self._save_model(runs.LAST)
            learner.run.write(self._folder)  # last: it tells whether the run is finished
        self._saved = time.monotonic()
        self._took = self._saved - began

    def _save_model(self, name: str) -> None:
        if self._folder:
            with replacing(self._folder / name) as beside:
                self._learner.save_model(beside)


def _merit(tested: Mapping[str, Any]) -> tuple[float, ...]:
    """Return what tests are compared by: the worst side's losses and wins, or the first metric."""
    sides = [name.removeprefix("greedy_loss_") for name in tested if "greedy_loss_" in name]
    worst = ((-float(tested[f"greedy_loss_{s}"]), float(tested[f"greedy_win_{s}"])) for s in sides)
    return min(worst, default=(float(next(iter(tested.values()))),))


@contextmanager
def _interrupts(progress: Progress) -> Iterator[list[int]]:
    """Note the first Ctrl-C or SIGTERM, by its number, instead of interrupting an iteration."""
    interrupted: list[int] = []

    def note(number: int, _: object) -> None:
        interrupted.append(number)
        signal.signal(number, before[number])
        text = "stopping: saves after this iteration (once more stops at once)"
        progress.update(text=text, at_once=True)

    is_main = threading.current_thread() is threading.main_thread()  # only it may ask for signals
    numbers = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    before: dict[int, Any] = {number: signal.signal(number, note) for number in numbers}
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
