"""The command line, `python -m baselines`: trains, judges and plays with agents, makes tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import tyro

from baselines import training
from baselines.crosstable import crosstable as meet
from baselines.crosstable import spread, spread_text
from baselines.crosstable import text as as_text
from baselines.evaluate import judge, judge_exactly
from baselines.export import write_export
from baselines.hyperparams import tuned
from baselines.play import play_against
from baselines.replays import record as write_games
from baselines.reproduce import sweep
from baselines.roster import contestant, searching
from baselines.tables import bands as count_bands
from baselines.tables import block, checked_path, write_rows
from tile_envs.checks import checked_count, checked_seed


def train(agent: tyro.conf.Positional[str], /) -> None:
    """Train an agent: `train qtable --help` tells how.

    Args:
        agent: qtable, value_table, neural, ntuple, dqn, ppo or article; then its own
            options.
    """
    training.command(agent, [])


def evaluate(
    agent: tyro.conf.Positional[str],
    /,
    env: str | None = None,
    episodes: int | None = None,
    seed: int = 0,
    env_kwargs: Annotated[str | None, tyro.conf.arg(metavar="JSON")] = None,
    agent_kwargs: Annotated[str | None, tyro.conf.arg(metavar="JSON")] = None,
    side: str | None = None,
    exact: bool = False,
    search: int | None = None,
    preset: str | None = None,
    bands: int | None = None,
    out: Path | None = None,
) -> None:
    """Let an agent play a list of games and print what came of it.

    Args:
        agent: The agent's name (random, greedy; in tic-tac-toe also minimax, minimax_first, mcts),
            or the folder of a trained one, or a model in it, such as runs/d/best.zip.
        env: The environment's id (Tiles2048-v0, or the one that the agent was trained in).
        episodes: How many games (1000, unless a preset says otherwise).
        seed: Which games, and the agent's own random numbers.
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
        agent_kwargs: A named agent's options, such as '{"playouts": 4000}' for mcts; or the
            search's, such as '{"threads": 2, "deeper": {"3": 4}}' (4 moves ahead where at most 3
            cells are empty), '{"milliseconds": 10}' (as far as there is time, up to --search) or
            '{"samples": 1}' (one drawn new tile instead of all).
        side: The side played in tic-tac-toe: X, O, random or both (self-play). Not given, X for a
            named agent, but all sides that a trained one has learned, and all if exact.
        exact: Walk the whole tree of tic-tac-toe instead: the exact shares against random play,
            and the worst result against every opponent.
        search: Look at so many moves ahead with the values of a trained agent; 1 is none, 2
            looks at the next tile and the move after it.
        preset: Settings by name, from hyperparams.yml; what is given beside it comes first.
        bands: Also count the games by score, in bands of this width.
        out: Write the rows to this file, .csv or .json, too.
    """
    settings = tuned(agent, env or "Tiles2048-v0", preset) if preset else {}
    options = settings.get("env_kwargs", {}) | _read_json(env_kwargs, "--env-kwargs")
    settings = {"episodes": 1000} | settings | _given(episodes=episodes, bands=bands)
    for name in settings.keys() & {"episodes", "bands"}:
        checked_count(settings[name], name)
    checked_seed(seed)
    if out is not None:
        checked_path(out)
    agent_options = _read_json(agent_kwargs, "--agent-kwargs")
    if search is None:
        player = contestant(agent, env, options, seed, agent_options)
    else:
        player = searching(contestant(agent, env, options, seed, {}), search, agent_options)
    rows = []
    for played in player.sides_to_judge(side, exact):
        if exact:
            row = judge_exactly(player, played)
            print(block(row))
        else:
            kwargs = player.env_kwargs | _given(side=played)
            episodes_asked = settings["episodes"]
            row, record = judge(player.agent, player.name, player.env, kwargs, episodes_asked, seed)
            print(block(row))
            if "bands" in settings:
                print("  games by score")
                for begin, games in count_bands(record.returns, settings["bands"]).items():
                    print(f"  {begin:>7,}+  {games:>9,}")
        rows.append(row)
    if out is not None:
        write_rows(rows, out)


def seeds(
    out: Path | None = None,
    agents: tuple[str, ...] | None = None,
    runs: Path = Path("runs", "crosstable"),
    n: int = 6,
) -> None:
    """Train every learner of tic-tac-toe with several seeds, and judge each exactly.

    Args:
        out: Write the rows to this file, .csv or .json, too.
        agents: Which take part, by the names in the cross table; all if not given.
        runs: Where trained agents are kept; those that are missing are trained first.
        n: How many seeds, from 0 on.
    """
    if out is not None:
        checked_path(out)
    rows = spread(runs, range(checked_count(n, "n")), agents)
    print(spread_text(rows))
    if out is not None:
        write_rows(rows, out)


def export(folder: tyro.conf.Positional[Path], /, out: Path) -> None:
    """Make a small copy of a trained n-tuple network, for sharing: it plays, but learns no more.

    Args:
        folder: The run's folder.
        out: The folder of the copy.
    """
    write_export(folder, out)


def record(
    agent: tyro.conf.Positional[str],
    /,
    out: Path,
    env: str | None = None,
    episodes: int = 20,
    seed: int = 0,
    env_kwargs: Annotated[str | None, tyro.conf.arg(metavar="JSON")] = None,
) -> None:
    """Let an agent play, and write its games to files that can be watched and learned from.

    Args:
        agent: The agent's name, or the folder of a trained one.
        out: The folder of the files; `python -m tile_envs.play --replay` shows one.
        env: The environment's id (Tiles2048-v0, or the one that the agent was trained in).
        episodes: How many games.
        seed: Which games, and the agent's own random numbers.
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
    """
    checked_count(episodes, "episodes")
    player = contestant(agent, env, _read_json(env_kwargs, "--env-kwargs"), checked_seed(seed), {})
    write_games(player.agent, player.env, player.env_kwargs, episodes, seed, out)


def play(
    against: str,
    side: str = "X",
    show_values: bool = False,
    learn: bool = False,
    seed: int = 0,
) -> None:
    """Play tic-tac-toe against an agent, in the terminal.

    Args:
        against: A named agent (random, greedy, minimax, minimax_first, mcts); the folder of a
            trained one; or the name of one that learns, a beginner at first, in runs/NAME-person.
        side: What the person plays, X or O.
        show_values: Show what the agent thinks of each free cell.
        learn: Let the agent learn from every game, and keep what it has learned.
        seed: The agent's own random numbers.
    """
    play_against(against, side, show_values, learn, checked_seed(seed))


def reproduce(out: Path, episodes: int = 10_000, seed: int = 0) -> None:
    """Make the table of results again: every agent on every environment.

    Args:
        out: Write the rows to this file, .csv or .json.
        episodes: How many games a row.
        seed: Which games, and the agents' own random numbers.
    """
    checked_path(out)
    rows = sweep(episodes, seed)
    write_rows(rows, out)
    print("\n\n".join(map(block, rows)))


def crosstable(
    out: Path | None = None,
    agents: tuple[str, ...] | None = None,
    runs: Path = Path("runs", "crosstable"),
    seed: int = 0,
) -> None:
    """Let every agent of tic-tac-toe meet every other, exactly, beside the published table.

    Args:
        out: Write the rows to this file, .csv or .json, too.
        agents: Which take part, by the names in the table; all if not given.
        runs: Where trained agents are kept; those that are missing are trained first.
        seed: Starts training and the agents' own random numbers.
    """
    if out is not None:
        checked_path(out)
    rows = meet(runs, checked_seed(seed), agents)
    print(as_text(rows))
    if out is not None:
        write_rows(rows, out)


def _read_json(text: str | None, name: str) -> dict[str, Any]:
    try:
        options = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} must be JSON, got {text!r}: {error}.") from None
    if not isinstance(options, dict):
        raise ValueError(f"{name} must be a JSON object, got {text!r}.")
    return options


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


COMMANDS: dict[str, Callable[..., Any]] = {
    "train": train,
    "evaluate": evaluate,
    "play": play,
    "crosstable": crosstable,
    "seeds": seeds,
    "export": export,
    "record": record,
    "reproduce": reproduce,
}


def main() -> None:
    """Run a command; what the user got wrong is one line on standard error, exit status 2."""
    try:
        if sys.argv[1:2] == ["train"] and sys.argv[2:3] and not sys.argv[2].startswith("-"):
            training.command(sys.argv[2], sys.argv[3:])
            return
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="python -m baselines",
            description="Train and judge agents on the environments of tile_envs.",
        )
    except KeyboardInterrupt:
        print("stopped.", file=sys.stderr)
        sys.exit(130)  # what a shell calls a program that Ctrl-C has ended
    except (ValueError, TypeError, RuntimeError, OSError, gym.error.Error) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
