"""The rules of the sliding games as data: what a tile shows, what merges, what appears.

A cell holds a *tile index*: 0 is empty, 1 the smallest tile.  The *face* is what a person reads.
"""

from __future__ import annotations

from dataclasses import dataclass

UP, RIGHT, DOWN, LEFT = range(4)
ACTIONS = ("up", "right", "down", "left")

MAX_SIDE = 4
"""Most rows or columns a board may have (the fewest is 2)."""


@dataclass(frozen=True)
class Rules:
    """A sliding game.

    Attributes:
        name: What people call the game.
        faces: The face of each tile index, beginning with 0 for the empty cell.
        merges: `(a, b, c)`: tiles a and b, in this order along a line, merge to tile c.  The reward
            is the face of c.
        spawn: The default law of the new tile, `(face, probability)` pairs.
    """

    name: str
    faces: tuple[int, ...]
    merges: tuple[tuple[int, int, int], ...]
    spawn: tuple[tuple[int, float], ...]

    @property
    def largest(self) -> int:
        """The index of the largest tile."""
        return len(self.faces) - 1

    def index_of(self, face: int) -> int:
        """Return the tile index of a face.

        Raises:
            ValueError: If no tile of this game shows it.
        """
        if face not in self.faces[1:]:
            raise ValueError(
                f"{face} is not a tile of {self.name}: "
                f"expected one of {', '.join(map(str, self.faces[1:6]))} … {self.faces[-1]}."
            )
        return self.faces.index(face)


def _powers_of_two(largest: int) -> Rules:
    equal_tiles = tuple((t, t, t + 1) for t in range(1, largest))
    return Rules(
        name="2048",
        faces=(0, *(2**t for t in range(1, largest + 1))),
        merges=equal_tiles,
        spawn=((2, 0.9), (4, 0.1)),
    )


def _fibonacci(largest: int) -> Rules:
    faces = [0, 1, 2]
    while len(faces) <= largest:
        faces.append(faces[-2] + faces[-1])
    neighbours = tuple((t, t + 1, t + 2) for t in range(1, largest - 1))
    return Rules(
        name="2584",
        faces=tuple(faces),
        merges=((1, 1, 2), *neighbours, *((b, a, c) for a, b, c in neighbours)),
        spawn=((1, 0.9), (2, 0.1)),
    )


# 131072 is the largest tile that can be made on 4×4 when 2 and 4 appear; a line packs 5 bits a
# cell, so 31 is the largest index there is room for.
RULES_2048 = _powers_of_two(largest=17)
RULES_2584 = _fibonacci(largest=31)
