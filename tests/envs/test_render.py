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
every_game = pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)


def test_text_shows_faces_in_a_frame():
    board = np.array([[0, 1], [11, 4]], np.uint8)
    assert sliding.drawing(board, RULES_2048, 20240).text().splitlines() == [
        "2048  score 20,240",
        "┌──────┬──────┐",
        "│      │    2 │",
        "├──────┼──────┤",
        "│ 2048 │   16 │",
        "└──────┴──────┘",
    ]


@every_game
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


def test_a_picture_belongs_to_whoever_asked_for_it():
    board = np.zeros((3, 3), np.uint8)
    for drawing in (sliding.drawing(board, RULES_2048, 0), tictactoe.drawing(board)):
        before = drawing.picture()
        drawing.picture()[:] = 0
        np.testing.assert_array_equal(drawing.picture(), before)


def test_tictactoe_text_numbers_free_cells():
    marks = np.array([[1, -1, 0], [0, 1, 0], [0, 0, 0]], np.int8)
    assert tictactoe.drawing(marks, cursor=3).text().splitlines() == [
        "┌─────┬─────┬─────┐",
        "│  X  │  O  │  2  │",
        "├─────┼─────┼─────┤",
        "│ >3< │  X  │  5  │",
        "├─────┼─────┼─────┤",
        "│  6  │  7  │  8  │",
        "└─────┴─────┴─────┘",
    ]


def test_winning_lines_are_marked_both_if_there_are_two():
    board, won = np.array([[1, 1, 1], [1, -1, -1], [1, -1, -1]], np.int8), {0, 1, 2, 3, 6}
    assert tictactoe.winning_cells(board) == tictactoe.winning_cells(-board) == won
    assert tictactoe.winning_cells(np.zeros((3, 3), np.int8)) == set()
    assert tictactoe.drawing(board).text().count("[X]") == 5
    pixels = tictactoe.drawing(board).picture()
    for cell in range(9):
        top, left = (tictactoe.MARGIN + tictactoe.PITCH * place for place in divmod(cell, 3))
        ground = tictactoe.WON_GROUND if cell in won else tictactoe.GROUND
        assert bytes(pixels[top + 15, left + 15]).hex() == ground[1:].lower()


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


def test_a_large_board_is_shrunk_to_the_screen_and_clicks_are_those_of_its_picture():
    import pygame

    picture = sliding.drawing(np.zeros((8, 8), np.uint8), RULES_2048, 0).picture()
    with Window(fps=60) as window:
        window.show(picture)
        size = pygame.display.get_surface().get_size()
        screen = pygame.display.get_desktop_sizes()[0]
        assert all(side < 0.9 * room for side, room in zip(size, screen, strict=True))
        pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=size))
        while not isinstance(click := window.key(1), Click):
            assert click is not None
    assert click == pytest.approx(picture.shape[1::-1], abs=2)


def test_two_environments_share_the_window():
    one, other = (gym.make(name, render_mode="human") for name in ("Tiles2048-v0", "TicTacToe-v0"))
    one.reset(seed=0), other.reset(seed=0)
    np.testing.assert_array_equal(shown(), tictactoe.drawing(np.zeros((3, 3), np.int8)).picture())
    for action, closing in enumerate((other, one)):
        observation, *_, info = one.step(action)  # it opens the window again, once that is closed
        picture = sliding.drawing(observation, RULES_2048, info["score"]).picture()
        np.testing.assert_array_equal(shown(), picture)
        closing.close()
        assert shown() is None


def shown():
    """Return what the window shows, or None if there is none."""
    import pygame

    if not pygame.display.get_init():
        return None
    return pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)


def test_pictures_of_many_games_make_a_grid():
    envs = gym.make_vec("TicTacToe-v0", 5, render_mode="rgb_array")
    envs.reset(seed=0)
    pictures = envs.render()
    height, width, _ = pictures[0].shape
    picture = picture_grid(pictures)
    assert picture.shape == (2 * height, 3 * width, 3)
    assert np.array_equal(picture[height:, width : 2 * width], pictures[4])
    assert (picture[height:, 2 * width :] == 255).all()
    assert picture_grid(pictures, columns=1).shape == (5 * height, width, 3)
