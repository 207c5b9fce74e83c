"""The training loop: iterations under a progress bar, with tests, reports and checkpoints."""

import signal
import sys
import threading
import time
from collections import defaultdict
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
from baselines.evaluation.policies import side_metrics
from baselines.evaluation.rows import Row, write_rows
from baselines.evaluation.sampled import play
from baselines.progress import Progress, clock, duration, metrics_text
from baselines.training import run_folder as runs
from baselines.training.config import BUDGET
from baselines.training.learner import Learner, Metrics
from tile_envs.errors import UsageError
from tile_envs.files import replacing
from tile_envs.words import counted

CHECKPOINT_SECONDS, FIRST_CHECKPOINT_SECONDS = 30.0, 5.0
MAX_SAVING_FRACTION = 0.1
"""The largest fraction of the time that saving takes, before the last checkpoint."""
BYTES_PER_SECOND = 100e6
"""How fast files are written, until a checkpoint has been."""
REPORTS = 100
"""Lines of progress of a whole run, without those of tests."""
SHOW_SECONDS = 2
"""The longest time without new metrics, in the progress bar and in TensorBoard."""

Callback = Callable[[Learner, Metrics], Any]
"""Called with the learner and an iteration's metrics; if it returns False, training ends there."""


class Clock:
    """The seconds that a run has spent in each phase; the budget is those of training.

    Wherever something is compiled, that is a phase of its own.
    """

    def __init__(self, progress: Progress, seconds: float) -> None:
        self.seconds = defaultdict(float, training=seconds)
        self._progress = progress

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Count the seconds of the body of `with` as those of a phase, which is shown."""
        self._progress.phase = phase
        began, worked = time.perf_counter(), clock()
        try:
            yield
        finally:
            self._progress.phase = ""
            seconds = clock() - worked
            self.seconds[phase] += seconds
            self.seconds["compiling"] += time.perf_counter() - began - seconds


def learn(
    learner: Learner,
    folder: Path | None,
    checkpoint_every: float | None,
    visible: bool | None = None,
    callback: Callback | None = None,
) -> None:
    """Let a learner learn under a progress bar, with tests and checkpoints, up to its run's budget.

    Ctrl-C or SIGTERM ends the call after the present iteration, with a checkpoint; the run can be
    resumed later.  A second one ends it at once, with the last checkpoint.

    Without a folder nothing is written; `Progress` explains when progress is visible, and `train`
    when a run is tested and saved.

    Raises:
        Interrupted: If the call was interrupted.
        ValueError: If the callback raises; the run is saved first.
    """
    config, seconds = learner.config, learner.noted.seconds
    if config.moves is not None and learner.moves is None:
        raise UsageError(f"{config.agent} does not count its moves: give games or minutes.")
    test_games = learner.test_games if config.test_games is None else config.test_games
    done, saver = _used(learner, seconds), Saver(learner, folder, checkpoint_every)
    name = (folder and folder.name) or f"{config.agent} on {config.env}"  # a folder may be "."
    progress = Progress(name, 1, done, visible)
    stopwatch, log = Clock(progress, seconds), Log(folder, learner.games)
    kept = f", --resume continues: {folder}" if folder else "."
    goes_on: Any = True
    shown, tested = time.monotonic(), Metrics()
    with closing(log), progress, _interrupts(progress) as interrupted:
        if progress.shown:
            print(f"settings: {config.preset or 'given'}", file=sys.stderr)
            if saver.bytes > 1e9:
                print(f"{folder} will take about {saver.bytes / 1e9:.1f} GB", file=sys.stderr)
        progress.update(done, "starting (compiling on first use)")
        while done < 1 and not interrupted and goes_on is not False:
            games = learner.games
            before = learner.progress = done
            with stopwatch.timed("training"):
                metrics = learner.learn() or {}
            seconds = stopwatch.seconds["training"]
            done = _used(learner, seconds)
            reported = int(before * REPORTS) != int(done * REPORTS)
            if reported or time.monotonic() - shown > SHOW_SECONDS:
                words = counted(learner.games, "game"), metrics_text(metrics)
                progress.update(done, ", ".join(filter(None, words)))
                log.show(learner.games, metrics)
                shown = time.monotonic()
            if reported:
                log.write(learner.games, seconds, metrics)
            tested = {}
            if _test_is_due(games, learner, config.test_every):
                with stopwatch.timed("tests"):
                    tested = test(learner, test_games)
            if tested:
                with stopwatch.timed("saving"):  # of the best model
                    _note_test(learner, log, seconds, metrics | tested, tested)
            if saver.is_due(stopwatch.seconds["saving"]):
                with stopwatch.timed("saving"):
                    saver.save(seconds)
            if callback:
                try:
                    goes_on = callback(learner, metrics | tested)
                except Exception as error:  # a run of hours must not be lost
                    saver.save(seconds)
                    raise UsageError(
                        f"the callback failed after {games_played(learner)} with "
                        f"{type(error).__name__}: {error}{kept}"
                    ) from error
        finished = done >= 1 and not interrupted
        if finished:
            with stopwatch.timed("tests"):
                tested = tested or test(learner, test_games)
            with stopwatch.timed("saving"):
                _note_test(learner, log, seconds, tested, tested)
        with stopwatch.timed("saving"):
            saver.save(seconds, finished)
    if interrupted:
        raise Interrupted(interrupted[0], f"stopped after {games_played(learner)}{kept}")
    if progress.shown:
        phases = {n: s for n, s in stopwatch.seconds.items() if s >= 1 or n != "compiling"}
        print(", ".join(f"{name} {duration(s)}" for name, s in phases.items()), file=sys.stderr)
        if tested:
            print(f"last test: {metrics_text(tested)}", file=sys.stderr)


def games_played(learner: Learner) -> str:
    """Return in words how many games a learner has played."""
    return f"{learner.games:,} games{' a side' if learner.config.task.sides else ''}"


def _used(learner: Learner, seconds: float) -> float:
    """Return the fraction of a run's budget that is used up; 1 and more is all of it."""
    used = learner.games, learner.moves or 0, seconds / 60
    budgets = (getattr(learner.config, name) for name in BUDGET)
    shares = (n / budget for n, budget in zip(used, budgets, strict=True) if budget is not None)
    return max(shares, default=0.0)


