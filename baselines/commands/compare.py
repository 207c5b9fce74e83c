"""`python -m baselines compare`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from baselines.agents import Task
from baselines.commands import options
from baselines.evaluation.rows import SUFFIXES, Result, comparison, write_results
from baselines.evaluation.sampled import Stopped
from baselines.players import Player, names_file, names_run, open_player, play_all, with_path
from baselines.settings import Count, check_file
from baselines.training.run_folder import with_runs
from tile_envs.errors import UsageError


def compare(
    agents: options.Agents,
    /,
    episodes: Count = 1000,
    seed: options.GamesSeed = 0,
    playing: options.Playing = options.PLAYING,
    side: options.Side | None = None,
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
    if out:
        check_file(out, SUFFIXES, "--out is")
    if not agents:
        raise UsageError("compare needs agents: folders of runs, such as runs/*, or names.")
    folders = [Path(name) for name in agents if names_run(name) and Path(name).is_dir()]
    left_out = set(folders) - set(with_runs(folders))
    names = [name for name in agents if Path(name) not in left_out]
    opened: dict[str, list[Player]] = {}
    tasks: dict[Any, Task] = {}  # each in the words of the first run that plays it
    for name in filter(names_run, names):
        run = open_player(name, unfinished=unfinished, **vars(replace(playing, wrappers=())))
        same = tasks.setdefault(run.task.key, run.task)
        run = run._replace(task=replace(run.task, env_kwargs=same.env_kwargs))
        opened[name] = [with_path(run, name)]
    # All sides are checked before the first game: the one asked for, or all that runs have learned.
    learned: dict[str, dict[str | None, None]] = {}
    for (run,) in opened.values():
        sides = run.sides_to_evaluate(side, exact=False)
        learned.setdefault(run.task.env, {}).update(dict.fromkeys(sides))
    asked: Any = [(task.env, task.env_kwargs) for task in tasks.values()]
    for name in (name for name in names if name not in opened):
        wrappers = playing.wrappers if names_file(name) else ()
        games = asked or [(playing.env, playing.env_kwargs)]
        players = [open_player(name, *task, seed=seed, wrappers=wrappers) for task in games]
        opened[name] = [with_path(player, name) for player in players]
    planned = [
        (player, as_side)
        for name in names
        for player in opened[name]
        for each in learned.get(player.task.env, [side])
        for as_side in player.sides_to_evaluate(each, exact=False)
    ]
    results = list[Result]()
    try:
        for result in play_all(planned, episodes, seed):
            results.append(result)
    except Stopped as stopped:
        results.append(Result(stopped.row, "", stopped.record.returns))
        raise
    finally:
        write_results(results, out)
        if results:
            print(comparison(results))
