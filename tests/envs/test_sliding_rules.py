"""The row rule of both games, by hand and against a slow oracle on every row."""

import itertools
from functools import cache

import numpy as np
import oracle
import powers3
import pytest

from tile_envs.sliding import DOWN, LEFT, RIGHT, RULES_2048, RULES_2584, UP, afterstates
from tile_envs.sliding.rules import Rules

GAMES = pytest.mark.parametrize(
    ("rules", "merge"),
    [
        (RULES_2048, oracle.merge_2048),
        (RULES_2584, oracle.merge_2584),
        (powers3.RULES, lambda a, b: 3 * a if a == b < 3**17 else 0),
    ],
    ids=["2048", "2584", "Powers3"],
)
SHAPES = [shape for shape in itertools.product(range(1, 9), repeat=2) if shape[0] * shape[1] > 2]


def slide_left(rules: Rules, faces: list[int]) -> tuple[list[int], int]:
    row = [0 if face == 0 else rules.index_of(face) for face in faces]
    after, rewards, _ = afterstates(np.array([[row, [0] * len(row)]]), rules)
    return [rules.faces[t] for t in after[0, LEFT, 0]], int(rewards[0, LEFT])


BY_HAND = {
    RULES_2048: [
        ([0, 0, 0, 0], [0, 0, 0, 0], 0),
        ([0, 0, 0, 2], [2, 0, 0, 0], 0),
        ([2, 0, 0, 2], [4, 0, 0, 0], 4),
        ([2, 2, 2, 0], [4, 2, 0, 0], 4),
        ([2, 2, 2, 2], [4, 4, 0, 0], 8),
        ([4, 2, 2, 0], [4, 4, 0, 0], 4),
        ([2, 2, 4, 8], [4, 4, 8, 0], 4),
        ([2, 4, 2, 4], [2, 4, 2, 4], 0),
        ([1024, 0, 1024, 2048], [2048, 2048, 0, 0], 2048),
        ([65536, 65536, 0, 0], [131072, 0, 0, 0], 131072),
        ([131072, 131072, 0, 0], [131072, 131072, 0, 0], 0),
    ],
    RULES_2584: [
        ([1, 1, 0, 0], [2, 0, 0, 0], 2),
        ([2, 2, 0, 0], [2, 2, 0, 0], 0),
        ([1, 2, 3, 0], [3, 3, 0, 0], 3),
        ([5, 3, 2, 0], [8, 2, 0, 0], 8),
        ([2, 3, 8, 3], [5, 8, 3, 0], 5),
        ([1, 1, 1, 1], [2, 2, 0, 0], 4),
        ([1, 1, 2, 3], [2, 5, 0, 0], 7),
        ([610, 987, 987, 1597], [1597, 2584, 0, 0], 4181),
        ([832040, 1346269, 0, 0], [2178309, 0, 0, 0], 2178309),
        ([1346269, 2178309, 0, 0], [1346269, 2178309, 0, 0], 0),
        ([2178309, 2178309, 0, 0], [2178309, 2178309, 0, 0], 0),
    ],
}


@pytest.mark.parametrize("rules", BY_HAND, ids=lambda rules: rules.name)
def test_rows_by_hand(rules):
    for row, after, reward in BY_HAND[rules]:
        assert slide_left(rules, row) == (after, reward)


@GAMES
@pytest.mark.parametrize("length", [2, 3, 4])
def test_every_row_slides_as_the_oracle_says(rules, merge, length):
    tiles = rules.largest + 1
    rows = np.indices((tiles,) * length, np.uint8).reshape(length, -1).T
    boards = np.stack([rows, np.zeros_like(rows)], axis=1)
    after, rewards, _ = afterstates(boards, rules)
    faces, known = np.array(rules.faces), cache(merge)
    slid = [oracle.slide(row, known) for row in faces[rows].tolist()]
    lines = np.array([line for line, _ in slid])
    paid = np.array([reward for _, reward in slid])
    mirrored = np.ravel_multi_index(rows.T[::-1], (tiles,) * length)
    assert np.array_equal(faces[after[:, LEFT, 0]], lines)
    assert np.array_equal(faces[after[:, RIGHT, 0, ::-1]], lines[mirrored])
    assert np.array_equal(rewards[:, LEFT], paid)
    assert np.array_equal(rewards[:, RIGHT], paid[mirrored])


@GAMES
@pytest.mark.parametrize("shape", SHAPES)
def test_boards_of_every_shape_move_as_the_oracle_says(rules, merge, shape):
    rng = np.random.default_rng(1)
    boards = rng.integers(0, 5, (50, *shape)) * (rng.random((50, *shape)) < 0.7)
    after, rewards, masks = afterstates(boards, rules)
    faces = np.array(rules.faces)
    for board, moved, reward, mask in zip(boards, after, rewards, masks, strict=True):
        for action in (UP, RIGHT, DOWN, LEFT):
            expected = oracle.move(faces[board].tolist(), action, merge)
            assert (faces[moved[action]].tolist(), reward[action]) == expected
            assert mask[action] == (expected[0] != faces[board].tolist())