def _note_test(
    learner: Learner, log: "Log", seconds: float, metrics: Metrics, tested: Metrics
) -> None:
    """Log the metrics of a test, and save the model if no test has been better."""
    log.show(learner.games, metrics)
    log.write(learner.games, seconds, metrics)
    if log.folder and tested and _merit(tested) >= log.best(tested):
        _save_model(log.folder, learner, runs.BEST)


def _merit(tested: Mapping[str, Any]) -> tuple[float, ...]:
    """Return what tests are compared by: the worst side's losses and wins, or the first metric."""
    sides = [name.removeprefix("greedy_loss_") for name in tested if "greedy_loss_" in name]
    worst = ((-float(tested[f"greedy_loss_{s}"]), float(tested[f"greedy_win_{s}"])) for s in sides)
    return min(worst, default=(float(next(iter(tested.values()))),))


def test(learner: Learner, games: int) -> Metrics:
    """Let a learner play test games, without exploring, and return metrics; none of 0 games.

    In tic-tac-toe they are exact.
    """
    metrics = learner.test(games) if games else {}
    if metrics is not None:
        return metrics
    task = learner.config.task
    if task.sides:
        return side_metrics(learner, task.sides)
    record = play(learner, task.env, task.env_kwargs, games, use="test")
    return {"greedy_return": float(record.returns.mean())}


