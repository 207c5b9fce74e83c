"""`python -m baselines compare`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from baselines.commands import options
from baselines.evaluation.rows import checked_path, comparison, write_rows
from baselines.evaluation.sampled import Stopped, evaluate
from baselines.registry import Player, names_run, player, with_search
from baselines.settings import Count
from baselines.training.run_folder import with_runs
from tile_envs.errors import UsageError


def compare(
    agents: Annotated[Positional[tuple[str, ...]], arg(metavar="AGENT ...")],
    /,
    episodes: Count = 1000,
    seed: options.GamesSeed = 0,
    env: options.Env = None,
    env_kwargs: options.EnvKwargs = None,
    side: options.Side | None = None,
    search: options.Search = None,
    unfinished: options.Unfinished = False,
    out: options.Rows = None,
) -> None:
    """Let agents play the same list of games, and print one table, the best mean first.

    Named agents play what the runs were trained in, and all agents play the same sides.

    Args:
        agents: Folders of training runs, such as runs/*, or names of agents.
        episodes: The number of games.
        side: The side played in tic-tac-toe; both is self-play. If not given, all sides that the
            runs have learned, or X for named agents alone.
    """
    if out is not None:
        checked_path(out)
    if not agents:
        raise UsageError("compare needs agents: folders of runs, such as runs/*, or names.")
    folders = [Path(name) for name in agents if names_run(name) and Path(name).is_dir()]
    left_out = set(folders) - set(with_runs(folders))
    names = [name for name in agents if Path(name) not in left_out]
    trained = {}
    for name in filter(names_run, names):
        run = options.check_finished(player(name, env, env_kwargs), name, unfinished)
        trained[name] = with_search(run, search, {})
    tasks = {(run.task.env, str(run.task.game)): run.task for run in trained.values()}
    players = []
    for name in names:
        if name in trained:
            found = [trained[name]]
        elif tasks:
            found = [player(name, task.env, task.env_kwargs, seed) for task in tasks.values()]
        else:
            found = [player(name, env, env_kwargs, seed)]
        players += [
            one if one.name in name else one._replace(name=f"{name} ({one.name})") for one in found
        ]
    # All sides are checked before the first game.
    planned = [(one, as_side) for one in players for as_side in _sides(one, players, side)]
    rows = []
    try:
        for one, as_side in planned:
            task = {**one.task.env_kwargs, **options.given(side=as_side)}
            rows.append(evaluate(one.agent, one.task.env, task, episodes, seed, name=one.name))
    except Stopped as stopped:
        rows.append(stopped.row)
        raise
    finally:
        if rows and out is not None:
            write_rows(rows, out)
        if rows:
            print(comparison(rows))


def _sides(one: Player, players: Sequence[Player], side: str | None) -> Iterator[str | None]:
    """Yield the sides that an agent plays: the one asked for, or all that any run has learned."""
    runs = [other for other in players if other.trained and other.task.env == one.task.env]
    sides = [played for run in runs for played in run.sides_to_evaluate(side, exact=False)]
    for played in dict.fromkeys(sides or [side]):
        yield from one.sides_to_evaluate(played, exact=False)
