"""The command line: `python -m baselines evaluate | reproduce`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import tyro

from baselines.agent import make_agent
from baselines.evaluate import judge
from baselines.hyperparams import preset as read_preset
from baselines.reproduce import sweep
from baselines.tables import bands as count_bands
from baselines.tables import block, checked_path, write_rows
from tile_envs.checks import checked_count, checked_seed


def evaluate(
    agent: tyro.conf.Positional[str],
    /,
    env: str = "Tiles2048-v0",
    episodes: int | None = None,
    seed: int = 0,
    env_kwargs: Annotated[str | None, tyro.conf.arg(metavar="JSON")] = None,
    side: str | None = None,
    preset: str | None = None,
    bands: int | None = None,
    out: Path | None = None,
) -> None:
    """Let an agent play a list of games and print what came of it.

    Args:
        agent: The agent's name: random or greedy.
        env: The environment's id.
        episodes: How many games (1000, unless a preset says otherwise).
        seed: Which games, and the agent's own random numbers.
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
        side: The side played in tic-tac-toe: X, O, random or both.
        preset: Settings by name, from hyperparams.yml; what is given beside it comes first.
        bands: Also count the games by score, in bands of this width.
        out: Write the row to this file, .csv or .json, too.
    """
    settings = read_preset(agent, env, preset) if preset else {}
    options = settings.get("env_kwargs", {}) | _read_json(env_kwargs) | _given(side=side)
    settings = {"episodes": 1000} | settings | _given(episodes=episodes, bands=bands)
    for name in settings.keys() & {"episodes", "bands"}:
        checked_count(settings[name], name)
    checked_seed(seed)
    if out is not None:
        checked_path(out)
    player = make_agent(agent, env, options, seed)
    row, record = judge(player, agent, env, options, settings["episodes"], seed)
    print(block(row))
    if "bands" in settings:
        print("  games by score")
        for begin, games in count_bands(record.returns, settings["bands"]).items():
            print(f"  {begin:>7,}+  {games:>9,}")
    if out is not None:
        write_rows([row], out)


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


def _read_json(text: str | None) -> dict[str, Any]:
    try:
        options = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise ValueError(f"--env-kwargs must be JSON, got {text!r}: {error}.") from None
    if not isinstance(options, dict):
        raise ValueError(f"--env-kwargs must be a JSON object, got {text!r}.")
    return options


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def main() -> None:
    """Run a command; what the user got wrong is one line on standard error, exit status 2."""
    try:
        tyro.extras.subcommand_cli_from_dict(
            {"evaluate": evaluate, "reproduce": reproduce},
            prog="python -m baselines",
            description="Judge agents on the environments of tile_envs.",
        )
    except (ValueError, TypeError, OSError, gym.error.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
