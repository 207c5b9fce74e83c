"""Boards as text and pictures, and the window that shows them."""

import gymnasium as gym
import numpy as np
import pytest

import tile_envs  # noqa: F401
from tile_envs.rendering.canvas import picture_grid
from tile_envs.rendering.window import Click, Window
from tile_envs.sliding import render as sliding
from tile_envs.sliding.rules import RULES_2048, RULES_2584, rules_2048
from tile_envs.tictactoe import render as tictactoe

RULES = [RULES_2048, RULES_2584, rules_2048((5, 5))]


SHOWN = """\
2048  score 20,240
┌──────┬──────┐
│      │    2 │
├──────┼──────┤
│ 2048 │   16 │
└──────┴──────┘"""


def test_text_shows_faces_and_winning_lines_both_if_there_are_two():
    board = np.array([[0, 1], [11, 4]], np.uint8)
    assert sliding.drawing(board, RULES_2048, 20240).text() == SHOWN
    marks = np.array([[1, 1, 1], [1, -1, -1], [1, -1, -1]], np.int8)
    assert tictactoe.winning_cells(marks) == tictactoe.winning_cells(-marks) == {0, 1, 2, 3, 6}
    assert tictactoe.drawing(marks).text().count("[X]") == 5
    assert "│ >3< │  X  │  5  │" in tictactoe.drawing(np.diag([0, 1, 0]), cursor=3).text()


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (4, 4), (1, 3), (8, 1), (1, 8), (8, 8)])
def test_a_shape_has_one_size_whatever_is_on_the_board(rules, shape):
    board = np.zeros(shape, np.uint8)
    picture = sliding.drawing(board, rules, 0).picture()
    full = sliding.drawing(np.full(shape, rules.largest, np.uint8), rules, 10**20).picture()
    assert picture.shape == full.shape
    assert picture.dtype == np.uint8
    assert picture.shape[0] % 2 == picture.shape[1] % 2 == 0, "video encoders want even sides"
    for tile in range(rules.largest + 1):
        board[-1, -1] = tile
        lines = sliding.drawing(board, rules, 0).text().splitlines()[1:]
        assert len(lines) == 2 * shape[0] + 1
        assert len({len(line) for line in lines}) == 1


def test_closing_the_window_does_not_stop_training():
    import pygame

    env, unseen = gym.make("Tiles2048-v0", render_mode="human"), gym.make("Tiles2048-v0")
    env.reset(seed=0), unseen.reset(seed=0)
    assert pygame.display.get_init()
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    for action in (0, 1, 2, 3) * 3:
        observation, *rest = env.step(action)
        expected, *others = unseen.step(action)
        np.testing.assert_array_equal(observation, expected)
        assert rest[:3] == others[:3]
    assert not pygame.display.get_init()
    env.close()


def test_a_large_picture_is_shrunk_to_the_screen_and_clicks_are_those_of_its_picture():
    import pygame

    quarter = sliding.drawing(np.zeros((4, 4), np.uint8), RULES_2048, 0).picture()
    picture = picture_grid([quarter] * 3)  # in two columns
    assert picture.shape[:2] == (2 * quarter.shape[0], 2 * quarter.shape[1])
    with Window(fps=60) as window:
        window.show(picture)
        size = pygame.display.get_surface().get_size()
        screen = pygame.display.get_desktop_sizes()[0]
        assert all(side < 0.9 * room for side, room in zip(size, screen, strict=True))
        pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=size))
        while not isinstance(click := window.key(1), Click):
            assert click is not None
    assert click == pytest.approx(picture.shape[1::-1], abs=2)
