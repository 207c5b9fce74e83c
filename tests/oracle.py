"""The rules of the sliding games, and the entries of tuples, once more: slow and obvious."""

from __future__ import annotations

from collections.abc import Callable

FIBONACCI = [1, 2]
while len(FIBONACCI) < 31:
    FIBONACCI.append(FIBONACCI[-1] + FIBONACCI[-2])

Merge = Callable[[int, int], int]


def merge_2048(a: int, b: int) -> int:
    """Return the face that two faces make, or 0."""
    return a + b if a == b and a < 131072 else 0


def merge_2584(a: int, b: int) -> int:
    """Return the face that two faces make, or 0."""
    neighbours = (a == b == 1) or abs(FIBONACCI.index(a) - FIBONACCI.index(b)) == 1
    return a + b if neighbours and a + b in FIBONACCI else 0


def slide(faces: list[int], merge: Merge) -> tuple[list[int], int]:
    """Slide a line of faces towards its first cell; return it and the reward."""
    waiting = [face for face in faces if face]
    done, reward = [], 0
    while waiting:
        face = waiting.pop(0)
        if waiting and merge(face, waiting[0]):
            face = merge(face, waiting.pop(0))
            reward += face
        done.append(face)
    return done + [0] * (len(faces) - len(done)), reward


def move(board: list[list[int]], action: int, merge: Merge) -> tuple[list[list[int]], int]:
    """Move a board of faces (0 up, 1 right, 2 down, 3 left); return it and the reward."""
    lines = [list(line) for line in (zip(*board, strict=True) if action in (0, 2) else board)]
    if action in (1, 2):
        lines = [line[::-1] for line in lines]
    moved = [slide(line, merge) for line in lines]
    lines = [line[::-1] if action in (1, 2) else line for line, _ in moved]
    if action in (0, 2):
        lines = [list(line) for line in zip(*lines, strict=True)]
    return lines, sum(reward for _, reward in moved)


def entry_number(tiles, values):
    """Return an n-tuple's entry number: for each prime factor of values a digit of every cell."""
    number, one, factor = 0, 1, 2
    while values > 1:
        if values % factor:
            factor += 1
            continue
        values //= factor
        for tile in tiles:
            number += tile % factor * one
            one *= factor
        tiles = [tile // factor for tile in tiles]
    return number
