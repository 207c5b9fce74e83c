"""The rules by counting: how many positions play can lead to on small boards."""

import itertools

import numpy as np
import oracle
import pytest

from tile_envs.sliding import RULES_2048, RULES_2584, afterstates


def spawned(boards, tiles):
    """Return every board with one new tile in it, without repetitions."""
    made = []
    for row, column in np.ndindex(boards.shape[1:]):
        for tile in tiles:
            more = boards[boards[:, row, column] == 0].copy()
            more[:, row, column] = tile
            made.append(more)
    return unique(np.concatenate(made))


def unique(boards):
    flat = boards.reshape(len(boards), -1).astype(np.int64)
    codes = flat @ (32 ** np.arange(flat.shape[1]))
    return boards[np.unique(codes, return_index=True)[1]]


def moved(boards, rules):
    after, _, masks = afterstates(boards, rules)
    return unique(after[masks.astype(bool)])


def reachable(shape, rules):
    """Return all boards with the player to move, and all after a move."""
    layer = spawned(spawned(np.zeros((1, *shape), np.uint8), (1, 2)), (1, 2))
    before, after = layer, np.zeros((0, *shape), np.uint8)
    while len(layer):
        made = moved(layer, rules)
        after = unique(np.concatenate([after, made]))
        layer = spawned(made, (1, 2))
        known = len(before)
        before = unique(np.concatenate([before, layer]))
        if len(before) == known:
            break
    return before, after


@pytest.mark.parametrize(
    ("rules", "merge", "tiles"),
    [(RULES_2048, oracle.merge_2048, (2, 4)), (RULES_2584, oracle.merge_2584, (1, 2))],
    ids=["2048", "2584"],
)
def test_on_2x2_the_oracle_counts_the_same(rules, merge, tiles):
    def spawns(board):
        for (r, c), tile in itertools.product(np.ndindex(2, 2), tiles):
            if not board[r][c]:
                yield tuple(
                    tuple(tile if (i, j) == (r, c) else board[i][j] for j in range(2))
                    for i in range(2)
                )

    layer = {b for a in spawns(((0, 0), (0, 0))) for b in spawns(a)}
    before, after = set(layer), set()
    while layer:
        made = set()
        for board in layer:
            for action in range(4):
                moved_board = oracle.move([list(row) for row in board], action, merge)[0]
                if (as_tuple := tuple(map(tuple, moved_board))) != board:
                    made.add(as_tuple)
        after |= made
        layer = {b for a in made for b in spawns(a)} - before
        before |= layer
    ours_before, ours_after = reachable((2, 2), rules)
    assert (len(ours_before), len(ours_after)) == (len(before), len(after))


@pytest.mark.slow
def test_on_2x3_2584_has_the_published_number_of_positions():
    """815,828 before-states and 525,758 after-states, the largest tile 233, by another program."""
    before, after = reachable((2, 3), RULES_2584)
    assert (len(before), len(after)) == (815_828, 525_758)
    assert RULES_2584.faces[before.max()] == 233
