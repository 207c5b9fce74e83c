"""The values of afterstates, and the best action by them, compiled.

A board is four packed lines, its rows or its columns; see `tile_envs.sliding.kernels`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.ntuple.entries import Indices, Net, look_up, sum_up
from tile_envs.base.compiled import ONE, Word, compiled, compiled_loop
from tile_envs.base.random_stream import Words
from tile_envs.sliding.kernels import (
    ACTIONS_END,
    GameTables,
    Lines,
    Pushed,
    is_vertical,
    pushed_to,
    transposed,
)


@compiled
def rows_after(game: GameTables, action: Word, after: Pushed) -> Lines:
    """Return the rows of an afterstate; on a square board columns are as good."""
    if not game.square and is_vertical(action):
        return transposed(after.a, after.b, after.c, after.d)
    return after.a, after.b, after.c, after.d


@compiled
def _look_up_after(
    game: GameTables, net: Net, action: Word, after: Pushed, indices: Indices, at: Word
) -> None:
    a, b, c, d = rows_after(game, action, after)
    look_up(game, net, a, b, c, d, net.stages[after.largest], indices, at)


@compiled
def value_of(
    game: GameTables, net: Net, action: Word, after: Pushed, indices: Indices
) -> np.float32:
    """Return V(s') of an afterstate, and leave its indices at the beginning of `indices`."""
    _look_up_after(game, net, action, after, indices, Word(0))
    return sum_up(net, indices, Word(0), net.stages[after.largest])


@compiled
def best_move(
    game: GameTables,
    net: Net,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    indices: Indices,
    at: Word,
) -> tuple[Word, Pushed, np.float32, np.float32, Word]:
    """Choose the action with the highest r + V(s'), the first of equals.

    All afterstates are looked up before any is summed up, so that the waits for memory overlap;
    `indices` has room for four of them (see `room_for`) from `at` on.

    Returns:
        The best action (4 if none is legal), its afterstate, V(s'), r + V(s'), and where the
        afterstate's indices begin.
    """
    columns = transposed(a, b, c, d)
    entries, room = Word(net.turns) * net.lanes, room_for(net, Word(1))
    legal = Word(0)
    action = Word(0)
    while action < ACTIONS_END:
        after = pushed_to(game, action, a, b, c, d, columns)
        if after.changed:
            legal |= ONE << action
            place = at + action * room
            _look_up_after(game, net, action, after, indices, place)
            indices[place + entries] = after.reward
            indices[place + entries + ONE] = after.largest
        action += ONE
    best, value, highest = ACTIONS_END, np.float32(0), np.float32(-np.inf)
    action = Word(0)
    while action < ACTIONS_END:
        if legal >> action & ONE:
            place = at + action * room
            reward, largest = indices[place + entries], indices[place + entries + ONE]
            after_value = sum_up(net, indices, place, net.stages[largest])
            if after_value + np.float32(reward) > highest:
                best, value, highest = action, after_value, after_value + np.float32(reward)
        action += ONE
    chosen = pushed_to(game, best & Word(3), a, b, c, d, columns)
    return best, chosen, value, highest, at + best * room


@compiled
def room_for(net: Net, afterstates: Word) -> Word:
    """Return the room that `best_move` needs: indices, and for each afterstate reward and tile."""
    return afterstates * (Word(net.turns) * net.lanes + Word(2))


@compiled_loop
def action_values(game: GameTables, net: Net, rows: Words) -> NDArray[np.float32]:
    """Return r + V(s') of each action, `(n, 4)`, on boards `(n, 4)`; minus infinity if illegal."""
    values = np.full((len(rows), 4), -np.inf, np.float32)
    indices = np.zeros(room_for(net, ONE), np.uint32)
    for i in range(len(rows)):
        a, b, c, d = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]
        columns = transposed(a, b, c, d)
        for direction in range(4):
            action = Word(direction)
            after = pushed_to(game, action, a, b, c, d, columns)
            if after.changed:
                value = value_of(game, net, action, after, indices)
                values[i, direction] = value + np.float32(after.reward)
    return values
