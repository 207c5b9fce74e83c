"""The rules of the sliding games: rows by hand, every row by a slow oracle, laws of all boards."""

import itertools
from functools import cache

import numpy as np
import oracle
import powers3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame, afterstates, legal_actions
from tile_envs.sliding.rules import ACTIONS, LEFT, RIGHT

MERGES = {
    RULES_2048: oracle.merge_2048,
    RULES_2584: oracle.merge_2584,
    powers3.RULES: lambda a, b: 3 * a if a == b < 3**17 else 0,
}
every_game = pytest.mark.parametrize("rules", MERGES, ids=lambda rules: rules.name)
SHAPES = [shape for shape in itertools.product(range(1, 9), repeat=2) if shape[0] * shape[1] > 2]


BY_HAND = {
    RULES_2048: [
        ([0, 0, 0, 0], [0, 0, 0, 0], 0),
        ([2, 2, 2, 0], [4, 2, 0, 0], 4),
        ([2, 2, 2, 2], [4, 4, 0, 0], 8),
        ([4, 2, 2, 0], [4, 4, 0, 0], 4),
        ([1024, 0, 1024, 2048], [2048, 2048, 0, 0], 2048),
        ([65536, 65536, 0, 0], [131072, 0, 0, 0], 131072),
        ([131072, 131072, 0, 0], [131072, 131072, 0, 0], 0),
    ],
    RULES_2584: [
        ([2, 2, 0, 0], [2, 2, 0, 0], 0),
        ([5, 3, 2, 0], [8, 2, 0, 0], 8),
        ([1, 1, 1, 1], [2, 2, 0, 0], 4),
        ([1, 1, 2, 3], [2, 5, 0, 0], 7),
        ([610, 987, 987, 1597], [1597, 2584, 0, 0], 4181),
        ([832040, 1346269, 0, 0], [2178309, 0, 0, 0], 2178309),
        ([2178309, 2178309, 0, 0], [2178309, 2178309, 0, 0], 0),
    ],
}


@pytest.mark.parametrize("rules", BY_HAND, ids=lambda rules: rules.name)
def test_rows_by_hand(rules):
    game = SlidingGame(rules, (2, 4))
    for row, after, reward in BY_HAND[rules]:
        moved, paid, _ = game.afterstates(game.indices([[row, [0] * 4]]))
        assert game.faces(moved[0, LEFT, 0]).tolist() == after
        assert paid[0, LEFT] == reward


@every_game
@pytest.mark.parametrize("length", [2, 3, 4])
def test_every_row_slides_as_the_oracle_says(rules, length):
    tiles = rules.largest + 1
    rows = np.indices((tiles,) * length, np.uint8).reshape(length, -1).T
    boards = np.stack([rows, np.zeros_like(rows)], axis=1)
    after, rewards, _ = afterstates(boards, rules)
    faces, known = np.array(rules.faces), cache(MERGES[rules])
    slid = [oracle.slide(row, known) for row in faces[rows].tolist()]
    lines = np.array([line for line, _ in slid])
    paid = np.array([reward for _, reward in slid])
    mirrored = np.ravel_multi_index(rows.T[::-1], (tiles,) * length)
    assert np.array_equal(faces[after[:, LEFT, 0]], lines)
    assert np.array_equal(faces[after[:, RIGHT, 0, ::-1]], lines[mirrored])
    assert np.array_equal(rewards[:, LEFT], paid)
    assert np.array_equal(rewards[:, RIGHT], paid[mirrored])


@every_game
@pytest.mark.parametrize("shape", SHAPES)
def test_boards_of_every_shape_move_as_the_oracle_says(rules, shape):
    rng = np.random.default_rng(1)
    boards = rng.integers(0, 5, (50, *shape)) * (rng.random((50, *shape)) < 0.7)
    after, rewards, masks = afterstates(boards, rules)
    faces = np.array(rules.faces)
    for board, moved, reward, mask in zip(boards, after, rewards, masks, strict=True):
        for action in range(len(ACTIONS)):
            expected = oracle.move(faces[board].tolist(), action, MERGES[rules])
            assert (faces[moved[action]].tolist(), reward[action]) == expected
            assert mask[action] == (expected[0] != faces[board].tolist())


PACKED = [shape for shape in SHAPES if min(shape) >= 2 and max(shape) <= 4]
CASES = st.tuples(
    st.sampled_from([RULES_2048, RULES_2584]), st.sampled_from(PACKED) | st.sampled_from(SHAPES)
).flatmap(
    lambda case: st.tuples(
        st.just(case[0]), arrays(np.uint8, case[1], elements=st.integers(0, case[0].largest))
    )
)


@given(CASES)
def test_moves_commute_with_the_symmetries_of_the_board(case):
    rules, board = case
    after, rewards, masks = (array[0] for array in afterstates(board[None], rules))
    cells, actions = SlidingGame(rules, board.shape).symmetries
    assert len(cells) == (8 if board.shape[0] == board.shape[1] else 4)
    assert min(board.shape) == 1 or len(np.unique(cells, axis=0)) == len(cells)
    for image, directions in zip(cells, actions, strict=True):
        turned = board.ravel()[image].reshape(board.shape)
        moved, paid, legal = (array[0] for array in afterstates(turned[None], rules))
        as_image = after.reshape(4, -1)[:, image].reshape(after.shape)
        assert np.array_equal(moved[directions], as_image)
        assert np.array_equal(paid[directions], rewards)
        assert np.array_equal(legal[directions], masks)


@given(CASES)
def test_a_move_keeps_the_sum_of_the_faces_and_the_mask_tells_what_changes_the_board(case):
    rules, board = case
    faces = np.array(rules.faces)
    after, rewards, masks = (array[0] for array in afterstates(board[None], rules))
    assert (faces[after].sum(axis=(1, 2)) == faces[board].sum()).all()
    changed = (after != board).any(axis=(1, 2))
    assert np.array_equal(masks, changed)
    assert np.array_equal(legal_actions(board[None], rules)[0], masks)
    assert (rewards[~changed] == 0).all()
