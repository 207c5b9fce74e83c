"""`python -m baselines watch`: shows games."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Interval

from baselines.agents import NAMES
from baselines.commands import options
from baselines.players import open_player
from baselines.settings import Count, Positive, Seed, check_file
from baselines.training.run_folder import CONFIG
from baselines.viewing.film import FRAMES, write_film
from baselines.viewing.moves import Viewing, agent_game, recorded_games
from baselines.viewing.page import serve_page, write_page
from tile_envs.errors import UsageError
from tile_envs.play.player import leaving_by_ctrl_c, open_screen, watch_game


def watch(
    agent: options.Agent,
    /,
    playing: options.Playing = options.PLAYING,
    seed: Annotated[Seed | None, options.SEED] = None,
    side: options.Side | None = None,
    speed: Positive = 4.0,
    frames: Count = FRAMES,
    window: bool = False,
    gif: Path | None = None,
    mp4: Path | None = None,
    html: Path | None = None,
    serve: bool = False,
    port: Annotated[int, Interval(ge=0, le=65535)] = 8048,
) -> None:
    """Watch an agent play, with what it thinks of each move; or watch recorded games.

    Shows the first of a list of games in the terminal, or in a window; with --gif, --mp4 or --html
    it is written to a file instead, which needs no terminal. With --serve you play yourself, in a
    browser, beside the agent. Exact values are shown, too, where they are known: in tic-tac-toe,
    and on boards of at most six cells. Instead of an agent, a replay file (.json) or a folder of
    them is shown.

    Args:
        side: The side played in tic-tac-toe; both is self-play. If not given, X, or the side that a
            trained agent has learned.
        speed: Moves a second.
        frames: The most frames of a film: a longer game is thinned out evenly, and `speed` is
            frames a second.
        window: Open a window instead (extra render).
        gif: Write a film to this file, .gif; of a folder, all games one after the other.
        mp4: Write a film of the game to this file, .mp4 (extra render).
        html: Write the game to this file, .html: a page with all its moves to step through.
        serve: Open a page, for this machine alone, on which you play by keys or touch, take moves
            back, let the agent play on, load a replay and enter boards.
        port: The port of that page; 0 is any that is free.
    """
    files = options.given(gif=gif, mp4=mp4, html=html)
    for suffix, path in files.items():
        check_file(path, [f".{suffix}"], f"--{suffix} is")
    if bool(files) + window + serve > 1:
        raise UsageError("give either --window, --serve or files to write.")
    games = games_of(agent, seed, side, **vars(playing))
    for path in files.values():
        if path == html:
            write_page(games, path)
        else:
            write_film(games, path, speed, frames)
        print(f"wrote {path}")
    if serve:
        if games[0].player is None:
            raise UsageError(f"--serve takes an agent, and its page loads replays, got {agent}.")
        serve_page(games[0], port)
    elif not files:
        show(games, speed, window)


def games_of(
    name: str, seed: int | None = None, side: str | None = None, **how: Any
) -> list[Viewing]:
    """Return what is to be watched: a game that an agent plays, or recorded ones."""
    path, playing = Path(name), options.PlayOptions(**how)
    is_run = (path / CONFIG).exists()
    if name not in NAMES and not is_run and (path.is_dir() or path.suffix == ".json"):
        if playing != options.PLAYING or seed is not None or side is not None:
            what = f"{path} holds recorded games, which know what they are"
            known = "--env, --env-kwargs, --search, --seed or --side"
            raise UsageError(f"{what}: give no {known} with them.")
        return recorded_games(path)
    played = open_player(name, seed=seed or 0, **vars(playing))
    return [agent_game(played, seed or 0, side)]


def show(games: Sequence[Viewing], speed: float, window: bool) -> None:
    """Show games one after the other in the terminal, or in a window."""
    with open_screen(window, games[0].title) as screen, leaving_by_ctrl_c():
        for n, viewing in enumerate(games, 1):
            end, more = None if viewing.player else len(viewing.actions), n < len(games)
            how: Any = {"hints": viewing.hints, "person": False, "end": end, "more": more}
            if not watch_game(viewing.playthrough, viewing.action, screen, speed, **how):
                return
