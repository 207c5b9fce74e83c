"""Trains several seeds at once, each by a command of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from baselines.errors import Interrupted
from baselines.progress import Progress
from tile_envs.errors import UsageError

POLL_SECONDS = 0.2


def side_by_side(commands: Mapping[Path, Sequence[str]], at_once: int) -> Iterator[Path]:
    """Run training commands, `at_once` of them at a time, and yield each run's folder at its end.

    Args:
        commands: The words of `python -m baselines` by the folder of the run.
        at_once: The number of processes.

    Raises:
        ValueError: If one of them fails; the others are stopped, and can be resumed.
        Interrupted: If the call is interrupted; all runs are stopped, and can be resumed.
    """
    waiting, ended = list(commands.items()), 0
    running: dict[Path, subprocess.Popen[bytes]] = {}
    with TemporaryDirectory() as logs, Progress("training", len(commands)) as progress:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    folder, words = waiting.pop(0)
                    with _log(logs, folder).open("wb") as log:
                        # In a session of its own: Ctrl-C comes to this process alone, which passes
                        # it on once, since a second one would stop a run without saving.
                        running[folder] = subprocess.Popen(
                            [sys.executable, "-m", "baselines", *words],
                            stdout=subprocess.DEVNULL,
                            stderr=log,
                            start_new_session=True,
                        )
                time.sleep(POLL_SECONDS)
                progress.update(ended, f"{ended} of {len(commands)} runs have ended")
                for folder in [f for f, process in running.items() if process.poll() is not None]:
                    if status := running.pop(folder).returncode:
                        said = _log(logs, folder).read_text(errors="replace").splitlines()
                        raise UsageError(f"{folder}: {said[-1] if said else f'status {status}'}")
                    ended += 1
                    yield folder
        except KeyboardInterrupt as interrupt:
            number = getattr(interrupt, "number", signal.SIGINT)
            raise Interrupted(number, "stopped; the same command with --resume goes on.") from None
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                process.wait()


def _log(logs: str, folder: Path) -> Path:
    return Path(logs, folder.name)
