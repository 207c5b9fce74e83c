"""`python -m baselines compare`."""

from __future__ import annotations

import sys
from pathlib import Path

import tyro

from baselines.commands.options import EnvOptions, given, unfinished_player
from baselines.evaluation.rows import checked_path, comparison, write_rows
from baselines.evaluation.sampled import evaluate as evaluate_sampled
from baselines.registry import player, searching
from baselines.training.run_folder import CONFIG
from tile_envs.base.checks import checked_count, checked_seed
from tile_envs.errors import UsageError


def compare(
    agents: tyro.conf.Positional[tuple[str, ...]],
    /,
    episodes: int = 1000,
    seed: int = 0,
    env: str | None = None,
    env_kwargs: EnvOptions | None = None,
    search: int | None = None,
    unfinished: bool = False,
    out: Path | None = None,
) -> None:
    """Let agents play the same list of games, and print one table, the best mean first.

    Args:
        agents: Folders of training runs, such as runs/*, or names of agents.
        episodes: The number of games.
        seed: The seed of the list of games, and of the agents' own random numbers.
        env: The environment's id (what each run was trained in, and named agents play what the runs
            do).
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
        search: The depth of a search with the values of the trained agents; see `evaluate`.
        unfinished: Evaluate runs before their budget is used up; the agents' names say so.
        out: Write the rows to this file, .csv or .json, too.
    """
    checked_count(episodes, "episodes")
    checked_seed(seed)
    if out is not None:
        checked_path(out)
    if not agents:
        raise UsageError("compare needs agents: folders of runs, such as runs/*, or names.")
    players = []
    for name in agents:  # all of them before the first game
        if Path(name).is_dir() and not (Path(name) / CONFIG).exists():
            print(f"{name} holds no run: left out", file=sys.stderr)
            continue
        found = player(name, env, env_kwargs or {}, seed)
        if not found.finished:
            found = unfinished_player(found, name, unfinished)
        if search is not None and found.trained:
            found = searching(found, search, {})
        players.append((name, found))
    runs = [found.task for _, found in players if found.trained]
    trained = {(task.env, str(task.game)): task for task in runs}
    if trained and env is None:  # a named agent plays what the runs play
        players = [
            (name, found if found.trained else player(name, task.env, task.env_kwargs, seed))
            for name, found in players
            for task in ([found.task] if found.trained else trained.values())
        ]
    rows = [
        evaluate_sampled(
            found.agent,
            found.task.env,
            {**found.task.env_kwargs, **given(side=side)},
            episodes,
            seed,
            name=name if found.name in name else f"{name} ({found.name})",
        )
        for name, found in players
        for side in found.sides_to_evaluate(None, exact=False)
    ]
    print(comparison(rows))
    if out is not None:
        write_rows(rows, out)
