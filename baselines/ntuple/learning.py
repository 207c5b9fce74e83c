"""Learning of n-tuple networks, compiled: whole games, forwards or backwards.

`ntuple` tells what is learned from an episode, `plain` tells it once more in plain Python.
"""

from concurrent.futures import Future
from threading import Thread
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.ntuple.network import Indices, Weights
from baselines.ntuple.values import Net, best_move, look_up, room_for, sum_up
from baselines.pushes import following
from tile_envs.base.compiled import NEXT, ONE, Word, compiled, compiled_loop, mixed
from tile_envs.base.random_stream import Words
from tile_envs.sliding.compiled import ACTIONS_END
from tile_envs.sliding.packed.kernels import Pushed

Sums = NDArray[np.float64]
"""Over all updates, `(2,)`: the sum of |δ|, and that of |E| / A of all entries they changed."""
Played = tuple[NDArray[np.int64], NDArray[np.int64], int, Sums]
"""Scores `(n,)`, the indices of the largest tiles `(n,)`, the number of all moves, and the sums."""
MIDDLE, STAGES = 1, 2
"""From where a game is played again: its middle, or where it entered each stage (carousel)."""
SHORTEST_RESTART = 10  # games of at most this many moves are not restarted
SNAPSHOTS = 10  # those of the weights that are averaged
CAROUSEL = 4  # how many times a game is played again from where it entered its last stage
ERRORS, SIZES = Word(1), Word(2)
"""Where an entry of a TC network holds E and A, after its weight."""


class Update(NamedTuple):
    """How games change a network, as compiled loops take it."""

    rate: np.float32  # α / m for a board of m entries; 0 does not learn
    trace_decay: np.float32 = np.float32(0)  # λ
    coherent: bool = False  # whether each entry also has a rate of its own, |E| / A
    again: int = 0  # from where games are played again: 0 (not at all), `MIDDLE` or `STAGES`


@compiled
def adjust(
    net: Net, indices: Indices, at: Word, stage: Word, error: np.float32, update: Update, sums: Sums
) -> None:
    """Change the entries of a board by its error δ, and add to the sums.

    - TD: w ← w + α/m δ
    - TC: w ← w + α/m δ |E| / A, E ← E + δ, A ← A + |δ|; |E| / A is 1 as long as A is 0
    """
    change = update.rate * error
    size, rates = abs(error), np.float32(0)
    stage *= net.stage_size
    for turn in range(net.turns):
        begin = at + Word(turn) * net.lanes
        if update.coherent:
            for lane in range(Word(len(net.used))):
                entry = stage + indices[begin + lane]
                errors, sizes = net.weights[entry + ERRORS], net.weights[entry + SIZES]
                rate = abs(errors) / sizes if sizes > 0 else np.float32(1)
                rates += rate
                net.weights[entry] += change * rate
                net.weights[entry + ERRORS] = errors + error
                net.weights[entry + SIZES] = sizes + size
        else:
            for lane in range(Word(len(net.used))):
                net.weights[stage + indices[begin + lane]] += change
    sums[0] += size
    sums[1] += rates


@compiled_loop
def average(means: Weights, numbers: Weights, share: np.float32) -> None:
    """Move the mean of each entry, `(entries, 1)`, by a share of what its weight differs."""
    for entry in range(len(numbers)):
        means[entry, 0] += share * (numbers[entry, 0] - means[entry, 0])


@compiled_loop
def play_forwards(net: Net, update: Update, boards: Words, positions: Words) -> Played:
    """Play games, and learn from each move as soon as the next one is chosen.

    They begin with the rows of boards `(n, 4)`, and at positions `(n,)` of random streams.  With
    the rate 0 they are only played.
    """
    game, learning, room = net.game, update.rate > 0, room_for(net, ACTIONS_END)
    scores, tiles = np.zeros(len(boards), np.int64), np.zeros(len(boards), np.int64)
    indices = np.zeros(2 * room, np.uint32)  # those of the last move stay beside the next one's
    moves, sums = 0, np.zeros(2)
    for number in range(len(boards)):
        rows = boards[number, 0], boards[number, 1], boards[number, 2], boards[number, 3]
        position, score, largest, is_first = positions[number], Word(0), Word(0), True
        last_value, last_at, last_stage, side = np.float32(0), Word(0), Word(0), Word(0)
        while True:
            action, after, value, at, stage = best_move(net, rows, indices, side)
            if learning and not is_first:
                target = np.float32(0)
                if action < ACTIONS_END:
                    target = np.float32(after.reward) + value
                adjust(net, indices, last_at, last_stage, target - last_value, update, sums)
            if action == ACTIONS_END:
                break
            is_first, side = False, room - side
            last_value, last_at, last_stage = value, at, stage
            moves += 1
            score += after.reward
            largest = max(largest, after.largest)
            position += NEXT
            rows = following(game, action, after, mixed(position))
        scores[number], tiles[number] = score, largest
    return scores, tiles, moves, sums


