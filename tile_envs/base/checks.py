"""Checks of what users hand in: each returns the value in one form, or raises a `ValueError`."""

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.errors import UsageError

Choice = TypeVar("Choice", bound=str | None)

LARGEST = (1 << 63) - 1


def as_integer(value: object) -> int | None:
    """Return `value` as a Python integer, or None if it is not an integer of any kind."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def as_number(value: object) -> float | None:
    """Return `value` as a Python float, or None if it is not a number of any kind."""
    value = plain(value)
    is_number = hasattr(value, "__float__") and not getattr(value, "ndim", 0)
    return float(value) if is_number and not isinstance(value, bool) else None  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """Return numbers of numpy and torch, also those in lists and dictionaries, as Python's."""
    if type(value) is dict:
        return {plain(key): plain(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def as_array(value: object) -> NDArray[Any]:
    """Return `value` as an array; a 0-d one of None if it is ragged."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.asarray(None)


def checked_integer(value: object, name: str, least: float = 0, most: float = LARGEST) -> int:
    """Return an integer from `least`, which is 0, 1 or none, to `most`, as Python's."""
    number = as_integer(value)
    if number is None or number < least:
        kind = "an" if least < 0 else "a positive" if least else "a non-negative"
        raise UsageError(f"{name} must be {kind} integer, got {value!r}.")
    if number > most:
        raise UsageError(f"{name} must be at most {most}, got {value!r}.")
    return number


def checked_count(value: object, name: str) -> int:
    return checked_integer(value, name, least=1)


def checked_probability(value: object, name: str) -> float:
    number = as_number(value)
    if number is None or not 0 <= number <= 1:
        raise UsageError(f"{name} must be a probability between 0 and 1, got {value!r}.")
    return number


def checked_distribution(
    given: Any, option: str, names: str, example: str, known: Callable[[Any], Any]
) -> dict[Any, float]:
    """Return the probabilities above 0 of a mapping, or of pairs, by name.

    `known` returns a name in the form in which it is kept, or raises a `ValueError`.
    """
    try:
        pairs = dict(given)
    except (TypeError, ValueError):
        pairs = {}
    probabilities: dict[Any, float] = {}
    for name, probability in pairs.items():
        if (kept := known(name)) in probabilities:
            raise UsageError(f"{option} names {kept!r} twice: {given!r}.")
        probabilities[kept] = checked_probability(probability, f"{option}[{name!r}]")
    if not math.isclose(total := sum(probabilities.values()), 1, abs_tol=1e-6):
        wanted = f"{option} must map {names} to probabilities that add up to 1, such as {example}"
        raise UsageError(f"{wanted}, got {brief(given)}, which makes {total}.")
    return {name: probability for name, probability in probabilities.items() if probability}


def checked_number(value: object, name: str) -> float:
    number = as_number(value)
    if number is None or not 0 < number < math.inf:
        raise UsageError(f"{name} must be a positive number, got {value!r}.")
    return number


def checked_seed(seed: object) -> int:
    return checked_integer(seed, "seed", most=math.inf)


def checked_action(action: object, n: int) -> int:
    value = as_integer(action)
    if value is None or not 0 <= value < n:
        allowed = f"0 to {n - 1} (the space is Discrete({n}))"
        raise UsageError(f"action must be an integer from {allowed}, got {action!r}.")
    return value


def checked_actions(actions: ArrayLike, num_envs: int, n: int) -> NDArray[np.int64]:
    """Return actions `(num_envs,) int64`, each from 0 to `n - 1`."""
    wide = shaped_actions(actions, num_envs)
    # Seen as unsigned, a negative number is a large one.
    if num_envs and np.maximum.reduce(wide.view(np.uint64)) >= n:
        game = int(np.flatnonzero((wide < 0) | (wide >= n))[0])
        wanted = f"integers from 0 to {n - 1} (the space is Discrete({n}))"
        found = np.asarray(actions)[game]
        raise UsageError(f"actions must be {wanted}, got {found} for game {game}.")
    return wide


def shaped_actions(actions: ArrayLike, num_envs: int) -> NDArray[np.int64]:
    """Return actions `(num_envs,) int64`, in their range or not, in the layout that loops take."""
    array = as_array(actions)
    if array.shape != (num_envs,) or (array.dtype.kind not in "iu" and num_envs):
        wanted = f"actions must be {num_envs} integers, shape ({num_envs},)"
        raise UsageError(f"{wanted}, got shape {array.shape} and dtype {array.dtype}.")
    return array.astype(np.int64, copy=not array.flags.carray)


def checked_choice(value: object, name: str, choices: Sequence[Choice]) -> Choice:
    if not isinstance(value, str | None) or value not in choices:
        raise UsageError(f"{name} must be one of {listed(choices)}, got {value!r}.")
    return value  # type: ignore[return-value]


def is_text(mode: object) -> bool:
    """Tell mode `ansi` from `rgb_array`."""
    return checked_choice(mode, "mode", ("ansi", "rgb_array")) == "ansi"


def check_named(value: object, name: str, names: Iterable[str], method: str, wanted: str) -> None:
    """Check one of a few names, or an object of a user's that has a method."""
    is_known = value in names if isinstance(value, str) else callable(getattr(value, method, None))
    if not is_known or isinstance(value, type):
        raise UsageError(f"{name} must be {listed(names)} or {wanted}, got {brief(value)}.")


def checked_cells(
    answer: object, empty: NDArray[np.bool_], boards: NDArray[Any], who: str
) -> NDArray[np.int64]:
    """Return the empty cells `(n,)` that an object of a user's has chosen on boards `(n, ...)`."""
    cells = as_array(answer)
    if cells.shape != (len(empty),) or cells.dtype.kind not in "iu":
        wanted = f"{who} must return {len(empty)} integers, a cell for each board"
        found = f"{brief(answer)} for the boards {brief(boards.tolist())}"
        raise UsageError(f"{wanted}, got {found}.")
    inside = (cells >= 0) & (cells < empty.shape[1])
    usable = inside & empty[np.arange(len(cells)), np.where(inside, cells, 0)]
    for at in np.flatnonzero(~usable)[:1]:
        free = f"{np.flatnonzero(empty[at]).tolist()} on {boards[at].tolist()}"
        raise UsageError(f"{who} must choose an empty cell, one of {free}, got {cells[at]}.")
    return cells.astype(np.int64)


def broadcast_boards(
    board: ArrayLike, shape: tuple[int, ...], num_envs: int | None = None
) -> NDArray[Any]:
    """Return one board for all games, or one for each, as `(n, ...)`; None is a single game."""
    array, batched = as_array(board), (1 if num_envs is None else num_envs, *shape)
    if array.shape != shape and (num_envs is None or array.shape != batched):
        wanted = f"{shape}" if num_envs is None else f"{shape} or {batched}"
        raise UsageError(f"board must have shape {wanted}, got {array.shape}.")
    return np.broadcast_to(array, batched)


def checked_mapping(options: object, what: str) -> dict[str, Any]:
    if not isinstance(options, Mapping | None):
        raise UsageError(f"{what} must be a dictionary, got {brief(options)}.")
    given: dict[str, Any] = plain(dict(options or {}))
    return given


def checked_options(options: object, allowed: Sequence[str]) -> dict[str, Any]:
    given = checked_mapping(options, "reset options")
    for name in given:
        if name not in allowed:
            raise UsageError(f"unknown reset option {name!r}: expected {listed(allowed)}.")
    return given


def check_state(
    state: object, like: Mapping[str, Any], own: Iterable[str], most: Mapping[str, int]
) -> None:
    """Check that something is a state of a game, as `get_state` returns it.

    Its entries are those of `like`, with values of the same kind (an integer of one game has up to
    64 bits, a count is at most `most`), and its `own`, the position's, which are not looked at.
    """
    of = state.get("game") if isinstance(state, Mapping) else None
    if not isinstance(state, Mapping) or str(of) != like["game"]:
        found = brief(state) if of is None else f"one of {of}"
        wanted = f"expected a state of {like['game']}, as get_state() returns it"
        raise UsageError(f"{wanted}, got {found}.")
    if state.keys() != (entries := {*like, *own}):
        wanted = f"a state of {like['game']} has the entries {listed(sorted(entries))}"
        raise UsageError(f"{wanted}, got {listed(map(str, state))}.")
    for name, value in like.items():
        given, called = state[name], f"state[{name!r}]"
        counts = [given]
        if isinstance(value, np.ndarray):
            check_like(given, value, called)
            counts = [given.min().item(), given.max().item()]
        elif isinstance(value, bool) and not isinstance(given, bool | np.bool_):
            raise UsageError(f"{called} must be True or False, got {given!r}.")
        if name in most or type(value) is int:
            for count in counts:
                checked_integer(count, called, most=most.get(name, (1 << 64) - 1))


def check_like(value: object, array: NDArray[Any], name: str) -> None:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", type(value).__name__)
    if shape != array.shape or dtype != array.dtype:
        wanted = f"{array.dtype} of shape {array.shape}"
        raise UsageError(f"{name} must be {wanted}, got {dtype} of shape {shape}.")


def brief(value: object) -> str:
    """Return a `repr` short enough for an error message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:97] + "..."


def listed(words: Iterable[object]) -> str:
    return ", ".join(map(repr, words))
