"""Machine code by numba: steps that loops are made of, loops that Python calls, and their cache.

Importing this module imports numba, which takes a second; nothing else in the package imports it.
A loop is compiled on its first call and kept on disk.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar, cast

import numba
from numba.core.event import Listener, install_listener

PATIENCE = 1.0
"""Seconds of compiling before a person is told."""

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a step of a loop: it becomes part of its callers, and makes no arrays.

    Without that, a call copies the tables' descriptions and counts references to them, which takes
    longer than most steps.
    """
    step: Any = numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)
    return cast(Function, step)


def compiled_loop(function: Function) -> Function:
    """Compile a function that Python calls: on its first call, and kept on disk.

    It lets other threads run.
    """
    # Numba compares the file of a loop with what it has kept.  Code and numbers of other files are
    # frozen into the loop, too, so it is kept under a name that stands for all of them.
    config: Any = numba.config
    usual = config.CACHE_DIR
    source = Path(cast(str, sys.modules[function.__module__].__file__))
    config.CACHE_DIR = str(Path(usual or _writable(source.parent)) / digest(source))
    try:
        loop: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = usual
    return cast(Function, loop)


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Say on standard error what is being compiled if that takes longer than a second."""
    compiling = _Compiling(what)
    with install_listener("numba:compile", compiling):
        try:
            yield
        finally:
            compiling.timer.cancel()


class _Compiling(Listener):
    """Waits for the first loop that is compiled, not found on disk; then for a second."""

    def __init__(self, what: str) -> None:
        self._what, self._begun = what, False
        self.timer = Timer(PATIENCE, self._say)
        self.timer.daemon = True

    def on_start(self, event: Any) -> None:
        if not self._begun:
            self._begun = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        pass

    def _say(self) -> None:
        said = f"tile_envs: compiling {self._what}, some seconds; kept on disk for the next time"
        print(said, file=sys.stderr)


def _writable(folder: Path) -> Path:
    """Return where compiled code of a folder's files is kept: beside them, or at the user's."""
    beside = folder / "__pycache__"
    is_writable = os.access(beside if beside.exists() else folder, os.W_OK)
    return beside if is_writable else Path.home() / ".cache" / "tile-envs"


@cache
def digest(source: Path) -> str:
    """Return a name for the present text of a file and of all files that it imports from here."""
    files = sorted(_imported(source, set()))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _imported(source: Path, seen: set[Path]) -> set[Path]:
    """Return a file and all files of its package, and of this one, that it imports."""
    if source not in seen:
        seen.add(source)
        for file in _direct(source):
            _imported(file, seen)
    return seen


@cache
def _direct(source: Path) -> tuple[Path, ...]:
    """Return the files that a file imports by itself."""
    names = _import_names(ast.parse(source.read_bytes()))
    return tuple(file for name in names for file in _files_of(name, source))


def _import_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files_of(name: str, source: Path) -> Iterator[Path]:
    """Yield the file of a module, if it is one of this package or of the package of a file."""
    here = Path(__file__).parent.parent
    roots = {here.name: here.parent}
    top = next((p for p in source.parents if not (p / "__init__.py").exists()), source.parent)
    roots.setdefault(source.relative_to(top).parts[0], top)
    first, *rest = name.split(".")
    if first in roots:
        path = roots[first].joinpath(first, *rest)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                yield file
