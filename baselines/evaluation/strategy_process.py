"""The process of a written strategy: it confines itself, and answers boards until it is stopped.

Lines of JSON come and go through pipes.  It runs by itself, on the standard library alone, but for
classes (see `class_process`): seeds of games and their random streams stay with the judge.
"""

from __future__ import annotations

import ctypes
import json
import operator
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

NEW_USER, NEW_NETWORK, NEW_PROCESSES, NEW_SHARED_MEMORY = 1 << 28, 1 << 30, 1 << 29, 1 << 27
NEW_MOUNTS, ALL_PRIVATE = 1 << 17, 1 << 14 | 1 << 18
DEATH_SIGNAL, KEEP_CAPABILITIES, NO_NEW_PRIVILEGES = 1, 8, 38
READ_ALL = 1 << 2
"""The capability to read what root can read, such as Python's own files."""
NOBODY = 65534
STRATEGY = "strategy"
MOST_CHARACTERS, MOST_NUMBER = 200, 199
"""The most characters of an answer or an error, and the largest number, that are told."""


def serve(boards: int, answers: int, memory: int, user: int) -> None:
    """Answer lists of boards with what comes first, see `loaded`; never return.

    Args:
        boards: The file descriptor that boards come from.
        answers: That which answers go to.
        memory: How many bytes may be taken in addition to those that are taken now.
        user: The number of the user to become where root started this.
    """

    def tell(**message: Any) -> None:
        os.write(answers, json.dumps(message).encode() + b"\n")

    try:
        tell(unlimited=confine(memory, user))
        lines = os.fdopen(boards)
        kind, answers_to = loaded(**json.loads(lines.readline()))
        tell(kind=kind)
        for line in lines:
            tell(answers=answers_to(json.loads(line)))
    except BaseException as error:
        error.__traceback__ = None  # which would keep what has filled the memory
        tell(error=f"{type(error).__name__}: {error}"[:MOST_CHARACTERS].rstrip(": "))
    finally:
        os._exit(0)


def loaded(
    source: str, file: str = STRATEGY, packages: str = "", made_with: dict[str, Any] | None = None
) -> tuple[str, Callable[[Any], list[Any]]]:
    """Load a source; return what it has defined, and what answers a list of boards.

    Args:
        source: The text of a strategy.
        file: The file that it comes from.
        packages: The folder of this package, for a class.
        made_with: If given, the source may also define a class, which is made with this.
    """
    module = sys.modules[STRATEGY] = ModuleType(STRATEGY)  # where dataclasses look for theirs
    module.__file__ = file
    sys.path += [packages] * bool(packages)
    exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    found = {
        name: each
        for name, each in vars(module).items()
        if (name == STRATEGY and callable(each)) or (made_with and is_agent(each))
    }
    if not found:
        missing = "class with predict(boards, action_masks) and no " * bool(made_with)
        raise NameError(f"it defines no {missing}function strategy(board)")
    ((name, agent), *others) = found.items()
    if others:
        raise NameError(f"it defines several agents, {', '.join(found)}: keep one")
    if name == STRATEGY:
        return STRATEGY, lambda boards: [as_answer(agent(board)) for board in boards]
    from baselines.evaluation.class_process import answering

    return answering(agent, **(made_with or {}))


def is_agent(value: Any) -> bool:
    """Tell whether a value is a class of the source, not an imported one, that has `predict`."""
    return isinstance(value, type) and value.__module__ == STRATEGY and hasattr(value, "predict")


def as_answer(answer: Any) -> str | int:
    """Return an answer as a text or an integer, -1 for anything else."""
    if isinstance(answer, str):
        return answer[:MOST_CHARACTERS]
    try:
        number = int(operator.index(answer))  # numpy's as well
    except TypeError:
        return -1
    return number if abs(number) <= MOST_NUMBER else -1


def confine(memory: int, user: int) -> list[str]:
    """Give up what a strategy does not need; return what this system does not limit."""
    import resource  # late: Windows has none, where nothing is judged

    unlimited, is_root, libc = [], os.geteuid() == 0, ctypes.CDLL(None, use_errno=True)
    prctl = getattr(libc, "prctl", lambda *_: None)
    apart = NEW_NETWORK | NEW_PROCESSES | NEW_SHARED_MEMORY | (0 if is_root else NEW_USER)
    prctl(DEATH_SIGNAL, signal.SIGKILL)
    if not hasattr(libc, "unshare") or libc.unshare(apart):
        unlimited += ["network", "sight of other processes"]
    elif first := os.fork():  # the first process of a namespace, with which all others end
        os.waitpid(first, 0)
        os._exit(0)
    else:
        if not hide_processes(libc):
            unlimited.append("sight of other processes")
        if not is_root:
            keep_capabilities(libc, 0)  # those of the namespaces, which could undo their mounts
    if is_root and not become(user, libc):
        unlimited.append("processes")
    prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    prctl(DEATH_SIGNAL, signal.SIGKILL)  # anew, since another user loses it
    statm = Path("/proc/self/statm")
    taken = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    limits = {"memory": ("AS", taken + memory), "processes": ("NPROC", 0)}
    for what, (name, most) in {**limits, "files": ("FSIZE", 0), "dumps": ("CORE", 0)}.items():
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        except (ValueError, OSError):
            unlimited.append(what)
    os.chdir("/")
    return unlimited


def hide_processes(libc: Any) -> bool:
    """Let /proc show the processes of this namespace alone."""
    return not (
        libc.unshare(NEW_MOUNTS)
        or libc.mount(None, b"/", None, ALL_PRIVATE, None)
        or libc.mount(b"proc", b"/proc", b"proc", 0, None)
    )


def become(user: int, libc: Any) -> bool:
    """Become another user, whom limits bind and who can read, but not write, what root can."""
    libc.prctl(KEEP_CAPABILITIES, 1, 0, 0, 0)
    for uid in (user, NOBODY):  # some containers have no others
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except OSError:
            continue
        return any(keep_capabilities(libc, kept) for kept in (READ_ALL, 0))
    return False


def keep_capabilities(libc: Any, kept: int) -> bool:
    """Give up all capabilities but these."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    return bool(libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept)) == 0)


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
