"""Laws that hold on every board: symmetry, sums, masks."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame, afterstates, legal_actions
from tile_envs.sliding.packed.batch import transpose

RULES = [RULES_2048, RULES_2584]
PACKED = st.tuples(st.integers(2, 4), st.integers(2, 4))
SHAPES = PACKED | st.tuples(st.integers(1, 8), st.integers(1, 8)).filter(lambda s: s[0] * s[1] > 2)


def boards(rules, shapes=SHAPES):
    return shapes.flatmap(
        lambda shape: arrays(np.uint8, shape, elements=st.integers(0, rules.largest))
    )


every_board = given(
    st.sampled_from(RULES).flatmap(lambda rules: st.tuples(st.just(rules), boards(rules)))
)


@settings(max_examples=200)
@every_board
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


@settings(max_examples=200)
@every_board
def test_a_move_keeps_the_sum_of_the_faces_and_the_mask_tells_what_changes_the_board(case):
    rules, board = case
    faces = np.array(rules.faces)
    after, rewards, masks = (array[0] for array in afterstates(board[None], rules))
    assert (faces[after].sum(axis=(1, 2)) == faces[board].sum()).all()
    changed = (after != board).any(axis=(1, 2))
    assert np.array_equal(masks, changed)
    assert np.array_equal(legal_actions(board[None], rules)[0], masks)
    assert (rewards[~changed] == 0).all()


@given(boards(RULES_2584, PACKED))
def test_transposed_rows_are_columns(board):
    rows, columns = SlidingGame(RULES_2584, board.shape).layout.pack(board[None]).T
    assert np.array_equal(transpose(rows), columns)
    assert np.array_equal(transpose(columns), rows)
