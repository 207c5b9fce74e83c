"""Other people's code: what is handed in, and the confined process that is asked for its answers.

Nothing of it is imported or unpickled here (see `confined`), and what its process sends may be
anything.  baselines/README.md says what it is not protected from.
"""

import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from baselines.evaluation import confined
from tile_envs.errors import UsageError
from tile_envs.words import printable

SUFFIX = ".py"
MAX_FILE, MAX_IN_ALL, LEAST_FILE = 1 << 20, 32 << 20, 1 << 12
"""Bytes of a file of Python, and of all files of a submission, where each counts as some."""
LEFT_OUT = ("__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini")
"""What systems leave in folders, beside hidden files."""
MEMORY = 1 << 30
"""The usual limit: bytes beyond what Python takes."""
STARTING, STOPPING = 60.0, 10.0
"""Seconds for Python to start, before it loads a submission, and to end."""
LONGEST_WAIT = 1e6
"""The most seconds that `poll` is asked to wait, which takes no number of more than 31 bits."""
MAX_MESSAGE, MAX_PER_ANSWER = 4096, 256
"""Bytes of a message from a process, and those more for each board that it answers."""
PACKAGES = str(Path(__file__).resolve().parents[2])
"""The folder that this package is in."""
KEPT = ("PATH", "LD_LIBRARY_PATH")
"""Environment variables that a process sees; others may hold secrets."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Source = dict[str, Any]
"""What is loaded: a `source`, its text; or the `files` of a `folder`, which is in one that is
`hidden`, since it holds all submissions."""


class Failed(UsageError):
    """A submission has failed; the message says how."""


def is_python(name: str) -> bool:
    """Tell whether a file is Python by its name."""
    return name.lower().endswith(SUFFIX)


def is_left_out(name: str) -> bool:
    """Tell whether a file or folder is hidden, or of a system."""
    return name.startswith((".", "~$")) or name in LEFT_OUT


def check_size(path: Path) -> None:
    """Refuse by `Failed` a file of Python that is too large."""
    if (size := path.stat().st_size) > MAX_FILE:
        mib = f"{size / (1 << 20):,.1f} MiB"
        raise Failed(f"{path.name} has {mib}, expected at most {MAX_FILE >> 20}")


def text_of(path: Path) -> str:
    """Return the text of a file of Python; `Failed` says if it is too large."""
    check_size(path)
    return confined.text_of(path.read_bytes())


def source_of(entry: Path) -> Source:
    """Return an entry of a folder of submissions, a file or a folder; `Failed` says if it is none.

    Links in a folder are left out: they may lead to another submission.
    """
    is_folder = entry.is_dir()
    folder, found = (entry, sorted(entry.rglob("*"))) if is_folder else (entry.parent, [entry])
    paths = [
        path
        for path in found
        if path.is_file() and not (is_folder and path.is_symlink())
        if not any(map(is_left_out, path.relative_to(folder).parts))
    ]
    for path in paths:
        if is_python(path.name):
            check_size(path)
    if sum(max(path.stat().st_size, LEAST_FILE) for path in paths) > MAX_IN_ALL:
        raise Failed(f"its files have more than {MAX_IN_ALL >> 20} MiB")
    files = [str(path.relative_to(folder)) for path in paths]
    if not any(map(is_python, files)):
        text = ", ".join(files[:3]) + ", …" * bool(files[3:])
        raise Failed(f"found {text or 'nothing'}, expected *{SUFFIX}")
    hidden, folder = entry.parent.resolve(), folder.resolve()
    return {"hidden": str(hidden), "folder": str(folder), "files": files}


class Process:
    """A confined process that serves a submission; what it sends may be anything.

    Args:
        memory: The bytes that it may take beyond what Python takes.
        seconds: See `left`.
        cpu_seconds: The most CPU time, beyond that of its start.

    Attributes:
        left: The seconds of the wall-clock that it may take until it has `Failed`.
        kind: What its answers are, see `confined.loaded`; "" if it does not run.
    """

    def __init__(self, memory: int, seconds: float, cpu_seconds: float) -> None:
        self.left, self.kind = seconds, ""
        cpu_seconds = math.ceil(min(cpu_seconds + STARTING, 1 << 40))
        # The user's number is one that nobody else has.
        self._limits = {"memory": memory, "seconds": cpu_seconds, "user": 1 << 30 | os.getpid()}
        self._process: subprocess.Popen[bytes] | None = None

    def load(self, source: Source, made_with: Mapping[str, Any] | None = None) -> None:
        """Start it, and load a source; of files, a class is made as `confined.answering` says."""
        source = {"source": "", "hidden": "", "folder": "", "files": (), **source}
        told = {"source": source.pop("source"), "made_with": made_with}
        told["files"] = [*filter(is_python, source["files"])]
        self._start(source)
        self.kind = str(self._exchange(told).get("kind"))

    def ask(self, boards: Sequence[Any]) -> list[Any]:
        """Return the answers to a list of boards."""
        answers = self._exchange(boards, MAX_PER_ANSWER * len(boards)).get("answers")
        if not isinstance(answers, list) or len(answers) != len(boards):
            raise Failed("it sends no answers")
        return answers

    def stop(self) -> None:
        """End it, and with it all that it has started."""
        process, self._process, self.kind = self._process, None, ""
        if process is None:
            return
        if process.poll() is None:  # so the first process has this number still
            with suppress(ProcessLookupError):
                os.kill(self._first, signal.SIGKILL)
            try:
                process.wait(STOPPING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(self._boards)
        os.close(self._answers)

    def _start(self, files: Source) -> None:
        theirs_in, self._boards = os.pipe()
        self._answers, theirs_out = os.pipe()
        words = [confined.__file__, str(theirs_in), str(theirs_out), PACKAGES]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", *words],
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL),
            env={n: v for n, v in os.environ.items() if n in KEPT} | ONE_THREAD,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        os.set_blocking(self._boards, False)  # it may read none
        self._unread, self._first = b"", self._process.pid
        end = time.perf_counter() + STARTING
        self._send(self._limits | {"packages": PACKAGES} | files, end)
        told = self._read(end) | self._read(end)  # two processes tell
        self._first = int(told["first"])
        if told["unlimited"]:
            _warn(", ".join(told["unlimited"]))

    def _exchange(self, message: Any, more: int = 0) -> dict[str, Any]:
        """Send a message, and return the next one of at most `MAX_MESSAGE` bytes and so many more.

        Both count for the time that is left.
        """
        end = self.left + (began := time.perf_counter())
        try:
            self._send(message, end)
            return self._read(end, MAX_MESSAGE + more)
        finally:
            self.left -= time.perf_counter() - began

    def _send(self, message: Any, end: float) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        with suppress(BrokenPipeError):  # reading then says why
            while left:
                _wait(self._boards, select.POLLOUT, end)
                left = left[os.write(self._boards, left) :]

    def _read(self, end: float, longest: int = MAX_MESSAGE) -> dict[str, Any]:
        while b"\n" not in self._unread:
            _wait(self._answers, select.POLLIN, end)
            more = os.read(self._answers, 1 << 16)
            if not more or len(self._unread) > longest:
                raise Failed("its process has ended, or does not answer in lines")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        message = None
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
        if not isinstance(message, dict):
            raise Failed("it sends no answers")
        if "error" in message:
            raise Failed(printable(" ".join(str(message["error"]).split())))
        return message


def _wait(pipe: int, event: int, end: float) -> None:
    """Wait until a pipe can be read or written, or until its time has come."""
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(min(max(0.0, end - time.perf_counter()), LONGEST_WAIT) * 1000):
        raise Failed("it has used up its seconds")


@cache  # once
def _warn(unlimited: str) -> None:
    print(f"warning: this system does not restrict a strategy's {unlimited}.", file=sys.stderr)
