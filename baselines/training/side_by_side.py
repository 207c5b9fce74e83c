"""Trains several seeds at once, each by a command of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from baselines.errors import Interrupted
from baselines.progress import Progress
from baselines.settings import SHARE, free_memory
from tile_envs.errors import UsageError


def side_by_side(commands: Mapping[Path, Sequence[str]], at_once: int) -> Iterator[Path]:
    """Run training commands, `at_once` of them at a time, and yield each run's folder at its end.

    Args:
        commands: The words of `python -m baselines` by the folder of the run.
        at_once: The number of processes, which share the memory that is free.

    Raises:
        ValueError: If one of them fails; the others are stopped, and can be resumed.
        Interrupted: If the call is interrupted; all runs are stopped, and can be resumed.
    """
    running: set[subprocess.Popen[str]] = set()
    stopping, env = threading.Event(), os.environ | {SHARE: str(free_memory() // at_once)}

    def run(words: Sequence[str]) -> tuple[int, list[str]]:
        with subprocess.Popen(
            [sys.executable, "-m", "baselines", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            start_new_session=True,  # Ctrl-C comes once: a second one would stop without saving
        ) as process:
            running.add(process)
            if stopping.is_set():  # it has begun while the others were stopped
                process.terminate()
            said = process.communicate()[1].splitlines()
            running.discard(process)
        return process.returncode, said

    with Progress("training", len(commands)) as progress, ThreadPoolExecutor(at_once) as pool:
        try:
            folders = {pool.submit(run, words): folder for folder, words in commands.items()}
            for ended, future in enumerate(as_completed(folders), 1):
                status, said = future.result()
                if status:
                    why = said[-1].removeprefix("error: ") if said else f"status {status}"
                    raise UsageError(f"{folders[future]}: {why}")
                progress.update(ended, f"{ended} of {len(commands)} runs have ended")
                yield folders[future]
        except KeyboardInterrupt as interrupt:
            number = getattr(interrupt, "number", signal.SIGINT)
            raise Interrupted(number, "stopped; the same command with --resume goes on.") from None
        finally:
            stopping.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                process.terminate()
