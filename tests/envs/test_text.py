"""Boards and actions as text, read back exactly, or refused by a `ValueError`."""

import random
from contextlib import suppress
from itertools import product

import numpy as np
import pytest

from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.sliding.rules import ACTIONS, rules_2048
from tile_envs.text import parse, read_board, show, show_hex, show_line
from tile_envs.tictactoe import TicTacToe, positions

GAME, CROSSES = SlidingGame(RULES_2048), TicTacToe()
SMALL = {rules.name: SlidingGame(rules, shape=(2, 2)) for rules in (RULES_2048, RULES_2584)}
TWO = SMALL["2048"]


@pytest.mark.parametrize("tiles", ["reachable", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SMALL)
def test_all_boards_of_2x2_are_read_back(name, tiles):
    game = SMALL[name]
    most = game.largest_tile if tiles == "reachable" else 17
    for cells in product(range(most + 1), repeat=4):
        board = np.array(cells).reshape(2, 2)
        texts = [show(game, board), show_line(game, board)]
        if max(cells) < 16:
            texts += [show_hex(game, board), show_hex(game, board).upper()]
        for text in texts:
            assert np.array_equal(read_board(game, text), board)


LARGE = SlidingGame(rules_2048((5, 6)), shape=(5, 6)), SlidingGame(RULES_2584, shape=(4, 8))


@pytest.mark.parametrize("game", LARGE, ids=["2**29", "Fibonacci's last"])
def test_every_face_is_read_back_in_every_notation(game):
    board = np.resize(np.arange(game.rules.largest + 1), game.shape)
    faces = game.faces(board)
    assert faces.max() in (2**29, 2178309)
    assert np.array_equal(game.indices(faces), board)
    picture = game.draw(board, "ansi").split("\n", 1)[1]
    line = show_line(game, board)
    notations = [picture, show(game, board), line, line.replace(" / ", "/").replace(" ", ",")]
    notations += [faces, faces.tolist(), str(faces.tolist()), np.array2string(faces, threshold=99)]
    notations += ["\r\n".join(f"|{'|'.join(f'{face:^9}' for face in row)}|" for row in faces)]
    for text in notations:
        assert np.array_equal(read_board(game, text), board)


def test_all_positions_of_tic_tac_toe_are_read_back():
    tables = positions.solve()
    for marks in tables.marks[tables.reachable]:
        for text in (show(CROSSES, marks), show_line(CROSSES, marks).lower()):
            assert np.array_equal(read_board(CROSSES, text), marks)


def test_grids_are_aligned_and_cells_numbered():
    assert show(TWO, [[1, 11], [0, 3]]) == "   2 2048\n   .    8"
    assert show(CROSSES, [[1, 0, 0], [0, -1, 0], [0, 0, 0]]) == "X 1 2\n3 O 5\n6 7 8"
    assert show_hex(TWO, [[1, 11], [0, 3]]) == "1b03"
    column = SlidingGame(RULES_2584, (3, 1))
    for text in ("2/2584/0", "+----+\n|  2 |\n|2584|\n|    |\n+----+"):
        assert read_board(column, text).tolist() == [[2], [17], [0]]


MOVES = [
    ("up", "w", "[Up]", "<move>[up]</move>", "I press `up`", "UP!", "**up**", "'up'", "**[up]**"),
    ("up", '<answer>[{"action": {"move": "up"}}]</answer>', "So:\n```text\r\nup\r\n```"),
    ("right", " RIGHT\n", "<ANSWER> d </ANSWER>", "{'action' : 'D'}", "<think>[up]</think> right"),
    ("down", "[ s ]", r"$\boxed{\text{Down}}$", '```json\n{"move":"s", "reason": "not up"}\n```'),
    ("down", "The board [2 4 8] has [two] rows, so not left but [down]."),
    ("left", r"\boxed{left}", "<move>left", "[<action>Left.]", '{"move": "left', '["left"]'),
    ("left", "[up]? </think>\n[left]", "[left] <THINK>[up] or"),
]


@pytest.mark.parametrize("match", [None, "last"])
def test_forms_of_moves_are_read(match):
    for move, *texts in MOVES:
        for text in texts:
            action = parse(GAME, text, match=match)
            assert type(action) is int
            assert ACTIONS[action] == move, text


REFUSED = {
    "2 moves": ["[up] or [down]", '{"move": "up", "action": "left"}', "<move>jump</move> [up]"],
    'match="last"': ["[up, left]", "up or down", "[up] or [down]"],
    "is no move": ["<move>jump</move>", '{"move": "up or down"}'],
    "no move in": ["I go up", "<think>[up]", "<move>up</answer>", "**up** or left", "4", "", None],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_names_no_single_move_is_refused(reason):
    for text in REFUSED[reason]:
        with pytest.raises(ValueError, match=rf"\A.*{reason}.*\Z"):
            parse(GAME, text)


def test_words_in_free_text_count_where_a_match_is_asked_for():
    text = "A move up would lose, so I go left, as a last way out."
    assert (parse(GAME, text, match="first"), parse(GAME, text, match="last")) == (0, 3)
    assert parse(GAME, "left? <move>up</move> <move>down</move> right", match="last") == 2
    assert parse(CROSSES, "not 4 but 8", match="last") == 8


def test_cells_are_numbers_and_illegal_actions_are_refused_with_the_legal_ones():
    mask = [1, 0, 0, 0, 1, 0, 0, 0, 0]
    assert {parse(CROSSES, text, mask) for text in ("[4]", "4", "**4**.", '{"move": 4}')} == {4}
    for game, text, legal, told in ((CROSSES, "8", mask, "0, 4"), (GAME, "up", [0] * 4, "none")):
        with pytest.raises(ValueError, match=f"'{text}' is illegal here: expected one of {told}"):
            parse(game, text, legal)


PIECES = ["[", "]", "<move>", "</move>", "\\boxed{", "\\text{", "}", "up", "W", "4", "X", "o", " "]
PIECES += ["\n", "|", "/", ",", "2048", "16", "f" * 4, ".", "0", "-", "é", "\ud800", "\x00"]
PIECES += ["²", "٣", "**", "`", '{"move":', "<think>"]


@pytest.mark.parametrize("n", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_any_string_is_an_action_or_a_board_or_a_value_error(n):
    rng = random.Random(0)
    for _ in range(n):
        text = "".join(rng.choices(PIECES, k=rng.randrange(12)))
        for game in (TWO, CROSSES):
            with suppress(ValueError):
                action = parse(game, text, match=rng.choice([None, "last"]))
                assert action in range(game.n_actions)
            with suppress(ValueError):
                board = read_board(game, text)
                assert np.array_equal(read_board(game, show(game, board)), board)


LONG = [("", "<move>"), ("", "```a"), ("", "<think>"), ("", '"move":'), ("[", " "), ("**", "*")]
LONG += [("<answer>", r"\boxed{"), (r"\boxed{" + "\\", "a"), ('{"move":', " "), ("```a\n", "\n")]


@pytest.mark.parametrize(("start", "piece"), LONG)
def test_an_answer_of_any_length_is_refused_in_linear_time(start, piece):  # otherwise, it hangs
    with pytest.raises(ValueError, match=r"read|is no move"):
        parse(GAME, start + piece * (300_000 // len(piece)) + "<")
