"""Numba: kernels, inlined into loops; loops, which Python calls; their cache on disk.

Importing this module imports numba, which takes a second; nothing else in the package imports it.
A loop is compiled on its first call, and kept on disk where a file can be written.

In loops, random words and what is computed with them are `uint64`: numba would turn a mix with
signed integers into floats, and it guards every signed index against being negative.
"""

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar, cast

import numpy as np

from tile_envs.base import random_stream
from tile_envs.errors import extra

with extra("fast"):
    import numba
    from numba.core.caching import FunctionCache, IndexDataCacheFile
    from numba.core.event import Listener, TimingListener, install_listener, register

Function = TypeVar("Function", bound=Callable[..., Any])
Word = np.uint64

ONE, HALF, LOW_HALF = Word(1), Word(32), Word(random_stream.LOW_HALF)
NEXT = Word(random_stream.STRIDE)
MIX_FACTORS = tuple(map(Word, random_stream.MIX_FACTORS))
MIX_SHIFTS = tuple(map(Word, random_stream.MIX_SHIFTS))


def compiled(function: Function) -> Function:
    """Compile a kernel: it is inlined, as a call would copy the descriptions of all tables.

    It counts no references to arrays (`_nrt`), which its caller holds: counting is atomic, which
    made a move of an n-tuple network take a third longer.
    """
    options: Any = {"forceinline": True, "_nrt": False}
    return cast(Function, numba.njit(nogil=True, error_model="numpy", **options)(function))


def compiled_loop(function: Function, module: str = "") -> Function:
    """Compile a function that Python calls; it is kept on disk, and lets other threads run.

    A function that is made inside another one is that of a `module`.
    """
    loop: Any = numba.njit(nogil=True, error_model="numpy")(function)
    try:
        loop._cache = _Kept(function, module)
    except RuntimeError:  # no folder can be written to
        _warn()
    return cast(Function, loop)


class _Kept(FunctionCache):
    """The code of a loop on disk; what is damaged there counts as missing.

    Numba compares only the file of a loop with what it has kept.  Code and numbers of other files
    are frozen into the loop, too, so its stamp is that of all of them.
    """

    def __init__(self, function: Any, module: str) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        source = sys.modules[module or function.__module__].__file__
        stamp = digest(package_of(Path(cast(str, source)).absolute()))
        name = f"{module}{'.' if module else ''}{self._impl.filename_base}"
        self._cache_file = IndexDataCacheFile(self._cache_path, name, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple()  # what is in a closure is part of the stamp

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # pickle raises a dozen kinds
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError:  # such as of a full disk
            _warn()


@compiled
def mixed(position: Word) -> Word:
    """Return the random word of a stream position; see `tile_envs.base.random_stream.mix`."""
    word = (position ^ position >> MIX_SHIFTS[0]) * MIX_FACTORS[0]
    word = (word ^ word >> MIX_SHIFTS[1]) * MIX_FACTORS[1]
    return word ^ word >> MIX_SHIFTS[2]


@compiled
def next_word(streams: Any, i: int) -> Word:
    """Draw a random word from the stream of a game."""
    streams[i] += NEXT
    return mixed(streams[i])


_compilations: Any = TimingListener()
register("numba:compile", _compilations)


def seconds_compiled() -> float:
    """Return how long numba has compiled in this process, all in all."""
    return float(_compilations.duration) if _compilations.done else 0.0


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Say on standard error what is being compiled if that takes longer than a second."""
    message = f"tile_envs: compiling {what}, which takes some seconds"
    timer = Timer(1.0, print, [message], {"file": sys.stderr})
    timer.daemon = True
    try:
        with install_listener("numba:compile", _Starter(timer)):
            yield
    finally:
        timer.cancel()


class _Starter(Listener):
    """Starts a timer with the first loop that is compiled, not found on disk."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer

    def on_start(self, event: Any) -> None:
        if self._timer.ident is None:  # not started yet
            self._timer.start()

    def on_end(self, event: Any) -> None: ...


@cache  # once
def _warn() -> None:
    lost = "compiled code cannot be kept, so each process compiles it anew"
    remedy = "let NUMBA_CACHE_DIR name a folder that can be written to"
    warnings.warn(f"{lost}: {remedy}.", stacklevel=1)


@cache
def digest(package: Path) -> str:
    """Return a name for the present text of a package, or of a file, and of `tile_envs`."""
    files = {package, *package.rglob("*.py"), *package_of(Path(__file__)).rglob("*.py")}
    texts = (file.read_bytes() for file in sorted(files) if file.is_file())
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]


def package_of(file: Path) -> Path:
    """Return the outermost package that a file is in, or the file itself."""
    while (file.parent / "__init__.py").exists():
        file = file.parent
    return file
