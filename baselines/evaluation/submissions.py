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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from baselines.evaluation import confined
from tile_envs.errors import UsageError
from tile_envs.words import printable

SUFFIX = ".py"
MOST_TEXT, MOST_IN_ALL, LEAST_FILE = 1 << 20, 32 << 20, 1 << 12
"""Bytes of a file of Python, and of all files of a submission, where each counts as some."""
LEFT_OUT = ("__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini")
"""What systems leave in folders, beside hidden files."""
MEMORY = 1 << 30
"""The usual limit: bytes beyond what Python takes."""
STARTING, STOPPING = 60.0, 10.0
"""Seconds for Python to start, before it loads a submission, and to end."""
LONGEST_WAIT = 1e6
"""The most seconds that `poll` is asked to wait, which takes no number of more than 31 bits."""
LONGEST, LONGEST_ANSWER = 4096, 256
"""Bytes of a message from a process, and those more for each board that it answers."""
PACKAGES = str(Path(__file__).resolve().parents[2])
"""The folder that this package is in."""
KEPT = ("PATH", "LD_LIBRARY_PATH")
"""Environment variables that a process sees; others may hold secrets."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Failed(UsageError):
    """A submission has failed; the message says how."""


class Source(NamedTuple):
    """What a process loads: a text, or the files of a folder; `hidden` holds all submissions."""

    text: str = ""
    hidden: str = ""
    folder: str = ""
    files: Sequence[str] = ()


def check_system() -> None:
    """Refuse by a `ValueError` a system that has no limits for processes."""
    if os.name != "posix":
        raise UsageError("strategies are judged on Linux and macOS: elsewhere nothing limits them.")


def is_python(name: str) -> bool:
    """Tell whether a file is Python by its name."""
    return name.lower().endswith(SUFFIX)


def is_left_out(name: str) -> bool:
    """Tell whether a file or folder is hidden, or of a system."""
    return name.startswith((".", "~$")) or name in LEFT_OUT


def text_of(path: Path) -> str:
    """Return the text of a file of Python; `Failed` says if it is too large."""
    _check_text(path.name, path.stat().st_size)
    return confined.text_of(path.read_bytes())


def source_of(entry: Path) -> Source:
    """Return an entry of a folder of submissions, a file or a folder; `Failed` says if it is none.

    Links in a folder are left out: they may lead to another submission.
    """
    in_folder, size, found = entry.is_dir(), 0, list[str]()
    for path in _files_in(entry) if in_folder else [entry] * entry.is_file():
        name = str(path.relative_to(entry if in_folder else entry.parent))
        size += max(length := path.stat().st_size, LEAST_FILE)
        if is_python(name):
            _check_text(name, length)
        if size > MOST_IN_ALL:
            raise Failed(f"its files have more than {MOST_IN_ALL >> 20} MiB")
        found.append(name)
    if not any(map(is_python, found)):
        names = found if in_folder else [entry.name]
        text = ", ".join(names[:3]) + ", …" * (len(names) > 3)
        raise Failed(f"found {text or 'nothing'}, expected *{SUFFIX}")
    hidden = str(entry.parent.resolve())
    folder = str(entry.resolve()) if in_folder else hidden
    return Source(hidden=hidden, folder=folder, files=found)


def _files_in(folder: Path) -> Iterator[Path]:
    for name, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not is_left_out(each))
        paths = (Path(name, each) for each in sorted(files) if not is_left_out(each))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _check_text(name: str, size: int) -> None:
    if size > MOST_TEXT:
        raise Failed(f"{name} has {size / (1 << 20):,.1f} MiB, expected at most {MOST_TEXT >> 20}")


class Process:
    """A confined process that serves a submission; what it sends may be anything.

    Args:
        memory: The bytes that it may take beyond what Python takes.
        seconds: The most CPU time.
        source: What it is to load.
    """

    def __init__(self, memory: int, seconds: float, source: Source) -> None:
        theirs_in, self._boards = os.pipe()
        self._answers, theirs_out = os.pipe()
        words = [confined.__file__, str(theirs_in), str(theirs_out), PACKAGES]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={n: v for n, v in os.environ.items() if n in KEPT} | ONE_THREAD,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        os.set_blocking(self._boards, False)  # it may read none
        self._unread, self._first, self._source = b"", self._process.pid, source
        self._limits = {
            "memory": memory,
            "seconds": math.ceil(min(seconds + STARTING, 1 << 40)),
            "user": 1 << 30 | os.getpid(),  # the number of a user that nobody else is
            "packages": PACKAGES,
            **{name: getattr(source, name) for name in ("hidden", "folder", "files")},
        }

    def load(self, seconds: float, made_with: Mapping[str, Any] | None = None) -> str:
        """Load the source; return what that has defined, see `confined.loaded`."""
        end = time.perf_counter() + STARTING
        self._send(self._limits, end)
        told = self._read(end) | self._read(end)  # two processes tell
        self._first = int(told["first"])
        if told["unlimited"]:
            _warn(", ".join(told["unlimited"]))
        end = time.perf_counter() + seconds
        source = {"source": self._source.text, "made_with": made_with}
        self._send({**source, "files": [*filter(is_python, self._source.files)]}, end)
        return str(self._read(end).get("kind"))

    def ask(self, boards: Sequence[Any], seconds: float) -> list[Any]:
        """Return the answers to a list of boards."""
        end = time.perf_counter() + seconds
        self._send(boards, end)
        answers = self._read(end, LONGEST + LONGEST_ANSWER * len(boards)).get("answers")
        if not isinstance(answers, list) or len(answers) != len(boards):
            raise Failed("it sends no answers")
        return answers

    def stop(self) -> None:
        """End it, and with it all that it has started."""
        if self._process.poll() is None:  # so the first process has this number still
            with suppress(ProcessLookupError):
                os.kill(self._first, signal.SIGKILL)
            try:
                self._process.wait(STOPPING)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        os.close(self._boards)
        os.close(self._answers)

    def _send(self, message: Any, end: float) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        with suppress(BrokenPipeError):  # reading then says why
            while left:
                _wait(self._boards, select.POLLOUT, end)
                left = left[os.write(self._boards, left) :]

    def _read(self, end: float, longest: int = LONGEST) -> dict[str, Any]:
        """Return the next message, which must come before some time."""
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
    """Wait until a pipe can be read or written."""
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(min(max(0.0, end - time.perf_counter()), LONGEST_WAIT) * 1000):
        raise Failed("it has used up its seconds")


@cache  # once
def _warn(unlimited: str) -> None:
    print(f"warning: this system does not restrict a strategy's {unlimited}.", file=sys.stderr)
