"""`tile_envs.text`: boards and actions as text, read back exactly, or refused by a `ValueError`."""

import random
from contextlib import suppress
from itertools import product

import numpy as np
import pytest

from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.sliding.rules import rules_2048
from tile_envs.text import describe_actions, parse, read_board, show, show_hex, show_line
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import solve

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


@pytest.mark.parametrize(
    "game",
    [SlidingGame(rules_2048((5, 6)), shape=(5, 6)), SlidingGame(RULES_2584, shape=(4, 8))],
    ids=["2**29", "Fibonacci's last"],
)
def test_every_face_is_read_back_in_every_notation(game):
    board = np.resize(np.arange(game.rules.largest + 1), game.shape)
    faces = np.array(game.rules.faces)[board]
    assert faces.max() in (2**29, 2178309)
    picture = game.draw(board, "ansi").split("\n", 1)[1]
    line = show_line(game, board)
    notations = [picture, show(game, board), line, line.replace(" / ", "/").replace(" ", ",")]
    notations += [faces, faces.tolist(), str(faces.tolist()), np.array2string(faces, threshold=99)]
    notations += ["\r\n".join(f"|{'|'.join(f'{face:^9}' for face in row)}|" for row in faces)]
    for text in notations:
        read = read_board(game, text)
        assert read.dtype == np.uint8
        assert np.array_equal(read, board)


def test_all_positions_of_tic_tac_toe_are_read_back():
    tables = solve()
    for marks in tables.marks[tables.reachable]:
        for text in (show(CROSSES, marks), show_line(CROSSES, marks).lower()):
            assert np.array_equal(read_board(CROSSES, text), marks)


def test_grids_are_aligned_and_cells_numbered():
    assert show(TWO, [[1, 11], [0, 3]]) == "   2 2048\n   .    8"
    assert show(CROSSES, [[1, 0, 0], [0, -1, 0], [0, 0, 0]]) == "X 1 2\n3 O 5\n6 7 8"
    assert show_hex(TWO, [[1, 11], [0, 3]]) == "1b03"
    column = SlidingGame(RULES_2584, (3, 1))
    assert read_board(column, "2/2584/0").tolist() == [[2], [17], [0]]


@pytest.mark.parametrize(
    ("game", "text", "named"),
    [
        (TWO, "2 4 8", "2 rows of 2 faces, such as '2 0 / 2 0', .* got '2 4 8'"),
        (TWO, "2 4 / 8 3", "'3' is not a tile of 2048"),
        (TWO, "ffff0", "got 'ffff0'"),
        *[(TWO, text, "2 rows") for text in ([[2.0, 4], [8, 2]], [[2, 4], [8]], None)],
        (CROSSES, "X X X / O O O / 6 7 8", "play can lead to"),
        (CROSSES, "X 2 1 / 3 4 5 / 6 7 8", "3 rows of 3 cells"),
    ],
)
def test_what_is_no_board_is_refused_by_a_line_that_says_what_is(game, text, named):
    with pytest.raises(ValueError, match=named):
        read_board(game, text)


def test_boards_that_are_none_are_not_shown():
    for board in ([[1, 2]], [[1, 99], [0, 0]], "2 4 / 8 2", None):
        with pytest.raises(ValueError, match="board"):
            show(TWO, board)
    with pytest.raises(ValueError, match="65536"):
        show_hex(TWO, [[16, 0], [0, 0]])
    with pytest.raises(ValueError, match="tic-tac-toe"):
        show_hex(CROSSES, np.zeros((3, 3), int))


@pytest.mark.parametrize(
    ("text", "action"),
    [
        *[("up", 0), (" RIGHT\n", 1), ("w", 0), ("a", 3), ("S", 2), ("d", 1)],
        *[("[Up]", 0), ("[ s ]", 2), ("<move>up</move>", 0), (r"\boxed{left}", 3)],
        *[(r"$\boxed{\text{Down}}$", 2), ("<ANSWER> d </ANSWER>", 1), ("<move>[up]</move>", 0)],
        ("The board [2 4 8] has [two] rows, so not left but [down].", 2),
        *[(text, 0) for text in ("Up.", "UP!", "**up**", "*Up*.", "`up`", "'up'", "**[up]**")],
        *[(text, 3) for text in ("<move>left", "[<action>Left.]", '{"move": "left', '["left"]')],
        *[('{"move": "down", "reason": "not left"}', 2), ("{'action' : 'D'}", 1)],
        *[('[{"action": {"move": "up"}}]', 0), ('<answer>{"move": "up"}</answer>', 0)],
        *[("```\nup\n```", 0), ("So:\n```text\r\nup\r\n```", 0), ('```json\n{"move":"s"}\n```', 2)],
        *[("I go **down**, yes, down.", 2), ("I press `up`", 0), ("In a <move> tag: [up].", 0)],
        *[("<think>[up]? left?</think> right", 1), ("[up]? </think>\n[left]", 3)],
        *[("[left] <THINK>[up] or", 3), ("<think>up</think><thinking>up</thinking> [s]", 2)],
    ],
)
@pytest.mark.parametrize("match", [None, "last"])
def test_forms_of_moves_are_read(text, action, match):
    read = parse(GAME, text, match=match)
    assert type(read) is int
    assert read == action


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I go up", "no move in 'I go up': expected one of up, right, down, left"),
        ("<think>[up]", r"no move in '<think>\[up\]': expected one of .*left\.$"),
        ("[up] or [down]", r"2 moves, \['up', 'down'\], in '\[up\] or \[down\]'"),
        ('{"move": "up", "action": "left"}', r"2 moves, \['up', 'left'\]"),
        ("<move>jump</move>", "'jump' is no move: expected one of up"),
        ("<move>jump</move> [up]", "2 moves"),
        ('{"move": "up or down"}', "'up or down' is no move"),
        *[(text, 'match="last"') for text in ("[up, left]", "up or down", "[up] or [down]")],
        *[(text, "no move") for text in ("<move>up</answer>", "**up** or left", "hit **a** key")],
        *[(text, f"no move in {text!r}") for text in ("4", "", None, 7)],
    ],
)
def test_what_names_no_single_move_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse(GAME, text)


def test_words_in_free_text_count_where_a_match_is_asked_for():
    text = "A move up would lose, so I go left, as a last way out."
    assert (parse(GAME, text, match="first"), parse(GAME, text, match="last")) == (0, 3)
    assert parse(GAME, "left? <move>up</move> <move>down</move> right", match="last") == 2
    assert parse(CROSSES, "not 4 but 8", match="last") == 8
    assert parse(GAME, "[up, left]", match="last") == parse(GAME, "*up or left*", match="last") == 3
    with pytest.raises(ValueError, match="'any'"):
        parse(GAME, "up", match="any")


def test_cells_are_numbers_and_illegal_actions_are_refused_with_the_legal_ones():
    mask = [1, 0, 0, 0, 1, 0, 0, 0, 0]
    assert {parse(CROSSES, text, mask) for text in ("[4]", "4", "**4**.", '{"move": 4}')} == {4}
    with pytest.raises(ValueError, match="'8' is illegal here: expected one of 0, 4"):
        parse(CROSSES, "8", mask)
    with pytest.raises(ValueError, match="'up' is illegal here: expected one of none"):
        parse(GAME, "up", [0, 0, 0, 0])
    with pytest.raises(ValueError, match="4 or 9"):
        describe_actions([1, 0, 1])


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
