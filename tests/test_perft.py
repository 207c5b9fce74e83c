"""The rules by counting: how many positions play can lead to on small boards."""

import numpy as np
import oracle
import pytest

from tile_envs.sliding import RULES_2048, RULES_2584, afterstates


def reachable(n_cells, moved):
    """Return all boards with the player to move, and all after a move, as tuples of tiles.

    `moved` returns what all moves make of a set of boards.
    """
    before, after = set(), set()
    layer = spawned(spawned({(0,) * n_cells}))
    while layer:
        before |= layer
        made = moved(layer)
        after |= made
        layer = spawned(made) - before
    return before, after


def spawned(boards):
    return {
        (*board[:cell], tile, *board[cell + 1 :])
        for board in boards
        for cell in range(len(board))
        if not board[cell]
        for tile in (1, 2)
    }


def by_package(boards, rules, shape):
    after, _, masks = afterstates(np.reshape([*boards], (-1, *shape)), rules)
    return set(map(tuple, after[masks > 0].reshape(-1, np.prod(shape)).tolist()))


@pytest.mark.parametrize(
    ("rules", "merge"),
    [(RULES_2048, oracle.merge_2048), (RULES_2584, oracle.merge_2584)],
    ids=["2048", "2584"],
)
def test_on_2x2_the_oracle_reaches_the_same(rules, merge):
    def by_oracle(boards):
        rows = [np.take(rules.faces, board).reshape(2, 2).tolist() for board in boards]
        moves = [(board, oracle.move(board, a, merge)[0]) for board in rows for a in range(4)]
        changed = [(*after[0], *after[1]) for board, after in moves if after != board]
        return {tuple(map(rules.faces.index, faces)) for faces in changed}

    assert reachable(4, lambda boards: by_package(boards, rules, (2, 2))) == reachable(4, by_oracle)


@pytest.mark.slow
def test_on_2x3_2584_has_the_published_number_of_positions():
    """815,828 before-states and 525,758 after-states, the largest tile 233, by another program."""
    before, after = reachable(6, lambda boards: by_package(boards, RULES_2584, (2, 3)))
    assert (len(before), len(after)) == (815_828, 525_758)
    assert RULES_2584.faces[max(map(max, before))] == 233
