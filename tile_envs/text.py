"""Boards and actions as text, in the notations that people, programs and language models use.

Boards are those that the reset option `board` takes: tile indices, or marks, 1 X and -1 O.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import as_array, brief, broadcast_boards, checked_choice
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, RIGHT, UP
from tile_envs.tictactoe.positions import CELL_NAMES, CELLS, SIDE, checked_marks
from tile_envs.tictactoe.render import LETTERS

THOUGHT = re.compile(r"<(think|thinking)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
FORM = re.compile(
    r"""<(move|action|answer)> ([^<>]*) </\1>
    | \\boxed\{ (?:\\\w+\{)? ([^{}]*) \}
    | ["'](?:move|action|answer)["']\s*:\s* (?:["']\s*)? ([^\s"'\[\]{},][^"'\[\]{},\n]*)
    | <(?:move|action|answer)> ([^<>]+) \Z
    | \[ [^\w\[\]]* ([^\W_]+) [^\w\[\]]* \]
    | ```\w*\r?\n\s* ([^\W_]+)[.!]?\s* (?:```|\Z)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Ways to mark an answer; the first `N_STRICT` groups mark one whatever they hold.  Time is linear,
as no two repetitions in a row share a character."""
N_STRICT = 4
EMPHASIS = re.compile(r"(\*\*?|`)([^\W_]+)[.!]?\1")
MATCHES = (None, "first", "last")
KEYS = {"w": UP, "d": RIGHT, "s": DOWN, "a": LEFT}
MARKS = {letter: mark for mark, letter in LETTERS.items()}

ROW, BAR, WORD = re.compile(r"[/;\n]|\]\s*,\s*(?=\[)"), re.compile(r"[|│]"), re.compile(r"[^\s,]+")
OUTER = re.compile(r"\A[|│]|[|│]\Z")
FRAME = re.compile(r"[\s+=─┌┬┐├┼┤└┴┘-]*")  # a line between rows, or around them
FACE = re.compile(r"[0-9]{1,19}|\.")


def show(game: Game, board: ArrayLike) -> str:
    """Return a board as a grid: faces, and a point for an empty cell, or marks and free numbers."""
    rows = _words(game, board)
    width = max(len(word) for row in rows for word in row)
    return "\n".join(" ".join(word.rjust(width) for word in row) for row in rows)


def show_line(game: Game, board: ArrayLike) -> str:
    """Return a board as one line, such as `2 4 / . 2048`; see `show`."""
    return " / ".join(map(" ".join, _words(game, board)))


def show_hex(game: Game, board: ArrayLike) -> str:
    """Return the tile indices, at most 15, of a sliding game as hexadecimal digits, row by row."""
    if not isinstance(game, SlidingGame):
        raise UsageError(f"{game} has no hexadecimal digits: use show_line.")
    (tiles,) = game.rules.checked_boards(broadcast_boards(board, game.shape))
    if tiles.max() > 15:
        raise UsageError(f"{game.rules.faces[tiles.max()]} has no hexadecimal digit: use faces.")
    return "".join(f"{tile:x}" for tile in tiles.ravel().tolist())


def _words(game: Game, board: ArrayLike) -> list[list[str]]:
    """Return what each cell shows, after a check of the board."""
    boards = broadcast_boards(board, game.shape)
    if isinstance(game, SlidingGame):
        (tiles,) = game.rules.checked_boards(boards).tolist()
        return [[str(game.rules.faces[tile]) if tile else "." for tile in row] for row in tiles]
    cells = zip(checked_marks(boards).ravel().tolist(), CELL_NAMES, strict=True)
    names = [LETTERS.get(mark, name) for mark, name in cells]
    return [names[first : first + SIDE] for first in range(0, CELLS, SIDE)]


def read_board(game: Game, text: Any) -> NDArray[Any]:
    """Return the board `(R, C)` that a text shows: tile indices, or marks.

    It shows faces, with 0 or a point for an empty cell, or X and O with a number or a point for a
    free cell: rows end with the line, a slash or a bracket, cells with blanks, commas or bars;
    frames are passed over.  Or it is one word with a hexadecimal digit for each tile index, row by
    row.  Nested lists hold faces.

    Examples:
        >>> from tile_envs.sliding import RULES_2048
        >>> game = SlidingGame(RULES_2048, shape=(2, 2))
        >>> [read_board(game, text).tolist() for text in ("2 4 / . 2048", "120b", "[[2,4],[0,8]]")]
        [[[1, 2], [0, 11]], [[1, 2], [0, 11]], [[1, 2], [0, 3]]]
    """
    rows, (n_rows, n_columns) = rows_of(text), game.shape
    words = [word for row in rows for word in row]
    is_grid = [len(row) for row in rows] == [n_columns] * n_rows
    if not isinstance(game, SlidingGame):
        cells = zip(words, CELL_NAMES, strict=False)
        marks = [0 if word in (name, ".") else MARKS.get(word.upper()) for word, name in cells]
        if is_grid and None not in marks:
            board = np.array(marks, np.int8).reshape(game.shape)
            game.checked_positions({"board": board})
            return board
        wanted = "3 rows of 3 cells, X, O, or a free cell's number, such as 'X 1 2 / 3 O 5 / 6 7 8'"
    elif is_grid and all(map(FACE.fullmatch, words)):
        tiles = [0 if word in ("0", ".") else game.rules.index_of(word) for word in words]
        return game.rules.checked_tiles(np.reshape(tiles, game.shape))
    elif len(words) == 1 and re.fullmatch(f"[0-9a-fA-F]{{{n_rows * n_columns}}}", words[0]):
        tiles = [int(digit, 16) for digit in words[0]]
        return game.rules.checked_tiles(np.reshape(tiles, game.shape))
    else:
        example = " / ".join([" ".join(["2"] + ["0"] * (n_columns - 1))] * n_rows)
        wanted = f"{n_rows} rows of {n_columns} faces, such as '{example}', or hexadecimal digits"
    raise UsageError(f"expected {wanted}, got {brief(text)}.")


def rows_of(text: Any) -> list[list[str]]:
    """Return the words of a text row by row, or those of nested lists; see `read_board`."""
    if not isinstance(text, str):
        array = as_array(text)
        return [[str(cell) for cell in row] for row in array.tolist()] if array.ndim == 2 else []
    rows = []
    for line in ROW.split(text):
        if FRAME.fullmatch(line):
            continue
        line = line.strip(" \t\r,[]()")
        inner = OUTER.sub("", line)
        if BAR.search(inner) or (inner != line and not inner.strip()):
            rows.append([cell.strip() or "." for cell in BAR.split(inner)])
        else:
            rows.append(WORD.findall(inner))
    return [row for row in rows if row]


def describe_actions(mask: ArrayLike) -> str:
    """Return the actions of a mask, such as "up, left" or "none", in the words of `parse`."""
    array = as_array(mask)
    if array.shape not in ((len(ACTIONS),), (CELLS,)) or array.dtype.kind not in "biu":
        raise UsageError(f"expected a mask of 4 or 9 actions, got {brief(mask)}.")
    names = ACTIONS if len(array) == len(ACTIONS) else CELL_NAMES
    return ", ".join(names[action] for action in np.flatnonzero(array)) or "none"


def parse(game: Game, text: str, mask: ArrayLike | None = None, match: str | None = None) -> int:
    r"""Return the action that a text names.

    What is in `<think>` is left out.  The rest is a word (`up`), a key (`w`, `a`, `s`, `d`) or a
    cell's number, perhaps in quotes, bold or code, or it marks exactly one: `<move>up</move>`,
    `{"move": "up"}` (or `action`, `answer`), `\boxed{up}`, `[Up]`, a fenced block; or it has one in
    bold or code, and names no other.  Other tags, boxes and JSON are wrong answers.

    With a `mask`, actions that it does not allow are refused.  With `match` "first" or "last", that
    one of several answers counts, and words in free text (not keys) where nothing is marked.  A
    `ValueError` refuses no action, several, or an illegal one: it has what was read and is legal.
    """
    checked_choice(match, "match", MATCHES)
    names = {name: n for n, name in enumerate(ACTIONS if game.n_actions == 4 else CELL_NAMES)}
    names |= KEYS if game.n_actions == 4 else {}
    legal = describe_actions(np.ones(game.n_actions, np.int8) if mask is None else mask)
    marked, named = _answers(text, names) if isinstance(text, str) else ([], [])
    answers = marked
    if match:
        answers = (marked or named)[:1] if match == "first" else (marked or named)[-1:]
    if len(answers) != 1:
        found = f"{len(answers)} moves, {brief(answers)}," if answers else "no move"
        hint = '; match="last" takes the last one' * bool(marked or named)
        raise UsageError(f"read {found} in {brief(text)}: expected one of {legal}{hint}.")
    action = names.get(answers[0].lower())
    if action is None:
        raise UsageError(f"{brief(answers[0])} is no move: expected one of {legal}.")
    if mask is not None and not as_array(mask)[action]:
        raise UsageError(f"{answers[0]!r} is illegal here: expected one of {legal}.")
    return action


def _answers(text: str, names: dict[str, int]) -> tuple[list[str], list[str]]:
    """Return the answers that a text is or marks, and the words for moves in it, without keys."""
    text = re.split("(?i)</think(?:ing)?>", THOUGHT.sub(" ", text))[-1]
    if _bare(text).lower() in names:
        return [_bare(text)], []
    marked, words = _marked(text, names), names.keys() - KEYS
    named = [word for word in re.findall(r"\w+", text) if word.lower() in words]
    if not marked and len({word.lower() for word in named}) == 1:
        marked = [form[2] for form in EMPHASIS.finditer(text) if form[2].lower() in words][:1]
    return marked, named


def _marked(text: str, names: dict[str, int]) -> list[str]:
    """Return the answers that a text marks, also in two ways, such as a box in a tag."""
    answers = list[str]()
    for form in FORM.finditer(text):
        group = form.lastindex or 0
        content = _bare(form[group])
        is_answer = group <= N_STRICT or content.lower() in names
        answers += _marked(form[group], names) or [content] * is_answer
    return answers


def _bare(text: str) -> str:
    """Return a text without quotes, bold, code, brackets or a mark at its end."""
    return text.lstrip("[\"'*_` \t\r\n").rstrip("]\"'*_`.! \t\r\n")
