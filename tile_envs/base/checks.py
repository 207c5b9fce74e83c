"""Checks of what users hand in: each error names the value, what was expected, and what to do."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.errors import UsageError

START_BITS, STATE_BITS = 53, 62
"""The largest scores, as powers of 2, that a game starts with and that a state has.

Floats hold the first exactly, and no game leads from it beyond the second: a move brings less than
2**33 points.
"""


def as_integer(value: object) -> int | None:
    """Return `value` as a Python integer, or None if it is not an integer of any kind."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def checked_count(value: object, name: str) -> int:
    """Return a positive integer of 64 bits.

    Raises:
        ValueError: If `value` is not one.
    """
    count = as_integer(value)
    if count is None or count < 1:
        raise UsageError(f"{name} must be a positive integer, got {value!r}.")
    if count >= 1 << 63:
        raise UsageError(f"{name} must be below 2**63, got {value!r}.")
    return count


def checked_seed(seed: object) -> int:
    """Return a seed as a Python integer.

    Raises:
        ValueError: If it is not a non-negative integer (a NumPy integer will do).
    """
    value = as_integer(seed)
    if value is None or value < 0:
        raise UsageError(f"seed must be a non-negative integer, got {seed!r}.")
    return value


def checked_action(action: object, n: int) -> int:
    """Return an action as a Python integer.

    Raises:
        ValueError: If it is not an integer from 0 to `n - 1`.
    """
    value = as_integer(action)
    if value is None or not 0 <= value < n:
        raise UsageError(
            f"action must be an integer from 0 to {n - 1} (the space is Discrete({n})), "
            f"got {action!r}."
        )
    return value


def checked_actions(actions: ArrayLike, num_envs: int, n: int) -> NDArray[np.int64]:
    """Return the actions of a vector environment as `(num_envs,) int64`.

    Raises:
        ValueError: If they are not `num_envs` integers from 0 to `n - 1`.
    """
    wide = shaped_actions(actions, num_envs)
    # Seen as unsigned, a negative number is a large one.
    if np.maximum.reduce(wide.view(np.uint64)) >= n:
        game = int(np.flatnonzero((wide < 0) | (wide >= n))[0])
        raise UsageError(
            f"actions must be integers from 0 to {n - 1} (the space is Discrete({n})), "
            f"got {np.asarray(actions)[game]} for game {game}."
        )
    return wide


def shaped_actions(actions: ArrayLike, num_envs: int) -> NDArray[np.int64]:
    """Return the actions of a vector environment as `(num_envs,) int64`, in their range or not.

    Raises:
        ValueError: If they are not `num_envs` integers.
    """
    array = np.asarray(actions)
    if array.shape != (num_envs,) or array.dtype.kind not in "iu":
        raise UsageError(
            f"actions must be {num_envs} integers, shape ({num_envs},), "
            f"got shape {array.shape} and dtype {array.dtype}."
        )
    return array.astype(np.int64, copy=False)


def check_keywords(made: type, given: Iterable[str]) -> None:
    """Check the names of the options that an environment is made with.

    Raises:
        TypeError: If its class takes no option of such a name.
    """
    parameters = signature(made.__init__).parameters.values()  # type: ignore[misc]
    known = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD][1:]
    for name in given:
        if name not in known and not any(each.kind is each.VAR_KEYWORD for each in parameters):
            # In Python's own words, which libraries look for: TorchRL leaves the option out then.
            raise TypeError(
                f"{made.__name__}() got an unexpected keyword argument {name!r}: "
                f"expected {_listed(known)}."
            )


def check_options(options: Mapping[str, object], known: Sequence[str]) -> None:
    """Check the names of reset options.

    Raises:
        ValueError: If they are no dictionary, or one is unknown.
    """
    if not isinstance(options, Mapping):
        raise UsageError(f"reset options must be a dictionary, got {brief(options)}.")
    for name in options:
        if name not in known:
            raise UsageError(f"unknown reset option {name!r}: expected {_listed(known)}.")


def checked_choice(value: object, name: str, choices: Sequence[str]) -> str:
    """Return one of a few words.

    Raises:
        ValueError: If `value` is not among them.
    """
    if not isinstance(value, str) or value not in choices:
        raise UsageError(f"{name} must be one of {_listed(choices)}, got {value!r}.")
    return value


def checked_render_mode(mode: str | None, modes: Sequence[str]) -> str | None:
    """Return a render mode, or None for no rendering.

    Raises:
        ValueError: If the environment lacks it.
    """
    return None if mode is None else checked_choice(mode, "render_mode", modes)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))


def checked_score(value: object, is_state: bool = False) -> int:
    """Return the score that a game starts with, or that of a state, which may have grown since.

    Raises:
        ValueError: If `value` is not an integer from 0 to 2 to the power of the bits allowed.
    """
    score, bits = as_integer(value), STATE_BITS if is_state else START_BITS
    if score is None or not 0 <= score <= 1 << bits:
        raise UsageError(f"score must be a non-negative integer up to 2**{bits}, got {value!r}.")
    return score


def checked_board_shape(board: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.generic]:
    """Return a board as an array.

    Raises:
        ValueError: If its shape is another.
    """
    array = np.asarray(board)
    if array.shape != shape:
        raise UsageError(f"board must have shape {shape}, got {array.shape}.")
    return array


def checked_range(value: object, name: str, most: int) -> int:
    """Return an integer from 0 to `most`.

    Raises:
        ValueError: If `value` is not one.
    """
    number = as_integer(value)
    if number is None or not 0 <= number <= most:
        raise UsageError(f"{name} must be an integer from 0 to {most}, got {value!r}.")
    return number


def checked_bool(value: object, name: str) -> bool:
    """Return True or False.

    Raises:
        ValueError: If `value` is neither.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise UsageError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_state(state: object, game: str, entries: set[str]) -> None:
    """Check that something is a state of a game, with all entries and no others.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(state, Mapping) or state.get("game") != game:
        raise UsageError(
            f"expected a state of {game}, as get_state() returns it, got {brief(state)}."
        )
    if state.keys() != entries:
        raise UsageError(
            f"a state of {game} has the entries {_listed(sorted(entries))}, "
            f"got {_listed(map(str, state))}."
        )


def brief(value: object) -> str:
    """Return a `repr` short enough for an error message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:97] + "..."
