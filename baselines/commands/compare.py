"""`python -m baselines compare`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from baselines.commands import options
from baselines.evaluation.comparison import Judged, comparison, over_seeds
from baselines.evaluation.rows import checked_path, write_rows
from baselines.evaluation.sampled import Stopped, evaluated
from baselines.players import Player, names_file, names_run, player, with_search
from baselines.settings import Count
from baselines.task import Task
from baselines.training.run_folder import with_runs
from tile_envs.errors import UsageError


def compare(
    agents: options.Agents,
    /,
    episodes: Count = 1000,
    seed: options.GamesSeed = 0,
    env: options.Env = None,
    env_kwargs: options.EnvKwargs = None,
    side: options.Side | None = None,
    wrappers: options.Wrappers = (),
    search: options.Search = None,
    search_options: options.How = options.USUAL,
    unfinished: options.Unfinished = False,
    out: options.Rows = None,
) -> None:
    """Let agents play the same list of games, and print one table, the best mean first.

    Named agents play what the runs were trained in, and all agents play the same sides. Runs that
    differ in the seed alone have a mean over seeds, too. Below the table are the differences from
    the best agent, game by game, and whether they can be told from chance.

    Args:
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
    tasks: dict[Any, Task] = {}  # each in the words of the first run that plays it
    for name in filter(names_run, names):
        run = options.check_finished(player(name, env, env_kwargs), name, unfinished)
        run = with_search(run, search, search_options)
        same = tasks.setdefault(run.task.key, run.task)
        task = replace(run.task, env_kwargs=same.env_kwargs)
        trained[name] = run._replace(name=f"{name} ({run.name})", task=task)
    players = []
    asked: Any = [(task.env, task.env_kwargs) for task in tasks.values()] or [(env, env_kwargs)]
    for name in names:
        if name in trained:
            players.append(trained[name])
        else:
            own = {"wrappers": wrappers} if names_file(name) else {}
            others = [player(name, env_id, kwargs, seed, own) for env_id, kwargs in asked]
            if names_file(name):
                others = [other._replace(name=f"{name} ({other.name})") for other in others]
            players += others
    # All sides are checked before the first game.
    planned = [(one, as_side) for one in players for as_side in _sides(one, players, side)]
    judged = []
    try:
        for one, as_side in planned:
            played = {**one.task.env_kwargs, **options.given(side=as_side)}
            row, record = evaluated(one.agent, one.task.env, played, episodes, seed, name=one.name)
            judged.append(Judged(row, one.recipe, record.returns, one.train_seed))
    except Stopped as stopped:
        judged.append(Judged(stopped.row, "", stopped.record.returns))
        raise
    finally:
        if judged and out is not None:
            write_rows([one.row for one in judged] + over_seeds(judged), out)
        if judged:
            print(comparison(judged))


def _sides(one: Player, players: Sequence[Player], side: str | None) -> Iterator[str | None]:
    """Yield the sides that an agent plays: the one asked for, or all that any run has learned."""
    runs = [other for other in players if other.trained and other.task.env == one.task.env]
    sides = [played for run in runs for played in run.sides_to_evaluate(side, exact=False)]
    for played in dict.fromkeys(sides or [side]):
        yield from one.sides_to_evaluate(played, exact=False)
