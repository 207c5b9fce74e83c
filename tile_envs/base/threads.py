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
from time import sleep
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tile_envs.base.compiled import compiled, compiled_loop

Share = NDArray[np.int64]
"""A share of the games: the first one, the end, and a flag for each thread that plays others."""
FIRST, END, FLAGS = range(3)

READY, ASLEEP, CALLED, STARTED = range(4)
"""What a flag says of a thread.  Compiled code only starts it and waits until it is ready."""

LOOKS = 1_000_000
"""How often a thread looks for work before it goes to sleep, some tenths of a millisecond."""
LOOKS_PER_GAME = 300
"""How often it looks in the time that a game takes."""
NAP, REST = 1e-6, 64
"""The seconds between more looks, and for how many steps threads that have no core are left out."""


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
def start(share: Share) -> None:
    """Start the threads that have been called."""
    for i in range(FLAGS, len(share)):
        store(share, i, STARTED)


@compiled
def join(share: Share) -> None:
    """Wait until all threads are done, but not much longer than a share takes."""
    patience = LOOKS // 10 + LOOKS_PER_GAME * (share[END] - share[FIRST])
    for i in range(FLAGS, len(share)):
        looks = 0
        while load(share, i) == STARTED and looks < patience:
            looks += 1


@compiled_loop
def is_started(flags: Share, i: int, done: bool) -> bool:
    """Tell whether a thread, which may be done with a share, is started while it looks for work."""
    if done:
        store(flags, i, READY)
    for _ in range(LOOKS):  # noqa: SIM110 # numba has no `any`
        if load(flags, i) == STARTED:
            return True
    return False


def share_of(first: int, end: int, threads: int = 0) -> Share:
    """Return a share of the games, beside those of some threads."""
    return np.array([first, end, *[READY] * threads])


class Crew:
    """Threads that work beside the one that calls them, one step at a time."""

    def __init__(self, size: int) -> None:
        self._shares = [share_of(0, 0, size), *(share_of(0, 0) for _ in range(size))]
        self._flags = self._shares[0][FLAGS:]
        self._wake = [Lock() for _ in range(size)]
        self._loop: Callable[..., bool] = bool
        self._arguments: tuple[Any, ...] = ()
        self._free, self._rest = Lock(), 0
        is_started(self._flags, 0, True)  # compiled before a thread needs it
        for i in range(size):
            self._wake[i].acquire()
            Thread(target=self._work, args=(i,), daemon=True).start()

    def play(self, loop: Callable[..., bool], n: int, arguments: tuple[Any, ...]) -> bool:
        """Play n games by `loop(share, *arguments)`, a share of them in each thread.

        The loop of the thread that calls starts the crew, and joins it, unless it returns False.
        While the crew plays for somebody else, or has no cores, this thread plays alone.
        """
        if self._rest or not self._free.acquire(blocking=False):
            self._rest = max(0, self._rest - 1)
            return loop(share_of(0, n), *arguments)
        flags = self._flags
        self._loop, self._arguments = loop, arguments
        try:
            for k, share in enumerate(self._shares):
                share[FIRST] = n * k // len(self._shares)
                share[END] = n * (k + 1) // len(self._shares)
            found, flags[:] = flags.tolist(), CALLED
            for wake, was in zip(self._wake, found, strict=True):
                if was == ASLEEP:
                    wake.release()
            played = loop(self._shares[0], *arguments)
            while STARTED in flags.tolist():  # a thread has no core: leave it this one
                self._rest = 0 if ASLEEP in found else REST
                sleep(NAP)
        finally:
            while STARTED in (found := flags.tolist()):  # an interrupt came
                sleep(NAP)
            if CALLED in found:  # refused, or interrupted before
                flags[flags == CALLED] = READY
            self._loop, self._arguments = bool, ()
            self._free.release()
        return played

    def _work(self, i: int) -> None:
        flags, done = self._flags, False
        while True:
            while not is_started(flags, i, done):
                done = False
                if flags[i] == READY:  # nobody calls now: that takes Python's lock
                    flags[i] = ASLEEP
                    self._wake[i].acquire()
            self._loop(self._shares[i + 1], *self._arguments)
            done = True


@cache
def crew(size: int) -> Crew:
    """Return this process's threads of a number, which it keeps."""
    return Crew(size)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=crew.cache_clear)  # threads are not forked
