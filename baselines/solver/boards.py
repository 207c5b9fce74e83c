"""The boards of a small sliding game before it is solved: their ages, the first ones, their number.

The *age* of a board is the sum of the ages of its tiles; the age of a merged tile is the sum of
those it is made of.  So a move keeps the age and a new tile raises it: boards can be listed age by
age (Kaneko and Yamashita, "Strongly solving 2048 4x3", 2025, where it is the sum of the faces).
"""

import math
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TypeGuard

import numpy as np

from baselines.settings import check_memory
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError
from tile_envs.game import Boards, Floats, Game, Ints
from tile_envs.sliding.chance import RANDOM
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.tables import CELL_BITS, check_packs, packs
from tile_envs.sliding.rules import Rules

MOST_CELLS, SMALL = 64 // CELL_BITS, 6
"""The cells of the largest boards that have a key, and that are solved without being asked for."""
BYTES_PER_BOARD = 32  # as a state and as an afterstate: a key and a value each


@cache
def tile_ages(rules: Rules) -> Ints:
    # A tile that no merge makes has age 1; where such ages do not add up, ages are as the faces.
    ages = dict.fromkeys(range(1, rules.largest + 1), 1)
    made = {c for _, _, c in rules.merges}
    for _ in made:  # an age is settled once those of its parts are
        for a, b, c in rules.merges:
            ages[c] = ages[a] + ages[b]
    for candidate in (ages, dict(enumerate(rules.faces))):
        if all(candidate[a] + candidate[b] == candidate[c] for a, b, c in rules.merges):
            factor = math.gcd(*(candidate[tile] for tile in ages))
            return np.array([0, *(candidate[tile] // factor for tile in ages)])
    raise UsageError(f"{rules.name} cannot be solved: no ages of tiles add up in its merges.")


def start_boards(game: SlidingGame) -> tuple[Boards, Floats]:
    """Return the different start boards `(n, R, C)` of a game, and their probabilities `(n,)`."""
    boards, mass = np.zeros((1, *game.shape), np.uint8), np.ones(1)
    for fixed in game.start.tiles:
        spawn = ((game.rules.faces[fixed], 1.0),) if fixed else game.spawn
        parents, boards, probabilities = replace(game, spawn=spawn, placer=RANDOM).replies(boards)
        boards, mass = merged(boards, mass[parents] * probabilities)
    return boards, mass


def merged(boards: Boards, mass: Floats) -> tuple[Boards, Floats]:
    """Return the different boards among boards `(n, R, C)`, and the sum of the mass of each."""
    cells = boards.reshape(len(boards), boards.shape[1] * boards.shape[2])
    numbers = cells @ np.uint64(32) ** np.arange(cells.shape[1], dtype=np.uint64)
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    return boards[first], np.bincount(which, mass, len(first)).astype(np.float64)


def most_boards(game: SlidingGame) -> int:
    """Return an upper bound of the number of reachable boards, up to symmetry."""
    # A tile is made on a number of free cells (`SlidingGame.cells_needed`); the k-th largest of n
    # was made on n - k + 1 at most: for every j, at most n - j tiles need more than j cells.
    cells = math.prod(game.shape)
    tiles = Counter(game.cells_needed.values())  # by the number of cells that they need
    ways = Counter({0: 1})  # of filling so many cells with the tiles that need more than `needed`
    for needed in range(cells, 0, -1):
        filled: Counter[int] = Counter()
        for taken, count in ways.items():
            for more in range(cells - needed + 2 - taken):
                chosen = math.comb(cells - taken, more) * tiles[needed] ** more
                filled[taken + more] += count * chosen
        ways = filled
    return math.ceil(sum(ways.values()) / len(game.symmetries.cells))


def is_solved_quickly(game: Game) -> TypeGuard[SlidingGame]:
    """Tell whether a game is a sliding game whose exact values take seconds at most."""
    if not isinstance(game, SlidingGame) or not isinstance(game.placer, str):
        return False
    with suppress(UsageError):  # of rules that cannot be solved
        small = math.prod(game.shape) <= SMALL and packs(game.shape)
        return small and len(tile_ages(game.rules)) > 0
    return False


def initial_value(initial: float | None, game: Game) -> float:
    """Return an initial value: None is the score of making the largest tile a board can hold."""
    if initial is not None or not isinstance(game, SlidingGame):
        return initial or 0.0
    scores = dict.fromkeys(range(game.rules.largest + 1), 0)
    for a, b, c in sorted(game.rules.merges, key=lambda merge: merge[2]):
        scores[c] = max(scores[c], game.rules.faces[c] + scores[a] + scores[b])
    return float(scores[game.n_values - 1])


def check_size(game: Game) -> str:
    """Check that the boards of a game can be listed, and say how many they are at most."""
    if not isinstance(game, SlidingGame):
        raise UsageError(f"the sliding games are solved, such as gym.make(id), not {brief(game)}.")
    tile_ages(game.rules)  # refuses rules without them
    check_packs(game.shape, "exact solving", "sampled evaluation plays every board")
    boards = most_boards(game)
    number = f"{boards:{',' if boards < 10**12 else '.1e'}}"
    what = f"solving {game} (at most {number} boards up to symmetry)"
    check_memory(boards * BYTES_PER_BOARD, what, "give a smaller shape, such as 2×3")
    if math.prod(game.shape) > MOST_CELLS:
        raise UsageError(f"{what} is for boards of at most {MOST_CELLS} cells.")
    return what