class Saver:
    """Saves a run, if it has a folder: now and then, in at most a fraction of the time."""

    def __init__(self, learner: Learner, folder: Path | None, every: float | None) -> None:
        self._learner, self._folder = learner, folder
        self._every = CHECKPOINT_SECONDS if every is None else every
        self._fraction = MAX_SAVING_FRACTION if every is None else 1.0
        self.bytes = _size(learner) if folder else 0
        self._takes, self._began = self.bytes / BYTES_PER_SECOND, time.monotonic()
        self._saved = self._began - max(0.0, self._every - FIRST_CHECKPOINT_SECONDS)

    def is_due(self, spent: float) -> bool:
        """Tell whether to save, after so many seconds of saving."""
        now = time.monotonic()
        has_time = spent + self._takes < self._fraction * (now - self._began)
        return has_time and now - self._saved > self._every

    def save(self, seconds: float, finished: bool = False) -> None:
        """Save the run, which has learned for so many seconds."""
        began, learner = time.monotonic(), self._learner
        run = learner.run = replace(learner.noted, seconds=seconds, finished=finished)
        if self._folder:
            runs.write_checkpoint(self._folder, learner.state_dict())
            _save_model(self._folder, learner, runs.LAST)
            run.write(self._folder)  # last: it tells whether the run is finished
        self._saved = time.monotonic()
        self._takes = self._saved - began


def _size(learner: Learner) -> int:
    """Return about how many bytes a run with models takes: the checkpoint, the last and the best.

    That of others is 0: what a checkpoint holds of a table is little at first.
    """
    has_models = type(learner).save_model is not Learner.save_model
    return 3 * size_of(learner.state_dict()) if has_models else 0


def _save_model(folder: Path, learner: Learner, name: str) -> None:
    with replacing(folder / name) as beside:
        learner.save_model(beside)


class Log:
    """What a run writes of its progress: a table, and events for TensorBoard."""

    def __init__(self, folder: Path | None, games: int) -> None:
        rows = runs.read_progress(folder) if folder else []
        # Lines after the checkpoint that the run is resumed from will be written again.
        self._rows = [row for row in rows if int(row["games"]) <= games]
        self.folder = folder
        self._events = folder and EventFileWriter(str(folder))
        # TensorBoard drops what it has of later steps, and takes each step once.
        self._add(step=games + 1, session_log=SessionLog(status=SessionLog.START))
        self._shown: defaultdict[str, int] = defaultdict(lambda: games)

    def close(self) -> None:
        """Write what is left of the events."""
        if self._events:
            self._events.close()

    def best(self, names: Mapping[str, float]) -> tuple[float, ...]:
        """Return the highest merit of the tests so far, given the names of their metrics."""
        tests = ({name: row.get(name, "") for name in names} for row in self._rows)
        return max(_merit(test) for test in tests if "" not in test.values())

    def write(self, games: int, seconds: float, metrics: Metrics) -> None:
        """Add a line to the file; one for the same number of games is added to."""
        line: Row = {"games": games, "seconds": round(seconds, 1)}
        if self._rows and int(self._rows[-1]["games"]) == games:
            line = self._rows.pop()
        self._rows.append(line | metrics)
        if self.folder:
            write_rows(self._rows, self.folder / runs.PROGRESS)

    def show(self, games: int, metrics: Metrics) -> None:
        """Add a point to the curves of TensorBoard that have none yet at this number of games."""
        new = {name: value for name, value in metrics.items() if self._shown[name] != games}
        self._shown.update(dict.fromkeys(new, games))
        values = [
            Summary.Value(tag=f"train/{name}", simple_value=value) for name, value in new.items()
        ]
        self._add(step=games, summary=Summary(value=values))

    def _add(self, **content: Any) -> None:
        if self._events:
            self._events.add_event(Event(wall_time=time.time(), **content))


@contextmanager
def _interrupts(progress: Progress) -> Iterator[list[int]]:
    """Note the first Ctrl-C or SIGTERM, by its number, instead of interrupting an iteration."""
    interrupted: list[int] = []

    def note(number: int, _: object) -> None:
        interrupted.append(number)
        restore()
        progress.say("stopping: saves after this iteration (once more stops at once)")

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    if threading.current_thread() is not threading.main_thread():
        yield interrupted  # only the main thread may ask for signals
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        restore()


def _test_is_due(before: int, learner: Learner, every: int | None) -> bool:
    """Tell whether games have passed a multiple of `every`, or a usual number of games."""
    games, first = learner.games, learner.first_test
    if every is not None:
        return before // every < games // every
    tens = 10 ** max(0, len(str(games // first)) - 1)
    return any(before < n * tens * first <= games for n in (1, 2, 5))
