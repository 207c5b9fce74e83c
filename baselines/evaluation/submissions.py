"""Other people's code: what is handed in, and the confined process that is asked for its answers.

Nothing of it is imported or unpickled here (see `confined`).  baselines/README.md says what it is
not protected from.
"""

import json
import math
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from baselines.evaluation import confined
from baselines.evaluation.confined import PROBABILITIES, STRATEGY, SUFFIX
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError
from tile_envs.game import Game, Observations
from tile_envs.games import say
from tile_envs.sliding.game import SlidingGame
from tile_envs.text import parse
from tile_envs.words import printable

MAX_IN_ALL, LEAST_FILE = 32 << 20, 1 << 12
"""Bytes of all files of a submission, and as how many a smaller file counts."""
LEFT_OUT = re.compile(r"\.|~\$|(__MACOSX|__pycache__|Thumbs\.db|desktop\.ini)$")
"""Names of hidden files, and of what systems leave in folders."""
MEMORY = 1 << 30  # the usual limit: bytes beyond what Python takes
STARTING, STOPPING = 60.0, 10.0
"""Seconds for Python to start, before it loads a submission, and to end."""
MAX_MESSAGE, MAX_PER_ANSWER = 4096, 256
"""Bytes of a message from a process, and those more for each board that it answers."""
PACKAGES = str(Path(__file__).resolve().parents[2])  # the folder that this package is in
KEPT = "PATH", "LD_LIBRARY_PATH"  # of the environment: other variables may hold secrets
THREADS = "OMP", "OPENBLAS", "MKL"  # libraries whose threads a process may not start


class Failed(UsageError):
    """A submission has failed; the message says how."""


def files_of(entry: Path) -> dict[str, Any]:
    """Return the `files` of a submission, a file or a folder; `Failed` says if there is no Python.

    They are in its `folder`, in one that is `hidden`, since it holds all submissions.
    """
    folder = entry if entry.is_dir() else entry.parent
    paths = [
        path
        for path in (entry, *sorted(entry.rglob("*")))
        # Links in a folder may lead to another submission.
        if path.is_file() and (path == entry or not path.is_symlink())
        if not any(map(LEFT_OUT.match, path.relative_to(folder).parts))
    ]
    files = [str(path.relative_to(folder)) for path in paths]
    if not any(name.lower().endswith(SUFFIX) for name in files):
        text = ", ".join(files[:3]) + ", …" * bool(files[3:])
        raise Failed(f"found {text or 'nothing'}, expected *{SUFFIX}")
    if sum(max(path.stat().st_size, LEAST_FILE) for path in paths) > MAX_IN_ALL:
        raise Failed(f"its files have more than {MAX_IN_ALL >> 20} MiB")
    return {"hidden": str(entry.parent.resolve()), "folder": str(folder.resolve()), "files": files}


class Submission:
    """The confined process of a submission, as an agent; what it sends may be anything.

    `left` are its wall-clock seconds; `kind` is what it answers with, or "" if it does not run.
    """

    def __init__(self, game: Game, memory: int, seconds: float, cpu_seconds: float) -> None:
        self.game, self.left, self.kind = game, seconds, ""
        self._faces = np.array(game.rules.faces if isinstance(game, SlidingGame) else ())
        self._limits = {"memory": memory, "seconds": math.ceil(cpu_seconds + STARTING)}
        self._process: subprocess.Popen[bytes] | None = None

    def load(self, source: str = "", made_with: Any = None, **files: Any) -> None:
        """Start it, and load a text or files; a class is made as `confined.answering` says."""
        self._start(files)
        self.kind = str(self._exchange({"source": source, "made_with": made_with}).get("kind"))
        self.action_probabilities = self.answers if self.kind == PROBABILITIES else None

    def answers(self, observations: Observations) -> list[Any]:
        """Return the answers to observations `(n, R, C)`; a strategy sees faces in their place."""
        is_shown = self.kind == STRATEGY and self._faces.size
        boards = (self._faces[observations] if is_shown else observations).tolist()
        answers = self._exchange(boards, MAX_PER_ANSWER * len(boards)).get("answers")
        if not isinstance(answers, list) or len(answers) != len(boards):
            raise Failed("it sends no answers")
        return answers

    def predict(self, observation: Observations) -> list[int]:
        return [action_of(self.game, answer) for answer in self.answers(observation)]

    def stop(self) -> None:
        """End it, and with it all that it has started."""
        process, self._process, self.kind = self._process, None, ""
        if process is None:
            return
        with suppress(psutil.Error, subprocess.TimeoutExpired):  # it may have ended by itself
            # With its child, the first process of the namespaces, all others of these end.
            for child in psutil.Process(process.pid).children() or [process]:
                child.kill()
            process.wait(STOPPING)
        process.kill()
        process.wait()
        self._socket.close()

    def _start(self, files: Mapping[str, Any]) -> None:
        self._unread, (self._socket, theirs) = b"", socket.socketpair()
        fd, env = str(theirs.fileno()), {n: v for n, v in os.environ.items() if n in KEPT}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", confined.__file__, fd, fd, PACKAGES],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=env | {f"{name}_NUM_THREADS": "1" for name in THREADS},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        told = self._exchange({**self._limits, "packages": PACKAGES, **files}, free=STARTING)
        if unlimited := ", ".join(told["unlimited"]):
            say(f"warning: this system does not restrict a strategy's {unlimited}.")

    def _exchange(self, message: Any, more: int = 0, free: float = 0.0) -> dict[str, Any]:
        """Send a message, and return the next one, in the time that is left, and some `free`."""
        began = time.perf_counter()
        end = began + self.left + free
        try:
            self._socket.settimeout(max(1e-6, self.left + free))
            with suppress(ConnectionError):  # receiving then says why
                self._socket.sendall(json.dumps(message).encode() + b"\n")
            while b"\n" not in self._unread:
                self._socket.settimeout(max(1e-6, end - time.perf_counter()))
                part = self._socket.recv(1 << 16)
                if not part or len(self._unread) > MAX_MESSAGE + more:
                    raise ConnectionError
                self._unread += part
        except TimeoutError:
            raise Failed("it has used up its seconds") from None
        except ConnectionError:
            raise Failed("its process has ended, or does not answer in lines") from None
        finally:
            self.left -= max(0.0, time.perf_counter() - began - free)
        line, _, self._unread = self._unread.partition(b"\n")
        answer = None
        with suppress(ValueError, RecursionError):
            answer = json.loads(line)
        if not isinstance(answer, dict):
            raise Failed("it sends no answers")
        if "error" in answer:
            raise Failed(printable(" ".join(str(answer["error"]).split())))
        return answer


def action_of(game: Game, answer: Any, mask: Any = None) -> int:
    """Return the action of an answer; a `ValueError` says if it is none of the mask's."""
    if isinstance(answer, str) and not answer.strip().isdecimal():
        return parse(game, answer, mask)
    action = int(answer) if isinstance(answer, str | int) else -1
    if not 0 <= action < game.n_actions or (mask is not None and not mask[action]):
        raise UsageError(f"{brief(answer)} is no legal action.")
    return action