@compiled_loop
def play_backwards(net: Net, update: Update, boards: Words, positions: Words) -> Played:
    """Play games, and learn from each at its end; of those played again, only moves count."""
    game = net.game
    scores, tiles = np.zeros(len(boards), np.int64), np.zeros(len(boards), np.int64)
    indices = np.zeros(room_for(net, ACTIONS_END), np.uint32)
    path = np.zeros((1 << 14, 8), np.uint64)
    entries = np.zeros((1 + len(net.stages), 8), np.uint64)  # the moves that entered a stage
    moves, sums = 0, np.zeros(2)
    for number in range(len(boards)):
        rows = boards[number, 0], boards[number, 1], boards[number, 2], boards[number, 3]
        position, from_start = positions[number], True
        last_stage, replayed, times = Word(0), Word(1), 0
        while True:
            score, largest, length = Word(0), Word(0), 0
            while True:
                action, after, _, _, stage = best_move(net, rows, indices, Word(0))
                if action == ACTIONS_END:
                    break
                if length == len(path):
                    path = np.concatenate((path, np.zeros_like(path)))
                a, b, c, d = after.lines
                path[length] = (action, a, b, c, d, after.reward, after.largest, after.pattern)
                while last_stage < stage:  # a move may enter several
                    last_stage += ONE
                    entries[last_stage] = path[length]
                length += 1
                score += after.reward
                largest = max(largest, after.largest)
                position += NEXT
                rows = following(game, action, after, mixed(position))
            moves += length
            if from_start:
                scores[number], tiles[number] = score, largest
                from_start = False
            learn_backwards(net, update, path[:length], indices, sums)
            begin = path[length // 2]
            if update.again == STAGES:
                if times >= (CAROUSEL if replayed == last_stage else 1):
                    replayed, times = replayed + ONE, 0
                if replayed > last_stage:
                    break
                times += 1
                begin = entries[replayed]
            elif update.again != MIDDLE or length <= SHORTEST_RESTART:
                break
            action, after = unpack_move(begin)
            position += NEXT
            rows = following(game, action, after, mixed(position))
    return scores, tiles, moves, sums


@compiled
def learn_backwards(net: Net, update: Update, path: Words, indices: Indices, sums: Sums) -> None:
    """Learn from an episode, from its last afterstate to the first.

        G_T-1 = 0,   δ = G_t - V(s_t'),   G_t-1 = r_t + (1 - λ) V(s_t') + λ G_t

    V(s_t') in G_t-1 is the value after the update.  `path` holds action, lines, reward, largest
    tile and pattern of each move, `(n, 8)`, and `indices` has room for those of two boards: one is
    fetched from memory while the one after it is learned from.
    """
    if len(path) == 0:
        return
    target, at, beside = np.float32(0), Word(0), room_for(net, ONE)
    action, after = unpack_move(path[len(path) - 1])
    stage = look_up(net, action, after, indices, at)
    for i in range(len(path) - 1, -1, -1):
        reward, stage_beside = after.reward, stage
        if i:
            action, after = unpack_move(path[i - 1])
            stage_beside = look_up(net, action, after, indices, beside)
        error = target - sum_up(net, indices, at, stage)
        adjust(net, indices, at, stage, error, update, sums)
        value = sum_up(net, indices, at, stage)
        target = np.float32(reward) + value + update.trace_decay * (target - value)
        at, beside, stage = beside, at, stage_beside


@compiled
def unpack_move(move: Words) -> tuple[Word, Pushed]:
    """Return the action and the afterstate of a stored move, `(8,)`."""
    after = Pushed(True, (move[1], move[2], move[3], move[4]), move[5], move[6], move[7])
    return move[0], after


def play(
    net: Net, update: Update, boards: Words, positions: Words, direction: str, threads: int
) -> Played:
    """Play games, and learn from them "forward" or "backward", on several threads."""
    loop = play_backwards if direction == "backward" and update.rate > 0 else play_forwards
    shares = 32 * threads if threads > 1 else 1  # small ones, so that all threads end together
    parts = zip(np.array_split(boards, shares), np.array_split(positions, shares), strict=True)
    left = iter(tasks := [(Future[Played](), part) for part in parts])

    def work() -> None:
        for future, part in left:
            try:
                future.set_result(loop(net, update, *part))
            except Exception as error:  # which a thread would keep to itself
                future.set_exception(error)

    for _ in range(threads):  # daemons: a second Ctrl-C ends the process without waiting for them
        Thread(target=work, daemon=True).start()
    scores, tiles, moves, sums = zip(*(future.result() for future, _ in tasks), strict=True)
    return np.concatenate(scores), np.concatenate(tiles), sum(moves), np.sum(sums, axis=0)
