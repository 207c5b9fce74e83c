"""The training loop: iterations under a progress bar, with tests, reports and checkpoints."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tqdm import tqdm

from baselines.learner import Learner, Metrics
from baselines.rows import replacing, write_rows
from baselines.runs import BEST, LAST, PROGRESS, read_progress, write_checkpoint

CHECKPOINT_SECONDS = 30
FIRST_CHECKPOINT_SECONDS = 5
CHECKPOINT_SHARE = 0.1
"""The largest share of the time that writing checkpoints takes."""
REPORTS = 100
"""Lines of progress of a whole run."""
REPORT_SECONDS = 10
"""The longest time without a line of progress."""

Test = Callable[[Learner, int], Metrics]
"""Lets a learner play test games, without learning, and returns metrics; the first one decides
which model is the best."""


class Interrupted(KeyboardInterrupt):
    """A signal has ended a command; a run that it ended can be resumed.

    Args:
        number: The number of the signal.
        message: The message for the user.

    Attributes:
        status: The exit status, as a shell gives it to a program that a signal has ended.
    """

    def __init__(self, number: int, message: str = "stopped.") -> None:
        super().__init__(message)
        self.number = number
        self.status = 128 + number


def train(
    folder: Path,
    learner: Learner,
    games: int,
    minutes: float | None = None,
    test: Test = lambda learner, games: {},
) -> None:
    """Let a learner learn under a progress bar, with tests and checkpoints, up to its budget.

    Ctrl-C or SIGTERM ends the call after the present iteration, with a checkpoint; the run can be
    resumed later.  A second one ends it at once, with the last checkpoint.

    Args:
        folder: The run's folder.
        learner: The learner.
        games: The budget in games on each side, those of earlier calls included.
        minutes: The budget in minutes of learning in this call, without tests and saving.
        test: How tests are played, unless the learner has a way of its own (`Learner.test`).

    Raises:
        Interrupted: If the call was interrupted before the budget was used up.
    """
    report_every = max(1, games // REPORTS)
    written = 0.0  # seconds
    reported = time.monotonic()
    saved = reported - max(0, CHECKPOINT_SECONDS - FIRST_CHECKPOINT_SECONDS)
    metrics: Metrics = {}
    tested: Metrics = {}
    bar = _bar(folder.name, learner.games, games, minutes)
    with _Log(folder, learner.games) as log, bar, _interrupts() as interrupted:
        before_call = learned = log.seconds
        complete = learner.games >= games
        while not complete and not interrupted:
            before, began = learner.games, time.monotonic()
            metrics = learner.learn() or {}
            now = time.monotonic()
            learned += now - began
            bar.update(learner.games - before)
            crossed = before // report_every != learner.games // report_every
            if crossed or now - reported > REPORT_SECONDS:
                bar.set_postfix_str(_as_text(metrics))
                log.write(learner.games, learned, metrics)
                reported = now
            tested = {}
            if _test_is_due(before, learner.games, learner.first_test):
                tested = _tested(learner, test)
            if tested:
                log.write(learner.games, learned, metrics | tested)
                _save_if_best(folder, learner, log, tested)
            if now - saved > max(CHECKPOINT_SECONDS, written / CHECKPOINT_SHARE):
                _save(folder, learner)
                saved = time.monotonic()
                written = saved - now
            out_of_time = minutes is not None and learned - before_call > 60 * minutes
            complete = learner.games >= games or out_of_time
        if complete and metrics:
            tested = tested or _tested(learner, test)
            log.write(learner.games, learned, metrics | tested)
            _save_if_best(folder, learner, log, tested)
        _save(folder, learner)
    if not complete:
        raise Interrupted(interrupted[0])
    if tested:
        print(f"test of {learner.test_games:,} games: {_as_text(tested)}", file=sys.stderr)


def _tested(learner: Learner, test: Test) -> Metrics:
    """Return the metrics of a test; none if the learner wants no tests."""
    if not learner.test_games:
        return {}
    found = learner.test(learner.test_games)
    return test(learner, learner.test_games) if found is None else found


def _bar(name: str, played: int, games: int, minutes: float | None) -> tqdm[Any]:
    """Return a bar that fills with games, or a line of text if the budget is one of minutes."""
    if minutes is None:
        return tqdm(total=games, initial=played, unit=" games", desc=name, dynamic_ncols=True)
    line = f"{{desc}}: {{n_fmt}} games in {{elapsed}} of {minutes:g} min{{postfix}}"
    return tqdm(initial=played, desc=name, dynamic_ncols=True, bar_format=line)


def _as_text(metrics: Metrics) -> str:
    """Return metrics in one line, without those that are 0."""
    return ", ".join(f"{name} {value:,.4g}" for name, value in metrics.items() if value)


def _save(folder: Path, learner: Learner) -> None:
    write_checkpoint(folder, learner.state_dict())
    _save_model(folder, learner, LAST)


def _save_if_best(folder: Path, learner: Learner, log: _Log, tested: Metrics) -> None:
    """Save the model if no test has found a better one; the first metric of a test decides."""
    for name, value in list(tested.items())[:1]:
        if value >= log.highest(name):
            _save_model(folder, learner, BEST)


def _save_model(folder: Path, learner: Learner, name: str) -> None:
    with replacing(folder / name) as beside:
        learner.save_model(beside)


class _Log:
    """Lines of progress, in a CSV file and for TensorBoard."""

    def __init__(self, folder: Path, games: int) -> None:
        # Lines after the checkpoint that the run is resumed from will be written again.
        rows = [row for row in read_progress(folder) if int(row["games"]) <= games]
        self.seconds = float(rows[-1]["seconds"]) if rows else 0.0  # of earlier calls
        self._rows, self._path = rows, folder / PROGRESS
        self._events = EventFileWriter(str(folder))

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *exception: object) -> None:
        self._events.close()

    def highest(self, name: str) -> float:
        """Return the highest value of a metric so far."""
        return max(float(row[name]) for row in self._rows if row.get(name))

    def write(self, games: int, seconds: float, metrics: Metrics) -> None:
        """Add a line; one for the same number of games is replaced."""
        if self._rows and int(self._rows[-1]["games"]) == games:
            self._rows.pop()
        self._rows.append({"games": games, "seconds": round(seconds, 1), **metrics})
        write_rows(self._rows, self._path)
        values = [
            Summary.Value(tag=f"train/{name}", simple_value=value)
            for name, value in metrics.items()
        ]
        event = Event(wall_time=time.time(), step=games, summary=Summary(value=values))
        self._events.add_event(event)


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Note the first Ctrl-C or SIGTERM, by its number, instead of interrupting an iteration."""
    interrupted: list[int] = []

    def note(number: int, _: object) -> None:
        interrupted.append(number)
        restore()

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


def _test_is_due(before: int, games: int, first: int) -> bool:
    """Tell whether games have passed one of 1, 2, 5, 10, 20, 50 … times `first`."""
    tens = 10 ** max(0, len(str(games // first)) - 1)
    return any(before < n * tens * first <= games for n in (1, 2, 5))
