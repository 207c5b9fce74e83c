"""Other people's code: what is handed in, and the confined process that is asked for its answers.

Nothing of it is imported or unpickled here (see `confined`), and what its process sends may be
anything.  baselines/README.md says what it is not protected from.
"""

import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil

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
"""The most seconds that a socket is asked to wait, which takes no number of more digits."""
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
        self._start(source)
        told["files"] = [*filter(is_python, source["files"])]
        self.kind = str(self._timed(told).get("kind"))

    def ask(self, boards: Sequence[Any]) -> list[Any]:
        """Return the answers to a list of boards."""
        answers = self._timed(boards, MAX_PER_ANSWER * len(boards)).get("answers")
        if not isinstance(answers, list) or len(answers) != len(boards):
            raise Failed("it sends no answers")
        return answers

    def stop(self) -> None:
        """End it, and with it all that it has started."""
        process, self._process, self.kind = self._process, None, ""
        if process is None:
            return
        if process.poll() is None:
            # With its child, the first process of the namespaces, all others of these end.
            with suppress(psutil.Error):  # which has ended by itself
                for child in psutil.Process(process.pid).children() or [process]:
                    child.kill()
            try:
                process.wait(STOPPING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._socket.close()

    def _start(self, files: Source) -> None:
        self._socket, theirs = socket.socketpair()
        fd = str(theirs.fileno())
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", confined.__file__, fd, fd, PACKAGES],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={n: v for n, v in os.environ.items() if n in KEPT} | ONE_THREAD,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._unread, end = b"", time.perf_counter() + STARTING
        told = self._exchange(self._limits | {"packages": PACKAGES} | files, end)
        if told["unlimited"]:
            _warn(", ".join(told["unlimited"]))

    def _timed(self, message: Any, more: int = 0) -> dict[str, Any]:
        """Exchange messages in the time that is left."""
        began = time.perf_counter()
        try:
            return self._exchange(message, began + self.left, MAX_MESSAGE + more)
        finally:
            self.left -= time.perf_counter() - began

    def _exchange(self, message: Any, end: float, longest: int = MAX_MESSAGE) -> dict[str, Any]:
        """Send a message, and return the next one, until some time."""

        def limit() -> None:
            self._socket.settimeout(min(max(1e-6, end - time.perf_counter()), LONGEST_WAIT))

        try:
            limit()
            with suppress(ConnectionError):  # receiving then says why
                self._socket.sendall(json.dumps(message).encode() + b"\n")
            while b"\n" not in self._unread:
                limit()
                more = self._socket.recv(1 << 16)
                if not more or len(self._unread) > longest:
                    raise ConnectionError
                self._unread += more
        except TimeoutError:
            raise Failed("it has used up its seconds") from None
        except ConnectionError:
            raise Failed("its process has ended, or does not answer in lines") from None
        line, _, self._unread = self._unread.partition(b"\n")
        answer = None
        with suppress(ValueError, RecursionError):
            answer = json.loads(line)
        if not isinstance(answer, dict):
            raise Failed("it sends no answers")
        if "error" in answer:
            raise Failed(printable(" ".join(str(answer["error"]).split())))
        return answer


@cache  # once
def _warn(unlimited: str) -> None:
    print(f"warning: this system does not restrict a strategy's {unlimited}.", file=sys.stderr)
