"""Threads that share a step of compiled code.

To wake a thread takes as long as to play a thousand games.  A thread that has done its share looks
for the next one for a while before it goes to sleep, and who waits for it does not sleep either.
None of them may ask for Python's lock while another one holds it, which would put it to sleep, too:
so they are started, and waited for, inside the compiled code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from threading import Lock, Thread
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tile_envs.base.compiled import compiled, compiled_loop

Flags = NDArray[np.int64]
"""What each thread is doing, one of the numbers below; only `STARTED` is set by compiled code."""
READY, ASLEEP, CALLED, STARTED = range(4)
NO_THREADS: Flags = np.empty(0, np.int64)

LOOKS = 1_000_000
"""How often a thread looks for work before it goes to sleep, some tenths of a millisecond."""


def _load(_: Any, flags: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.load_atomic(builder.gep(array.data, [args[1]]), "acquire", 8)

    return types.int64(flags, i), generate


def _store(_: Any, flags: Any, i: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        builder.store_atomic(args[2], builder.gep(array.data, [args[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(flags, i, types.int64), generate


# A flag that is read shows what was written before it was stored.
load: Any = intrinsic(_load)
store: Any = intrinsic(_store)


@compiled
def start(flags: Flags) -> None:
    """Start the threads that have been called."""
    for i in range(len(flags)):
        store(flags, i, STARTED)


@compiled
def join(flags: Flags) -> None:
    """Wait until all threads are done."""
    for i in range(len(flags)):
        while load(flags, i) == STARTED:
            pass


@compiled_loop
def is_started(flags: Flags, i: int, done: bool) -> bool:
    """Tell whether a thread, which may be done with a share, is started while it looks for work."""
    if done:
        store(flags, i, READY)
    for _ in range(LOOKS):  # noqa: SIM110 # numba has no `any`
        if load(flags, i) == STARTED:
            return True
    return False


class Crew:
    """Threads that work beside the one that calls them, one step at a time."""

    def __init__(self, size: int) -> None:
        self._flags = np.full(size, READY)
        self._wake = [Lock() for _ in range(size)]
        self._shares = [(0, 0)] * size
        self._loop: Callable[..., bool] = bool
        self._arguments: tuple[Any, ...] = ()
        self._free = Lock()
        is_started(self._flags, 0, True)  # compiled before a thread needs it
        for i in range(size):
            self._wake[i].acquire()
            Thread(target=self._work, args=(i,), daemon=True).start()

    def play(self, loop: Callable[..., bool], n: int, *arguments: Any) -> bool:
        """Play n games by `loop(first, end, flags, *arguments)`, a share of them in each thread.

        The loop of the thread that calls starts the crew, and joins it, unless it returns False.
        While the crew plays for somebody else, this thread plays alone.
        """
        if not self._free.acquire(blocking=False):
            return loop(0, n, NO_THREADS, *arguments)
        flags, parts, started = self._flags, len(self._flags) + 1, False
        self._loop, self._arguments = loop, arguments
        try:
            for i, wake in enumerate(self._wake):
                self._shares[i] = n * (i + 1) // parts, n * (i + 2) // parts
                was, flags[i] = flags[i], CALLED
                if was == ASLEEP:
                    wake.release()
            started = loop(0, n // parts, flags, *arguments)
        finally:
            if not started:  # refused, or interrupted before
                flags[flags == CALLED] = READY
            self._loop, self._arguments = bool, ()
            self._free.release()
        return started

    def _work(self, i: int) -> None:
        flags, done = self._flags, False
        while True:
            while not is_started(flags, i, done):
                done = False
                if flags[i] == READY:  # nobody calls now: that takes Python's lock
                    flags[i] = ASLEEP
                    self._wake[i].acquire()
            self._loop(*self._shares[i], NO_THREADS, *self._arguments)
            done = True


@cache
def crew(size: int) -> Crew:
    """Return this process's threads of a number, which it keeps."""
    return Crew(size)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=crew.cache_clear)  # threads are not forked
