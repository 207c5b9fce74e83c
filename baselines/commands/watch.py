"""The command that shows games: `python -m baselines watch`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tyro

from baselines.commands.options import EnvOptions, given
from baselines.registry import AGENTS, player, searching
from baselines.training.run_folder import CONFIG
from baselines.viewing.film import FRAMES, write_gif, write_mp4
from baselines.viewing.hints import HintControls
from baselines.viewing.moves import Played, Watched, recorded_games
from baselines.viewing.page import write_page
from tile_envs.base.checks import checked_count, checked_seed
from tile_envs.errors import UsageError
from tile_envs.files import checked_file
from tile_envs.play.controls import controls_of
from tile_envs.play.player import open_screen, watch_game


def watch(
    agent: tyro.conf.Positional[str],
    /,
    env: str | None = None,
    env_kwargs: EnvOptions | None = None,
    search: int | None = None,
    seed: int | None = None,
    speed: float = 4.0,
    frames: int = FRAMES,
    window: bool = False,
    gif: Path | None = None,
    mp4: Path | None = None,
    html: Path | None = None,
) -> None:
    """Watch an agent play, with what it thinks of each move; or watch recorded games.

    Shows the game in the terminal, or in a window; with --gif, --mp4 or --html it is written to a
    file instead, which needs no terminal. Exact values are shown, too, where they are known: in
    tic-tac-toe, and on boards of at most six cells.

    Args:
        agent: The agent's name, the folder of a trained one, a replay file (.json), or a folder of
            them.
        env: The environment's id (Tiles2048-v0, or the one that the agent was trained in).
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
        search: The depth of a search with the values of a trained agent, in moves.
        seed: The seed of a list of games, as `evaluate` plays it; the first one is shown (0 if not
            given).
        speed: Moves a second.
        frames: The most frames of a film: a longer game is thinned out evenly, and `speed` is
            frames a second.
        window: Open a window instead (extra render).
        gif: Write a film to this file, .gif; of a folder, all games one after the other.
        mp4: Write a film of the game to this file, .mp4 (extra render).
        html: Write the game to this file, .html: a page with all its moves to step through.
    """
    if not 0 < speed < math.inf:
        raise UsageError(f"speed must be above 0 and finite, got {speed}.")
    checked_count(frames, "frames")
    files = given(gif=gif, mp4=mp4, html=html)
    for suffix, path in files.items():
        checked_file(path, [f".{suffix}"], f"--{suffix} is")
    if files and window:
        raise UsageError("give either --window or a file to write, not both.")
    games = games_of(agent, env, env_kwargs or {}, search, seed)
    if gif is not None:
        write_gif(games, gif, speed, frames)
    if mp4 is not None:
        write_mp4(games, mp4, speed, frames)
    if html is not None:
        write_page(games, html)
    for path in files.values():
        print(f"wrote {path}")
    if not files:
        show(games, speed, window)


def games_of(
    name: str,
    env: str | None,
    env_kwargs: Mapping[str, Any],
    search: int | None,
    seed: int | None,
) -> Sequence[Watched]:
    """Return what is to be watched: a game that an agent plays, or recorded ones.

    Args:
        name: An agent's name, a run's folder, a replay file, or a folder of them.
        env: The environment's id.
        env_kwargs: The environment's options.
        search: The depth of a search with the agent's values.
        seed: The seed of the list of games whose first one is played.

    Raises:
        ValueError: If there is nothing of that kind.
    """
    path = Path(name)
    is_run = (path / CONFIG).exists()
    if name not in AGENTS and not is_run and (path.is_dir() or path.suffix == ".json"):
        if env or env_kwargs or search is not None or seed is not None:
            raise UsageError(
                f"{path} holds recorded games, which know what they are: give no --env, "
                "--env-kwargs, --search or --seed with them."
            )
        return recorded_games(path)
    seed = checked_seed(0 if seed is None else seed)
    found = player(name, env, env_kwargs, seed)
    if search is not None:
        found = searching(found, search, {})
    sides = found.sides_to_evaluate(None, exact=False)
    return [Played(found, seed, {} if side is None else {"side": side}) for side in sides[:1]]


def show(games: Sequence[Watched], speed: float, window: bool) -> None:
    """Show games one after the other in the terminal, or in a window.

    Raises:
        ValueError: If there is no terminal, or no screen for a window.
    """
    with open_screen(window, games[0].title) as screen, suppress(KeyboardInterrupt):
        for n, watched in enumerate(games, 1):
            game, thinker = watched.playthrough, watched.thinker
            controls = controls_of(game.env, person=False)
            hints = HintControls(controls, thinker, game.env.game, watched.next_action)
            more = n < len(games)
            if not watch_game(
                game, watched.action, screen, speed, controls=hints, end=watched.end, more=more
            ):
                return
