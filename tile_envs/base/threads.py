"""Threads that share a step of compiled code, which runs without Python's global lock.

Each has a queue, and sleeps until there is work in it.  An interrupt can leave locks of
`concurrent.futures` held for ever; no Python code holds that of a `SimpleQueue`.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from queue import SimpleQueue
from threading import Thread
from typing import Any

CALLERS_EXTRA = 1024  # so many more games the caller plays, about what waking a thread costs


def play_shared(play: Callable[..., Any], n: int, threads: int, arguments: tuple[Any, ...]) -> None:
    """Play n games by `play(first, end, *arguments)`, a share of them in each thread.

    The thread that calls is one of them, and takes the shares that others have not begun when it is
    done.  None plays any more when this returns, or raises what one of the calls has raised.
    """
    size = max(1, (n - CALLERS_EXTRA) // threads)
    first = n - size * (threads - 1)
    calls = [partial(play, i, i + size, *arguments) for i in range(first, n, size)]
    queues, answers = [_queue(i) for i in range(len(calls))], SimpleQueue[Any]()
    shares, asked = iter(calls), len(calls)  # the iterator gives each share once, to any thread
    try:
        for queue in queues:
            queue.put((shares, answers))
        play(0, first, *arguments)
        for share in shares:
            share()
            asked -= 1
        errors = [error for error in (answers.get() for _ in range(asked)) if error]
    except BaseException:  # an interrupt comes between any two of these lines
        _join(queues)
        raise
    if errors:
        raise errors[0]


def _join(queues: list[SimpleQueue[Any]]) -> None:
    """Wait until the threads have done all that is in their queues."""
    answers = SimpleQueue[Any]()
    try:
        for queue in queues:
            queue.put((iter([bool]), answers))
        for _ in queues:
            answers.get()
    except BaseException:  # another interrupt
        _join(queues)
        raise


@cache
def _queue(i: int) -> SimpleQueue[Any]:
    """Return the queue of thread i, which this process keeps."""
    queue = SimpleQueue[Any]()
    Thread(target=_work, args=(queue,), name=f"tile_envs-{i}", daemon=True).start()
    return queue


def _work(queue: SimpleQueue[Any]) -> None:
    while True:
        _take(*queue.get())  # a call, whose arrays are not kept while there is no work


def _take(shares: Any, answers: SimpleQueue[Any]) -> None:
    for share in shares:
        try:
            share()
            answers.put(None)
        except BaseException as error:
            answers.put(error)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_queue.cache_clear)  # threads are not forked
