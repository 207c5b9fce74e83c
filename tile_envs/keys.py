"""The keys that play, for `gymnasium.utils.play.play`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tile_envs.rendering.window import WASD, import_pygame, named_keys


class Idle(int):
    """The action of a person who presses nothing: a step with it leaves the game as it is.

    `gymnasium.utils.play.play` steps once a frame, and only with members of the action space.  So
    this is the number 0 for the space, and the environments tell it from that action by its type.
    """


IDLE = Idle(0)


def keys_to_action(names: Sequence[str]) -> dict[str | tuple[int, ...], int]:
    """Return what `gymnasium.utils.play.play` plays for the keys that are held down.

    Args:
        names: The key of each action, as `tile_envs.rendering.window.Key` names it.

    Returns:
        The action of each key, by pygame's code; `IDLE` for no key (which is `""`, as `()` is
        refused) and for several at once.

    Raises:
        ExtraNotInstalled: If pygame is missing.
    """
    codes = {name: code for code, name in named_keys(import_pygame()).items()}
    actions: dict[str | tuple[int, ...], int] = {"": IDLE}
    for key in (*names, *WASD):
        name = WASD.get(key, key)
        if name in names:
            actions[(codes[key] if key in codes else ord(key),)] = names.index(name)
    held = [code for key in actions for code in key if isinstance(code, int)]
    for count in range(2, len(held) + 1):
        actions |= dict.fromkeys(combinations(held, count), IDLE)
    return actions
